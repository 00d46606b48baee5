//! From the types that a file stores to the types of the table, exactly.

use std::sync::Arc;

use deltalake::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, PrimitiveArray, new_null_array,
};
use deltalake::arrow::compute::{CastOptions, cast_with_options};
use deltalake::arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt64Type,
};

const MICROS_PER_DAY: i64 = 86_400_000_000;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// The same values under another type. Wider types hold every value; narrower
/// ones are checked value by value. So are nanoseconds: the format keeps
/// microseconds, and a cut value would match a row that it is not.
///
/// # Errors
/// What cannot be represented, in words without file or column.
pub(super) fn cast_exactly(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, String> {
    use DataType as A;
    let source = array.data_type();
    if source == target {
        return Ok(Arc::clone(array));
    }
    match (source, target) {
        (A::Null, _) => Ok(new_null_array(target, array.len())),
        (A::Timestamp(unit, _), A::Timestamp(TimeUnit::Microsecond, zone)) => {
            Ok(Arc::new(microseconds(array, *unit)?.with_timezone_opt(zone.clone())))
        }
        (A::Date32, A::Timestamp(TimeUnit::Microsecond, None)) => {
            let midnight = array.as_primitive::<Date32Type>().try_unary::<_, TimestampMicrosecondType, _>(|days| {
                i64::from(days).checked_mul(MICROS_PER_DAY).ok_or_else(|| out_of_range(days, target))
            })?;
            Ok(Arc::new(midnight))
        }
        (A::Date64, A::Date32) => {
            let days = array.as_primitive::<Date64Type>().try_unary::<_, Date32Type, _>(|ms| {
                let whole = (ms % MILLIS_PER_DAY == 0).then_some(ms / MILLIS_PER_DAY);
                whole.and_then(|days| i32::try_from(days).ok()).ok_or_else(|| out_of_range(ms, target))
            })?;
            Ok(Arc::new(days))
        }
        (A::Decimal128(_, scale), A::Decimal128(..)) => {
            rescale(array.as_primitive::<Decimal128Type>().iter().map(|v| v.map(Some)), *scale, target)
        }
        (A::Decimal256(_, scale), A::Decimal128(..)) => {
            rescale(array.as_primitive::<Decimal256Type>().iter().map(|v| v.map(|wide| wide.to_i128())), *scale, target)
        }
        (A::UInt64, A::Decimal128(..)) => {
            rescale(array.as_primitive::<UInt64Type>().iter().map(|v| v.map(|n| Some(i128::from(n)))), 0, target)
        }
        (integer, A::Decimal128(..)) if integer.is_integer() => {
            let wide = strict(array, &A::Int64)?;
            rescale(wide.as_primitive::<Int64Type>().iter().map(|v| v.map(|n| Some(i128::from(n)))), 0, target)
        }
        (integer, other) if integer.is_integer() && other.is_signed_integer() => strict(array, target),
        (A::Float16, A::Float32 | A::Float64)
        | (A::Float32 | A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16 | A::UInt32, A::Float64)
        | (A::Int8 | A::Int16 | A::UInt8 | A::UInt16, A::Float32)
        | (A::Binary, A::Utf8)
        | (A::Utf8 | A::FixedSizeBinary(_), A::Binary) => strict(array, target),
        _ => Err(format!("the file stores {source}, which cannot be read as {target}")),
    }
}

fn strict(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, String> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, target, &options).map_err(|e| e.to_string())
}

fn microseconds(array: &ArrayRef, unit: TimeUnit) -> Result<PrimitiveArray<TimestampMicrosecondType>, String> {
    let target = DataType::Timestamp(TimeUnit::Microsecond, None);
    match unit {
        TimeUnit::Microsecond => Ok(array.as_primitive::<TimestampMicrosecondType>().clone()),
        TimeUnit::Nanosecond => convert(
            array.as_primitive::<TimestampNanosecondType>(),
            |ns| (ns % 1_000 == 0).then_some(ns / 1_000),
            &target,
        ),
        TimeUnit::Millisecond => {
            convert(array.as_primitive::<TimestampMillisecondType>(), |ms| ms.checked_mul(1_000), &target)
        }
        TimeUnit::Second => convert(array.as_primitive::<TimestampSecondType>(), |s| s.checked_mul(1_000_000), &target),
    }
}

fn convert<T: ArrowPrimitiveType<Native = i64>>(
    array: &PrimitiveArray<T>,
    to_micros: impl Fn(i64) -> Option<i64>,
    target: &DataType,
) -> Result<PrimitiveArray<TimestampMicrosecondType>, String> {
    array.try_unary(|value| to_micros(value).ok_or_else(|| out_of_range(value, target)))
}

