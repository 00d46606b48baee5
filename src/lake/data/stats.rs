//! Statistics of a data file for the log (protocol, "Per-file Statistics").
//!
//! A bound may be too wide, never too narrow: readers skip files by it. Where
//! a bound cannot be said safely it is left out.

use chrono::{DateTime, Datelike, SecondsFormat};
use deltalake::arrow::array::{Array, ArrayRef, ArrowNumericType, AsArray, BooleanArray, PrimitiveArray, RecordBatch};
use deltalake::arrow::compute::{self, max_string, min_string, nullif};
use deltalake::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Fields, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Schema, TimeUnit, TimestampMicrosecondType,
};
use serde_json::{Map, Number, Value as Json, json};

use crate::table::{Value, number};

/// Characters of a string that a bound keeps.
const STRING_PREFIX: usize = 32;

/// What is known of the rows so far.
#[derive(Debug)]
pub(super) struct Stats {
    leaves: Vec<Leaf>,
}

#[derive(Debug)]
struct Leaf {
    /// Physical names from the top.
    names: Vec<String>,
    /// The leaf's place at each level.
    places: Vec<usize>,
    nulls: u64,
    bounds: Bounds,
}

/// Smallest and largest value so far, `None` before the first.
type Range<T> = Option<(T, T)>;

#[derive(Debug)]
enum Bounds {
    /// A type that has none in the log.
    Never,
    Integer(Range<i64>),
    /// NaN has no place in the order that readers use.
    Float {
        range: Range<f64>,
        nan: bool,
    },
    Decimal {
        range: Range<i128>,
        scale: u8,
    },
    Text(Range<String>),
    /// days since 1970-01-01
    Date(Range<i32>),
    /// microseconds since 1970-01-01
    Timestamp {
        range: Range<i64>,
        zoned: bool,
    },
}

impl Stats {
    /// `limit`: statistics for so many leaf columns; for all where negative.
    pub fn new(schema: &Schema, limit: i64) -> Stats {
        let mut leaves = Vec::new();
        collect_leaves(schema.fields(), &mut Vec::new(), &mut Vec::new(), &mut leaves);
        if let Ok(limit) = usize::try_from(limit) {
            leaves.truncate(limit);
        }
        Stats { leaves }
    }

    pub fn update(&mut self, batch: &RecordBatch) {
        for leaf in &mut self.leaves {
            let array = descend(batch, &leaf.places);
            leaf.nulls += array.logical_null_count() as u64;
            leaf.bounds.update(&array);
        }
    }

    pub fn to_json(&self, rows: u64) -> Json {
        let (mut minimum, mut maximum, mut nulls) = (Map::new(), Map::new(), Map::new());
        for leaf in &self.leaves {
            let (low, high) = leaf.bounds.to_json();
            insert(&mut minimum, &leaf.names, low);
            insert(&mut maximum, &leaf.names, high);
            insert(&mut nulls, &leaf.names, Some(json!(leaf.nulls)));
        }
        json!({ "numRecords": rows, "minValues": minimum, "maxValues": maximum, "nullCount": nulls })
    }
}

fn collect_leaves(fields: &Fields, names: &mut Vec<String>, places: &mut Vec<usize>, leaves: &mut Vec<Leaf>) {
    for (place, field) in fields.iter().enumerate() {
        names.push(field.name().clone());
        places.push(place);
        match field.data_type() {
            DataType::Struct(inner) => collect_leaves(inner, names, places, leaves),
            t => {
                leaves.push(Leaf { names: names.clone(), places: places.clone(), nulls: 0, bounds: Bounds::of(t) });
            }
        }
        names.pop();
        places.pop();
    }
}

/// The leaf's values; NULL too where a struct around it is.
fn descend(batch: &RecordBatch, places: &[usize]) -> ArrayRef {
    let mut array = batch.column(places[0]).clone();
    for &place in &places[1..] {
        let parent = array.as_struct();
        let child = parent.column(place).clone();
        array = match parent.nulls() {
            Some(nulls) if nulls.null_count() > 0 => {
                let absent = BooleanArray::new(!nulls.inner(), None);
                nullif(&child, &absent).expect("a struct's columns are as long as the struct")
            }
            _ => child,
        };
    }
    array
}

