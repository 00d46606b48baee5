//! Keys of one side, counted by their hashes: the table at its pinned version,
//! or what was delivered.
//!
//! Memory is bounded. A [`KeyCounter`] keeps at most a given number of keys;
//! when more come, it keeps one key of two, of four, of eight, chosen by bits
//! of the key's hash. What it says of the keys that it kept is exact then, and
//! a number for all keys is an estimate that is marked as one.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use deltalake::arrow::array::{Array, BooleanArray, RecordBatch};
use deltalake::arrow::compute::filter_record_batch;
use futures::{StreamExt, TryStreamExt, stream};

use super::hash;
use crate::error::{Context, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::data::{DataReader, ReadFile, TableLayout, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::predicate::Predicate;
use crate::progress::{Phase, Progress};
use crate::source::Source;
use crate::table::{PartitionTuple, Schema, Value};

/// Keys that a counter keeps by default. A hash table of 2^22 places holds so
/// many without growing: 140 MB.
pub const MOST_KEYS: usize = 3_500_000;
/// Any seed does: nobody compares these hashes with those of a plan.
const SEED: u64 = 0x6B65_7973;

/// One side, ready to be read several times.
#[derive(Clone)]
pub struct KeySide {
    layout: Arc<TableLayout>,
    files: Arc<Vec<ReadFile>>,
}

/// Rows of one batch, filtered.
pub struct Scanned<'a> {
    /// The columns that were asked for, in that order.
    pub batch: RecordBatch,
    /// Index of the file, and each row's number in it.
    pub file: usize,
    pub positions: Vec<u64>,
    pub partition: &'a PartitionTuple,
}

/// Whether a scan goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    On,
    NextFile,
    Stop,
}

/// Where a row is: its file's index and its number in it.
pub type Place = (usize, u64);

impl KeySide {
    /// # Errors
    /// `UnsupportedReader` where the table's rows cannot be read, and whatever
    /// is wrong with its log.
    pub async fn of_table(snapshot: &Snapshot) -> Result<KeySide> {
        snapshot.protocol().check_rows()?;
        let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
        let mut files = snapshot.files(false).await?;
        files.sort_by(|a, b| (&a.partition, &a.path).cmp(&(&b.partition, &b.path)));
        let files: Vec<ReadFile> = stream::iter(files)
            .map(|file| {
                let store = snapshot.store().clone();
                async move { readable(&store, &file).await }
            })
            .buffered(16)
            .try_collect()
            .await?;
        Ok(KeySide { layout, files: Arc::new(files) })
    }

    pub fn of_source(source: &Source) -> KeySide {
        KeySide { layout: Arc::clone(&source.layout), files: Arc::clone(&source.files) }
    }

    pub fn schema(&self) -> &Schema {
        &self.layout.schema
    }

