//! Reading both sides: every row is narrowed to hashes and dealt into buckets.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use deltalake::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use deltalake::arrow::datatypes::DataType;
use futures::TryStreamExt;
use futures::future::BoxFuture;
use tokio::task::JoinSet;

use super::days::DayCounts;
use super::groups::GroupCounts;
use super::hash;
use super::keys::HashIndex;
use super::roles::Roles;
use super::rows::{BEYOND, DELETION, Payload, Place, Rows};
use super::store::{Dealer, RowStore};
use super::wire::put_value;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::value_at;
use crate::progress::Progress;
use crate::table::{PartitionTuple, Value};

/// Partition tuples, numbered in the order in which they were met.
#[derive(Debug, Default)]
pub struct Partitions {
    tuples: Vec<PartitionTuple>,
    by_tuple: HashMap<PartitionTuple, u32>,
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

    pub fn tuples(&self) -> &[PartitionTuple] {
        &self.tuples
    }
}

/// What is known of one file once its rows were read.
#[derive(Debug, Clone, Default)]
pub struct FileFacts {
    /// Live rows.
    pub rows: u64,
    /// Wrapping sum of the rows' mixed hashes.
    pub sum: u128,
    /// Physical rows, as far as live ones tell.
    pub extent: u64,
}

/// What is known of a side besides its rows.
#[derive(Debug, Default)]
pub struct SideFacts {
    pub files: Vec<FileFacts>,
    /// NULLs per column of the table.
    pub nulls: Vec<u64>,
    pub groups: Vec<GroupCounts>,
    /// Per date column, in the order of the roles.
    pub days: Vec<DayCounts>,
    pub null_partitions: u64,
    pub empty_partitions: u64,
    /// Delivered rows that mean nothing.
    pub excluded: u64,
    /// Source rows for which the predicate of a replace-where is not true.
    pub outside: u64,
    pub outside_examples: Vec<Place>,
}

impl SideFacts {
    fn merge(&mut self, more: SideFacts) {
        self.files.resize(self.files.len().max(more.files.len()), FileFacts::default());
        for (file, more) in self.files.iter_mut().zip(more.files) {
            file.rows += more.rows;
            file.sum = file.sum.wrapping_add(more.sum);
            file.extent = file.extent.max(more.extent);
        }
        self.nulls.resize(self.nulls.len().max(more.nulls.len()), 0);
        self.nulls.iter_mut().zip(more.nulls).for_each(|(all, more)| *all += more);
        if self.groups.is_empty() {
            self.groups = more.groups;
        } else {
            self.groups.iter_mut().zip(more.groups).for_each(|(all, more)| all.merge(more));
        }
        self.days.resize_with(self.days.len().max(more.days.len()), DayCounts::default);
        self.days.iter_mut().zip(more.days).for_each(|(all, more)| all.merge(more, |number| number));
        self.null_partitions += more.null_partitions;
        self.empty_partitions += more.empty_partitions;
        self.excluded += more.excluded;
        self.outside += more.outside;
        self.outside_examples.extend(more.outside_examples);
    }

    /// Delivered rows, with those that mean nothing.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|f| f.rows).sum::<u64>() + self.excluded
    }
}

/// One batch of either side, on its way to rows.
pub struct Batch<'a> {
    pub batch: &'a RecordBatch,
    /// The columns of the table that the batch has, ascending.
    pub columns: &'a [usize],
    /// Columns that are the same in every row, with their cells' hashes.
    pub constants: &'a [(usize, u128, Value)],
    /// The key's columns where they are not the batch's.
    pub keys: Option<&'a [ArrayRef]>,
    pub cells: &'a [ArrayRef],
    pub positions: &'a [u64],
    pub deletions: &'a [bool],
    /// Per row; empty where all are within reach.
    pub beyond: &'a [bool],
    /// Per row, the checks that it breaks; empty where nothing is demanded.
    pub broken: Vec<u64>,
    pub file: usize,
    /// The partition of every row, or where to number them.
    pub partition: PartitionOf<'a>,
    pub grouped: bool,
}

pub enum PartitionOf<'a> {
    File(u32),
    Rows { known: &'a mut HashIndex<u32>, shared: &'a Mutex<Partitions> },
}

