//! How a table is: small files, skew, removed files, deleted rows, gaps,
//! left-overs, and what each would cost to mend.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::apply_report::shell_word;
use super::browse::OpenTable;
use super::context::Context;
use super::vacuum::{VacuumRequest, listing, prepare_vacuum, retention};
use crate::error::Result;
use crate::lake::log::ledger::Ledger;
use crate::plan::Spec;
use crate::plan::layouts::Spread;
use crate::plan::layouts::advice::times;
use crate::plan::vacuum::{Vacuum, Why};
use crate::progress::Progress;
use crate::table::duration::span_text;
use crate::table::number::{bytes, grouped};
use crate::table::partition::{PartitionGrouper, PartitionStats, date_gaps};
use crate::table::{DataFile, PartitionTuple};

/// Partitions that are named for each finding.
const NAMED: usize = 20;

/// One thing that could be better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// `small-files`, `skew`, `tombstones`, `deletion-vectors`, `gaps`, `left-overs`,
    /// `change-data`
    pub name: String,
    pub message: String,
    /// Bytes that mending reads and writes; `None` where it does not rewrite.
    pub rewrite_bytes: Option<u64>,
    /// Bytes that mending gives back.
    pub frees_bytes: Option<u64>,
    /// The command that mends it.
    pub mend: Option<String>,
    /// The first partitions concerned, the worst first.
    pub partitions: Vec<Map<String, Json>>,
}

/// The table's health at one version. Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Health {
    pub table: String,
    pub version: u64,
    pub partitions: u64,
    pub files: u64,
    pub bytes: u64,
    /// `None` where the log lacks `numRecords`.
    pub rows: Option<u64>,
    pub small_files: u64,
    pub small_bytes: u64,
    /// Files below this are small.
    pub small_file_bytes: u64,
    /// Rows of a partition; `None` where they are unknown.
    pub partition_rows: Option<Spread>,
    pub partition_bytes: Option<Spread>,
    /// The largest partition over the middle one, by rows, or by bytes where
    /// rows are unknown.
    pub skew: Option<f64>,
    pub deletion_vector_files: u64,
    pub deletion_vector_rows: u64,
    /// Removed files that the table still keeps.
    pub tombstones: u64,
    pub tombstone_bytes: u64,
    /// milliseconds
    pub retention_ms: i64,
    /// Files that VACUUM would take away now.
    pub vacuum_files: u64,
    pub vacuum_bytes: u64,
    /// Of these, files that the log does not know.
    pub left_over_files: u64,
    pub gaps: Vec<Json>,
    pub findings: Vec<Finding>,
}

/// Looks at the log and the folder; reads no data file.
///
/// # Errors
/// Whatever is wrong with the log, or the folder.
pub async fn health(context: &Context, table: &OpenTable, progress: &Progress) -> Result<Health> {
    let limits = &table.settings.layout;
    let files = table.files(progress).await?;
    let mut grouper = PartitionGrouper::default();
    files.iter().for_each(|file| grouper.add(file));
    let partitions = grouper.finish();
    let retention_ms = retention(table.metadata())?;
    let small = |file: &&DataFile| file.size < limits.small_file_bytes;
    let rows: Option<Vec<u64>> = partitions.iter().map(|p| p.rows.exact()).collect();
    let partition_rows = rows.clone().and_then(Spread::of);
    let partition_bytes = Spread::of(partitions.iter().map(|p| p.bytes).collect());
    let mut health = Health {
        table: table.location.clone(),
        version: table.version(),
        partitions: partitions.len() as u64,
        files: files.len() as u64,
        bytes: files.iter().map(|f| f.size).sum(),
        rows: rows.map(|list| list.iter().sum()),
        small_files: files.iter().filter(small).count() as u64,
        small_bytes: files.iter().filter(small).map(|f| f.size).sum(),
        small_file_bytes: limits.small_file_bytes,
        partition_rows,
        partition_bytes,
        skew: skew(partition_rows.or(partition_bytes)),
        deletion_vector_files: files.iter().filter(|f| f.deletion_vector.is_some()).count() as u64,
        deletion_vector_rows: files.iter().map(DataFile::deleted_rows).sum(),
        tombstones: 0,
        tombstone_bytes: 0,
        retention_ms,
        vacuum_files: 0,
        vacuum_bytes: 0,
        left_over_files: 0,
        gaps: date_gaps(&partitions).iter().map(crate::table::Value::to_json).collect(),
        findings: Vec::new(),
    };
    let freed = removed(context, table, &mut health, progress).await?;
    health.findings = findings(table, &health, &freed, &files, &partitions);
    Ok(health)
}

