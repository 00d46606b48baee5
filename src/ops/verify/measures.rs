//! The measures of the plan against those of the files themselves.
//!
//! A plan says what a measure's sum is before and after, per partition. What the
//! commit did to it is the sum over the files that came less the sum over those
//! that went, whichever of the partition's rows planning had to read.

use std::collections::BTreeMap;

use super::super::rebase::partitions;
use crate::engine::local::verify::{Measured, Total};
use crate::error::Result;
use crate::plan::{Plan, PlanPartition};
use crate::table::number::Sum;
use crate::table::wide::Wide;
use crate::table::{Metadata, PartitionTuple};

/// Float sums in another order differ by their rounding: by this share of the
/// values that were added, at most.
const FLOAT_SHARE: f64 = 1e-9;

/// Differences, in words; `gone` and `come` are the files that the commit
/// removed and added.
///
/// # Errors
/// `BadPlan` for partition values that do not fit the table.
pub fn differences(plan: &Plan, metadata: &Metadata, gone: &Measured, come: &Measured) -> Result<Vec<String>> {
    let names = plan.spec.rows().map(|r| r.measures.as_slice()).unwrap_or_default();
    let by_tuple: BTreeMap<PartitionTuple, &PlanPartition> =
        partitions(plan, metadata)?.into_iter().zip(&plan.partitions).collect();
    let mut found = Vec::new();
    for (tuple, partition) in by_tuple {
        for (at, name) in names.iter().enumerate() {
            let total = |measured: &Measured| measured.get(&tuple).and_then(|totals| totals.get(at)).copied();
            if let Some(said) = difference(partition, name, total(gone), total(come)) {
                found.push(format!("{}: {said}", partition.label()));
            }
        }
    }
    Ok(found)
}

fn difference(partition: &PlanPartition, name: &str, gone: Option<Total>, come: Option<Total>) -> Option<String> {
    let planned = partition.measures.get(name)?;
    let text = |side: &str| planned.get(side).and_then(|v| v.as_str());
    let (before, after) = (text("before")?, text("after")?);
    let (gone, come) = match (gone, come) {
        (None, None) => return (before != after).then(|| unlike(name, before, after, "0")),
        (Some(total), None) => (total, total.zero()),
        (None, Some(total)) => (total.zero(), total),
        (Some(gone), Some(come)) => (gone, come),
    };
    let mut change = come.sum;
    change.add(gone.sum.negated());
    let same = match change {
        Sum::Exact { sum, scale } => match (Wide::parse(before, scale), Wide::parse(after, scale)) {
            (Some(mut before), Some(after)) => {
                before.add(sum);
                before == after
            }
            _ => false,
        },
        Sum::Float { .. } => {
            let parse = |text: &str| text.parse::<f64>().ok();
            match (parse(before), parse(after)) {
                // NaN and infinities swallow everything else in a sum.
                (Some(before), Some(after)) if !(before.is_finite() && after.is_finite()) => true,
                (Some(before), Some(after)) => {
                    // Six digits after the point are in the plan.
                    let scale = gone.absolute + come.absolute + before.abs() + after.abs();
                    (after - before - change.as_f64()).abs() <= 2e-6 + FLOAT_SHARE * scale
                }
                _ => false,
            }
        }
    };
    (!same).then(|| unlike(name, before, after, &change.to_string()))
}

fn unlike(name: &str, before: &str, after: &str, change: &str) -> String {
    format!("Σ {name} was planned to go from {before} to {after}; the files that went and came change it by {change}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn planned(before: &str, after: &str) -> PlanPartition {
        let mut partition = PlanPartition::default();
        partition.measures.insert("amount".into(), json!({"before": before, "after": after}));
        partition
    }

    fn exact(unscaled: i128) -> Option<Total> {
        Some(Total { sum: Sum::of(unscaled, 2), absolute: 0.0 })
    }

    fn float(sum: f64) -> Option<Total> {
        Some(Total { sum: Sum::Float { sum, compensation: 0.0 }, absolute: sum.abs() })
    }

    #[test]
    fn the_change_counts_not_what_was_read() {
        let partition = planned("1400", "750");
        assert_eq!(difference(&partition, "amount", exact(140_000), exact(75_000)), None);
        assert_eq!(difference(&partition, "amount", exact(100_000), exact(35_000)), None);
        assert_eq!(difference(&planned("0", "7.5"), "amount", None, exact(750)), None);
        assert_eq!(difference(&planned("7.5", "0"), "amount", exact(750), None), None);
        assert_eq!(difference(&planned("3", "3"), "amount", None, None), None);
    }

    #[test]
    fn a_cent_is_a_difference() {
        let said = difference(&planned("1400", "750"), "amount", exact(140_000), exact(75_001)).unwrap();
        assert!(said.contains("Σ amount") && said.contains("-649.99"), "{said}");
        assert!(difference(&planned("1", "2"), "amount", None, None).is_some());
    }

    #[test]
    fn sums_beyond_128_bits_are_held_to_the_cent() {
        let (before, after) = ("1999999999999999999999999999999999999.98", "2999999999999999999999999999999999999.97");
        let largest = 99_999_999_999_999_999_999_999_999_999_999_999_999;
        assert_eq!(difference(&planned(before, after), "amount", None, exact(largest)), None);
        assert!(difference(&planned(before, after), "amount", None, exact(largest - 1)).is_some());
    }

    #[test]
    fn floats_may_differ_by_their_rounding_alone() {
        assert_eq!(difference(&planned("0.3", "1000000.1"), "amount", float(0.1 + 0.2), float(1_000_000.1)), None);
        assert!(difference(&planned("0.3", "1.4"), "amount", float(0.3), float(1.39)).is_some());
        assert_eq!(difference(&planned("0", "NaN"), "amount", None, float(f64::NAN)), None);
    }
}
