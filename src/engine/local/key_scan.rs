//! Keys of one side, counted by their hashes: the table at its pinned version,
//! or what was delivered.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake::arrow::array::{Array, BooleanArray, RecordBatch};
use deltalake::arrow::compute::filter_record_batch;
use futures::{StreamExt, TryStreamExt, stream};

pub use super::key_counter::{HashMap128, HashSet128, KeyCounter, MOST_KEYS, Tally};

use super::hash;
use crate::error::{Context, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::data::{DataReader, ReadFile, TableLayout, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::predicate::Predicate;
use crate::progress::{Phase, Progress};
use crate::source::Source;
use crate::table::{PartitionTuple, Schema, Value};

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