fn skew(sizes: Option<Spread>) -> Option<f64> {
    sizes.filter(|s| s.median > 0).map(|s| s.max as f64 / s.median as f64)
}

/// Files that a VACUUM would take now, by why they go: (files, bytes).
#[derive(Debug, Default)]
struct Freed {
    removed: (u64, u64),
    unknown: (u64, u64),
    change_data: (u64, u64),
}

impl Freed {
    fn of(spec: &Vacuum) -> Freed {
        let mut freed = Freed::default();
        for file in &spec.files {
            let of = match file.why {
                Why::Removed => &mut freed.removed,
                Why::Unknown => &mut freed.unknown,
                Why::ChangeData => &mut freed.change_data,
            };
            *of = (of.0 + 1, of.1 + file.size);
        }
        freed
    }
}

/// Removed files that are still there, and what a VACUUM would take now.
async fn removed(context: &Context, table: &OpenTable, health: &mut Health, progress: &Progress) -> Result<Freed> {
    let snapshot = table.snapshot();
    let folder = listing(snapshot.store(), table.metadata()).await?;
    let ledger = Ledger::read(snapshot, progress).await?;
    let mut live = std::collections::HashSet::new();
    for file in snapshot.files(false).await? {
        live.extend(snapshot.store().below(&file.path)?);
    }
    let mut seen = std::collections::HashSet::new();
    for stone in &ledger.tombstones {
        let Some(path) = stone.file.path.as_ref().filter(|p| !live.contains(*p)) else { continue };
        if let Some(file) = folder.get(path)
            && seen.insert(path)
        {
            health.tombstones += 1;
            health.tombstone_bytes += file.size;
        }
    }
    let plan = prepare_vacuum(context, table, &VacuumRequest::default(), progress).await?;
    let Spec::Vacuum(spec) = &plan.spec else { return Ok(Freed::default()) };
    let freed = Freed::of(spec);
    health.vacuum_files = spec.files.len() as u64;
    health.vacuum_bytes = spec.bytes();
    health.left_over_files = freed.unknown.0;
    Ok(freed)
}

