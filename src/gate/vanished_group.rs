//! A whole company, plant or currency that is in the slice now and was not delivered.

use serde_json::json;

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};
use crate::table::number::grouped;

pub struct VanishedGroup;

impl Gate for VanishedGroup {
    fn name(&self) -> &'static str {
        "vanished-group"
    }

    fn about(&self) -> &'static str {
        "every value of a grain column (such as the company) that has rows in the slice is delivered"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::MergeDelete => Severity::Fail,
            Class::Append | Class::Merge | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, _: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        let judged: Vec<_> = evidence.groups.iter().filter(|g| !g.overflow).collect();
        if judged.is_empty() {
            return None;
        }
        let columns: Vec<&str> = judged.iter().map(|g| g.column.as_str()).collect();
        let threshold = format!("no value of {} vanishes", columns.join(", "));
        let mut vanished: Vec<(String, u64)> = judged
            .iter()
            .flat_map(|g| {
                let gone = g.values.iter().filter(|(_, before, source)| *before > 0 && *source == 0);
                gone.map(|(value, before, _)| (format!("{}={value}", g.column), *before))
            })
            .collect();
        vanished.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        let Some((worst, rows)) = vanished.first() else {
            return Some(Finding::pass(0, threshold, format!("every value of {} is delivered", columns.join(", "))));
        };
        let more = if vanished.len() > 1 { format!(" (and {} more)", vanished.len() - 1) } else { String::new() };
        let message = format!(
            "{worst} has {} rows in the slice and none in the source{more}; this would delete them",
            grouped(*rows)
        );
        let names: Vec<&String> = vanished.iter().take(20).map(|(name, _)| name).collect();
        Some(Finding::pass(json!(names), threshold, message).of(GateStatus::Fail))
    }
}
