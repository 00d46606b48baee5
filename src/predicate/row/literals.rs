//! What literals, intervals and names of types mean.

use super::dates::{MICROS_PER_DAY, parse_date, parse_timestamp};
use super::node::{Interval, Node};
use crate::table::Value;
use crate::table::number::parse_decimal;
use crate::table::schema::PrimitiveType;

const MICROS_PER_SECOND: i64 = 1_000_000;

pub(super) fn primitive(name: &str) -> Option<PrimitiveType> {
    Some(match name {
        "BOOLEAN" => PrimitiveType::Boolean,
        "TINYINT" | "BYTE" => PrimitiveType::Byte,
        "SMALLINT" | "SHORT" => PrimitiveType::Short,
        "INT" | "INTEGER" => PrimitiveType::Integer,
        "BIGINT" | "LONG" => PrimitiveType::Long,
        "FLOAT" | "REAL" => PrimitiveType::Float,
        "DOUBLE" => PrimitiveType::Double,
        "STRING" => PrimitiveType::String,
        "BINARY" => PrimitiveType::Binary,
        "DATE" => PrimitiveType::Date,
        "TIMESTAMP" | "TIMESTAMP_LTZ" => PrimitiveType::Timestamp,
        "TIMESTAMP_NTZ" => PrimitiveType::TimestampNtz,
        _ => return None,
    })
}

/// `INT('5')` is a cast.
pub(super) fn cast_function(name: &str) -> Option<PrimitiveType> {
    match name {
        "BOOLEAN" | "TINYINT" | "SMALLINT" | "INT" | "BIGINT" | "FLOAT" | "DOUBLE" | "STRING" | "BINARY" | "DATE"
        | "TIMESTAMP" => primitive(name),
        "DECIMAL" => Some(PrimitiveType::Decimal { precision: 10, scale: 0 }),
        _ => None,
    }
}

/// A number by Spark's rule: whole ones are int, else long, else decimal; with
/// an exponent a double; with a point a decimal of its own scale.
pub(super) fn number(text: &str, negative: bool) -> Option<Node> {
    let body = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text[body.len()..].to_ascii_uppercase();
    let signed = format!("{}{body}", if negative { "-" } else { "" });
    let whole = |t: PrimitiveType, min: i64, max: i64| {
        let n = signed.parse::<i64>().ok().filter(|n| (min..=max).contains(n))?;
        Some(Node::Literal(Value::Int(n), Some(t)))
    };
    match suffix.as_str() {
        "Y" => whole(PrimitiveType::Byte, i8::MIN.into(), i8::MAX.into()),
        "S" => whole(PrimitiveType::Short, i16::MIN.into(), i16::MAX.into()),
        "L" => whole(PrimitiveType::Long, i64::MIN, i64::MAX),
        "F" => Some(Node::Literal(
            Value::Float(signed.parse().ok().filter(|x: &f32| x.is_finite())?),
            Some(PrimitiveType::Float),
        )),
        "D" => Some(Node::Literal(
            Value::Double(signed.parse().ok().filter(|x: &f64| x.is_finite())?),
            Some(PrimitiveType::Double),
        )),
        "" if body.contains(['e', 'E']) => Some(Node::Literal(
            Value::Double(signed.parse().ok().filter(|x: &f64| x.is_finite())?),
            Some(PrimitiveType::Double),
        )),
        "" if !body.contains('.') => whole(PrimitiveType::Integer, i32::MIN.into(), i32::MAX.into())
            .or_else(|| whole(PrimitiveType::Long, i64::MIN, i64::MAX))
            .or_else(|| decimal(&signed)),
        _ => decimal(&signed),
    }
}

fn decimal(text: &str) -> Option<Node> {
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let scale = u8::try_from(fraction.split(['e', 'E']).next().map_or(0, str::len)).ok().filter(|s| *s <= 38)?;
    let unscaled = parse_decimal(text, 38, scale)?;
    let digits = u8::try_from(unscaled.unsigned_abs().checked_ilog10().unwrap_or(0) + 1).ok()?;
    let t = PrimitiveType::Decimal { precision: digits.max(scale), scale };
    Some(Node::Literal(Value::Decimal { unscaled, scale }, Some(t)))
}

pub(super) fn typed_literal(word: &str, text: &str) -> Option<Node> {
    let trimmed = text.trim();
    Some(match word {
        "X" => {
            let digits: Vec<u8> = text.chars().map(|c| Some(c.to_digit(16)? as u8)).collect::<Option<_>>()?;
            let even = if digits.len() % 2 == 1 { [vec![0], digits].concat() } else { digits };
            let bytes = even.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
            Node::Literal(Value::Binary(bytes), Some(PrimitiveType::Binary))
        }
        "DATE" => Node::Literal(Value::Date(parse_date(trimmed)?), Some(PrimitiveType::Date)),
        "TIMESTAMP_NTZ" => {
            Node::Literal(Value::TimestampNtz(parse_timestamp(trimmed)?), Some(PrimitiveType::TimestampNtz))
        }
        _ => Node::Literal(Value::Timestamp(parse_timestamp(trimmed)?), Some(PrimitiveType::Timestamp)),
    })
}

/// (negative, amount, unit) of each part; either months or time.
pub(super) fn interval(parts: &[(bool, String, String)]) -> Option<Interval> {
    let (mut months, mut days, mut micros) = (None::<i32>, None::<i64>, None::<i64>);
    for (negative, amount, unit) in parts {
        let unit = unit.to_ascii_uppercase();
        let unit = unit.strip_suffix('S').unwrap_or(&unit);
        if unit == "SECOND" {
            let us = i64::try_from(parse_decimal(amount, 38, 6)?).ok()?;
            micros = Some(micros.unwrap_or(0).checked_add(if *negative { -us } else { us })?);
            continue;
        }
        let n: i64 = amount.parse().ok()?;
        let n = if *negative { -n } else { n };
        let add = |sum: &mut Option<i64>, factor: i64| -> Option<()> {
            *sum = Some(sum.unwrap_or(0).checked_add(n.checked_mul(factor)?)?);
            Some(())
        };
        let mut whole_months = months.map(i64::from);
        match unit {
            "YEAR" => add(&mut whole_months, 12)?,
            "MONTH" => add(&mut whole_months, 1)?,
            "WEEK" => add(&mut days, 7)?,
            "DAY" => add(&mut days, 1)?,
            "HOUR" => add(&mut micros, 3600 * MICROS_PER_SECOND)?,
            "MINUTE" => add(&mut micros, 60 * MICROS_PER_SECOND)?,
            "MILLISECOND" => add(&mut micros, 1000)?,
            "MICROSECOND" => add(&mut micros, 1)?,
            _ => return None,
        }
        months = whole_months.map(i32::try_from).transpose().ok()?;
    }
    match (months, days, micros) {
        (Some(months), None, None) => Some(Interval::Months(months)),
        (None, Some(days), None) => Some(Interval::Days(i32::try_from(days).ok()?)),
        (None, days, Some(us)) => Some(Interval::Time(days.unwrap_or(0).checked_mul(MICROS_PER_DAY)?.checked_add(us)?)),
        _ => None,
    }
}
