//! Spark's words: names, numbers, texts and symbols, each with its place.

use crate::error::{Error, ErrorKind, Result};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A keyword or a name; `quoted` where it stood in backticks.
    Word {
        text: String,
        quoted: bool,
    },
    /// As written, with its suffix: `1`, `1.5`, `.5e3`, `5L`.
    Number(String),
    /// A text with its escapes resolved.
    Text(String),
    Symbol(&'static str),
    End,
}

/// A token and the byte at which it starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lexeme {
    pub token: Token,
    pub at: usize,
    pub end: usize,
}

/// Longest first.
const SYMBOLS: [&str; 35] = [
    "<=>", "<=", ">=", "<>", "!=", "==", "||", "::", "=>", "->", "<<", ">>", "<", ">", "=", "!", "+", "-", "*", "/",
    "%", "(", ")", ",", ".", ";", "[", "]", "&", "|", "^", "~", ":", "?", "@",
];

/// Cuts a text into tokens; the last one is [`Token::End`].
///
/// # Errors
/// `Usage` with line and column, for a text or a comment that does not end and
/// for characters that mean nothing.
pub(crate) fn tokens(sql: &str) -> Result<Vec<Lexeme>> {
    let mut found = Vec::new();
    let mut lexer = Lexer { sql, at: 0 };
    loop {
        lexer.skip_blanks()?;
        let at = lexer.at;
        let token = lexer.next()?;
        let last = token == Token::End;
        found.push(Lexeme { token, at, end: lexer.at });
        if last {
            return Ok(found);
        }
    }
}

/// `line 2, column 7` of a byte, counted from 1 in characters.
pub(crate) fn place(sql: &str, at: usize) -> String {
    let before = sql.get(..at).unwrap_or(sql);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    format!("line {line}, column {}", before[start..].chars().count() + 1)
}

/// A mistake at a place of a text.
pub(crate) fn mistake(sql: &str, at: usize, said: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Usage, format!("{said} ({})", place(sql, at)))
}

struct Lexer<'a> {
    sql: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.sql[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes characters as long as they satisfy `test`.
    fn take(&mut self, test: impl Fn(char) -> bool) -> &str {
        let start = self.at;
        let length = self.rest().find(|c| !test(c)).unwrap_or(self.rest().len());
        self.at += length;
        &self.sql[start..self.at]
    }

    /// Blanks, `-- comments` and `/* comments */`, which nest.
    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            self.take(|c| c.is_whitespace() || c == '\u{feff}');
            if self.rest().starts_with("--") {
                self.take(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                let start = self.at;
                let mut open = 0;
                loop {
                    if self.rest().starts_with("/*") {
                        open += 1;
                        self.at += 2;
                    } else if self.rest().starts_with("*/") {
                        open -= 1;
                        self.at += 2;
                    } else if let Some(c) = self.peek() {
                        self.at += c.len_utf8();
                    } else {
                        return Err(mistake(self.sql, start, "a comment does not end"));
                    }
                    if open == 0 {
                        break;
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Token> {
        let Some(c) = self.peek() else { return Ok(Token::End) };
        let next_is = |wanted: fn(char) -> bool| self.rest().chars().nth(1).is_some_and(wanted);
        if c == '`' {
            return self.quoted_name();
        }
        if c == '\'' || c == '"' {
            return self.text(c, false);
        }
        if matches!(c, 'r' | 'R') && next_is(|q| q == '\'' || q == '"') {
            self.at += 1;
            let quote = self.peek().unwrap_or('\'');
            return self.text(quote, true);
        }
        if c.is_ascii_digit() || (c == '.' && next_is(|d| d.is_ascii_digit())) {
            return self.number();
        }
        if c == '_' || c.is_alphabetic() {
            let text = self.take(|c| c == '_' || c.is_alphanumeric()).to_owned();
            return Ok(Token::Word { text, quoted: false });
        }
        match SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            None => Err(mistake(self.sql, self.at, format!("the character {c:?} means nothing here"))),
        }
    }

    fn quoted_name(&mut self) -> Result<Token> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take(|c| c != '`'));
            if self.rest().starts_with("``") {
                text.push('`');
                self.at += 2;
            } else if self.peek().is_some() {
                self.at += 1;
                break;
            } else {
                return Err(mistake(self.sql, start, "a name in `backticks` does not end"));
            }
        }
        if text.is_empty() {
            return Err(mistake(self.sql, start, "a name in `backticks` is empty"));
        }
        Ok(Token::Word { text, quoted: true })
    }

    /// A text in `quote`s, in which a backslash escapes unless it is raw.
    fn text(&mut self, quote: char, raw: bool) -> Result<Token> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else {
                return Err(mistake(self.sql, start, "a text in quotes does not end"));
            };
            self.at += c.len_utf8();
            if c == quote {
                if !raw && self.peek() == Some(quote) {
                    return Err(mistake(self.sql, self.at, "two quotes side by side")
                        .hint("Some engines read them as one quote, Spark 4.0 as nothing. Write \\' for a quote."));
                }
                return Ok(Token::Text(text));
            } else if c == '\\' && !raw {
                self.escape(&mut text);
            } else {
                text.push(c);
            }
        }
    }

    /// What follows a backslash. `\%` and `\_` keep it, for LIKE.
    fn escape(&mut self, text: &mut String) {
        let digits = |lexer: &Self, from: usize, count: usize, radix: u32| -> Option<u32> {
            let digits = lexer.rest().get(from..from + count)?;
            digits.chars().all(|c| c.is_digit(radix)).then(|| u32::from_str_radix(digits, radix).ok())?
        };
        let coded = match self.peek() {
            Some('u') => digits(self, 1, 4, 16).map(|code| (code, 5)),
            Some('U') => digits(self, 1, 8, 16).map(|code| (code, 9)),
            Some('0'..='1') => digits(self, 0, 3, 8).map(|code| (code, 3)),
            _ => None,
        };
        if let Some((c, length)) = coded.and_then(|(code, length)| Some((char::from_u32(code)?, length))) {
            text.push(c);
            self.at += length;
            return;
        }
        let Some(c) = self.peek() else { return };
        self.at += c.len_utf8();
        match c {
            '0' => text.push('\0'),
            'b' => text.push('\u{8}'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'Z' => text.push('\u{1a}'),
            '%' | '_' => text.extend(['\\', c]),
            other => text.push(other),
        }
    }

    fn number(&mut self) -> Result<Token> {
        let start = self.at;
        self.take(|c| c.is_ascii_digit());
        if self.peek() == Some('.') {
            self.at += 1;
            self.take(|c| c.is_ascii_digit());
        }
        let sign = |c: char| usize::from(matches!(c, '+' | '-'));
        let mut after = self.rest().chars();
        if matches!(after.next(), Some('e' | 'E')) {
            let signs = after.next().map_or(0, sign);
            if self.rest()[1 + signs..].starts_with(|c: char| c.is_ascii_digit()) {
                self.at += 1 + signs;
                self.take(|c| c.is_ascii_digit());
            }
        }
        self.take(|c| c == '_' || c.is_alphanumeric());
        // Whether the suffix means something is asked where the number is used:
        // `64m` is a fine value of a setting.
        Ok(Token::Number(self.sql[start..self.at].to_owned()))
    }
}
