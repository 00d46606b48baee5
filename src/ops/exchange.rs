//! What undo and restore share: a plan that exchanges whole files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::browse::OpenTable;
use super::numbers::{blank, slice_text};
use super::refusals::table_refusals;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{self, Evidence};
use crate::lake::Snapshot;
use crate::lake::data::{DataReader, TableLayout};
use crate::lake::log::deletion_vectors::{readable, vector_path};
use crate::plan::algebra::FileExchange;
use crate::plan::{FileTotals, Layout, LayoutChange, Plan, PlanPartition, RowTotals, Spec, arithmetic, slice};
use crate::progress::{Phase, Progress};
use crate::table::file::FileId;
use crate::table::{DataFile, Metadata, PartitionTuple, Value};

/// Look-ups and footers that run at the same time.
const CONCURRENT: usize = 32;

/// A file that would come back and is gone, or whose deletion vector is.
#[derive(Debug, Clone)]
pub struct Gone {
    pub file: DataFile,
    /// As the log has them.
    pub paths: Vec<String>,
}

/// Looks for every file of a snapshot, with its deletion vector, many at a time.
///
/// # Errors
/// `Storage`; `Cancelled`.
pub async fn gone(then: &Snapshot, files: &[DataFile], progress: &Progress) -> Result<Vec<Gone>> {
    progress.enter(Phase::Reading, files.len() as u64, 0);
    let store = then.store().clone();
    let mut checks = stream::iter(files.to_vec())
        .map(|file| {
            let store = store.clone();
            async move {
                let mut paths = Vec::new();
                let vector = vector_path(&file)?;
                for path in [Some(file.path.clone()), vector].into_iter().flatten() {
                    if !store.exists(&path).await? {
                        paths.push(path);
                    }
                }
                Ok::<_, Error>(Gone { file, paths })
            }
        })
        .buffered(CONCURRENT);
    let mut found = Vec::new();
    while let Some(checked) = checks.try_next().await? {
        progress.check()?;
        progress.advance(1, 0, 0);
        if !checked.paths.is_empty() {
            found.push(checked);
        }
    }
    Ok(found)
}

/// Every file that would come back is looked for before anything is written.
/// `then`: the snapshot that they are of.
///
/// # Errors
/// `MissingFiles` with the list, the partitions and the rows that are gone.
pub async fn check_there(then: &Snapshot, files: &[DataFile], progress: &Progress) -> Result<()> {
    let gone = gone(then, files, progress).await?;
    if gone.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::MissingFiles,
        format!("{} of {} files that would come back are gone {}", gone.len(), files.len(), lost(then, &gone)),
    )
    .hint(
        "VACUUM removed them, or somebody did. Nothing was written; another version may still be whole, and \
         `plan restore --partial` takes what is there.",
    ))
}

/// `(3 rows, in d=a): d=a/part-0.parquet, …`
pub fn lost(then: &Snapshot, gone: &[Gone]) -> String {
    const NAMED: usize = 20;
    let columns = &then.metadata().partition_columns;
    let places: BTreeSet<String> = gone.iter().map(|g| g.file.partition.label(columns)).collect();
    let places: Vec<String> = places.into_iter().take(NAMED).collect();
    let paths: Vec<&str> = gone.iter().flat_map(|g| g.paths.iter().map(String::as_str)).collect();
    let more = paths.len().saturating_sub(NAMED);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("({}, in {}): {}{tail}", rows_lost(gone), places.join(", "), paths[..paths.len().min(NAMED)].join(", "))
}

/// `3 rows`; at least so many where the log does not count some.
pub fn rows_lost(gone: &[Gone]) -> String {
    let known: u64 = gone.iter().filter_map(|g| g.file.live_rows()).sum();
    let all = gone.iter().all(|g| g.file.live_rows().is_some());
    match (all, known) {
        (true, 1) => "1 row".into(),
        (true, n) => format!("{n} rows"),
        (false, 0) => "? rows".into(),
        (false, n) => format!("≥ {n} rows"),
    }
}

