//! The exact pass before a plan: how many rows each new partition gets. Only the
//! columns are read that decide it.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt;

use super::super::keys::HashIndex;
use super::LayoutJob;
use super::read::{Part, Reading, each, take_all};
use super::tuples::{TupleColumns, Tuples};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Phase, Progress};
use crate::table::PartitionTuple;

/// What the files of a job hold, by new partition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Sorted by typed value.
    pub tuples: Vec<TupleCount>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TupleCount {
    pub values: PartitionTuple,
    pub rows: u64,
    /// Files that hold rows of it now.
    pub files: u64,
    /// Their bytes, each file's shared out by rows.
    pub bytes: u64,
}

impl Counted {
    pub fn rows(&self) -> u64 {
        self.tuples.iter().map(|t| t.rows).sum()
    }
}

/// Rows by part of the work and number of the partition.
#[derive(Default)]
struct Local {
    seen: HashIndex<u32>,
    /// (file, partition) → rows
    rows: HashMap<(usize, u32), u64>,
}

/// Counts the live rows of the job's files by new partition.
///
/// # Errors
/// `MissingFiles`, `BadDataFile`, `Storage`, `Cancelled`; `Usage` where an
/// added column's expression fails on a row.
pub async fn count(job: LayoutJob, progress: &Progress) -> Result<Counted> {
    progress.enter(Phase::Reading, job.files.len() as u64, job.files.iter().map(|f| f.size).sum());
    let reading = Arc::new(Reading::new(job)?);
    let parts = reading.parts().await?;
    let tuples = Arc::new(Tuples::new(reading.job.seed));
    let columns = Arc::new(TupleColumns::new(&reading));
    let (shared, known) = (reading.clone(), tuples.clone());
    let done = each(parts, progress, Local::default, move |part: &Part, local, stop| {
        let (reading, tuples, columns) = (shared.clone(), known.clone(), columns.clone());
        async move {
            let batches = reading.batches(part, &columns.read).await?;
            take_all(batches, stop, |live| {
                let arrays = columns.of_narrow(&reading, &live.batch)?;
                for number in tuples.numbers(&arrays, live.positions.len(), &mut local.seen)? {
                    *local.rows.entry((part.file, number)).or_default() += 1;
                }
                stop.progress().advance(0, live.positions.len() as u64, 0);
                Ok(())
            })
            .await?;
            stop.progress().advance(1, 0, reading.bytes(part));
            Ok(())
        }
        .boxed()
    })
    .await?;
    let mut rows: HashMap<(usize, u32), u64> = HashMap::new();
    for (key, n) in done.into_iter().flat_map(|local| local.rows) {
        *rows.entry(key).or_default() += n;
    }
    let tuples = Arc::into_inner(tuples).ok_or_else(|| Error::new(ErrorKind::Internal, "counting goes on"))?.all();
    Ok(counted(&reading, tuples, &rows))
}

fn counted(reading: &Reading, tuples: Vec<PartitionTuple>, rows: &HashMap<(usize, u32), u64>) -> Counted {
    let mut of_file: HashMap<usize, u64> = HashMap::new();
    for ((file, _), n) in rows {
        *of_file.entry(*file).or_default() += n;
    }
    let mut counts: Vec<TupleCount> =
        tuples.into_iter().map(|values| TupleCount { values, rows: 0, files: 0, bytes: 0 }).collect();
    for ((file, number), n) in rows {
        let Some(tuple) = counts.get_mut(*number as usize) else { continue };
        let size = u128::from(reading.job.files[*file].size);
        tuple.rows += n;
        tuple.files += 1;
        let share = size * u128::from(*n) / u128::from(of_file.get(file).copied().unwrap_or(1).max(1));
        tuple.bytes += u64::try_from(share).unwrap_or(u64::MAX);
    }
    counts.sort_by(|a, b| a.values.cmp(&b.values));
    Counted { tuples: counts }
}
