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
        "the source has rows"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace => Severity::Fail,
            Class::Append | Class::Merge | Class::MergeDelete | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, _: &Thresholds) -> Option<Finding> {
        let rows = plan.rows.source;
        let finding = Finding::pass(rows, "at least 1 row", format!("the source has {rows} rows"));
        if rows > 0 {
            return Some(finding);
        }
        let message = "the source has no rows: an overwrite from it would replace nothing or delete everything it covers; check the extract";
        Some(Finding { message: message.into(), ..finding }.of(GateStatus::Fail))
    }
}
