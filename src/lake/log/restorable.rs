//! Which versions can still be put back, and until when.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::{StreamExt, TryStreamExt, stream};

use super::action::Remove;
use super::deletion_vectors::vector_path;
use super::snapshot::{Snapshot, read_commit};
use crate::error::{ErrorKind, Result};
use crate::table::DataFile;
use crate::table::file::FileId;
use crate::table::history::{Commit, Restorable};
use crate::table::retention::{deleted_file_retention, log_retention};

/// Look-ups of data files that run at the same time.
const LOOKUPS: usize = 64;

/// A file that some version has.
pub struct Named {
    id: FileId,
    /// Its data file and its deletion vector's; `None` where its deletion
    /// vector says no place.
    paths: Option<Vec<String>>,
}

impl Named {
    pub fn of(file: &DataFile) -> Named {
        let paths =
            vector_path(file).ok().map(|vector| [Some(file.path.clone()), vector].into_iter().flatten().collect());
        Named { id: file.id(), paths }
    }
}

/// What one version does to the files.
#[derive(Default)]
pub struct Step {
    pub added: Vec<Named>,
    /// With the time of removal, milliseconds since the epoch, 0 where the log
    /// does not tell it: then nothing keeps the file.
    pub removed: Vec<(FileId, i64)>,
}

impl Step {
    pub fn remove(&mut self, remove: &Remove) {
        self.removed.push((remove.id(), remove.deletion_timestamp.unwrap_or(0)));
    }
}

/// Marks commits. `base`: the files of the oldest version that can be put
/// together, `usable_from`, unless the steps begin with an empty table. Steps
/// are in the order of the commits.
///
/// # Errors
/// `BadCommit`, `Storage`.
pub async fn mark(
    snapshot: &Snapshot,
    base: &[Named],
    steps: &[Step],
    commits: &mut [Commit],
    usable_from: u64,
) -> Result<()> {
    let gone = gone(snapshot, base.iter().chain(steps.iter().flat_map(|s| &s.added))).await?;
    let is_gone = |id: &FileId| gone.get(id).copied().unwrap_or(false);
    let usable = |commit: &Commit| commit.version > usable_from || (base.is_empty() && commit.version == usable_from);
    let walked = commits.iter().zip(steps).filter(|(commit, _)| usable(commit)).map(|(_, step)| step);
    let ends = Ends::of(snapshot, base, walked).await?;
    // The newest entry stays, however old it is.
    let newest = snapshot.listing().commits.keys().next_back().copied();
    let log_kept = log_retention(snapshot.metadata());
    let mut live = Live::default();
    base.iter().for_each(|file| live.enter(&file.id, is_gone(&file.id), ends.expiry(&file.id)));
    for (commit, step) in commits.iter_mut().zip(steps) {
        if commit.version < usable_from {
            commit.restorable = Some(Restorable::LogGone);
            continue;
        }
        if usable(commit) {
            step.removed.iter().for_each(|(id, _)| live.leave(id));
            step.added.iter().for_each(|file| live.enter(&file.id, is_gone(&file.id), ends.expiry(&file.id)));
        }
        commit.restorable = Some(match live.missing {
            0 => Restorable::Yes,
            n => Restorable::FilesGone(n),
        });
        let log_end = log_kept.filter(|_| Some(commit.version) != newest);
        let log_end = log_end.map(|kept| commit.timestamp.saturating_add(kept));
        commit.restorable_until =
            if live.missing == 0 { live.first_end().into_iter().chain(log_end).min() } else { None };
    }
    Ok(())
}

async fn gone<'a>(snapshot: &Snapshot, files: impl Iterator<Item = &'a Named>) -> Result<HashMap<FileId, bool>> {
    let files: Vec<&Named> = files.collect();
    let paths: BTreeSet<String> = files.iter().flat_map(|file| file.paths.iter().flatten().cloned()).collect();
    let there: HashMap<String, bool> = stream::iter(paths)
        .map(|path| async move {
            match snapshot.store().exists(&path).await {
                Ok(there) => Ok((path, there)),
                // A path on another store: it cannot be put back from here.
                Err(e) if e.kind == ErrorKind::BadDataFile => Ok((path, false)),
                Err(e) => Err(e),
            }
        })
        .buffer_unordered(LOOKUPS)
        .try_collect()
        .await?;
    let whole = |file: &Named| {
        file.paths.as_ref().is_some_and(|paths| paths.iter().all(|path| there.get(path).copied().unwrap_or(false)))
    };
    Ok(files.into_iter().map(|file| (file.id.clone(), !whole(file))).collect())
}

