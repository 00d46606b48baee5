//! CAST of one value with ANSI rules: what cannot be read or held is an error.

use super::dates::{MICROS_PER_DAY, parse_date, parse_timestamp};
use super::numbers::{java_text, text_to_decimal, to_decimal};
use crate::table::Value;
use crate::table::schema::PrimitiveType;

/// Why a value cannot be cast, to follow the expression's name.
pub(super) type Failure = String;

/// The value as `to`. NULL stays NULL.
pub(super) fn cast(value: Value, to: &PrimitiveType) -> Result<Value, Failure> {
    let overflow = |value: &Value| format!("overflows: {} does not fit {to}", value.plain());
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (value, PrimitiveType::String) => Ok(Value::String(text_of(&value))),
        (Value::String(text), to) => from_text(&text, to),
        (Value::Boolean(b), to) if is_number(to) => cast(Value::Int(b.into()), to),
        (value, PrimitiveType::Boolean) => match &value {
            Value::Boolean(_) => Ok(value),
            Value::Int(n) => Ok(Value::Boolean(*n != 0)),
            Value::Float(x) => Ok(Value::Boolean(*x != 0.0)),
            Value::Double(x) => Ok(Value::Boolean(*x != 0.0)),
            Value::Decimal { unscaled, .. } => Ok(Value::Boolean(*unscaled != 0)),
            _ => Err(no_cast(&value, to)),
        },
        (value, PrimitiveType::Byte | PrimitiveType::Short | PrimitiveType::Integer | PrimitiveType::Long) => {
            let whole = match &value {
                Value::Int(n) => i128::from(*n),
                Value::Decimal { unscaled, scale } => unscaled / 10i128.pow(u32::from(*scale)),
                Value::Float(x) => truncated(f64::from(*x)).ok_or_else(|| overflow(&value))?,
                Value::Double(x) => truncated(*x).ok_or_else(|| overflow(&value))?,
                Value::Timestamp(us) => i128::from(us.div_euclid(1_000_000)),
                _ => return Err(no_cast(&value, to)),
            };
            fit(whole, to).ok_or_else(|| overflow(&value))
        }
        (value, PrimitiveType::Decimal { precision, scale }) => match &value {
            Value::Int(n) => to_decimal(i128::from(*n), 0, *precision, *scale),
            Value::Decimal { unscaled, scale: own } => to_decimal(*unscaled, *own, *precision, *scale),
            Value::Float(x) => double_to_decimal(f64::from(*x), *precision, *scale),
            Value::Double(x) => double_to_decimal(*x, *precision, *scale),
            Value::Timestamp(us) => to_decimal(i128::from(*us), 6, *precision, *scale),
            _ => return Err(no_cast(&value, to)),
        }
        .ok_or_else(|| overflow(&value)),
        (value, PrimitiveType::Double) => as_double(&value).map(Value::Double).ok_or_else(|| no_cast(&value, to)),
        (value, PrimitiveType::Float) => match &value {
            Value::Float(_) => Ok(value),
            // The decimal's text is what is rounded, once.
            Value::Decimal { unscaled, scale } => {
                crate::table::number::decimal(*unscaled, *scale).parse().map(Value::Float).map_err(|_| overflow(&value))
            }
            Value::Int(n) => Ok(Value::Float(*n as f32)),
            other => as_double(other).map(|x| Value::Float(x as f32)).ok_or_else(|| no_cast(other, to)),
        },
        (value, PrimitiveType::Date) => match value {
            Value::Date(_) => Ok(value),
            Value::Timestamp(us) | Value::TimestampNtz(us) => i32::try_from(us.div_euclid(MICROS_PER_DAY))
                .map(Value::Date)
                .map_err(|_| overflow(&Value::Timestamp(us))),
            other => Err(no_cast(&other, to)),
        },
        (value, PrimitiveType::Timestamp | PrimitiveType::TimestampNtz) => {
            let us = match &value {
                Value::Date(days) => i64::from(*days).checked_mul(MICROS_PER_DAY),
                Value::Timestamp(us) | Value::TimestampNtz(us) => Some(*us),
                Value::Int(seconds) => seconds.checked_mul(1_000_000),
                _ => return Err(no_cast(&value, to)),
            };
            let us = us.ok_or_else(|| overflow(&value))?;
            Ok(if *to == PrimitiveType::Timestamp { Value::Timestamp(us) } else { Value::TimestampNtz(us) })
        }
        (Value::Binary(bytes), PrimitiveType::Binary) => Ok(Value::Binary(bytes)),
        (other, PrimitiveType::Binary) => Err(no_cast(&other, to)),
    }
}

