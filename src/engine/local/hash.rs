//! 128-bit hashes of cells and rows, seeded per plan.
//!
//! A cell's hash is XXH3-128 of its canonical bytes under a seed of its own
//! column; a row's hash is the wrapping sum of its cells' hashes. Two different
//! rows collide with a probability of about 2⁻¹²⁸, n rows hold any collision
//! with about n²·2⁻¹²⁹: for 10⁹ rows less than 10⁻²⁰. The seed is random per
//! plan, so no data can be prepared to collide.
//!
//! Values that SQL calls not distinct have one canonical form: NaN is NaN,
//! −0.0 is 0.0, NULL is NULL.

use deltalake::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, RecordBatch};
use deltalake::arrow::buffer::NullBuffer;
use deltalake::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType,
};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::error::{Error, ErrorKind, Result};
use crate::table::value::canonical;

/// The seed of one column's cells.
pub fn column_seed(plan_seed: u64, column: usize) -> u64 {
    plan_seed ^ (column as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Adds every cell's hash to its row's.
///
/// # Errors
/// `UnsupportedType` for an Arrow type that no table column has.
pub fn add_column(array: &ArrayRef, seed: u64, rows: &mut [u128]) -> Result<()> {
    macro_rules! words {
        ($t:ty, $word:expr) => {
            words::<$t, _>(array.as_primitive::<$t>(), seed, rows, $word)
        };
    }
    match array.data_type() {
        DataType::Int8 => words!(Int8Type, |v: i8| i64::from(v) as u64),
        DataType::Int16 => words!(Int16Type, |v: i16| i64::from(v) as u64),
        DataType::Int32 => words!(Int32Type, |v: i32| i64::from(v) as u64),
        DataType::Int64 => words!(Int64Type, |v: i64| v as u64),
        DataType::Date32 => words!(Date32Type, |v: i32| i64::from(v) as u64),
        DataType::Timestamp(TimeUnit::Microsecond, _) => words!(TimestampMicrosecondType, |v: i64| v as u64),
        DataType::Float32 => words!(Float32Type, |v: f32| canonical(f64::from(v)).to_bits()),
        DataType::Float64 => words!(Float64Type, |v: f64| canonical(v).to_bits()),
        DataType::Decimal128(_, _) => {
            let decimals = array.as_primitive::<Decimal128Type>();
            each(decimals.nulls(), seed, rows, decimals.values(), |v| xxh3_128_with_seed(&v.to_le_bytes(), seed));
        }
        DataType::Utf8 => {
            let strings = array.as_string::<i32>();
            bytes(strings.nulls(), seed, rows, strings.value_offsets(), strings.value_data());
        }
        DataType::Binary => {
            let binary = array.as_binary::<i32>();
            bytes(binary.nulls(), seed, rows, binary.value_offsets(), binary.value_data());
        }
        _ => {
            let mut cell = Vec::new();
            for (row, hash) in rows.iter_mut().enumerate() {
                cell.clear();
                encode(array.as_ref(), row, &mut cell)?;
                *hash = hash.wrapping_add(xxh3_128_with_seed(&cell, seed));
            }
        }
    }
    Ok(())
}

/// NULL is hashed under a seed that no value of the column is hashed under.
fn null_hash(seed: u64) -> u128 {
    xxh3_128_with_seed(b"NULL", !seed)
}

/// Cells of eight bytes.
fn words<T: ArrowPrimitiveType, F: Fn(T::Native) -> u64>(
    array: &PrimitiveArray<T>,
    seed: u64,
    rows: &mut [u128],
    word: F,
) {
    each(array.nulls(), seed, rows, array.values(), |v| xxh3_128_with_seed(&word(v).to_le_bytes(), seed));
}

fn each<V: Copy>(nulls: Option<&NullBuffer>, seed: u64, rows: &mut [u128], values: &[V], hash: impl Fn(V) -> u128) {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (sum, value) in rows.iter_mut().zip(values) {
                *sum = sum.wrapping_add(hash(*value));
            }
        }
        Some(nulls) => {
            let null = null_hash(seed);
            for ((sum, value), valid) in rows.iter_mut().zip(values).zip(nulls.iter()) {
                *sum = sum.wrapping_add(if valid { hash(*value) } else { null });
            }
        }
    }
}

/// Cells of any length, one after another in `data`.
fn bytes(nulls: Option<&NullBuffer>, seed: u64, rows: &mut [u128], offsets: &[i32], data: &[u8]) {
    let cell = |ends: &[i32]| xxh3_128_with_seed(&data[ends[0] as usize..ends[1] as usize], seed);
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (sum, ends) in rows.iter_mut().zip(offsets.windows(2)) {
                *sum = sum.wrapping_add(cell(ends));
            }
        }
        Some(nulls) => {
            let null = null_hash(seed);
            for ((sum, ends), valid) in rows.iter_mut().zip(offsets.windows(2)).zip(nulls.iter()) {
                *sum = sum.wrapping_add(if valid { cell(ends) } else { null });
            }
        }
    }
}

