//! Delivered rows against present rows, per partition, in both directions.

use serde_json::json;

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition};
use crate::table::number::grouped;

pub struct RowCount;

impl Gate for RowCount {
    fn name(&self) -> &'static str {
        "row-count"
    }

    fn about(&self) -> &'static str {
        "each partition is delivered with about as many rows as it has now"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["row_count_min_percent", "row_count_max_percent", "row_count_warn_percent", "row_count_exempt_rows"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::MergeDelete => Severity::Fail,
            Class::Inverse => Severity::Warn,
            Class::Append | Class::Merge | Class::Layout => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, t: &Thresholds) -> Option<Finding> {
        let threshold = format!(
            "{}–{} % of present rows, warn below {} %, differences up to {} rows exempt",
            t.row_count_min_percent, t.row_count_max_percent, t.row_count_warn_percent, t.row_count_exempt_rows
        );
        let judged: Vec<(&PlanPartition, f64, GateStatus)> = plan
            .partitions
            .iter()
            .filter(|p| p.before > 0)
            .map(|p| {
                let percent = p.after as f64 * 100.0 / p.before as f64;
                (p, percent, status(p, percent, t))
            })
            .collect();
        let worst = judged.iter().map(|(_, _, s)| *s).max().unwrap_or(GateStatus::Pass);
        let concerned: Vec<_> = judged.iter().filter(|(_, _, s)| *s == worst && worst != GateStatus::Pass).collect();
        let (delivered, present) = (plan.rows.slice_after, plan.rows.slice_before);
        let message = match concerned.first() {
            None => format!("{} rows for {} present", grouped(delivered), grouped(present)),
            Some((p, percent, _)) => {
                let more = if concerned.len() > 1 {
                    format!(" (and {} more partitions)", concerned.len() - 1)
                } else {
                    String::new()
                };
                format!(
                    "{}: {} rows for {} present, {percent:.1} %{more}; an incomplete extract deletes good rows",
                    p.label(),
                    grouped(p.after),
                    grouped(p.before)
                )
            }
        };
        Some(
            Finding::pass(json!(delivered), threshold, message)
                .of(worst)
                .at(concerned.iter().map(|(p, _, _)| p.values.clone()).collect()),
        )
    }
}

fn status(p: &PlanPartition, percent: f64, t: &Thresholds) -> GateStatus {
    if p.before.abs_diff(p.after) <= t.row_count_exempt_rows {
        GateStatus::Pass
    } else if percent < t.row_count_min_percent || percent > t.row_count_max_percent {
        GateStatus::Fail
    } else if percent < t.row_count_warn_percent {
        GateStatus::Warn
    } else {
        GateStatus::Pass
    }
}
