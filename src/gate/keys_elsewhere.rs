//! Keys of the source that live in a partition outside the slice.

use serde_json::Value as Json;

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::clauses::KeyPair;
use crate::plan::kinds::Class;
use crate::plan::merge::Merge;
use crate::plan::{GateStatus, Plan, Spec};
use crate::table::number::grouped;

pub struct KeysElsewhere;

impl Gate for KeysElsewhere {
    fn name(&self) -> &'static str {
        "keys-elsewhere"
    }

    fn about(&self) -> &'static str {
        "no key of the source lives in a partition outside the slice, where it would be doubled (a warning where a MERGE only moves it)"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Merge | Class::MergeDelete => Severity::Fail,
            Class::Append => Severity::Warn,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        if plan.key.is_empty() || plan.partition_columns.is_empty() {
            return None;
        }
        let threshold = "0 keys in other partitions";
        if !evidence.elsewhere_searched {
            let message =
                "the other partitions were not searched for these keys: unknown whether some would be doubled";
            return Some(Finding::pass(Json::Null, threshold, message).of(GateStatus::Warn));
        }
        let rows = plan.keys.elsewhere?;
        if rows == 0 {
            return Some(Finding::pass(0, threshold, "no key lives in a partition outside the slice"));
        }
        // A partition column that is compared with another one of the source hides nothing.
        let hides = |merge: &Merge, k: &String| {
            let renamed = |p: &KeyPair| p.target == *k && !p.source.eq_ignore_ascii_case(k);
            plan.partition_columns.contains(k) && !merge.on.keys.iter().any(renamed)
        };
        let moves = matches!(&plan.spec, Spec::Merge(merge) if !merge.rows.key.iter().any(|k| hides(merge, k)));
        let (status, effect) = match &plan.spec {
            Spec::Merge(_) if moves => (GateStatus::Warn, "this MERGE moves them into the slice"),
            Spec::Merge(_) => (GateStatus::Fail, "a partition column in the key makes this MERGE double them"),
            Spec::Append(_) => (GateStatus::Fail, "an append doubles them"),
            _ => (GateStatus::Fail, "an overwrite leaves the old row there and doubles the key"),
        };
        let examples = match evidence.elsewhere_examples.as_slice() {
            [] => String::new(),
            some => format!(" (such as {})", some.join("; ")),
        };
        let message = format!("{} keys live in a partition outside the slice{examples}: {effect}", grouped(rows));
        Some(Finding::pass(rows, threshold, message).of(status))
    }
}
