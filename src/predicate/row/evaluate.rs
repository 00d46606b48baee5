//! Evaluation of a typed tree for one pair of rows.

use std::cmp::Ordering;

use super::bind::short;
use super::cast::{as_double, cast, fit};
use super::dates::{MICROS_PER_DAY, add_months};
use super::node::{Arithmetic, Interval, Side};
use super::numbers;
use super::typed::{Kind, Typed};
use crate::error::{Error, ErrorKind, Result};
use crate::predicate::Comparison;
use crate::predicate::ast::Pattern;
use crate::table::Value;
use crate::table::schema::PrimitiveType;

pub(super) type Cell<'a> = &'a dyn Fn(Side, usize) -> Value;

/// An expression that has no value for a row.
pub(super) fn failed(e: &Typed, said: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Usage, format!("`{}` {said}", short(&e.text)))
        .hint("Spark fails on this row too (ANSI mode). Guard it: TRY_CAST, NULLIF(…, 0), CASE WHEN …")
}

pub(super) fn evaluate(e: &Typed, cell: Cell<'_>) -> Result<Value> {
    Ok(match &e.kind {
        Kind::Column(side, at) => cell(*side, *at),
        Kind::Literal(value) => value.clone(),
        Kind::Clock => {
            return Err(Error::new(ErrorKind::Internal, format!("`{}` is evaluated before it is pinned", e.text)));
        }
        Kind::And(parts) => truth(connected(parts, cell, false)?),
        Kind::Or(parts) => truth(connected(parts, cell, true)?),
        Kind::Not(inner) => truth(condition(inner, cell)?.map(|b| !b)),
        Kind::Is(inner, wanted) => Value::Boolean(condition(inner, cell)? == *wanted),
        Kind::IsNull(inner) => Value::Boolean(evaluate(inner, cell)?.is_null()),
        Kind::Compare(op, a, b) => truth(compared(*op, &evaluate(a, cell)?, &evaluate(b, cell)?)),
        Kind::In(value, list) => {
            let value = evaluate(value, cell)?;
            if value.is_null() {
                return Ok(Value::Null);
            }
            let mut found = Some(false);
            for item in list {
                match compared(Comparison::Eq, &value, &evaluate(item, cell)?) {
                    Some(true) => return Ok(Value::Boolean(true)),
                    Some(false) => {}
                    None => found = None,
                }
            }
            truth(found)
        }
        Kind::InSet { value, set, has_null } => match evaluate(value, cell)? {
            Value::Null => Value::Null,
            value if set.contains(&value) => Value::Boolean(true),
            _ if *has_null => Value::Null,
            _ => Value::Boolean(false),
        },
        Kind::Matches(value, pattern) => match evaluate(value, cell)? {
            Value::String(text) => Value::Boolean(pattern.matches(&text)),
            _ => Value::Null,
        },
        Kind::Like(value, pattern, escape) => match (evaluate(value, cell)?, evaluate(pattern, cell)?) {
            (Value::String(text), Value::String(pattern)) => match Pattern::parse(&pattern, *escape) {
                Some(parsed) => Value::Boolean(parsed.matches(&text)),
                None => return Err(failed(e, format!("has the pattern '{pattern}', whose escapes are wrong"))),
            },
            _ => Value::Null,
        },
        Kind::Arithmetic(op, a, b) => arithmetic(e, *op, evaluate(a, cell)?, evaluate(b, cell)?)?,
        Kind::AddInterval(x, interval) => match evaluate(x, cell)? {
            Value::Null => Value::Null,
            value => moved(&value, *interval).ok_or_else(|| failed(e, "leaves the calendar"))?,
        },
        Kind::Negative(x) => match evaluate(x, cell)? {
            Value::Int(n) => whole(e, -i128::from(n))?,
            Value::Float(x) => Value::Float(-x),
            Value::Double(x) => Value::Double(-x),
            Value::Decimal { unscaled, scale } => Value::Decimal { unscaled: -unscaled, scale },
            _ => Value::Null,
        },
        Kind::Case(whens, otherwise) => {
            for (when, then) in whens {
                if condition(when, cell)? == Some(true) {
                    return evaluate(then, cell);
                }
            }
            match otherwise {
                Some(otherwise) => evaluate(otherwise, cell)?,
                None => Value::Null,
            }
        }
        Kind::Cast { value, to, lenient } => match cast(evaluate(value, cell)?, to) {
            Ok(value) => value,
            Err(_) if *lenient => Value::Null,
            Err(said) => return Err(failed(e, said)),
        },
        Kind::Call(function, arguments) => super::call::call(e, *function, arguments, cell)?,
    })
}

