//! The rows of a partition against what it had after its last versions.

use std::collections::HashMap;

use super::evidence::PartitionHistory;
use super::words::{more, rows};
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition};
use crate::table::number::grouped;

pub struct RowCountHistory;

/// With fewer versions there is nothing that is usual.
const FEWEST: usize = 3;

impl Gate for RowCountHistory {
    fn name(&self) -> &'static str {
        super::ROW_COUNT_HISTORY
    }

    fn about(&self) -> &'static str {
        "each partition gets about as many rows as it had after its last versions (an append: adds as many as they added), against their median; judged from 3 versions on"
    }

    fn settings(&self) -> &'static [&'static str] {
        &[
            "row_count_history_min_percent",
            "row_count_history_max_percent",
            "row_count_history_versions",
            "row_count_exempt_rows",
        ]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append => Severity::Warn,
            Class::Merge | Class::MergeDelete | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, t: &Thresholds) -> Option<Finding> {
        let adds = plan.spec.kind().class() == Class::Append;
        let by_label: HashMap<&str, &PartitionHistory> =
            evidence.row_history.iter().map(|h| (h.label.as_str(), h)).collect();
        let judged: Vec<Judged> = plan
            .partitions
            .iter()
            .filter(|p| !p.is_only_listed())
            .filter_map(|p| judged(p, by_label.get(p.label().as_str())?, adds, t))
            .collect();
        let what = if adds { "what the last versions added" } else { "what the last versions had" };
        let threshold = format!(
            "{}–{} % of {what}, differences up to {} rows exempt",
            t.row_count_history_min_percent, t.row_count_history_max_percent, t.row_count_exempt_rows
        );
        let strange: Vec<&Judged> = judged.iter().filter(|j| j.strange).collect();
        let Some(worst) = strange.iter().max_by(|a, b| a.distance().total_cmp(&b.distance())) else {
            let first = judged.first()?;
            let message = match judged.len() {
                1 => first.message(adds),
                n => format!("{} partitions as usual", grouped(n as u64)),
            };
            return Some(Finding::pass(first.rows, threshold, message));
        };
        let message = format!("{}{}", worst.message(adds), more(strange.len()));
        let concerned = strange.iter().map(|j| j.partition.values.clone()).collect();
        Some(Finding::pass(worst.rows, threshold, message).of(GateStatus::Fail).at(concerned))
    }
}

/// One partition against the median of its versions.
struct Judged<'a> {
    partition: &'a PlanPartition,
    rows: u64,
    median: f64,
    versions: usize,
    strange: bool,
}

impl Judged<'_> {
    /// How far it is from the median, in either direction alike.
    fn distance(&self) -> f64 {
        let (rows, median) = (self.rows as f64 + 1.0, self.median + 1.0);
        (rows / median).max(median / rows)
    }

    fn message(&self, adds: bool) -> String {
        let (now, usual) = if adds { (" are added", "added") } else { ("", "had") };
        format!(
            "{}: {}{now}, the last {} versions {usual} {} in the middle",
            self.partition.label(),
            rows(self.rows),
            self.versions,
            grouped(self.median.round() as u64)
        )
    }
}

fn judged<'a>(p: &'a PlanPartition, history: &PartitionHistory, adds: bool, t: &Thresholds) -> Option<Judged<'a>> {
    let limit = usize::try_from(t.row_count_history_versions).unwrap_or(usize::MAX);
    let versions = history.versions.iter().take(limit);
    // An emptied partition says nothing about what is usual, and neither does a
    // version that only took rows away about what is added.
    let usual: Vec<u64> = match adds {
        true => versions.filter_map(|v| v.rows.checked_sub(v.before?)).filter(|n| *n > 0).collect(),
        false => versions.map(|v| v.rows).filter(|n| *n > 0).collect(),
    };
    if usual.len() < FEWEST {
        return None;
    }
    // A plan may reach a part of a partition only; its history is the whole one's.
    let rows = match adds {
        true => p.inserted,
        false => (history.now? + p.after).saturating_sub(p.before),
    };
    let median = median(usual.clone());
    let percent = rows as f64 * 100.0 / median;
    let outside = percent < t.row_count_history_min_percent || percent > t.row_count_history_max_percent;
    let strange = outside && (rows as f64 - median).abs() > t.row_count_exempt_rows as f64;
    Some(Judged { partition: p, rows, median, versions: usual.len(), strange })
}

