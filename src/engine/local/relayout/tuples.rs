//! Which new partition each row belongs to.

use std::sync::{Mutex, PoisonError};

use deltalake::arrow::array::{ArrayRef, RecordBatch};

use super::super::hash;
use super::super::keys::HashIndex;
use super::super::scan::Partitions;
use super::read::Reading;
use crate::error::Result;
use crate::lake::data::value_at;
use crate::table::PartitionTuple;

/// Numbers the partitions of all tasks.
pub struct Tuples {
    partitions: Mutex<Partitions>,
    seed: u64,
}

impl Tuples {
    pub fn new(seed: u64) -> Tuples {
        Tuples { partitions: Mutex::new(Partitions::default()), seed }
    }

    /// Numbers those first that are known, in their order.
    pub fn known<'a>(seed: u64, tuples: impl Iterator<Item = &'a PartitionTuple>) -> Tuples {
        let mut partitions = Partitions::default();
        tuples.for_each(|tuple| {
            partitions.number(tuple);
        });
        Tuples { partitions: Mutex::new(partitions), seed }
    }

    pub fn all(self) -> Vec<PartitionTuple> {
        self.partitions.into_inner().unwrap_or_else(PoisonError::into_inner).tuples().to_vec()
    }

    /// The number of each row's partition; `seen` is the task's own memory of
    /// the tuples that it met.
    ///
    /// # Errors
    /// `UnsupportedType`.
    pub fn numbers(&self, columns: &[ArrayRef], rows: usize, seen: &mut HashIndex<u32>) -> Result<Vec<u32>> {
        let mut hashes = vec![0u128; rows];
        for (place, column) in columns.iter().enumerate() {
            hash::add_column(column, hash::column_seed(self.seed, place), &mut hashes)?;
        }
        let number = |row: usize| {
            let tuple = PartitionTuple(columns.iter().map(|column| value_at(column.as_ref(), row)).collect());
            self.partitions.lock().unwrap_or_else(PoisonError::into_inner).number(&tuple)
        };
        Ok(hashes.iter().enumerate().map(|(row, hash)| *seen.entry(*hash).or_insert_with(|| number(row))).collect())
    }
}

/// The columns that the new partition values come from.
pub struct TupleColumns {
    /// Columns of the table that have to be read, by their index.
    pub read: Vec<usize>,
    /// For each partition column its place among `read`; `None`: the added one.
    places: Vec<Option<usize>>,
}

impl TupleColumns {
    pub fn new(reading: &Reading) -> TupleColumns {
        let indexes = reading.target.partition_indexes();
        let is_file_column = |column: &usize| *column < reading.columns.len();
        let mut read: Vec<usize> = indexes.iter().copied().filter(is_file_column).collect();
        if indexes.iter().any(|column| !is_file_column(column)) {
            read.extend(reading.job.added.iter().flat_map(|bound| bound.columns().iter().map(|(_, c)| *c)));
        }
        read.sort_unstable();
        read.dedup();
        let places = indexes.iter().map(|column| read.iter().position(|c| c == column)).collect();
        TupleColumns { read, places }
    }

    /// From rows of the columns in `read`.
    ///
    /// # Errors
    /// As [`Reading::added`].
    pub fn of_narrow(&self, reading: &Reading, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let added = match self.places.iter().any(Option::is_none) {
            true => reading.added(batch, &self.read)?,
            false => None,
        };
        let column = |place: &Option<usize>| match place {
            Some(place) => Some(batch.column(*place).clone()),
            None => added.clone(),
        };
        Ok(self.places.iter().filter_map(column).collect())
    }
}

/// From whole new rows.
pub fn of_wide(reading: &Reading, batch: &RecordBatch) -> Vec<ArrayRef> {
    reading.target.partition_indexes().iter().map(|column| batch.column(*column).clone()).collect()
}