    pub fn partition_columns(&self) -> &[String] {
        &self.layout.partition_columns
    }

    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Live rows for which `filter` is true, file by file. `columns` are
    /// indexes of the schema; the filter's columns are read beside them.
    ///
    /// # Errors
    /// `Usage` for a filter that does not fit the schema; whatever reading and
    /// `visit` give.
    pub async fn scan(
        &self,
        columns: &[usize],
        filter: Option<&Predicate>,
        progress: &Progress,
        visit: &mut (dyn FnMut(Scanned<'_>) -> Result<Go> + Send),
    ) -> Result<()> {
        let filter = filter.map(|predicate| RowFilter::new(predicate, &self.layout)).transpose()?;
        let mut wanted = columns.to_vec();
        wanted.extend(filter.iter().flat_map(|f| &f.columns).filter(|c| !columns.contains(c)));
        let reader = DataReader::new(Arc::clone(&self.layout));
        progress.enter(Phase::Reading, self.files.len() as u64, self.files.iter().map(|f| f.size).sum());
        for (index, file) in self.files.iter().enumerate() {
            progress.check()?;
            if filter.as_ref().map(|f| f.skips(file)).transpose()? == Some(true) {
                progress.advance(1, 0, file.size);
                continue;
            }
            let mut batches = reader.read(file, &wanted, None).await?;
            while let Some(live) = batches.try_next().await? {
                progress.check()?;
                let (batch, positions) = match &filter {
                    Some(filter) => filter.keep(&live.batch, live.positions, &wanted)?,
                    None => (live.batch, live.positions),
                };
                let shown: Vec<usize> = (0..columns.len()).collect();
                let batch = batch
                    .project(&shown)
                    .context(ErrorKind::Internal, || "columns that were read are not there".into())?;
                progress.advance(0, positions.len() as u64, 0);
                match visit(Scanned { batch, file: index, positions, partition: &file.partition })? {
                    Go::On => {}
                    Go::NextFile => break,
                    Go::Stop => return Ok(()),
                }
            }
            progress.advance(1, 0, file.size);
        }
        Ok(())
    }

    /// Whole rows by their places, in the order of the places.
    ///
    /// # Errors
    /// Whatever reading gives.
    pub async fn rows_at(&self, places: &[Place]) -> Result<Vec<Vec<Value>>> {
        let all: Vec<usize> = (0..self.layout.schema.fields.len()).collect();
        let reader = DataReader::new(Arc::clone(&self.layout));
        let mut of_file: HashMap<usize, Vec<u64>> = HashMap::new();
        for (file, position) in places {
            of_file.entry(*file).or_default().push(*position);
        }
        let mut found: HashMap<Place, Vec<Value>> = HashMap::new();
        for (file, mut positions) in of_file {
            positions.sort_unstable();
            positions.dedup();
            let mut batches = reader.read(&self.files[file], &all, Some(&positions)).await?;
            while let Some(live) = batches.try_next().await? {
                for (row, position) in live.positions.iter().enumerate() {
                    let values = live.batch.columns().iter().map(|c| value_at(c.as_ref(), row)).collect();
                    found.insert((file, *position), values);
                }
            }
        }
        Ok(places.iter().filter_map(|place| found.get(place).cloned()).collect())
    }
}

/// A predicate over some columns of a side.
struct RowFilter<'a> {
    predicate: &'a Predicate,
    layout: &'a TableLayout,
    columns: Vec<usize>,
    by_partition: bool,
}

impl<'a> RowFilter<'a> {
    fn new(predicate: &'a Predicate, layout: &'a TableLayout) -> Result<Self> {
        let index = |name: &String| {
            let schema = &layout.schema;
            schema.find(name).and_then(|f| schema.index_of(&f.name)).ok_or_else(|| {
                let names: Vec<&str> = schema.names().collect();
                crate::error::Error::new(ErrorKind::Usage, format!("there is no column {name} to filter by"))
                    .hint(format!("There is {}.", names.join(", ")))
            })
        };
        let columns = predicate.columns().iter().map(index).collect::<Result<Vec<_>>>()?;
        let by_partition = columns.iter().all(|c| layout.partition_indexes().contains(c));
        Ok(RowFilter { predicate, layout, columns, by_partition })
    }

    /// Whether no row of a file can be kept.
    fn skips(&self, file: &ReadFile) -> Result<bool> {
        if !self.by_partition {
            return Ok(false);
        }
        let columns = &self.layout.partition_columns;
        let value = |name: &str| {
            let at = columns.iter().position(|c| c.eq_ignore_ascii_case(name))?;
            file.partition.0.get(at).cloned()
        };
        Ok(self.predicate.evaluate(&value)? != Some(true))
    }

