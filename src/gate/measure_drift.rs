//! The number that finance would see, before and after.

use serde_json::{Value as Json, json};

use super::words::percent;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::measures::measures;
use crate::plan::{GateStatus, Plan, PlanPartition};
use crate::table::number::grouped_text;
use crate::table::value::escape_controls;

pub struct MeasureDrift;

/// One measure over the partitions that have rows now.
struct Drift {
    measure: String,
    before: f64,
    after: f64,
    /// Of the absolute values before.
    percent: f64,
    /// Whether the absolute values are known; otherwise the partitions' sums
    /// stand for them, and the drift is rather overstated.
    exact: bool,
}

impl Gate for MeasureDrift {
    fn name(&self) -> &'static str {
        "measure-drift"
    }

    fn about(&self) -> &'static str {
        "the sums of the measures change little, against the sum of the absolute values; partitions without rows now are left out"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["measure_drift_max_percent"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Merge | Class::MergeDelete | Class::Inverse => Severity::Warn,
            Class::Append | Class::Layout => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, _: &Evidence, t: &Thresholds) -> Option<Finding> {
        let present: Vec<&PlanPartition> =
            plan.partitions.iter().filter(|p| p.before > 0 && !p.is_only_listed() && !p.measures.is_empty()).collect();
        let drifts: Vec<Drift> = measures([plan]).into_iter().filter_map(|measure| drift(&present, measure)).collect();
        let worst = drifts.iter().max_by(|a, b| a.percent.total_cmp(&b.percent))?;
        let threshold = format!("at most {}", percent(t.measure_drift_max_percent));
        let others = drifts.iter().filter(|d| d.percent > t.measure_drift_max_percent).count();
        let message = format!(
            "Σ {} {} → {}: {} of {}{}",
            escape_controls(&worst.measure),
            text(worst.before),
            text(worst.after),
            percent(worst.percent),
            if worst.exact { "the absolute values" } else { "the sums now" },
            super::words::more(others)
        );
        let observed = json!((worst.percent * 10.0).round() / 10.0);
        let status = if worst.percent > t.measure_drift_max_percent { GateStatus::Fail } else { GateStatus::Pass };
        Some(Finding::pass(observed, threshold, message).of(status))
    }
}

/// `None` where a partition does not tell, where the sums are no finite
/// numbers, and where everything was 0.
fn drift(partitions: &[&PlanPartition], measure: String) -> Option<Drift> {
    let (mut before, mut after, mut absolute, mut exact) = (0.0, 0.0, 0.0, true);
    for p in partitions {
        let sums = p.measures.get(&measure)?;
        let number = |side: &str| sums.get(side).and_then(Json::as_str)?.parse::<f64>().ok().filter(|x| x.is_finite());
        let was = number("before")?;
        before += was;
        after += number("after")?;
        let summed = number("absolute");
        exact &= summed.is_some();
        absolute += summed.unwrap_or(was.abs());
    }
    let percent = (after - before).abs() * 100.0 / absolute;
    percent.is_finite().then_some(Drift { measure, before, after, percent, exact })
}

fn text(x: f64) -> String {
    grouped_text(&format!("{}", (x * 100.0).round() / 100.0))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::super::testing::{overwrite, partition, says, silent};
    use super::*;
    use crate::plan::Role;

    fn of(sums: &[(u64, &str, &str)]) -> Plan {
        let one = |(before, was, is): &(u64, &str, &str)| PlanPartition {
            measures: Map::from_iter([("amount".to_owned(), json!({"before": was, "after": is}))]),
            ..partition("a", Role::Intended, *before, 5)
        };
        Plan { partitions: sums.iter().map(one).collect(), ..overwrite() }
    }

    #[test]
    fn a_sum_that_halves_fails() {
        let words = "Σ amount 1,400 → 750: 46.4 % of the sums now";
        says(&MeasureDrift, &of(&[(3, "1400", "750")]), &Evidence::default(), GateStatus::Fail, words);
        says(&MeasureDrift, &of(&[(3, "1400", "1450.50")]), &Evidence::default(), GateStatus::Pass, "3.6 %");
    }

    #[test]
    fn a_new_partition_is_no_drift() {
        says(&MeasureDrift, &of(&[(3, "100", "100"), (0, "0", "9000")]), &Evidence::default(), GateStatus::Pass, "0 %");
        assert!(silent(&MeasureDrift, &of(&[(0, "0", "9000")]), &Evidence::default()));
    }

    #[test]
    fn a_balanced_ledger_is_measured_by_its_absolute_values() {
        let mut plan = of(&[(3, "1", "6")]);
        says(&MeasureDrift, &plan, &Evidence::default(), GateStatus::Fail, "500 %");
        plan.partitions[0].measures["amount"]["absolute"] = json!("2000");
        says(&MeasureDrift, &plan, &Evidence::default(), GateStatus::Pass, "0.2 % of the absolute values");
    }

    #[test]
    fn unknown_sums_are_not_judged() {
        assert!(silent(&MeasureDrift, &of(&[(3, "NaN", "1")]), &Evidence::default()));
        assert!(silent(&MeasureDrift, &of(&[(3, "0", "0")]), &Evidence::default()));
        assert!(silent(&MeasureDrift, &overwrite(), &Evidence::default()));
    }

    #[test]
    fn it_only_warns() {
        let results = super::super::judge(&of(&[(3, "1400", "750")]), &Evidence::default(), &Thresholds::default());
        assert_eq!(results.iter().find(|g| g.name == "measure-drift").map(|g| g.status), Some(GateStatus::Warn));
    }
}
