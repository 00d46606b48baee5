//! A bound expression as a tree with types, ready to be evaluated.

use std::collections::HashSet;

use super::coerce::Type;
use super::functions::Function;
use super::node::{Arithmetic, Interval, Side};
use crate::predicate::Comparison;
use crate::predicate::ast::Pattern;
use crate::table::Value;
use crate::table::schema::PrimitiveType;

#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub kind: Kind,
    pub t: Type,
    /// The expression's text where it can fail, else empty.
    pub text: String,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Column(Side, usize),
    Literal(Value),
    And(Vec<Typed>),
    Or(Vec<Typed>),
    Not(Box<Typed>),
    /// Both sides have one type.
    Compare(Comparison, Box<Typed>, Box<Typed>),
    IsNull(Box<Typed>),
    Is(Box<Typed>, Option<bool>),
    /// All have one type.
    In(Box<Typed>, Vec<Typed>),
    InSet {
        value: Box<Typed>,
        set: HashSet<Value>,
        has_null: bool,
    },
    Like(Box<Typed>, Box<Typed>, char),
    /// The pattern is a literal.
    Matches(Box<Typed>, Pattern),
    Arithmetic(Arithmetic, Box<Typed>, Box<Typed>),
    AddInterval(Box<Typed>, Interval),
    Negative(Box<Typed>),
    Case(Vec<(Typed, Typed)>, Option<Box<Typed>>),
    Cast {
        value: Box<Typed>,
        to: PrimitiveType,
        lenient: bool,
    },
    Call(Function, Vec<Typed>),
    /// Not pinned.
    Clock,
}

impl Typed {
    pub fn new(kind: Kind, t: Type) -> Typed {
        Typed { kind, t, text: String::new() }
    }

    pub fn failing(kind: Kind, t: Type, text: String) -> Typed {
        Typed { kind, t, text }
    }

    pub fn literal(value: Value, t: Type) -> Typed {
        Typed::new(Kind::Literal(value), t)
    }

    pub fn boxed(self) -> Box<Typed> {
        Box::new(self)
    }

    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            Kind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// As a value of another type; the same where it is of that type already.
    pub fn into_type(self, to: &Type, text: &str) -> Typed {
        let Type::Plain(plain) = to else { return self };
        if self.t == *to {
            return self;
        }
        if let Kind::Literal(value) = &self.kind
            && let Ok(folded) = super::cast::cast(value.clone(), plain)
        {
            return Typed::literal(folded, to.clone());
        }
        let cast = Kind::Cast { value: self.boxed(), to: plain.clone(), lenient: false };
        Typed::failing(cast, to.clone(), text.to_owned())
    }

    pub fn children(&self) -> Vec<&Typed> {
        match &self.kind {
            Kind::Column(..) | Kind::Literal(_) | Kind::Clock => Vec::new(),
            Kind::And(parts) | Kind::Or(parts) | Kind::Call(_, parts) => parts.iter().collect(),
            Kind::Not(x) | Kind::IsNull(x) | Kind::Is(x, _) | Kind::Negative(x) | Kind::AddInterval(x, _) => {
                vec![&**x]
            }
            Kind::Matches(value, _) | Kind::InSet { value, .. } | Kind::Cast { value, .. } => vec![&**value],
            Kind::Compare(_, a, b) | Kind::Arithmetic(_, a, b) | Kind::Like(a, b, _) => vec![&**a, &**b],
            Kind::In(x, list) => std::iter::once(&**x).chain(list).collect(),
            Kind::Case(whens, otherwise) => {
                whens.iter().flat_map(|(when, then)| [when, then]).chain(otherwise.as_deref()).collect()
            }
        }
    }

    pub fn collect_columns(&self, found: &mut Vec<(Side, usize)>) {
        if let Kind::Column(side, at) = self.kind
            && !found.contains(&(side, at))
        {
            found.push((side, at));
        }
        for child in self.children() {
            child.collect_columns(found);
        }
    }
}
