//! From what the engine counted to the numbers of a plan.

use serde_json::{Map, json};
use uuid::Uuid;

use super::browse::OpenTable;
use crate::engine::local::LocalEngine;
use crate::engine::{Engine, PartitionSummary, Summary};
use crate::error::ErrorKind;
use crate::plan::{FileTotals, Layout, LayoutChange, Plan, PlanPartition, Refusal, Role, RowTotals, Spec, Written};
use crate::table::Value;
use crate::table::value::millis_text;

/// A plan with nothing in it yet.
pub(super) fn blank(table: &OpenTable, spec: Spec) -> Plan {
    Plan {
        id: Uuid::new_v4().to_string(),
        table: table.location.clone(),
        table_id: table.metadata().id.clone(),
        version: table.version(),
        engine: LocalEngine.name().into(),
        created_at: millis_text(chrono::Utc::now().timestamp_millis()),
        partition_columns: table.metadata().partition_columns.clone(),
        ..Plan::blank(spec)
    }
}

/// The first partitions by name, and how many more.
pub(super) fn slice_text(partitions: &[PlanPartition]) -> Option<String> {
    const NAMED: usize = 5;
    let named: Vec<String> = partitions.iter().take(NAMED).map(PlanPartition::label).collect();
    let more = partitions.len().saturating_sub(NAMED);
    match named.is_empty() {
        true => None,
        false if more > 0 => Some(format!("{} and {more} more", named.join(", "))),
        false => Some(named.join(", ")),
    }
}

pub(super) fn fill(plan: &mut Plan, summary: &Summary) {
    let keyed = !plan.key.is_empty();
    let columns = plan.partition_columns.clone();
    let mut total = crate::plan::Effects::default();
    summary.partitions.iter().for_each(|p| total.add(&p.effects));
    let delivered = summary.partitions.iter().filter(|p| p.in_slice);
    let slice_after = delivered.map(|p| p.effects.after()).sum();
    plan.partitions = summary.partitions.iter().map(|p| plan_partition(p, &columns, keyed)).collect();
    plan.slice = slice_text(&plan.partitions);
    plan.rows = RowTotals {
        source: summary.source_rows,
        slice_before: summary.slice_before,
        slice_after,
        table_before: summary.table_before,
        table_after: summary.table_before.map(|rows| (rows + total.inserted).saturating_sub(total.deleted)),
        inserted: total.inserted,
        updated: keyed.then_some(total.updated),
        unchanged: total.unchanged,
        deleted: total.deleted,
        zombies: total.zombies,
        kept: total.kept,
        ignored: total.ignored + summary.excluded + summary.unplaced,
        moved: total.moved_in,
        touched_only: total.touched_only,
    };
    plan.keys = summary.keys.clone();
    plan.files = FileTotals {
        removed: summary.removed.len() as u64,
        removed_bytes: summary.removed.iter().map(|f| f.size).sum(),
        restored: 0,
        rows_rewritten_unchanged: summary.rows_rewritten_unchanged,
    };
    plan.layout = LayoutChange {
        before: Layout { partitions: summary.table_partitions, files: Some(summary.table_files) },
        after: Layout { partitions: summary.partitions_after, files: None },
    };
    if summary.ambiguous > 0 {
        plan.refusals.push(Refusal {
            kind: ErrorKind::DuplicateSourceKeys,
            message: format!(
                "{} rows of the table are matched by several source rows, such as {}",
                summary.ambiguous,
                summary.ambiguous_examples.join("; ")
            ),
            hint: Some("A MERGE cannot tell which of them is right. Complete the key or remove the duplicates.".into()),
        });
    }
    if summary.outside > 0 {
        plan.refusals.push(Refusal {
            kind: ErrorKind::RowsOutsidePredicate,
            message: format!(
                "{} source rows are outside the predicate, such as {}",
                summary.outside,
                summary.outside_examples.join("; ")
            ),
            hint: Some("Widen the predicate, or leave those rows out of the source.".into()),
        });
    }
    for (column, rows) in &summary.not_null {
        plan.refusals.push(Refusal {
            kind: ErrorKind::NotNullViolation,
            message: format!("{rows} source rows have NULL in {column}, which the table declares NOT NULL"),
            hint: Some("Deliver values for it.".into()),
        });
    }
    for broken in &summary.broken {
        let kind = if broken.is_null { ErrorKind::NotNullViolation } else { ErrorKind::ConstraintViolation };
        let example = broken.example.as_ref().map(|cells| format!(", such as {cells}")).unwrap_or_default();
        plan.refusals.push(Refusal {
            kind,
            message: format!("{} rows to be written break the {}{example}", broken.rows, broken.demand),
            hint: Some("Correct the source, or change what the table demands.".into()),
        });
    }
}

fn plan_partition(p: &PartitionSummary, columns: &[String], keyed: bool) -> PlanPartition {
    let e = &p.effects;
    let measures: Map<String, serde_json::Value> = p
        .measures
        .iter()
        .map(|(name, before, after)| (name.clone(), json!({"before": before.to_string(), "after": after.to_string()})))
        .collect();
    PlanPartition {
        values: p.values.to_json(columns),
        raw: p.values.0.iter().map(Value::to_partition_text).collect(),
        role: Role::default(),
        before: e.before,
        source: e.source,
        after: e.after(),
        inserted: e.inserted,
        updated: keyed.then_some(e.updated),
        unchanged: e.unchanged,
        deleted: e.deleted,
        zombies: e.zombies,
        kept: e.kept,
        ignored: e.ignored,
        moved_in: e.moved_in,
        moved_out: e.moved_out,
        files_before: p.files_before,
        bytes_before: p.bytes_before,
        measures,
        written: Written { rows: p.written.rows, checksum: format!("{:032x}", p.written.checksum) },
    }
}
