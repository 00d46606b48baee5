//! Reading live rows.

use std::iter::Flatten;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use deltalake::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use deltalake::arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use deltalake::logstore::object_store::{ObjectStore, path::Path};
use deltalake::parquet::arrow::ProjectionMask;
use deltalake::parquet::arrow::arrow_reader::RowSelection;
use deltalake::parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;
use deltalake::parquet::errors::ParquetError;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use roaring::RoaringTreemap;

use super::adapt::{Take, adapt, plan};
use super::cells::repeated;
use super::layout::TableLayout;
use super::open::{Opened, StoreReader, open};
use crate::error::{Error, ErrorKind, Result};
use crate::table::{PartitionTuple, Value};

const BATCH_ROWS: usize = 8192;

/// One data file of a snapshot, ready to be read.
#[derive(Debug, Clone)]
pub struct ReadFile {
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
    /// bytes
    pub size: u64,
    /// The values of the partition columns in every row of this file.
    pub partition: PartitionTuple,
    /// Physical row numbers that are deleted.
    pub deleted: Option<Arc<RoaringTreemap>>,
}

/// Rows, and where each of them is.
#[derive(Debug, Clone)]
pub struct LiveBatch {
    pub batch: RecordBatch,
    /// For each row its number in the file, deleted rows counted too.
    pub positions: Vec<u64>,
}

/// Reads the data files of one table.
#[derive(Debug, Clone)]
pub struct DataReader {
    layout: Arc<TableLayout>,
}

impl DataReader {
    pub fn new(layout: Arc<TableLayout>) -> DataReader {
        DataReader { layout }
    }

    /// Live rows in file order, in batches of up to 8192. The batches have the
    /// columns at `columns` (indexes into the table's schema) in that order,
    /// with the names and types of [`TableLayout::arrow_schema`]. A column that
    /// the file lacks is NULL; a partition column comes from
    /// [`ReadFile::partition`] even where the file has it too. `select`: only
    /// these physical rows, ascending.
    ///
    /// # Errors
    /// `MissingFiles` and `Storage`; `BadDataFile` for a damaged file, a row
    /// that the file does not have, and a value that the column's type cannot
    /// hold; `BadPartitionValue`.
    pub async fn read(
        &self,
        file: &ReadFile,
        columns: &[usize],
        select: Option<&[u64]>,
    ) -> Result<BoxStream<'static, Result<LiveBatch>>> {
        self.read_part(file, columns, select, &(0..u64::MAX)).await
    }

    /// Like [`DataReader::read`], but only of the physical rows `within`.
    ///
    /// # Errors
    /// The same.
    pub async fn read_part(
        &self,
        file: &ReadFile,
        columns: &[usize],
        select: Option<&[u64]>,
        within: &Range<u64>,
    ) -> Result<BoxStream<'static, Result<LiveBatch>>> {
        let opened = open_file(file).await?;
        let mut ranges =
            live_ranges(opened.rows, file.deleted.as_deref(), select).map_err(|e| opened.reader.damaged(e))?;
        for range in &mut ranges {
            *range = range.start.max(within.start)..range.end.min(within.end);
        }
        ranges.retain(|range| range.start < range.end);
        let projection = Projection::new(&self.layout, columns, &opened, &file.partition)?;
        let scan = Scan {
            batches: batches(&opened, &projection, &ranges).await?,
            reader: opened.reader,
            projection,
            positions: ranges.into_iter().flatten(),
        };
        Ok(stream::try_unfold(scan, |mut scan| async move { Ok(scan.next().await?.map(|batch| (batch, scan))) })
            .boxed())
    }

    /// The file's physical rows in parts that can be decoded by themselves, of
    /// about `bytes` each as they are stored: whole row groups.
    ///
    /// # Errors
    /// `MissingFiles`, `BadDataFile`, `Storage`.
    pub async fn parts(&self, file: &ReadFile, bytes: u64) -> Result<Vec<Range<u64>>> {
        let whole = 0..u64::MAX;
        if file.size <= bytes {
            return Ok(vec![whole]);
        }
        let opened = open_file(file).await?;
        let (mut parts, mut start, mut end, mut size) = (Vec::new(), 0, 0, 0);
        for group in opened.metadata.metadata().row_groups() {
            end += u64::try_from(group.num_rows()).unwrap_or(0);
            size += u64::try_from(group.compressed_size()).unwrap_or(0);
            if size >= bytes {
                parts.push(start..end);
                (start, size) = (end, 0);
            }
        }
        // Whatever the row groups say, no row is left out.
        parts.push(start..whole.end);
        Ok(parts)
    }

    /// Live rows: those of the footer, less the deleted ones.
    ///
    /// # Errors
    /// `MissingFiles`, `BadDataFile`, `Storage`.
    pub async fn row_count(&self, file: &ReadFile) -> Result<u64> {
        let opened = open_file(file).await?;
        let Some(deleted) = &file.deleted else { return Ok(opened.rows) };
        check_deleted(opened.rows, deleted).map_err(|e| opened.reader.damaged(e))?;
        Ok(opened.rows - deleted.len())
    }
}

