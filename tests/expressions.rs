//! Expressions mean what Spark says they mean: every answer in
//! `predicate/spark_expressions.json` was given by a real one
//! (`tests/spark/expressions.py`).

use std::path::Path;

use partwise::error::{Error, ErrorKind};
use partwise::predicate::{RowExpr, Scope, Side};
use partwise::table::Value;
use partwise::table::schema::{DataType, Field, PrimitiveType, Schema};
use serde_json::Value as Json;

/// Spark has an answer, partwise refuses by name.
const NOT_SUPPORTED: [&str; 10] = [
    "'it''s'",
    "BTRIM(' a ')",
    "CEIL(1.234, 1)",
    "CONCAT_WS('-', s, i)",
    "DAYOFWEEK(day)",
    "HOUR(ts)",
    "POSITION('b', s)",
    "POWER(2, 3)",
    "SIGN(-5)",
    "~i",
];

fn spark_type(name: &str) -> PrimitiveType {
    match name {
        "tinyint" => PrimitiveType::Byte,
        "smallint" => PrimitiveType::Short,
        "int" => PrimitiveType::Integer,
        "bigint" => PrimitiveType::Long,
        "float" => PrimitiveType::Float,
        "double" => PrimitiveType::Double,
        "string" => PrimitiveType::String,
        "boolean" => PrimitiveType::Boolean,
        "binary" => PrimitiveType::Binary,
        "date" => PrimitiveType::Date,
        "timestamp" => PrimitiveType::Timestamp,
        decimal => {
            let sizes = decimal.strip_prefix("decimal(").and_then(|d| d.strip_suffix(')')).unwrap();
            let (precision, scale) = sizes.split_once(',').unwrap();
            PrimitiveType::Decimal { precision: precision.parse().unwrap(), scale: scale.parse().unwrap() }
        }
    }
}

/// A value as `expressions.py` writes it.
fn spark_value(text: Option<&str>, t: &PrimitiveType) -> Value {
    let Some(text) = text else { return Value::Null };
    match t {
        PrimitiveType::String => Value::String(text.into()),
        PrimitiveType::Date => Value::Date(text.parse().unwrap()),
        PrimitiveType::Timestamp => Value::Timestamp(text.parse().unwrap()),
        PrimitiveType::Float => Value::Float(text.parse().unwrap()),
        PrimitiveType::Double => Value::Double(text.parse().unwrap()),
        PrimitiveType::Binary => {
            let bytes = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap());
            Value::Binary(bytes.collect())
        }
        other => Value::parse_partition(Some(text), other).unwrap(),
    }
}

/// The answer, or the error's kind.
fn answer(sql: &str, schema: &Schema, row: &[Value]) -> Result<(Option<DataType>, Value, String), Error> {
    let expression = RowExpr::parse(sql)?;
    let scope = Scope { source: &Schema::default(), target: schema };
    let bound = expression.bind(&scope)?;
    let value = bound.evaluate(&|side, at| {
        assert_eq!(side, Side::Target);
        row[at].clone()
    })?;
    let t = (!bound.is_void()).then(|| bound.data_type().clone());
    Ok((t, value, expression.text().to_owned()))
}

/// A decimal's scale is part of its value here.
fn exactly(value: &Value) -> String {
    format!("{value:?}").replace("-0.0", "0.0")
}

#[test]
fn spark_gives_the_same_types_and_values() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/predicate/spark_expressions.json");
    let file: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut schema = Schema::default();
    let mut row = Vec::new();
    for column in file["columns"].as_array().unwrap() {
        let [name, t, value] = [0, 1, 2].map(|i| column[i].as_str().unwrap());
        let sql = format!("CAST({value} AS {t})");
        let (t, value, _) = answer(&sql, &Schema::default(), &[]).unwrap();
        schema.fields.push(Field {
            name: name.into(),
            data_type: t.unwrap(),
            nullable: true,
            metadata: Default::default(),
        });
        row.push(value);
    }
    let mut wrong = Vec::new();
    let cases = file["expressions"].as_array().unwrap();
    assert!(cases.len() > 300);
    for case in cases {
        let sql = case["sql"].as_str().unwrap();
        let got = answer(sql, &schema, &row);
        match (case["error"].as_str(), got) {
            (None, Err(error)) if NOT_SUPPORTED.contains(&sql) => assert_eq!(error.kind, ErrorKind::Usage),
            (Some(_), Err(error)) => assert_eq!(error.kind, ErrorKind::Usage, "{sql}: {}", error.message),
            (Some(error), Ok((_, value, _))) => wrong.push(format!("{sql}: Spark says {error}, not {value:?}")),
            (None, Err(error)) => wrong.push(format!("{sql}: {}", error.message)),
            (None, Ok((t, value, text))) => {
                let wanted = case["type"].as_str().filter(|t| *t != "void").map(spark_type);
                let value_wanted = wanted.as_ref().map_or(Value::Null, |t| spark_value(case["value"].as_str(), t));
                let wanted = wanted.map(DataType::Primitive);
                if t != wanted || exactly(&value) != exactly(&value_wanted) {
                    wrong.push(format!("{sql}: {t:?} {value:?}, Spark says {wanted:?} {value_wanted:?}"));
                }
                match answer(&text, &schema, &row) {
                    Ok((t2, value2, text2)) if t2 == t && exactly(&value2) == exactly(&value) && text2 == text => {}
                    other => wrong.push(format!("{sql}: its canonical text `{text}` gives {other:?}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
