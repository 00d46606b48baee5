//! The grammar of conditions and operators, with Spark's precedence.

use super::cursor::Cursor;
use super::lexer::Token;
use super::node::{Arithmetic, Node, Side};
use crate::error::{Error, ErrorKind, Result};
use crate::predicate::Comparison;

/// Expressions may stand in expressions so deep: each level takes some ten
/// frames of the parser's stack.
const MAX_NESTED: usize = 60;
/// So high may a tree be: it is walked and dropped on the stack.
const MAX_HEIGHT: usize = 150;

#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Compare(Comparison),
    Bits,
    Arithmetic(Arithmetic),
    Concat,
}

/// Spark's levels: comparison, `|`, `^`, `&`, sums, products.
fn operator(token: &Token) -> Option<(u8, Operator)> {
    use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract, WholeDivide};
    Some(match token {
        Token::Symbol(symbol) => match *symbol {
            "=" | "==" => (1, Operator::Compare(Comparison::Eq)),
            "<>" | "!=" => (1, Operator::Compare(Comparison::NotEq)),
            "<" => (1, Operator::Compare(Comparison::Lt)),
            "<=" => (1, Operator::Compare(Comparison::LtEq)),
            ">" => (1, Operator::Compare(Comparison::Gt)),
            ">=" => (1, Operator::Compare(Comparison::GtEq)),
            "<=>" => (1, Operator::Compare(Comparison::NullSafeEq)),
            "|" | "^" | "&" | "<<" | ">>" => (2, Operator::Bits),
            "+" => (5, Operator::Arithmetic(Add)),
            "-" => (5, Operator::Arithmetic(Subtract)),
            "||" => (5, Operator::Concat),
            "*" => (6, Operator::Arithmetic(Multiply)),
            "/" => (6, Operator::Arithmetic(Divide)),
            "%" => (6, Operator::Arithmetic(Remainder)),
            _ => return None,
        },
        Token::Word { text, quoted: false } if text.eq_ignore_ascii_case("div") => {
            (6, Operator::Arithmetic(WholeDivide))
        }
        _ => return None,
    })
}

