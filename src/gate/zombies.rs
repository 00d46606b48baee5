//! Rows that the source no longer has and that a MERGE leaves behind.

use super::words::rows;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition, Role};

pub struct Zombies;

impl Gate for Zombies {
    fn name(&self) -> &'static str {
        "zombies"
    }

    fn about(&self) -> &'static str {
        "a MERGE leaves no row behind that the source no longer has; judged where the source delivers whole slices or --slice is given"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Merge | Class::MergeDelete => Severity::Fail,
            Class::Replace | Class::Append | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        let asked = plan.spec.rows().is_some_and(|r| r.slice.is_some());
        // What came unasked has a gate of its own.
        let within = |p: &&PlanPartition| !asked || p.role == Role::Intended;
        let zombies: u64 = plan.partitions.iter().filter(within).map(|p| p.zombies).sum();
        let whole = asked || evidence.delivery_full_slice == Some(true);
        let threshold = if whole { "0 rows" } else { "not judged: the source may carry changed rows only" };
        if zombies == 0 {
            return Some(Finding::pass(0, threshold, "no row of the delivered partitions is missing from the source"));
        }
        let stay = {
            let (rows, verb) = (rows(zombies), if zombies == 1 { "is" } else { "are" });
            format!("{rows} of the delivered partitions {verb} not in the source and would stay")
        };
        let (status, message) = match (whole, evidence.delivery_full_slice) {
            (true, _) => {
                let why = if asked { "--slice asks for whole partitions" } else { "the source restates whole slices" };
                (GateStatus::Fail, format!("{stay}; {why}: overwrite, or add --delete-missing"))
            }
            (false, Some(_)) => (GateStatus::Pass, format!("{stay}: the source carries changed rows")),
            (false, None) => (GateStatus::Pass, format!("{stay}; right where the source carries changed rows only")),
        };
        let concerned = plan.partitions.iter().filter(|p| p.zombies > 0 && within(p)).map(|p| p.values.clone());
        Some(Finding::pass(zombies, threshold, message).of(status).at(concerned.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{merge, partition, says, sliced};
    use super::*;

    fn leaving(zombies: u64) -> Plan {
        let mut plan = merge();
        plan.partitions = vec![PlanPartition { zombies, ..partition("a", Role::Intended, 9, 8) }];
        plan
    }

    #[test]
    fn zombies_fail_where_whole_slices_are_delivered() {
        let whole = Evidence { delivery_full_slice: Some(true), ..Evidence::default() };
        says(&Zombies, &leaving(1), &whole, GateStatus::Fail, "1 row of the delivered partitions is not in the source");
        says(&Zombies, &sliced(leaving(2)), &Evidence::default(), GateStatus::Fail, "--slice asks");
    }

    #[test]
    fn zombies_of_row_level_changes_are_only_said() {
        let changes = Evidence { delivery_full_slice: Some(false), ..Evidence::default() };
        says(&Zombies, &leaving(5), &changes, GateStatus::Pass, "changed rows");
        says(&Zombies, &leaving(5), &Evidence::default(), GateStatus::Pass, "5 rows");
        says(&Zombies, &leaving(0), &Evidence::default(), GateStatus::Pass, "no row");
    }

    #[test]
    fn rows_of_a_partition_that_came_unasked_are_not_judged_here() {
        let mut plan = sliced(leaving(0));
        plan.partitions.push(PlanPartition { zombies: 7, ..partition("b", Role::Unexpected, 9, 1) });
        says(&Zombies, &plan, &Evidence::default(), GateStatus::Pass, "no row");
    }
}
