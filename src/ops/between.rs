//! The commits that came in between a plan and its apply, for people and scripts.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::error::{Error, ErrorKind};
use crate::lake::log::action::Line;
use crate::plan::Plan;
use crate::table::PartitionTuple;

/// One commit after the plan's version.
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    pub version: u64,
    /// The log's own word for it.
    pub operation: Option<String>,
    /// Partitions whose rows it changed, as far as the log tells.
    pub touched: BTreeSet<PartitionTuple>,
    /// Rows that came less rows that went; `None` where the log does not tell.
    pub rows: Option<i64>,
    /// Why the plan cannot be put on top of it.
    pub conflict: Option<String>,
}

impl Between {
    /// `v7 MERGE touched day=2026-01-01 (+2 rows)`
    fn words(&self, columns: &[String]) -> String {
        let operation = self.operation.as_deref().map(|o| format!(" {o}")).unwrap_or_default();
        let head = format!("v{}{operation}", self.version);
        if let Some(conflict) = &self.conflict {
            return format!("{head} {conflict}");
        }
        match self.touched.is_empty() {
            true => format!("{head} changed no rows"),
            false => format!("{head} touched {}{}", listed(&self.touched, columns), change(self.rows)),
        }
    }

    fn json(&self, columns: &[String]) -> Json {
        json!({
            "version": self.version,
            "operation": self.operation,
            "partitions": self.touched.iter().map(|t| t.to_json(columns)).collect::<Vec<_>>(),
            "rows": self.rows,
            "conflict": self.conflict,
        })
    }
}

/// The first partitions by name, and how many more.
pub fn listed(touched: &BTreeSet<PartitionTuple>, columns: &[String]) -> String {
    const NAMED: usize = 5;
    let named: Vec<String> = touched.iter().take(NAMED).map(|t| t.label(columns)).collect();
    let more = touched.len().saturating_sub(NAMED);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", named.join(", "))
}

pub fn change(rows: Option<i64>) -> String {
    rows.map(|rows| format!(" ({rows:+} rows)")).unwrap_or_default()
}

pub fn operation(lines: &[Line]) -> Option<String> {
    let info = lines.iter().find_map(|l| l.commit_info.as_ref())?;
    info.get("operation")?.as_str().map(str::to_owned)
}

/// The commits of `between` stand in the way of the plan.
pub fn stale(plan: &Plan, columns: &[String], between: &[Between]) -> Error {
    let newest = between.last().map_or(plan.version, |b| b.version);
    let (against, beside): (Vec<&Between>, Vec<&Between>) = between.iter().partition(|b| b.conflict.is_some());
    let words = |commits: &[&Between]| commits.iter().map(|b| b.words(columns)).collect::<Vec<_>>().join("; ");
    let beside = match beside.is_empty() {
        true => String::new(),
        false => format!(". No conflict: {}", words(&beside)),
    };
    Error::new(
        ErrorKind::StalePlan,
        format!(
            "the {} was planned at version {}, the table is at version {newest}: {}{beside}",
            plan.operation,
            plan.version,
            words(&against)
        ),
    )
    .hint("Nothing was written: putting the plan on top would not be safe. Make a new plan; its numbers will differ.")
    .details(details(columns, between, false))
}

/// The commits leave the plan valid, but `--strict` wants none.
pub fn not_strict(plan: &Plan, columns: &[String], between: &[Between]) -> Error {
    let words: Vec<String> = between.iter().map(|b| b.words(columns)).collect();
    Error::new(
        ErrorKind::StalePlan,
        format!(
            "the table moved past version {}: {}. None touches what the plan saw, but --strict was given",
            plan.version,
            words.join("; ")
        ),
    )
    .hint("Nothing was written. A rebase would have been safe: leave --strict out, or make a new plan.")
    .details(details(columns, between, true))
}

fn details(columns: &[String], between: &[Between], safe: bool) -> Json {
    json!({"commits": between.iter().map(|b| b.json(columns)).collect::<Vec<_>>(), "rebase_safe": safe})
}