/// Whole files that go and come.
pub struct Exchange<'a> {
    pub removed: &'a [DataFile],
    pub restored: &'a [DataFile],
    /// What the restored files are of.
    pub then: &'a Metadata,
    /// Whether both hold the same rows, since the operation moved rows between
    /// files only.
    pub same_rows: bool,
}

impl Exchange<'_> {
    /// The partition that a file's rows are counted in. Partitions of two layouts
    /// mean nothing beside each other: then all is one.
    fn place(&self, now: &Metadata, file: &DataFile) -> PartitionTuple {
        match self.then.partition_columns == now.partition_columns {
            true => file.partition.clone(),
            false => PartitionTuple::default(),
        }
    }
}

/// Builds the plan: per partition the rows that go and that come; of the whole
/// table where they lie under other partition columns.
///
/// # Errors
/// Whatever reading footers gives, where the log lacks `numRecords`.
pub async fn plan(
    table: &OpenTable,
    spec: Spec,
    exchange: &Exchange<'_>,
    metadata_changes: Vec<String>,
    progress: &Progress,
) -> Result<Plan> {
    let mut plan = blank(table, spec);
    plan.refusals = table_refusals(table, &plan.spec);
    plan.metadata_changes = metadata_changes;
    let now = table.metadata();
    if exchange.then.partition_columns != now.partition_columns {
        plan.partition_columns.clear();
    }
    let (removed, restored) = (exchange.removed, exchange.restored);
    let live = table.files(progress).await?;
    let place = |file: &DataFile| exchange.place(now, file);
    let touched: BTreeSet<PartitionTuple> = removed.iter().chain(restored).map(place).collect();
    let concerned: Vec<DataFile> =
        live.iter().filter(|f| touched.contains(&place(f))).chain(restored).cloned().collect();
    let rows = count_rows(table, concerned).await?;
    let rows_of = |file: &DataFile| rows.get(&file.id()).copied().unwrap_or(0);
    let mut by_partition: BTreeMap<PartitionTuple, [u64; 5]> = touched.into_iter().map(|t| (t, [0; 5])).collect();
    let mut add = |file: &DataFile, at: usize, amount: u64| {
        if let Some(counts) = by_partition.get_mut(&place(file)) {
            counts[at] += amount;
        }
    };
    for file in &live {
        add(file, 0, rows_of(file));
        add(file, 1, 1);
        add(file, 2, file.size);
    }
    removed.iter().for_each(|file| add(file, 3, rows_of(file)));
    restored.iter().for_each(|file| add(file, 4, rows_of(file)));
    let columns = plan.partition_columns.clone();
    // What the log says is held to the counts.
    let same_rows = exchange.same_rows && by_partition.values().all(|[.., gone, come]| gone == come);
    plan.partitions = by_partition
        .into_iter()
        .map(|(tuple, [before, files_before, bytes_before, gone, come])| PlanPartition {
            values: tuple.to_json(&columns),
            raw: tuple.0.iter().map(Value::to_partition_text).collect(),
            before,
            after: (before + come).saturating_sub(gone),
            inserted: if same_rows { 0 } else { come },
            deleted: if same_rows { 0 } else { gone },
            unchanged: if same_rows { come } else { 0 },
            updated: same_rows.then_some(0),
            files_before,
            bytes_before,
            ..PlanPartition::default()
        })
        .collect();
    let total = |pick: fn(&PlanPartition) -> u64| plan.partitions.iter().map(pick).sum::<u64>();
    let (inserted, deleted) = (total(|p| p.inserted), total(|p| p.deleted));
    let table_before: Option<u64> = live.iter().map(|f| rows.get(&f.id()).copied().or_else(|| f.live_rows())).sum();
    plan.rows = RowTotals {
        slice_before: total(|p| p.before),
        slice_after: total(|p| p.after),
        table_before,
        table_after: table_before.map(|rows| (rows + inserted).saturating_sub(deleted)),
        inserted,
        deleted,
        unchanged: total(|p| p.unchanged),
        updated: same_rows.then_some(0),
        ..RowTotals::default()
    };
    plan.slice = slice_text(&plan.partitions);
    plan.files = FileTotals {
        removed: removed.len() as u64,
        removed_bytes: removed.iter().map(|f| f.size).sum(),
        restored: restored.len() as u64,
        rows_rewritten_unchanged: 0,
    };
    let gone: BTreeSet<FileId> = removed.iter().map(DataFile::id).collect();
    let after: Vec<&DataFile> = live.iter().filter(|f| !gone.contains(&f.id())).chain(restored).collect();
    let distinct =
        |files: &mut dyn Iterator<Item = &DataFile>| files.map(|f| &f.partition).collect::<BTreeSet<_>>().len() as u64;
    plan.layout = LayoutChange {
        before: Layout { partitions: distinct(&mut live.iter()), files: Some(live.len() as u64) },
        after: Layout { partitions: distinct(&mut after.iter().copied()), files: Some(after.len() as u64) },
    };
    plan.untouched_partitions = slice::untouched(&plan);
    plan.gates = gate::judge(&plan, &Evidence::default(), &table.settings.thresholds);
    plan.settle();
    let wrong = arithmetic::violations(&plan);
    if !wrong.is_empty() {
        return Err(Error::new(ErrorKind::Internal, format!("the plan's numbers do not add up: {}", wrong.join("; "))));
    }
    Ok(plan)
}

