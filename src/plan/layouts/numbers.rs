//! From rows per partition to the numbers of a layout.

use serde::{Deserialize, Serialize};

use super::Limits;
use crate::table::PartitionTuple;

/// One partition of a layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub values: PartitionTuple,
    pub rows: u64,
    /// Bytes of its data files.
    pub bytes: u64,
}

/// The smallest, the middle and the largest of some sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spread {
    pub min: u64,
    pub median: u64,
    pub max: u64,
}

impl Spread {
    /// `None` of no sizes. Of an even number the upper middle one is the median,
    /// so that it is a size that occurs.
    pub fn of(mut sizes: Vec<u64>) -> Option<Spread> {
        sizes.sort_unstable();
        Some(Spread { min: *sizes.first()?, median: sizes[sizes.len() / 2], max: *sizes.last()? })
    }
}

/// Bytes that are known to lie between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ByteRange {
    pub low: u64,
    pub high: u64,
    /// Rows were encoded in the new order; else today's bytes per row are taken.
    pub measured: bool,
}

impl ByteRange {
    pub fn exactly(bytes: u64, measured: bool) -> ByteRange {
        ByteRange { low: bytes, high: bytes, measured }
    }

    pub fn middle(self) -> u64 {
        self.low + (self.high.max(self.low) - self.low) / 2
    }

    /// Whether one number may stand for it: both bounds are within 15 % of the middle.
    pub fn is_narrow(self) -> bool {
        let middle = self.middle() as f64;
        (self.high as f64 - middle) <= 0.15 * middle
    }
}

/// The numbers of one layout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Partitions and rows are counted, not estimated.
    pub exact: bool,
    /// The counting stopped at this many: there are more.
    pub at_least: bool,
    pub partitions: u64,
    /// Rows of a partition; `None` where the table has none.
    pub rows: Option<Spread>,
    /// Bytes of a partition.
    pub bytes: Option<Spread>,
    /// Rows of the largest partition over those of the middle one.
    pub skew: Option<f64>,
    /// Rows with NULL in a partition column.
    pub nulls: u64,
    pub files: u64,
    pub small_files: u64,
    /// Bytes of today's files that have to be read and written; 0 for today's layout.
    pub rewrite_bytes: u64,
    /// Bytes of the table under this layout. The old files stay beside them
    /// until VACUUM, so that the table takes both meanwhile.
    pub bytes_after: ByteRange,
}

impl Numbers {
    /// Of the files, how many are small; `None` of no files.
    pub fn small_share(&self) -> Option<f64> {
        (self.files > 0).then(|| self.small_files as f64 / self.files as f64)
    }

    /// Bytes that the table takes in addition until VACUUM.
    pub fn extra_bytes(&self) -> ByteRange {
        match self.rewrite_bytes {
            0 => ByteRange::exactly(0, true),
            _ => self.bytes_after,
        }
    }
}

/// What the groups of a layout add up to. `unseen`: partitions that a sample
/// did not meet, each with about `unseen_rows`; 0 after an exact pass.
pub fn simulate(groups: &[Group], unseen: u64, unseen_rows: u64, limits: &Limits) -> Numbers {
    // What was not seen is listed too, as far as the median needs it.
    let listed = unseen.min(groups.len() as u64 + 1);
    let per_row = {
        let rows: u64 = groups.iter().map(|g| g.rows).sum();
        let bytes: u64 = groups.iter().map(|g| g.bytes).sum();
        if rows == 0 { 0.0 } else { bytes as f64 / rows as f64 }
    };
    let small = (per_row * unseen_rows as f64) as u64;
    let sizes = |pick: fn(&Group) -> u64, other: u64| {
        let seen = groups.iter().map(pick);
        Spread::of(seen.chain(std::iter::repeat_n(other, usize::try_from(listed).unwrap_or(0))).collect())
    };
    let rows = sizes(|g| g.rows, unseen_rows);
    let (mut files, mut small_files, mut total) = (unseen, 0, 0);
    if small < limits.small_file_bytes {
        small_files += unseen;
    }
    for group in groups {
        let pieces = file_count(group.bytes, limits);
        files += pieces;
        total += group.bytes;
        if group.bytes / pieces < limits.small_file_bytes {
            small_files += pieces;
        }
    }
    Numbers {
        exact: unseen == 0,
        at_least: false,
        partitions: groups.len() as u64 + unseen,
        skew: rows.filter(|r| r.median > 0).map(|r| r.max as f64 / r.median as f64),
        rows,
        bytes: sizes(|g| g.bytes, small),
        nulls: groups.iter().filter(|g| g.values.0.iter().any(crate::table::Value::is_null)).map(|g| g.rows).sum(),
        files,
        small_files,
        rewrite_bytes: 0,
        bytes_after: ByteRange::exactly(total, false),
    }
}