async fn open_file(file: &ReadFile) -> Result<Opened> {
    open(Arc::clone(&file.store), file.path.clone(), file.size).await
}

fn check_deleted(rows: u64, deleted: &RoaringTreemap) -> Result<(), String> {
    match deleted.max() {
        Some(last) if last >= rows => Err(format!("its deletion vector names row {last}, but it has {rows} rows")),
        _ => Ok(()),
    }
}

/// The rows to read, as ascending ranges that do not touch.
fn live_ranges(rows: u64, deleted: Option<&RoaringTreemap>, select: Option<&[u64]>) -> Result<Vec<Range<u64>>, String> {
    if let Some(deleted) = deleted {
        check_deleted(rows, deleted)?;
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    match select {
        Some(select) => {
            let mut expected = 0;
            for &row in select {
                if row < expected {
                    return Err(format!("row {row} is asked for out of order"));
                }
                if row >= rows {
                    return Err(format!("row {row} is asked for, but it has {rows} rows"));
                }
                expected = row + 1;
                if deleted.is_some_and(|deleted| deleted.contains(row)) {
                    continue;
                }
                match ranges.last_mut() {
                    Some(last) if last.end == row => last.end += 1,
                    _ => ranges.push(row..row + 1),
                }
            }
        }
        None => {
            let mut start = 0;
            for row in deleted.into_iter().flatten() {
                if row > start {
                    ranges.push(start..row);
                }
                start = row + 1;
            }
            if start < rows {
                ranges.push(start..rows);
            }
        }
    }
    Ok(ranges)
}

type FileBatches = BoxStream<'static, Result<RecordBatch, ParquetError>>;

/// The file's own batches; `None` where no column of it is needed.
async fn batches(opened: &Opened, projection: &Projection, ranges: &[Range<u64>]) -> Result<Option<FileBatches>> {
    if projection.roots.is_empty() || ranges.is_empty() {
        return Ok(None);
    }
    let damaged = |e: &dyn std::fmt::Display| opened.reader.damaged(e);
    let rows = usize::try_from(opened.rows).map_err(|e| damaged(&e))?;
    let mask = ProjectionMask::roots(opened.metadata.parquet_schema(), projection.roots.iter().copied());
    let mut builder =
        ParquetRecordBatchStreamBuilder::new_with_metadata(opened.reader.clone(), opened.metadata.clone())
            .with_batch_size(BATCH_ROWS)
            .with_projection(mask);
    let whole = matches!(ranges, [only] if *only == (0..opened.rows));
    if !whole {
        // The bounds are below `rows`, which fits.
        let ranges = ranges.iter().map(|r| r.start as usize..r.end as usize);
        builder = builder.with_row_selection(RowSelection::from_consecutive_ranges(ranges, rows));
    }
    let stream = builder.build().map_err(|e| damaged(&e))?;
    // The decoder checks what it reads, but a panic in it must not end the program.
    let guarded = AssertUnwindSafe(stream)
        .catch_unwind()
        .map(|item| item.unwrap_or_else(|_| Err(ParquetError::General("its pages are damaged".into()))));
    Ok(Some(guarded.boxed()))
}

struct Scan {
    batches: Option<FileBatches>,
    reader: StoreReader,
    projection: Projection,
    /// Of the rows that are still to come.
    positions: Flatten<std::vec::IntoIter<Range<u64>>>,
}

impl Scan {
    async fn next(&mut self) -> Result<Option<LiveBatch>> {
        let batch = match &mut self.batches {
            None => None,
            Some(batches) => match batches.try_next().await {
                Ok(Some(batch)) => Some(batch),
                Ok(None) if self.positions.next().is_some() => {
                    return Err(self.reader.damaged("it has fewer rows than its footer says"));
                }
                Ok(None) => return Ok(None),
                Err(error) => return Err(self.reader.explain(error).await),
            },
        };
        let rows = batch.as_ref().map_or(BATCH_ROWS, RecordBatch::num_rows);
        let positions: Vec<u64> = self.positions.by_ref().take(rows).collect();
        match batch {
            None if positions.is_empty() => Ok(None),
            Some(_) if positions.len() < rows => Err(self.reader.damaged("it has more rows than its footer says")),
            batch => {
                let batch = self.projection.apply(batch.as_ref(), positions.len(), &self.reader)?;
                Ok(Some(LiveBatch { batch, positions }))
            }
        }
    }
}

/// Where the columns that were asked for come from.
struct Projection {
    /// Top-level columns of the file that are read, ascending.
    roots: Vec<usize>,
    columns: Vec<Origin>,
    schema: SchemaRef,
}

enum Origin {
    /// A partition column.
    Constant(Value),
    /// The file lacks it.
    Missing,
    /// By its place among the file's columns that are read.
    Stored { place: usize, take: Take },
}

impl Projection {
    fn new(layout: &TableLayout, columns: &[usize], opened: &Opened, partition: &PartitionTuple) -> Result<Self> {
        let whole = layout.arrow_schema();
        let schema = whole
            .project(columns)
            .map_err(|e| Error::new(ErrorKind::Internal, "a column is asked for that the table lacks").because(e))?;
        let stored = opened.metadata.schema().fields();
        let mut origins = Vec::with_capacity(columns.len());
        let mut roots = Vec::new();
        for &column in columns {
            let field = &layout.schema.fields[column];
            let bad = |why: String| opened.reader.damaged(format!("column '{}': {why}", field.name));
            if let Some(at) = layout.partition_indexes().iter().position(|index| *index == column) {
                let value = partition.0.get(at).cloned();
                origins.push(Origin::Constant(value.ok_or_else(|| bad("it has no partition value".into()))?));
                continue;
            }
            let Some(at) = layout.mapping().find(field, stored).map_err(bad)? else {
                origins.push(Origin::Missing);
                continue;
            };
            let take = plan(&field.data_type, stored[at].data_type(), layout.mapping()).map_err(bad)?;
            let root = root_of(opened, stored[at].name()).ok_or_else(|| bad("the file's schema is damaged".into()))?;
            roots.push(root);
            origins.push(Origin::Stored { place: root, take });
        }
        roots.sort_unstable();
        roots.dedup();
        for origin in &mut origins {
            if let Origin::Stored { place, .. } = origin {
                *place = roots.partition_point(|root| *root < *place);
            }
        }
        Ok(Projection { roots, columns: origins, schema: Arc::new(ArrowSchema::new(schema.fields)) })
    }

    fn apply(&self, batch: Option<&RecordBatch>, rows: usize, reader: &StoreReader) -> Result<RecordBatch> {
        let columns = self
            .columns
            .iter()
            .zip(self.schema.fields())
            .map(|(origin, field)| match (origin, batch) {
                (Origin::Constant(value), _) => repeated(value, field.data_type(), rows),
                (Origin::Stored { place, take }, Some(batch)) => {
                    let bad = |why: String| reader.damaged(format!("column '{}': {why}", field.name()));
                    let column = batch.columns().get(*place).ok_or_else(|| bad("it was not decoded".into()))?;
                    adapt(column, take, field.data_type()).map_err(bad)
                }
                (Origin::Missing, _) | (Origin::Stored { .. }, None) => Ok(new_null_array(field.data_type(), rows)),
            })
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(|e| reader.damaged(e))
    }
}

/// A column's place in the Parquet schema, which also counts empty groups that
/// the Arrow schema leaves out.
fn root_of(opened: &Opened, name: &str) -> Option<usize> {
    opened.metadata.parquet_schema().root_schema().get_fields().iter().position(|field| field.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_skip_what_is_deleted_and_keep_what_is_selected() {
        let deleted: RoaringTreemap = [0, 3, 9].into_iter().collect();
        assert_eq!(live_ranges(10, Some(&deleted), None).unwrap(), [1..3, 4..9]);
        assert_eq!(live_ranges(10, Some(&deleted), Some(&[1, 2, 3, 4, 8])).unwrap(), [1..3, 4..5, 8..9]);
        assert_eq!(live_ranges(3, None, None).unwrap(), std::slice::from_ref(&(0..3)));
        assert!(live_ranges(0, None, None).unwrap().is_empty());
        assert!(live_ranges(9, Some(&deleted), None).is_err());
        assert!(live_ranges(9, None, Some(&[9])).is_err());
        assert!(live_ranges(9, None, Some(&[5, 5])).is_err());
    }
}
