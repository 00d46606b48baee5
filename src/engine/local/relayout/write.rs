//! Writing the dealt rows, one partition after another in each task, so that no
//! more files are open than tasks run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use deltalake::arrow::array::{RecordBatch, UInt32Array};
use deltalake::arrow::compute::{concat_batches, take_record_batch};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use super::count::Counted;
use super::external;
use super::order::Sorting;
use super::out::{Open, Out};
use super::read::{Reading, Stop, each};
use super::spill::{Piece, Pool};
use crate::error::{Context, ErrorKind, Result};
use crate::plan::relayout::Shape;
use crate::progress::Progress;

const ROWS_PER_WRITE: usize = 8192;
/// Pieces of a partition that are shorter on average are joined before they
/// are written.
const SHORT_ROWS: usize = 1024;

/// Partitions of one bucket that are written together.
#[derive(Debug, Clone)]
struct Work {
    bucket: usize,
    partitions: Range<u32>,
    /// Whether the bucket holds others too, so that rows have to be picked out.
    picks: bool,
    bytes: usize,
}

/// Writes every bucket.
///
/// # Errors
/// `NotNullViolation`, `Storage`, `UnsupportedType`, `Cancelled`.
pub async fn write(
    reading: &Arc<Reading>,
    counted: &Counted,
    pool: Arc<Pool>,
    out: &Arc<Out>,
    progress: &Progress,
) -> Result<()> {
    let sorting = Sorting::new(&reading.job.layout.order, &reading.target.schema)?;
    let rows: Arc<Vec<u64>> = Arc::new(counted.tuples.iter().map(|t| t.rows).collect());
    let mut works = plan(&pool, &rows);
    // The largest first, so that no task is left with it in the end.
    works.sort_by_key(|work| std::cmp::Reverse(work.bytes));
    let old_bytes: u64 = reading.job.files.iter().map(|f| f.size).sum();
    let per_row = old_bytes as f64 / counted.rows().max(1) as f64;
    let writer = Writer { pool, out: out.clone(), rows, sorting: Arc::new(sorting), per_row };
    each(
        works,
        progress,
        || (),
        move |work: &Work, (), stop| {
            let writer = writer.clone();
            async move { writer.write(work, stop).await }.boxed()
        },
    )
    .await
    .map(drop)
}

/// Each bucket at once, or in parts where it turned out larger than was guessed.
fn plan(pool: &Pool, rows: &[u64]) -> Vec<Work> {
    let mut works = Vec::new();
    let mut start = 0u32;
    let numbers: Vec<u32> = (0..rows.len() as u32).collect();
    for partitions in numbers.chunk_by(|a, b| pool.buckets.of(*a) == pool.buckets.of(*b)) {
        let (bucket, end) = (pool.buckets.of(start), start + partitions.len() as u32);
        let bytes = pool.bytes(bucket);
        let total: u64 = rows[start as usize..end as usize].iter().sum();
        let per_row = bytes as f64 / total.max(1) as f64;
        if partitions.len() == 1 || bytes <= 2 * pool.buckets.limit {
            works.push(Work { bucket, partitions: start..end, picks: false, bytes });
            start = end;
            continue;
        }
        let mut held = 0.0;
        let mut from = start;
        for number in start..end {
            let size = rows[number as usize] as f64 * per_row;
            if held > 0.0 && held + size > pool.buckets.limit as f64 {
                works.push(Work { bucket, partitions: from..number, picks: true, bytes: held as usize });
                (from, held) = (number, 0.0);
            }
            held += size;
        }
        works.push(Work { bucket, partitions: from..end, picks: true, bytes: held as usize });
        start = end;
    }
    works
}

#[derive(Clone)]
struct Writer {
    pool: Arc<Pool>,
    out: Arc<Out>,
    rows: Arc<Vec<u64>>,
    sorting: Arc<Sorting>,
    /// Old bytes that a row stands for, for progress.
    per_row: f64,
}

impl Writer {
    async fn write(&self, work: &Work, stop: &Stop) -> Result<()> {
        let one = work.partitions.len() == 1;
        if one && !work.picks && *self.sorting == Sorting::None {
            let batches = stream_of(self.pool.clone(), work.bucket);
            self.partition(work.partitions.start, batches, stop).await?;
        } else if one && work.bytes > 2 * self.pool.buckets.limit {
            let picked = work.picks.then_some(work.partitions.start);
            let batches = external::sorted(&self.pool, work.bucket, picked, &self.sorting).await?;
            self.partition(work.partitions.start, batches, stop).await?;
        } else {
            self.group(work, stop).await?;
        }
        if !work.picks {
            self.pool.forget(work.bucket);
        }
        Ok(())
    }

