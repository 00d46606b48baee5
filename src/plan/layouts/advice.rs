//! Which layout pays, in plain words with its reason.

use super::{Candidate, LayoutBy, Limits, Numbers, Origin};
use crate::table::number::{bytes, grouped};

/// What speaks against a layout.
pub fn concerns(by: &LayoutBy, n: &Numbers, limits: &Limits) -> Vec<String> {
    let mut said = Vec::new();
    if by.columns.is_empty() {
        return said;
    }
    if n.at_least || n.partitions > limits.max_partitions {
        said.push(format!(
            "{}{} partitions: more than {} make every reader slow",
            if n.at_least { "≥ " } else { "" },
            grouped(n.partitions),
            grouped(limits.max_partitions)
        ));
    }
    if n.partitions == 1 {
        said.push("there is one value only: the layout would skip nothing".into());
    }
    if let Some(share) = n.small_share().filter(|s| *s > 0.5) {
        said.push(format!("{:.0} % of its files would be below {}", share * 100.0, bytes(limits.small_file_bytes)));
    }
    if let Some(skew) = n.skew.filter(|s| *s > limits.max_skew) {
        said.push(format!("the largest partition has {skew:.0} times the rows of the middle one"));
    }
    if n.nulls > 0 {
        said.push(format!("{} rows would go into a partition of NULL", grouped(n.nulls)));
    }
    said
}

/// What is proposed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommendation {
    /// An index into the candidates; `None`: the table is best left as it is.
    pub index: Option<usize>,
    pub because: String,
    /// General rules that hold for a table of this size.
    pub advice: Vec<String>,
}

/// Chooses among the candidates. `table_bytes`: the table's size today.
pub fn recommend(candidates: &[Candidate], table_bytes: u64, limits: &Limits) -> Recommendation {
    let advice = rules(candidates, table_bytes, limits);
    let today = candidates.iter().position(|c| c.origin == Origin::Today);
    let unpartitioned = candidates.iter().position(|c| c.by.columns.is_empty());
    let asked = candidates.iter().any(|c| !c.queries.is_empty());
    let small = table_bytes < limits.partitioning_pays_bytes;
    let sound = |c: &Candidate| c.concerns.is_empty() || c.by.columns.is_empty();
    let best = (0..candidates.len()).filter(|i| sound(&candidates[*i])).min_by(|a, b| {
        let (a, b) = (&candidates[*a], &candidates[*b]);
        cost(a, asked, limits).total_cmp(&cost(b, asked, limits))
    });
    let said = |index: Option<usize>, because: String| {
        // To recommend what is there already is to recommend nothing.
        Recommendation { index: index.filter(|i| Some(*i) != today), because, advice: advice.clone() }
    };
    let Some(best) = best else {
        return said(None, "None of these layouts is sound; see what speaks against each.".into());
    };
    // The bytes that the queries read decide, where they are known.
    let reads = |i: usize| candidates[i].reads().bytes as f64;
    let gains = |better: usize, than: usize| asked && reads(better) < 0.7 * reads(than);
    if let Some(none) = unpartitioned.filter(|_| small)
        && !gains(best, none)
    {
        if let Some(today) = today
            && (today == none || asked && !gains(none, today) && sound(&candidates[today]))
        {
            return said(
                None,
                "The queries would read about as much under any of these layouts: leave it as it is.".into(),
            );
        }
        return said(
            Some(none),
            format!(
                "Under {}, sorted files skip as well as partitions would, without the small files.",
                bytes(limits.partitioning_pays_bytes)
            ),
        );
    }
    if let Some(today) = today.filter(|t| sound(&candidates[*t]) && *t != best)
        && asked
        && !gains(best, today)
    {
        return said(
            None,
            "The queries would read about as much under any of these layouts: leave it as it is.".into(),
        );
    }
    let reason = match asked {
        true => format!(
            "{}: our queries would read {} instead of {}.",
            candidates[best].label,
            bytes(candidates[best].reads().bytes),
            today.map_or_else(|| "?".into(), |t| bytes(candidates[t].reads().bytes))
        ),
        false => format!(
            "{}: partitions of similar size, {} in the middle, and few small files.",
            candidates[best].label,
            candidates[best].numbers.bytes.map_or_else(|| "?".into(), |b| bytes(b.median))
        ),
    };
    said(Some(best), reason)
}

