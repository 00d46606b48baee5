//! The order of rows within a partition: by columns, or along a Z-order curve.
//!
//! The curve is Morton's (G. M. Morton, "A computer oriented geodetic data base
//! and a new technique in file sequencing", IBM, 1966): the bits of the columns'
//! ranks, interleaved. A rank is a value's place among a sample of the column's
//! values, so that unequal distributions use the bits evenly.

use std::sync::Arc;

use deltalake::arrow::array::{Array, ArrayRef, BinaryArray, BinaryBuilder, RecordBatch, UInt32Array};
use deltalake::arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use deltalake::arrow::error::ArrowError;
use deltalake::arrow::row::{RowConverter, SortField};

use crate::error::{Context, Error, ErrorKind, Result};
use crate::plan::relayout::Order;
use crate::table::Schema;

/// Values of each column that ranks are taken from.
pub const SAMPLE: usize = 1 << 14;
/// Bits of a rank.
const BITS: u32 = 16;

/// NULL sorts first, everything else upwards.
pub const ASCENDING: SortOptions = SortOptions { descending: false, nulls_first: true };

/// An order over the columns of a batch, by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sorting {
    None,
    Columns(Vec<usize>),
    ZOrder(Vec<usize>),
}

impl Sorting {
    /// # Errors
    /// `BadPlan` for a column that the table does not have.
    pub fn new(order: &Order, schema: &Schema) -> Result<Sorting> {
        let place = |name: &String| {
            schema.index_of(name).ok_or_else(|| {
                Error::new(ErrorKind::BadPlan, format!("the plan sorts by {name}, which the table does not have"))
                    .hint("Make a new plan.")
            })
        };
        let columns = order.columns().iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(match order {
            Order::None => Sorting::None,
            Order::Columns(_) => Sorting::Columns(columns),
            Order::ZOrder(_) => Sorting::ZOrder(columns),
        })
    }

    /// The rows in their order.
    ///
    /// # Errors
    /// `UnsupportedType` for a column that has no order.
    pub fn sorted(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let keys: Vec<ArrayRef> = match self {
            Sorting::None => return Ok(batch),
            Sorting::Columns(columns) => columns.iter().map(|c| batch.column(*c).clone()).collect(),
            Sorting::ZOrder(columns) => {
                let curve = Curve::new(&sample(&batch, columns)?)?;
                vec![Arc::new(curve.keys(&batch, columns)?)]
            }
        };
        let columns: Vec<SortColumn> =
            keys.into_iter().map(|values| SortColumn { values, options: Some(ASCENDING) }).collect();
        let order = lexsort_to_indices(&columns, None).map_err(cannot_sort)?;
        take_record_batch(&batch, &order).context(ErrorKind::Internal, || "rows could not be sorted".into())
    }
}

pub fn cannot_sort(error: ArrowError) -> Error {
    Error::new(ErrorKind::UnsupportedType, "the rows cannot be put into this order").because(error)
}

/// Up to [`SAMPLE`] evenly spaced values of some columns.
pub fn sample(batch: &RecordBatch, columns: &[usize]) -> Result<Vec<ArrayRef>> {
    let step = batch.num_rows().div_ceil(SAMPLE).max(1);
    let rows = UInt32Array::from_iter_values((0..batch.num_rows()).step_by(step).map(|row| row as u32));
    let taken = batch.project(columns).and_then(|narrow| take_record_batch(&narrow, &rows));
    Ok(taken.context(ErrorKind::Internal, || "rows could not be sampled".into())?.columns().to_vec())
}

/// A Z-order curve through some columns.
pub struct Curve {
    axes: Vec<Axis>,
}

struct Axis {
    converter: RowConverter,
    /// The sample, sorted, each value once, as bytes that sort like the values.
    values: Vec<Box<[u8]>>,
}

impl Curve {
    /// # Errors
    /// `UnsupportedType`.
    pub fn new(sample: &[ArrayRef]) -> Result<Curve> {
        let axis = |column: &ArrayRef| {
            let field = SortField::new_with_options(column.data_type().clone(), ASCENDING);
            let converter = RowConverter::new(vec![field]).map_err(cannot_sort)?;
            let rows = converter.convert_columns(std::slice::from_ref(column)).map_err(cannot_sort)?;
            let mut values: Vec<Box<[u8]>> = rows.iter().map(|row| row.as_ref().into()).collect();
            values.sort_unstable();
            values.dedup();
            Ok(Axis { converter, values })
        };
        Ok(Curve { axes: sample.iter().map(axis).collect::<Result<_>>()? })
    }

