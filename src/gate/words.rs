//! Phrases that several gates use.

use serde_json::{Map, Value as Json};

use crate::plan::PlanPartition;
use crate::table::number::grouped;

/// `1 row`, `1,204 rows`
pub fn rows(n: u64) -> String {
    format!("{} row{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// ` (and 3 more)`, nothing where the first is all.
pub fn more(len: usize) -> String {
    if len > 1 { format!(" (and {} more)", len - 1) } else { String::new() }
}

/// The values of partitions, for a finding.
pub fn values(partitions: &[&PlanPartition]) -> Vec<Map<String, Json>> {
    partitions.iter().map(|p| p.values.clone()).collect()
}

/// A percentage for people, without a fraction that says nothing.
pub fn percent(x: f64) -> String {
    if x >= 100.0 || x.fract() == 0.0 { format!("{x:.0} %") } else { format!("{x:.1} %") }
}
