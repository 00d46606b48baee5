//! Partitions that the table does not have: a date far away, a value that
//! nobody used before.

use chrono::{DateTime, Datelike};

use super::words::more;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};
use crate::table::number::grouped;
use crate::table::{PartitionTuple, Value};

pub struct NewPartition;

/// A date so many years before the oldest one is a default, not a day.
const FAR_BACK: i32 = 10;
/// Texts and numbers outside of these years are codes, not dates.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=2199;

impl Gate for NewPartition {
    fn name(&self) -> &'static str {
        "new-partition"
    }

    fn about(&self) -> &'static str {
        "no partition is new with a date out of range (2062-01-01), or with a value that a table of many partitions never had; newer ones are how a table grows"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["new_partition_min_known", "new_partition_max_years_ahead"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete => Severity::Warn,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, t: &Thresholds) -> Option<Finding> {
        let new = &evidence.new_partitions;
        if new.is_empty() || plan.partition_columns.is_empty() {
            return None;
        }
        let columns: Vec<Known> = (0..plan.partition_columns.len()).map(|i| Known::of(evidence, i)).collect();
        let today = plan.created_at.get(..4).and_then(|year| year.parse().ok());
        let many = evidence.known_partitions.len() as u64 >= t.new_partition_min_known;
        let ahead = i32::try_from(t.new_partition_max_years_ahead).unwrap_or(i32::MAX);
        let mut strange: Vec<(&PartitionTuple, bool, String)> = Vec::new();
        for tuple in new {
            let far = columns.iter().zip(&tuple.0).find_map(|(known, value)| known.far(value, today, ahead));
            let grows = columns.iter().zip(&tuple.0).any(|(known, value)| known.grows(value));
            if let Some(why) = far {
                strange.push((tuple, true, why));
            } else if many && !grows {
                let unknown = columns.iter().zip(&tuple.0).position(|(known, value)| known.is_unknown(value));
                let why = match unknown {
                    Some(i) => format!("no partition has this {}", plan.partition_columns[i]),
                    None => "the table has each value, but not together".to_owned(),
                };
                strange.push((tuple, false, why));
            }
        }
        // A date that cannot be is worse than a value that may be new.
        strange.sort_by_key(|(_, far, _)| !far);
        let threshold = format!(
            "at most {} years ahead; from {} partitions on, none that is not newer",
            t.new_partition_max_years_ahead,
            grouped(t.new_partition_min_known)
        );
        let Some((tuple, _, why)) = strange.first() else {
            let message = format!("{} new, none out of range", grouped(new.len() as u64));
            return Some(Finding::pass(0, threshold, message));
        };
        let label = crate::table::value::escape_controls(&tuple.label(&plan.partition_columns));
        let message = format!("{label} is new: {why}{}", more(strange.len()));
        let concerned = strange.iter().map(|(tuple, _, _)| tuple.to_json(&plan.partition_columns)).collect();
        Some(Finding::pass(strange.len(), threshold, message).of(GateStatus::Fail).at(concerned))
    }
}

/// The table's values of one partition column. NULL is judged by the gate
/// `null-partition`.
struct Known<'a> {
    values: std::collections::BTreeSet<&'a Value>,
    /// Whether the values are dates, or codes that begin with a year.
    dated: bool,
}