fn insert(into: &mut Map<String, Json>, names: &[String], value: Option<Json>) {
    let (Some(value), Some((last, outer))) = (value, names.split_last()) else { return };
    let mut at = into;
    for name in outer {
        let inner = at.entry(name.clone()).or_insert_with(|| json!({}));
        let Json::Object(object) = inner else { return };
        at = object;
    }
    at.insert(last.clone(), value);
}

impl Bounds {
    fn of(t: &DataType) -> Bounds {
        match t {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Bounds::Integer(None),
            DataType::Float32 | DataType::Float64 => Bounds::Float { range: None, nan: false },
            DataType::Decimal128(_, scale) if *scale >= 0 => {
                Bounds::Decimal { range: None, scale: scale.unsigned_abs() }
            }
            DataType::Utf8 => Bounds::Text(None),
            DataType::Date32 => Bounds::Date(None),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                Bounds::Timestamp { range: None, zoned: zone.is_some() }
            }
            _ => Bounds::Never,
        }
    }

    fn update(&mut self, array: &ArrayRef) {
        match self {
            Bounds::Never => {}
            Bounds::Integer(range) => {
                let found = match array.data_type() {
                    DataType::Int8 => numbers::<Int8Type, i64>(array),
                    DataType::Int16 => numbers::<Int16Type, i64>(array),
                    DataType::Int32 => numbers::<Int32Type, i64>(array),
                    _ => numbers::<Int64Type, i64>(array),
                };
                widen(range, found);
            }
            Bounds::Float { range, nan } => {
                let (found, has_nan) = match array.data_type() {
                    DataType::Float32 => {
                        (numbers::<Float32Type, f64>(array), any(array.as_primitive::<Float32Type>(), f32::is_nan))
                    }
                    _ => (numbers::<Float64Type, f64>(array), any(array.as_primitive::<Float64Type>(), f64::is_nan)),
                };
                *nan |= has_nan;
                widen(range, found);
            }
            Bounds::Decimal { range, .. } => widen(range, numbers::<Decimal128Type, i128>(array)),
            Bounds::Date(range) => widen(range, numbers::<Date32Type, i32>(array)),
            Bounds::Timestamp { range, .. } => widen(range, numbers::<TimestampMicrosecondType, i64>(array)),
            Bounds::Text(range) => {
                let strings = array.as_string::<i32>();
                let (Some(low), Some(high)) = (min_string(strings), max_string(strings)) else { return };
                match range {
                    None => *range = Some((low.to_owned(), high.to_owned())),
                    Some((lowest, highest)) => {
                        if low < lowest.as_str() {
                            low.clone_into(lowest);
                        }
                        if high > highest.as_str() {
                            high.clone_into(highest);
                        }
                    }
                }
            }
        }
    }

    /// Lower and upper bound, each only where it can be said.
    fn to_json(&self) -> (Option<Json>, Option<Json>) {
        match self {
            Bounds::Integer(Some((low, high))) => (Some(json!(low)), Some(json!(high))),
            // Readers may order −0.0 before 0.0, or call them equal.
            Bounds::Float { range: Some((low, high)), nan: false } => {
                (float(if *low == 0.0 { -0.0 } else { *low }), float(if *high == 0.0 { 0.0 } else { *high }))
            }
            Bounds::Decimal { range: Some((low, high)), scale } => (decimal(*low, *scale), decimal(*high, *scale)),
            Bounds::Text(Some((low, high))) => (Some(json!(prefix(low))), upper_prefix(high).map(Json::String)),
            Bounds::Date(Some((low, high))) => (date(*low), date(*high)),
            Bounds::Timestamp { range: Some((low, high)), zoned } => {
                let up = high.div_euclid(1_000) + i64::from(high.rem_euclid(1_000) > 0);
                (millis(low.div_euclid(1_000), *zoned), millis(up, *zoned))
            }
            _ => (None, None),
        }
    }
}

fn numbers<T: ArrowNumericType, N: From<T::Native>>(array: &ArrayRef) -> Range<N> {
    let values: &PrimitiveArray<T> = array.as_primitive();
    Some((compute::min(values)?.into(), compute::max(values)?.into()))
}

fn any<T: ArrowNumericType>(values: &PrimitiveArray<T>, test: fn(T::Native) -> bool) -> bool {
    values.iter().flatten().any(test)
}

