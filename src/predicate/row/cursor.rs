//! A place in a list of tokens, and what can be taken from there.

use super::lexer::{Lexeme, Token, mistake, tokens};
use crate::error::{Error, Result};

/// Which row a qualifier names. Qualifiers are compared without regard to case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aliases {
    /// Each qualifier as the parts of a dotted name: `["s"]`, `["lake", "sales"]`.
    pub source: Vec<Vec<String>>,
    pub target: Vec<Vec<String>>,
}

pub(crate) struct Cursor<'a> {
    pub sql: &'a str,
    lexemes: Vec<Lexeme>,
    at: usize,
    pub aliases: Aliases,
    /// How deep the expression that is being parsed stands in others.
    pub(super) depth: usize,
}

impl<'a> Cursor<'a> {
    /// # Errors
    /// `Usage` where the text has no tokens.
    pub fn new(sql: &'a str, aliases: Aliases) -> Result<Cursor<'a>> {
        Ok(Cursor { sql, lexemes: tokens(sql)?, at: 0, aliases, depth: 0 })
    }

    /// The token after `ahead` others; the last one again where there are no more.
    pub fn look(&self, ahead: usize) -> &Lexeme {
        &self.lexemes[(self.at + ahead).min(self.lexemes.len() - 1)]
    }

    pub fn token(&self) -> &Token {
        &self.look(0).token
    }

    pub fn place(&self) -> usize {
        self.look(0).at
    }

    /// The byte after the token before this one.
    pub fn end_of_last(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |before| self.lexemes[before].end)
    }

    /// Whether the token before this one is a symbol.
    pub fn follows_symbol(&self, symbol: &str) -> bool {
        let before = self.at.checked_sub(1).map(|before| &self.lexemes[before].token);
        matches!(before, Some(Token::Symbol(s)) if *s == symbol)
    }

    /// Whether the token before this one is a keyword.
    pub fn follows_word(&self, word: &str) -> bool {
        let before = self.at.checked_sub(1).map(|before| &self.lexemes[before].token);
        matches!(before, Some(Token::Word { text, quoted: false }) if text.eq_ignore_ascii_case(word))
    }

    /// A mark to return to.
    pub fn mark(&self) -> usize {
        self.at
    }

    pub fn return_to(&mut self, mark: usize) {
        self.at = mark;
    }

    pub fn advance(&mut self) -> Token {
        let token = self.token().clone();
        self.at = (self.at + 1).min(self.lexemes.len() - 1);
        token
    }

    pub fn at_end(&self) -> bool {
        *self.token() == Token::End
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(&self.look(ahead).token, Token::Word { text, quoted: false } if text.eq_ignore_ascii_case(word))
    }

    /// Whether these keywords stand here.
    pub fn sees(&self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(i, word)| self.is_word(i, word))
    }

    pub fn sees_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.sees(word))
    }

    pub fn sees_symbol(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.look(ahead).token, Token::Symbol(s) if s == symbol)
    }

    /// Takes these keywords where they stand here.
    pub fn takes(&mut self, words: &str) -> bool {
        let there = self.sees(words);
        if there {
            self.at += words.split(' ').count();
        }
        there
    }

    pub fn takes_symbol(&mut self, symbol: &str) -> bool {
        let there = self.sees_symbol(0, symbol);
        if there {
            self.at += 1;
        }
        there
    }

    pub fn expects(&mut self, words: &str) -> Result<()> {
        if self.takes(words) { Ok(()) } else { Err(self.unexpected(words)) }
    }

    pub fn expects_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.takes_symbol(symbol) { Ok(()) } else { Err(self.unexpected(&format!("'{symbol}'"))) }
    }

    /// The error of a token that is not what was wanted.
    pub fn unexpected(&self, wanted: &str) -> Error {
        self.mistake(format!("{wanted} is expected, not {}", self.shown()))
    }

    /// A mistake at this place.
    pub fn mistake(&self, said: impl std::fmt::Display) -> Error {
        mistake(self.sql, self.place(), said)
    }

    /// This token as it is written.
    pub fn shown(&self) -> String {
        let lexeme = self.look(0);
        match &lexeme.token {
            Token::End => "the end".into(),
            _ => format!("'{}'", self.sql.get(lexeme.at..lexeme.end).unwrap_or_default()),
        }
    }

    /// A name, quoted or not.
    pub fn name(&mut self, what: &str) -> Result<String> {
        match self.token() {
            Token::Word { text, .. } => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// The parts of a dotted name.
    pub fn dotted_name(&mut self, what: &str) -> Result<Vec<String>> {
        let mut parts = vec![self.name(what)?];
        while self.sees_symbol(0, ".") && matches!(self.look(1).token, Token::Word { .. }) {
            self.at += 1;
            parts.push(self.name(what)?);
        }
        Ok(parts)
    }

    /// `( item, item, … )`
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expects_symbol("(")?;
        let mut items = Vec::new();
        if self.takes_symbol(")") {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes_symbol(")") {
                return Ok(items);
            }
            if !self.takes_symbol(",") {
                return Err(self.unexpected("',' or ')'"));
            }
        }
    }
}