impl<'a> Known<'a> {
    fn of(evidence: &'a Evidence, column: usize) -> Known<'a> {
        let of = |list: &'a [PartitionTuple]| list.iter().filter_map(move |t| t.0.get(column)).filter(|v| !v.is_null());
        let values: std::collections::BTreeSet<&Value> = of(&evidence.known_partitions).collect();
        let typed = |v: &Value| matches!(v, Value::Date(_) | Value::Timestamp(_) | Value::TimestampNtz(_));
        let coded = |v: &&Value| year(v).is_some_and(|year| YEARS.contains(&year));
        let dated = of(&evidence.new_partitions).all(typed) || !values.is_empty() && values.iter().all(coded);
        Known { values, dated }
    }

    /// Why a date cannot be meant, if so.
    fn far(&self, value: &Value, today: Option<i32>, ahead: i32) -> Option<String> {
        let year = year(value).filter(|_| self.dated)?;
        let newest = self.values.last().and_then(|v| self::year(v));
        let oldest = self.values.first().and_then(|v| self::year(v));
        if let Some(latest) = newest.max(today)
            && year > latest.saturating_add(ahead)
        {
            let than = if newest.max(today) == newest { "the newest partition" } else { "today" };
            return Some(format!("{} years after {than}", year - latest));
        }
        oldest
            .filter(|oldest| year + FAR_BACK < *oldest)
            .map(|old| format!("{} years before the oldest partition", old - year))
    }

    /// Whether the value is the next of a column that goes on in time.
    fn grows(&self, value: &Value) -> bool {
        self.dated && !value.is_null() && self.values.last().is_none_or(|newest| value > *newest)
    }

    fn is_unknown(&self, value: &Value) -> bool {
        !value.is_null() && !self.values.contains(value)
    }
}

/// The year of a date, or of a code such as 2026006, 202606 or 2026-06.
fn year(value: &Value) -> Option<i32> {
    let of_text = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let coded = matches!(digits, 4 | 6 | 7 | 8) && text.bytes().all(|b| b.is_ascii_digit() || b"-/".contains(&b));
        text.get(..4).filter(|_| coded)?.parse().ok()
    };
    match value {
        Value::Date(day) => DateTime::from_timestamp(i64::from(*day) * 86_400, 0).map(|at| at.year()),
        Value::Timestamp(us) | Value::TimestampNtz(us) => DateTime::from_timestamp_micros(*us).map(|at| at.year()),
        Value::Int(n) => of_text(&n.to_string()),
        Value::String(text) => of_text(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{append, says, silent};
    use super::*;

    fn text(value: &str) -> Value {
        Value::String(value.into())
    }

    fn evidence(known: impl IntoIterator<Item = Value>, new: Value) -> Evidence {
        let one = |value| PartitionTuple(vec![value]);
        let known_partitions = known.into_iter().map(one).collect();
        Evidence { known_partitions, new_partitions: vec![one(new)], ..Evidence::default() }
    }

    /// Twelve periods of 2026.
    fn periods() -> impl Iterator<Item = Value> {
        (1..=12).map(|n| text(&format!("2026{n:03}")))
    }

    #[test]
    fn a_date_out_of_range_fails() {
        let days = || (0..5).map(|n| Value::Date(20_600 + n));
        let day = |y, m, d| Value::Date(chrono::NaiveDate::from_ymd_opt(y, m, d).unwrap().to_epoch_days());
        says(
            &NewPartition,
            &append(),
            &evidence(days(), day(2062, 1, 1)),
            GateStatus::Fail,
            "p=2062-01-01 is new: 36 years after",
        );
        says(
            &NewPartition,
            &append(),
            &evidence(days(), day(1900, 1, 1)),
            GateStatus::Fail,
            "126 years before the oldest",
        );
        says(&NewPartition, &append(), &evidence([], day(2062, 1, 1)), GateStatus::Fail, "36 years after today");
        says(&NewPartition, &append(), &evidence(days(), day(2027, 1, 1)), GateStatus::Pass, "none out of range");
        says(&NewPartition, &append(), &evidence(periods(), text("2062001")), GateStatus::Fail, "36 years");
    }

    #[test]
    fn the_next_period_is_how_a_table_grows() {
        says(&NewPartition, &append(), &evidence(periods(), text("2027001")), GateStatus::Pass, "1 new");
        let gap = periods().chain([text("2025010")]);
        says(&NewPartition, &append(), &evidence(gap, text("2025011")), GateStatus::Fail, "no partition has this p");
    }

    #[test]
    fn a_value_that_many_partitions_lack_fails() {
        let companies = |n| (0..n).map(|i| text(&format!("C{i}")));
        says(
            &NewPartition,
            &append(),
            &evidence(companies(10), text("C0 ")),
            GateStatus::Fail,
            "p=C0  is new: no partition has",
        );
        says(&NewPartition, &append(), &evidence(companies(9), text("X")), GateStatus::Pass, "1 new");
    }

    #[test]
    fn known_values_that_were_never_together_are_said() {
        let mut plan = append();
        plan.partition_columns.push("q".into());
        let pair = |a: &str, b: &str| PartitionTuple(vec![text(a), text(b)]);
        let mut known: Vec<_> = (0..10).map(|i| pair(&format!("C{i}"), "x")).collect();
        known.push(pair("C1", "y"));
        let evidence =
            Evidence { known_partitions: known, new_partitions: vec![pair("C2", "y")], ..Evidence::default() };
        says(&NewPartition, &plan, &evidence, GateStatus::Fail, "not together");
    }

    #[test]
    fn company_codes_are_no_years() {
        let codes = (1..=5).map(|n| text(&format!("{n}000")));
        says(&NewPartition, &append(), &evidence(codes, text("9000")), GateStatus::Pass, "1 new");
    }

    #[test]
    fn it_only_warns_and_needs_new_partitions() {
        let results = super::super::judge(&append(), &evidence(periods(), text("2062001")), &Thresholds::default());
        assert_eq!(results.iter().find(|g| g.name == "new-partition").map(|g| g.status), Some(GateStatus::Warn));
        assert!(silent(&NewPartition, &append(), &Evidence::default()));
    }
}
