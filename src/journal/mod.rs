//! What was done, written ahead: one file per operation in the state folder.

mod hold;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

pub use hold::Hold;

use crate::calls::{Calls, Op};
use crate::error::{Context, Error, ErrorKind, Result};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The operation's (plan's) id.
    pub id: String,
    pub operation: String,
    pub table: String,
    pub table_id: String,
    pub user: String,
    /// RFC 3339, UTC
    pub started_at: String,
    pub finished_at: Option<String>,
    pub version_before: u64,
    pub version_after: Option<u64>,
    pub slice: Option<String>,
    pub rows_written: Option<u64>,
    /// gate name → reason
    pub overrides: BTreeMap<String, String>,
    pub outcome: Outcome,
    pub message: Option<String>,
    /// The command that takes it back.
    pub undo: Option<String>,
    /// The process that carries it out, for people. Whether it still does says
    /// the operation's lock ([`Journal::is_held`]).
    #[serde(default)]
    pub process: Option<u32>,
    /// Its process died or lost sight of it; how it ended was found out later.
    #[serde(default)]
    pub interrupted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Staging; nothing is in the table.
    Intent,
    /// The commit was sent; a crash here is resolved by the table's history.
    Committing,
    Committed,
    /// Committed, but verification found a difference.
    Mismatch,
    Failed,
    Unknown,
}

/// The folder `journal` of the state folder. Two processes may write to it at
/// once: each operation has its own file.
#[derive(Debug, Clone)]
pub struct Journal {
    dir: PathBuf,
    calls: Calls,
}

impl Journal {
    pub fn new(state_dir: &Path) -> Self {
        Self::watched(state_dir, Calls::default())
    }

    /// With somebody who hears of each call.
    pub fn watched(state_dir: &Path, calls: Calls) -> Self {
        Self { dir: state_dir.join("journal"), calls }
    }

    /// Creates or replaces an operation's entry. It is on disk when this
    /// returns, and a crash leaves the old text or the new one.
    ///
    /// # Errors
    /// `Storage`.
    pub fn write(&self, entry: &Entry) -> Result<()> {
        let path = self.dir.join(file_name(entry));
        let failed = || format!("cannot write the journal {}", path.display());
        let text = serde_json::to_vec_pretty(entry).context(ErrorKind::Internal, failed)?;
        self.make_folder()?;
        let (calls, dir) = (&self.calls, &self.dir);
        let written = || {
            let mut file =
                calls.around(Op::JournalCreate, dir, || tempfile::Builder::new().prefix(WRITING).tempfile_in(dir))?;
            calls.around(Op::JournalWrite, &path, || file.write_all(&text))?;
            calls.around(Op::JournalSync, &path, || file.as_file().sync_all())?;
            calls.around(Op::JournalRename, &path, || file.persist(&path).map_err(std::io::Error::from))?;
            calls.around(Op::JournalSyncFolder, dir, || sync_dir(dir))
        };
        written().context(ErrorKind::Storage, failed)
    }

    /// Makes the folder, durably, where it is not there yet.
    fn make_folder(&self) -> Result<()> {
        if self.dir.is_dir() {
            return Ok(());
        }
        let failed = || format!("cannot make the journal's folder {}", self.dir.display());
        let made = || {
            self.calls.around(Op::JournalFolder, &self.dir, || std::fs::create_dir_all(&self.dir))?;
            match self.dir.parent() {
                Some(parent) => self.calls.around(Op::JournalSyncFolder, parent, || sync_dir(parent)),
                None => Ok(()),
            }
        };
        made().context(ErrorKind::Storage, failed)
    }

    /// Removes locks and drafts of entries that processes left when they died.
    ///
    /// # Errors
    /// `Storage`.
    pub fn sweep(&self) -> Result<()> {
        /// Writing an entry takes milliseconds.
        const OLD: std::time::Duration = std::time::Duration::from_secs(3600);
        let failed = || format!("cannot tidy the journal {}", self.dir.display());
        let items = match std::fs::read_dir(&self.dir) {
            Ok(items) => items,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Error::new(ErrorKind::Storage, failed()).because(e)),
        };
        for item in items {
            let item = item.context(ErrorKind::Storage, failed)?;
            let old = || Some(item.metadata().ok()?.modified().ok()?.elapsed().ok()? > OLD);
            let name = item.file_name().to_string_lossy().into_owned();
            if name.starts_with(WRITING) && old() == Some(true) {
                std::fs::remove_file(item.path()).context(ErrorKind::Storage, failed)?;
            } else if let Some(id) = name.strip_suffix(".lock") {
                // Where nobody has it, taking and dropping it removes it.
                self.try_hold(id)?;
            }
        }
        Ok(())
    }

    /// The entry as it is now, for one that was read a while ago.
    ///
    /// # Errors
    /// `Storage`.
    pub fn again(&self, entry: &Entry) -> Result<Option<Entry>> {
        let path = self.dir.join(file_name(entry));
        let failed = || format!("cannot read the journal {}", path.display());
        match self.calls.around(Op::JournalRead, &path, || std::fs::read(&path)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).context(ErrorKind::Storage, failed),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::new(ErrorKind::Storage, failed()).because(e)),
        }
    }

    /// Every operation, newest first. A file that cannot be read is listed as
    /// an operation of unknown outcome whose message names the file.
    ///
    /// # Errors
    /// `Storage` where the folder cannot be read. No folder is no operations.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let failed = || format!("cannot read the journal {}", self.dir.display());
        let folder = match self.calls.around(Op::JournalList, &self.dir, || std::fs::read_dir(&self.dir)) {
            Ok(folder) => folder,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::new(ErrorKind::Storage, failed()).because(e)),
        };
        let mut entries = Vec::new();
        for item in folder {
            let path = item.context(ErrorKind::Storage, failed)?.path();
            // Left-overs of a crash while writing have no such name.
            if path.extension().is_some_and(|e| e == "json") {
                entries.push(self.read(&path).unwrap_or_else(|said| damaged(&path, &said)));
            }
        }
        entries.sort_by(|a, b| (&b.started_at, &b.id).cmp(&(&a.started_at, &a.id)));
        Ok(entries)
    }

    /// # Errors
    /// `Storage`.
    pub fn find(&self, id: &str) -> Result<Option<Entry>> {
        Ok(self.entries()?.into_iter().find(|entry| entry.id == id))
    }

    fn read(&self, path: &Path) -> std::result::Result<Entry, String> {
        let text = self.calls.around(Op::JournalRead, path, || std::fs::read(path)).map_err(|e| e.to_string())?;
        serde_json::from_slice(&text).map_err(|e| e.to_string())
    }
}

