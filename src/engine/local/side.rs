//! One side of a comparison, narrowed to hashes: what was delivered, or the
//! reachable rows of the table.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use deltalake::arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use super::hash;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::{LiveBatch, value_at};
use crate::progress::Progress;
use crate::table::PartitionTuple;
use crate::table::number::Sum;

/// More distinct values than this are no group of rows.
const MAX_GROUP_VALUES: usize = 10_000;

/// Which columns play which part, as indexes of the table's schema.
#[derive(Debug, Clone, Default)]
pub struct Roles {
    pub columns: usize,
    pub key: Vec<usize>,
    pub partition: Vec<usize>,
    pub ignore: Vec<usize>,
    pub measures: Vec<usize>,
    /// Columns whose values are counted for the vanished-group gate.
    pub groups: Vec<usize>,
    pub seed: u64,
}

/// Partition tuples, numbered in the order in which they were met.
#[derive(Debug, Default)]
pub struct Partitions {
    pub tuples: Vec<PartitionTuple>,
    by_tuple: HashMap<PartitionTuple, u32>,
    by_hash: HashMap<u128, u32>,
}

impl Partitions {
    pub fn number(&mut self, tuple: &PartitionTuple) -> u32 {
        if let Some(number) = self.by_tuple.get(tuple) {
            return *number;
        }
        let number = self.tuples.len() as u32;
        self.tuples.push(tuple.clone());
        self.by_tuple.insert(tuple.clone(), number);
        number
    }

    /// Numbers each row of a batch by its partition columns' values.
    pub fn number_rows(&mut self, batch: &RecordBatch, columns: &[usize], seed: u64) -> Result<Vec<u32>> {
        if columns.is_empty() {
            let number = self.number(&PartitionTuple::default());
            return Ok(vec![number; batch.num_rows()]);
        }
        let mut hashes = vec![0u128; batch.num_rows()];
        for column in columns {
            hash::add_column(batch.column(*column), hash::column_seed(seed, *column), &mut hashes)?;
        }
        let mut numbers = Vec::with_capacity(hashes.len());
        for (row, hash) in hashes.into_iter().enumerate() {
            let number = match self.by_hash.get(&hash) {
                Some(number) => *number,
                None => {
                    let values = columns.iter().map(|c| value_at(batch.column(*c).as_ref(), row)).collect();
                    let number = self.number(&PartitionTuple(values));
                    self.by_hash.insert(hash, number);
                    number
                }
            };
            numbers.push(number);
        }
        Ok(numbers)
    }
}

/// Rows of one column that is summed.
#[derive(Debug, Clone)]
pub enum MeasureRows {
    Exact { scale: u8, values: Vec<i128> },
    Float(Vec<f64>),
}

impl MeasureRows {
    pub fn for_type(data_type: &DataType) -> Option<MeasureRows> {
        match data_type {
            DataType::Decimal128(_, scale) => {
                Some(MeasureRows::Exact { scale: u8::try_from(*scale).ok()?, values: Vec::new() })
            }
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                Some(MeasureRows::Exact { scale: 0, values: Vec::new() })
            }
            DataType::Float32 | DataType::Float64 => Some(MeasureRows::Float(Vec::new())),
            _ => None,
        }
    }

    pub fn zero(&self) -> Sum {
        match self {
            MeasureRows::Exact { scale, .. } => Sum::exact(*scale),
            MeasureRows::Float(_) => Sum::float(),
        }
    }

    pub fn row(&self, row: usize) -> Sum {
        match self {
            MeasureRows::Exact { scale, values } => Sum::Exact { unscaled: values[row], scale: *scale },
            MeasureRows::Float(values) => Sum::Float { sum: values[row], compensation: 0.0 },
        }
    }

    fn append(&mut self, more: MeasureRows) {
        match (self, more) {
            (MeasureRows::Exact { values, .. }, MeasureRows::Exact { values: more, .. }) => values.extend(more),
            (MeasureRows::Float(values), MeasureRows::Float(more)) => values.extend(more),
            // One column has one type in all files.
            _ => {}
        }
    }

    /// NULL adds nothing to a sum.
    fn extend(&mut self, array: &ArrayRef) {
        macro_rules! push {
            ($values:expr, $t:ty, $to:ty) => {
                $values.extend(array.as_primitive::<$t>().iter().map(|v| <$to>::from(v.unwrap_or_default())))
            };
        }
        match self {
            MeasureRows::Exact { values, .. } => match array.data_type() {
                DataType::Int8 => push!(values, Int8Type, i128),
                DataType::Int16 => push!(values, Int16Type, i128),
                DataType::Int32 => push!(values, Int32Type, i128),
                DataType::Int64 => push!(values, Int64Type, i128),
                _ => push!(values, Decimal128Type, i128),
            },
            MeasureRows::Float(values) => match array.data_type() {
                DataType::Float32 => push!(values, Float32Type, f64),
                _ => push!(values, Float64Type, f64),
            },
        }
    }
}