    /// Each row's place on the curve, as bytes that sort like it.
    ///
    /// # Errors
    /// `UnsupportedType`.
    pub fn keys(&self, batch: &RecordBatch, columns: &[usize]) -> Result<BinaryArray> {
        let mut ranks: Vec<Vec<u16>> = Vec::with_capacity(self.axes.len());
        for (axis, column) in self.axes.iter().zip(columns) {
            let column = batch.column(*column);
            let rows = axis.converter.convert_columns(std::slice::from_ref(column)).map_err(cannot_sort)?;
            let steps = axis.values.len().max(1) as u64;
            let rank = |row: &[u8]| axis.values.partition_point(|value| value.as_ref() <= row) as u64;
            let scaled = |rank: u64| u16::try_from(rank * u64::from(u16::MAX) / steps).unwrap_or(u16::MAX);
            ranks.push(rows.iter().map(|row| scaled(rank(row.as_ref()))).collect());
        }
        let width = ranks.len() * BITS as usize / 8;
        let mut keys = BinaryBuilder::with_capacity(batch.num_rows(), batch.num_rows() * width);
        let mut key = Vec::with_capacity(width);
        for row in 0..batch.num_rows() {
            key.clear();
            interleave(ranks.iter().map(|of| of[row]), &mut key);
            keys.append_value(&key);
        }
        Ok(keys.finish())
    }
}

/// Bit by bit from the highest one, one column after the other.
fn interleave(ranks: impl Iterator<Item = u16> + Clone, key: &mut Vec<u8>) {
    let (mut byte, mut filled) = (0u8, 0);
    for bit in (0..BITS).rev() {
        for rank in ranks.clone() {
            byte = byte << 1 | (rank >> bit & 1) as u8;
            filled += 1;
            if filled == 8 {
                key.push(byte);
                (byte, filled) = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use deltalake::arrow::array::{AsArray, Int64Array};
    use deltalake::arrow::datatypes::Int64Type;

    use super::*;

    fn grid(side: i64) -> RecordBatch {
        let a = Int64Array::from_iter((0..side * side).map(|i| Some(i * 7 % side)));
        let b = Int64Array::from_iter((0..side * side).map(|i| Some(i * 7 / side % side)));
        RecordBatch::try_from_iter([("a", Arc::new(a) as ArrayRef), ("b", Arc::new(b) as ArrayRef)]).unwrap()
    }

    #[test]
    fn bits_are_interleaved_from_the_top() {
        let mut key = Vec::new();
        interleave([0xFFFF, 0].into_iter(), &mut key);
        assert_eq!(key, [0xAA; 4]);
        key.clear();
        interleave([0x8000, 0x8000].into_iter(), &mut key);
        assert_eq!(key, [0b1100_0000, 0, 0, 0]);
    }

    #[test]
    fn a_quarter_of_the_rows_on_the_curve_is_narrow_in_both_columns() {
        let side = 64;
        let sorted = Sorting::ZOrder(vec![0, 1]).sorted(grid(side)).unwrap();
        let quarter = sorted.slice(0, sorted.num_rows() / 4);
        for column in 0..2 {
            let most = *quarter.column(column).as_primitive::<Int64Type>().values().iter().max().unwrap();
            assert!(most < side * 3 / 4, "column {column} reaches to {most} of {side}");
        }
    }

    #[test]
    fn nulls_come_first_and_the_first_column_leads() {
        let a = Int64Array::from(vec![Some(2), None, Some(1), Some(1)]);
        let b = Int64Array::from(vec![Some(1), Some(9), None, Some(0)]);
        let batch = RecordBatch::try_from_iter([("a", Arc::new(a) as ArrayRef), ("b", Arc::new(b) as ArrayRef)]);
        let sorted = Sorting::Columns(vec![0, 1]).sorted(batch.unwrap()).unwrap();
        let of = |c: usize| sorted.column(c).as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
        assert_eq!(of(0), [None, Some(1), Some(1), Some(2)]);
        assert_eq!(of(1), [Some(9), None, Some(0), Some(1)]);
    }
}