fn findings(
    table: &OpenTable,
    health: &Health,
    freed: &Freed,
    files: &[DataFile],
    partitions: &[PartitionStats],
) -> Vec<Finding> {
    let columns = &table.metadata().partition_columns;
    let place = shell_word(&table.location);
    let limits = &table.settings.layout;
    let mut found = Vec::new();
    let named = |list: Vec<&PartitionTuple>| list.into_iter().take(NAMED).map(|t| t.to_json(columns)).collect();
    let s = |n: u64| if n == 1 { "" } else { "s" };

    // Of small files those count that another one could be put together with.
    let mut small: BTreeMap<&PartitionTuple, (u64, u64)> = BTreeMap::new();
    for file in files.iter().filter(|f| f.size < limits.small_file_bytes) {
        let of = small.entry(&file.partition).or_default();
        *of = (of.0 + 1, of.1 + file.size);
    }
    small.retain(|_, (n, _)| *n > 1);
    if !small.is_empty() {
        let (n, size) = small.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let mut worst: Vec<(&PartitionTuple, u64)> = small.iter().map(|(t, (n, _))| (*t, *n)).collect();
        worst.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        found.push(Finding {
            name: "small-files".into(),
            message: format!(
                "{} file{} below {} in {} partition{} could be put together",
                grouped(n),
                s(n),
                bytes(limits.small_file_bytes),
                grouped(small.len() as u64),
                s(small.len() as u64)
            ),
            rewrite_bytes: Some(size),
            frees_bytes: None,
            mend: Some(format!("partwise plan optimize {place}")),
            partitions: named(worst.into_iter().map(|(t, _)| t).collect()),
        });
    }
    if let Some(skew) = health.skew.filter(|s| *s > limits.max_skew) {
        let mut largest: Vec<&PartitionStats> = partitions.iter().collect();
        largest.sort_by_key(|p| std::cmp::Reverse((p.rows.known, p.bytes)));
        found.push(Finding {
            name: "skew".into(),
            message: format!("the largest partition is {} times the middle one", times(skew)),
            rewrite_bytes: Some(health.bytes),
            frees_bytes: None,
            mend: Some(format!("partwise layouts {place}")),
            partitions: named(largest.into_iter().take(1).map(|p| &p.values).collect()),
        });
    }
    if health.deletion_vector_files > 0 {
        let masked: Vec<&DataFile> = files.iter().filter(|f| f.deletion_vector.is_some()).collect();
        let size = masked.iter().map(|f| f.size).sum();
        let mut places: Vec<&PartitionTuple> = masked.iter().map(|f| &f.partition).collect();
        places.dedup();
        found.push(Finding {
            name: "deletion-vectors".into(),
            message: format!(
                "{} deleted row{} are still read, in {} file{}",
                grouped(health.deletion_vector_rows),
                s(health.deletion_vector_rows),
                grouped(health.deletion_vector_files),
                s(health.deletion_vector_files)
            ),
            rewrite_bytes: Some(size),
            frees_bytes: None,
            mend: Some(format!("partwise plan optimize {place}")),
            partitions: named(places),
        });
    }
    if health.tombstones > 0 {
        let when = match freed.removed.0 {
            0 => format!("all within the retention of {}", span_text(health.retention_ms)),
            n => format!("{} of them older than the retention of {}", grouped(n), span_text(health.retention_ms)),
        };
        found.push(Finding {
            name: "tombstones".into(),
            message: format!(
                "{} removed file{} are still there ({}), {when}",
                grouped(health.tombstones),
                s(health.tombstones),
                bytes(health.tombstone_bytes)
            ),
            rewrite_bytes: None,
            frees_bytes: Some(freed.removed.1),
            mend: (freed.removed.0 > 0).then(|| format!("partwise plan vacuum {place}")),
            partitions: Vec::new(),
        });
    }
    if health.left_over_files > 0 {
        found.push(Finding {
            name: "left-overs".into(),
            message: format!(
                "{} old file{} that the log does not know: writes that failed",
                grouped(health.left_over_files),
                s(health.left_over_files)
            ),
            rewrite_bytes: None,
            frees_bytes: Some(freed.unknown.1),
            mend: Some(format!("partwise plan vacuum {place}")),
            partitions: Vec::new(),
        });
    }
    if freed.change_data.0 > 0 {
        found.push(Finding {
            name: "change-data".into(),
            message: format!(
                "{} old file{} of the change data feed",
                grouped(freed.change_data.0),
                s(freed.change_data.0)
            ),
            rewrite_bytes: None,
            frees_bytes: Some(freed.change_data.1),
            mend: Some(format!("partwise plan vacuum {place}")),
            partitions: Vec::new(),
        });
    }
    if !health.gaps.is_empty() {
        let first: Vec<String> = health.gaps.iter().filter_map(Json::as_str).take(3).map(str::to_owned).collect();
        let more = if health.gaps.len() > first.len() { ", …" } else { "" };
        found.push(Finding {
            name: "gaps".into(),
            message: format!(
                "{} date{} without a partition: {}{more}",
                grouped(health.gaps.len() as u64),
                s(health.gaps.len() as u64),
                first.join(", ")
            ),
            rewrite_bytes: None,
            frees_bytes: None,
            mend: None,
            partitions: Vec::new(),
        });
    }
    found
}
