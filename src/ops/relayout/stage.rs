//! Carrying a layout out: stage, carry over what came in between.

use std::collections::{BTreeMap, HashMap, HashSet};

use uuid::Uuid;

use super::super::browse::OpenTable;
use super::super::entry::Work;
use super::super::rebase::Footprint;
use super::{has_empty, job, target};
use crate::engine::local::relayout::{Counted, LayoutJob, TupleCount, count, relayout};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::plan::relayout::{Chosen, Relayout};
use crate::plan::{Change, Plan};
use crate::progress::Progress;
use crate::table::file::FileId;
use crate::table::schema::PrimitiveType;
use crate::table::{DataFile, Metadata};

/// Writes the plan's files anew at the pinned version and proves that they hold
/// the same rows.
///
/// # Errors
/// `StalePlan`, `StagedDiffers`, `BadPlan`, and whatever reading and writing give. What was
/// written is then removed.
pub async fn stage(plan: &Plan, pinned: &OpenTable, newest: &Snapshot, id: Uuid, progress: &Progress) -> Result<Work> {
    let layout = layout_of(plan)?;
    let live = pinned.snapshot().files(false).await?;
    let files = match &layout.files {
        Chosen::All => live,
        Chosen::These(ids) => pick(ids, live)?,
    };
    // A plan that is stale by now is not worth the work; it is checked again
    // before the commit.
    let removes = files.iter().map(DataFile::id).collect();
    Footprint::of(plan, pinned.metadata(), removes)?.check(plan, newest).await?;
    let job = job_of(plan, &layout, pinned, pinned.snapshot(), files.clone())?;
    let counted = planned(plan, &job.target)?;
    let changed = job.target.raw != pinned.metadata().raw;
    let metadata = changed.then(|| job.target.raw.clone());
    let staged = relayout(job, &counted, id, progress).await?;
    Ok(Work { removed: files, restored: Vec::new(), staged, metadata })
}

/// Files that others added since the plan's version are of the old layout. They
/// are written anew too, so that no row of them is lost, doubled, or left behind
/// under columns that no longer partition the table.
///
/// # Errors
/// `StalePlan` for rows that the new layout cannot hold; whatever reading and
/// writing give.
pub async fn carry_over(
    plan: &Plan,
    pinned: &OpenTable,
    newest: &Snapshot,
    work: &mut Work,
    id: Uuid,
    progress: &Progress,
) -> Result<()> {
    let Change::Layout(layout) = plan.spec.lower() else { return Ok(()) };
    if layout.files != Chosen::All || newest.version() == plan.version {
        return Ok(());
    }
    let done: HashSet<FileId> = work.removed.iter().map(DataFile::id).collect();
    let live = newest.files(false).await?;
    let ids: HashSet<FileId> = live.iter().map(DataFile::id).collect();
    if !done.is_subset(&ids) {
        return Err(Error::new(ErrorKind::StalePlan, "a file that was rewritten is no longer live")
            .hint("Nothing was written. Make a new plan."));
    }
    let fresh: Vec<DataFile> = live.into_iter().filter(|f| !done.contains(&f.id())).collect();
    if fresh.is_empty() {
        return Ok(());
    }
    tracing::info!(files = fresh.len(), "files that came in between are written in the new layout too");
    let job = job_of(plan, &layout, pinned, newest, fresh.clone())?;
    let counted = count(job.clone(), progress).await?;
    let old = &newest.metadata().partition_columns;
    let places: Vec<usize> =
        (0..layout.partition_by.len()).filter(|i| !old.contains(&layout.partition_by[*i])).collect();
    if counted.tuples.iter().any(|t| has_empty(&t.values, &places)) {
        return Err(Error::new(
            ErrorKind::StalePlan,
            "rows came in between that have the empty string in a new partition column",
        )
        .hint("Nothing was written. As a partition value it would be read as NULL; set them to NULL first."));
    }
    let more = relayout(job, &counted, id, progress).await?;
    work.removed.extend(fresh);
    work.staged.files.extend(more.files);
    for (tuple, set) in more.partitions {
        let all = work.staged.partitions.entry(tuple).or_default();
        all.rows += set.rows;
        all.checksum = all.checksum.wrapping_add(set.checksum);
    }
    Ok(())
}

/// Of the new files those that a second reader counts: all were read back and
/// compared before the commit, so that some are enough here.
pub fn second_look<'a>(plan: &Plan, fresh: Vec<&'a DataFile>) -> Vec<&'a DataFile> {
    const ENOUGH: u64 = 256 << 20;
    if !matches!(plan.spec.lower(), Change::Layout(_)) {
        return fresh;
    }
    let mut bytes = 0;
    fresh
        .into_iter()
        .take_while(|file| {
            let go_on = bytes < ENOUGH;
            bytes += file.size;
            go_on
        })
        .collect()
}

/// What of the metadata a layout left behind that it should not have touched.
pub fn unlike(plan: &Plan, before: &Metadata, after: &Metadata) -> Vec<String> {
    let Change::Layout(layout) = plan.spec.lower() else { return Vec::new() };
    let expected = match target::metadata(before, &layout.partition_by, &layout.added, &plan.id) {
        Ok(expected) => expected,
        Err(error) => return vec![error.full_message()],
    };
    let keys: std::collections::BTreeSet<&String> = expected.raw.keys().chain(after.raw.keys()).collect();
    let differs = keys.into_iter().filter(|key| expected.raw.get(*key) != after.raw.get(*key));
    differs.map(|key| format!("the table's {key} is not what it should be")).collect()
}

fn layout_of(plan: &Plan) -> Result<Relayout> {
    match plan.spec.lower() {
        Change::Layout(layout) => Ok(layout),
        Change::Rows(_) | Change::Files(_) | Change::Vacuum(_) => {
            Err(Error::new(ErrorKind::BadPlan, "the plan is no layout"))
        }
    }
}

fn job_of(
    plan: &Plan,
    layout: &Relayout,
    table: &OpenTable,
    snapshot: &Snapshot,
    files: Vec<DataFile>,
) -> Result<LayoutJob> {
    let after = target::metadata(snapshot.metadata(), &layout.partition_by, &layout.added, &plan.id)?;
    job(table, snapshot, layout, after, files)
}

fn pick(ids: &[FileId], live: Vec<DataFile>) -> Result<Vec<DataFile>> {
    let mut live: HashMap<FileId, DataFile> = live.into_iter().map(|file| (file.id(), file)).collect();
    let gone = |id: &FileId| {
        Error::new(ErrorKind::BadPlan, format!("the plan names the file {}, which is not live at its version", id.path))
            .hint("Make a new plan.")
    };
    ids.iter().map(|id| live.remove(id).ok_or_else(|| gone(id))).collect()
}

/// The plan's partitions: what the rows that are read will be held to.
fn planned(plan: &Plan, target: &Metadata) -> Result<Counted> {
    let types: Vec<PrimitiveType> = target.partition_fields().iter().filter_map(|f| f.primitive().cloned()).collect();
    let mut tuples = BTreeMap::new();
    for p in &plan.partitions {
        let bad = || {
            Error::new(ErrorKind::BadPlan, format!("the plan's partition {} does not fit the table", p.label()))
                .hint("The plan file was changed; make a new plan.")
        };
        let values = p.tuple(&types).filter(|t| t.0.len() == types.len()).ok_or_else(bad)?;
        let count = TupleCount { values: values.clone(), rows: p.after, files: p.files_before, bytes: p.bytes_before };
        if tuples.insert(values, count).is_some() {
            return Err(bad());
        }
    }
    Ok(Counted { tuples: tuples.into_values().collect() })
}
