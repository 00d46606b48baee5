//! Reading every row once: hashing it for the proof and dealing it into the
//! bucket of its new partition.

use std::sync::Arc;

use deltalake::arrow::array::{RecordBatch, UInt32Array};
use deltalake::arrow::compute::{concat_batches, take_record_batch};
use futures::FutureExt;

use super::super::hash;
use super::super::keys::HashIndex;
use super::buckets::{Buckets, memory};
use super::count::Counted;
use super::read::{Part, Reading, each, take_all};
use super::spill::{Piece, Pool};
use super::tuples::{Tuples, of_wide};
use super::{Sums, workers};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::progress::Progress;

/// One task's rows on their way into the pool.
struct Dealer {
    pool: Arc<Pool>,
    reading: Arc<Reading>,
    tuples: Arc<Tuples>,
    seen: HashIndex<u32>,
    sums: Sums,
    gathered: Vec<RecordBatch>,
    numbers: Vec<u32>,
    bytes: usize,
    /// Bytes after which the gathered rows are dealt.
    enough: usize,
}

/// Reads all rows of the job. Gives them by bucket, and what was read.
///
/// # Errors
/// `StagedDiffers` for a row whose partition was not counted; whatever reading
/// gives; `Storage`, `Cancelled`.
pub async fn deal(
    reading: &Arc<Reading>,
    counted: &Counted,
    buckets: Buckets,
    progress: &Progress,
) -> Result<(Arc<Pool>, Sums)> {
    let parts = reading.parts().await?;
    let memory = memory(reading);
    let pool = Arc::new(Pool::new(buckets, reading.schema(), reading.job.spilling.clone(), memory / 2));
    let tuples = Arc::new(Tuples::known(reading.job.seed, counted.tuples.iter().map(|t| &t.values)));
    let enough = (memory / 16 / workers(parts.len())).clamp(64 << 10, 32 << 20);
    let new = || Dealer {
        pool: pool.clone(),
        reading: reading.clone(),
        tuples: tuples.clone(),
        seen: HashIndex::default(),
        sums: Sums::of(reading.schema().fields().len()),
        gathered: Vec::new(),
        numbers: Vec::new(),
        bytes: 0,
        enough,
    };
    let known = counted.tuples.len();
    let done = each(parts, progress, new, move |part: &Part, dealer, stop| {
        async move {
            let reading = dealer.reading.clone();
            let batches = reading.batches(part, &reading.columns).await?;
            take_all(batches, stop, |live| {
                stop.progress().advance(0, live.positions.len() as u64, 0);
                dealer.take(live.batch, known)
            })
            .await?;
            stop.progress().advance(1, 0, reading.bytes(part));
            Ok(())
        }
        .boxed()
    })
    .await?;
    let mut sums = Sums::of(reading.schema().fields().len());
    for mut dealer in done {
        dealer.deal()?;
        sums.merge(&dealer.sums);
    }
    Ok((pool, sums))
}

impl Dealer {
    fn take(&mut self, batch: RecordBatch, known: usize) -> Result<()> {
        let batch = self.reading.widened(batch)?;
        for mixed in hash::row_sets(&batch, self.reading.job.seed, &mut self.sums.columns)? {
            self.sums.rows.add(mixed);
        }
        let numbers = self.tuples.numbers(&of_wide(&self.reading, &batch), batch.num_rows(), &mut self.seen)?;
        if numbers.iter().any(|number| *number as usize >= known) {
            return Err(Error::new(
                ErrorKind::StagedDiffers,
                "a row falls into a partition that was not counted before; nothing was committed",
            )
            .hint("A data file was changed in place while it was read. Make a new plan."));
        }
        self.bytes += batch.get_array_memory_size();
        self.gathered.push(batch);
        self.numbers.extend(numbers);
        if self.bytes >= self.enough { self.deal() } else { Ok(()) }
    }

    /// Sorts the gathered rows by partition and hands them to the pool.
    fn deal(&mut self) -> Result<()> {
        let (gathered, numbers) = (std::mem::take(&mut self.gathered), std::mem::take(&mut self.numbers));
        self.bytes = 0;
        let Some(first) = gathered.first() else { return Ok(()) };
        let whole = concat_batches(&first.schema(), &gathered)
            .context(ErrorKind::Internal, || "batches could not be joined".into())?;
        drop(gathered);
        // Numbers ascend with the buckets, so that a bucket's rows lie together.
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        let sorted = if numbers.is_sorted() {
            whole
        } else {
            order.sort_by_key(|row| numbers[*row as usize]);
            take_record_batch(&whole, &UInt32Array::from(order.clone()))
                .context(ErrorKind::Internal, || "a batch could not be split".into())?
        };
        let bytes = sorted.get_array_memory_size();
        let number = |row: &u32| numbers[*row as usize];
        let bucket = |row: &u32| self.pool.buckets.of(number(row));
        let mut pieces: Vec<(usize, Piece)> = Vec::new();
        let mut start = 0;
        for group in order.chunk_by(|a, b| bucket(a) == bucket(b)) {
            let runs = group.chunk_by(|a, b| number(a) == number(b)).map(|run| (number(&run[0]), run.len() as u32));
            let piece = Piece { batch: sorted.slice(start, group.len()), runs: runs.collect() };
            pieces.push((bucket(&group[0]), piece));
            start += group.len();
        }
        self.pool.push(pieces, bytes)
    }
}
