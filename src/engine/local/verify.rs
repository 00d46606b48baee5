//! Reading new data files back: rows and checksums, from the files themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;

use super::hash;
use super::measure::MeasureRows;
use crate::engine::{RowSet, Staged};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::data::{DataReader, TableLayout, arrow_type};
use crate::lake::log::deletion_vectors::readable;
use crate::progress::Progress;
use crate::table::number::Sum;
use crate::table::{DataFile, PartitionTuple};

/// What the files of one commit hold, as read back.
#[derive(Debug, Default)]
pub struct ReadBack {
    pub partitions: BTreeMap<PartitionTuple, RowSet>,
    pub columns: Vec<u128>,
}

/// A measure over some rows; NULL adds nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Total {
    pub sum: Sum,
    /// Of the absolute values, which bounds the rounding of a float sum.
    pub absolute: f64,
}

impl Total {
    /// The same measure over no rows.
    pub fn zero(self) -> Total {
        let sum = match self.sum {
            Sum::Exact { scale, .. } => Sum::exact(scale),
            Sum::Float { .. } => Sum::float(),
        };
        Total { sum, absolute: 0.0 }
    }
}

/// Per partition, the measures in the order in which they were asked for.
pub type Measured = BTreeMap<PartitionTuple, Vec<Total>>;

/// Sums columns over the live rows of some files.
///
/// # Errors
/// `BadDataFile`, `MissingFiles`, `Storage`; `BadPlan` for a column that the
/// table does not have or that cannot be summed.
pub async fn measured(snapshot: &Snapshot, files: &[&DataFile], names: &[String]) -> Result<Measured> {
    let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
    let bad = |name: &String| {
        Error::new(ErrorKind::BadPlan, format!("the plan sums {name}, which is no column of numbers of the table"))
            .hint("Make a new plan.")
    };
    let mut columns = Vec::with_capacity(names.len());
    let mut kinds = Vec::with_capacity(names.len());
    for name in names {
        let column = layout.schema.index_of(name).ok_or_else(|| bad(name))?;
        let data_type = arrow_type(&layout.schema.fields[column].data_type);
        kinds.push(MeasureRows::for_type(&data_type).ok_or_else(|| bad(name))?);
        columns.push(column);
    }
    let mut measured = Measured::new();
    let reader = DataReader::new(layout);
    for file in files {
        let none = || kinds.iter().map(|kind| Total { sum: kind.zero(), absolute: 0.0 }).collect();
        let totals = measured.entry(file.partition.clone()).or_insert_with(none);
        let mut batches = reader.read(&readable(snapshot.store(), file).await?, &columns, None).await?;
        while let Some(live) = batches.try_next().await? {
            for ((total, kind), column) in totals.iter_mut().zip(&kinds).zip(live.batch.columns()) {
                let mut rows = kind.empty();
                rows.extend(column);
                for row in 0..live.batch.num_rows() {
                    let value = rows.row(row);
                    total.sum.add(value);
                    total.absolute += value.as_f64().abs();
                }
            }
        }
    }
    Ok(measured)
}

/// # Errors
/// `BadDataFile`, `MissingFiles`, `Storage`.
pub async fn read_back(snapshot: &Snapshot, files: &[&DataFile], seed: u64, progress: &Progress) -> Result<ReadBack> {
    let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
    let all: Vec<usize> = (0..layout.schema.fields.len()).collect();
    let mut back = ReadBack { columns: vec![0; all.len()], ..ReadBack::default() };
    let reader = DataReader::new(layout);
    for file in files {
        let mut batches = reader.read(&readable(snapshot.store(), file).await?, &all, None).await?;
        let set = back.partitions.entry(file.partition.clone()).or_default();
        while let Some(live) = batches.try_next().await? {
            for mixed in hash::row_sets(&live.batch, seed, &mut back.columns)? {
                set.add(mixed);
            }
            progress.advance(0, live.batch.num_rows() as u64, 0);
        }
        progress.advance(1, 0, file.size);
    }
    Ok(back)
}

impl ReadBack {
    /// Differences from what was staged, in words.
    pub fn differences(&self, staged: &Staged, partition_columns: &[String], names: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let tuples: std::collections::BTreeSet<_> = self.partitions.keys().chain(staged.partitions.keys()).collect();
        for tuple in tuples {
            let (want, have) = (
                staged.partitions.get(tuple).copied().unwrap_or_default(),
                self.partitions.get(tuple).copied().unwrap_or_default(),
            );
            if want.rows != have.rows {
                found.push(format!(
                    "{}: {} rows were staged, {} are there",
                    tuple.label(partition_columns),
                    want.rows,
                    have.rows
                ));
            } else if want != have {
                found.push(format!("{}: the rows differ from those that were staged", tuple.label(partition_columns)));
            }
        }
        for ((name, want), have) in names.iter().zip(&staged.columns).zip(&self.columns) {
            if want != have {
                found.push(format!("column {name}: its checksum differs from what was staged"));
            }
        }
        found
    }
}
