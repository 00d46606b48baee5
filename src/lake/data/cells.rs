//! Single values out of arrays and into them.

use std::sync::Arc;

use deltalake::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, Decimal128Array, PrimitiveArray,
    StringArray, UInt32Array, new_null_array,
};
use deltalake::arrow::compute::{cast, take};
use deltalake::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use deltalake::arrow::util::display::array_value_to_string;
use serde_json::{Map, Value as Json, json};

use crate::error::{Error, ErrorKind, Result};
use crate::table::Value;

/// One cell as a typed value; a nested cell as compact JSON.
///
/// # Panics
/// Where `row` is not a row of the array.
pub fn value_at(array: &dyn Array, row: usize) -> Value {
    use DataType as A;
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        A::Null => Value::Null,
        A::Boolean => Value::Boolean(array.as_boolean().value(row)),
        A::Int8 => Value::Int(cell::<Int8Type>(array, row).into()),
        A::Int16 => Value::Int(cell::<Int16Type>(array, row).into()),
        A::Int32 => Value::Int(cell::<Int32Type>(array, row).into()),
        A::Int64 => Value::Int(cell::<Int64Type>(array, row)),
        A::UInt8 => Value::Int(cell::<UInt8Type>(array, row).into()),
        A::UInt16 => Value::Int(cell::<UInt16Type>(array, row).into()),
        A::UInt32 => Value::Int(cell::<UInt32Type>(array, row).into()),
        A::UInt64 => Value::Decimal { unscaled: cell::<UInt64Type>(array, row).into(), scale: 0 },
        A::Float16 => Value::Float(cell::<Float16Type>(array, row).into()),
        A::Float32 => Value::Float(cell::<Float32Type>(array, row)),
        A::Float64 => Value::Double(cell::<Float64Type>(array, row)),
        A::Decimal128(_, scale) if *scale >= 0 => {
            Value::Decimal { unscaled: cell::<Decimal128Type>(array, row), scale: scale.unsigned_abs() }
        }
        A::Utf8 => Value::String(array.as_string::<i32>().value(row).to_owned()),
        A::LargeUtf8 => Value::String(array.as_string::<i64>().value(row).to_owned()),
        A::Utf8View => Value::String(array.as_string_view().value(row).to_owned()),
        A::Binary => Value::Binary(array.as_binary::<i32>().value(row).to_vec()),
        A::LargeBinary => Value::Binary(array.as_binary::<i64>().value(row).to_vec()),
        A::BinaryView => Value::Binary(array.as_binary_view().value(row).to_vec()),
        A::FixedSizeBinary(_) => Value::Binary(array.as_fixed_size_binary().value(row).to_vec()),
        A::Date32 => Value::Date(cell::<Date32Type>(array, row)),
        A::Timestamp(unit, zone) => {
            let us = match unit {
                TimeUnit::Second => cell::<TimestampSecondType>(array, row).saturating_mul(1_000_000),
                TimeUnit::Millisecond => cell::<TimestampMillisecondType>(array, row).saturating_mul(1_000),
                TimeUnit::Microsecond => cell::<TimestampMicrosecondType>(array, row),
                TimeUnit::Nanosecond => cell::<TimestampNanosecondType>(array, row).div_euclid(1_000),
            };
            if zone.is_some() { Value::Timestamp(us) } else { Value::TimestampNtz(us) }
        }
        A::Dictionary(_, value) => match cast(&array.slice(row, 1), value) {
            Ok(plain) => value_at(&plain, 0),
            Err(_) => Value::Nested(as_text(array, row)),
        },
        A::Struct(_) | A::List(_) | A::LargeList(_) | A::FixedSizeList(..) | A::Map(..) => {
            Value::Nested(json_at(array, row).to_string())
        }
        _ => Value::Nested(as_text(array, row)),
    }
}

fn cell<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// For types that no table has: whatever Arrow prints.
fn as_text(array: &dyn Array, row: usize) -> String {
    array_value_to_string(array, row).unwrap_or_else(|e| e.to_string())
}

fn json_at(array: &dyn Array, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    let items = |values: &dyn Array| Json::Array((0..values.len()).map(|i| json_at(values, i)).collect());
    match array.data_type() {
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            Json::Object(fields.iter().zip(columns).map(|(f, c)| (f.name().clone(), json_at(c, row))).collect())
        }
        DataType::List(_) => items(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => items(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => items(&array.as_fixed_size_list().value(row)),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let pairs = (0..entries.len()).map(|i| (json_at(keys, i), json_at(values, i)));
            if matches!(keys.data_type(), DataType::Utf8) {
                let named = pairs.filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)));
                Json::Object(named.collect::<Map<_, _>>())
            } else {
                Json::Array(pairs.map(|(key, value)| json!({ "key": key, "value": value })).collect())
            }
        }
        _ => value_at(array, row).to_json(),
    }
}

/// A column that has one value in every row.
///
/// # Errors
/// `BadPartitionValue` where the value is not of the type.
pub fn repeated(value: &Value, data_type: &DataType, rows: usize) -> Result<ArrayRef> {
    if value.is_null() {
        return Ok(new_null_array(data_type, rows));
    }
    let one = one_value(value, data_type).ok_or_else(|| {
        Error::new(ErrorKind::BadPartitionValue, format!("the partition value {value} is not a value of {data_type}"))
    })?;
    let zeros = UInt32Array::from(vec![0; rows]);
    take(&one, &zeros, None).map_err(|e| Error::new(ErrorKind::Internal, "cannot repeat a partition value").because(e))
}

