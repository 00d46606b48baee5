//! NULL in a key column: such rows match nothing and are inserted on every run.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, Spec};
use crate::table::number::grouped;

pub struct NullKeys;

impl Gate for NullKeys {
    fn name(&self) -> &'static str {
        "null-keys"
    }

    fn about(&self) -> &'static str {
        "no source row has NULL in a key column (a warning where only the table has some)"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Merge | Class::MergeDelete => Severity::Fail,
            Class::Append => Severity::Warn,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, _: &Thresholds) -> Option<Finding> {
        if plan.key.is_empty() {
            return None;
        }
        let nulls = plan.keys.nulls;
        let threshold = "0 rows with NULL in the key";
        let null_safe = matches!(&plan.spec, Spec::Merge(merge) if !merge.on.is_strict());
        let effect = match &plan.spec {
            Spec::Merge(_) if null_safe => "they match NULL keys of the table",
            Spec::Merge(_) => {
                "a MERGE matches none of them and inserts them again on every run; --null-safe-keys matches them"
            }
            Spec::Append(_) => "they cannot be found again",
            _ => "they cannot be told apart",
        };
        if nulls.source > 0 {
            let status = if null_safe { GateStatus::Warn } else { GateStatus::Fail };
            let message = format!("{} source rows have NULL in the key: {effect}", grouped(nulls.source));
            return Some(Finding::pass(nulls.source, threshold, message).of(status));
        }
        if nulls.target > 0 {
            let message =
                format!("{} rows of the table have NULL in the key; the source has none", grouped(nulls.target));
            return Some(Finding::pass(nulls.target, threshold, message).of(GateStatus::Warn));
        }
        Some(Finding::pass(0, threshold, "no NULL in the key"))
    }
}
