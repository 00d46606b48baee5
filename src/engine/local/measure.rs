//! The values of columns that are summed.

use deltalake::arrow::array::{Array, ArrayRef, AsArray};
use deltalake::arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};

use crate::table::Value;
use crate::table::number::Sum;

/// Decimals of so many digits fit into 64 bits.
const NARROW_DIGITS: u8 = 18;

/// One column's values, row by row; NULL adds nothing to a sum and is 0 here.
#[derive(Debug, Clone)]
pub enum MeasureRows {
    Narrow { scale: u8, values: Vec<i64> },
    Wide { scale: u8, values: Vec<i128> },
    Float(Vec<f64>),
}

impl MeasureRows {
    /// `None` for a type that cannot be summed.
    pub fn for_type(data_type: &DataType) -> Option<MeasureRows> {
        Some(match data_type {
            DataType::Decimal128(precision, scale) => {
                let scale = u8::try_from(*scale).ok()?;
                if *precision <= NARROW_DIGITS {
                    MeasureRows::Narrow { scale, values: Vec::new() }
                } else {
                    MeasureRows::Wide { scale, values: Vec::new() }
                }
            }
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                MeasureRows::Narrow { scale: 0, values: Vec::new() }
            }
            DataType::Float32 | DataType::Float64 => MeasureRows::Float(Vec::new()),
            _ => return None,
        })
    }

    /// The same kind without rows.
    pub fn empty(&self) -> MeasureRows {
        match self {
            MeasureRows::Narrow { scale, .. } => MeasureRows::Narrow { scale: *scale, values: Vec::new() },
            MeasureRows::Wide { scale, .. } => MeasureRows::Wide { scale: *scale, values: Vec::new() },
            MeasureRows::Float(_) => MeasureRows::Float(Vec::new()),
        }
    }

    pub fn zero(&self) -> Sum {
        match self {
            MeasureRows::Narrow { scale, .. } | MeasureRows::Wide { scale, .. } => Sum::exact(*scale),
            MeasureRows::Float(_) => Sum::float(),
        }
    }

    pub fn row(&self, row: usize) -> Sum {
        match self {
            MeasureRows::Narrow { scale, values } => Sum::of(values[row].into(), *scale),
            MeasureRows::Wide { scale, values } => Sum::of(values[row], *scale),
            MeasureRows::Float(values) => Sum::Float { sum: values[row], compensation: 0.0 },
        }
    }

    /// A computed value of the same column; NULL is 0.
    pub fn of_value(&self, value: &Value) -> Sum {
        match (self, value) {
            (_, Value::Int(i)) => match self {
                MeasureRows::Float(_) => Sum::Float { sum: *i as f64, compensation: 0.0 },
                MeasureRows::Narrow { scale, .. } | MeasureRows::Wide { scale, .. } => Sum::of((*i).into(), *scale),
            },
            (_, Value::Decimal { unscaled, scale }) => Sum::of(*unscaled, *scale),
            (_, Value::Float(x)) => Sum::Float { sum: f64::from(*x), compensation: 0.0 },
            (_, Value::Double(x)) => Sum::Float { sum: *x, compensation: 0.0 },
            _ => self.zero(),
        }
    }

    pub fn append(&mut self, more: &MeasureRows) {
        match (self, more) {
            (MeasureRows::Narrow { values, .. }, MeasureRows::Narrow { values: more, .. }) => values.extend(more),
            (MeasureRows::Wide { values, .. }, MeasureRows::Wide { values: more, .. }) => values.extend(more),
            (MeasureRows::Float(values), MeasureRows::Float(more)) => values.extend(more),
            // One column has one type in all files.
            _ => {}
        }
    }

    pub fn take(&mut self, from: &MeasureRows, picks: &[u32]) {
        match (self, from) {
            (MeasureRows::Narrow { values, .. }, MeasureRows::Narrow { values: from, .. }) => {
                values.extend(picks.iter().map(|i| from[*i as usize]));
            }
            (MeasureRows::Wide { values, .. }, MeasureRows::Wide { values: from, .. }) => {
                values.extend(picks.iter().map(|i| from[*i as usize]));
            }
            (MeasureRows::Float(values), MeasureRows::Float(from)) => {
                values.extend(picks.iter().map(|i| from[*i as usize]));
            }
            _ => {}
        }
    }

    pub fn extend(&mut self, array: &ArrayRef) {
        macro_rules! push {
            ($values:expr, $t:ty, $to:ty) => {
                $values.extend(array.as_primitive::<$t>().iter().map(|v| <$to>::from(v.unwrap_or_default())))
            };
        }
        match self {
            MeasureRows::Narrow { values, .. } => match array.data_type() {
                DataType::Int8 => push!(values, Int8Type, i64),
                DataType::Int16 => push!(values, Int16Type, i64),
                DataType::Int32 => push!(values, Int32Type, i64),
                DataType::Int64 => push!(values, Int64Type, i64),
                // At most 18 digits, so nothing is cut off.
                _ => values.extend(array.as_primitive::<Decimal128Type>().iter().map(|v| v.unwrap_or_default() as i64)),
            },
            MeasureRows::Wide { values, .. } => push!(values, Decimal128Type, i128),
            MeasureRows::Float(values) => match array.data_type() {
                DataType::Float32 => push!(values, Float32Type, f64),
                _ => push!(values, Float64Type, f64),
            },
        }
    }
}