/// Canonical bytes of a cell at any depth: a tag, then lengths before contents,
/// so that no two different values share their bytes.
fn encode(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if array.is_null(row) {
        out.push(0);
        return Ok(());
    }
    out.push(1);
    let sized = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    match array.data_type() {
        DataType::Boolean => out.push(u8::from(array.as_boolean().value(row))),
        DataType::Int8 => out.extend_from_slice(&array.as_primitive::<Int8Type>().value(row).to_le_bytes()),
        DataType::Int16 => out.extend_from_slice(&array.as_primitive::<Int16Type>().value(row).to_le_bytes()),
        DataType::Int32 => out.extend_from_slice(&array.as_primitive::<Int32Type>().value(row).to_le_bytes()),
        DataType::Int64 => out.extend_from_slice(&array.as_primitive::<Int64Type>().value(row).to_le_bytes()),
        DataType::Date32 => out.extend_from_slice(&array.as_primitive::<Date32Type>().value(row).to_le_bytes()),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            out.extend_from_slice(&array.as_primitive::<TimestampMicrosecondType>().value(row).to_le_bytes());
        }
        DataType::Float32 => {
            let x = canonical(f64::from(array.as_primitive::<Float32Type>().value(row)));
            out.extend_from_slice(&x.to_bits().to_le_bytes());
        }
        DataType::Float64 => {
            let x = canonical(array.as_primitive::<Float64Type>().value(row));
            out.extend_from_slice(&x.to_bits().to_le_bytes());
        }
        DataType::Decimal128(_, _) => {
            out.extend_from_slice(&array.as_primitive::<Decimal128Type>().value(row).to_le_bytes());
        }
        DataType::Utf8 => sized(out, array.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => sized(out, array.as_binary::<i32>().value(row)),
        DataType::Struct(_) => {
            for column in array.as_struct().columns() {
                encode(column.as_ref(), row, out)?;
            }
        }
        DataType::List(_) => sequence(array.as_list::<i32>().value(row).as_ref(), out)?,
        DataType::Map(_, _) => sequence(&array.as_map().value(row), out)?,
        other => {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("values of the Arrow type {other} cannot be compared"),
            ));
        }
    }
    Ok(())
}

fn sequence(items: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&(items.len() as u64).to_le_bytes());
    (0..items.len()).try_for_each(|i| encode(items, i, out))
}

/// The mixed hash of each row of a full-width batch; the cells' hashes are
/// added to the sums of their columns.
///
/// # Errors
/// `UnsupportedType`.
pub fn row_sets(batch: &RecordBatch, seed: u64, columns: &mut [u128]) -> Result<Vec<u128>> {
    let mut rows = vec![0u128; batch.num_rows()];
    let mut cells = vec![0u128; batch.num_rows()];
    for (index, (array, sum)) in batch.columns().iter().zip(columns).enumerate() {
        cells.fill(0);
        add_column(array, column_seed(seed, index), &mut cells)?;
        for (row, cell) in rows.iter_mut().zip(&cells) {
            *row = row.wrapping_add(*cell);
            *sum = sum.wrapping_add(*cell);
        }
    }
    Ok(rows.into_iter().map(mix).collect())
}

/// Spreads a row's hash before it is summed over rows: the sum of the row
/// hashes alone would be the same if two rows exchanged cells of a column.
pub fn mix(row: u128) -> u128 {
    let x = (row ^ (row >> 67)).wrapping_mul(0xDA94_2042_E4DD_58B5_9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 59)).wrapping_mul(0xC6A4_A793_5BD1_E995_D6E8_FEB8_6659_FD93);
    x ^ (x >> 64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use deltalake::arrow::array::{Float64Array, Int64Array, ListArray, StringArray};

    use super::*;

    fn hashes(columns: &[ArrayRef]) -> Vec<u128> {
        let mut rows = vec![0; columns[0].len()];
        for (i, column) in columns.iter().enumerate() {
            add_column(column, column_seed(7, i), &mut rows).unwrap();
        }
        rows
    }

    #[test]
    fn what_sql_calls_not_distinct_hashes_alike() {
        let floats: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), Some(f64::NAN), Some(-f64::NAN), None]));
        let h = hashes(&[floats]);
        assert_eq!((h[0], h[2]), (h[1], h[3]));
        assert!(h[4] != h[0] && h[4] != h[2]);
    }

    #[test]
    fn null_empty_and_swapped_values_differ() {
        let strings: ArrayRef =
            Arc::new(StringArray::from(vec![Some(""), None, Some("a"), Some("b"), Some("NULL"), Some("\0NULL")]));
        let other: ArrayRef = Arc::new(StringArray::from(vec!["x", "x", "b", "a", "x", "x"]));
        let h = hashes(&[strings, other]);
        assert_ne!(h[0], h[1]);
        assert_ne!(h[2], h[3]);
        assert!(h[1] != h[4] && h[1] != h[5]);
    }

    #[test]
    fn a_checksum_sees_cells_that_changed_rows() {
        let sum = |a: Vec<i64>, b: Vec<i64>| {
            let (a, b): (ArrayRef, ArrayRef) = (Arc::new(Int64Array::from(a)), Arc::new(Int64Array::from(b)));
            hashes(&[a, b]).into_iter().map(mix).fold(0u128, u128::wrapping_add)
        };
        assert_eq!(sum(vec![1, 2], vec![3, 4]), sum(vec![2, 1], vec![4, 3]));
        assert_ne!(sum(vec![1, 2], vec![3, 4]), sum(vec![2, 1], vec![3, 4]));
    }

    #[test]
    fn nested_values_keep_their_boundaries() {
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(vec![
            Some(vec![Some(1), Some(2)]),
            Some(vec![Some(1), None, Some(2)]),
            Some(vec![]),
            None,
        ]));
        let mut h = hashes(&[lists]);
        h.sort_unstable();
        h.dedup();
        assert_eq!(h.len(), 4);
    }
}
