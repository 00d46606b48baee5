//! The syntax tree of a row expression, and its one canonical text.

use crate::predicate::Comparison;
use crate::table::Value;
use crate::table::schema::PrimitiveType;

use super::RowExpr;
use super::functions::Function;
use crate::error::Result;

/// One of the two rows that an expression sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// `s`: the delivered row.
    Source,
    /// `t`: the table's row.
    Target,
}

impl Side {
    pub fn alias(self) -> &'static str {
        match self {
            Side::Source => "s",
            Side::Target => "t",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `DIV`: the whole quotient, a long.
    WholeDivide,
    Remainder,
}

impl Arithmetic {
    pub fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::WholeDivide => "DIV",
            Arithmetic::Remainder => "%",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Date,
    Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// Where no side is said, the schemas decide.
    Column {
        side: Option<Side>,
        name: String,
    },
    /// A NULL has no type.
    Literal(Value, Option<PrimitiveType>),
    /// Only beside `+` or `-`.
    Interval(Interval),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    IsNull(Box<Node>),
    /// `IS TRUE`, `IS FALSE`, `IS UNKNOWN`
    Is(Box<Node>, Option<bool>),
    In(Box<Node>, Vec<Node>),
    Between(Box<Node>, Box<Node>, Box<Node>),
    Like(Box<Node>, Box<Node>, char),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    Negative(Box<Node>),
    Case {
        operand: Option<Box<Node>>,
        whens: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
    Cast {
        value: Box<Node>,
        to: PrimitiveType,
        /// `TRY_CAST`: NULL instead of an error.
        lenient: bool,
    },
    Call(Function, Vec<Node>),
    Clock(Clock),
}

/// Spark's two kinds of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interval {
    Months(i32),
    Days(i32),
    /// microseconds
    Time(i64),
}

impl Node {
    pub fn children(&self) -> Vec<&Node> {
        match self {
            Node::Column { .. } | Node::Literal(..) | Node::Interval(_) | Node::Clock(_) => Vec::new(),
            Node::And(parts) | Node::Or(parts) | Node::Call(_, parts) => parts.iter().collect(),
            Node::Not(x) | Node::IsNull(x) | Node::Is(x, _) | Node::Negative(x) => vec![&**x],
            Node::Cast { value, .. } => vec![&**value],
            Node::Compare(_, a, b) | Node::Arithmetic(_, a, b) | Node::Like(a, b, _) => vec![&**a, &**b],
            Node::Between(a, b, c) => vec![&**a, &**b, &**c],
            Node::In(x, list) => std::iter::once(&**x).chain(list).collect(),
            Node::Case { operand, whens, otherwise } => operand
                .as_deref()
                .into_iter()
                .chain(whens.iter().flat_map(|(when, then)| [when, then]))
                .chain(otherwise.as_deref())
                .collect(),
        }
    }

    pub fn children_mut(&mut self) -> Vec<&mut Node> {
        match self {
            Node::Column { .. } | Node::Literal(..) | Node::Interval(_) | Node::Clock(_) => Vec::new(),
            Node::And(parts) | Node::Or(parts) | Node::Call(_, parts) => parts.iter_mut().collect(),
            Node::Not(x) | Node::IsNull(x) | Node::Is(x, _) | Node::Negative(x) => vec![&mut **x],
            Node::Cast { value, .. } => vec![&mut **value],
            Node::Compare(_, a, b) | Node::Arithmetic(_, a, b) | Node::Like(a, b, _) => vec![&mut **a, &mut **b],
            Node::Between(a, b, c) => vec![&mut **a, &mut **b, &mut **c],
            Node::In(x, list) => std::iter::once(&mut **x).chain(list).collect(),
            Node::Case { operand, whens, otherwise } => operand
                .as_deref_mut()
                .into_iter()
                .chain(whens.iter_mut().flat_map(|(when, then)| [when, then]))
                .chain(otherwise.as_deref_mut())
                .collect(),
        }
    }

    /// Calls `visit` with this node and all below it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    pub fn change(&mut self, visit: &mut impl FnMut(&mut Node)) {
        visit(self);
        for child in self.children_mut() {
            child.change(visit);
        }
    }

    /// The same node with another one in the place of each column; what comes in
    /// is not looked at again.
    pub fn map_columns(mut self, other: &dyn Fn(Option<Side>, &str) -> Result<RowExpr>) -> Result<Node> {
        if let Node::Column { side, name } = &self {
            return Ok(other(*side, name)?.node);
        }
        for child in self.children_mut() {
            let before = std::mem::replace(child, Node::Literal(Value::Null, None));
            *child = before.map_columns(other)?;
        }
        Ok(self)
    }

    pub fn height(&self) -> usize {
        1 + self.children().into_iter().map(Node::height).max().unwrap_or(0)
    }

    pub fn boxed(self) -> Box<Node> {
        Box::new(self)
    }

    pub fn negated_if(self, negated: bool) -> Node {
        if negated { Node::Not(Box::new(self)) } else { self }
    }
}
