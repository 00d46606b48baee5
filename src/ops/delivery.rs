//! What is to be known, beside a plan's numbers, before the delivery is judged.

use super::browse::OpenTable;
use super::prepare::{Prepared, SourceRequest};
use super::profile;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;
use crate::plan::delivery::{DeliveryFacts, Missing};
use crate::plan::operations::OperationProposal;
use crate::plan::technical::TechnicalProposal;
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::table::{PartitionTuple, Value};

/// Updated rows that are looked at for technical columns.
const SAMPLE: u64 = 4_000;

/// The facts for one source, and the technical columns that were found on the way.
/// `found` is the operation column that the source was seen to have.
///
/// # Errors
/// `Usage` for a slice that is no condition on partition columns; whatever
/// keeps the source or the rows from being read.
pub(super) async fn facts(
    table: &OpenTable,
    request: &SourceRequest,
    overwrite: &Prepared,
    found: Option<OperationProposal>,
    look_for_technical: bool,
    progress: &Progress,
) -> Result<(DeliveryFacts, Option<TechnicalProposal>)> {
    let mut facts = DeliveryFacts::default();
    let Some(rows) = &overwrite.rows else { return Ok((facts, None)) };
    facts.operations = match &request.view.operations {
        // A person said what the codes mean: that is what the source is.
        Some(stated) => Some(OperationProposal::stated(stated)),
        None => found,
    };
    if let Some(text) = &request.slice {
        let slice = Predicate::parse(text)?;
        facts.unexpected = Some(outside(table, &slice, &overwrite.plan)?);
        facts.absent = absent(table, &slice, &overwrite.plan, progress).await?;
    }
    facts.missing = missing(overwrite);
    let plan = &overwrite.plan;
    let really = plan.rows.updated.unwrap_or(0).saturating_sub(plan.rows.touched_only);
    // What counts as changed only matters where few rows of the slice are covered.
    let technical = if look_for_technical && really > 0 && plan.rows.deleted > 0 {
        profile::technical_columns(rows, SAMPLE, progress).await?
    } else {
        None
    };
    if let Some(found) = &technical {
        // The sample stands for all; it is exact where it holds every updated row.
        let share = found.only_these as f64 / found.updated.max(1) as f64;
        facts.technical_only = (really as f64 * share).floor() as u64;
    }
    Ok((facts, technical))
}

fn holds(table: &OpenTable, slice: &Predicate, tuple: &PartitionTuple) -> Result<bool> {
    let columns = &table.metadata().partition_columns;
    let value = |name: &str| -> Option<Value> {
        let at = columns.iter().position(|c| c.eq_ignore_ascii_case(name))?;
        tuple.0.get(at).cloned()
    };
    if let Some(stranger) = slice.columns().iter().find(|name| value(name).is_none() && !tuple.0.is_empty()) {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("a slice is a condition on partition columns, and {stranger} is none"),
        )
        .hint(format!("The table is partitioned by {}.", columns.join(", "))));
    }
    Ok(slice.evaluate(&value)? == Some(true))
}

/// Partitions of the source that the slice does not hold.
fn outside(table: &OpenTable, slice: &Predicate, plan: &Plan) -> Result<Vec<String>> {
    let types: Vec<_> = table.metadata().partition_fields().iter().filter_map(|f| f.primitive().cloned()).collect();
    let mut names = Vec::new();
    for p in plan.partitions.iter().filter(|p| p.source > 0) {
        let tuple = p.tuple(&types);
        if !tuple.map(|tuple| holds(table, slice, &tuple)).transpose()?.unwrap_or(false) {
            names.push(p.label());
        }
    }
    Ok(names)
}

/// Partitions of the slice that have rows in the table and none in the source.
async fn absent(table: &OpenTable, slice: &Predicate, plan: &Plan, progress: &Progress) -> Result<Vec<(String, u64)>> {
    let columns = &table.metadata().partition_columns;
    let mut found = Vec::new();
    for p in table.partitions(false, progress, &mut |_| {}).await? {
        let label = p.values.label(columns);
        let delivered = plan.partitions.iter().any(|d| d.source > 0 && d.label() == label);
        // Rows that nobody counted are rows all the same.
        let rows = p.rows.exact().unwrap_or(p.rows.known.max(1));
        if !delivered && rows > 0 && holds(table, slice, &p.values)? {
            found.push((label, rows));
        }
    }
    Ok(found)
}

/// How the missing rows lie over the groups that the engine counted.
fn missing(overwrite: &Prepared) -> Option<Missing> {
    /// Rows of a group on average; a column with fewer tells rows apart, not groups.
    const GROUP: u64 = 5;
    let rows = &overwrite.plan.rows;
    let groups = overwrite.rows.as_ref()?.groups().iter().filter(|g| !g.overflow);
    let found: Vec<Missing> = groups
        .filter(|g| g.values.len() as u64 * GROUP <= rows.slice_before)
        .filter_map(|g| {
            let absent = g.values.iter().filter(|(_, _, source)| *source == 0).map(|(_, before, _)| before).sum();
            Missing::of(absent, rows.deleted, rows.slice_before)
        })
        .collect();
    found.iter().copied().find(|m| *m == Missing::Concentrated).or(found.first().copied())
}
