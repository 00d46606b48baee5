//! From rows per partition to the numbers of a layout.

use serde::{Deserialize, Serialize};

use super::Limits;
use crate::table::PartitionTuple;
use crate::table::number::bytes as size;

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

    /// Every byte was measured.
    pub fn is_exact(self) -> bool {
        self.measured && self.low == self.high
    }

    /// For people: one number where it is known well enough, with `~` unless it
    /// is exact; else both bounds.
    pub fn text(self) -> String {
        match (self.is_exact(), self.measured && !self.is_narrow()) {
            (true, _) => size(self.middle()),
            (false, true) => format!("{} … {}", size(self.low), size(self.high)),
            (false, false) => format!("~{}", size(self.middle())),
        }
    }
}

/// Stands before a number that is an estimate.
fn mark(exact: bool) -> &'static str {
    if exact { "" } else { "~" }
}

/// The numbers of one layout. Rows and sizes are known apart: rows may be counted
/// while sizes are estimates. As JSON it also lists which fields are `estimated`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "Told")]
pub struct Numbers {
    /// Partitions, rows, skew and NULLs are counted, not estimated.
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

    /// `~` before partitions, rows, skew and NULLs, unless they were counted.
    pub fn rows_mark(&self) -> &'static str {
        mark(self.exact)
    }

    /// `~` before bytes of partitions, files and the share of small files: they
    /// follow from sizes, which counting rows does not tell.
    pub fn sizes_mark(&self) -> &'static str {
        mark(self.sizes_are_exact())
    }

    fn sizes_are_exact(&self) -> bool {
        self.exact && self.bytes_after.is_exact()
    }

    /// The fields that are estimates, by their names.
    pub fn estimated(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        if !self.exact {
            names.extend(["partitions", "rows", "skew", "nulls"]);
        }
        if !self.sizes_are_exact() {
            names.extend(["bytes", "files", "small_files"]);
        }
        if !self.bytes_after.is_exact() {
            names.push("bytes_after");
        }
        names
    }

    /// Bytes that the table takes in addition until VACUUM.
    pub fn extra_bytes(&self) -> ByteRange {
        match self.rewrite_bytes {
            0 => ByteRange::exactly(0, true),
            _ => self.bytes_after,
        }
    }
}

/// [`Numbers`] as JSON has them.
#[derive(Serialize)]
struct Told {
    exact: bool,
    at_least: bool,
    partitions: u64,
    rows: Option<Spread>,
    bytes: Option<Spread>,
    skew: Option<f64>,
    nulls: u64,
    files: u64,
    small_files: u64,
    rewrite_bytes: u64,
    bytes_after: ByteRange,
    estimated: Vec<&'static str>,
}

impl From<Numbers> for Told {
    fn from(n: Numbers) -> Told {
        Told {
            exact: n.exact,
            at_least: n.at_least,
            partitions: n.partitions,
            rows: n.rows,
            bytes: n.bytes,
            skew: n.skew,
            nulls: n.nulls,
            files: n.files,
            small_files: n.small_files,
            rewrite_bytes: n.rewrite_bytes,
            bytes_after: n.bytes_after,
            estimated: n.estimated(),
        }
    }
}

/// Bytes that files of a table take, from the files that it has: a fixed part a
/// file (footer, dictionaries) and a part per row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileCost {
    pub floor: u64,
    pub per_row: f64,
}

impl FileCost {
    /// `bytes` and `rows` of so many `files`, the smallest of `smallest` bytes;
    /// `floor`: what an almost empty file of this schema was measured to take.
    pub fn of(bytes: u64, rows: u64, files: u64, smallest: u64, floor: u64) -> FileCost {
        // Another writer's files may be smaller than ours.
        let floor = floor.min(smallest);
        let of_rows = bytes.saturating_sub(floor.saturating_mul(files));
        FileCost { floor, per_row: if rows == 0 { 0.0 } else { of_rows as f64 / rows as f64 } }
    }

    /// Bytes of a partition of so many rows, in files of the size that is aimed at.
    pub fn bytes(&self, rows: u64, target_file_bytes: u64) -> u64 {
        let of_rows = (rows as f64 * self.per_row).round() as u64;
        of_rows.saturating_add(self.floor.saturating_mul(self.files(rows, target_file_bytes)))
    }

    /// Files of a partition of so many rows; none of no rows.
    pub fn files(&self, rows: u64, target_file_bytes: u64) -> u64 {
        let of_rows = (rows as f64 * self.per_row).round() as u64;
        of_rows.saturating_add(self.floor).div_ceil(target_file_bytes.max(1)).max(1).min(rows)
    }
}

