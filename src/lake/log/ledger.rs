//! Every file that the log names, commit by commit: what vacuum and the health
//! view go by. Wider than a snapshot: removed files count, too.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value as Json};

use super::action::Line;
use super::checkpoint;
use super::deletion_vectors::vector_of;
use super::snapshot::{Snapshot, read_commit};
use super::version::timestamp;
use crate::error::Result;
use crate::lake::TableStore;
use crate::progress::{Phase, Progress};
use crate::table::DeletionVector;

/// A data file as an action names it, with its deletion vector's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Below the table's folder, not URL-encoded. An absolute path elsewhere is none.
    pub path: Option<String>,
    pub vector: Option<String>,
    /// The identity under which replay pairs adds and removes.
    key: (String, Option<String>),
    pub size: u64,
}

impl Named {
    fn new(store: &TableStore, raw: &str, vector: Option<&DeletionVector>, size: Option<i64>) -> Result<Named> {
        let file = match vector.map(vector_of).transpose()?.flatten() {
            Some(raw) => store.below(&raw)?,
            None => None,
        };
        Ok(Named {
            path: store.below(raw)?,
            vector: file,
            key: (raw.to_owned(), vector.map(DeletionVector::unique_id)),
            size: size.and_then(|s| u64::try_from(s).ok()).unwrap_or(0),
        })
    }

    /// Its files below the table's folder.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.path.iter().chain(&self.vector)
    }
}

/// A removed file that the log still tells of.
#[derive(Debug, Clone)]
pub struct Tombstone {
    pub file: Named,
    /// milliseconds since the epoch: when the commit landed or when it says that
    /// it removed the file, whichever is later; `None` where neither is known.
    pub removed_at: Option<i64>,
}

/// One commit, reduced to the files that it names.
#[derive(Debug)]
pub struct Step {
    pub version: u64,
    /// milliseconds since the epoch
    pub timestamp: i64,
    pub added: Vec<Named>,
    pub removed: Vec<Named>,
    /// The id of the partwise operation that made it, and its name.
    pub operation: Option<(String, String)>,
    /// Application ids of its transactions.
    pub applications: Vec<String>,
    /// Bytes of its change data files.
    pub changes: u64,
}

#[derive(Debug, Default)]
pub struct Ledger {
    /// The oldest version that can be put together, and its files.
    pub base: Option<(u64, Vec<Named>)>,
    /// Ascending.
    pub steps: Vec<Step>,
    pub tombstones: Vec<Tombstone>,
}

impl Ledger {
    /// Reads every commit that the log has up to the snapshot's version, and
    /// the tombstones of its checkpoint.
    ///
    /// # Errors
    /// `BadCommit`, `BadCheckpoint`, `Storage`; `BadDataFile` for a path that
    /// cannot be placed.
    pub async fn read(snapshot: &Snapshot, progress: &Progress) -> Result<Ledger> {
        let (store, listing) = (snapshot.store(), snapshot.listing());
        let versions: Vec<u64> = listing.commits.range(..=snapshot.version()).map(|(v, _)| *v).collect();
        progress.enter(Phase::Reading, versions.len() as u64, 0);
        let mut ledger = Ledger::default();
        if let Some((_, newest)) = listing.checkpoints.range(..=snapshot.version()).next_back() {
            for remove in checkpoint::read_removes(store, newest).await? {
                let file = Named::new(store, &remove.path, remove.deletion_vector.as_ref(), remove.size)?;
                ledger.tombstones.push(Tombstone { file, removed_at: remove.deletion_timestamp });
            }
        }
        let usable = listing.oldest_usable().filter(|v| *v <= snapshot.version());
        if let Some(oldest) = usable.filter(|v| *v > 0 || versions.first() != Some(&0)) {
            let files = snapshot.at(oldest).await?.files(false).await?;
            let named = files
                .iter()
                .map(|f| Named::new(store, &f.path, f.deletion_vector.as_ref(), i64::try_from(f.size).ok()));
            ledger.base = Some((oldest, named.collect::<Result<_>>()?));
        }
        let mut commits = stream::iter(versions)
            .map(|v| async move {
                let lines = read_commit(store, v).await?;
                Ok::<_, crate::error::Error>((v, timestamp(snapshot, v).await?, lines))
            })
            .buffered(32);
        while let Some((version, at, lines)) = commits.try_next().await? {
            progress.check()?;
            progress.advance(1, 0, 0);
            let step = ledger.step(store, version, at, lines)?;
            ledger.steps.push(step);
        }
        Ok(ledger)
    }

