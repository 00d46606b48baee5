//! A write that scatters few rows over many partitions.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::repartition::Repartition;
use crate::plan::{GateStatus, Plan, PlanPartition, Spec};
use crate::table::number::{bytes, grouped};

pub struct SmallFiles;

impl Gate for SmallFiles {
    fn name(&self) -> &'static str {
        "small-files"
    }

    fn about(&self) -> &'static str {
        "a write to many partitions does not make a tiny file in each; sizes are estimated from the bytes that a row takes now, for other partition columns also from what a file takes at least"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["small_files_min_partitions", "small_files_min_bytes"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete | Class::Layout => Severity::Warn,
            Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, t: &Thresholds) -> Option<Finding> {
        if let Spec::Repartition(Repartition { estimate: Some(estimate), .. }) = &plan.spec {
            return of(plan.partitions.len() as u64, estimate.bytes, t);
        }
        let written: Vec<&PlanPartition> = plan.partitions.iter().filter(|p| p.written.rows > 0).collect();
        if (written.len() as u64) < t.small_files_min_partitions.max(1) {
            return None;
        }
        let total = |pick: fn(&PlanPartition) -> u64| plan.partitions.iter().map(|p| pick(p) as f64).sum::<f64>();
        let (present, size) = (total(|p| p.before), total(|p| p.bytes_before));
        // A table without rows does not tell how large one is.
        if present == 0.0 || size == 0.0 {
            return None;
        }
        let rows: f64 = written.iter().map(|p| p.written.rows as f64).sum();
        of(written.len() as u64, (rows * size / present) as u64, t)
    }
}

/// So many partitions, of so many bytes in all.
fn of(partitions: u64, size: u64, t: &Thresholds) -> Option<Finding> {
    if partitions < t.small_files_min_partitions.max(1) {
        return None;
    }
    let average = size / partitions;
    let threshold = format!("at least {} a partition on average", bytes(t.small_files_min_bytes));
    let message = format!("about {} for each of {} partitions", bytes(average), grouped(partitions));
    if average >= t.small_files_min_bytes {
        return Some(Finding::pass(average, threshold, message));
    }
    let message =
        format!("{message}: many small files make every reader slow; compact them, or partition more coarsely");
    Some(Finding::pass(average, threshold, message).of(GateStatus::Fail))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{append, partition, says, silent, switch};
    use super::*;
    use crate::plan::repartition::Estimate;
    use crate::plan::{Role, Written};

    /// `n` partitions of 1,000 rows of `row` bytes, each written with `rows` rows.
    fn scattered(n: usize, row: u64, rows: u64) -> Plan {
        let written = Written { rows, checksum: String::new() };
        let one = PlanPartition { bytes_before: 1_000 * row, written, ..partition("a", Role::Intended, 1_000, rows) };
        Plan { partitions: vec![one; n], ..append() }
    }

    #[test]
    fn few_rows_over_many_partitions_fail() {
        says(&SmallFiles, &scattered(60, 100, 50), &Evidence::default(), GateStatus::Fail, "for each of 60 partitions");
        says(&SmallFiles, &scattered(60, 100, 20_000), &Evidence::default(), GateStatus::Pass, "60 partitions");
    }

    #[test]
    fn few_partitions_and_unknown_sizes_are_not_judged() {
        assert!(silent(&SmallFiles, &scattered(3, 100, 1), &Evidence::default()));
        assert!(silent(&SmallFiles, &scattered(60, 0, 1), &Evidence::default()));
    }

    /// A switch says itself what its files take.
    #[test]
    fn a_switch_goes_by_its_own_estimate() {
        let mut plan = Plan { partitions: scattered(60, 100, 50).partitions, ..switch(false) };
        let estimate = |bytes| Some(Estimate { files: 60, bytes });
        let Spec::Repartition(spec) = &mut plan.spec else { panic!("no switch") };
        spec.estimate = estimate(60 * 2_500);
        says(&SmallFiles, &plan, &Evidence::default(), GateStatus::Fail, "about 2.4 KB for each of 60 partitions");
        let Spec::Repartition(spec) = &mut plan.spec else { panic!("no switch") };
        spec.estimate = estimate(60 << 30);
        says(&SmallFiles, &plan, &Evidence::default(), GateStatus::Pass, "about 1.0 GB");
    }

    #[test]
    fn it_only_warns() {
        let results = super::super::judge(&scattered(60, 100, 50), &Evidence::default(), &Thresholds::default());
        let status = results.iter().find(|g| g.name == "small-files").map(|g| g.status);
        assert_eq!(status, Some(GateStatus::Warn));
    }
}
