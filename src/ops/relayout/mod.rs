//! The same rows in other files: repartition and optimize, from the request to
//! the staged files.

mod describe;
mod optimize;
mod repartition;
mod stage;
mod target;

pub use describe::describe;
pub use optimize::{OptimizeRequest, prepare_optimize};
pub use repartition::{RepartitionRequest, prepare_repartition};
pub(super) use stage::{carry_over, second_look, stage, unlike};

use std::collections::BTreeSet;

use super::browse::OpenTable;
use super::prepare::spilling;
use super::space;
use crate::engine::local::relayout::{Counted, LayoutJob};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{self, Evidence};
use crate::lake::Snapshot;
use crate::plan::layouts::FileCost;
use crate::plan::relayout::{Relayout, Shape};
use crate::plan::repartition::Estimate;
use crate::plan::{FileTotals, Layout, LayoutChange, Plan, PlanPartition, RowTotals, Spec, Written, arithmetic};
use crate::predicate::{Bound, RowExpr, Scope};
use crate::table::{DataFile, Metadata, PartitionTuple, Schema, Value};

/// Where neither a flag nor the table says how large files should be.
const TARGET_FILE_BYTES: u64 = 256 << 20;

/// The size that files are written up to: the given one, else the table's
/// `delta.targetFileSize`, else 256 MiB.
fn target_file_size(metadata: &Metadata, given: Option<u64>) -> u64 {
    let own = || metadata.property("delta.targetFileSize").and_then(crate::config::engine::byte_size);
    given.or_else(own).filter(|bytes| *bytes > 0).unwrap_or(TARGET_FILE_BYTES)
}

/// What the engine is asked to do with some files of a snapshot.
///
/// # Errors
/// `Usage` for an expression that does not fit the table, `BadConfig`.
fn job(
    table: &OpenTable,
    snapshot: &Snapshot,
    layout: &Relayout,
    target: Metadata,
    files: Vec<DataFile>,
) -> Result<LayoutJob> {
    let schema = &snapshot.metadata().schema;
    let added = layout.added.iter().map(|column| bound(&column.expression, schema)).collect::<Result<Vec<_>>>()?;
    Ok(LayoutJob {
        snapshot: snapshot.clone(),
        target,
        layout: layout.clone(),
        added,
        files,
        spilling: spilling(table)?,
        seed: super::prepare::seed(),
    })
}

/// An expression over a table's columns.
///
/// # Errors
/// `Usage`.
fn bound(expression: &str, schema: &Schema) -> Result<Bound> {
    let none = Schema { fields: Vec::new() };
    RowExpr::parse(expression)?.bind(&Scope { source: &none, target: schema })
}

/// Puts what was counted into a plan. Every row is there before and after, so
/// per new partition both are its rows. A partition that a switch makes has no
/// files before it.
fn fill(plan: &mut Plan, live: &[DataFile], rewritten: &[DataFile], counted: &Counted, after: &Layout) {
    let columns = plan.partition_columns.clone();
    let is_switch = matches!(&plan.spec, Spec::Repartition(r) if r.from != r.by);
    let there = |n: u64| if is_switch { 0 } else { n };
    plan.partitions = counted
        .tuples
        .iter()
        .map(|t| PlanPartition {
            values: t.values.to_json(&columns),
            raw: t.values.0.iter().map(Value::to_partition_text).collect(),
            before: t.rows,
            source: t.rows,
            after: t.rows,
            updated: Some(0),
            unchanged: t.rows,
            files_before: there(t.files),
            bytes_before: there(t.bytes),
            written: Written { rows: t.rows, checksum: String::new() },
            ..PlanPartition::default()
        })
        .collect();
    let rows = counted.rows();
    let rewritten_ids: BTreeSet<_> = rewritten.iter().map(DataFile::id).collect();
    let others = live.iter().filter(|f| !rewritten_ids.contains(&f.id())).map(DataFile::live_rows);
    let table = others.sum::<Option<u64>>().map(|others| others + rows);
    plan.rows = RowTotals {
        source: rows,
        slice_before: rows,
        slice_after: rows,
        table_before: table,
        table_after: table,
        updated: Some(0),
        unchanged: rows,
        ..RowTotals::default()
    };
    plan.files = FileTotals {
        removed: rewritten.len() as u64,
        removed_bytes: rewritten.iter().map(|f| f.size).sum(),
        restored: 0,
        rows_rewritten_unchanged: rows,
    };
    let partitions = live.iter().map(|f| &f.partition).collect::<BTreeSet<_>>().len() as u64;
    plan.layout = LayoutChange { before: Layout { partitions, files: Some(live.len() as u64) }, after: *after };
}

/// How many files come out, where that is sure beforehand.
fn files_after(shape: Shape, counted: &Counted) -> Option<u64> {
    match shape {
        Shape::FilesPerPartition(files) => {
            Some(counted.tuples.iter().map(|t| u64::from(files).max(1).min(t.rows)).sum())
        }
        Shape::TargetBytes(_) => None,
    }
}

/// What the files of the new partitions will be, about.
fn estimated(cost: &FileCost, shape: Shape, counted: &Counted) -> Estimate {
    let mut all = Estimate { files: 0, bytes: 0 };
    for rows in counted.tuples.iter().map(|t| t.rows).filter(|rows| *rows > 0) {
        let (files, bytes) = match shape {
            Shape::FilesPerPartition(files) => {
                let files = u64::from(files).clamp(1, rows);
                (files, cost.bytes(rows, u64::MAX).saturating_add(cost.floor.saturating_mul(files - 1)))
            }
            Shape::TargetBytes(target) => (cost.files(rows, target), cost.bytes(rows, target)),
        };
        all.files = all.files.saturating_add(files);
        all.bytes = all.bytes.saturating_add(bytes);
    }
    all
}

/// Gates, verdict, and the arithmetic of every plan.
///
/// # Errors
/// `Internal` where the numbers do not add up.
fn judge(plan: &mut Plan, table: &OpenTable) -> Result<()> {
    let of = |wanted: &dyn Fn(&Option<String>) -> bool| -> u64 {
        plan.partitions.iter().filter(|p| p.raw.iter().any(wanted)).map(|p| p.after).sum()
    };
    let evidence = Evidence {
        null_partition_rows: of(&|text| text.is_none()),
        empty_partition_rows: of(&|text| text.as_deref() == Some("")),
        space: space::of_layout(table, plan),
        ..Evidence::default()
    };
    plan.gates = gate::judge(plan, &evidence, &table.settings.thresholds);
    plan.settle();
    let wrong = arithmetic::violations(plan);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Internal, format!("the plan's numbers do not add up: {}", wrong.join("; "))))
}

/// Whether a partition has the empty string in one of some columns.
fn has_empty(tuple: &PartitionTuple, places: &[usize]) -> bool {
    places.iter().any(|place| matches!(tuple.0.get(*place), Some(Value::String(text)) if text.is_empty()))
}