/// Counts of the values of one column.
#[derive(Debug, Clone, Default)]
pub struct GroupCounts {
    /// cell hash → (text, rows)
    pub values: HashMap<u128, (String, u64)>,
    pub overflow: bool,
}

impl GroupCounts {
    fn add(&mut self, array: &ArrayRef, seed: u64) -> Result<()> {
        if self.overflow {
            return Ok(());
        }
        let mut cells = vec![0u128; array.len()];
        hash::add_column(array, seed, &mut cells)?;
        for (row, cell) in cells.into_iter().enumerate() {
            let entry = self.values.entry(cell).or_insert_with(|| (value_at(array.as_ref(), row).to_string(), 0));
            entry.1 += 1;
        }
        self.cap();
        Ok(())
    }

    fn merge(&mut self, more: GroupCounts) {
        self.overflow |= more.overflow;
        for (cell, (text, rows)) in more.values {
            self.values.entry(cell).or_insert((text, 0)).1 += rows;
        }
        self.cap();
    }

    fn cap(&mut self) {
        if self.overflow || self.values.len() > MAX_GROUP_VALUES {
            *self = GroupCounts { overflow: true, ..GroupCounts::default() };
        }
    }
}

/// A file's rows within a side.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// The rows of one side in the order of its files; all vectors run in parallel.
#[derive(Debug, Default)]
pub struct Side {
    pub key: Vec<u128>,
    pub null_key: Vec<bool>,
    /// Hash of all columns.
    pub row: Vec<u128>,
    /// Hash of all columns that are not ignored; empty where none is ignored.
    pub significant: Vec<u128>,
    pub partition: Vec<u32>,
    /// Physical row number within the file.
    pub position: Vec<u64>,
    pub measures: Vec<MeasureRows>,
    pub groups: Vec<GroupCounts>,
    /// One span a file, in the order of the files that were read.
    pub files: Vec<Span>,
    pub null_partitions: u64,
    pub empty_partitions: u64,
    pub nulls: Vec<u64>,
}

impl Side {
    pub fn len(&self) -> usize {
        self.row.len()
    }

    pub fn significant(&self, row: usize) -> u128 {
        if self.significant.is_empty() { self.row[row] } else { self.significant[row] }
    }

    /// The file that a row is in, and its physical position there.
    pub fn place(&self, row: usize) -> (usize, u64) {
        (self.files.partition_point(|span| span.end <= row), self.position[row])
    }

    /// Reads files of full-width batches in the table's types, a few at the same
    /// time; `open` gives the batches of file `i`. Rows keep the files' order;
    /// the values of group columns are counted in the first `grouped` files.
    ///
    /// # Errors
    /// Whatever reading gives; `Cancelled`.
    pub async fn read<F, S>(
        files: usize,
        grouped: usize,
        roles: &Arc<Roles>,
        partitions: &mut Partitions,
        progress: &Progress,
        open: F,
    ) -> Result<Side>
    where
        F: Fn(usize) -> S,
        S: Future<Output = Result<BoxStream<'static, Result<LiveBatch>>>> + Send + 'static,
    {
        let mut side = Side::default();
        let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let ungrouped = Arc::new(Roles { groups: Vec::new(), ..Roles::clone(roles) });
        let mut reads = stream::iter((0..files).map(|file| {
            let roles = if file < grouped { roles } else { &ungrouped };
            let part = Self::read_file(roles.clone(), progress.clone(), open(file));
            // Dropping the join handle would leave the task running after an error.
            tokio_util::task::AbortOnDropHandle::new(tokio::spawn(part))
        }))
        .buffered(at_once);
        while let Some(part) = reads.next().await {
            let (part, numbering) = part.context(ErrorKind::Internal, || "reading a file broke off".into())??;
            side.absorb(part, &numbering, partitions);
            side.check_size()?;
        }
        Ok(side)
    }

