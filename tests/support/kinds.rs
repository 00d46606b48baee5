//! Column types and cells of fixtures, in Delta's, Arrow's and this crate's words.

use std::sync::Arc;

use deltalake::arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int32Builder, Int64Array, ListBuilder, MapBuilder, MapFieldNames, StringArray,
    StringBuilder, StructArray, TimestampMicrosecondArray,
};
use deltalake::arrow::buffer::NullBuffer;
use deltalake::arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use partwise::table::Value;
use serde_json::{Value as Json, json};

pub type Row = Vec<Value>;

/// The types that fixtures use. The nested ones are fixed:
/// `struct<a:integer,b:string>`, `array<integer>`, `map<string,integer>`.
/// Their cells are [`Value::Nested`] with a canonical JSON text: a struct is the
/// list of its children, a map the list of its entries in key order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Byte,
    Short,
    Integer,
    Long,
    Float,
    Double,
    Decimal(u8, i8),
    String,
    Binary,
    Date,
    Timestamp,
    TimestampNtz,
    Struct,
    List,
    Map,
}

impl Kind {
    /// The type in a `schemaString`. `ids` numbers the fields inside a struct
    /// where columns are mapped.
    pub fn delta_type(self, ids: Option<i64>) -> Json {
        match self {
            Kind::Boolean => json!("boolean"),
            Kind::Byte => json!("byte"),
            Kind::Short => json!("short"),
            Kind::Integer => json!("integer"),
            Kind::Long => json!("long"),
            Kind::Float => json!("float"),
            Kind::Double => json!("double"),
            Kind::Decimal(p, s) => json!(format!("decimal({p},{s})")),
            Kind::String => json!("string"),
            Kind::Binary => json!("binary"),
            Kind::Date => json!("date"),
            Kind::Timestamp => json!("timestamp"),
            Kind::TimestampNtz => json!("timestamp_ntz"),
            Kind::Struct => {
                let field = |name: &str, t: &str, at: i64| {
                    let metadata = match ids {
                        Some(id) => json!({"delta.columnMapping.id": id + at,
                                           "delta.columnMapping.physicalName": format!("col-{name}")}),
                        None => json!({}),
                    };
                    json!({"name": name, "type": t, "nullable": true, "metadata": metadata})
                };
                json!({"type": "struct", "fields": [field("a", "integer", 0), field("b", "string", 1)]})
            }
            Kind::List => json!({"type": "array", "elementType": "integer", "containsNull": true}),
            Kind::Map => {
                json!({"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": true})
            }
        }
    }

    fn struct_fields(mapped: bool) -> Fields {
        let name = |n: &str| if mapped { format!("col-{n}") } else { n.to_owned() };
        Fields::from(vec![Field::new(name("a"), DataType::Int32, true), Field::new(name("b"), DataType::Utf8, true)])
    }

