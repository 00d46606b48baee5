//! Writing the same rows into other files: other partition columns, another
//! order, another number of files.
//!
//! Every row is read once, hashed column by column, and dealt into buckets of
//! whole partitions (`deal`), in memory up to a limit and on disk beyond it. Then
//! the buckets are written one after another, each partition sorted if that was
//! asked for (`order`, `write`). What was written is read back from the files
//! and held to the hashes (`proof`). Memory is bounded whatever the number of
//! partitions and however unequal they are.

mod buckets;
mod count;
mod deal;
mod external;
mod order;
mod out;
mod proof;
mod read;
mod spill;
mod tuples;
mod write;

pub use count::{Counted, TupleCount, count};

use std::sync::Arc;

use deltalake::logstore::object_store::path::Path;
use uuid::Uuid;

use super::store::Spilling;
use super::unstage::left_behind;
use crate::engine::{RowSet, Staged};
use crate::error::{Error, Result};
use crate::lake::Snapshot;
use crate::plan::relayout::Relayout;
use crate::predicate::Bound;
use crate::progress::{Phase, Progress};
use crate::table::{DataFile, Metadata};

/// Some files of a table that are written anew.
#[derive(Clone)]
pub struct LayoutJob {
    /// What the files belong to.
    pub snapshot: Snapshot,
    /// What the new files are written under: the same columns in the same
    /// order, and behind them the added ones.
    pub target: Metadata,
    pub layout: Relayout,
    /// The added columns' expressions over the table's columns.
    pub added: Vec<Bound>,
    pub files: Vec<DataFile>,
    pub spilling: Spilling,
    /// Seeds the hashes that the proof goes by.
    pub seed: u64,
}

/// Memory for rows. More than this does not make it faster.
const MOST_MEMORY: usize = 1 << 30;

/// Writes the job's rows anew and proves that the new files hold the same rows:
/// their number and a checksum of every column, read back from the files.
/// `counted` is what [`count`] found in the same files. On any error, and on
/// cancel, what was written is removed.
///
/// # Errors
/// `StagedDiffers` where the proof fails; `MissingFiles`, `BadDataFile`,
/// `NotNullViolation`, `Storage`, `Cancelled`.
pub async fn relayout(job: LayoutJob, counted: &Counted, operation: Uuid, progress: &Progress) -> Result<Staged> {
    let bytes = job.files.iter().map(|f| f.size).sum();
    progress.enter(Phase::Reading, job.files.len() as u64, bytes);
    let reading = Arc::new(read::Reading::new(job)?);
    let out = Arc::new(out::Out::new(&reading, counted, operation));
    let written = async {
        let buckets = buckets::Buckets::new(&reading, counted);
        let (pool, read) = deal::deal(&reading, counted, buckets, progress).await?;
        progress.enter(Phase::Staging, 0, bytes);
        write::write(&reading, counted, pool, &out, progress).await?;
        // The staged files may be many: flushing them blocks.
        let durable = Arc::clone(&out);
        let flushed = tokio::task::spawn_blocking(move || durable.make_durable()).await;
        flushed.map_err(|e| Error::new(crate::error::ErrorKind::Internal, "flushing broke off").because(e))??;
        proof::prove(&reading, counted, &read, out.files(), progress).await
    };
    match written.await {
        Ok(staged) => Ok(staged),
        Err(error) => Err(left_behind(error, out.discard().await)),
    }
}

/// What was read: rows, and the wrapping sums of the cells' hashes per column.
#[derive(Debug, Clone, Default)]
struct Sums {
    rows: RowSet,
    columns: Vec<u128>,
}

impl Sums {
    fn of(columns: usize) -> Sums {
        Sums { rows: RowSet::default(), columns: vec![0; columns] }
    }

    fn merge(&mut self, more: &Sums) {
        self.rows.rows += more.rows.rows;
        self.rows.checksum = self.rows.checksum.wrapping_add(more.rows.checksum);
        self.columns.iter_mut().zip(&more.columns).for_each(|(all, more)| *all = all.wrapping_add(*more));
    }
}

/// How many tasks work at the same time on `parts` pieces of work.
fn workers(parts: usize) -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(parts).max(1)
}

type Paths = std::sync::Mutex<Vec<Path>>;
