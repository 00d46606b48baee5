//! Taking an operation back, and carrying out again what was taken back.

use std::collections::{BTreeMap, HashSet};

use super::browse::OpenTable;
use super::context::Context;
use super::operations::{Operation, operations, to_redo, to_undo};
use super::twins::{self, Back};
use super::{Prepared, RepartitionRequest, changes, clock, exchange, prepare_repartition, undo_rows};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::action::Line;
use crate::lake::log::snapshot::read_commit;
use crate::plan::layouts::{ByColumn, LayoutBy};
use crate::plan::repartition::Undone;
use crate::plan::undo::Undo;
use crate::plan::{Plan, Spec};
use crate::progress::Progress;
use crate::table::DataFile;
use crate::table::evolution::hindrance;
use crate::table::file::FileId;

/// Which operation is taken back, and how its rows are told apart if need be.
#[derive(Debug, Clone, Default)]
pub struct UndoRequest {
    /// `None`: the last of partwise's operations in the table's history that
    /// was not taken back yet.
    pub operation: Option<String>,
    /// Columns that identify a row; empty: the operation's own, else the
    /// config's, else the whole row.
    pub key: Vec<String>,
}

/// Plans the inverse of an operation.
///
/// # Errors
/// As [`plan_undo`].
pub async fn prepare_undo(
    context: &Context,
    table: &OpenTable,
    operation: Option<&str>,
    progress: &Progress,
) -> Result<Plan> {
    let request = UndoRequest { operation: operation.map(str::to_owned), key: Vec::new() };
    Ok(plan_undo(context, table, &request, progress).await?.plan)
}

/// Plans the inverse of an operation: by its files where they are still as the
/// operation left them, else by what it did to rows.
///
/// # Errors
/// `NoSuchOperation`; `MissingFiles` with the list; `Conflict` where it was
/// taken back already, and where later commits built on what it changed
/// besides rows; `DuplicateSourceKeys` where rows cannot be told apart.
pub async fn plan_undo(
    context: &Context,
    table: &OpenTable,
    request: &UndoRequest,
    progress: &Progress,
) -> Result<Prepared> {
    let newest = table.snapshot().refresh().await?;
    let found = to_undo(&operations(&newest).await?, request.operation.as_deref())?;
    inverse(context, &table.at_snapshot(newest), &found, &request.key, progress).await
}

/// Plans carrying out again what the last undo took back.
///
/// # Errors
/// `NoSuchOperation` where there is none; `Conflict` where another operation
/// came after it; else as [`plan_undo`].
pub async fn plan_redo(context: &Context, table: &OpenTable, key: &[String], progress: &Progress) -> Result<Prepared> {
    let newest = table.snapshot().refresh().await?;
    let found = to_redo(&operations(&newest).await?)?;
    inverse(context, &table.at_snapshot(newest), &found, key, progress).await
}

async fn inverse(
    context: &Context,
    table: &OpenTable,
    found: &Operation,
    key: &[String],
    progress: &Progress,
) -> Result<Prepared> {
    let newest = table.snapshot();
    let lines = read_commit(newest.store(), found.version).await?;
    let before = newest.at(found.version.saturating_sub(1)).await?;
    let live = exchange::by_id(newest).await?;
    let files = Files::of(&lines, &exchange::by_id(&before).await?, &live)?;
    let changed_metadata = lines.iter().any(|l| l.meta_data.is_some());
    let changes = if changed_metadata {
        match built_on(newest, found, &live, &files).await? {
            None => {}
            // The rows that came since are of the new layout: all are written in the old one.
            Some(BuiltOn::Files(why)) if is_switch(&lines) => {
                return switch_back(context, table, found, &before, &why, progress).await;
            }
            Some(BuiltOn::Files(why) | BuiltOn::Metadata(why)) => {
                return Err(depended_on(newest, &before, found, &why));
            }
        }
        exchange::check_protocol(newest, &before)?;
        clock::check_metadata(newest.metadata(), before.metadata())?;
        changes::metadata_changes(newest.metadata(), before.metadata())
    } else {
        Vec::new()
    };
    // A change of metadata that nothing was built on goes back as a whole.
    let why = match &files.hindrance {
        _ if changed_metadata => None,
        Some(why) => Some(why.clone()),
        None if files.restored.is_empty() => None,
        None => hindrance(before.metadata(), newest.metadata()),
    };
    exchange::check_there(table, &files.restored, progress).await?;
    // What changed the metadata wrote every file, so that nothing is beside it.
    let twins = match why.is_some() || changed_metadata {
        true => Some(0),
        false => {
            let key = known_key(table, found, key);
            let back = Back { table, then: &before, files: &files.restored, removed: &files.removed, key };
            back.rows_with_a_twin(progress).await?
        }
    };
    let why = why.or_else(|| {
        let rows = twins.filter(|rows| *rows > 0)?;
        Some(match rows {
            1 => "a later commit wrote the key of 1 row that would come back".to_owned(),
            n => format!("later commits wrote the keys of {n} rows that would come back"),
        })
    });
    if let Some(why) = why {
        let undo = undo_rows::UndoRows {
            context,
            table,
            before: &before,
            operation: found,
            taken: &files.restored,
            added: &files.added,
            progress,
        };
        return undo.plan(key, &why).await;
    }
    let spec = Spec::Undo(Undo {
        undoes: found.id.clone(),
        undoes_version: found.version,
        files: exchange::exchange(&files.removed, &files.restored),
        metadata: changed_metadata && !changes.is_empty(),
    });
    let mut plan = exchange::plan(table, spec, &files.removed, &files.restored, changes, progress).await?;
    match twins {
        Some(_) => plan.keys.elsewhere = Some(0),
        None => plan.findings.push(twins::KEYS_UNSEEN.into()),
    }
    Ok(Prepared { plan, rows: None })
}