    /// Rows are numbered in 32 bits.
    fn check_size(&self) -> Result<()> {
        if u32::try_from(self.len()).is_ok_and(|rows| rows < u32::MAX) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::BadSource, "more than 4,294,967,294 rows are within reach")
            .hint("Deliver the slice in several parts."))
    }

    async fn read_file<S>(roles: Arc<Roles>, progress: Progress, open: S) -> Result<(Side, Partitions)>
    where
        S: Future<Output = Result<BoxStream<'static, Result<LiveBatch>>>>,
    {
        let (mut side, mut partitions) = (Side::default(), Partitions::default());
        let mut batches = open.await?;
        while let Some(live) = batches.try_next().await? {
            progress.check()?;
            side.append(&live, &roles, &mut partitions)?;
            progress.advance(0, live.batch.num_rows() as u64, 0);
        }
        progress.advance(1, 0, 0);
        Ok((side, partitions))
    }

    /// Appends one file's rows, whose partitions were numbered by themselves.
    fn absorb(&mut self, part: Side, numbering: &Partitions, partitions: &mut Partitions) {
        let start = self.len();
        let numbers: Vec<u32> = numbering.tuples.iter().map(|tuple| partitions.number(tuple)).collect();
        self.key.extend(part.key);
        self.null_key.extend(part.null_key);
        self.row.extend(part.row);
        self.significant.extend(part.significant);
        self.partition.extend(part.partition.into_iter().map(|number| numbers[number as usize]));
        self.position.extend(part.position);
        if self.measures.is_empty() {
            self.measures = part.measures;
        } else {
            self.measures.iter_mut().zip(part.measures).for_each(|(all, more)| all.append(more));
        }
        if self.groups.is_empty() {
            self.groups = part.groups;
        } else {
            self.groups.iter_mut().zip(part.groups).for_each(|(all, more)| all.merge(more));
        }
        if self.nulls.is_empty() {
            self.nulls = part.nulls;
        } else {
            self.nulls.iter_mut().zip(part.nulls).for_each(|(all, more)| *all += more);
        }
        self.null_partitions += part.null_partitions;
        self.empty_partitions += part.empty_partitions;
        self.files.push(Span { start, end: self.len() });
    }

    fn append(&mut self, live: &LiveBatch, roles: &Roles, partitions: &mut Partitions) -> Result<()> {
        let (batch, rows) = (&live.batch, live.batch.num_rows());
        if batch.num_columns() != roles.columns {
            return Err(Error::new(ErrorKind::Internal, "a batch does not have the table's columns"));
        }
        let start = self.len();
        self.row.resize(start + rows, 0);
        if !roles.ignore.is_empty() {
            self.significant.resize(start + rows, 0);
        }
        self.nulls.resize(roles.columns, 0);
        let mut cells = vec![0u128; rows];
        for (index, array) in batch.columns().iter().enumerate() {
            cells.fill(0);
            hash::add_column(array, hash::column_seed(roles.seed, index), &mut cells)?;
            for (row, cell) in self.row[start..].iter_mut().zip(&cells) {
                *row = row.wrapping_add(*cell);
            }
            if !roles.ignore.is_empty() && !roles.ignore.contains(&index) {
                for (row, cell) in self.significant[start..].iter_mut().zip(&cells) {
                    *row = row.wrapping_add(*cell);
                }
            }
            self.nulls[index] += array.null_count() as u64;
        }
        let (key, null_key) = keys(batch, &roles.key, roles.seed)?;
        self.key.extend(key);
        self.null_key.extend(null_key);
        self.partition.extend(partitions.number_rows(batch, &roles.partition, roles.seed)?);
        self.position.extend(&live.positions);
        self.count_blank_partitions(batch, &roles.partition);
        if self.measures.is_empty() {
            self.measures =
                roles.measures.iter().filter_map(|c| MeasureRows::for_type(batch.column(*c).data_type())).collect();
        }
        for (measure, column) in self.measures.iter_mut().zip(&roles.measures) {
            measure.extend(batch.column(*column));
        }
        self.groups.resize_with(roles.groups.len(), GroupCounts::default);
        for (group, column) in self.groups.iter_mut().zip(&roles.groups) {
            group.add(batch.column(*column), hash::column_seed(roles.seed, *column))?;
        }
        Ok(())
    }

    fn count_blank_partitions(&mut self, batch: &RecordBatch, columns: &[usize]) {
        for row in 0..batch.num_rows() {
            let is_null = columns.iter().any(|c| batch.column(*c).is_null(row));
            let is_empty = columns.iter().any(|c| {
                let array = batch.column(*c);
                array.as_string_opt::<i32>().is_some_and(|s| s.is_valid(row) && s.value(row).is_empty())
            });
            self.null_partitions += u64::from(is_null);
            self.empty_partitions += u64::from(!is_null && is_empty);
        }
    }
}

/// Key hashes of a batch, and which keys hold a NULL.
pub fn keys(batch: &RecordBatch, columns: &[usize], seed: u64) -> Result<(Vec<u128>, Vec<bool>)> {
    let mut hashes = vec![0u128; batch.num_rows()];
    let mut nulls = vec![false; batch.num_rows()];
    for column in columns {
        let array = batch.column(*column);
        hash::add_column(array, hash::column_seed(seed, *column), &mut hashes)?;
        if array.null_count() > 0 {
            for (row, null) in nulls.iter_mut().enumerate() {
                *null |= array.is_null(row);
            }
        }
    }
    Ok((hashes, nulls))
}