fn median(mut numbers: Vec<u64>) -> f64 {
    numbers.sort_unstable();
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        0 => (numbers[middle - 1] as f64 + numbers[middle] as f64) / 2.0,
        _ => numbers[middle] as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::VersionRows;
    use super::super::testing::{append, overwrite, partition, says, silent};
    use super::*;
    use crate::plan::Role;

    /// Versions of `p=a`, newest first: (rows after, rows before).
    fn had(now: u64, versions: &[(u64, u64)]) -> Evidence {
        let versions = versions
            .iter()
            .enumerate()
            .map(|(i, (rows, before))| VersionRows { version: 90 - i as u64, rows: *rows, before: Some(*before) })
            .collect();
        let one = PartitionHistory { label: "p=a".into(), now: Some(now), versions };
        Evidence { row_history: vec![one], ..Evidence::default() }
    }

    fn of(mut plan: Plan, before: u64, source: u64) -> Plan {
        plan.partitions = vec![PlanPartition { inserted: source, ..partition("a", Role::Intended, before, source) }];
        plan
    }

    #[test]
    fn a_slow_decay_shows_against_the_median() {
        // Each delivery is within 90 % of the one before; together they lost half.
        let usual = had(95, &[(95, 105), (105, 116), (116, 800), (800, 801), (801, 0)]);
        says(&RowCountHistory, &of(overwrite(), 95, 90), &usual, GateStatus::Fail, "the last 5 versions had 116");
        let even = had(100, &[(100, 98), (98, 101), (101, 0)]);
        says(&RowCountHistory, &of(overwrite(), 100, 99), &even, GateStatus::Pass, "p=a: 99 rows, the last 3 versions");
    }

    #[test]
    fn an_append_is_held_to_what_was_added() {
        let usual = had(600, &[(600, 500), (500, 400), (400, 300)]);
        says(&RowCountHistory, &of(append(), 600, 100), &usual, GateStatus::Pass, "100 rows are added");
        says(&RowCountHistory, &of(append(), 600, 20), &usual, GateStatus::Fail, "20 rows are added");
        says(&RowCountHistory, &of(append(), 600, 600), &usual, GateStatus::Fail, "600 rows are added");
    }

    #[test]
    fn few_versions_and_unknown_rows_are_not_judged() {
        assert!(silent(&RowCountHistory, &of(overwrite(), 9, 900), &had(9, &[(9, 8), (8, 0)])));
        assert!(silent(&RowCountHistory, &of(overwrite(), 9, 900), &had(9, &[(9, 8), (8, 0), (0, 8), (0, 9)])));
        let mut unknown = had(9, &[(9, 8), (8, 7), (7, 0)]);
        unknown.row_history[0].now = None;
        assert!(silent(&RowCountHistory, &of(overwrite(), 9, 900), &unknown));
        assert!(silent(&RowCountHistory, &of(overwrite(), 9, 900), &Evidence::default()));
    }

    #[test]
    fn only_so_many_versions_count() {
        let usual = had(100, &[(100, 99), (99, 100), (100, 900), (900, 900), (900, 900), (900, 900), (900, 0)]);
        let plan = of(overwrite(), 100, 100);
        let status = |n| {
            let t = Thresholds { row_count_history_versions: n, ..Thresholds::default() };
            RowCountHistory.judge(&plan, &usual, &t).map(|f| f.status)
        };
        assert_eq!((status(3), status(7), status(2)), (Some(GateStatus::Pass), Some(GateStatus::Fail), None));
    }
}
