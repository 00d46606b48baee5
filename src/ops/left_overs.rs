//! What operations left in a table's folder: listed by operation, and removed
//! only where it is certain that nobody needs it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use super::context::Context;
use super::recover::recover;
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::journal::{Entry, Hold, Outcome};
use crate::lake::TableStore;
use crate::lake::left_overs::{Named, mentioned, named_files, remove};
use crate::table::value::millis_text;

/// Files of operations that this machine's journal does not know must be this old.
const FOREIGN_AGE: Duration = Duration::from_secs(24 * 3600);

/// What is known of the operation that wrote a left-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The journal says how it ended.
    Finished,
    /// Its process died; the table's history says how it ended.
    Dead,
    /// A process carries it out right now.
    Running,
    /// It could not be found out how it ended.
    Unknown,
    /// Not in this machine's journal, or written by another run of the same plan.
    Elsewhere,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Finished => "finished",
            State::Dead => "dead",
            State::Running => "running",
            State::Unknown => "unknown",
            State::Elsewhere => "elsewhere",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftFile {
    /// Below the table's folder.
    pub path: String,
    pub bytes: u64,
    /// RFC 3339, UTC
    pub modified: String,
}

/// What one operation left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOver {
    /// The operation's id.
    pub id: String,
    pub state: State,
    /// What it was, where the journal knows it.
    pub operation: Option<String>,
    pub files: Vec<LeftFile>,
    pub bytes: u64,
    pub removable: bool,
    /// Why it can be removed, or why not.
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    pub table: String,
    /// As they were found.
    pub operations: Vec<LeftOver>,
    /// Paths that were removed.
    pub removed: Vec<String>,
    /// Paths that could not be removed, and why.
    pub failed: Vec<String>,
}

/// Lists what operations left below a table's folder: files that bear an
/// operation's id and that nothing of the log mentions. With `of`, only that
/// operation's. With `and_remove`, what can be removed is removed.
///
/// # Errors
/// `NotATable`, `Storage`, `BadCommit`, `BadCheckpoint`; `Refused` for removing
/// while writing is switched off; `NoSuchOperation` where `of` left nothing.
pub async fn left_overs(context: &Context, table: &str, of: Option<&str>, and_remove: bool) -> Result<Cleaned> {
    if and_remove {
        context.check_may_write()?;
    }
    // How operations ended that died has to be known first.
    recover(context).await?;
    let store = TableStore::open_watched(&context.resolve(table), context.calls.clone())?;
    let mut cleaned =
        Cleaned { table: store.location(), operations: Vec::new(), removed: Vec::new(), failed: Vec::new() };
    let journal = context.journal();
    let entries = journal.entries()?;
    // Files first, then the log: a file whose commit lands in between is found there.
    let mut groups = by_operation(&store).await?;
    if let Some(of) = of {
        groups.retain(|id, _| id.to_string() == of);
    }
    let mut held: BTreeMap<Uuid, Hold> = BTreeMap::new();
    if and_remove {
        // Whoever carries one of them out now keeps its lock; nobody starts one meanwhile.
        for id in groups.keys() {
            held.extend(journal.try_hold(&id.to_string())?.map(|hold| (*id, hold)));
        }
    }
    let names = mentioned(&store).await?;
    for (id, files) in groups {
        let files: Vec<Named> = files.into_iter().filter(|file| !is_mentioned(file, &names)).collect();
        if files.is_empty() {
            continue;
        }
        let running = if and_remove { !held.contains_key(&id) } else { journal.is_held(&id.to_string())? };
        let judged = judge(id, &files, &entries, running, of.is_some());
        if and_remove && judged.removable {
            remove_files(&store, files, &mut cleaned).await?;
        }
        cleaned.operations.push(judged);
    }
    match of {
        Some(of) if cleaned.operations.is_empty() => {
            Err(Error::new(ErrorKind::NoSuchOperation, format!("the operation {of} left nothing in {}", cleaned.table))
                .hint("`partwise clean TABLE` lists what is there."))
        }
        _ => Ok(cleaned),
    }
}

/// Each operation's files, found without holding up the runtime.
async fn by_operation(store: &TableStore) -> Result<BTreeMap<Uuid, Vec<Named>>> {
    let store = store.clone();
    let found = tokio::task::spawn_blocking(move || named_files(&store));
    let found = found.await.context(ErrorKind::Internal, || "the search for left-overs stopped".into())??;
    let mut groups: BTreeMap<Uuid, Vec<Named>> = BTreeMap::new();
    for file in found {
        groups.entry(file.operation).or_default().push(file);
    }
    Ok(groups)
}

async fn remove_files(store: &TableStore, files: Vec<Named>, cleaned: &mut Cleaned) -> Result<()> {
    let store = store.clone();
    let gone = tokio::task::spawn_blocking(move || {
        files.into_iter().map(|file| (remove(&store, &file), file)).collect::<Vec<_>>()
    });
    for (result, file) in gone.await.context(ErrorKind::Internal, || "removing left-overs stopped".into())? {
        match result {
            Ok(()) => cleaned.removed.push(text(&file)),
            Err(error) => cleaned.failed.push(error.full_message()),
        }
    }
    Ok(())
}

fn text(file: &Named) -> String {
    file.path.to_string_lossy().into_owned()
}

/// Drafts of log entries never get into the log under their own name.
fn is_mentioned(file: &Named, names: &std::collections::HashSet<String>) -> bool {
    file.path.file_name().is_some_and(|name| names.contains(name.to_string_lossy().as_ref()))
}