    /// `wanted`: the schema's indexes of the batch's columns.
    fn keep(&self, batch: &RecordBatch, positions: Vec<u64>, wanted: &[usize]) -> Result<(RecordBatch, Vec<u64>)> {
        if self.by_partition {
            return Ok((batch.clone(), positions));
        }
        let mut mask = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let value = |name: &str| {
                let field = self.layout.schema.find(name)?;
                let column = self.layout.schema.index_of(&field.name)?;
                let at = wanted.iter().position(|c| *c == column)?;
                Some(value_at(batch.column(at).as_ref(), row))
            };
            mask.push(self.predicate.evaluate(&value)? == Some(true));
        }
        let positions = positions.into_iter().zip(&mask).filter(|(_, keep)| **keep).map(|(p, _)| p).collect();
        let kept = filter_record_batch(batch, &BooleanArray::from(mask))
            .context(ErrorKind::Internal, || "a filter does not fit the rows that it was made for".into())?;
        Ok((kept, positions))
    }
}

/// Hashes of the rows of a batch over its columns at `columns`; equal values of
/// columns at the same place hash alike on every side that has the same type.
///
/// # Errors
/// `UnsupportedType`.
pub fn key_hashes(batch: &RecordBatch, columns: &[usize]) -> Result<Vec<u128>> {
    let mut hashes = vec![0u128; batch.num_rows()];
    for (place, column) in columns.iter().enumerate() {
        hash::add_column(batch.column(*column), hash::column_seed(SEED, place), &mut hashes)?;
    }
    Ok(hashes)
}

/// Hashes of one column of a batch, under a seed of its own: sums of several
/// columns' hashes then tell `(a, b)` from `(b, a)`.
///
/// # Errors
/// `UnsupportedType`.
pub fn column_hashes(batch: &RecordBatch, column: usize) -> Result<Vec<u128>> {
    let mut hashes = vec![0u128; batch.num_rows()];
    hash::add_column(batch.column(column), hash::column_seed(SEED, column), &mut hashes)?;
    Ok(hashes)
}

/// For each row of a batch whether one of its columns at `columns` is NULL.
pub fn null_rows(batch: &RecordBatch, columns: &[usize]) -> Vec<bool> {
    let mut nulls = vec![false; batch.num_rows()];
    for array in columns.iter().map(|c| batch.column(*c)).filter(|array| array.null_count() > 0) {
        nulls.iter_mut().enumerate().for_each(|(row, null)| *null |= array.is_null(row));
    }
    nulls
}

/// Takes the upper half of a hash that is uniform already; the lower bits
/// choose what a counter keeps, and are all zero for what it kept.
#[derive(Default)]
pub struct UpperHalf(u64);

impl Hasher for UpperHalf {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, x: u128) {
        self.0 = (x >> 64) as u64;
    }
}

pub type HashMap128<V> = HashMap<u128, V, BuildHasherDefault<UpperHalf>>;
pub type HashSet128 = HashSet<u128, BuildHasherDefault<UpperHalf>>;

/// How often a key occurs, and whether in several partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub rows: u32,
    partition: u32,
    pub several_partitions: bool,
}

/// Counts keys in bounded memory.
#[derive(Debug)]
pub struct KeyCounter {
    keys: HashMap128<Tally>,
    /// One key of `2^shift` is kept.
    shift: u32,
    most: usize,
    pub rows: u64,
}

impl KeyCounter {
    pub fn new(most: usize) -> KeyCounter {
        KeyCounter { keys: HashMap128::default(), shift: 0, most: most.max(1), rows: 0 }
    }

    pub fn add(&mut self, hash: u128, partition: u32) {
        self.rows += 1;
        if !self.keeps(hash) {
            return;
        }
        let tally = self.keys.entry(hash).or_insert(Tally { rows: 0, partition, several_partitions: false });
        tally.rows = tally.rows.saturating_add(1);
        tally.several_partitions |= tally.partition != partition;
        while self.keys.len() > self.most && self.shift < 64 {
            self.shift += 1;
            let mask = self.mask();
            self.keys.retain(|hash, _| hash & mask == 0);
        }
    }