/// Files of a partition of so many bytes; one at least.
pub fn file_count(bytes: u64, limits: &Limits) -> u64 {
    bytes.div_ceil(limits.target_file_bytes.max(1)).max(1)
}

/// How many distinct values a column of `rows` rows has, from a random sample
/// of `sampled` rows that holds `distinct` values, `once` of them a single time.
///
/// The estimator is Duj1 of Haas and Stokes, "Estimating the number of classes
/// in a finite population", JASA 93 (1998), which PostgreSQL's ANALYZE uses too.
pub fn distinct_estimate(rows: u64, sampled: u64, distinct: u64, once: u64) -> u64 {
    if sampled == 0 || distinct == 0 {
        return 0;
    }
    if sampled >= rows || once == 0 {
        return distinct;
    }
    let (total, n, d, f1) = (rows as f64, sampled as f64, distinct as f64, once as f64);
    let estimate = n * d / ((n - f1) + f1 * n / total);
    (estimate.round() as u64).clamp(distinct, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Value;

    fn group(value: i64, rows: u64, bytes: u64) -> Group {
        Group { values: PartitionTuple(vec![if value < 0 { Value::Null } else { Value::Int(value) }]), rows, bytes }
    }

    #[test]
    fn groups_add_up() {
        let limits = Limits { small_file_bytes: 100, target_file_bytes: 1_000, ..Limits::default() };
        let groups = [group(1, 10, 99), group(2, 20, 1_000), group(3, 400, 2_500), group(-1, 7, 100)];
        let n = simulate(&groups, 0, 0, &limits);
        assert!(n.exact);
        assert_eq!((n.partitions, n.files, n.small_files, n.nulls), (4, 6, 1, 7));
        assert_eq!(n.rows, Some(Spread { min: 7, median: 20, max: 400 }));
        assert_eq!(n.skew, Some(20.0));
        assert_eq!(n.bytes_after.middle(), 3_699);
        assert_eq!(n.small_share(), Some(1.0 / 6.0));
        let none = simulate(&[], 0, 0, &limits);
        assert_eq!((none.rows, none.skew, none.small_share()), (None, None, None));
    }

    #[test]
    fn partitions_that_a_sample_missed_count() {
        let n = simulate(&[group(1, 1_000, 10_000), group(2, 500, 5_000)], 98, 10, &Limits::default());
        assert!(!n.exact);
        assert_eq!((n.partitions, n.files, n.small_files), (100, 100, 100));
        assert_eq!(n.rows, Some(Spread { min: 10, median: 10, max: 1_000 }));
    }

    #[test]
    fn the_estimator_knows_few_values_and_unique_ones() {
        assert_eq!(distinct_estimate(1_000_000, 10_000, 12, 0), 12);
        assert_eq!(distinct_estimate(1_000_000, 10_000, 10_000, 10_000), 1_000_000);
        assert_eq!(distinct_estimate(500, 500, 77, 70), 77);
        // 20,000 even values: a sample of 10,000 meets about 7,870, 6,065 of them once.
        let about = distinct_estimate(1_000_000, 10_000, 7_870, 6_065);
        assert!((17_000..23_000).contains(&about), "{about}");
        assert_eq!(distinct_estimate(0, 0, 0, 0), 0);
    }

    #[test]
    fn a_range_is_one_number_only_where_it_is_narrow() {
        assert!(ByteRange { low: 90, high: 110, measured: true }.is_narrow());
        assert!(!ByteRange { low: 50, high: 110, measured: true }.is_narrow());
        assert_eq!(ByteRange { low: 50, high: 110, measured: true }.middle(), 80);
    }
}
