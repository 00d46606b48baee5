//! A table cut into too many partitions.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, Spec};
use crate::table::number::grouped;

pub struct TooManyPartitions;

impl Gate for TooManyPartitions {
    fn name(&self) -> &'static str {
        "too-many-partitions"
    }

    fn about(&self) -> &'static str {
        "the table does not get more partitions than a table can live with; judged where the write adds some"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["max_partitions"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete => Severity::Warn,
            Class::Layout => Severity::Fail,
            Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, t: &Thresholds) -> Option<Finding> {
        let (before, after) = (plan.layout.before.partitions, plan.layout.after.partitions);
        if after <= before {
            return None;
        }
        let threshold = format!("at most {} partitions", grouped(t.max_partitions));
        // Under other partition columns none of them is there yet.
        let message = match &plan.spec {
            Spec::Repartition(r) if r.from != r.by => format!("{} partitions, all of them new", grouped(after)),
            _ => format!("{} partitions, {} of them new", grouped(after), grouped(after - before)),
        };
        if after <= t.max_partitions {
            return Some(Finding::pass(after, threshold, message));
        }
        let message = format!("{message}: every reader pays for each; partition by something coarser");
        Some(Finding::pass(after, threshold, message).of(GateStatus::Fail))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{append, says, silent, switch};
    use super::*;
    use crate::plan::{Layout, LayoutChange};

    #[test]
    fn what_goes_over_the_limit_fails() {
        let mut plan = append();
        let mut grow = |before, after| {
            let layout = |partitions| Layout { partitions, files: None };
            plan.layout = LayoutChange { before: layout(before), after: layout(after) };
            plan.clone()
        };
        says(&TooManyPartitions, &grow(9_990, 10_001), &Evidence::default(), GateStatus::Fail, "10,001 partitions, 11");
        says(&TooManyPartitions, &grow(9_990, 10_000), &Evidence::default(), GateStatus::Pass, "10 of them new");
        assert!(silent(&TooManyPartitions, &grow(20_000, 20_000), &Evidence::default()), "the write adds none");
    }

    #[test]
    fn a_switch_makes_all_of_them_new() {
        let mut plan = switch(false);
        (plan.layout.before.partitions, plan.layout.after.partitions) = (5, 6);
        says(&TooManyPartitions, &plan, &Evidence::default(), GateStatus::Pass, "6 partitions, all of them new");
    }

    #[test]
    fn it_only_warns() {
        let mut plan = append();
        plan.layout.after.partitions = 50_000;
        let results = super::super::judge(&plan, &Evidence::default(), &Thresholds::default());
        let status = results.iter().find(|g| g.name == "too-many-partitions").map(|g| g.status);
        assert_eq!(status, Some(GateStatus::Warn));
    }
}
