//! Values as they are read, shown and compared.

use super::*;

fn parse(text: &str, t: PrimitiveType) -> Option<Value> {
    Value::parse_partition(Some(text), &t)
}

#[test]
fn null_and_empty_string_stay_apart() {
    assert_eq!(Value::parse_partition(None, &PrimitiveType::String), Some(Value::Null));
    assert_eq!(parse("", PrimitiveType::String), Some(Value::String(String::new())));
    assert_eq!(parse("", PrimitiveType::Integer), Some(Value::Null));
    assert_eq!(Value::Null.to_string(), "∅");
    assert_eq!(Value::String(String::new()).to_string(), "\"\"");
}

#[test]
fn both_zeros_are_one_partition() {
    for zero in [Value::Double(-0.0), Value::Double(0.0), Value::Float(-0.0)] {
        assert_eq!(zero.to_partition_text().as_deref(), Some("0.0"));
    }
    assert_eq!(Value::Double(f64::NAN).to_partition_text().as_deref(), Some("NaN"));
    assert_eq!(Value::Double(f64::NEG_INFINITY).to_partition_text().as_deref(), Some("-Infinity"));
}

#[test]
fn a_float_is_shown_as_it_is_written() {
    assert_eq!(Value::Float(0.1).to_json(), serde_json::json!(0.1));
    assert_eq!(Value::Float(-1.5e30).to_json(), serde_json::json!(-1.5e30));
}

#[test]
fn values_compare_by_type_not_by_text() {
    let decimal = PrimitiveType::Decimal { precision: 6, scale: 2 };
    assert_eq!(parse("1.5", decimal.clone()), parse("1.50", decimal.clone()));
    assert_eq!(parse("1.5", decimal).unwrap().plain(), "1.50");
    assert!(parse("9", PrimitiveType::Integer) < parse("10", PrimitiveType::Integer));
    assert_eq!(Value::Double(f64::NAN), Value::Double(-f64::NAN));
    assert_eq!(Value::Double(-0.0), Value::Double(0.0));
}

#[test]
fn timestamps_of_all_writers_are_instants() {
    let want = 1_710_030_600_000_000;
    for text in
        ["2024-03-10T00:30:00.000000Z", "2024-03-10 00:30:00", "2024-03-10T02:30:00+02:00", "2024-03-10 00:30:00.000"]
    {
        assert_eq!(parse_timestamp(text), Some(want), "{text}");
    }
    assert_eq!(Value::Timestamp(want).plain(), "2024-03-10T00:30:00Z");
    assert_eq!(parse("20240101", PrimitiveType::Date), None);
    assert_eq!(parse("2024-01-01", PrimitiveType::Date).unwrap().plain(), "2024-01-01");
    assert_eq!(parse("1969-12-31", PrimitiveType::Date), Some(Value::Date(-1)));
}

#[test]
fn data_cannot_drive_the_terminal() {
    assert_eq!(Value::String("a\x1b[31m\n".into()).to_string(), "a\\x1b[31m\\n");
}
