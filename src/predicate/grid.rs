//! Rows that a person looks at, as a polars frame: filter and sort are
//! expressions, and the answer is the order of the rows.

use ::polars::prelude as pl;
use ::polars::prelude::{IntoLazy, NamedFrom};

use super::Predicate;
use super::polars::{cell, frame_type, resolve};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::table::schema::{Field, PrimitiveType};
use crate::table::{PartitionStats, Value};

/// The row's number, under a name that no table's column has.
const ROW: &str = "\u{1}row";

/// Typed columns of equal length.
pub struct Grid {
    frame: pl::DataFrame,
    columns: Vec<(String, PrimitiveType)>,
    /// The same cells, column by column, for what polars cannot say.
    values: Vec<Vec<Value>>,
}

impl Grid {
    /// # Errors
    /// `Internal` where a value does not have its column's type.
    pub fn new(columns: Vec<(String, PrimitiveType, Vec<Value>)>) -> Result<Grid> {
        let height = columns.first().map_or(0, |(_, _, values)| values.len());
        let mut series = Vec::with_capacity(columns.len() + 1);
        for (name, t, values) in &columns {
            let cells: Vec<pl::AnyValue<'_>> = values.iter().map(cell).collect();
            let column = pl::Series::from_any_values_and_dtype(name.as_str().into(), &cells, &frame_type(t), true)
                .context(ErrorKind::Internal, || format!("column {name} does not fit its frame"))?;
            series.push(pl::Column::from(column));
        }
        series.push(pl::Column::new(ROW.into(), (0..height as u64).collect::<Vec<u64>>()));
        let frame = pl::DataFrame::new(height, series).context(ErrorKind::Internal, || "cannot make a frame".into())?;
        let (columns, values) = columns.into_iter().map(|(name, t, values)| ((name, t), values)).unzip();
        Ok(Grid { frame, columns, values })
    }

    /// One row per partition: the partition columns by their names, then
    /// `rows`, `files`, `bytes`, `last_modified`, `last_version` and
    /// `deletion_vectors` (rows hidden by them). Unknown is NULL. A partition
    /// column of such a name hides the fact.
    ///
    /// # Errors
    /// `Internal` where a value does not have its column's type.
    pub fn partitions(fields: &[&Field], stats: &[PartitionStats]) -> Result<Grid> {
        let mut columns: Vec<(String, PrimitiveType, Vec<Value>)> = Vec::new();
        for (i, field) in fields.iter().enumerate() {
            let t = field.primitive().cloned().ok_or_else(|| {
                Error::new(ErrorKind::BadPartitionColumn, format!("partition column {} is nested", field.name))
            })?;
            let values = stats.iter().map(|s| s.values.0.get(i).cloned().unwrap_or(Value::Null)).collect();
            columns.push((field.name.clone(), t, values));
        }
        type Fact = fn(&PartitionStats) -> Option<i128>;
        let facts: [(&str, Fact); 6] = [
            ("rows", |s| s.rows.exact().map(i128::from)),
            ("files", |s| Some(s.files.into())),
            ("bytes", |s| Some(s.bytes.into())),
            ("last_modified", |s| s.last_modified.map(|ms| i128::from(ms) * 1000)),
            ("last_version", |s| s.last_version.map(i128::from)),
            ("deletion_vectors", |s| Some(s.deleted_rows.into())),
        ];
        for (name, fact) in facts {
            if columns.iter().any(|(n, _, _)| n.eq_ignore_ascii_case(name)) {
                continue;
            }
            let number = |s: &PartitionStats| fact(s).and_then(|n| i64::try_from(n).ok());
            let (t, make): (_, fn(i64) -> Value) = match name {
                "last_modified" => (PrimitiveType::Timestamp, Value::Timestamp),
                _ => (PrimitiveType::Long, Value::Int),
            };
            columns.push((name.into(), t, stats.iter().map(|s| number(s).map_or(Value::Null, make)).collect()));
        }
        Grid::new(columns)
    }

    pub fn columns(&self) -> &[(String, PrimitiveType)] {
        &self.columns
    }

    /// The numbers of the rows for which the filter is true, in the order of
    /// `sort` (column, whether descending), else in their own. NULLs sort first
    /// upwards and last downwards; equal rows keep their order.
    ///
    /// # Errors
    /// `Usage` for an unknown column or values that cannot be compared.
    pub fn rows(&self, filter: Option<&Predicate>, sort: Option<(&str, bool)>) -> Result<Vec<usize>> {
        let failed = || "cannot filter the grid".to_owned();
        let mut lazy = match filter.map(|predicate| (predicate, predicate.to_polars(&self.columns))) {
            None => self.frame.clone().lazy(),
            Some((predicate, lowered)) => match lowered? {
                Some(e) => self.frame.clone().lazy().filter(e),
                None => {
                    let kept = self.frame.filter(&self.evaluated(predicate)?);
                    kept.context(ErrorKind::Internal, failed)?.lazy()
                }
            },
        };
        if let Some((name, descending)) = sort {
            let (name, _) = resolve(&self.columns, name).ok_or_else(|| {
                let names: Vec<&str> = self.columns.iter().map(|(n, _)| n.as_str()).collect();
                Error::new(ErrorKind::Usage, format!("there is no column '{name}' to sort by"))
                    .hint(format!("Columns: {}.", names.join(", ")))
            })?;
            let options = pl::SortMultipleOptions::default()
                .with_order_descending(descending)
                .with_nulls_last(descending)
                .with_maintain_order(true);
            lazy = lazy.sort([name.as_str()], options);
        }
        let rows = lazy.select([pl::col(ROW)]).collect().context(ErrorKind::Internal, failed)?;
        let numbers = rows.column(ROW).and_then(|c| c.u64().cloned()).context(ErrorKind::Internal, failed)?;
        Ok(numbers.into_no_null_iter().map(|n| n as usize).collect())
    }

    /// Row by row, whether the predicate is true.
    fn evaluated(&self, predicate: &Predicate) -> Result<pl::BooleanChunked> {
        let mut keep = Vec::with_capacity(self.frame.height());
        for row in 0..self.frame.height() {
            let lookup = |name: &str| {
                let (found, _) = resolve(&self.columns, name)?;
                let at = self.columns.iter().position(|(n, _)| n == found)?;
                self.values[at].get(row).cloned()
            };
            keep.push(predicate.evaluate(&lookup)? == Some(true));
        }
        Ok(pl::BooleanChunked::new("keep".into(), keep))
    }
}
