//! The grammar of literals, calls, CASE and CAST.

use super::cursor::Cursor;
use super::functions::Function;
use super::lexer::{Token, mistake};
use super::literals::{cast_function, interval, number, primitive, typed_literal};
use super::node::{Arithmetic, Clock, Node};
use crate::error::{Error, Result};
use crate::table::Value;
use crate::table::schema::PrimitiveType;

impl Cursor<'_> {
    pub(super) fn primary(&mut self) -> Result<Node> {
        let at = self.place();
        match self.token().clone() {
            Token::Symbol("(") => self.parenthesis(),
            Token::Symbol("-") => {
                self.advance();
                self.number(at, true)
            }
            Token::Number(_) => self.number(at, false),
            Token::Text(_) => Ok(Node::Literal(Value::String(self.texts()), Some(PrimitiveType::String))),
            Token::Word { quoted: true, .. } => {
                let parts = self.dotted_name("a column")?;
                self.column(at, parts)
            }
            Token::Word { text, .. } => self.word(at, &text.to_ascii_uppercase()),
            Token::Symbol(":" | "?" | "@") => {
                Err(self.mistake("a parameter has no value here").hint("Write the value itself."))
            }
            _ => Err(self.unexpected("a value")),
        }
    }

    fn parenthesis(&mut self) -> Result<Node> {
        self.advance();
        if self.sees_any(&["SELECT", "WITH"]) {
            return Err(self.no_subquery());
        }
        let inner = self.expression()?;
        if self.sees_symbol(0, ",") {
            return Err(self.mistake("tuples are not supported").hint("Compare column by column, joined with AND."));
        }
        self.expects_symbol(")")?;
        Ok(inner)
    }

    /// Texts that stand side by side are one.
    fn texts(&mut self) -> String {
        let mut whole = String::new();
        while let Token::Text(text) = self.token() {
            whole.push_str(text);
            self.advance();
        }
        whole
    }

    fn number(&mut self, at: usize, negative: bool) -> Result<Node> {
        let Token::Number(text) = self.advance() else { return Err(self.unexpected("a number")) };
        number(&text, negative).ok_or_else(|| mistake(self.sql, at, format!("{text} does not fit its type")))
    }

    fn word(&mut self, at: usize, word: &str) -> Result<Node> {
        let called = self.sees_symbol_after_word("(");
        let dotted = self.sees_symbol_after_word(".");
        let text_follows = matches!(self.look(1).token, Token::Text(_));
        match word {
            _ if dotted => {}
            "NULL" | "TRUE" | "FALSE" => {
                self.advance();
                return Ok(match word {
                    "NULL" => Node::Literal(Value::Null, None),
                    _ => Node::Literal(Value::Boolean(word == "TRUE"), Some(PrimitiveType::Boolean)),
                });
            }
            "CASE" => return self.case(),
            "CAST" | "TRY_CAST" if called => return self.cast(word == "TRY_CAST"),
            "EXTRACT" if called => return self.extract(),
            "EXISTS" if called => return Err(self.no_subquery()),
            "TRIM" if called => return self.trim(),
            "INTERVAL" if !called => return self.interval(),
            "DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ" | "TIMESTAMP_LTZ" | "X" if text_follows => {
                self.advance();
                let text = self.texts();
                return typed_literal(word, &text)
                    .ok_or_else(|| mistake(self.sql, at, format!("{word} '{text}' is no value of its type")));
            }
            "CURRENT_DATE" | "CURDATE" | "CURRENT_TIMESTAMP" | "NOW" if called || word.starts_with("CURRENT") => {
                self.advance();
                if called {
                    self.list(|c| -> Result<()> { Err(c.unexpected("')'")) })?;
                }
                let date = matches!(word, "CURRENT_DATE" | "CURDATE");
                return Ok(Node::Clock(if date { Clock::Date } else { Clock::Timestamp }));
            }
            "SELECT" | "WHEN" | "THEN" | "ELSE" | "END" | "AND" | "OR" | "FROM" | "WHERE" => {
                return Err(self.unexpected("a value"));
            }
            _ if called => return self.call(at, word),
            _ => {}
        }
        let parts = self.dotted_name("a column")?;
        if self.sees_symbol(0, "(") {
            return Err(unknown_function(self.sql, at, &parts.join(".")));
        }
        self.column(at, parts)
    }

    fn sees_symbol_after_word(&self, symbol: &str) -> bool {
        self.sees_symbol(1, symbol)
    }

    fn call(&mut self, at: usize, word: &str) -> Result<Node> {
        self.advance();
        if let Some(to) = cast_function(word) {
            let value = self.list(|c| c.expression())?;
            let [value] = exactly(value).map_err(|n| wrong_count(self.sql, at, word, "1", n))?;
            return self.low(Node::Cast { value: value.boxed(), to, lenient: false });
        }
        if matches!(word, "ISNULL" | "ISNOTNULL" | "MOD" | "TO_DATE" | "TO_TIMESTAMP") {
            return self.rewritten(at, word);
        }
        let Some((function, fewest, most)) = Function::find(word) else {
            return Err(unknown_function(self.sql, at, word));
        };
        self.expects_symbol("(")?;
        if self.sees_any(&["DISTINCT"]) {
            return Err(self.mistake("DISTINCT means nothing for one row"));
        }
        let mut arguments = Vec::new();
        if !self.takes_symbol(")") {
            loop {
                arguments.push(self.expression()?);
                // SUBSTRING(x FROM 2 FOR 3) is SUBSTRING(x, 2, 3).
                let word_between = function == Function::Substring && (self.takes("FROM") || self.takes("FOR"));
                if self.takes_symbol(")") {
                    break;
                }
                if !word_between && !self.takes_symbol(",") {
                    return Err(self.unexpected("',' or ')'"));
                }
            }
        }
        if self.sees_any(&["OVER", "FILTER"]) {
            return Err(self
                .mistake("window functions and aggregates see more than one row")
                .hint("Compute them into a column first."));
        }
        if arguments.len() < fewest || arguments.len() > most {
            let wanted = match (fewest, most) {
                (few, usize::MAX) => format!("{few} or more"),
                (few, many) if few == many => few.to_string(),
                (few, many) => format!("{few} to {many}"),
            };
            return Err(wrong_count(self.sql, at, word, &wanted, arguments.len()));
        }
        self.low(Node::Call(function, arguments))
    }

    /// Functions that are other words for operators.
    fn rewritten(&mut self, at: usize, word: &str) -> Result<Node> {
        let arguments = self.list(|c| c.expression())?;
        let count = arguments.len();
        let mut arguments = arguments.into_iter();
        let node = match (word, arguments.next(), arguments.next()) {
            ("ISNULL", Some(x), None) => Node::IsNull(x.boxed()),
            ("ISNOTNULL", Some(x), None) => Node::Not(Node::IsNull(x.boxed()).boxed()),
            ("MOD", Some(a), Some(b)) if count == 2 => Node::Arithmetic(Arithmetic::Remainder, a.boxed(), b.boxed()),
            ("TO_DATE", Some(x), None) => Node::Cast { value: x.boxed(), to: PrimitiveType::Date, lenient: false },
            ("TO_TIMESTAMP", Some(x), None) => {
                Node::Cast { value: x.boxed(), to: PrimitiveType::Timestamp, lenient: false }
            }
            ("TO_DATE" | "TO_TIMESTAMP", Some(_), Some(_)) => {
                return Err(mistake(self.sql, at, format!("{word} with a format is not supported"))
                    .hint("Build an ISO text first: CONCAT(SUBSTRING(x, 1, 4), '-', …)."));
            }
            _ => return Err(wrong_count(self.sql, at, word, if word == "MOD" { "2" } else { "1" }, count)),
        };
        self.low(node)
    }

    fn case(&mut self) -> Result<Node> {
        self.advance();
        let operand = if self.sees("WHEN") { None } else { Some(self.expression()?.boxed()) };
        let mut whens = Vec::new();
        while self.takes("WHEN") {
            let when = self.expression()?;
            self.expects("THEN")?;
            whens.push((when, self.expression()?));
        }
        if whens.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.takes("ELSE") { Some(self.expression()?.boxed()) } else { None };
        self.expects("END")?;
        self.low(Node::Case { operand, whens, otherwise })
    }

    fn cast(&mut self, lenient: bool) -> Result<Node> {
        self.advance();
        self.expects_symbol("(")?;
        let value = self.expression()?.boxed();
        self.expects("AS")?;
        let to = self.type_name()?;
        self.expects_symbol(")")?;
        self.low(Node::Cast { value, to, lenient })
    }

    fn extract(&mut self) -> Result<Node> {
        self.advance();
        self.expects_symbol("(")?;
        let at = self.place();
        let field = self.name("YEAR, QUARTER, MONTH or DAY")?;
        let function = match field.to_ascii_uppercase().as_str() {
            "YEAR" => Function::Year,
            "QUARTER" => Function::Quarter,
            "MONTH" => Function::Month,
            "DAY" => Function::Day,
            other => return Err(mistake(self.sql, at, format!("EXTRACT of {other} is not supported"))),
        };
        self.expects("FROM")?;
        let value = self.expression()?;
        self.expects_symbol(")")?;
        self.low(Node::Call(function, vec![value]))
    }

    /// `TRIM([BOTH | LEADING | TRAILING] [characters] FROM x)`, `TRIM(x)`, `TRIM(characters, x)`
    fn trim(&mut self) -> Result<Node> {
        self.advance();
        self.expects_symbol("(")?;
        let function = if self.takes("LEADING") {
            Some(Function::Ltrim)
        } else if self.takes("TRAILING") {
            Some(Function::Rtrim)
        } else if self.takes("BOTH") {
            Some(Function::Trim)
        } else {
            None
        };
        let mut arguments = Vec::new();
        if function.is_none() || !self.sees("FROM") {
            arguments.push(self.expression()?);
        }
        if self.takes("FROM") || (function.is_none() && self.takes_symbol(",")) {
            arguments.push(self.expression()?);
        } else if function.is_some() {
            return Err(self.unexpected("FROM"));
        }
        self.expects_symbol(")")?;
        self.low(Node::Call(function.unwrap_or(Function::Trim), arguments))
    }

    /// `INTERVAL 3 DAYS`, `INTERVAL '3' DAY`, `INTERVAL '3 days'`, `INTERVAL 1 YEAR 2 MONTHS`
    fn interval(&mut self) -> Result<Node> {
        let at = self.place();
        self.advance();
        let mut parts = Vec::new();
        loop {
            let negative = self.takes_symbol("-");
            let amount = match self.token().clone() {
                Token::Number(text) | Token::Text(text) => text,
                _ if parts.is_empty() => return Err(self.unexpected("an amount such as 3 DAYS")),
                _ => break,
            };
            self.advance();
            let words: Vec<&str> = amount.split_whitespace().collect();
            match words.as_slice() {
                [number] => {
                    let unit = self.name("a unit such as DAY")?;
                    parts.push((negative, (*number).to_owned(), unit));
                }
                pairs if pairs.len() % 2 == 0 => {
                    parts.extend(pairs.chunks(2).map(|p| (negative, p[0].to_owned(), p[1].to_owned())));
                }
                _ => return Err(mistake(self.sql, at, format!("INTERVAL '{amount}' cannot be read"))),
            }
        }
        match interval(&parts) {
            Some(interval) => Ok(Node::Interval(interval)),
            None => Err(mistake(self.sql, at, "this INTERVAL is not supported")
                .hint("Write whole years and months, or weeks, days, hours, minutes and seconds, not both.")),
        }
    }

    /// The name of a type in CAST.
    pub(super) fn type_name(&mut self) -> Result<PrimitiveType> {
        let at = self.place();
        let name = self.name("a type")?.to_ascii_uppercase();
        if name == "DECIMAL" || name == "NUMERIC" || name == "DEC" {
            return self.decimal_type(at);
        }
        primitive(&name).ok_or_else(|| {
            mistake(self.sql, at, format!("a cast to {name} is not supported"))
                .hint("Types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, BINARY, DATE, TIMESTAMP and TIMESTAMP_NTZ.")
        })
    }

    fn decimal_type(&mut self, at: usize) -> Result<PrimitiveType> {
        if !self.sees_symbol(0, "(") {
            return Ok(PrimitiveType::Decimal { precision: 10, scale: 0 });
        }
        let sizes = self.list(|c| match c.advance() {
            Token::Number(text) => text.parse::<u8>().map_err(|_| c.mistake(format!("{text} is no precision"))),
            _ => Err(c.unexpected("a number")),
        })?;
        let (precision, scale) = match sizes.as_slice() {
            [precision] => (*precision, 0),
            [precision, scale] => (*precision, *scale),
            _ => return Err(mistake(self.sql, at, "DECIMAL has a precision and a scale")),
        };
        if !(1..=38).contains(&precision) || scale > precision {
            return Err(mistake(self.sql, at, format!("there is no DECIMAL({precision},{scale})"))
                .hint("The precision is 1 to 38, the scale not above it."));
        }
        Ok(PrimitiveType::Decimal { precision, scale })
    }
}

fn exactly<const N: usize>(list: Vec<Node>) -> Result<[Node; N], usize> {
    list.try_into().map_err(|list: Vec<Node>| list.len())
}

fn wrong_count(sql: &str, at: usize, word: &str, wanted: &str, got: usize) -> Error {
    mistake(sql, at, format!("{word} takes {wanted} arguments, not {got}"))
}

fn unknown_function(sql: &str, at: usize, name: &str) -> Error {
    mistake(sql, at, format!("the function {name} is not supported here"))
        .hint(format!("Functions are {}; compute others into a column first.", Function::names()))
}
