//! Writers that the table's history shows, and that would destroy rows or stop
//! on other partition columns.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};

/// Writers that are named in the message; the plan lists all.
const NAMED: usize = 3;

pub struct BreakingWriters;

impl Gate for BreakingWriters {
    fn name(&self) -> &'static str {
        "breaking-writers"
    }

    fn about(&self) -> &'static str {
        "no job that the history shows would delete other rows or stop on the new partition columns; an override says that they were changed"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Layout => Severity::Fail,
            // The way back stays open; what it breaks is said.
            Class::Inverse => Severity::Warn,
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, _: &Thresholds) -> Option<Finding> {
        let breakers = plan.spec.kind().breakers()?;
        let threshold = "0 writers";
        let dangers: Vec<String> = breakers.iter().filter(|b| b.danger).map(|b| b.line()).collect();
        if dangers.is_empty() {
            let message = "no writer in the history would delete other rows or stop on the new partition columns";
            return Some(Finding::pass(0, threshold, message));
        }
        let more = match dangers.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let named = dangers.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
        let message = format!("change these jobs before the switch, and say so: {named}{more}");
        Some(Finding::pass(dangers.len() as u64, threshold, message).of(GateStatus::Fail))
    }
}
