//! Taking an operation back, and carrying out again what was taken back.

use std::collections::{BTreeMap, HashSet};

use super::breakers::{breakers_back, layout_back};
use super::browse::OpenTable;
use super::context::Context;
use super::exchange::Exchange;
use super::operations::{Operation, operations, to_redo, to_undo};
use super::twins::{self, Back};
use super::{Prepared, RepartitionRequest, changes, clock, exchange, prepare_repartition, undo_rows};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::action::Line;
use crate::lake::log::snapshot::read_commit;
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
    let inverse = Inverse { context, table, found, key, progress, before, files };
    match lines.iter().any(|l| l.meta_data.is_some()) {
        true => inverse.with_metadata(&live).await,
        false => inverse.of_rows().await,
    }
}

/// An operation on its way back.
struct Inverse<'a> {
    context: &'a Context,
    /// At its newest version.
    table: &'a OpenTable,
    found: &'a Operation,
    /// As it was asked for.
    key: &'a [String],
    progress: &'a Progress,
    /// The version before the operation.
    before: Snapshot,
    files: Files,
}

impl Inverse<'_> {
    /// Of an operation that changed the table's metadata: whole, or not at all.
    /// It wrote every file, so that no other row has the key of one that comes back.
    async fn with_metadata(&self, live: &BTreeMap<FileId, DataFile>) -> Result<Prepared> {
        let (newest, before) = (self.table.snapshot(), &self.before);
        match built_on(newest, self.found, live, &self.files).await? {
            None => {}
            Some(BuiltOn::Files(why)) if self.is_switch() => return self.switch_back(&why).await,
            Some(BuiltOn::Files(why) | BuiltOn::Metadata(why)) => {
                return Err(depended_on(newest, before, self.found, &why));
            }
        }
        exchange::check_protocol(newest, before)?;
        clock::check_metadata(newest.metadata(), before.metadata())?;
        let changes = changes::metadata_changes(newest.metadata(), before.metadata());
        let mut plan = self.exchanged(&self.files.removed, &self.files.restored, changes).await?;
        plan.keys.elsewhere = Some(0);
        Ok(Prepared { plan, rows: None })
    }

    /// By its files where they are still as the operation left them, else by
    /// what it did to rows.
    async fn of_rows(&self) -> Result<Prepared> {
        let Files { removed, restored, hindrance: later, same_rows, .. } = &self.files;
        if let (Some(why), true) = (later, same_rows) {
            let mut plan = self.exchanged(&[], &[], Vec::new()).await?;
            plan.findings.push(format!(
                "there is nothing to take back: version {} only moved rows between files, and {why}",
                self.found.version
            ));
            return Ok(Prepared { plan, rows: None });
        }
        let newest = self.table.metadata();
        let changed = || hindrance(self.before.metadata(), newest).filter(|_| !restored.is_empty());
        if let Some(why) = later.clone().or_else(changed) {
            return self.by_rows(&why).await;
        }
        let key = known_key(self.table, self.found, self.key);
        let back = Back { table: self.table, then: &self.before, files: restored, removed, key };
        // The same rows have the same keys.
        let twins = if *same_rows { Some(0) } else { back.rows_with_a_twin(self.progress).await? };
        match twins {
            Some(1) => return self.by_rows("a later commit wrote the key of 1 row that would come back").await,
            Some(rows) if rows > 0 => {
                return self
                    .by_rows(&format!("later commits wrote the keys of {rows} rows that would come back"))
                    .await;
            }
            Some(_) | None => {}
        }
        let mut plan = self.exchanged(removed, restored, Vec::new()).await?;
        plan.keys.elsewhere = twins;
        plan.findings.extend(twins.is_none().then(|| twins::KEYS_UNSEEN.to_owned()));
        Ok(Prepared { plan, rows: None })
    }

    async fn exchanged(
        &self,
        removed: &[DataFile],
        restored: &[DataFile],
        metadata_changes: Vec<String>,
    ) -> Result<Plan> {
        exchange::check_there(&self.before, restored, self.progress).await?;
        let then = self.before.metadata();
        let switches = then.partition_columns != self.table.metadata().partition_columns;
        let breakers = if switches { breakers_back(self.table, then, self.progress).await? } else { Vec::new() };
        let spec = Spec::Undo(Undo {
            undoes: self.found.id.clone(),
            undoes_version: self.found.version,
            files: exchange::exchange(removed, restored),
            metadata: !metadata_changes.is_empty(),
            same_rows: self.files.same_rows,
            switches,
            breakers,
        });
        let exchange = Exchange { removed, restored, then, same_rows: self.files.same_rows };
        exchange::plan(self.table, spec, &exchange, metadata_changes, self.progress).await
    }

    async fn by_rows(&self, why: &str) -> Result<Prepared> {
        exchange::check_there(&self.before, &self.files.restored, self.progress).await?;
        let undo = undo_rows::UndoRows {
            context: self.context,
            table: self.table,
            before: &self.before,
            operation: self.found,
            taken: &self.files.restored,
            added: &self.files.added,
            progress: self.progress,
        };
        undo.plan(self.key, why).await
    }

    /// Whether it only put the same rows under other partition columns.
    fn is_switch(&self) -> bool {
        let now = &self.table.metadata().partition_columns;
        self.files.same_rows && self.before.metadata().partition_columns != *now
    }

    /// Takes a switch back by another rewrite, so that what later commits wrote
    /// is carried over.
    async fn switch_back(&self, why: &str) -> Result<Prepared> {
        let (now, then) = (self.table.metadata(), self.before.metadata());
        let Some(by) = layout_back(now, then) else {
            return Err(depended_on(self.table.snapshot(), &self.before, self.found, why));
        };
        let undoes = Some(Undone { operation: self.found.id.clone(), version: self.found.version });
        let request = RepartitionRequest { by, undoes, ..RepartitionRequest::default() };
        let mut plan = prepare_repartition(self.context, self.table, &request, self.progress).await?;
        let line = format!(
            "version {} is taken back by another rewrite, which carries over what came since: {why}",
            self.found.version
        );
        plan.findings.insert(0, line);
        let stay = now.schema.names().filter(|name| then.schema.field(name).is_none());
        plan.findings.extend(stay.map(|name| format!("the column {name}, which it added, stays")));
        Ok(Prepared { plan, rows: None })
    }
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
    /// The log says that rows were only moved between files.
    same_rows: bool,
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
        let mut changes = lines.iter().filter_map(|l| {
            l.add.as_ref().map(|add| add.data_change).or(l.remove.as_ref().map(|remove| remove.data_change))
        });
        let same_rows = !(added.is_empty() && taken.is_empty()) && changes.all(|changes| !changes);
        Ok(Files { added, removed, restored, hindrance, same_rows })
    }
}

