//! What of a table's folder VACUUM may take away, and what it must not.

use std::collections::{BTreeSet, HashSet};

use crate::error::Result;
use crate::journal::Journal;
use crate::lake::Snapshot;
use crate::lake::folder::{self, FolderFiles};
use crate::lake::log::deletion_vectors::vector_path;
use crate::lake::log::ledger::Ledger;
use crate::plan::vacuum::{VacuumFile, Why};

/// The files that are needed, and the moment before which a file is old.
pub struct Keep {
    paths: HashSet<String>,
    /// The needed files by what they are, for stores in which one file has
    /// several names (letters' case, accents, links).
    identities: HashSet<(u64, u64)>,
    /// Ids of operations that may still be at work.
    running: Vec<String>,
    /// Paths that some action of the log names.
    known: HashSet<String>,
    /// milliseconds since the epoch
    cutoff: i64,
}

impl Keep {
    /// What the newest version, the tombstones since `cutoff` and the protected
    /// versions need.
    ///
    /// # Errors
    /// `NoSuchVersion` and `VersionGone` of a protected version; whatever is
    /// wrong with the log.
    pub async fn of(
        snapshot: &Snapshot,
        ledger: &Ledger,
        folder: &FolderFiles,
        protect: &[u64],
        cutoff: i64,
        journal: &Journal,
    ) -> Result<Keep> {
        let mut paths: HashSet<String> = HashSet::new();
        let mut whole: Vec<Snapshot> = vec![snapshot.clone()];
        for version in protect {
            whole.push(snapshot.at(*version).await?);
        }
        for version in &whole {
            for file in version.files(false).await? {
                for raw in [Some(file.path.clone()), vector_path(&file)?].into_iter().flatten() {
                    paths.extend(snapshot.store().below(&raw)?);
                }
            }
        }
        for stone in &ledger.tombstones {
            if stone.removed_at.is_none_or(|at| at >= cutoff) {
                paths.extend(stone.file.files().cloned());
            }
        }
        // What a commit of the retained time added is live or has a younger
        // tombstone; a log that says otherwise is not trusted with a deletion.
        for step in ledger.steps.iter().filter(|s| s.timestamp >= cutoff) {
            paths.extend(step.added.iter().flat_map(|f| f.files().cloned()));
        }
        let unlisted = paths.iter().filter(|p| !folder.contains_key(*p));
        let identities = unlisted.filter_map(|p| folder::find(snapshot.store(), p)?.identity).collect();
        let mut known: HashSet<String> = ledger.tombstones.iter().flat_map(|t| t.file.files().cloned()).collect();
        known.extend(ledger.steps.iter().flat_map(|s| s.added.iter()).flat_map(|f| f.files().cloned()));
        Ok(Keep { paths, identities, running: running(journal)?, known, cutoff })
    }

    /// The files of the folder that nobody needs, by path.
    pub fn doomed(&self, folder: &FolderFiles) -> Vec<VacuumFile> {
        let linked: HashSet<(u64, u64)> =
            folder.iter().filter(|(p, _)| self.paths.contains(*p)).filter_map(|(_, f)| f.identity).collect();
        folder
            .iter()
            .filter(|(path, file)| {
                let needed = self.paths.contains(*path)
                    || file.identity.is_some_and(|id| self.identities.contains(&id) || linked.contains(&id));
                let staged = self.running.iter().any(|id| path.contains(id.as_str()));
                !needed && !staged && file.modified < self.cutoff
            })
            .map(|(path, file)| VacuumFile { path: path.clone(), size: file.size, why: self.why(path) })
            .collect()
    }

    fn why(&self, path: &str) -> Why {
        if path.starts_with("_change_data/") {
            Why::ChangeData
        } else if self.known.contains(path) {
            Why::Removed
        } else {
            Why::Unknown
        }
    }
}

/// Operations of this machine that did not end yet, as far as the journal knows:
/// their files may be staged, or live without anybody knowing.
fn running(journal: &Journal) -> Result<Vec<String>> {
    let open = journal.entries()?.into_iter().filter(|e| e.is_open());
    // A damaged entry has no id that could be looked for.
    Ok(open.map(|e| e.id).filter(|id| id.len() >= 32).collect())
}

/// Versions that are whole now and would not be without `doomed`; the newest
/// is never among them.
pub fn lost_versions(ledger: &Ledger, folder: &FolderFiles, doomed: &[VacuumFile]) -> Vec<u64> {
    let names: BTreeSet<&str> = doomed.iter().map(|f| f.path.as_str()).collect();
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    ledger.walk(|_, _, came, _| {
        gone.extend(came.iter().flat_map(|f| f.files()).map(String::as_str).filter(|p| !folder.contains_key(*p)));
    });
    let broken: HashSet<u64> = ledger.versions_with(&gone).into_iter().collect();
    ledger.versions_with(&names).into_iter().filter(|v| !broken.contains(v)).collect()
}

/// partwise's operations that could be taken back, and cannot without `doomed`.
pub fn lost_undos(ledger: &Ledger, folder: &FolderFiles, doomed: &[VacuumFile]) -> Vec<crate::plan::vacuum::LostUndo> {
    let names: BTreeSet<&str> = doomed.iter().map(|f| f.path.as_str()).collect();
    let mut lost = Vec::new();
    for step in &ledger.steps {
        let Some((id, operation)) = &step.operation else { continue };
        let needed: Vec<&str> = step.removed.iter().flat_map(|f| f.files()).map(String::as_str).collect();
        let there = needed.iter().all(|p| folder.contains_key(*p));
        if operation != "vacuum" && there && needed.iter().any(|p| names.contains(p)) {
            lost.push(crate::plan::vacuum::LostUndo { operation: id.clone(), version: step.version });
        }
    }
    lost
}
