//! Measures of whole plans: the number that finance would see.

use super::Plan;
use crate::table::number::Sum;
use crate::table::wide::Wide;

/// The measures that any of the plans has, in their order.
pub fn measures<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for partition in plans.into_iter().flat_map(|p| &p.partitions) {
        for name in partition.measures.keys() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// A measure's sum over the plan's partitions: `side` is `before` or `after`.
/// Decimals are added exactly. `None` where a partition does not tell.
pub fn total(plan: &Plan, measure: &str, side: &str) -> Option<String> {
    // A partition that is only listed keeps its sum, which nobody read.
    let listed = plan.partitions.iter().filter(|p| !p.is_only_listed());
    let texts: Option<Vec<&str>> = listed.map(|p| p.measures.get(measure)?.get(side)?.as_str()).collect();
    let texts = texts?;
    let scale = texts.iter().map(|t| t.split_once('.').map_or(0, |(_, d)| d.len())).max()?;
    let scale = u8::try_from(scale).ok()?;
    let exact: Option<Vec<Wide>> = texts.iter().map(|t| Wide::parse(t, scale)).collect();
    let mut sum = if exact.is_some() { Sum::exact(scale) } else { Sum::float() };
    match exact {
        Some(values) => values.into_iter().for_each(|value| sum.add(Sum::Exact { sum: value, scale })),
        None => {
            for text in texts {
                sum.add(Sum::Float { sum: text.parse().ok()?, compensation: 0.0 });
            }
        }
    }
    Some(sum.to_string())
}
