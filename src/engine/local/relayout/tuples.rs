//! Which new partition each row belongs to.

use std::sync::{Mutex, PoisonError};

use deltalake::arrow::array::{ArrayRef, RecordBatch};

use super::super::hash;
use super::super::keys::HashIndex;
use super::super::scan::Partitions;
use super::read::Reading;
use crate::error::{Error, ErrorKind, Result};
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
    /// For each partition column where its values are.
    places: Vec<Place>,
}

#[derive(Clone, Copy)]
enum Place {
    /// Among the columns that are read.
    Read(usize),
    /// Among the added ones.
    Added(usize),
}

impl TupleColumns {
    pub fn new(reading: &Reading) -> TupleColumns {
        let indexes = reading.target.partition_indexes();
        let own = reading.columns.len();
        let mut read: Vec<usize> = indexes.iter().copied().filter(|column| *column < own).collect();
        if indexes.iter().any(|column| *column >= own) {
            read.extend(reading.job.added.iter().flat_map(|bound| bound.columns().iter().map(|(_, c)| *c)));
        }
        read.sort_unstable();
        read.dedup();
        let place = |column: &usize| match read.iter().position(|c| c == column) {
            Some(at) => Place::Read(at),
            None => Place::Added(column.saturating_sub(own)),
        };
        let places = indexes.iter().map(place).collect();
        TupleColumns { read, places }
    }

    /// From rows of the columns in `read`.
    ///
    /// # Errors
    /// As [`Reading::added`].
    pub fn of_narrow(&self, reading: &Reading, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let added = match self.places.iter().any(|place| matches!(place, Place::Added(_))) {
            true => reading.added(batch, &self.read)?,
            false => Vec::new(),
        };
        let column = |place: &Place| match *place {
            Place::Read(at) => Ok(batch.column(at).clone()),
            Place::Added(at) => added
                .get(at)
                .cloned()
                .ok_or_else(|| Error::new(ErrorKind::Internal, "a partition column has no values")),
        };
        self.places.iter().map(column).collect()
    }
}

/// From whole new rows.
pub fn of_wide(reading: &Reading, batch: &RecordBatch) -> Vec<ArrayRef> {
    reading.target.partition_indexes().iter().map(|column| batch.column(*column).clone()).collect()
}
