//! One partition that outgrows the others.

use super::words::rows;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition};
use crate::table::number::grouped;

pub struct Skew;

/// With fewer partitions there is no middle to compare with.
const FEWEST: usize = 3;

impl Gate for Skew {
    fn name(&self) -> &'static str {
        "skew"
    }

    fn about(&self) -> &'static str {
        "no written partition is many times as large as the middle one"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["skew_max_factor", "skew_min_rows"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete | Class::Layout => Severity::Warn,
            Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, t: &Thresholds) -> Option<Finding> {
        let mut sizes: Vec<&PlanPartition> = plan.partitions.iter().filter(|p| p.source > 0 && p.after > 0).collect();
        sizes.sort_by_key(|p| p.after);
        let (largest, middle) = (sizes.last()?, sizes[sizes.len() / 2].after);
        if sizes.len() < FEWEST || largest.after < t.skew_min_rows {
            return None;
        }
        let factor = largest.after as f64 / middle as f64;
        let threshold = format!("at most {} times the middle partition's rows", t.skew_max_factor);
        let message = format!(
            "{}: {}, {factor:.1} times as many as the middle one of {}",
            largest.label(),
            rows(largest.after),
            grouped(sizes.len() as u64)
        );
        let factor = (factor * 10.0).round() / 10.0;
        let status = if factor > t.skew_max_factor { GateStatus::Fail } else { GateStatus::Pass };
        let concerned = if status == GateStatus::Fail { vec![largest.values.clone()] } else { Vec::new() };
        Some(Finding::pass(factor, threshold, message).of(status).at(concerned))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{append, partition, says, silent};
    use super::*;
    use crate::plan::Role;

    fn of(sizes: &[u64]) -> Plan {
        Plan { partitions: sizes.iter().map(|n| partition("a", Role::Intended, *n, *n)).collect(), ..append() }
    }

    #[test]
    fn a_giant_fails() {
        says(&Skew, &of(&[1_000, 2_000, 900_000]), &Evidence::default(), GateStatus::Fail, "450.0 times");
        says(&Skew, &of(&[100_000, 90_000, 900_000]), &Evidence::default(), GateStatus::Pass, "9.0 times");
    }

    #[test]
    fn small_or_few_partitions_are_not_judged() {
        assert!(silent(&Skew, &of(&[1, 2, 9_000]), &Evidence::default()));
        assert!(silent(&Skew, &of(&[1, 900_000]), &Evidence::default()));
        assert!(silent(&Skew, &of(&[]), &Evidence::default()));
    }

    #[test]
    fn it_only_warns() {
        let results = super::super::judge(&of(&[1, 2, 900_000]), &Evidence::default(), &Thresholds::default());
        assert_eq!(results.iter().find(|g| g.name == "skew").map(|g| g.status), Some(GateStatus::Warn));
    }
}
