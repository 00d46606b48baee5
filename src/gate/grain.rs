//! A source that is finer than the partition that it replaces: one day of a month.

use super::evidence::{GrainFacts, GrainPartition};
use super::words::more;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan, PlanPartition};
use crate::table::number::grouped;
use crate::table::value::escape_controls;

pub struct Grain;

impl Gate for Grain {
    fn name(&self) -> &'static str {
        "grain"
    }

    fn about(&self) -> &'static str {
        "the source is not finer than the partition, such as one day of a month: what it would delete does not lie on days that it does not hold"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["grain_min_days", "grain_max_percent_of_days", "grain_min_percent_lost", "grain_min_percent_explained"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::MergeDelete => Severity::Fail,
            Class::Append | Class::Merge | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, t: &Thresholds) -> Option<Finding> {
        let uncounted: u64 = evidence.grain.iter().map(|facts| facts.uncounted).max().unwrap_or(0);
        if uncounted == 0 && evidence.grain.iter().all(|facts| facts.partitions.is_empty()) {
            return None;
        }
        let threshold = format!(
            "not at most {} % of {} or more days, with {} % of the lost rows on other days",
            t.grain_max_percent_of_days, t.grain_min_days, t.grain_min_percent_explained
        );
        let finer = evidence.grain.iter().map(|facts| (facts, finer(plan, facts, t)));
        // The column that explains most partitions, best with days that the
        // table has too (a load date has none in common), then most of the lost
        // rows, then with the fewest days; among equals the first of the table.
        let rank = |list: &[Found]| {
            let total = |of: fn(&GrainPartition) -> u64| list.iter().map(|(_, days)| of(days)).sum::<u64>();
            let common = total(|d| u64::from(d.target_days.saturating_sub(d.days_only_in_target) == d.source_days));
            (list.len(), common, total(|d| d.rows_lost_on_absent_days), std::cmp::Reverse(total(|d| d.source_days)))
        };
        let found: Vec<(&GrainFacts, Vec<Found>)> = finer.filter(|(_, list)| !list.is_empty()).collect();
        let best = found.iter().rev().max_by_key(|(_, list)| rank(list));
        let Some((facts, found)) = best else {
            let columns: Vec<&str> = evidence.grain.iter().map(|facts| facts.column.as_str()).collect();
            let skipped = match uncounted {
                0 => String::new(),
                n => format!("; {} with too many days to count not judged", partitions(n)),
            };
            let message = format!("no finer than the partition by {}{skipped}", escape_controls(&columns.join(", ")));
            return Some(Finding::pass(0, threshold, message));
        };
        let worst = found.iter().max_by_key(|(_, days)| days.rows_lost_on_absent_days);
        let message = worst.map_or_else(String::new, |(p, days)| {
            let part = if days.source_days == 1 { "one day of it" } else { "a part of it" };
            format!(
                "the source holds {} of {} days of {} in {}: it looks like {part}, and the rest would be deleted{}",
                grouped(days.source_days),
                grouped(days.target_days),
                escape_controls(&facts.column),
                p.label(),
                more(found.len())
            )
        });
        let concerned = found.iter().map(|(p, _)| p.values.clone()).collect();
        Some(Finding::pass(found.len(), threshold, message).of(GateStatus::Fail).at(concerned))
    }
}

fn partitions(n: u64) -> String {
    format!("{} partition{}", grouped(n), if n == 1 { "" } else { "s" })
}

type Found<'a> = (&'a PlanPartition, &'a GrainPartition);