fn no_cast(value: &Value, to: &PrimitiveType) -> Failure {
    format!("cannot be cast: {} is no {to}", value.plain())
}

pub(super) fn is_number(t: &PrimitiveType) -> bool {
    is_whole(t) || matches!(t, PrimitiveType::Float | PrimitiveType::Double | PrimitiveType::Decimal { .. })
}

pub(super) fn is_whole(t: &PrimitiveType) -> bool {
    matches!(t, PrimitiveType::Byte | PrimitiveType::Short | PrimitiveType::Integer | PrimitiveType::Long)
}

/// A whole number, if the type holds it.
pub(super) fn fit(n: i128, t: &PrimitiveType) -> Option<Value> {
    let (min, max): (i64, i64) = match t {
        PrimitiveType::Byte => (i8::MIN.into(), i8::MAX.into()),
        PrimitiveType::Short => (i16::MIN.into(), i16::MAX.into()),
        PrimitiveType::Integer => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    i64::try_from(n).ok().filter(|n| (min..=max).contains(n)).map(Value::Int)
}

fn truncated(x: f64) -> Option<i128> {
    (x.is_finite() && x.abs() < 1e30).then_some(x as i128)
}

pub(super) fn as_double(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Int(n) => *n as f64,
        Value::Float(x) => f64::from(*x),
        Value::Double(x) => *x,
        Value::Decimal { unscaled, scale } => crate::predicate::compare::decimal_as_f64(*unscaled, *scale),
        Value::Timestamp(us) => *us as f64 / 1e6,
        _ => return None,
    })
}

/// By way of the shortest text, as Java's BigDecimal does it.
pub(super) fn double_to_decimal(x: f64, precision: u8, scale: u8) -> Option<Value> {
    if x.is_finite() { text_to_decimal(&format!("{x:e}"), precision, scale).flatten() } else { None }
}

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Float(x) => java_text(f64::from(*x), &format!("{x:e}")),
        Value::Double(x) => java_text(*x, &format!("{x:e}")),
        Value::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Timestamp(us) | Value::TimestampNtz(us) => {
            let text = Value::TimestampNtz(*us).plain().replace('T', " ");
            if text.contains('.') { text.trim_end_matches('0').to_owned() } else { text }
        }
        other => other.plain(),
    }
}

fn from_text(text: &str, to: &PrimitiveType) -> Result<Value, Failure> {
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let malformed = || format!("cannot be cast: '{text}' is no {to}");
    match to {
        PrimitiveType::String => Ok(Value::String(text.to_owned())),
        PrimitiveType::Binary => Ok(Value::Binary(text.as_bytes().to_vec())),
        PrimitiveType::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "1" => Ok(Value::Boolean(true)),
            "f" | "false" | "n" | "no" | "0" => Ok(Value::Boolean(false)),
            _ => Err(malformed()),
        },
        PrimitiveType::Byte | PrimitiveType::Short | PrimitiveType::Integer | PrimitiveType::Long => {
            trimmed.parse::<i64>().ok().and_then(|n| fit(i128::from(n), to)).ok_or_else(malformed)
        }
        PrimitiveType::Decimal { precision, scale } => match text_to_decimal(trimmed, *precision, *scale) {
            Some(Some(value)) => Ok(value),
            Some(None) => Err(format!("overflows: '{text}' does not fit {to}")),
            None => Err(malformed()),
        },
        PrimitiveType::Double => float(trimmed).map(Value::Double).ok_or_else(malformed),
        PrimitiveType::Float => match float(trimmed) {
            // Read anew: from the double it would be rounded twice.
            Some(x) if x.is_finite() => {
                let body = trimmed.trim_end_matches(['d', 'D', 'f', 'F']);
                body.parse().map(Value::Float).map_err(|_| malformed())
            }
            Some(x) => Ok(Value::Float(x as f32)),
            None => Err(malformed()),
        },
        PrimitiveType::Date => parse_date(trimmed).map(Value::Date).ok_or_else(malformed),
        PrimitiveType::Timestamp => parse_timestamp(trimmed).map(Value::Timestamp).ok_or_else(malformed),
        PrimitiveType::TimestampNtz => parse_timestamp(trimmed).map(Value::TimestampNtz).ok_or_else(malformed),
    }
}

/// A float's text as Java reads it, with Spark's names for what is no number.
fn float(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => return Some(f64::NAN),
        "inf" | "+inf" | "infinity" | "+infinity" => return Some(f64::INFINITY),
        "-inf" | "-infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let body = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    // Rust reads words that Java does not.
    if body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-')) {
        body.parse().ok()
    } else {
        None
    }
}
