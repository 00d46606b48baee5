//! Where the statements of a TOML text are, byte by byte. The text is known to
//! be valid; here is only found out which bytes say what.

use std::ops::Range;

/// One line, or the lines that one value takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub kind: Kind,
    /// From the start of the line to behind its line break.
    pub bytes: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `[a.b]`; `array` for `[[a.b]]`.
    Header { path: Vec<String>, array: bool },
    Pair {
        path: Vec<String>,
        value: Range<usize>,
        /// Whether a comment stands within the value.
        comment: bool,
    },
    /// An empty line or a comment.
    Other,
}

/// `None` for what this reader does not understand.
pub fn scan(text: &str) -> Option<Vec<Statement>> {
    let mut scanner = Scanner { text, at: 0 };
    // A byte order mark is no part of the first key.
    scanner.takes("\u{feff}");
    let mut found = Vec::new();
    while scanner.at < text.len() {
        let start = scanner.at;
        scanner.blanks();
        let kind = match scanner.peek() {
            None | Some(b'\n' | b'\r' | b'#') => Kind::Other,
            Some(b'[') => {
                let array = scanner.takes("[[");
                if !array {
                    scanner.at += 1;
                }
                let path = scanner.path()?;
                if !scanner.takes(if array { "]]" } else { "]" }) {
                    return None;
                }
                Kind::Header { path, array }
            }
            Some(_) => {
                let path = scanner.path()?;
                if !scanner.takes("=") {
                    return None;
                }
                scanner.blanks();
                let from = scanner.at;
                let comment = scanner.value()?;
                Kind::Pair { path, value: from..scanner.at, comment }
            }
        };
        scanner.rest_of_line()?;
        found.push(Statement { kind, bytes: start..scanner.at });
    }
    Some(found)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Up to the line break, without it.
    fn comment(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn rest_of_line(&mut self) -> Option<()> {
        self.blanks();
        if self.peek() == Some(b'#') {
            self.comment();
        }
        (self.at == self.text.len() || self.takes("\r\n") || self.takes("\n")).then_some(())
    }

    /// `a . "b c" . 'd'`, with the blanks around it.
    fn path(&mut self) -> Option<Vec<String>> {
        let mut path = Vec::new();
        loop {
            self.blanks();
            let from = self.at;
            if matches!(self.peek(), Some(b'"' | b'\'')) {
                self.text()?;
                path.push(unquoted(&self.text[from..self.at])?);
            } else {
                while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
                    self.at += 1;
                }
                if self.at == from {
                    return None;
                }
                path.push(self.text[from..self.at].to_owned());
            }
            self.blanks();
            if !self.takes(".") {
                return Some(path);
            }
        }
    }

    /// A text in any of the four forms.
    fn text(&mut self) -> Option<()> {
        let long = self.text[self.at..].starts_with("\"\"\"") || self.text[self.at..].starts_with("'''");
        let quote = char::from(self.peek()?);
        let end = if long { quote.to_string().repeat(3) } else { quote.to_string() };
        self.at += end.len();
        loop {
            if self.takes(&end) {
                // A long text may end in one or two quotes of its own.
                for _ in 0..if long { 2 } else { 0 } {
                    self.takes(&quote.to_string());
                }
                return Some(());
            }
            let escaped = quote == '"' && self.peek() == Some(b'\\');
            for _ in 0..if escaped { 2 } else { 1 } {
                self.at += self.text[self.at..].chars().next()?.len_utf8();
            }
        }
    }

    /// Any value; gives back whether a comment stands within it.
    fn value(&mut self) -> Option<bool> {
        match self.peek()? {
            b'"' | b'\'' => self.text().map(|()| false),
            b'[' | b'{' => {
                let (mut depth, mut comment) = (0, false);
                loop {
                    match self.peek()? {
                        b'[' | b'{' => depth += 1,
                        b']' | b'}' => depth -= 1,
                        b'"' | b'\'' => {
                            self.text()?;
                            continue;
                        }
                        b'#' => {
                            comment = true;
                            self.comment();
                            continue;
                        }
                        _ => {}
                    }
                    self.at += self.text[self.at..].chars().next()?.len_utf8();
                    if depth == 0 {
                        return Some(comment);
                    }
                }
            }
            _ => {
                let rest = &self.text[self.at..];
                let line = rest.find(['#', '\n', '\r']).unwrap_or(rest.len());
                self.at += rest[..line].trim_end().len();
                Some(false)
            }
        }
    }
}

/// The meaning of a quoted key, as the parser of TOML reads it.
fn unquoted(quoted: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(&format!("x = {quoted}")).ok()?;
    table.get("x").and_then(toml::Value::as_str).map(str::to_owned)
}