/// Less is better: bytes that are read, or else how far the middle partition is
/// from the size that a partition should have.
fn cost(c: &Candidate, asked: bool, limits: &Limits) -> f64 {
    if asked {
        return c.reads().bytes as f64;
    }
    let median = c.numbers.bytes.map_or(1.0, |b| b.median.max(1) as f64);
    let off = (median / limits.partition_bytes.max(1) as f64).ln().abs();
    off + c.numbers.skew.unwrap_or(1.0).ln() + 4.0 * c.numbers.small_share().unwrap_or(0.0)
}

fn rules(candidates: &[Candidate], table_bytes: u64, limits: &Limits) -> Vec<String> {
    let mut rules = Vec::new();
    if table_bytes < limits.partitioning_pays_bytes {
        rules.push(format!(
            "The table has {}. Below {} partitioning rarely pays: files that are sorted or Z-ordered by the columns of the queries are skipped by their minima and maxima.",
            bytes(table_bytes),
            bytes(limits.partitioning_pays_bytes)
        ));
    } else {
        rules.push(format!("Aim for partitions of similar size, about {} each.", bytes(limits.partition_bytes)));
    }
    rules.push(format!(
        "No partition should stay below {}: a file costs every reader the same, however few rows it has.",
        bytes(limits.small_file_bytes)
    ));
    if candidates.iter().all(|c| c.queries.is_empty()) {
        rules.push("No queries are known. Give --query, or keep them in the config (queries = [\"…\"]), and they are tried on each layout.".into());
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::super::{ByColumn, Group, QueryRead, simulate};
    use super::*;
    use crate::table::{PartitionTuple, Value};

    fn candidate(by: LayoutBy, origin: Origin, sizes: &[u64], read: Option<u64>) -> Candidate {
        let groups: Vec<Group> = (0..)
            .zip(sizes)
            .map(|(i, bytes)| Group { values: PartitionTuple(vec![Value::Int(i)]), rows: bytes / 10, bytes: *bytes })
            .collect();
        let limits = Limits::default();
        let mut c = Candidate::new(by, origin, simulate(&groups, 0, 0, &limits), &limits);
        c.queries = read.map(|bytes| QueryRead { files: 1, bytes, exact: false }).into_iter().collect();
        c
    }

    fn by(name: &str) -> LayoutBy {
        LayoutBy::of([ByColumn::plain(name)])
    }

    const GB: u64 = 1_000_000_000;

    #[test]
    fn a_small_table_is_sorted_not_partitioned() {
        let list = [
            candidate(by("dt"), Origin::Today, &[5_000; 60], None),
            candidate(by("region"), Origin::Proposed, &[75_000; 4], None),
            candidate(LayoutBy::default().sorted(vec!["dt".into()]), Origin::Proposed, &[300_000], None),
        ];
        let told = recommend(&list, 300_000, &Limits::default());
        assert_eq!(told.index, Some(2));
        assert!(told.because.contains("without the small files"), "{}", told.because);
        assert!(told.advice[0].contains("rarely pays"), "{}", told.advice[0]);
        assert!(list[0].concerns[0].contains("100 % of its files"), "{:?}", list[0].concerns);
    }

    #[test]
    fn queries_decide_where_they_are_known() {
        let list = [
            candidate(by("dt"), Origin::Today, &[50 * GB; 40], Some(1_000 * GB)),
            candidate(by("region"), Origin::Proposed, &[100 * GB; 20], Some(100 * GB)),
            candidate(LayoutBy::default(), Origin::Proposed, &[2_000 * GB], Some(2_000 * GB)),
        ];
        let told = recommend(&list, 2_000 * GB, &Limits::default());
        assert_eq!(told.index, Some(1));
        assert!(told.because.contains("instead of"), "{}", told.because);
        let same = [list[0].clone(), candidate(by("region"), Origin::Proposed, &[100 * GB; 20], Some(990 * GB))];
        assert_eq!(recommend(&same, 2_000 * GB, &Limits::default()).index, None);
    }

    #[test]
    fn what_speaks_against_a_layout_is_said() {
        let limits = Limits::default();
        let c = candidate(by("id"), Origin::Proposed, &vec![10; 10_001], None);
        assert!(c.concerns[0].contains("10,001 partitions"), "{:?}", c.concerns);
        let skewed = candidate(by("x"), Origin::Proposed, &[20 << 20, 20 << 20, 2_000 << 20], None);
        assert!(skewed.concerns.iter().any(|s| s.contains("100 times")), "{:?}", skewed.concerns);
        assert!(candidate(by("x"), Origin::Proposed, &[GB; 4], None).concerns.is_empty());
        assert!(recommend(&[c], 1 << 50, &limits).index.is_none());
    }
}