    /// The cells as an Arrow array of the type that a Delta writer stores.
    /// Panics for a cell of another type: that is a mistake in a test.
    pub fn array(self, cells: &[&Value], mapped: bool) -> ArrayRef {
        macro_rules! collect {
            ($array:ty, $pattern:pat => $value:expr) => {
                Arc::new(
                    cells
                        .iter()
                        .map(|cell| match cell {
                            Value::Null => None,
                            $pattern => Some($value),
                            other => panic!("a cell {other:?} in a column of type {self:?}"),
                        })
                        .collect::<$array>(),
                )
            };
        }
        macro_rules! narrow {
            ($i:expr) => {
                (*$i).try_into().expect("a whole number that its column's type holds")
            };
        }
        match self {
            Kind::Boolean => collect!(BooleanArray, Value::Boolean(b) => *b),
            Kind::Byte => collect!(Int8Array, Value::Int(i) => narrow!(i)),
            Kind::Short => collect!(Int16Array, Value::Int(i) => narrow!(i)),
            Kind::Integer => collect!(Int32Array, Value::Int(i) => narrow!(i)),
            Kind::Long => collect!(Int64Array, Value::Int(i) => *i),
            Kind::Float => collect!(Float32Array, Value::Float(x) => *x),
            Kind::Double => collect!(Float64Array, Value::Double(x) => *x),
            Kind::Decimal(p, s) => {
                let array: Decimal128Array = cells
                    .iter()
                    .map(|cell| match cell {
                        Value::Null => None,
                        Value::Decimal { unscaled, scale } if i32::from(*scale) == i32::from(s) => Some(*unscaled),
                        other => panic!("a cell {other:?} in a column of type {self:?}"),
                    })
                    .collect();
                Arc::new(array.with_precision_and_scale(p, s).expect("a valid precision"))
            }
            Kind::String => collect!(StringArray, Value::String(s) => s.as_str()),
            Kind::Binary => collect!(BinaryArray, Value::Binary(b) => b.as_slice()),
            Kind::Date => collect!(Date32Array, Value::Date(d) => *d),
            Kind::Timestamp => {
                let array: Arc<TimestampMicrosecondArray> =
                    collect!(TimestampMicrosecondArray, Value::Timestamp(us) => *us);
                Arc::new(array.as_ref().clone().with_timezone("UTC"))
            }
            Kind::TimestampNtz => collect!(TimestampMicrosecondArray, Value::TimestampNtz(us) => *us),
            Kind::Struct => {
                let texts: Vec<Option<Json>> = nested(cells);
                let a: Int32Array = texts.iter().map(|j| j.as_ref().and_then(|j| int32(&j[0]))).collect();
                let b: StringArray = texts.iter().map(|j| j.as_ref().and_then(|j| j[1].as_str())).collect();
                let valid = NullBuffer::from_iter(texts.iter().map(Option::is_some));
                Arc::new(StructArray::new(Self::struct_fields(mapped), vec![Arc::new(a), Arc::new(b)], Some(valid)))
            }
            Kind::List => {
                let mut builder =
                    ListBuilder::new(Int32Builder::new()).with_field(Field::new("element", DataType::Int32, true));
                for json in nested(cells) {
                    let items = json.as_ref().and_then(Json::as_array);
                    for item in items.into_iter().flatten() {
                        builder.values().append_option(int32(item));
                    }
                    builder.append(json.is_some());
                }
                Arc::new(builder.finish())
            }
            Kind::Map => {
                let names = MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
                let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), Int32Builder::new());
                for json in nested(cells) {
                    for entry in json.as_ref().and_then(Json::as_array).into_iter().flatten() {
                        builder.keys().append_value(entry[0].as_str().expect("a text as map key"));
                        builder.values().append_option(int32(&entry[1]));
                    }
                    builder.append(json.is_some()).expect("keys and values of one length");
                }
                Arc::new(builder.finish())
            }
        }
    }

    /// The text that Spark stores in `partitionValues`.
    pub fn partition_text(self, value: &Value) -> Option<String> {
        use chrono::{DateTime, Days, NaiveDate};
        Some(match value {
            Value::Null => return None,
            Value::Boolean(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            Value::Double(x) if x.is_nan() => "NaN".into(),
            Value::Double(x) => format!("{x:?}"),
            Value::Decimal { unscaled, scale } => {
                let (sign, digits) = (if *unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs().to_string());
                let scale = usize::from(*scale);
                let digits = format!("{digits:0>width$}", width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
            }
            Value::String(s) => s.clone(),
            Value::Date(days) => {
                let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).expect("the epoch");
                let shift = Days::new(u64::from(days.unsigned_abs()));
                let date = if *days < 0 { epoch - shift } else { epoch + shift };
                date.format("%Y-%m-%d").to_string()
            }
            Value::Timestamp(us) | Value::TimestampNtz(us) => {
                let instant = DateTime::from_timestamp_micros(*us).expect("a timestamp in chrono's range");
                instant.format("%Y-%m-%d %H:%M:%S%.6f").to_string()
            }
            other => panic!("{other:?} cannot be a partition value of type {self:?}"),
        })
    }
}

fn nested(cells: &[&Value]) -> Vec<Option<Json>> {
    let parse = |cell: &&Value| match cell {
        Value::Null => None,
        Value::Nested(text) => Some(serde_json::from_str(text).expect("a nested cell is JSON")),
        other => panic!("a cell {other:?} in a nested column"),
    };
    cells.iter().map(parse).collect()
}

fn int32(json: &Json) -> Option<i32> {
    json.as_i64().map(|i| i.try_into().expect("a nested number fits in 32 bits"))
}