impl Cursor<'_> {
    /// A condition or value: the whole grammar.
    ///
    /// # Errors
    /// `Usage` with line and column.
    pub fn expression(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > MAX_NESTED {
            return Err(self.too_deep());
        }
        let parsed = self.disjunction();
        self.depth -= 1;
        parsed
    }

    fn too_deep(&self) -> Error {
        Error::new(ErrorKind::Usage, format!("the expression is nested deeper than {MAX_NESTED} levels")).hint(
            "Chains of AND and OR and the lists of IN may be long; parentheses and operators may not nest so deep.",
        )
    }

    /// A node that was made of parsed ones, if it is not too high.
    pub(super) fn low(&self, node: Node) -> Result<Node> {
        if node.height() > MAX_HEIGHT { Err(self.too_deep()) } else { Ok(node) }
    }

    fn disjunction(&mut self) -> Result<Node> {
        let mut parts = vec![self.conjunction()?];
        while self.takes("OR") {
            parts.push(self.conjunction()?);
        }
        Ok(flat(parts, Node::Or, |node| match node {
            Node::Or(parts) => Ok(parts),
            other => Err(other),
        }))
    }

    fn conjunction(&mut self) -> Result<Node> {
        let mut parts = vec![self.negation()?];
        while self.takes("AND") {
            parts.push(self.negation()?);
        }
        Ok(flat(parts, Node::And, |node| match node {
            Node::And(parts) => Ok(parts),
            other => Err(other),
        }))
    }

    fn negation(&mut self) -> Result<Node> {
        let mut negated = 0;
        while self.takes("NOT") || self.takes_symbol("!") {
            negated += 1;
            if negated > MAX_HEIGHT {
                return Err(self.too_deep());
            }
        }
        let mut node = self.predicate()?;
        for _ in 0..negated {
            node = Node::Not(node.boxed());
        }
        self.low(node)
    }

    /// A value and at most one of `IS …`, `IN …`, `BETWEEN …`, `LIKE …`.
    fn predicate(&mut self) -> Result<Node> {
        let value = self.value(0)?;
        if self.takes("IS") {
            return self.is(value);
        }
        let negated = self.sees("NOT")
            && ["BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP"].iter().any(|w| self.sees(&format!("NOT {w}")));
        if negated {
            self.advance();
        }
        let node = if self.takes("IN") {
            if self.sees_symbol(0, "(")
                && matches!(&self.look(1).token, Token::Word { text, quoted: false } if text.eq_ignore_ascii_case("select"))
            {
                return Err(self.no_subquery());
            }
            let list = self.list(|c| c.expression())?;
            if list.is_empty() {
                return Err(self.mistake("the list of IN is empty"));
            }
            Node::In(value.boxed(), list)
        } else if self.takes("BETWEEN") {
            let low = self.value(0)?;
            self.expects("AND")?;
            Node::Between(value.boxed(), low.boxed(), self.value(0)?.boxed())
        } else if self.takes("LIKE") {
            if self.sees_any(&["ANY", "SOME", "ALL"]) {
                return Err(self.mistake("LIKE ANY and LIKE ALL are not supported").hint("Join several LIKE with OR."));
            }
            let pattern = self.value(0)?;
            let escape = if self.takes("ESCAPE") { self.escape_character()? } else { '\\' };
            Node::Like(value.boxed(), pattern.boxed(), escape)
        } else if self.sees_any(&["ILIKE", "RLIKE", "REGEXP"]) {
            return Err(self.mistake(format!("{} is not supported", self.shown())).hint("LIKE with % and _ is."));
        } else {
            return Ok(value);
        };
        self.low(node.negated_if(negated))
    }

    fn escape_character(&mut self) -> Result<char> {
        if let Token::Text(text) = self.token() {
            let mut chars = text.chars();
            if let (Some(c), None) = (chars.next(), chars.next()) {
                self.advance();
                return Ok(c);
            }
        }
        Err(self.unexpected("one character in quotes"))
    }

    fn is(&mut self, value: Node) -> Result<Node> {
        let negated = self.takes("NOT");
        let node = if self.takes("NULL") {
            Node::IsNull(value.boxed())
        } else if self.takes("TRUE") {
            Node::Is(value.boxed(), Some(true))
        } else if self.takes("FALSE") {
            Node::Is(value.boxed(), Some(false))
        } else if self.takes("UNKNOWN") {
            Node::Is(value.boxed(), None)
        } else if self.takes("DISTINCT FROM") {
            let same = Node::Compare(Comparison::NullSafeEq, value.boxed(), self.value(0)?.boxed());
            return self.low(same.negated_if(!negated));
        } else {
            return Err(self.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"));
        };
        self.low(node.negated_if(negated))
    }

    /// Operators that bind tighter than `above`, from the left.
    pub(super) fn value(&mut self, above: u8) -> Result<Node> {
        let mut left = self.unary()?;
        while let Some((level, operator)) = operator(self.token()).filter(|(level, _)| *level > above) {
            if operator == Operator::Bits {
                return Err(self.mistake(format!("the operator {} is not supported", self.shown())));
            }
            self.advance();
            let right = self.value(level)?;
            left = match operator {
                Operator::Compare(op) => Node::Compare(op, left.boxed(), right.boxed()),
                Operator::Arithmetic(op) => Node::Arithmetic(op, left.boxed(), right.boxed()),
                Operator::Concat | Operator::Bits => {
                    // A chain of || is flat, so that it need not be measured each time.
                    left = concat(left, right);
                    continue;
                }
            };
            left = self.low(left)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node> {
        let mut signs = Vec::new();
        while self.sees_symbol(0, "-") || self.sees_symbol(0, "+") || self.sees_symbol(0, "~") {
            if self.sees_symbol(0, "~") {
                return Err(self.mistake("the operator ~ is not supported"));
            }
            // A number takes its own sign: -2147483648 is an int.
            if self.sees_symbol(0, "-") && matches!(self.look(1).token, Token::Number(_)) {
                break;
            }
            signs.push(self.takes_symbol("-"));
            if signs.last() == Some(&false) {
                self.advance();
            }
            if signs.len() > MAX_HEIGHT {
                return Err(self.too_deep());
            }
        }
        let mut node = self.postfix()?;
        for negative in signs.into_iter().rev() {
            if negative {
                node = self.low(Node::Negative(node.boxed()))?;
            }
        }
        Ok(node)
    }

    /// A primary and its `::type`s.
    fn postfix(&mut self) -> Result<Node> {
        let mut node = self.primary()?;
        loop {
            if self.takes_symbol("::") {
                let to = self.type_name()?;
                node = self.low(Node::Cast { value: node.boxed(), to, lenient: false })?;
            } else if self.sees_symbol(0, "[") {
                return Err(self.mistake("elements of nested values cannot be taken here"));
            } else {
                return Ok(node);
            }
        }
    }

    pub(super) fn no_subquery(&self) -> Error {
        self.mistake("a subquery cannot be part of an expression")
            .hint("Join its rows into the source first; an expression sees one source row and one table row.")
    }

    /// A column by its dotted name: qualifier and name.
    pub(crate) fn column(&self, at: usize, mut parts: Vec<String>) -> Result<Node> {
        let Some(name) = parts.pop() else { return Err(self.unexpected("a column")) };
        if parts.is_empty() {
            return Ok(Node::Column { side: None, name });
        }
        let names = |aliases: &[Vec<String>]| {
            aliases.iter().any(|alias| {
                alias.len() == parts.len() && alias.iter().zip(&parts).all(|(a, b)| a.eq_ignore_ascii_case(b))
            })
        };
        let side = match (names(&self.aliases.source), names(&self.aliases.target)) {
            (true, false) => Side::Source,
            (false, true) => Side::Target,
            (true, true) => {
                let said = format!("'{}' names both tables", parts.join("."));
                return Err(super::lexer::mistake(self.sql, at, said).hint("Give them different aliases."));
            }
            (false, false) => {
                let known = self.aliases.source.iter().chain(&self.aliases.target).map(|alias| alias.join("."));
                let said = format!("'{}.{name}' is not a column of a row that can be seen here", parts.join("."));
                return Err(super::lexer::mistake(self.sql, at, said).hint(format!(
                    "Qualifiers are {}; fields of nested columns cannot be taken.",
                    known.collect::<Vec<_>>().join(", ")
                )));
            }
        };
        Ok(Node::Column { side: Some(side), name })
    }
}

/// One part is itself; chains inside a chain of their kind are taken up.
fn flat(mut parts: Vec<Node>, join: fn(Vec<Node>) -> Node, split: fn(Node) -> Result<Vec<Node>, Node>) -> Node {
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return only;
    }
    join(
        parts
            .into_iter()
            .flat_map(|part| match split(part) {
                Ok(inner) => inner,
                Err(other) => vec![other],
            })
            .collect(),
    )
}

fn concat(left: Node, right: Node) -> Node {
    use super::functions::Function::Concat;
    match left {
        Node::Call(Concat, mut parts) if !parts.is_empty() => {
            parts.push(right);
            Node::Call(Concat, parts)
        }
        left => Node::Call(Concat, vec![left, right]),
    }
}