fn judge(id: Uuid, files: &[Named], entries: &[Entry], running: bool, asked_for: bool) -> LeftOver {
    let text_id = id.to_string();
    let known: Vec<&Entry> = entries.iter().filter(|e| e.id == text_id).collect();
    let newest = files.iter().map(|f| f.modified).max().unwrap_or(SystemTime::UNIX_EPOCH);
    let state = state(&known, running, newest);
    let age = newest.elapsed().unwrap_or_default();
    let (removable, because) = match state {
        State::Finished => (true, "the operation has ended, and no version names the files".to_owned()),
        State::Dead => (true, "the operation's process is gone, and no version names the files".to_owned()),
        State::Running => (false, "the operation is being carried out".to_owned()),
        State::Unknown => (false, "it is not known how the operation ended".to_owned()),
        State::Elsewhere if age < FOREIGN_AGE => {
            (false, "another run wrote them, less than a day ago; it may still go on".to_owned())
        }
        State::Elsewhere if !asked_for => (false, format!("another run wrote them; --of {text_id} removes them")),
        State::Elsewhere => (true, "they are older than a day, and were named with --of".to_owned()),
    };
    LeftOver {
        id: text_id,
        state,
        operation: known.first().map(|e| e.operation.clone()),
        bytes: files.iter().map(|f| f.size).sum(),
        files: files.iter().map(left_file).collect(),
        removable,
        because,
    }
}

/// `known`: the operation's entries, newest first.
fn state(known: &[&Entry], running: bool, written: SystemTime) -> State {
    let Some(last) = known.first() else { return if running { State::Running } else { State::Elsewhere } };
    if running {
        return State::Running;
    }
    if last.outcome == Outcome::Unknown {
        return State::Unknown;
    }
    // Files that are younger than the end of all runs here are not theirs.
    let ended =
        |e: &&Entry| DateTime::parse_from_rfc3339(e.finished_at.as_deref()?).ok().map(|t| t.with_timezone(&Utc));
    let ends: Option<Vec<DateTime<Utc>>> = known.iter().map(ended).collect();
    let after = ends.and_then(|ends| ends.into_iter().max()).is_some_and(|end| {
        // The journal's times are in milliseconds.
        DateTime::<Utc>::from(written) > end + chrono::Duration::milliseconds(1)
    });
    match last.outcome {
        _ if after => State::Elsewhere,
        // Still open though nobody has its lock: its table could not be read.
        Outcome::Intent | Outcome::Committing => State::Dead,
        _ if last.interrupted => State::Dead,
        _ => State::Finished,
    }
}

fn left_file(file: &Named) -> LeftFile {
    LeftFile {
        path: text(file),
        bytes: file.size,
        modified: millis_text(DateTime::<Utc>::from(file.modified).timestamp_millis()),
    }
}

/// One line about what operations left in these tables, for the notice at the
/// start; `None` where there is nothing, or where it cannot be said.
pub async fn notice(context: &Context, tables: &[String]) -> Option<String> {
    let mut said = Vec::new();
    for table in tables {
        match left_overs(context, table, None, false).await {
            Ok(found) => {
                let files: usize = found.operations.iter().filter(|o| o.removable).map(|o| o.files.len()).sum();
                if files > 0 {
                    let are = if files == 1 { "file is" } else { "files are" };
                    said.push(format!("{files} {are} left over in {table}; see `partwise clean`"));
                }
            }
            Err(error) => tracing::warn!(table, %error, "left-overs could not be looked for"),
        }
    }
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(outcome: Outcome, finished: Option<i64>, interrupted: bool) -> Entry {
        let json = serde_json::json!({
            "id": "6f2c1a54-0000-4000-8000-000000000001", "operation": "merge", "table": "t", "table_id": "t",
            "user": "u", "started_at": millis_text(0), "finished_at": finished.map(millis_text), "version_before": 0,
            "version_after": null, "slice": null, "rows_written": null, "overrides": {}, "outcome": outcome,
            "message": null, "undo": null, "interrupted": interrupted
        });
        serde_json::from_value(json).unwrap()
    }

    fn at(ms: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
    }

    #[test]
    fn the_lock_the_journal_and_the_files_times_say_what_an_operation_is() {
        let failed = entry(Outcome::Failed, Some(1000), false);
        let died = entry(Outcome::Failed, Some(1000), true);
        let open = entry(Outcome::Committing, None, false);
        let unknown = entry(Outcome::Unknown, Some(1000), true);
        for (known, running, written, want) in [
            (vec![&failed], false, 900, State::Finished),
            (vec![&failed], false, 5000, State::Elsewhere),
            (vec![&failed], true, 900, State::Running),
            (vec![&died], false, 900, State::Dead),
            (vec![&open], false, 900, State::Dead),
            (vec![&open, &failed], true, 900, State::Running),
            (vec![&unknown], false, 900, State::Unknown),
            (vec![], false, 900, State::Elsewhere),
            (vec![], true, 900, State::Running),
        ] {
            assert_eq!(state(&known, running, at(written)), want, "{known:?}");
        }
    }

    #[test]
    fn files_of_elsewhere_go_only_when_they_are_old_and_named() {
        let id = Uuid::from_u128(1);
        let file = |modified| Named { operation: id, path: "part".into(), size: 1, modified };
        let young = SystemTime::now();
        for (modified, asked_for, removable) in
            [(young, true, false), (young, false, false), (at(0), false, false), (at(0), true, true)]
        {
            let judged = judge(id, &[file(modified)], &[], false, asked_for);
            assert_eq!((judged.state, judged.removable), (State::Elsewhere, removable), "{}", judged.because);
        }
    }
}
