//! What is in the source and was not asked for, or looks like stray rows.

use super::words::{more, rows, values};
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition, Role};

pub struct UnexpectedPartition;

impl Gate for UnexpectedPartition {
    fn name(&self) -> &'static str {
        "unexpected-partition"
    }

    fn about(&self) -> &'static str {
        "no partition is delivered that was not asked for with --slice, or that looks like a few stray rows beside whole slices"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["stray_max_percent_of_typical", "stray_max_percent_of_present"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace => Severity::Fail,
            Class::Append | Class::Merge | Class::MergeDelete => Severity::Warn,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, t: &Thresholds) -> Option<Finding> {
        let asked = plan.spec.rows().is_some_and(|r| r.slice.is_some());
        let unexpected: Vec<&PlanPartition> = plan.partitions.iter().filter(|p| p.role == Role::Unexpected).collect();
        let replaces = plan.spec.kind().class() == Class::Replace;
        let threshold = if asked {
            "0 partitions".to_owned()
        } else {
            format!(
                "0 partitions with fewer rows than {} % of a typical one and {} % of their present rows",
                t.stray_max_percent_of_typical, t.stray_max_percent_of_present
            )
        };
        let Some(worst) = unexpected.iter().max_by_key(|p| p.before) else {
            let message = if asked { "no other partition is delivered" } else { "no partition looks like stray rows" };
            let delivered = plan.partitions.iter().filter(|p| p.source > 0).count();
            return (asked || replaces && delivered > 1).then(|| Finding::pass(0, threshold, message));
        };
        let why = if asked { "was not asked for" } else { "looks like stray rows" };
        let effect = match (replaces, worst.before) {
            (true, before) if before > 0 => format!(" in place of the {} there", rows(before)),
            _ => String::new(),
        };
        let message =
            format!("{}: {} delivered{effect}; it {why}{}", worst.label(), rows(worst.source), more(unexpected.len()));
        Some(Finding::pass(unexpected.len(), threshold, message).of(GateStatus::Fail).at(values(&unexpected)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{merge, overwrite, partition, says, silent, sliced};
    use super::*;

    #[test]
    fn one_stray_row_fails_an_overwrite() {
        let mut plan = overwrite();
        plan.partitions = vec![partition("a", Role::Intended, 900, 900), partition("b", Role::Unexpected, 800, 1)];
        let words = "p=b: 1 row delivered in place of the 800 rows there; it looks like stray rows";
        says(&UnexpectedPartition, &plan, &Evidence::default(), GateStatus::Fail, words);
        says(&UnexpectedPartition, &sliced(plan), &Evidence::default(), GateStatus::Fail, "it was not asked for");
    }

    #[test]
    fn a_merge_warns() {
        let mut plan = sliced(merge());
        plan.partitions = vec![partition("b", Role::Unexpected, 800, 1)];
        says(&UnexpectedPartition, &plan, &Evidence::default(), GateStatus::Fail, "p=b: 1 row delivered; it was not");
        let results = super::super::judge(&plan, &Evidence::default(), &Thresholds::default());
        let status = results.iter().find(|g| g.name == "unexpected-partition").map(|g| g.status);
        assert_eq!(status, Some(GateStatus::Warn));
    }

    #[test]
    fn what_was_asked_for_passes() {
        let mut plan = overwrite();
        plan.partitions = vec![partition("a", Role::Intended, 900, 900)];
        assert!(silent(&UnexpectedPartition, &plan, &Evidence::default()), "one partition has nothing beside it");
        says(&UnexpectedPartition, &sliced(plan), &Evidence::default(), GateStatus::Pass, "no other");
    }
}