/// Narrows a batch and counts what is counted along the way.
///
/// # Errors
/// `UnsupportedType`, `Internal`.
pub fn narrow(roles: &Roles, from: Batch<'_>, facts: &mut SideFacts) -> Result<Rows> {
    let count = from.batch.num_rows();
    let mut rows = Rows { row: vec![0; count], flags: vec![0; count], broken: from.broken, ..Rows::default() };
    let keyed = !roles.key.is_empty();
    let narrow = roles.narrow.as_deref().unwrap_or_default();
    // A column may stand in several equalities of the key.
    let in_key = |column: usize| roles.key.iter().filter(|c| **c == column).count();
    let times = |column: usize| if from.keys.is_none() { in_key(column) } else { 0 };
    let mut partition_hash = vec![0u128; count];
    if keyed {
        rows.key = vec![0; count];
    }
    if roles.narrow.is_some() {
        rows.narrow = vec![0; count];
    }
    if !roles.ignore.is_empty() {
        rows.significant = vec![0; count];
    }
    facts.nulls.resize(roles.columns, 0);
    facts.groups.resize_with(roles.groups.len(), GroupCounts::default);
    let mut cells = vec![0u128; count];
    let add = |sums: &mut [u128], cells: &[u128]| {
        for (sum, cell) in sums.iter_mut().zip(cells) {
            *sum = sum.wrapping_add(*cell);
        }
    };
    for (array, column) in from.batch.columns().iter().zip(from.columns) {
        cells.fill(0);
        hash::add_column(array, hash::column_seed(roles.seed, *column), &mut cells)?;
        add(&mut rows.row, &cells);
        if !roles.ignore.is_empty() && !roles.ignore.contains(column) {
            add(&mut rows.significant, &cells);
        }
        for _ in 0..times(*column) {
            add(&mut rows.key, &cells);
            if narrow.contains(column) {
                add(&mut rows.narrow, &cells);
            }
            mark_nulls(array, roles.null_flags(*column), &mut rows.flags);
        }
        if roles.partition.contains(column) {
            add(&mut partition_hash, &cells);
        }
        facts.nulls[*column] += nulls(array, from.deletions);
        if from.grouped
            && let Some(group) = roles.groups.iter().position(|g| g == column)
        {
            facts.groups[group].add(array, &cells);
        }
    }
    for (column, cell, value) in from.constants {
        let add_all = |sums: &mut [u128]| sums.iter_mut().for_each(|sum| *sum = sum.wrapping_add(*cell));
        add_all(&mut rows.row);
        if !roles.ignore.is_empty() && !roles.ignore.contains(column) {
            add_all(&mut rows.significant);
        }
        for _ in 0..times(*column) {
            add_all(&mut rows.key);
            if narrow.contains(column) {
                add_all(&mut rows.narrow);
            }
            if value.is_null() {
                let flag = roles.null_flags(*column);
                rows.flags.iter_mut().for_each(|flags| *flags |= flag);
            }
        }
    }
    if let Some(keys) = from.keys {
        for (array, column) in keys.iter().zip(&roles.key) {
            cells.fill(0);
            hash::add_column(array, hash::column_seed(roles.seed, *column), &mut cells)?;
            add(&mut rows.key, &cells);
            if narrow.contains(column) {
                add(&mut rows.narrow, &cells);
            }
            mark_nulls(array, roles.null_flags(*column), &mut rows.flags);
        }
    }
    for (flags, deletion) in rows.flags.iter_mut().zip(from.deletions) {
        *flags |= if *deletion { DELETION } else { 0 };
    }
    for (flags, beyond) in rows.flags.iter_mut().zip(from.beyond) {
        *flags |= if *beyond { BEYOND } else { 0 };
    }
    rows.place = from.positions.iter().map(|at| Place::new(from.file, *at)).collect::<Result<_>>()?;
    rows.partition = match from.partition {
        PartitionOf::File(number) => vec![number; count],
        PartitionOf::Rows { known, shared } => {
            let arrays = partition_arrays(from.batch, from.columns, roles)?;
            count_blanks(&arrays, count, facts);
            number_rows(&arrays, &partition_hash, known, shared)
        }
    };
    facts.days.resize_with(roles.days.len(), DayCounts::default);
    for (days, column) in facts.days.iter_mut().zip(&roles.days) {
        if let Some(place) = from.columns.iter().position(|c| c == column) {
            days.add(&rows.partition, from.batch.column(place));
        }
    }
    rows.measures = roles.measure_kinds.clone();
    for (measure, column) in rows.measures.iter_mut().zip(&roles.measures) {
        let place = from.columns.iter().position(|c| c == column);
        measure.extend(from.batch.column(place.ok_or_else(|| missing(*column))?));
    }
    if !from.cells.is_empty() {
        let mut payload = Payload::default();
        for row in 0..count {
            payload.push(|out| from.cells.iter().for_each(|cells| put_value(&value_at(cells.as_ref(), row), out)));
        }
        rows.payload = payload;
    }
    count_file(from.file, from.positions, &rows, facts);
    Ok(rows)
}

/// NULLs of rows that are not there to name a deletion.
fn nulls(array: &ArrayRef, deletions: &[bool]) -> u64 {
    match array.null_count() {
        0 => 0,
        count if deletions.is_empty() => count as u64,
        _ => (0..array.len()).filter(|row| array.is_null(*row) && !deletions[*row]).count() as u64,
    }
}

