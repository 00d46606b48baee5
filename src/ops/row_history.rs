//! How many rows partitions had after the last commits that changed their data.

use std::collections::{HashMap, HashSet};

use futures::{StreamExt, stream};

use super::browse::OpenTable;
use super::rebase;
use crate::error::{ErrorKind, Result};
use crate::gate::evidence::{PartitionHistory, VersionRows};
use crate::lake::Snapshot;
use crate::lake::log::action::{FileParser, Line};
use crate::lake::log::snapshot::read_commit;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::table::file::FileId;
use crate::table::partition::RowCount;
use crate::table::{Metadata, PartitionTuple};

/// Commits that are looked at, at most: what is older says little about what is
/// usual today.
const MOST_COMMITS: usize = 500;
/// Commits that are read at the same time.
const CONCURRENT: usize = 32;

/// The histories of some partitions; those without commits are not in it.
#[derive(Default)]
pub(super) struct Histories(HashMap<PartitionTuple, Partition>);

#[derive(Default)]
struct Partition {
    rows: RowCount,
    /// Oldest first.
    versions: Vec<VersionRows>,
}

/// What one commit did to the partitions that are wanted.
struct Commit {
    version: u64,
    adds: Vec<(FileId, PartitionTuple, Option<u64>)>,
    removes: Vec<FileId>,
    /// Partitions whose data changed, as far as the commit itself tells.
    touched: HashSet<PartitionTuple>,
    /// Whether it brought new metaData.
    metadata: bool,
    /// The table was partitioned by other columns before, so that all of its
    /// files came anew with this commit.
    begins: bool,
}

impl Histories {
    /// The facts of a plan's partitions, in their order.
    ///
    /// # Errors
    /// `BadPlan` for values that do not fit the table's columns.
    pub fn of(&self, plan: &Plan, metadata: &Metadata) -> Result<Vec<PartitionHistory>> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let tuples = rebase::partitions(plan, metadata)?;
        let found = tuples.iter().zip(&plan.partitions).filter_map(|(tuple, p)| {
            let known = self.0.get(tuple).filter(|known| !known.versions.is_empty())?;
            Some(PartitionHistory {
                label: p.label(),
                now: known.rows.exact(),
                versions: known.versions.iter().rev().copied().collect(),
            })
        });
        Ok(found.collect())
    }
}

/// Walks the last commits forwards from the newest state before them, so that
/// the rows of a file that goes are known from the time when it came.
///
/// # Errors
/// `Cancelled`; `BadPlan` for values that do not fit the table's columns. A
/// commit that cannot be read ends the look back: what is not known is not judged.
pub(super) async fn read(table: &OpenTable, plans: &[&Plan], versions: u64, progress: &Progress) -> Result<Histories> {
    let mut wanted: HashSet<PartitionTuple> = HashSet::new();
    for plan in plans {
        wanted.extend(rebase::partitions(plan, table.metadata())?);
    }
    if wanted.is_empty() {
        return Ok(Histories::default());
    }
    let enough = usize::try_from(versions).unwrap_or(usize::MAX);
    let commits = last_commits(table, &wanted, enough, progress).await?;
    let Some(oldest) = commits.last().map(|c| c.version) else { return Ok(Histories::default()) };
    let mut walk = Walk::default();
    let listing = table.snapshot().listing();
    let usable = listing.oldest_usable().unwrap_or(0);
    // Version 0 begins with nothing; any other needs what was there before.
    let begins = commits.last().is_some_and(|c| c.begins);
    let base = oldest.checked_sub(1).filter(|_| !begins).map(|before| before.max(usable));
    if let Some(base) = base {
        match base_files(table, base, &wanted, progress).await {
            Ok(files) => files.into_iter().for_each(|(id, tuple, rows)| walk.add(id, tuple, rows)),
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                tracing::warn!("version {base} could not be read for the row counts of the past: {error}");
                return Ok(Histories::default());
            }
        }
    }
    for commit in commits.into_iter().rev().filter(|c| base.is_none_or(|base| c.version > base)) {
        walk.step(commit);
    }
    Ok(Histories(walk.partitions))
}