/// What tells rows apart: what was asked for, else what the operation went by,
/// else the config's.
fn known_key<'a>(table: &'a OpenTable, found: &'a Operation, asked: &'a [String]) -> &'a [String] {
    let schema = &table.metadata().schema;
    let there = |key: &&[String]| !key.is_empty() && key.iter().all(|column| schema.find(column).is_some());
    let known = [found.key.as_slice(), &table.settings.known.key];
    if asked.is_empty() { known.into_iter().find(there).unwrap_or_default() } else { asked }
}

/// The files of an operation as they are now.
struct Files {
    /// What it added, all of it.
    added: Vec<FileId>,
    /// Of that, what is still live.
    removed: Vec<DataFile>,
    /// What it removed.
    restored: Vec<DataFile>,
    /// Why the two cannot simply be exchanged.
    hindrance: Option<String>,
}

impl Files {
    fn of(lines: &[Line], before: &BTreeMap<FileId, DataFile>, live: &BTreeMap<FileId, DataFile>) -> Result<Files> {
        let added: Vec<FileId> = lines.iter().filter_map(|l| Some(l.add.as_ref()?.id())).collect();
        let taken: Vec<FileId> = lines.iter().filter_map(|l| Some(l.remove.as_ref()?.id())).collect();
        let removed: Vec<DataFile> = added.iter().filter_map(|id| live.get(id).cloned()).collect();
        let restored = taken
            .iter()
            .map(|id| {
                before.get(id).cloned().ok_or_else(|| {
                    Error::new(ErrorKind::BadCommit, format!("the version before it does not have {}", id.path))
                        .hint("The log contradicts itself there; nothing was written.")
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut hindrance = None;
        if removed.len() < added.len() {
            let gone = added.len() - removed.len();
            hindrance = Some(format!("later commits removed {gone} of the {} files that it added", added.len()));
        }
        // By path: beside its own path with other deleted rows a file would be read twice.
        let gone: HashSet<FileId> = removed.iter().map(DataFile::id).collect();
        let staying: HashSet<&str> =
            live.values().filter(|f| !gone.contains(&f.id())).map(|f| f.path.as_str()).collect();
        if let Some(back) = taken.iter().find(|id| staying.contains(id.path.as_str())) {
            hindrance.get_or_insert_with(|| format!("a later commit already brought {} back", back.path));
        }
        Ok(Files { added, removed, restored, hindrance })
    }
}

/// What later commits put on top of a change of metadata.
enum BuiltOn {
    Metadata(String),
    Files(String),
}

/// Metadata goes back whole, so nothing later may depend on it: no other change
/// of metadata, no file that was written under it.
async fn built_on(
    newest: &Snapshot,
    found: &Operation,
    live: &BTreeMap<FileId, DataFile>,
    files: &Files,
) -> Result<Option<BuiltOn>> {
    let removed: HashSet<FileId> = files.removed.iter().map(DataFile::id).collect();
    let mut built = files.hindrance.clone().map(BuiltOn::Files);
    for version in found.version + 1..=newest.version() {
        let lines = read_commit(newest.store(), version).await?;
        if lines.iter().any(|l| l.meta_data.is_some()) {
            return Ok(Some(BuiltOn::Metadata(format!("version {version} changed it again"))));
        }
        // By the commits: a checkpoint does not say which version wrote a file.
        let mut added = lines.iter().filter_map(|l| Some(l.add.as_ref()?.id()));
        if let Some(id) = added.find(|id| live.contains_key(id) && !removed.contains(id)) {
            built.get_or_insert_with(|| BuiltOn::Files(format!("version {version} wrote {} since", id.path)));
        }
    }
    Ok(built)
}

fn depended_on(newest: &Snapshot, before: &Snapshot, found: &Operation, what: &str) -> Error {
    let hint = "Taking it back would change what later commits rely on. `partwise plan restore` takes them back too.";
    let by = before.metadata().partition_columns.join(",");
    let by = if by.is_empty() { "none" } else { by.as_str() };
    let switched = before.metadata().partition_columns != newest.metadata().partition_columns;
    Error::new(ErrorKind::Conflict, format!("version {} changed the table's metadata, and {what}", found.version)).hint(
        match switched {
            true => format!("{hint} `partwise plan repartition TABLE --by {by}` goes back and keeps them."),
            false => hint.to_owned(),
        },
    )
}

/// Whether a commit is partwise's own switch of partition columns.
fn is_switch(lines: &[Line]) -> bool {
    let own = lines.iter().find_map(|l| l.commit_info.as_ref()?.get("partwise")?.get("operation")?.as_str());
    own == Some("repartition")
}

/// Takes a switch back by another rewrite, so that what later commits wrote is
/// carried over.
async fn switch_back(
    context: &Context,
    table: &OpenTable,
    found: &Operation,
    before: &Snapshot,
    why: &str,
    progress: &Progress,
) -> Result<Prepared> {
    let by = LayoutBy::of(before.metadata().partition_columns.iter().map(ByColumn::plain));
    let undoes = Some(Undone { operation: found.id.clone(), version: found.version });
    let request = RepartitionRequest { by, undoes, ..RepartitionRequest::default() };
    let mut plan = prepare_repartition(context, table, &request, progress).await?;
    let line = format!(
        "version {} is taken back by another rewrite, which carries over what came since: {why}",
        found.version
    );
    plan.findings.insert(0, line);
    let (now, then) = (&table.metadata().schema, &before.metadata().schema);
    let stay = now.names().filter(|name| then.field(name).is_none());
    plan.findings.extend(stay.map(|name| format!("the column {name}, which it added, stays")));
    Ok(Prepared { plan, rows: None })
}
