//! The syntax tree of a predicate: small, closed, and free of any parser's types.

use crate::table::Value;

/// A condition over one row. AND and OR are flat lists, so that the tree is
/// only as deep as its parentheses.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    /// A boolean column or literal that stands alone.
    Truth(Operand),
    Compare {
        left: Operand,
        op: Comparison,
        right: Operand,
    },
    IsNull(Operand),
    /// `x IN (…)`
    In {
        operand: Operand,
        list: Vec<Operand>,
    },
    Like {
        operand: Operand,
        pattern: Pattern,
    },
    /// `condition IS TRUE`, `IS FALSE`, `IS UNKNOWN`; never unknown itself.
    Is(Box<Expr>, Option<bool>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    Column(String),
    /// A number without an exponent is a decimal of its own scale.
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    /// `<=>`: NULL equals NULL; never unknown.
    NullSafeEq,
}

impl Comparison {
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Eq | Comparison::NullSafeEq => ordering.is_eq(),
            Comparison::NotEq => ordering.is_ne(),
            Comparison::Lt => ordering.is_lt(),
            Comparison::LtEq => ordering.is_le(),
            Comparison::Gt => ordering.is_gt(),
            Comparison::GtEq => ordering.is_ge(),
        }
    }

    /// The comparison with its sides exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::LtEq => Comparison::GtEq,
            Comparison::Gt => Comparison::Lt,
            Comparison::GtEq => Comparison::LtEq,
            same => same,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Eq => "=",
            Comparison::NotEq => "<>",
            Comparison::Lt => "<",
            Comparison::LtEq => "<=",
            Comparison::Gt => ">",
            Comparison::GtEq => ">=",
            Comparison::NullSafeEq => "<=>",
        }
    }
}

/// A LIKE pattern, its escapes resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(pub Vec<PatternPart>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPart {
    Char(char),
    /// `_`
    One,
    /// `%`
    Any,
}

impl Pattern {
    /// `None` where the escape character stands before nothing that can be escaped.
    pub fn parse(text: &str, escape: char) -> Option<Pattern> {
        let mut parts = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                c if c == escape => match chars.next() {
                    Some(next) if next == escape || next == '%' || next == '_' => PatternPart::Char(next),
                    _ => return None,
                },
                '%' => PatternPart::Any,
                '_' => PatternPart::One,
                c => PatternPart::Char(c),
            });
        }
        Some(Pattern(parts))
    }

    /// Linear in practice: only the last `%` is ever tried again.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut p, mut t) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while t < text.len() {
            match self.0.get(p) {
                Some(PatternPart::Any) => {
                    retry = Some((p + 1, t));
                    p += 1;
                }
                Some(PatternPart::One) => (p, t) = (p + 1, t + 1),
                Some(PatternPart::Char(c)) if *c == text[t] => (p, t) = (p + 1, t + 1),
                _ => match retry {
                    Some((after, from)) => {
                        retry = Some((after, from + 1));
                        (p, t) = (after, from + 1);
                    }
                    None => return false,
                },
            }
        }
        self.0[p..].iter().all(|part| *part == PatternPart::Any)
    }
}

impl Expr {
    /// Calls `visit` with every operand.
    pub fn operands<'a>(&'a self, visit: &mut impl FnMut(&'a Operand)) {
        match self {
            Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|part| part.operands(visit)),
            Expr::Not(inner) | Expr::Is(inner, _) => inner.operands(visit),
            Expr::Truth(operand) | Expr::IsNull(operand) | Expr::Like { operand, .. } => visit(operand),
            Expr::Compare { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expr::In { operand, list } => {
                visit(operand);
                list.iter().for_each(visit);
            }
        }
    }
}
