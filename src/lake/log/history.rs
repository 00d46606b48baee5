//! Every version of a table, once each, correctly numbered.

use std::collections::{BTreeSet, HashMap};

use futures::{StreamExt, TryStreamExt, stream};

use super::action::{FileParser, Line, parse_metadata, plausible};
use super::restorable::{self, Named, Step};
use super::segment::LogListing;
use super::snapshot::{Snapshot, read_commit};
use super::version::timestamp;
use crate::error::{Error, Result};
use crate::progress::{Phase, Progress};
use crate::table::file::FileId;
use crate::table::history::{Commit, FileChange, Touched};
use crate::table::partition::PartitionTuple;

struct Live {
    partition: PartitionTuple,
    rows: Option<u64>,
    bytes: u64,
}

/// Reads the history up to the snapshot's version, newest first. With
/// `check_files` each version is marked restorable or not, by looking for
/// every data file that any version names.
///
/// # Errors
/// `BadCommit`, `BadCheckpoint`, `Storage`.
pub async fn read(snapshot: &Snapshot, check_files: bool, progress: &Progress) -> Result<Vec<Commit>> {
    let listing = snapshot.listing();
    let versions: Vec<u64> = listing.commits.range(..=snapshot.version()).map(|(v, _)| *v).collect();
    progress.enter(Phase::Reading, versions.len() as u64, 0);
    let mut walk = Walk::start(snapshot, listing, &versions).await?;
    let mut commits: Vec<Commit> = Vec::with_capacity(versions.len());
    let mut steps: Vec<Step> = Vec::new();
    let mut entries = stream::iter(versions)
        .map(|v| async move {
            let lines = read_commit(snapshot.store(), v).await?;
            Ok::<_, Error>((v, timestamp(snapshot, v).await?, lines))
        })
        .buffered(32);
    while let Some((version, time, lines)) = entries.try_next().await? {
        progress.check()?;
        progress.advance(1, 0, 0);
        let (commit, step) = walk.step(version, time, lines)?;
        steps.push(step);
        commits.push(commit);
    }
    let newest = snapshot.version();
    if commits.last().is_none_or(|c| c.version < newest) {
        // Only a checkpoint tells of the newest version.
        steps.push(Step::default());
        commits.push(blank(newest, timestamp(snapshot, newest).await?));
    }
    if check_files {
        restorable::mark(snapshot, &walk.base, &steps, &mut commits, walk.usable_from).await?;
    }
    commits.reverse();
    Ok(commits)
}

fn blank(version: u64, timestamp: i64) -> Commit {
    Commit {
        version,
        timestamp,
        info: None,
        touched: Vec::new(),
        switches: false,
        added: FileChange::default(),
        removed: FileChange::default(),
        changes_metadata: false,
        changes_protocol: false,
        restorable: None,
        restorable_until: None,
    }
}

/// Replays forwards, so that a remove's rows and partition are known from the
/// add before it.
struct Walk {
    parser: FileParser,
    /// The partition columns of the version that was read last.
    columns: Vec<String>,
    live: HashMap<FileId, Live>,
    /// Files of the oldest version that can be put together.
    base: Vec<Named>,
    /// Versions below are not reconstructable.
    usable_from: u64,
}

impl Walk {
    async fn start(snapshot: &Snapshot, listing: &LogListing, versions: &[u64]) -> Result<Walk> {
        let usable_from = listing.oldest_usable().unwrap_or(0);
        let mut walk = Walk {
            parser: FileParser::new(snapshot.metadata(), false),
            columns: snapshot.metadata().partition_columns.clone(),
            live: HashMap::new(),
            base: Vec::new(),
            usable_from,
        };
        let from_zero = usable_from == 0 && versions.first() == Some(&0);
        if !from_zero && usable_from <= snapshot.version() {
            let base = snapshot.at(usable_from).await?;
            walk.parser = FileParser::new(base.metadata(), false);
            walk.columns.clone_from(&base.metadata().partition_columns);
            for file in base.files(false).await? {
                walk.base.push(Named::of(&file));
                walk.live
                    .insert(file.id(), Live { rows: file.live_rows(), bytes: file.size, partition: file.partition });
            }
        }
        Ok(walk)
    }

    fn step(&mut self, version: u64, time: i64, lines: Vec<Line>) -> Result<(Commit, Step)> {
        let mut commit = Commit {
            added: FileChange { rows: Some(0), ..FileChange::default() },
            removed: FileChange { rows: Some(0), ..FileChange::default() },
            ..blank(version, time)
        };
        let (mut touched, mut step) = (BTreeSet::new(), Step::default());
        // Files that go lie under the columns of before.
        let (mut left, old) = (BTreeSet::new(), self.columns.clone());
        for metadata in lines.iter().filter_map(|l| l.meta_data.as_ref()) {
            commit.changes_metadata = true;
            let metadata = parse_metadata(metadata.clone())?;
            self.parser = FileParser::new(&metadata, false);
            // The first version has no layout before it.
            commit.switches = version > 0 && metadata.partition_columns != old;
            self.columns = metadata.partition_columns;
        }
        for line in lines {
            commit.changes_protocol |= line.protocol.is_some();
            if let Some(info) = line.commit_info {
                commit.info = Some(info);
            }
            if let Some(add) = line.add {
                let (change, id) = (add.data_change, add.id());
                let file = self.parser.file(add, Some(version))?;
                count(&mut commit.added, file.live_rows(), file.size);
                if change {
                    touched.insert(file.partition.clone());
                }
                step.added.push(Named::of(&file));
                self.live.insert(id, Live { rows: file.live_rows(), bytes: file.size, partition: file.partition });
            }
            if let Some(remove) = line.remove {
                let was = self.live.remove(&remove.id());
                let bytes = remove.size.and_then(plausible).or(was.as_ref().map(|w| w.bytes)).unwrap_or(0);
                count(&mut commit.removed, was.as_ref().and_then(|w| w.rows), bytes);
                if remove.data_change {
                    match (was, &remove.partition_values) {
                        (Some(was), _) if commit.switches => left.insert(was.partition),
                        (Some(was), _) => touched.insert(was.partition),
                        // Of another layout, which nothing is left to read by.
                        (None, Some(_)) if commit.switches => false,
                        (None, Some(values)) => touched.insert(self.parser.partition(&remove.path, values)?),
                        (None, None) => false,
                    };
                }
                step.remove(&remove);
            }
        }
        let layouts = [(old, left), (self.columns.clone(), touched)];
        let layouts = layouts.into_iter().filter(|(_, tuples)| !tuples.is_empty());
        commit.touched =
            layouts.map(|(columns, tuples)| Touched { columns, partitions: tuples.into_iter().collect() }).collect();
        Ok((commit, step))
    }
}

fn count(change: &mut FileChange, rows: Option<u64>, bytes: u64) {
    change.files += 1;
    change.bytes += bytes;
    change.rows = change.rows.zip(rows).map(|(a, b)| a + b);
}