/// Newest first, until each partition has enough that changed it.
async fn last_commits(
    table: &OpenTable,
    wanted: &HashSet<PartitionTuple>,
    enough: usize,
    progress: &Progress,
) -> Result<Vec<Commit>> {
    let snapshot = table.snapshot();
    let parser = FileParser::new(table.metadata(), false);
    let versions: Vec<u64> =
        snapshot.listing().commits.range(..=snapshot.version()).rev().map(|(v, _)| *v).take(MOST_COMMITS).collect();
    let mut missing: HashMap<&PartitionTuple, usize> = wanted.iter().map(|tuple| (tuple, enough)).collect();
    let mut found: Vec<Commit> = Vec::new();
    let mut entries = stream::iter(versions)
        .map(|version| async move { (version, read_commit(snapshot.store(), version).await) })
        .buffered(CONCURRENT);
    while let Some((version, lines)) = entries.next().await {
        progress.check()?;
        // A gap in the log ends what can be walked over.
        if missing.is_empty() || found.last().is_some_and(|newer| version + 1 != newer.version) {
            break;
        }
        let commit = match lines.and_then(|lines| interpreted(version, lines, &parser, wanted)) {
            Ok(commit) if commit.metadata => with_begin(commit, snapshot).await,
            other => other,
        };
        match commit {
            Ok(commit) => {
                for tuple in &commit.touched {
                    if let Some(left) = missing.get_mut(tuple) {
                        *left = left.saturating_sub(1);
                        if *left == 0 {
                            missing.remove(tuple);
                        }
                    }
                }
                let begins = commit.begins;
                found.push(commit);
                if begins {
                    break;
                }
            }
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                tracing::warn!("version {version} could not be read for the row counts of the past: {error}");
                break;
            }
        }
    }
    Ok(found)
}

/// Finds out whether a commit with new metaData changed the partition columns.
async fn with_begin(commit: Commit, snapshot: &Snapshot) -> Result<Commit> {
    let begins = match commit.version.checked_sub(1) {
        Some(before) => {
            snapshot.at(before).await?.metadata().partition_columns != snapshot.metadata().partition_columns
        }
        None => true,
    };
    Ok(Commit { begins, ..commit })
}

fn interpreted(
    version: u64,
    lines: Vec<Line>,
    parser: &FileParser,
    wanted: &HashSet<PartitionTuple>,
) -> Result<Commit> {
    let mut commit = Commit {
        version,
        adds: Vec::new(),
        removes: Vec::new(),
        touched: HashSet::new(),
        metadata: lines.iter().any(|l| l.meta_data.is_some()),
        begins: false,
    };
    for line in lines {
        if let Some(add) = line.add {
            let (id, changes) = (add.id(), add.data_change);
            let file = parser.file(add, None)?;
            if wanted.contains(&file.partition) {
                if changes {
                    commit.touched.insert(file.partition.clone());
                }
                let rows = file.live_rows();
                commit.adds.push((id, file.partition, rows));
            }
        }
        if let Some(remove) = line.remove {
            if let Some(values) = remove.partition_values.as_ref().filter(|_| remove.data_change) {
                let tuple = parser.partition(&remove.path, values)?;
                if wanted.contains(&tuple) {
                    commit.touched.insert(tuple);
                }
            }
            commit.removes.push(remove.id());
        }
    }
    Ok(commit)
}

type BaseFile = (FileId, PartitionTuple, Option<u64>);

async fn base_files(
    table: &OpenTable,
    version: u64,
    wanted: &HashSet<PartitionTuple>,
    progress: &Progress,
) -> Result<Vec<BaseFile>> {
    let mut kept = Vec::new();
    let base = table.snapshot().at(version).await?;
    base.stream_files(false, &mut |files| {
        progress.check()?;
        let files = files.into_iter().filter(|file| wanted.contains(&file.partition));
        kept.extend(files.map(|file| (file.id(), file.partition.clone(), file.live_rows())));
        Ok(())
    })
    .await?;
    Ok(kept)
}

/// Live files of the wanted partitions, and the rows that they add up to.
#[derive(Default)]
struct Walk {
    live: HashMap<FileId, (PartitionTuple, Option<u64>)>,
    partitions: HashMap<PartitionTuple, Partition>,
}

impl Walk {
    fn add(&mut self, id: FileId, tuple: PartitionTuple, rows: Option<u64>) {
        // An add of a file that is there already replaces it.
        self.remove(&id);
        self.partitions.entry(tuple.clone()).or_default().rows.add(rows);
        self.live.insert(id, (tuple, rows));
    }

    fn remove(&mut self, id: &FileId) {
        let Some((tuple, rows)) = self.live.remove(id) else { return };
        let count = &mut self.partitions.entry(tuple).or_default().rows;
        match rows {
            Some(rows) => count.known = count.known.saturating_sub(rows),
            None => count.unknown_files = count.unknown_files.saturating_sub(1),
        }
    }

    fn step(&mut self, commit: Commit) {
        let before: Vec<(PartitionTuple, Option<u64>)> = commit
            .touched
            .into_iter()
            .map(|tuple| {
                let rows = self.partitions.get(&tuple).map_or(Some(0), |p| p.rows.exact());
                (tuple, rows)
            })
            .collect();
        commit.removes.iter().for_each(|id| self.remove(id));
        commit.adds.into_iter().for_each(|(id, tuple, rows)| self.add(id, tuple, rows));
        for (tuple, before) in before {
            let partition = self.partitions.entry(tuple).or_default();
            if let Some(rows) = partition.rows.exact() {
                partition.versions.push(VersionRows { version: commit.version, rows, before });
            }
        }
    }
}
