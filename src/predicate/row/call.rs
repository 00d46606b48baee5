//! Evaluation of functions.

use chrono::Datelike;

use super::cast::double_to_decimal;
use super::dates::{add_months, date, last_day, truncate_date, truncate_timestamp};
use super::evaluate::{Cell, evaluate, failed, order, whole};
use super::functions::Function;
use super::numbers;
use super::typed::Typed;
use crate::error::{Error, ErrorKind, Result};
use crate::table::Value;
use crate::table::schema::PrimitiveType;

/// A padded text may be so long, in characters.
const MAX_PADDED: i64 = 1 << 20;

pub(super) fn call(e: &Typed, function: Function, arguments: &[Typed], cell: Cell<'_>) -> Result<Value> {
    use Function as F;
    match function {
        F::Coalesce => {
            for argument in arguments {
                let value = evaluate(argument, cell)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            return Ok(Value::Null);
        }
        F::Greatest | F::Least => {
            let mut best = Value::Null;
            for argument in arguments {
                let value = evaluate(argument, cell)?;
                let better = || match function {
                    F::Greatest => order(&value, &best).is_gt(),
                    _ => order(&value, &best).is_lt(),
                };
                if !value.is_null() && (best.is_null() || better()) {
                    best = value;
                }
            }
            return Ok(best);
        }
        _ => {}
    }
    let values = arguments.iter().map(|argument| evaluate(argument, cell)).collect::<Result<Vec<_>>>()?;
    // Every other function is NULL as soon as an argument is.
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    use Value::{Date, Int, String as Text, Timestamp};
    Ok(match (function, values.as_slice()) {
        (F::Concat, parts) => Text(parts.iter().map(|part| if let Text(text) = part { text } else { "" }).collect()),
        (F::Upper, [Text(text)]) => Text(text.to_uppercase()),
        (F::Lower, [Text(text)]) => Text(text.to_lowercase()),
        (F::Trim | F::Ltrim | F::Rtrim, [Text(text)]) => Text(trimmed(function, text, " ")),
        // TRIM(characters, text)
        (F::Trim | F::Ltrim | F::Rtrim, [Text(characters), Text(text)]) => Text(trimmed(function, text, characters)),
        (F::Length, [Text(text)]) => Int(text.chars().count() as i64),
        (F::Substring, [Text(text), Int(from)]) => Text(substring(text, *from, i64::MAX)),
        (F::Substring, [Text(text), Int(from), Int(length)]) => Text(substring(text, *from, *length)),
        (F::Left, [Text(text), Int(n)]) => Text(substring(text, 1, *n)),
        (F::Right, [Text(_), Int(n)]) if *n <= 0 => Text(String::new()),
        (F::Right, [Text(text), Int(n)]) => {
            let skip = (text.chars().count() as i64 - n).max(0);
            Text(substring(text, skip + 1, *n))
        }
        (F::Replace, [Text(text), Text(from)]) => Text(replaced(text, from, "")),
        (F::Replace, [Text(text), Text(from), Text(to)]) => Text(replaced(text, from, to)),
        (F::Lpad | F::Rpad, [Text(_), Int(n), ..]) if *n > MAX_PADDED => {
            return Err(failed(e, format!("pads to {n} characters; {MAX_PADDED} are the most")));
        }
        (F::Lpad | F::Rpad, [Text(text), Int(n)]) => Text(padded(function, text, *n, " ")),
        (F::Lpad | F::Rpad, [Text(text), Int(n), Text(with)]) => Text(padded(function, text, *n, with)),
        (F::Year | F::Quarter | F::Month | F::Day, [Date(days)]) => {
            let date = date(*days).ok_or_else(|| failed(e, "leaves the calendar"))?;
            Int(match function {
                F::Year => i64::from(date.year()),
                F::Quarter => i64::from(date.month0() / 3 + 1),
                F::Month => i64::from(date.month()),
                _ => i64::from(date.day()),
            })
        }
        (F::DateAdd | F::DateSub | F::AddMonths | F::LastDay, [Date(days), rest @ ..]) => {
            let n = if let [Int(n)] = rest { i32::try_from(*n).ok() } else { Some(0) };
            let moved = n.and_then(|n| match function {
                F::DateAdd => days.checked_add(n),
                F::DateSub => days.checked_sub(n),
                F::AddMonths => add_months(*days, n),
                _ => last_day(*days),
            });
            Date(moved.ok_or_else(|| failed(e, "leaves the calendar"))?)
        }
        (F::DateDiff, [Date(end), Date(start)]) => whole(e, i128::from(*end) - i128::from(*start))?,
        (F::DateTrunc, [Text(unit), Timestamp(us)]) => truncate_timestamp(*us, unit).map_or(Value::Null, Timestamp),
        (F::Trunc, [Date(days), Text(unit)]) => truncate_date(*days, unit).map_or(Value::Null, Date),
        (F::Abs, [Int(n)]) => whole(e, i128::from(*n).abs())?,
        (F::Abs, [Value::Float(x)]) => Value::Float(x.abs()),
        (F::Abs, [Value::Double(x)]) => Value::Double(x.abs()),
        (F::Abs, [Value::Decimal { unscaled, scale }]) => Value::Decimal { unscaled: unscaled.abs(), scale: *scale },
        (F::Floor | F::Ceil, [number]) => to_whole(e, function == F::Ceil, number)?,
        (F::Round, [number, Int(digits)]) => round(e, number, *digits)?,
        (_, values) => {
            let shown: Vec<String> = values.iter().map(Value::to_string).collect();
            let said = format!("`{}` is called with ({})", e.text, shown.join(", "));
            return Err(Error::new(ErrorKind::Internal, said));
        }
    })
}

fn trimmed(function: Function, text: &str, characters: &str) -> String {
    let cut = |c: char| characters.contains(c);
    match function {
        Function::Ltrim => text.trim_start_matches(cut),
        Function::Rtrim => text.trim_end_matches(cut),
        _ => text.trim_matches(cut),
    }
    .to_owned()
}

/// Positions count from 1; 0 is 1; negative ones count from the end, and what
/// lies before the text takes its part of the length.
fn substring(text: &str, from: i64, length: i64) -> String {
    let count = text.chars().count() as i64;
    let start = match from {
        n if n > 0 => n - 1,
        0 => 0,
        n => count.saturating_add(n),
    };
    let end = start.saturating_add(length).min(count);
    let start = start.max(0);
    if end <= start {
        return String::new();
    }
    text.chars().skip(start as usize).take((end - start) as usize).collect()
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    if from.is_empty() { text.to_owned() } else { text.replace(from, to) }
}

fn padded(function: Function, text: &str, length: i64, with: &str) -> String {
    let count = text.chars().count() as i64;
    if count >= length || with.is_empty() {
        return substring(text, 1, length.max(0));
    }
    let padding: String = with.chars().cycle().take((length - count) as usize).collect();
    if function == Function::Lpad { padding + text } else { text.to_owned() + &padding }
}

fn to_whole(e: &Typed, up: bool, number: &Value) -> Result<Value> {
    let float = |x: f64| {
        let x = if up { x.ceil() } else { x.floor() };
        // Java's conversion: NaN is 0, what is too large is the greatest.
        Value::Int(x as i64)
    };
    Ok(match number {
        Value::Int(n) => Value::Int(*n),
        Value::Float(x) => float(f64::from(*x)),
        Value::Double(x) => float(*x),
        Value::Decimal { unscaled, scale } => {
            Value::Decimal { unscaled: numbers::whole(*unscaled, *scale, up), scale: 0 }
        }
        other => return Err(Error::new(ErrorKind::Internal, format!("`{}` is called with {other}", e.text))),
    })
}

fn round(e: &Typed, number: &Value, digits: i64) -> Result<Value> {
    let digits = i32::try_from(digits).map_err(|_| failed(e, "rounds to no place"))?;
    let t = e.t.plain().unwrap_or(&PrimitiveType::Double);
    // A double is rounded as the decimal that it is written as.
    let rounded = |x: f64| -> f64 {
        if !x.is_finite() || x.abs() >= 1e17 {
            return x;
        }
        let Some(Value::Decimal { unscaled, scale }) = double_to_decimal(x, 38, 20) else { return x };
        let wide = PrimitiveType::Decimal { precision: 38, scale: digits.clamp(0, 20) as u8 };
        match numbers::round(unscaled, scale, digits, &wide) {
            Some(Value::Decimal { unscaled, scale }) => crate::predicate::compare::decimal_as_f64(unscaled, scale),
            _ => x,
        }
    };
    match number {
        Value::Int(n) if digits >= 0 => Ok(Value::Int(*n)),
        Value::Int(n) => match numbers::round(i128::from(*n), 0, digits, &PrimitiveType::Long) {
            Some(Value::Int(n)) => whole(e, i128::from(n)),
            _ => Err(failed(e, format!("overflows {t}"))),
        },
        Value::Float(x) => {
            // Its own shortest digits, not those of the double that it is.
            let exact = x.to_string().parse::<f64>().unwrap_or(f64::from(*x));
            Ok(Value::Float(rounded(exact) as f32))
        }
        Value::Double(x) => Ok(Value::Double(rounded(*x))),
        Value::Decimal { unscaled, scale } => {
            numbers::round(*unscaled, *scale, digits, t).ok_or_else(|| failed(e, format!("overflows {t}")))
        }
        other => Err(Error::new(ErrorKind::Internal, format!("`{}` is called with {other}", e.text))),
    }
}
