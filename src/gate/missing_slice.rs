//! What was asked for, or is replaced, and is not in the source.

use super::words::{more, rows, values};
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition, Role};

pub struct MissingSlice;

impl Gate for MissingSlice {
    fn name(&self) -> &'static str {
        "missing-slice"
    }

    fn about(&self) -> &'static str {
        "every partition that was asked for with --slice, or that is replaced, and has rows in the table, is delivered"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace => Severity::Fail,
            Class::Merge | Class::MergeDelete => Severity::Warn,
            Class::Append | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, _: &Thresholds) -> Option<Finding> {
        let missing: Vec<&PlanPartition> =
            plan.partitions.iter().filter(|p| matches!(p.role, Role::Left | Role::Emptied)).collect();
        let asked = plan.spec.rows().is_some_and(|r| r.slice.is_some());
        let threshold = "0 partitions";
        // What is emptied is worse than what stays.
        let emptied = missing.iter().filter(|p| p.role == Role::Emptied);
        let worst = emptied.max_by_key(|p| p.deleted).or_else(|| missing.iter().max_by_key(|p| p.before));
        let Some(worst) = worst else {
            let message = "every partition that was asked for is delivered";
            return asked.then(|| Finding::pass(0, threshold, message));
        };
        let what = match worst.role {
            Role::Emptied => format!("this deletes {}", rows(worst.deleted)),
            _ => format!("was asked for, its {} stay", rows(worst.before)),
        };
        let message = format!("{}: not in the source; {what}{}", worst.label(), more(missing.len()));
        Some(Finding::pass(missing.len(), threshold, message).of(GateStatus::Fail).at(values(&missing)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{merge, overwrite, partition, says, silent, sliced};
    use super::*;

    #[test]
    fn a_partition_that_was_asked_for_and_did_not_come_fails() {
        let mut plan = sliced(overwrite());
        plan.partitions = vec![partition("a", Role::Intended, 9, 9), partition("b", Role::Left, 900, 0)];
        says(
            &MissingSlice,
            &plan,
            &Evidence::default(),
            GateStatus::Fail,
            "p=b: not in the source; was asked for, its 900 rows stay",
        );
        plan.partitions[1].role = Role::Emptied;
        plan.partitions[1].deleted = 900;
        says(&MissingSlice, &plan, &Evidence::default(), GateStatus::Fail, "this deletes 900 rows");
    }

    #[test]
    fn a_merge_warns() {
        let mut plan = sliced(merge());
        plan.partitions = vec![partition("b", Role::Left, 900, 0)];
        let results = super::super::judge(&plan, &Evidence::default(), &Thresholds::default());
        let status = results.iter().find(|g| g.name == "missing-slice").map(|g| g.status);
        assert_eq!(status, Some(GateStatus::Warn));
    }

    #[test]
    fn all_that_was_asked_for_passes() {
        let mut plan = overwrite();
        plan.partitions = vec![partition("a", Role::Intended, 9, 9)];
        assert!(silent(&MissingSlice, &plan, &Evidence::default()));
        says(&MissingSlice, &sliced(plan), &Evidence::default(), GateStatus::Pass, "delivered");
    }
}