/// What the groups of a layout add up to. `unseen`: partitions that a sample
/// did not meet, each like `other` (rows, bytes); 0 after an exact pass.
pub fn simulate(groups: &[Group], unseen: u64, other: (u64, u64), limits: &Limits) -> Numbers {
    let (unseen_rows, small) = other;
    // What was not seen is listed too, as far as the median needs it.
    let listed = unseen.min(groups.len() as u64 + 1);
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
        bytes_after: ByteRange::exactly(total + unseen.saturating_mul(small), false),
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
        let n = simulate(&groups, 0, (0, 0), &limits);
        assert!(n.exact);
        assert_eq!((n.partitions, n.files, n.small_files, n.nulls), (4, 6, 1, 7));
        assert_eq!(n.rows, Some(Spread { min: 7, median: 20, max: 400 }));
        assert_eq!(n.skew, Some(20.0));
        assert_eq!(n.bytes_after.middle(), 3_699);
        assert_eq!(n.small_share(), Some(1.0 / 6.0));
        let none = simulate(&[], 0, (0, 0), &limits);
        assert_eq!((none.rows, none.skew, none.small_share()), (None, None, None));
    }

    #[test]
    fn partitions_that_a_sample_missed_count() {
        let n = simulate(&[group(1, 1_000, 10_000), group(2, 500, 5_000)], 98, (10, 2_500), &Limits::default());
        assert!(!n.exact);
        assert_eq!((n.partitions, n.files, n.small_files), (100, 100, 100));
        assert_eq!(n.rows, Some(Spread { min: 10, median: 10, max: 1_000 }));
        assert_eq!((n.bytes.unwrap().min, n.bytes_after.middle()), (2_500, 15_000 + 98 * 2_500));
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

    /// Counted rows say nothing of sizes, nor the other way round.
    #[test]
    fn every_number_has_its_own_mark() {
        let mut n = simulate(&[group(1, 10, 99)], 0, (0, 0), &Limits::default());
        assert_eq!((n.rows_mark(), n.sizes_mark()), ("", "~"), "rows are counted, sizes guessed");
        assert_eq!(n.estimated(), ["bytes", "files", "small_files", "bytes_after"]);
        let json = serde_json::to_value(n).unwrap();
        assert_eq!(json["estimated"], serde_json::json!(["bytes", "files", "small_files", "bytes_after"]));
        assert_eq!(serde_json::from_value::<Numbers>(json).unwrap(), n);
        n.bytes_after = ByteRange { low: 95, high: 105, measured: true };
        assert_eq!((n.sizes_mark(), n.bytes_after.text().as_str()), ("~", "~100 B"), "a part was measured");
        n.bytes_after = ByteRange::exactly(99, true);
        assert_eq!((n.sizes_mark(), n.estimated().len(), n.bytes_after.text().as_str()), ("", 0, "99 B"));
        n.exact = false;
        assert_eq!((n.rows_mark(), n.sizes_mark()), ("~", "~"));
        let wide = ByteRange { low: 50, high: 200, measured: true };
        assert_eq!(wide.text(), "50 B … 200 B");
    }

    #[test]
    fn a_file_has_a_floor_however_few_rows_it_has() {
        // 40 files of 2,500 bytes, each with 30 rows.
        let cost = FileCost::of(100_000, 1_200, 40, 2_400, 2_300);
        assert_eq!(cost.floor, 2_300);
        assert_eq!(cost.bytes(1, 1 << 20), 2_300 + 7, "and not 83");
        assert_eq!(cost.bytes(1_200, 1 << 20), 2_300 + 8_000, "one footer instead of forty");
        assert_eq!(cost.bytes(0, 1 << 20), 0);
        // Two files where one would be too large; never more than rows.
        assert_eq!(cost.bytes(1_200, 8_000), 2 * 2_300 + 8_000);
        assert_eq!(FileCost { floor: 10, per_row: 100.0 }.bytes(2, 1), 220);
        // Smaller files of another writer bound what was measured.
        assert_eq!(FileCost::of(1_000, 10, 2, 500, 2_300), FileCost { floor: 500, per_row: 0.0 });
    }

    #[test]
    fn a_range_is_one_number_only_where_it_is_narrow() {
        assert!(ByteRange { low: 90, high: 110, measured: true }.is_narrow());
        assert!(!ByteRange { low: 50, high: 110, measured: true }.is_narrow());
        assert_eq!(ByteRange { low: 50, high: 110, measured: true }.middle(), 80);
    }
}