/// What later commits put on top of a change of metadata.
enum BuiltOn {
    Metadata(String),
    Files(String),
}

/// Metadata goes back whole, so nothing later may depend on it: no other change
/// of metadata that stands, no file that was written under it.
async fn built_on(
    newest: &Snapshot,
    found: &Operation,
    live: &BTreeMap<FileId, DataFile>,
    files: &Files,
) -> Result<Option<BuiltOn>> {
    let removed: HashSet<FileId> = files.removed.iter().map(DataFile::id).collect();
    let mut built = files.hindrance.clone().map(BuiltOn::Files);
    // Changes that were taken back again leave it as the operation left it.
    let after = newest.at(found.version).await?;
    let stands = !changes::metadata_changes(newest.metadata(), after.metadata()).is_empty();
    for version in found.version + 1..=newest.version() {
        let lines = read_commit(newest.store(), version).await?;
        if stands && lines.iter().any(|l| l.meta_data.is_some()) {
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
    let switched = before.metadata().partition_columns != newest.metadata().partition_columns;
    let back = layout_back(newest.metadata(), before.metadata()).filter(|_| switched);
    Error::new(ErrorKind::Conflict, format!("version {} changed the table's metadata, and {what}", found.version)).hint(
        match back {
            Some(by) => {
                format!("{hint} `partwise plan repartition TABLE --by '{}'` goes back and keeps them.", by.argument())
            }
            None => hint.to_owned(),
        },
    )
}
