//! Taking an operation back by an inverse commit.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;

use super::browse::OpenTable;
use super::context::Context;
use super::exchange;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::action::Line;
use crate::lake::log::snapshot::read_commit;
use crate::plan::undo::Undo;
use crate::plan::{Plan, Spec};
use crate::progress::Progress;
use crate::table::DataFile;
use crate::table::file::FileId;

/// One of partwise's commits, found in the table's own history.
struct Found {
    id: String,
    version: u64,
    lines: Vec<Line>,
}

/// Plans the inverse of an operation: the given one, else the last of
/// partwise's operations in the table's history that was not taken back yet.
///
/// # Errors
/// `NoSuchOperation`, `MissingFiles`, `Conflict` where a later commit changed
/// the files that the operation added.
pub async fn prepare_undo(
    _context: &Context,
    table: &OpenTable,
    operation: Option<&str>,
    progress: &Progress,
) -> Result<Plan> {
    let newest = table.snapshot().refresh().await?;
    let table = table.at_snapshot(newest.clone());
    let found = find(&newest, operation).await?;
    let before = newest.at(found.version.saturating_sub(1)).await?;
    let old_files = exchange::by_id(&before).await?;
    let live: BTreeMap<FileId, DataFile> = exchange::by_id(&newest).await?;

    let added: Vec<FileId> = found.lines.iter().filter_map(|l| Some(l.add.as_ref()?.id())).collect();
    let taken: Vec<FileId> = found.lines.iter().filter_map(|l| Some(l.remove.as_ref()?.id())).collect();
    let conflict = |what: String| {
        Error::new(
            ErrorKind::Conflict,
            format!("the operation of version {} cannot be taken back by its files: {what}", found.version),
        )
        .hint(format!(
            "Later commits built on them. `partwise plan restore` to version {} takes everything since back.",
            before.version()
        ))
    };
    let removed: Vec<DataFile> = added.iter().filter_map(|id| live.get(id).cloned()).collect();
    if removed.len() < added.len() {
        return Err(conflict(format!(
            "a later commit removed {} of the {} files that it added",
            added.len() - removed.len(),
            added.len()
        )));
    }
    // By path: beside its own path with other deleted rows a file would be read twice.
    let gone: HashSet<FileId> = removed.iter().map(DataFile::id).collect();
    let staying: HashSet<&str> = live.values().filter(|f| !gone.contains(&f.id())).map(|f| f.path.as_str()).collect();
    if let Some(back) = taken.iter().find(|id| staying.contains(id.path.as_str())) {
        return Err(conflict(format!("a later commit already brought {} back", back.path)));
    }
    let restored: Vec<DataFile> = taken
        .iter()
        .map(|id| {
            old_files
                .get(id)
                .cloned()
                .ok_or_else(|| conflict(format!("the version before it does not have {}", id.path)))
        })
        .collect::<Result<_>>()?;
    let changed_metadata = found.lines.iter().any(|l| l.meta_data.is_some());
    let changes = if changed_metadata {
        check_nothing_built_on(&newest, &found, &live, &gone).await?;
        exchange::check_protocol(&newest, &before)?;
        exchange::metadata_changes(newest.metadata(), before.metadata())
    } else if newest.metadata().partition_columns != before.metadata().partition_columns {
        return Err(conflict("the table was partitioned by other columns since".into()));
    } else {
        Vec::new()
    };
    exchange::check_there(&table, &restored, progress).await?;
    let spec = Spec::Undo(Undo {
        undoes: found.id,
        undoes_version: found.version,
        files: exchange::exchange(&removed, &restored),
        metadata: changed_metadata && !changes.is_empty(),
    });
    exchange::plan(&table, spec, &removed, &restored, changes, progress).await
}

/// Metadata goes back whole, so nothing later may depend on it: no other change
/// of metadata, no file that was written under it.
async fn check_nothing_built_on(
    newest: &Snapshot,
    found: &Found,
    live: &BTreeMap<FileId, DataFile>,
    removed: &HashSet<FileId>,
) -> Result<()> {
    let refuse = |what: String| {
        Err(Error::new(
            ErrorKind::Conflict,
            format!("version {} changed the table's metadata, and {what}", found.version),
        )
        .hint("Taking it back would change what later commits rely on. `partwise plan restore` takes them back too."))
    };
    for version in found.version + 1..=newest.version() {
        if read_commit(newest.store(), version).await?.iter().any(|l| l.meta_data.is_some()) {
            return refuse(format!("version {version} changed it again"));
        }
    }
    let later = live.iter().find(|(id, f)| !removed.contains(*id) && f.version.is_some_and(|v| v > found.version));
    match later {
        Some((id, file)) => refuse(format!("version {} wrote {} since", file.version.unwrap_or_default(), id.path)),
        None => Ok(()),
    }
}

/// Searches the history, newest first. Without an id, operations that were
/// taken back and the undos themselves are passed over.
async fn find(newest: &Snapshot, operation: Option<&str>) -> Result<Found> {
    let mut undone: HashSet<String> = HashSet::new();
    let versions: Vec<u64> = newest.listing().commits.range(..=newest.version()).rev().map(|(v, _)| *v).collect();
    for version in versions {
        let lines = read_commit(newest.store(), version).await?;
        let info = lines.iter().find_map(|l| l.commit_info.as_ref());
        let Some(own) = info.and_then(|i| i.get("partwise")).and_then(Json::as_object) else { continue };
        let text = |key: &str| own.get(key).and_then(Json::as_str).map(str::to_owned);
        // What left the folder does not come back.
        if text("operation").as_deref() == Some("vacuum") {
            continue;
        }
        let Some(id) = text("id") else { continue };
        let undoes = text("undoes");
        let wanted = match operation {
            Some(wanted) => wanted == id,
            None => undoes.is_none() && !undone.contains(&id),
        };
        if wanted {
            return Ok(Found { id, version, lines });
        }
        // An undo that was itself taken back no longer counts.
        if let Some(undoes) = undoes.filter(|_| !undone.contains(&id)) {
            undone.insert(undoes);
        }
    }
    Err(match operation {
        Some(id) => Error::new(ErrorKind::NoSuchOperation, format!("the table's history has no operation {id}"))
            .hint("`partwise history TABLE` lists them; entries older than delta.logRetentionDuration are gone."),
        None => Error::new(ErrorKind::NoSuchOperation, "the table's history has no operation of partwise to take back")
            .hint("Commits of other writers can be taken back with `partwise plan restore`."),
    })
}