pub(super) fn condition(e: &Typed, cell: Cell<'_>) -> Result<Option<bool>> {
    match evaluate(e, cell)? {
        Value::Boolean(b) => Ok(Some(b)),
        Value::Null => Ok(None),
        other => Err(Error::new(ErrorKind::Internal, format!("a condition gave {other}"))),
    }
}

fn truth(value: Option<bool>) -> Value {
    value.map_or(Value::Null, Value::Boolean)
}

/// AND (`decisive` false) or OR (true): the first decisive part ends it, as in Spark.
fn connected(parts: &[Typed], cell: Cell<'_>, decisive: bool) -> Result<Option<bool>> {
    let mut all = Some(!decisive);
    for part in parts {
        match condition(part, cell)? {
            Some(b) if b == decisive => return Ok(Some(decisive)),
            Some(_) => {}
            None => all = None,
        }
    }
    Ok(all)
}

/// Two values of one type. NaN equals NaN and is the greatest, −0.0 equals 0.0.
fn compared(op: Comparison, a: &Value, b: &Value) -> Option<bool> {
    match (a.is_null(), b.is_null()) {
        (false, false) => Some(op.holds(order(a, b))),
        (a, b) if op == Comparison::NullSafeEq => Some(a && b),
        _ => None,
    }
}

pub(super) fn order(a: &Value, b: &Value) -> Ordering {
    a.cmp(b)
}

/// A whole number in the range of the expression's type.
pub(super) fn whole(e: &Typed, n: i128) -> Result<Value> {
    let t = e.t.plain().unwrap_or(&PrimitiveType::Long);
    fit(n, t).ok_or_else(|| failed(e, format!("overflows: {n} does not fit {t}")))
}

fn arithmetic(e: &Typed, op: Arithmetic, a: Value, b: Value) -> Result<Value> {
    use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract, WholeDivide};
    let divides = matches!(op, Divide | WholeDivide | Remainder);
    let by_zero = || Err(failed(e, "divides by zero"));
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(_), Value::Int(0)) if divides => by_zero(),
        (Value::Int(a), Value::Int(b)) => {
            let (a, b) = (i128::from(a), i128::from(b));
            whole(
                e,
                match op {
                    Add => a + b,
                    Subtract => a - b,
                    Multiply => a * b,
                    Divide | WholeDivide => a / b,
                    Remainder => a % b,
                },
            )
        }
        (Value::Decimal { .. }, Value::Decimal { unscaled: 0, .. }) if divides => by_zero(),
        (Value::Decimal { unscaled: x, scale: sx }, Value::Decimal { unscaled: y, scale: sy }) => {
            let t = e.t.plain().unwrap_or(&PrimitiveType::Long);
            numbers::calculate(op, (x, sx), (y, sy), t).ok_or_else(|| failed(e, format!("overflows {t}")))
        }
        (a, b) => {
            let (Some(x), Some(y)) = (as_double(&a), as_double(&b)) else {
                return Err(Error::new(ErrorKind::Internal, format!("`{}` calculates with {a} and {b}", e.text)));
            };
            if divides && y == 0.0 {
                return by_zero();
            }
            let single = matches!((&a, &b), (Value::Float(_), Value::Float(_)));
            let result = match op {
                Add => x + y,
                Subtract => x - y,
                Multiply => x * y,
                Divide | WholeDivide => x / y,
                Remainder => x % y,
            };
            // Two floats in double and rounded once are what float arithmetic gives.
            Ok(if single { Value::Float(result as f32) } else { Value::Double(result) })
        }
    }
}

fn moved(value: &Value, interval: Interval) -> Option<Value> {
    let shifted = |us: i64| -> Option<i64> {
        match interval {
            Interval::Months(months) => {
                let day = i32::try_from(us.div_euclid(MICROS_PER_DAY)).ok()?;
                i64::from(add_months(day, months)?)
                    .checked_mul(MICROS_PER_DAY)?
                    .checked_add(us.rem_euclid(MICROS_PER_DAY))
            }
            Interval::Days(days) => us.checked_add(i64::from(days).checked_mul(MICROS_PER_DAY)?),
            Interval::Time(time) => us.checked_add(time),
        }
    };
    match (value, interval) {
        (Value::Date(day), Interval::Months(months)) => add_months(*day, months).map(Value::Date),
        (Value::Date(day), Interval::Days(days)) => day.checked_add(days).map(Value::Date),
        (Value::Timestamp(us), _) => shifted(*us).map(Value::Timestamp),
        (Value::TimestampNtz(us), _) => shifted(*us).map(Value::TimestampNtz),
        _ => None,
    }
}
