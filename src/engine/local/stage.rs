//! The one stager: writes what a rule leads to, for every kind of plan.

use std::sync::Arc;

use deltalake::arrow::array::{RecordBatch, UInt64Array};
use deltalake::arrow::compute::take_record_batch;
use futures::TryStreamExt;
use uuid::Uuid;

use super::classify::{Fate, LocalClassified};
use super::side::Span;
use super::write::PartitionWriter;
use crate::engine::Staged;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::progress::{Phase, Progress};

/// Stages the rule's files. On any error, and on cancel, what was written is
/// removed before the error is returned.
pub async fn stage(classified: &LocalClassified, operation: Uuid, progress: Progress) -> Result<Staged> {
    let sides = &classified.sides;
    let fetch = &sides.fetch;
    let snapshot = &fetch.job.snapshot;
    let total = fetch.job.source.files.iter().map(|f| f.size).sum();
    progress.enter(Phase::Staging, fetch.job.source.files.len() as u64, total);
    let mut writer = PartitionWriter::new(
        snapshot,
        Arc::clone(&fetch.layout),
        sides.partitions.tuples.clone(),
        operation,
        sides.roles.seed,
    );
    let outcome = write_all(classified, &mut writer, &progress).await;
    match outcome {
        Ok(()) => writer.finish().await,
        Err(error) => {
            writer.discard().await;
            Err(error)
        }
    }
}

async fn write_all(classified: &LocalClassified, writer: &mut PartitionWriter, progress: &Progress) -> Result<()> {
    let sides = &classified.sides;
    let fetch = &sides.fetch;
    let all = fetch.all_columns();
    for (file, span) in sides.source.files.iter().enumerate() {
        let mut batches = fetch.source(file, &all, None).await?;
        let mut at = span.start;
        while let Some(live) = batches.try_next().await? {
            progress.check()?;
            let rows = take_span(*span, &mut at, live.batch.num_rows())?;
            let mut picked = Vec::with_capacity(rows.len());
            let mut partitions = Vec::with_capacity(rows.len());
            for (local, s) in rows.enumerate() {
                // A source row that updates several target rows is written for each.
                for _ in 0..classified.pairs.times[s].max(1) {
                    picked.push(local as u64);
                    partitions.push(sides.source.partition[s]);
                }
            }
            let batch = pick(&live.batch, picked)?;
            progress.advance(0, batch.num_rows() as u64, 0);
            writer.write(batch, partitions).await?;
        }
        progress.advance(1, 0, fetch.job.source.files[file].size);
    }
    if classified.replaces() {
        return Ok(());
    }
    // Rows that only share a file with a changed one move on unchanged.
    for file in &classified.rewritten {
        let span = sides.target.files[*file];
        let mut batches = fetch.target(&sides.files[*file], &all, None).await?;
        let mut at = span.start;
        while let Some(live) = batches.try_next().await? {
            progress.check()?;
            let rows = take_span(span, &mut at, live.batch.num_rows())?;
            let kept: Vec<(u64, u32)> = rows
                .enumerate()
                .filter(|(_, t)| matches!(classified.fates[*t], Fate::Zombie | Fate::Stays))
                .map(|(local, t)| (local as u64, sides.target.partition[t]))
                .collect();
            let (picked, partitions): (Vec<u64>, Vec<u32>) = kept.into_iter().unzip();
            if picked.is_empty() {
                continue;
            }
            let batch = pick(&live.batch, picked)?;
            progress.advance(0, batch.num_rows() as u64, 0);
            writer.write(batch, partitions).await?;
        }
    }
    Ok(())
}

/// The rows of a side that a batch holds, in step with the first reading.
fn take_span(span: Span, at: &mut usize, rows: usize) -> Result<std::ops::Range<usize>> {
    let start = *at;
    *at += rows;
    if *at > span.end {
        return Err(Error::new(ErrorKind::SourceChanged, "a file has more rows now than when the plan was made")
            .hint("Make a new plan."));
    }
    Ok(start..*at)
}

fn pick(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() && rows.iter().enumerate().all(|(i, row)| *row == i as u64) {
        return Ok(batch.clone());
    }
    take_record_batch(batch, &UInt64Array::from(rows))
        .context(ErrorKind::Internal, || "rows of a batch could not be picked".into())
}