/// Live rows per file, from the log or else from the footer.
async fn count_rows(table: &OpenTable, files: Vec<DataFile>) -> Result<HashMap<FileId, u64>> {
    let layout = Arc::new(TableLayout::from_metadata(table.metadata())?);
    let store = table.snapshot().store().clone();
    stream::iter(files)
        .map(|file| {
            let (store, layout) = (store.clone(), layout.clone());
            async move {
                let rows = match file.live_rows() {
                    Some(rows) => rows,
                    None => DataReader::new(layout).row_count(&readable(&store, &file).await?).await?,
                };
                Ok::<_, Error>((file.id(), rows))
            }
        })
        .buffer_unordered(CONCURRENT)
        .try_collect()
        .await
}

/// The exchange of a spec, in the files of the newest and of older snapshots.
pub fn exchange(removed: &[DataFile], restored: &[DataFile]) -> FileExchange {
    FileExchange {
        remove: removed.iter().map(DataFile::id).collect(),
        add: restored.iter().map(DataFile::id).collect(),
    }
}

/// Old metadata and files may only come back where the protocol of today
/// covers what they need: the protocol itself never goes back.
///
/// # Errors
/// `UnsupportedFeature`, naming what is missing.
pub fn check_protocol(now: &Snapshot, then: &Snapshot) -> Result<()> {
    let (a, b) = (now.protocol(), then.protocol());
    let mut missing = Vec::new();
    if b.min_reader > a.min_reader || b.min_writer > a.min_writer {
        missing.push(format!("reader {} / writer {}", b.min_reader, b.min_writer));
    }
    let features = b.reader_features.iter().chain(&b.writer_features).flatten();
    let lacking: BTreeSet<&String> = features.filter(|f| !a.supports(f)).collect();
    missing.extend(lacking.into_iter().map(|f| format!("table feature {f}")));
    if !missing.is_empty() {
        return Err(Error::new(
            ErrorKind::UnsupportedFeature,
            format!("version {} needs {}, which the table no longer has", then.version(), missing.join(", ")),
        )
        .hint("The protocol was lowered since. Upgrade it again with the engine that made the table, then restore."));
    }
    now.protocol().check_write(then.metadata(), crate::table::features::WriteKind::Restore)
}

/// The live files of a snapshot by identity, with all that a re-add needs.
///
/// # Errors
/// Whatever is wrong with the log.
pub async fn by_id(snapshot: &Snapshot) -> Result<BTreeMap<FileId, DataFile>> {
    Ok(snapshot.files(true).await?.into_iter().map(|file| (file.id(), file)).collect())
}