fn widen<T: PartialOrd>(range: &mut Range<T>, found: Range<T>) {
    let Some((low, high)) = found else { return };
    match range {
        None => *range = Some((low, high)),
        Some((lowest, highest)) => {
            if low < *lowest {
                *lowest = low;
            }
            if high > *highest {
                *highest = high;
            }
        }
    }
}

/// JSON has no infinities.
fn float(x: f64) -> Option<Json> {
    Number::from_f64(x).map(Json::Number)
}

/// Only where a reader that parses it as a double still gets this decimal.
fn decimal(unscaled: i128, scale: u8) -> Option<Json> {
    let text = number::decimal(unscaled, scale);
    let json = float(text.parse().ok()?)?;
    (number::parse_decimal(&json.to_string(), 38, scale) == Some(unscaled)).then_some(json)
}

/// Years that every reader of ISO dates knows.
fn common_year(year: i32) -> bool {
    (1..=9999).contains(&year)
}

fn date(days: i32) -> Option<Json> {
    let midnight = DateTime::from_timestamp(i64::from(days) * 86_400, 0)?;
    common_year(midnight.year()).then(|| json!(Value::Date(days).plain()))
}

fn millis(ms: i64, zoned: bool) -> Option<Json> {
    let instant = DateTime::from_timestamp_millis(ms)?;
    if !common_year(instant.year()) {
        return None;
    }
    let text = instant.to_rfc3339_opts(SecondsFormat::Millis, true);
    Some(json!(if zoned { text.as_str() } else { text.trim_end_matches('Z') }))
}

fn prefix(text: &str) -> &str {
    match text.char_indices().nth(STRING_PREFIX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// A short string that is not below `text` in byte order: its beginning and
/// one character that is above what follows. `None` where no character is.
fn upper_prefix(text: &str) -> Option<String> {
    let kept = prefix(text);
    match text[kept.len()..].chars().next() {
        None => Some(kept.to_owned()),
        Some(next) if next < '\u{7f}' => Some(format!("{kept}\u{7f}")),
        Some(next) if next < char::MAX => Some(format!("{kept}{}", char::MAX)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_string_is_bounded_from_both_sides() {
        for tail in ["", "z", "zz\u{7f}", "\u{7f}b", "é", "\u{10ffff}", "\u{10ffff}x"] {
            for head in ["a".repeat(31), "é".repeat(32), "\u{1f600}".repeat(40)] {
                let text = format!("{head}{tail}");
                assert!(prefix(&text) <= text.as_str());
                assert!(prefix(&text).chars().count() <= 32);
                if let Some(upper) = upper_prefix(&text) {
                    assert!(upper >= text, "{text:?} is above {upper:?}");
                    assert!(upper.chars().count() <= 33);
                }
            }
        }
        assert_eq!(upper_prefix(&"\u{10ffff}".repeat(33)), None);
        assert_eq!(upper_prefix("short"), Some("short".into()));
    }

    #[test]
    fn a_decimal_is_written_only_where_a_double_holds_it() {
        assert_eq!(decimal(123_456, 2), Some(json!(1234.56)));
        assert_eq!(decimal(-7, 2), Some(json!(-0.07)));
        assert_eq!(decimal(123_456_789_012_345_678, 2), None);
        assert_eq!(decimal(0, 2), Some(json!(0.0)));
    }

    #[test]
    fn upper_timestamps_are_rounded_up() {
        let bounds = Bounds::Timestamp { range: Some((-1, 1_001)), zoned: true };
        let (low, high) = bounds.to_json();
        assert_eq!(low, Some(json!("1969-12-31T23:59:59.999Z")));
        assert_eq!(high, Some(json!("1970-01-01T00:00:00.002Z")));
        assert_eq!(millis(253_402_300_800_000, false), None);
        assert_eq!(date(-719_529), None);
    }

    #[test]
    fn floats_beyond_json_have_no_bound() {
        let bounds = Bounds::Float { range: Some((0.0, f64::INFINITY)), nan: false };
        let (low, high) = bounds.to_json();
        assert_eq!(low.map(|x| x.to_string()).as_deref(), Some("-0.0"));
        assert_eq!(high, None);
        assert_eq!(Bounds::Float { range: Some((0.0, 1.0)), nan: true }.to_json(), (None, None));
    }
}