/// The partitions for which this column shows that the source is a part.
fn finer<'a>(plan: &'a Plan, facts: &'a GrainFacts, t: &Thresholds) -> Vec<Found<'a>> {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    let is_part = |p: &PlanPartition, days: &GrainPartition| {
        // A whole restatement may carry one load date where the table has many:
        // it is none where the number of rows stays about the same.
        let lost = share(p.before.saturating_sub(p.source), p.before);
        p.source > 0
            && days.target_days >= t.grain_min_days
            && share(days.source_days, days.target_days) <= t.grain_max_percent_of_days
            && lost >= t.grain_min_percent_lost
            && days.days_only_in_target > 0
            && share(days.rows_lost_on_absent_days, days.rows_lost) >= t.grain_min_percent_explained
    };
    let mut by_label = std::collections::HashMap::new();
    by_label.extend(plan.partitions.iter().map(|p| (p.label(), p)));
    let pairs = facts.partitions.iter().filter_map(|days| Some((*by_label.get(&days.label)?, days)));
    pairs.filter(|(p, days)| is_part(p, days)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{merge, overwrite, partition, says, silent};
    use super::*;
    use crate::plan::Role;

    fn days(column: &str, source: u64, target: u64, absent: u64, lost: u64, on_absent: u64) -> GrainFacts {
        let partition = GrainPartition {
            label: "p=2026006".into(),
            source_days: source,
            target_days: target,
            days_only_in_target: absent,
            rows_lost: lost,
            rows_lost_on_absent_days: on_absent,
        };
        GrainFacts { column: column.into(), partitions: vec![partition], uncounted: 0 }
    }

    fn of(before: u64, source: u64, grain: Vec<GrainFacts>) -> (Plan, Evidence) {
        let plan = Plan { partitions: vec![partition("2026006", Role::Intended, before, source)], ..overwrite() };
        (plan, Evidence { grain, ..Evidence::default() })
    }

    #[test]
    fn one_day_of_a_month_fails() {
        let (plan, evidence) = of(1_200, 40, vec![days("posting_date", 1, 30, 29, 1_160, 1_160)]);
        let words = "the source holds 1 of 30 days of posting_date in p=2026006: it looks like one day of it";
        says(&Grain, &plan, &evidence, GateStatus::Fail, words);
    }

    #[test]
    fn a_whole_restatement_with_one_vanished_document_passes() {
        let (plan, evidence) = of(1_200, 1_199, vec![days("posting_date", 29, 30, 1, 1, 1)]);
        says(&Grain, &plan, &evidence, GateStatus::Pass, "posting_date");
    }

    #[test]
    fn one_load_date_for_a_whole_restatement_passes() {
        let (plan, evidence) = of(1_200, 1_199, vec![days("loaded_at", 1, 30, 30, 1_200, 1_200)]);
        says(&Grain, &plan, &evidence, GateStatus::Pass, "loaded_at");
    }

    #[test]
    fn rows_lost_on_delivered_days_are_not_explained_by_grain() {
        let (plan, evidence) = of(1_200, 600, vec![days("posting_date", 15, 30, 15, 600, 300)]);
        says(&Grain, &plan, &evidence, GateStatus::Pass, "posting_date");
    }

    #[test]
    fn a_partition_of_two_days_has_no_grain() {
        let (plan, evidence) = of(80, 40, vec![days("posting_date", 1, 2, 1, 40, 40)]);
        says(&Grain, &plan, &evidence, GateStatus::Pass, "posting_date");
    }

    #[test]
    fn the_column_that_explains_best_is_named() {
        let grain = vec![days("due_date", 12, 40, 28, 1_160, 1_100), days("posting_date", 1, 30, 29, 1_160, 1_160)];
        let (plan, evidence) = of(1_200, 40, grain);
        says(&Grain, &plan, &evidence, GateStatus::Fail, "posting_date");
        // A load date that the table does not have explains less, although it
        // would lose more rows; among equals the first column is named.
        let one_day = |column| days(column, 1, 30, 29, 1_160, 1_160);
        let grain = vec![days("loaded_at", 1, 30, 30, 1_200, 1_200), one_day("posting_date"), one_day("entry_date")];
        let (plan, evidence) = of(1_200, 40, grain);
        says(&Grain, &plan, &evidence, GateStatus::Fail, "posting_date");
    }

    /// The newest day, which the table does not have yet.
    #[test]
    fn a_day_that_is_not_in_the_table_fails_too() {
        let (plan, evidence) = of(1_200, 40, vec![days("posting_date", 1, 30, 30, 1_200, 1_200)]);
        says(&Grain, &plan, &evidence, GateStatus::Fail, "1 of 30 days");
    }

    #[test]
    fn without_days_there_is_nothing_to_judge_and_a_merge_is_not_judged() {
        let (plan, none) = of(1_200, 40, Vec::new());
        assert!(silent(&Grain, &plan, &none));
        let uncounted = vec![GrainFacts { column: "posting_date".into(), partitions: Vec::new(), uncounted: 2 }];
        let (_, evidence) = of(1_200, 40, uncounted);
        says(&Grain, &plan, &evidence, GateStatus::Pass, "2 partitions with too many days to count not judged");
        let (_, evidence) = of(1_200, 40, vec![days("posting_date", 1, 30, 29, 1_160, 1_160)]);
        let results =
            super::super::judge(&Plan { partitions: plan.partitions, ..merge() }, &evidence, &Thresholds::default());
        assert!(results.iter().all(|g| g.name != "grain"));
    }
}