    /// Brings the partitions' rows into memory and writes them one by one.
    async fn group(&self, work: &Work, stop: &Stop) -> Result<()> {
        let mut slices: BTreeMap<u32, Vec<RecordBatch>> = BTreeMap::new();
        for at in 0..self.pool.pieces(work.bucket) {
            stop.check()?;
            for piece in self.pool.piece(work.bucket, at)? {
                for (number, rows) in piece.slices(|number| work.partitions.contains(&number)) {
                    // A slice would keep the rows of the others in memory too.
                    slices.entry(number).or_default().push(if work.picks { copied(&rows)? } else { rows });
                }
            }
        }
        while let Some((number, batches)) = slices.pop_first() {
            let batches = self.ordered(batches)?;
            self.partition(number, stream::iter(batches.into_iter().map(Ok)).boxed(), stop).await?;
        }
        Ok(())
    }

    fn ordered(&self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let Some(first) = batches.first() else { return Ok(batches) };
        let sorts = *self.sorting != Sorting::None;
        if !sorts && (batches.len() == 1 || rows / batches.len() >= SHORT_ROWS) {
            return Ok(batches);
        }
        let whole = concat_batches(&first.schema(), &batches)
            .context(ErrorKind::Internal, || "the rows of a partition could not be joined".into())?;
        drop(batches);
        Ok(vec![self.sorting.sorted(whole)?])
    }

    /// Writes one partition's rows into as many files as its shape asks for.
    async fn partition(&self, number: u32, mut rows: BoxStream<'_, Result<RecordBatch>>, stop: &Stop) -> Result<()> {
        let mut files = Files { out: &self.out, number, sizes: self.sizes(number), open: None };
        let written = async {
            while let Some(batch) = rows.try_next().await? {
                for start in (0..batch.num_rows()).step_by(ROWS_PER_WRITE) {
                    stop.check()?;
                    let part = batch.slice(start, ROWS_PER_WRITE.min(batch.num_rows() - start));
                    files.write(&part).await?;
                    let bytes = (part.num_rows() as f64 * self.per_row) as u64;
                    stop.progress().advance(0, part.num_rows() as u64, bytes);
                }
            }
            files.end().await
        };
        let written = written.await;
        if written.is_err()
            && let Some(open) = files.open.take()
        {
            open.file.abort().await;
        }
        written
    }

    fn sizes(&self, number: u32) -> Sizes {
        match self.out.shape {
            Shape::TargetBytes(bytes) => Sizes::Bytes(bytes.max(1)),
            Shape::FilesPerPartition(files) => {
                let rows = self.rows.get(number as usize).copied().unwrap_or(0);
                Sizes::Rows { left: rows, files: u64::from(files).clamp(1, rows.max(1)) }
            }
        }
    }
}

/// When a file is full.
#[derive(Debug, Clone, Copy)]
enum Sizes {
    Bytes(u64),
    /// Rows that are still to come, and the files that they are shared out to.
    Rows {
        left: u64,
        files: u64,
    },
}

struct Files<'a> {
    out: &'a Out,
    number: u32,
    sizes: Sizes,
    open: Option<Open>,
}

impl Files<'_> {
    async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let left = batch.num_rows() - start;
            let rows = match self.sizes {
                Sizes::Bytes(_) => left,
                Sizes::Rows { left: all, files } => {
                    let held = self.open.as_ref().map_or(0, |open| open.file.rows());
                    let full = (all + held).div_ceil(files.max(1)).max(1);
                    left.min(usize::try_from(full.saturating_sub(held)).unwrap_or(left)).max(1)
                }
            };
            let open = match &mut self.open {
                Some(open) => open,
                None => self.open.insert(self.out.begin(self.number)?),
            };
            open.file.write(&batch.slice(start, rows)).await?;
            start += rows;
            let full = match &mut self.sizes {
                Sizes::Bytes(target) => open.file.estimated_size() >= *target,
                Sizes::Rows { left, files } => {
                    *left = left.saturating_sub(rows as u64);
                    let held = open.file.rows();
                    let full = *files > 1 && held >= (*left + held).div_ceil(*files);
                    *files -= u64::from(full);
                    full
                }
            };
            if full {
                self.end().await?;
            }
        }
        Ok(())
    }

    async fn end(&mut self) -> Result<()> {
        match self.open.take() {
            Some(open) => self.out.close(open, self.number).await,
            None => Ok(()),
        }
    }
}

/// The rows of a bucket, piece by piece.
pub fn stream_of(pool: Arc<Pool>, bucket: usize) -> BoxStream<'static, Result<RecordBatch>> {
    let pieces = pool.pieces(bucket);
    let read = move |at| pool.piece(bucket, at);
    let batches = |pieces: Vec<Piece>| stream::iter(pieces.into_iter().map(|piece| Ok(piece.batch)));
    stream::iter((0..pieces).map(read)).map_ok(batches).try_flatten().boxed()
}

fn copied(batch: &RecordBatch) -> Result<RecordBatch> {
    let all = UInt32Array::from_iter_values(0..batch.num_rows() as u32);
    take_record_batch(batch, &all).context(ErrorKind::Internal, || "rows could not be picked".into())
}
