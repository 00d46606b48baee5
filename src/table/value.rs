//! Typed values: of partitions, of cells, of bounds.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat};
use serde_json::{Value as Json, json};

use super::number;
use super::schema::PrimitiveType;

/// One value of one column. NULL and the empty string are different values.
///
/// Equality, order and hash are those of the type, never of the text: `1.5` and
/// `1.50` are one decimal, NaN equals NaN, −0.0 equals 0.0, NULL sorts first.
#[derive(Debug, Clone)]
pub enum Value {
    Null,
    Boolean(bool),
    /// byte, short, integer and long
    Int(i64),
    Float(f32),
    Double(f64),
    Decimal {
        unscaled: i128,
        scale: u8,
    },
    String(String),
    Binary(Vec<u8>),
    /// days since 1970-01-01
    Date(i32),
    /// microseconds since 1970-01-01T00:00:00Z
    Timestamp(i64),
    /// microseconds since 1970-01-01T00:00:00, no zone
    TimestampNtz(i64),
    /// A struct, list, map or variant, as JSON text for people.
    Nested(String),
}

impl Value {
    /// Parses a partition value as the log stores it (protocol, "Partition
    /// Value Serialization"). `None` for a text that the type cannot hold.
    ///
    /// The protocol reads the empty string as NULL for every type. Other
    /// writers do store it for strings and mean it, so a string keeps it: the
    /// difference is shown, and `lake` warns about it.
    pub fn parse_partition(text: Option<&str>, data_type: &PrimitiveType) -> Option<Value> {
        let Some(text) = text else { return Some(Value::Null) };
        if text.is_empty() && *data_type != PrimitiveType::String && *data_type != PrimitiveType::Binary {
            return Some(Value::Null);
        }
        Some(match data_type {
            PrimitiveType::String => Value::String(text.to_owned()),
            PrimitiveType::Boolean => match text.to_ascii_lowercase().as_str() {
                "true" => Value::Boolean(true),
                "false" => Value::Boolean(false),
                _ => return None,
            },
            PrimitiveType::Byte => Value::Int(text.parse::<i8>().ok()?.into()),
            PrimitiveType::Short => Value::Int(text.parse::<i16>().ok()?.into()),
            PrimitiveType::Integer => Value::Int(text.parse::<i32>().ok()?.into()),
            PrimitiveType::Long => Value::Int(text.parse().ok()?),
            PrimitiveType::Float => Value::Float(parse_float(text)? as f32),
            PrimitiveType::Double => Value::Double(parse_float(text)?),
            PrimitiveType::Decimal { precision, scale } => {
                Value::Decimal { unscaled: number::parse_decimal(text, *precision, *scale)?, scale: *scale }
            }
            PrimitiveType::Date => Value::Date(parse_date(text)?),
            PrimitiveType::Timestamp => Value::Timestamp(parse_timestamp(text)?),
            PrimitiveType::TimestampNtz => Value::TimestampNtz(parse_timestamp(text)?),
            PrimitiveType::Binary => Value::Binary(text.as_bytes().to_vec()),
        })
    }

    /// The text under which a partition value is stored in the log.
    pub fn to_partition_text(&self) -> Option<String> {
        Some(match self {
            Value::Null => return None,
            Value::Boolean(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            // Both zeros are one partition; adding +0.0 makes it the plain one.
            Value::Float(x) => java_float(f64::from(*x), (x + 0.0).to_string()),
            Value::Double(x) => java_float(*x, (x + 0.0).to_string()),
            Value::Decimal { unscaled, scale } => number::decimal(*unscaled, *scale),
            Value::String(s) | Value::Nested(s) => s.clone(),
            Value::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Date(days) => date_text(*days),
            // Without a zone readers would take their own; Z says UTC.
            Value::Timestamp(us) => utc_timestamp(*us),
            Value::TimestampNtz(us) => spaced_timestamp(*us),
        })
    }

    /// JSON as the contract wants it: decimals and integers beyond 2^53 are
    /// strings, dates and timestamps ISO texts, NULL null.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Null => Json::Null,
            Value::Boolean(b) => json!(b),
            Value::Int(i) if i.unsigned_abs() <= 1 << 53 => json!(i),
            Value::Int(i) => json!(i.to_string()),
            // As it is written: 0.1 and not what its bits are as a double.
            Value::Float(x) if x.is_finite() => json!(x.to_string().parse::<f64>().unwrap_or(f64::from(*x))),
            Value::Double(x) if x.is_finite() => json!(x),
            other => json!(other.plain()),
        }
    }

    /// The value's text without quotes or escapes, for joining and export.
    pub fn plain(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Boolean(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            Value::Float(x) => float_text(f64::from(*x), x.to_string()),
            Value::Double(x) => float_text(*x, x.to_string()),
            Value::Decimal { unscaled, scale } => number::decimal(*unscaled, *scale),
            Value::String(s) | Value::Nested(s) => s.clone(),
            Value::Binary(bytes) => bytes.iter().fold(String::from("0x"), |text, b| text + &format!("{b:02x}")),
            Value::Date(days) => date_text(*days),
            Value::Timestamp(us) => iso_timestamp(*us) + "Z",
            Value::TimestampNtz(us) => iso_timestamp(*us),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn is_numeric(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Float(_) | Value::Double(_) | Value::Decimal { .. })
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Boolean(_) => 1,
            Value::Int(_) => 2,
            Value::Float(_) => 3,
            Value::Double(_) => 4,
            Value::Decimal { .. } => 5,
            Value::String(_) => 6,
            Value::Binary(_) => 7,
            Value::Date(_) => 8,
            Value::Timestamp(_) => 9,
            Value::TimestampNtz(_) => 10,
            Value::Nested(_) => 11,
        }
    }
}