/// Unscaled values of one scale as a decimal of another, without rounding. An
/// inner `None` is a value beyond 128 bits.
fn rescale(
    values: impl Iterator<Item = Option<Option<i128>>>,
    scale: i8,
    target: &DataType,
) -> Result<ArrayRef, String> {
    let DataType::Decimal128(precision, to) = *target else {
        return Err(format!("{target} is not a decimal"));
    };
    let factor = 10i128.checked_pow(u32::from(to.abs_diff(scale)));
    let limit = 10u128.pow(u32::from(precision));
    let rescaled = |value: i128| {
        let moved = match factor {
            _ if value == 0 => 0,
            Some(factor) if to >= scale => value.checked_mul(factor)?,
            Some(factor) => (value % factor == 0).then_some(value / factor)?,
            None => return None,
        };
        (moved.unsigned_abs() < limit).then_some(moved)
    };
    let out: Decimal128Array = values
        .map(|value| match value {
            None => Ok(None),
            Some(wide) => match wide.and_then(rescaled) {
                Some(value) => Ok(Some(value)),
                None => Err(match wide {
                    Some(wide) => format!("the value {wide}e{} does not fit {target}", -i32::from(scale)),
                    None => format!("a value of more than 38 digits does not fit {target}"),
                }),
            },
        })
        .collect::<Result<_, String>>()?;
    Ok(Arc::new(out.with_precision_and_scale(precision, to).map_err(|e| e.to_string())?))
}

fn out_of_range(value: impl std::fmt::Display, target: &DataType) -> String {
    format!("the stored value {value} does not fit {target}")
}

#[cfg(test)]
mod tests {
    use deltalake::arrow::array::{BinaryArray, Float64Array, Int64Array, TimestampNanosecondArray, UInt64Array};

    use super::*;

    fn cast(array: impl Array + 'static, target: &DataType) -> Result<ArrayRef, String> {
        cast_exactly(&(Arc::new(array) as ArrayRef), target)
    }

    fn decimals(values: &[i128], precision: u8, scale: i8) -> Decimal128Array {
        Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap()
    }

    #[test]
    fn decimals_are_rescaled_or_refused_never_rounded() {
        let wider = cast(decimals(&[150, -7], 6, 2), &DataType::Decimal128(10, 3)).unwrap();
        assert_eq!(wider.as_primitive::<Decimal128Type>().values(), &[1500, -70]);
        let exact = cast(decimals(&[1500], 10, 3), &DataType::Decimal128(6, 2)).unwrap();
        assert_eq!(exact.as_primitive::<Decimal128Type>().value(0), 150);
        assert!(cast(decimals(&[1501], 10, 3), &DataType::Decimal128(6, 2)).is_err());
        assert!(cast(decimals(&[999_999], 6, 0), &DataType::Decimal128(6, 2)).is_err());
        let big = cast(UInt64Array::from(vec![u64::MAX]), &DataType::Decimal128(20, 0)).unwrap();
        assert_eq!(big.as_primitive::<Decimal128Type>().value(0), i128::from(u64::MAX));
        assert!(cast(Int64Array::from(vec![1_000]), &DataType::Decimal128(3, 0)).is_err());
    }

    #[test]
    fn narrowing_fails_on_the_value_that_does_not_fit() {
        assert!(cast(Int64Array::from(vec![1, 2]), &DataType::Int32).is_ok());
        assert!(cast(Int64Array::from(vec![1, 1 << 40]), &DataType::Int32).is_err());
        assert!(cast(Int64Array::from(vec![1]), &DataType::Float64).is_err());
        assert!(cast(Float64Array::from(vec![0.1]), &DataType::Float32).is_err());
        assert!(cast(BinaryArray::from(vec![&b"\xff"[..]]), &DataType::Utf8).is_err());
    }

    #[test]
    fn nanoseconds_are_never_cut() {
        let target = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let whole = cast(TimestampNanosecondArray::from(vec![-1_000, 2_000]), &target).unwrap();
        assert_eq!(whole.data_type(), &target);
        assert_eq!(whole.as_primitive::<TimestampMicrosecondType>().values(), &[-1, 2]);
        assert!(cast(TimestampNanosecondArray::from(vec![1_999]), &target).is_err());
        let far = PrimitiveArray::<TimestampMillisecondType>::from(vec![i64::MAX]);
        assert!(cast(far, &target).is_err());
    }
}