    fn mask(&self) -> u128 {
        (1u128 << self.shift) - 1
    }

    /// Whether the counter knows this key; always, while it is exact.
    pub fn keeps(&self, hash: u128) -> bool {
        hash & self.mask() == 0
    }

    pub fn get(&self, hash: u128) -> Option<Tally> {
        self.keys.get(&hash).copied()
    }

    pub fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// One key of so many was counted.
    pub fn one_of(&self) -> u64 {
        1 << self.shift.min(63)
    }

    pub fn distinct(&self) -> u64 {
        self.scaled(self.keys.len() as u64)
    }

    /// (keys that occur more than once, their rows beyond the first)
    pub fn duplicates(&self) -> (u64, u64) {
        let repeated = self.keys.values().filter(|t| t.rows > 1);
        let (keys, rows) = repeated.fold((0, 0), |(k, r), t| (k + 1, r + u64::from(t.rows) - 1));
        (self.scaled(keys), self.scaled(rows))
    }

    /// (keys that occur in several partitions, their rows)
    pub fn in_several_partitions(&self) -> (u64, u64) {
        let spread = self.keys.values().filter(|t| t.several_partitions);
        let (keys, rows) = spread.fold((0, 0), |(k, r), t| (k + 1, r + u64::from(t.rows)));
        (self.scaled(keys), self.scaled(rows))
    }

    /// Keys of this counter that the other one has too. Both must hash alike.
    pub fn shared_with(&self, other: &KeyCounter) -> u64 {
        let shift = self.shift.max(other.shift);
        let mask = (1u128 << shift) - 1;
        let both = self.keys.keys().filter(|hash| *hash & mask == 0 && other.keys.contains_key(hash)).count();
        (both as u64).saturating_mul(1 << shift.min(63))
    }

    fn scaled(&self, kept: u64) -> u64 {
        kept.saturating_mul(self.one_of())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(i: u64) -> u128 {
        xxhash_rust::xxh3::xxh3_128_with_seed(&i.to_le_bytes(), 1)
    }

    #[test]
    fn counts_are_exact_below_the_bound() {
        let mut counter = KeyCounter::new(1_000);
        for i in 0..900 {
            counter.add(hash(i), 0);
        }
        for i in 0..100 {
            counter.add(hash(i), u32::from(i < 40));
            counter.add(hash(i), 0);
        }
        assert!(counter.is_exact());
        assert_eq!((counter.rows, counter.distinct()), (1_100, 900));
        assert_eq!(counter.duplicates(), (100, 200));
        assert_eq!(counter.in_several_partitions(), (40, 120));
    }

    #[test]
    fn beyond_it_a_sample_of_keys_is_exact_and_the_whole_is_estimated() {
        let mut counter = KeyCounter::new(5_000);
        for i in 0..100_000u64 {
            counter.add(hash(i), 0);
            if i % 10 == 0 {
                counter.add(hash(i), 0);
            }
        }
        assert!(!counter.is_exact() && counter.keys.len() <= 5_000);
        let (distinct, (keys, rows)) = (counter.distinct(), counter.duplicates());
        assert!((90_000..110_000).contains(&distinct), "{distinct}");
        assert!((8_000..12_000).contains(&keys) && keys == rows, "{keys} {rows}");
        let repeated = (0..100_000).step_by(10).map(hash).filter(|h| counter.keeps(*h));
        assert!(repeated.map(|h| counter.get(h).map(|t| t.rows)).all(|rows| rows == Some(2)));
    }

    #[test]
    fn keys_that_two_sides_share() {
        let (mut a, mut b) = (KeyCounter::new(1_000), KeyCounter::new(200));
        (0..500).for_each(|i| a.add(hash(i), 0));
        (0..100).for_each(|i| b.add(hash(i + 450), 0));
        assert_eq!((a.shared_with(&b), b.shared_with(&a)), (50, 50));
    }
}