    fn step(&mut self, store: &TableStore, version: u64, at: i64, lines: Vec<Line>) -> Result<Step> {
        let mut step = Step {
            version,
            timestamp: at,
            added: Vec::new(),
            removed: Vec::new(),
            operation: None,
            applications: Vec::new(),
            changes: 0,
        };
        for line in lines {
            if let Some(add) = line.add {
                step.added.push(Named::new(store, &add.path, add.deletion_vector.as_ref(), Some(add.size))?);
            }
            if let Some(remove) = line.remove {
                let file = Named::new(store, &remove.path, remove.deletion_vector.as_ref(), remove.size)?;
                let removed_at = Some(remove.deletion_timestamp.unwrap_or(at).max(at));
                self.tombstones.push(Tombstone { file: file.clone(), removed_at });
                step.removed.push(file);
            }
            step.applications.extend(line.txn.map(|t| t.app_id));
            let own = line.commit_info.as_ref().and_then(own);
            step.operation = step.operation.take().or(own);
        }
        Ok(step)
    }

    /// Calls `visit` for every version that can be put together, with the files
    /// that came and went since the one before; ascending.
    pub fn walk<'a>(&'a self, mut visit: impl FnMut(u64, Option<&'a Step>, &[&'a Named], &[&'a Named])) {
        let mut live: HashMap<&(String, Option<String>), &Named> = HashMap::new();
        let from = match &self.base {
            Some((version, files)) => {
                live.extend(files.iter().map(|f| (&f.key, f)));
                visit(*version, None, &files.iter().collect::<Vec<_>>(), &[]);
                version + 1
            }
            None => 0,
        };
        for step in self.steps.iter().filter(|s| s.version >= from) {
            let gone: Vec<&Named> = step.removed.iter().filter_map(|f| live.remove(&f.key)).collect();
            let mut came = Vec::new();
            for file in &step.added {
                if live.insert(&file.key, file).is_none() {
                    came.push(file);
                }
            }
            visit(step.version, Some(step), &came, &gone);
        }
    }

    /// The versions for which a file of `paths` is needed, ascending.
    pub fn versions_with(&self, paths: &BTreeSet<&str>) -> Vec<u64> {
        let touches = |file: &&&Named| file.files().any(|p| paths.contains(p.as_str()));
        let (mut held, mut found) = (0_u64, Vec::new());
        self.walk(|version, _, came, gone| {
            held += came.iter().filter(touches).count() as u64;
            held -= gone.iter().filter(touches).count() as u64;
            if held > 0 {
                found.push(version);
            }
        });
        found
    }
}

fn own(info: &Map<String, Json>) -> Option<(String, String)> {
    let own = info.get("partwise")?;
    let text = |key: &str| own.get(key).and_then(Json::as_str).map(str::to_owned);
    Some((text("id")?, text("operation").unwrap_or_default()))
}

impl TableStore {
    /// A path of the log as the folder has it, if it is below the table's folder.
    ///
    /// # Errors
    /// `BadDataFile` for a path of this store that cannot be placed.
    pub fn below(&self, raw: &str) -> Result<Option<String>> {
        let scheme = raw.split_once(':').map(|(s, _)| s).filter(|s| is_scheme(s));
        if scheme.is_some_and(|s| s != self.root().scheme()) {
            return Ok(None);
        }
        let located = self.locate(raw)?;
        if scheme.is_none() && !raw.starts_with('/') {
            return Ok(Some(located.path.to_string()));
        }
        let Some(root) = self.local_root() else { return Ok(None) };
        let full = Path::new("/").join(located.path.as_ref());
        Ok(full.strip_prefix(root).ok().map(|p| p.to_string_lossy().into_owned()))
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric())
}
