//! Comparing two typed values as SQL does.

use std::cmp::Ordering;

use super::parse::number;
use crate::error::{Error, ErrorKind, Result};
use crate::table::number::compare_decimals;
use crate::table::schema::PrimitiveType;
use crate::table::value::{Value, canonical, parse_timestamp};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The order of two values, `None` (unknown) where one is NULL.
///
/// A text is read as a value of the other side's type. Where that fails, a
/// literal is a mistake of the person (`Usage`), a cell is just not comparable
/// (unknown, as a failed cast is NULL).
pub(super) fn compare(
    left: &Value,
    right: &Value,
    left_is_cell: bool,
    right_is_cell: bool,
) -> Result<Option<Ordering>> {
    use Value::{Binary, Boolean, Nested, String};
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (String(a), String(b)) => Ok(Some(a.cmp(b))),
        (String(text), other) => match converted(text, other) {
            Some(value) => compare(&value, other, false, false),
            None if left_is_cell => Ok(None),
            None => Err(not_a(text, other)),
        },
        (other, String(text)) => match converted(text, other) {
            Some(value) => compare(other, &value, false, false),
            None if right_is_cell => Ok(None),
            None => Err(not_a(text, other)),
        },
        (Boolean(a), Boolean(b)) => Ok(Some(a.cmp(b))),
        (Binary(a), Binary(b)) => Ok(Some(a.cmp(b))),
        (Nested(_), _) | (_, Nested(_)) => Err(incomparable(left, right)),
        _ => match (numeric(left), numeric(right)) {
            (Some(a), Some(b)) => Ok(Some(compare_numbers(a, b))),
            _ => match (instant(left), instant(right)) {
                (Some(a), Some(b)) => Ok(Some(a.cmp(&b))),
                _ => Err(incomparable(left, right)),
            },
        },
    }
}

/// A text as a value that compares with `other`.
fn converted(text: &str, other: &Value) -> Option<Value> {
    let trimmed = text.trim();
    match other {
        Value::Int(_) | Value::Decimal { .. } => number(trimmed),
        Value::Float(_) | Value::Double(_) => Value::parse_partition(Some(trimmed), &PrimitiveType::Double),
        Value::Boolean(_) => Value::parse_partition(Some(trimmed), &PrimitiveType::Boolean),
        Value::Date(_) => Value::parse_partition(Some(trimmed), &PrimitiveType::Date),
        Value::Timestamp(_) | Value::TimestampNtz(_) => parse_timestamp(trimmed).map(Value::Timestamp),
        Value::Binary(_) => Some(Value::Binary(text.as_bytes().to_vec())),
        Value::Null | Value::String(_) | Value::Nested(_) => None,
    }
    .filter(|value| !value.is_null())
}

#[derive(Clone, Copy)]
enum Number {
    Exact(i128, u8),
    Float(f64),
}

fn numeric(value: &Value) -> Option<Number> {
    Some(match value {
        Value::Int(i) => Number::Exact(i128::from(*i), 0),
        Value::Decimal { unscaled, scale } => Number::Exact(*unscaled, *scale),
        Value::Float(x) => Number::Float(f64::from(*x)),
        Value::Double(x) => Number::Float(*x),
        _ => return None,
    })
}

/// Exact against exact is exact; as soon as one side is a float both are.
fn compare_numbers(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Exact(x, s), Number::Exact(y, t)) => compare_decimals((x, s), (y, t)),
        _ => canonical(as_f64(a)).total_cmp(&canonical(as_f64(b))),
    }
}

fn as_f64(n: Number) -> f64 {
    match n {
        Number::Exact(unscaled, scale) => decimal_as_f64(unscaled, scale),
        Number::Float(x) => x,
    }
}

/// The nearest double to a decimal. The decimal's text is what is rounded:
/// dividing by a power of ten would round twice.
pub(crate) fn decimal_as_f64(unscaled: i128, scale: u8) -> f64 {
    crate::table::number::decimal(unscaled, scale).parse().unwrap_or(f64::NAN)
}

/// Microseconds since the epoch; a date is its midnight in UTC.
fn instant(value: &Value) -> Option<i64> {
    match value {
        Value::Date(days) => Some(i64::from(*days) * MICROS_PER_DAY),
        Value::Timestamp(us) | Value::TimestampNtz(us) => Some(*us),
        _ => None,
    }
}

fn not_a(text: &str, other: &Value) -> Error {
    Error::new(ErrorKind::Usage, format!("'{text}' cannot be read as a {}, which it is compared with", kind(other)))
}

fn incomparable(left: &Value, right: &Value) -> Error {
    Error::new(ErrorKind::Usage, format!("a {} cannot be compared with a {}", kind(left), kind(right)))
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Boolean(_) => "boolean",
        Value::Int(_) => "whole number",
        Value::Float(_) | Value::Double(_) => "floating-point number",
        Value::Decimal { .. } => "decimal",
        Value::String(_) => "text",
        Value::Binary(_) => "binary value",
        Value::Date(_) => "date",
        Value::Timestamp(_) | Value::TimestampNtz(_) => "timestamp",
        Value::Nested(_) => "nested value",
    }
}