/// One cell of an array that came from a Parquet file.
pub fn cell(array: &ArrayRef, row: usize) -> Value {
    use deltalake::arrow::array::{AsArray, MapArray};
    use deltalake::arrow::datatypes as t;
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => Value::Int(array.as_primitive::<t::Int8Type>().value(row).into()),
        DataType::Int16 => Value::Int(array.as_primitive::<t::Int16Type>().value(row).into()),
        DataType::Int32 => Value::Int(array.as_primitive::<t::Int32Type>().value(row).into()),
        DataType::Int64 => Value::Int(array.as_primitive::<t::Int64Type>().value(row)),
        DataType::Float32 => Value::Float(array.as_primitive::<t::Float32Type>().value(row)),
        DataType::Float64 => Value::Double(array.as_primitive::<t::Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => Value::Decimal {
            unscaled: array.as_primitive::<t::Decimal128Type>().value(row),
            scale: (*scale).try_into().expect("a scale of at least 0"),
        },
        DataType::Utf8 => Value::String(array.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => Value::Binary(array.as_binary::<i32>().value(row).to_owned()),
        DataType::Date32 => Value::Date(array.as_primitive::<t::Date32Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let us = array.as_primitive::<t::TimestampMicrosecondType>().value(row);
            if zone.is_some() { Value::Timestamp(us) } else { Value::TimestampNtz(us) }
        }
        DataType::Struct(_) => {
            let children = array.as_struct().columns().iter().map(|child| plain(&cell(child, row)));
            Value::Nested(Json::Array(children.collect()).to_string())
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            let items = (0..items.len()).map(|i| plain(&cell(&items, i)));
            Value::Nested(Json::Array(items.collect()).to_string())
        }
        DataType::Map(_, _) => {
            let map: &MapArray = array.as_map();
            let entries = map.value(row);
            let [keys, values] = [entries.column(0), entries.column(1)];
            let mut pairs: Vec<(Value, Json)> =
                (0..entries.len()).map(|i| (cell(keys, i), plain(&cell(values, i)))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            let pairs = pairs.iter().map(|(k, v)| json!([plain(k), v]));
            Value::Nested(Json::Array(pairs.collect()).to_string())
        }
        other => panic!("a data file with a column of Arrow type {other}"),
    }
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(i) => json!(i),
        Value::String(s) => json!(s),
        Value::Boolean(b) => json!(b),
        Value::Nested(text) => serde_json::from_str(text).expect("a nested cell is JSON"),
        other => json!(format!("{other:?}")),
    }
}

/// The Arrow type that a data file must have for a Delta type, for primitives.
pub fn arrow_type(delta: &str) -> Option<DataType> {
    Some(match delta {
        "boolean" => DataType::Boolean,
        "byte" => DataType::Int8,
        "short" => DataType::Int16,
        "integer" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        other => {
            let (p, s) = other.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
            DataType::Decimal128(p.trim().parse().ok()?, s.trim().parse().ok()?)
        }
    })
}

/// A partition value from its text in the log. Panics for a malformed one.
pub fn parse_partition(text: Option<&str>, delta: &str) -> Value {
    use chrono::{DateTime, NaiveDate, NaiveDateTime};
    let Some(text) = text else { return Value::Null };
    let instant = || {
        let zoned = DateTime::parse_from_rfc3339(text).map(|t| t.timestamp_micros());
        zoned.unwrap_or_else(|_| {
            let naive = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f");
            naive.unwrap_or_else(|e| panic!("partition value {text}: {e}")).and_utc().timestamp_micros()
        })
    };
    match delta {
        "string" => Value::String(text.to_owned()),
        _ if text.is_empty() => Value::Null,
        "boolean" => Value::Boolean(text == "true"),
        "byte" | "short" | "integer" | "long" => Value::Int(text.parse().expect("a whole number")),
        "float" => Value::Float(text.parse().expect("a number")),
        "double" => Value::Double(text.parse().expect("a number")),
        "date" => {
            let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").expect("a date");
            let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).expect("the epoch");
            Value::Date((date - epoch).num_days().try_into().expect("a date in range"))
        }
        "timestamp" => Value::Timestamp(instant()),
        "timestamp_ntz" => Value::TimestampNtz(instant()),
        decimal => {
            let Some(DataType::Decimal128(_, scale)) = arrow_type(decimal) else {
                panic!("a partition column of type {decimal}")
            };
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let scale = usize::try_from(scale).expect("a scale of at least 0");
            let digits = format!("{whole}{fraction:0<scale$}");
            Value::Decimal { unscaled: digits.parse().expect("a decimal"), scale: scale as u8 }
        }
    }
}