/// When files stop being kept.
struct Ends {
    live: BTreeSet<FileId>,
    /// The last removal of each file that is not live.
    removed: HashMap<FileId, i64>,
    /// The same by path: what VACUUM goes by. `None`: the path is live.
    by_path: HashMap<String, Option<i64>>,
    /// `None`: not understood, so that no end can be told.
    retention: Option<i64>,
}

impl Ends {
    /// Removals of all steps, and of commits that are newer than the snapshot.
    async fn of(snapshot: &Snapshot, base: &[Named], steps: impl Iterator<Item = &Step>) -> Result<Ends> {
        let mut live: BTreeSet<FileId> = base.iter().map(|file| file.id.clone()).collect();
        let mut removed: HashMap<FileId, i64> = HashMap::new();
        let mut step = |gone: &mut dyn Iterator<Item = (FileId, i64)>, added: &mut dyn Iterator<Item = FileId>| {
            for (id, at) in gone {
                live.remove(&id);
                let last = removed.entry(id).or_insert(at);
                *last = at.max(*last);
            }
            live.extend(added);
        };
        for one in steps {
            step(&mut one.removed.iter().cloned(), &mut one.added.iter().map(|file| file.id.clone()));
        }
        let newer: Vec<u64> = snapshot.listing().commits.range(snapshot.version() + 1..).map(|(v, _)| *v).collect();
        let mut entries = stream::iter(newer)
            .map(|version| async move { read_commit(snapshot.store(), version).await })
            .buffered(LOOKUPS);
        while let Some(lines) = entries.try_next().await? {
            let mut own = Step::default();
            lines.iter().filter_map(|l| l.remove.as_ref()).for_each(|remove| own.remove(remove));
            let mut added = lines.iter().filter_map(|l| Some(l.add.as_ref()?.id()));
            step(&mut own.removed.into_iter(), &mut added);
        }
        let mut by_path: HashMap<String, Option<i64>> = HashMap::new();
        for (id, at) in &removed {
            let last = by_path.entry(id.path.clone()).or_insert(Some(*at));
            *last = (*last).max(Some(*at));
        }
        by_path.extend(live.iter().map(|id| (id.path.clone(), None)));
        Ok(Ends { live, removed, by_path, retention: deleted_file_retention(snapshot.metadata()) })
    }

    /// Milliseconds since the epoch; `None` for a file that stays.
    fn expiry(&self, id: &FileId) -> Option<i64> {
        if self.live.contains(id) {
            return None;
        }
        let data = self.by_path.get(&id.path).copied().flatten();
        // An inline vector has no file of its own.
        let vector = id.deletion_vector.as_ref().filter(|text| !text.starts_with('i'));
        let vector = vector.and_then(|_| self.removed.get(id).copied());
        let first = data.into_iter().chain(vector).min()?;
        Some(first.saturating_add(self.retention?))
    }
}

/// The files of one version, as far as they matter.
#[derive(Default)]
struct Live {
    files: HashMap<FileId, (bool, Option<i64>)>,
    missing: u64,
    /// How many files stop being kept at each time.
    ends: BTreeMap<i64, u64>,
}

impl Live {
    fn enter(&mut self, id: &FileId, gone: bool, end: Option<i64>) {
        self.leave(id);
        self.missing += u64::from(gone);
        if let Some(end) = end {
            *self.ends.entry(end).or_default() += 1;
        }
        self.files.insert(id.clone(), (gone, end));
    }

    fn leave(&mut self, id: &FileId) {
        let Some((gone, end)) = self.files.remove(id) else { return };
        self.missing -= u64::from(gone);
        if let Some(end) = end
            && let Some(files) = self.ends.get_mut(&end)
        {
            *files -= 1;
            if *files == 0 {
                self.ends.remove(&end);
            }
        }
    }

    fn first_end(&self) -> Option<i64> {
        self.ends.keys().next().copied()
    }
}

/// When a commit that is made now can no longer be taken back, in milliseconds
/// since the epoch: once its entry may leave the log, or VACUUM may take what it
/// removes. `None` where neither happens, or where the retention of files that
/// it removes is not understood.
pub fn kept_until(snapshot: &Snapshot, committed_at: i64, removes: bool) -> Option<i64> {
    let mut kept = log_retention(snapshot.metadata());
    if removes {
        let files = deleted_file_retention(snapshot.metadata())?;
        kept = Some(kept.map_or(files, |log| log.min(files)));
    }
    Some(committed_at.saturating_add(kept?))
}
