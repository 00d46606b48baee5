//! Sums per partition before and after.

use super::pair::{NONE, Pairs};
use super::side::{MeasureRows, Side};
use crate::table::number::Sum;

/// (before, after) of one measure per partition number.
///
/// `after` starts from `before`, loses the target rows that `leaves` names and
/// gains each source row as often as it is written.
pub fn sums(
    measure: usize,
    source: &Side,
    target: &Side,
    pairs: &Pairs,
    partitions: usize,
    leaves: impl Fn(usize) -> bool,
) -> Vec<(Sum, Sum)> {
    let side_rows = |side: &Side| side.measures.get(measure).cloned();
    let zero = side_rows(source).or_else(|| side_rows(target)).map_or_else(Sum::float, |m: MeasureRows| m.zero());
    let mut all = vec![(zero, zero); partitions];
    if let Some(rows) = target.measures.get(measure) {
        for t in 0..pairs.source_of.len() {
            let sums = &mut all[target.partition[t] as usize];
            sums.0.add(rows.row(t));
            if !leaves(t) {
                sums.1.add(rows.row(t));
            }
        }
    }
    if let Some(rows) = source.measures.get(measure) {
        let mut write = |s: usize| all[source.partition[s] as usize].1.add(rows.row(s));
        (0..source.len()).filter(|s| pairs.times[*s] == 0).for_each(&mut write);
        pairs.source_of.iter().filter(|s| **s != NONE).for_each(|s| write(*s as usize));
    }
    all
}