/// How files begin that become entries.
const WRITING: &str = ".writing-";

/// `<started>-<id>.json`: folders list it in the order in which things happened.
fn file_name(entry: &Entry) -> String {
    format!("{}-{}.json", safe(&entry.started_at.replace(':', "")), safe(&entry.id))
}

/// File names have a limit of 255 bytes, and a damaged entry may have any text.
fn safe(text: &str) -> String {
    text.chars().take(100).map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' }).collect()
}

fn damaged(path: &Path, said: &str) -> Entry {
    let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    Entry {
        id: name,
        operation: "?".into(),
        table: "?".into(),
        table_id: "?".into(),
        user: "?".into(),
        started_at: modified(path).unwrap_or_default(),
        finished_at: None,
        version_before: 0,
        version_after: None,
        slice: None,
        rows_written: None,
        overrides: BTreeMap::new(),
        outcome: Outcome::Unknown,
        message: Some(format!("cannot read {}: {said}", path.display())),
        undo: None,
        process: None,
        interrupted: false,
    }
}

fn modified(path: &Path) -> Option<String> {
    let time = std::fs::metadata(path).ok()?.modified().ok()?;
    Some(DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Makes the new name durable; elsewhere than on Unix folders cannot be synced.
fn sync_dir(dir: &Path) -> std::io::Result<()> {
    if cfg!(unix) { std::fs::File::open(dir)?.sync_all() } else { Ok(()) }
}

impl Entry {
    /// Whether it has not been said yet how it ended.
    pub fn is_open(&self) -> bool {
        matches!(self.outcome, Outcome::Intent | Outcome::Committing | Outcome::Unknown)
    }
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Intent => "intent",
            Outcome::Committing => "committing",
            Outcome::Committed => "committed",
            Outcome::Mismatch => "mismatch",
            Outcome::Failed => "failed",
            Outcome::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, started_at: &str) -> Entry {
        Entry {
            id: id.into(),
            operation: "overwrite".into(),
            table: "/lake/gold".into(),
            table_id: "t".into(),
            user: "me".into(),
            started_at: started_at.into(),
            finished_at: None,
            version_before: 3,
            version_after: None,
            slice: None,
            rows_written: None,
            overrides: BTreeMap::new(),
            outcome: Outcome::Intent,
            message: None,
            undo: None,
            process: None,
            interrupted: false,
        }
    }

    #[test]
    fn an_entry_is_replaced_and_the_newest_is_first() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        assert_eq!(journal.entries().unwrap(), []);
        let (old, mut new) = (entry("a", "2026-01-01T00:00:00Z"), entry("b", "2026-01-02T00:00:00Z"));
        journal.write(&old).unwrap();
        journal.write(&new).unwrap();
        new.outcome = Outcome::Committed;
        new.version_after = Some(4);
        journal.write(&new).unwrap();
        assert_eq!(journal.entries().unwrap(), [new.clone(), old]);
        assert_eq!(journal.find("b").unwrap(), Some(new));
        assert_eq!(journal.find("c").unwrap(), None);
    }

    #[test]
    fn an_entry_with_endless_texts_is_written_under_a_short_name() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        let long = entry(&"../".repeat(9000), &"9".repeat(9000));
        journal.write(&long).unwrap();
        assert_eq!(journal.entries().unwrap(), [long]);
    }

    #[test]
    fn a_damaged_file_is_named_and_the_rest_is_read() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        let good = entry("a", "2026-01-01T00:00:00Z");
        journal.write(&good).unwrap();
        std::fs::write(state.path().join("journal/cut-off.json"), "{\"id\":").unwrap();
        std::fs::write(state.path().join("journal/.writing-x"), "{").unwrap();
        let entries = journal.entries().unwrap();
        assert_eq!(entries.len(), 2);
        let bad = entries.iter().find(|e| e.outcome == Outcome::Unknown).unwrap();
        assert!(bad.message.as_ref().unwrap().contains("cut-off.json"));
        assert!(entries.contains(&good));
    }
}