/// What a person sees: `∅` for NULL, `""` for the empty string, control
/// characters escaped.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("∅"),
            Value::String(s) if s.is_empty() => f.write_str("\"\""),
            other => f.write_str(&escape_controls(&other.plain())),
        }
    }
}

/// Control characters as `\t \n \x1b`, so that data can never drive a terminal.
/// Bidirectional overrides go the same way: they would reorder the row.
pub fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        use Value::*;
        match (self, other) {
            (Boolean(a), Boolean(b)) => a.cmp(b),
            (Int(a), Int(b)) => a.cmp(b),
            (Float(a), Float(b)) => canonical(f64::from(*a)).total_cmp(&canonical(f64::from(*b))),
            (Double(a), Double(b)) => canonical(*a).total_cmp(&canonical(*b)),
            (Decimal { unscaled: a, scale: s }, Decimal { unscaled: b, scale: t }) => {
                number::compare_decimals((*a, *s), (*b, *t))
            }
            (String(a), String(b)) | (Nested(a), Nested(b)) => a.cmp(b),
            (Binary(a), Binary(b)) => a.cmp(b),
            (Date(a), Date(b)) => a.cmp(b),
            (Timestamp(a), Timestamp(b)) | (TimestampNtz(a), TimestampNtz(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Value::Null => {}
            Value::Boolean(b) => b.hash(state),
            Value::Int(i) | Value::Timestamp(i) | Value::TimestampNtz(i) => i.hash(state),
            Value::Float(x) => canonical(f64::from(*x)).to_bits().hash(state),
            Value::Double(x) => canonical(*x).to_bits().hash(state),
            Value::Decimal { unscaled, scale } => {
                let (mut value, mut scale) = (*unscaled, *scale);
                while scale > 0 && value % 10 == 0 {
                    value /= 10;
                    scale -= 1;
                }
                (value, scale).hash(state);
            }
            Value::String(s) | Value::Nested(s) => s.hash(state),
            Value::Binary(b) => b.hash(state),
            Value::Date(d) => d.hash(state),
        }
    }
}

/// One bit pattern for each float that SQL calls equal.
pub fn canonical(x: f64) -> f64 {
    if x.is_nan() {
        f64::NAN
    } else if x == 0.0 {
        0.0
    } else {
        x
    }
}

fn parse_float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "+Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        other => other.parse().ok(),
    }
}

fn float_text(x: f64, plain: String) -> String {
    if x.is_nan() {
        "NaN".into()
    } else if x.is_infinite() {
        if x > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        plain
    }
}

/// Spark writes `1.0`, not `1`.
fn java_float(x: f64, plain: String) -> String {
    let text = float_text(x, plain);
    if x.is_finite() && !text.contains(['.', 'e', 'E']) { text + ".0" } else { text }
}

fn parse_date(text: &str) -> Option<i32> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(date.num_days_from_ce() - UNIX_EPOCH_FROM_CE)
}

const UNIX_EPOCH_FROM_CE: i32 = 719_163;

/// Whether a text is a time that does not say its zone, so that UTC is assumed.
pub fn lacks_zone(text: &str) -> bool {
    let text = text.trim();
    // The date's own dashes are no offset.
    let time = text.get(10..).unwrap_or_default();
    !text.ends_with(['Z', 'z']) && !time.contains(['+', '-']) && parse_timestamp(text).is_some()
}

/// Parses the timestamp texts found in logs and on command lines: a `T` or a
/// space, with or without fraction, with `Z`, an offset, or no zone (= UTC).
/// A date alone is its midnight.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Some(instant.timestamp_micros());
    }
    for format in ["%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%d %H:%M:%S%.f%#z"] {
        if let Ok(instant) = DateTime::parse_from_str(text, format) {
            return Some(instant.timestamp_micros());
        }
    }
    let bare = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"] {
        if let Ok(naive) = NaiveDateTime::parse_from_str(bare, format) {
            return Some(naive.and_utc().timestamp_micros());
        }
    }
    let date = NaiveDate::parse_from_str(bare, "%Y-%m-%d").ok()?;
    Some(date.and_time(NaiveTime::MIN).and_utc().timestamp_micros())
}

fn date_text(days: i32) -> String {
    match NaiveDate::from_num_days_from_ce_opt(days.saturating_add(UNIX_EPOCH_FROM_CE)) {
        Some(date) => date.format("%Y-%m-%d").to_string(),
        None => format!("{days} days since 1970-01-01"),
    }
}

fn naive(us: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(us).map(|instant| instant.naive_utc())
}

fn iso_timestamp(us: i64) -> String {
    match naive(us) {
        Some(t) => {
            let text = t.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true);
            text.trim_end_matches('Z').to_owned()
        }
        None => format!("{us} µs since 1970-01-01"),
    }
}

fn spaced_timestamp(us: i64) -> String {
    match naive(us) {
        Some(t) if us % 1_000_000 == 0 => t.format("%Y-%m-%d %H:%M:%S").to_string(),
        Some(t) => t.format("%Y-%m-%d %H:%M:%S%.6f").to_string(),
        None => us.to_string(),
    }
}

fn utc_timestamp(us: i64) -> String {
    match naive(us) {
        Some(t) => t.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
        None => us.to_string(),
    }
}

/// Milliseconds since the epoch as RFC 3339 in UTC, to the second.
pub fn millis_text(ms: i64) -> String {
    match DateTime::from_timestamp_millis(ms) {
        Some(t) => t.to_rfc3339_opts(SecondsFormat::Millis, true),
        None => format!("{ms} ms since 1970-01-01"),
    }
}

#[cfg(test)]
mod tests;