fn missing(column: usize) -> Error {
    Error::new(ErrorKind::Internal, format!("column {column} was not read"))
}

fn mark_nulls(array: &ArrayRef, flag: u8, flags: &mut [u8]) {
    if array.null_count() > 0 {
        flags.iter_mut().enumerate().filter(|(row, _)| array.is_null(*row)).for_each(|(_, flags)| *flags |= flag);
    }
}

fn count_file(file: usize, positions: &[u64], rows: &Rows, facts: &mut SideFacts) {
    facts.files.resize(facts.files.len().max(file + 1), FileFacts::default());
    let file = &mut facts.files[file];
    file.rows += rows.len() as u64;
    file.sum = rows.row.iter().fold(file.sum, |sum, row| sum.wrapping_add(hash::mix(*row)));
    file.extent = file.extent.max(positions.last().map_or(0, |last| last + 1));
}

/// The arrays of the partition columns.
fn partition_arrays<'a>(batch: &'a RecordBatch, columns: &[usize], roles: &Roles) -> Result<Vec<&'a ArrayRef>> {
    let place = |column: &usize| columns.iter().position(|c| c == column).ok_or_else(|| missing(*column));
    roles.partition.iter().map(|column| Ok(batch.column(place(column)?))).collect()
}

fn count_blanks(arrays: &[&ArrayRef], rows: usize, facts: &mut SideFacts) {
    let texts: Vec<_> = arrays
        .iter()
        .filter(|array| *array.data_type() == DataType::Utf8)
        .map(|array| array.as_string::<i32>())
        .filter(|strings| strings.iter().any(|s| s == Some("")))
        .collect();
    if texts.is_empty() && arrays.iter().all(|array| array.null_count() == 0) {
        return;
    }
    for row in 0..rows {
        let is_null = arrays.iter().any(|array| array.is_null(row));
        let is_empty = texts.iter().any(|s| s.is_valid(row) && s.value(row).is_empty());
        facts.null_partitions += u64::from(is_null);
        facts.empty_partitions += u64::from(!is_null && is_empty);
    }
}

fn number_rows(
    arrays: &[&ArrayRef],
    hashes: &[u128],
    known: &mut HashIndex<u32>,
    shared: &Mutex<Partitions>,
) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(hashes.len());
    let mut last: Option<(u128, u32)> = None;
    for (row, hash) in hashes.iter().enumerate() {
        let number = match last {
            Some((same, number)) if same == *hash => number,
            _ => *known.entry(*hash).or_insert_with(|| {
                let tuple = PartitionTuple(arrays.iter().map(|array| value_at(array.as_ref(), row)).collect());
                shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner).number(&tuple)
            }),
        };
        last = Some((*hash, number));
        numbers.push(number);
    }
    numbers
}

/// A part of a file.
#[derive(Debug, Clone)]
pub struct Part {
    pub file: usize,
    pub rows: Range<u64>,
}

/// What one reader works with.
pub struct Local {
    pub dealer: Dealer,
    pub facts: SideFacts,
    pub known: HashIndex<u32>,
    pub progress: Progress,
}

/// Reads parts of files, a few at the same time; `read` deals one part's rows.
///
/// # Errors
/// Whatever reading gives; `Cancelled`.
pub async fn read_all<F>(store: Arc<RowStore>, parts: Vec<Part>, progress: &Progress, read: F) -> Result<SideFacts>
where
    F: for<'a> Fn(Part, &'a mut Local) -> BoxFuture<'a, Result<()>> + Send + Sync + 'static,
{
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(parts.len()).max(1);
    let (parts, next, read) = (Arc::new(parts), Arc::new(AtomicUsize::new(0)), Arc::new(read));
    // Dropping the set ends the tasks, whatever goes wrong here.
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (parts, next, read) = (parts.clone(), next.clone(), read.clone());
        let mut local = Local {
            dealer: Dealer::new(store.clone()),
            facts: SideFacts::default(),
            known: HashIndex::default(),
            progress: progress.clone(),
        };
        tasks.spawn(async move {
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                read(part.clone(), &mut local).await?;
                local.progress.advance(1, 0, 0);
            }
            local.dealer.finish()?;
            Ok::<SideFacts, Error>(local.facts)
        });
    }
    let mut facts = SideFacts::default();
    while let Some(done) = tasks.join_next().await {
        facts.merge(done.context(ErrorKind::Internal, || "reading a file broke off".into())??);
    }
    Ok(facts)
}

/// Batches of a stream, dealt one by one.
pub async fn each<T>(
    mut batches: futures::stream::BoxStream<'static, Result<T>>,
    progress: &Progress,
    mut take: impl FnMut(T) -> Result<u64>,
) -> Result<()> {
    while let Some(batch) = batches.try_next().await? {
        progress.check()?;
        let rows = take(batch)?;
        progress.advance(0, rows, 0);
    }
    Ok(())
}
