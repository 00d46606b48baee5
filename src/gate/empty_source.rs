//! An overwrite from an empty source would delete, a MERGE would do nothing.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};

pub struct EmptySource;

impl Gate for EmptySource {
    fn name(&self) -> &'static str {
        "empty-source"
    }

    fn about(&self) -> &'static str {
        "the source has rows (a MERGE that deletes what is missing: where it would delete; other writes then change nothing)"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            // Not in all tables of gates: with an empty source such a MERGE is
            // an overwrite with nothing.
            Class::Replace | Class::MergeDelete => Severity::Fail,
            Class::Append | Class::Merge | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, _: &Thresholds) -> Option<Finding> {
        let rows = plan.rows.source;
        let finding = Finding::pass(rows, "at least 1 row", format!("the source has {rows} rows"));
        let deletes = plan.spec.kind().class() != Class::MergeDelete || plan.rows.deleted > 0;
        if rows > 0 || !deletes {
            return Some(finding);
        }
        let message = "the source has no rows: the write would replace nothing, or delete everything that it covers; check the extract";
        Some(Finding { message: message.into(), ..finding }.of(GateStatus::Fail))
    }
}
