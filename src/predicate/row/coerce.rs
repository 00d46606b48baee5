//! Which type two operands meet in: Spark's ANSI rules.

use super::cast::{is_number, is_whole};
use super::numbers;
use crate::table::schema::{DataType, PrimitiveType};

/// A type during binding: a NULL has none of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Void,
    Plain(PrimitiveType),
    Nested(DataType),
}

pub(super) const TEXT: Type = Type::Plain(PrimitiveType::String);
pub(super) const BOOLEAN: Type = Type::Plain(PrimitiveType::Boolean);
pub(super) const INT: Type = Type::Plain(PrimitiveType::Integer);
pub(super) const LONG: Type = Type::Plain(PrimitiveType::Long);
pub(super) const DOUBLE: Type = Type::Plain(PrimitiveType::Double);
pub(super) const DATE: Type = Type::Plain(PrimitiveType::Date);
pub(super) const TIMESTAMP: Type = Type::Plain(PrimitiveType::Timestamp);

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Void => f.write_str("NULL"),
            Type::Plain(t) => t.fmt(f),
            Type::Nested(t) => t.fmt(f),
        }
    }
}

impl Type {
    pub fn plain(&self) -> Option<&PrimitiveType> {
        match self {
            Type::Plain(t) => Some(t),
            _ => None,
        }
    }

    pub fn is_number(&self) -> bool {
        self.plain().is_some_and(is_number)
    }

    pub fn is_whole(&self) -> bool {
        self.plain().is_some_and(is_whole)
    }

    pub fn is_decimal(&self) -> bool {
        matches!(self, Type::Plain(PrimitiveType::Decimal { .. }))
    }

    pub fn of(t: &DataType) -> Type {
        match t {
            DataType::Primitive(t) => Type::Plain(t.clone()),
            nested => Type::Nested(nested.clone()),
        }
    }
}

/// Precision and scale of a decimal, or of the decimal that holds every whole number of a type.
pub(super) fn digits(t: &PrimitiveType) -> Option<(u8, u8)> {
    Some(match t {
        PrimitiveType::Decimal { precision, scale } => (*precision, *scale),
        PrimitiveType::Byte => (3, 0),
        PrimitiveType::Short => (5, 0),
        PrimitiveType::Integer => (10, 0),
        PrimitiveType::Long => (20, 0),
        _ => return None,
    })
}

/// The type that holds both without a text becoming something else.
pub(super) fn wider(a: &Type, b: &Type) -> Option<Type> {
    use PrimitiveType::{Date, Decimal, Double, Float, Timestamp, TimestampNtz};
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (Type::Void, other) | (other, Type::Void) => Some(other.clone()),
        (Type::Plain(a), Type::Plain(b)) => {
            let t = match (a, b) {
                (Date, t @ (Timestamp | TimestampNtz)) | (t @ (Timestamp | TimestampNtz), Date) => t.clone(),
                (Timestamp, TimestampNtz) | (TimestampNtz, Timestamp) => Timestamp,
                (a, b) if !is_number(a) || !is_number(b) => return None,
                (Decimal { .. }, Float | Double) | (Float | Double, Decimal { .. }) => Double,
                (Decimal { .. }, _) | (_, Decimal { .. }) => {
                    let (precision, scale) = numbers::wider(digits(a)?, digits(b)?);
                    Decimal { precision, scale }
                }
                // A float would not hold every int.
                (Double | Float, _) | (_, Double | Float) => Double,
                (a, b) => if width(a) >= width(b) { a } else { b }.clone(),
            };
            Some(Type::Plain(t))
        }
        _ => None,
    }
}

fn width(t: &PrimitiveType) -> u8 {
    match t {
        PrimitiveType::Byte => 1,
        PrimitiveType::Short => 2,
        PrimitiveType::Integer => 4,
        _ => 8,
    }
}

/// [`wider`], where a text takes the other's type: a whole number's is long, another number's is double.
pub(super) fn common(a: &Type, b: &Type) -> Option<Type> {
    wider(a, b).or_else(|| match (a, b) {
        (Type::Plain(PrimitiveType::String), Type::Plain(other))
        | (Type::Plain(other), Type::Plain(PrimitiveType::String)) => Some(if is_whole(other) {
            LONG
        } else if is_number(other) {
            DOUBLE
        } else {
            Type::Plain(other.clone())
        }),
        _ => None,
    })
}

/// Whether CAST takes a value of one type to another.
pub(super) fn castable(from: &Type, to: &PrimitiveType) -> bool {
    use PrimitiveType::{Binary, Boolean, Date, String, Timestamp, TimestampNtz};
    match from {
        Type::Void => true,
        Type::Nested(_) => false,
        Type::Plain(from) => match (from, to) {
            (a, b) if a == b => true,
            (String, _) | (_, String) => true,
            (Boolean, to) => is_number(to),
            (from, Boolean) => is_number(from),
            (Date | Timestamp | TimestampNtz, Date | Timestamp | TimestampNtz) => true,
            (Timestamp, to) => is_number(to),
            (from, Timestamp) => is_whole(from),
            (Binary, _) | (_, Binary) => false,
            (from, to) => is_number(from) && is_number(to),
        },
    }
}
