//! A MERGE that deletes in partitions of which the source has no row.

use super::words::{more, rows, values};
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition};

pub struct DeletesOutsideSlice;

impl Gate for DeletesOutsideSlice {
    fn name(&self) -> &'static str {
        "deletes-outside-slice"
    }

    fn about(&self) -> &'static str {
        "a MERGE deletes what the source lacks only in partitions that the source delivers"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::MergeDelete => Severity::Fail,
            Class::Replace | Class::Append | Class::Merge | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, _: &Thresholds) -> Option<Finding> {
        if plan.partition_columns.is_empty() {
            return None;
        }
        let outside: Vec<&PlanPartition> = plan.partitions.iter().filter(|p| p.source == 0 && p.deleted > 0).collect();
        let threshold = "0 rows in partitions without source rows";
        let deleted: u64 = outside.iter().map(|p| p.deleted).sum();
        let Some(worst) = outside.iter().max_by_key(|p| p.deleted) else {
            return Some(Finding::pass(0, threshold, "deletes only in partitions that the source delivers"));
        };
        let message = format!(
            "{}: {} deleted, and the source has no row there{}; put the slice into the condition of the delete",
            worst.label(),
            rows(worst.deleted),
            more(outside.len())
        );
        Some(Finding::pass(deleted, threshold, message).of(GateStatus::Fail).at(values(&outside)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{merge, partition, says, silent};
    use super::*;
    use crate::plan::Role;

    /// B08: the source has one row of 01-02, the delete reaches 01-01.
    #[test]
    fn deletes_in_partitions_without_source_rows_fail() {
        let mut plan = merge();
        let mut far = partition("01-01", Role::Touched, 2, 0);
        far.deleted = 2;
        plan.partitions = vec![far, partition("01-02", Role::Intended, 1, 1)];
        let words = "p=01-01: 2 rows deleted, and the source has no row there";
        says(&DeletesOutsideSlice, &plan, &Evidence::default(), GateStatus::Fail, words);
    }

    #[test]
    fn deletes_within_the_slice_pass() {
        let mut plan = merge();
        let mut near = partition("01-02", Role::Intended, 2, 1);
        near.deleted = 1;
        // A row that only moves away is not deleted.
        let mut moved = partition("01-01", Role::Touched, 2, 0);
        moved.moved_out = 1;
        plan.partitions = vec![moved, near];
        says(&DeletesOutsideSlice, &plan, &Evidence::default(), GateStatus::Pass, "only in partitions");
        plan.partition_columns.clear();
        assert!(silent(&DeletesOutsideSlice, &plan, &Evidence::default()));
    }
}