fn one_value(value: &Value, data_type: &DataType) -> Option<ArrayRef> {
    Some(match (value, data_type) {
        (Value::Boolean(b), DataType::Boolean) => Arc::new(BooleanArray::from(vec![*b])),
        (Value::Int(i), DataType::Int8) => single::<Int8Type>((*i).try_into().ok()?),
        (Value::Int(i), DataType::Int16) => single::<Int16Type>((*i).try_into().ok()?),
        (Value::Int(i), DataType::Int32) => single::<Int32Type>((*i).try_into().ok()?),
        (Value::Int(i), DataType::Int64) => single::<Int64Type>(*i),
        (Value::Float(x), DataType::Float32) => single::<Float32Type>(*x),
        (Value::Double(x), DataType::Float64) => single::<Float64Type>(*x),
        (Value::Decimal { unscaled, scale }, DataType::Decimal128(precision, to))
            if i8::try_from(*scale) == Ok(*to) =>
        {
            Arc::new(Decimal128Array::from(vec![*unscaled]).with_precision_and_scale(*precision, *to).ok()?)
        }
        (Value::String(s), DataType::Utf8) => Arc::new(StringArray::from(vec![s.as_str()])),
        (Value::Binary(b), DataType::Binary) => Arc::new(BinaryArray::from(vec![b.as_slice()])),
        (Value::Date(days), DataType::Date32) => single::<Date32Type>(*days),
        (Value::Timestamp(us), DataType::Timestamp(TimeUnit::Microsecond, Some(zone))) => {
            let instant = PrimitiveArray::<TimestampMicrosecondType>::from(vec![*us]);
            Arc::new(instant.with_timezone(Arc::clone(zone)))
        }
        (Value::TimestampNtz(us), DataType::Timestamp(TimeUnit::Microsecond, None)) => {
            single::<TimestampMicrosecondType>(*us)
        }
        _ => return None,
    })
}

fn single<T: ArrowPrimitiveType>(value: T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(vec![value].into(), None))
}

/// A column of computed values.
///
/// # Errors
/// `Internal` where a value is not of the type, `UnsupportedType` for a nested one.
pub fn array_of(values: &[Value], data_type: &DataType) -> Result<ArrayRef> {
    let odd = |value: &Value| {
        Error::new(ErrorKind::Internal, format!("{value} was computed for a column of the type {data_type}"))
    };
    macro_rules! numbers {
        ($t:ty, $pattern:pat => $value:expr) => {{
            let cells: Vec<Option<<$t as ArrowPrimitiveType>::Native>> = values
                .iter()
                .map(|value| match value {
                    Value::Null => Ok(None),
                    $pattern => ($value).map(Some).ok_or_else(|| odd(value)),
                    _ => Err(odd(value)),
                })
                .collect::<Result<_>>()?;
            PrimitiveArray::<$t>::from_iter(cells)
        }};
    }
    Ok(match data_type {
        DataType::Boolean => {
            let cells = values.iter().map(|value| match value {
                Value::Null => Ok(None),
                Value::Boolean(b) => Ok(Some(*b)),
                _ => Err(odd(value)),
            });
            Arc::new(cells.collect::<Result<BooleanArray>>()?)
        }
        DataType::Int8 => Arc::new(numbers!(Int8Type, Value::Int(i) => i8::try_from(*i).ok())),
        DataType::Int16 => Arc::new(numbers!(Int16Type, Value::Int(i) => i16::try_from(*i).ok())),
        DataType::Int32 => Arc::new(numbers!(Int32Type, Value::Int(i) => i32::try_from(*i).ok())),
        DataType::Int64 => Arc::new(numbers!(Int64Type, Value::Int(i) => Some(*i))),
        DataType::Float32 => Arc::new(numbers!(Float32Type, Value::Float(x) => Some(*x))),
        DataType::Float64 => Arc::new(numbers!(Float64Type, Value::Double(x) => Some(*x))),
        DataType::Date32 => Arc::new(numbers!(Date32Type, Value::Date(days) => Some(*days))),
        DataType::Decimal128(precision, to) => {
            let array = numbers!(Decimal128Type, Value::Decimal { unscaled, scale } =>
                (i8::try_from(*scale) == Ok(*to)).then_some(*unscaled));
            let typed = array.with_precision_and_scale(*precision, *to);
            Arc::new(typed.map_err(|e| Error::new(ErrorKind::Internal, "a computed decimal").because(e))?)
        }
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => {
            let array = numbers!(TimestampMicrosecondType, Value::Timestamp(us) => Some(*us));
            Arc::new(array.with_timezone(Arc::clone(zone)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            Arc::new(numbers!(TimestampMicrosecondType, Value::TimestampNtz(us) => Some(*us)))
        }
        DataType::Utf8 => {
            let cells = values.iter().map(|value| match value {
                Value::Null => Ok(None),
                Value::String(s) => Ok(Some(s.as_str())),
                _ => Err(odd(value)),
            });
            Arc::new(cells.collect::<Result<StringArray>>()?)
        }
        DataType::Binary => {
            let cells = values.iter().map(|value| match value {
                Value::Null => Ok(None),
                Value::Binary(b) => Ok(Some(b.as_slice())),
                _ => Err(odd(value)),
            });
            Arc::new(cells.collect::<Result<BinaryArray>>()?)
        }
        other => {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("values of the type {other} cannot be computed"),
            )
            .hint("Assign whole rows with *."));
        }
    })
}
