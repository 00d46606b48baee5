//! A key that the source delivers more than once.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, Spec};
use crate::table::number::grouped;

pub struct DuplicateKeys;

impl Gate for DuplicateKeys {
    fn name(&self) -> &'static str {
        "duplicate-keys"
    }

    fn about(&self) -> &'static str {
        "no key occurs more than once in the source (a warning where only the table has duplicates)"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Merge | Class::MergeDelete => Severity::Fail,
            Class::Append => Severity::Warn,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        if plan.key.is_empty() {
            return None;
        }
        let pair = plan.keys.duplicates;
        let key = plan.key.join(", ");
        let threshold = "0 rows beyond the first of a key";
        let examples = match evidence.duplicate_examples.as_slice() {
            [] => String::new(),
            some => format!(", such as {}", some.join("; ")),
        };
        if pair.source > 0 {
            let message =
                format!("{} source rows repeat a key ({key}){examples}; is the key complete?", grouped(pair.source));
            return Some(Finding::pass(pair.source, threshold, message).of(GateStatus::Fail));
        }
        if matches!(plan.spec, Spec::Append(_)) && plan.keys.existing > 0 {
            let existing = grouped(plan.keys.existing);
            let message =
                format!("{existing} source rows have a key ({key}) that the table already has; an append doubles them");
            return Some(Finding::pass(plan.keys.existing, threshold, message).of(GateStatus::Fail));
        }
        if pair.target > 0 {
            let message =
                format!("the source is unique by {key}, but {} rows of the table repeat a key", grouped(pair.target));
            return Some(Finding::pass(pair.target, threshold, message).of(GateStatus::Warn));
        }
        Some(Finding::pass(0, threshold, format!("unique by {key} on both sides")))
    }
}
