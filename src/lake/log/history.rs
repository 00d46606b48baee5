//! Every version of a table, once each, correctly numbered.

use std::collections::{BTreeSet, HashMap};

use futures::{StreamExt, TryStreamExt, stream};

use super::action::{FileParser, Line, parse_metadata, plausible};
use super::segment::LogListing;
use super::snapshot::{Snapshot, read_commit};
use super::version::timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Phase, Progress};
use crate::table::file::FileId;
use crate::table::history::{Commit, FileChange, Restorable};
use crate::table::partition::PartitionTuple;

/// Look-ups of data files that run at the same time.
const LOOKUPS: usize = 64;

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
    let mut paths_of: Vec<(usize, Vec<String>, Vec<String>)> = Vec::new();
    let mut entries = stream::iter(versions)
        .map(|v| async move {
            let lines = read_commit(snapshot.store(), v).await?;
            Ok::<_, Error>((v, timestamp(snapshot, v).await?, lines))
        })
        .buffered(32);
    while let Some((version, time, lines)) = entries.try_next().await? {
        progress.check()?;
        progress.advance(1, 0, 0);
        let (commit, added, removed) = walk.step(version, time, lines)?;
        paths_of.push((commits.len(), added, removed));
        commits.push(commit);
    }
    if check_files {
        mark_restorable(snapshot, &walk.base, &paths_of, &mut commits, walk.usable_from).await?;
    }
    let newest = snapshot.version();
    if commits.last().is_none_or(|c| c.version < newest) {
        // Only a checkpoint tells of the newest version.
        commits.push(blank(newest, timestamp(snapshot, newest).await?));
    }
    commits.reverse();
    Ok(commits)
}

fn blank(version: u64, timestamp: i64) -> Commit {
    Commit {
        version,
        timestamp,
        info: None,
        partitions: Vec::new(),
        added: FileChange::default(),
        removed: FileChange::default(),
        changes_metadata: false,
        changes_protocol: false,
        restorable: None,
    }
}

/// Replays forwards, so that a remove's rows and partition are known from the
/// add before it.
struct Walk {
    parser: FileParser,
    live: HashMap<FileId, Live>,
    /// Files of the oldest version that can be put together.
    base: Vec<String>,
    /// Versions below are not reconstructable.
    usable_from: u64,
}

impl Walk {
    async fn start(snapshot: &Snapshot, listing: &LogListing, versions: &[u64]) -> Result<Walk> {
        let usable_from = listing.oldest_usable().unwrap_or(0);
        let mut walk = Walk {
            parser: FileParser::new(snapshot.metadata(), false),
            live: HashMap::new(),
            base: Vec::new(),
            usable_from,
        };
        let from_zero = usable_from == 0 && versions.first() == Some(&0);
        if !from_zero && usable_from <= snapshot.version() {
            let base = snapshot.at(usable_from).await?;
            walk.parser = FileParser::new(base.metadata(), false);
            for file in base.files(false).await? {
                walk.base.push(file.path.clone());
                walk.live
                    .insert(file.id(), Live { rows: file.live_rows(), bytes: file.size, partition: file.partition });
            }
        }
        Ok(walk)
    }

    fn step(&mut self, version: u64, time: i64, lines: Vec<Line>) -> Result<(Commit, Vec<String>, Vec<String>)> {
        let mut commit = Commit {
            added: FileChange { rows: Some(0), ..FileChange::default() },
            removed: FileChange { rows: Some(0), ..FileChange::default() },
            ..blank(version, time)
        };
        let (mut touched, mut added, mut removed) = (BTreeSet::new(), Vec::new(), Vec::new());
        for metadata in lines.iter().filter_map(|l| l.meta_data.as_ref()) {
            commit.changes_metadata = true;
            self.parser = FileParser::new(&parse_metadata(metadata.clone())?, false);
        }
        for line in lines {
            commit.changes_protocol |= line.protocol.is_some();
            if let Some(info) = line.commit_info {
                commit.info = Some(info);
            }
            if let Some(add) = line.add {
                let (change, path, id) = (add.data_change, add.path.clone(), add.id());
                let file = self.parser.file(add, Some(version))?;
                count(&mut commit.added, file.live_rows(), file.size);
                if change {
                    touched.insert(file.partition.clone());
                }
                self.live.insert(id, Live { rows: file.live_rows(), bytes: file.size, partition: file.partition });
                added.push(path);
            }
            if let Some(remove) = line.remove {
                let was = self.live.remove(&remove.id());
                let bytes = remove.size.and_then(plausible).or(was.as_ref().map(|w| w.bytes)).unwrap_or(0);
                count(&mut commit.removed, was.as_ref().and_then(|w| w.rows), bytes);
                if remove.data_change {
                    match (was, &remove.partition_values) {
                        (Some(was), _) => touched.insert(was.partition),
                        (None, Some(values)) => touched.insert(self.parser.partition(&remove.path, values)?),
                        (None, None) => false,
                    };
                }
                removed.push(remove.path);
            }
        }
        commit.partitions = touched.into_iter().collect();
        Ok((commit, added, removed))
    }
}

fn count(change: &mut FileChange, rows: Option<u64>, bytes: u64) {
    change.files += 1;
    change.bytes += bytes;
    change.rows = change.rows.zip(rows).map(|(a, b)| a + b);
}

async fn mark_restorable(
    snapshot: &Snapshot,
    base: &[String],
    paths_of: &[(usize, Vec<String>, Vec<String>)],
    commits: &mut [Commit],
    usable_from: u64,
) -> Result<()> {
    let all: BTreeSet<String> = base.iter().chain(paths_of.iter().flat_map(|(_, added, _)| added)).cloned().collect();
    let gone: HashMap<String, bool> = stream::iter(all)
        .map(|path| async move {
            match snapshot.store().exists(&path).await {
                Ok(there) => Ok((path, !there)),
                // A path on another store: it cannot be put back from here.
                Err(e) if e.kind == ErrorKind::BadDataFile => Ok((path, true)),
                Err(e) => Err(e),
            }
        })
        .buffer_unordered(LOOKUPS)
        .try_collect()
        .await?;
    let is_gone = |path: &String| gone.get(path).copied().unwrap_or(false);
    // A path can be live twice at once only across deletion vectors; the count
    // is by path, so it is entered and left together.
    let mut live: HashMap<String, u64> = base.iter().map(|p| (p.clone(), 1)).collect();
    let mut missing = base.iter().filter(|p| is_gone(p)).count() as u64;
    for (index, added, removed) in paths_of {
        if commits[*index].version < usable_from {
            commits[*index].restorable = Some(Restorable::LogGone);
            continue;
        }
        if commits[*index].version > usable_from || base.is_empty() {
            for path in removed {
                if let Some(times) = live.get_mut(path) {
                    *times -= 1;
                    if *times == 0 {
                        live.remove(path);
                        missing -= u64::from(is_gone(path));
                    }
                }
            }
            for path in added {
                let times = live.entry(path.clone()).or_insert(0);
                *times += 1;
                if *times == 1 {
                    missing += u64::from(is_gone(path));
                }
            }
        }
        commits[*index].restorable = Some(if missing == 0 { Restorable::Yes } else { Restorable::FilesGone(missing) });
    }
    Ok(())
}
