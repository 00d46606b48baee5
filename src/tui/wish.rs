//! A layout as a person asks for it: partition columns, the order of rows, and
//! how large files should be.

use crate::ops::RepartitionRequest;
use crate::plan::layouts::advice::concerns;
use crate::plan::layouts::{Candidate, LayoutBy, Limits, Numbers, Origin};
use crate::plan::relayout::Order;
use crate::table::number::bytes;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wish {
    /// The partition columns. The order of rows is [`Self::order`]'s.
    pub by: LayoutBy,
    pub order: Order,
    pub files_per_partition: Option<u32>,
    /// bytes
    pub target_file_size: Option<u64>,
}

impl Wish {
    /// What a candidate stands for.
    pub fn of(by: &LayoutBy) -> Wish {
        let order = if by.sort_by.is_empty() { Order::None } else { Order::Columns(by.sort_by.clone()) };
        Wish { by: LayoutBy::of(by.columns.clone()), order, ..Wish::default() }
    }

    /// What the simulation is asked for. It knows no Z-order: rows that are
    /// sorted by the same columns are as close as it gets.
    pub fn simulated(&self) -> LayoutBy {
        self.by.clone().sorted(self.order.columns().to_vec())
    }

    /// The limits of a table, with this wish's size of files.
    pub fn limits(&self, limits: &Limits) -> Limits {
        Limits { target_file_bytes: self.target_file_size.unwrap_or(limits.target_file_bytes), ..limits.clone() }
    }

    pub fn request(&self) -> RepartitionRequest {
        RepartitionRequest {
            by: self.simulated(),
            order: self.order.clone(),
            files_per_partition: self.files_per_partition,
            target_file_size: self.target_file_size,
            ..RepartitionRequest::default()
        }
    }

    /// Whether the order is one that the simulation cannot try.
    pub fn is_curve(&self) -> bool {
        matches!(&self.order, Order::ZOrder(columns) if columns.len() > 1)
    }

    /// For people: `region (Z-order a, b; 2 files each)`.
    pub fn label(&self) -> String {
        let mut options = Vec::new();
        match &self.order {
            Order::None => {}
            Order::Columns(columns) => options.push(format!("sort by {}", columns.join(", "))),
            Order::ZOrder(columns) => options.push(format!("Z-order {}", columns.join(", "))),
        }
        match self.files_per_partition {
            Some(1) => options.push("1 file each".into()),
            Some(n) => options.push(format!("{n} files each")),
            None => {}
        }
        options.extend(self.target_file_size.map(|size| format!("files of {}", bytes(size))));
        let columns = self.by.label();
        if options.is_empty() { columns } else { format!("{columns} ({})", options.join("; ")) }
    }

    /// Turns the simulated candidate into this wish's: what the simulation
    /// could not try is unknown, not taken from something else.
    pub fn settle(&self, mut candidate: Candidate, limits: &Limits) -> Candidate {
        candidate.label = self.label();
        if let Some(files) = self.files_per_partition {
            per_partition(&mut candidate.numbers, files.into(), limits);
            // A query reads whole files: how many depends on their number.
            candidate.queries.clear();
        }
        if self.is_curve() {
            candidate.numbers.bytes_after.measured = false;
            candidate.queries.clear();
        }
        candidate.concerns = concerns(&self.by, &candidate.numbers, limits);
        candidate
    }

    /// Whether the number of files is sure: every partition has rows for all of
    /// them, or the bytes that decide it were measured.
    pub fn knows_files(&self, origin: Origin, numbers: &Numbers) -> bool {
        match self.files_per_partition {
            _ if origin == Origin::Today => true,
            Some(files) => numbers.exact && numbers.rows.is_some_and(|rows| rows.min >= files.into()),
            None => numbers.sizes_mark().is_empty(),
        }
    }

    /// The share of small files; `None` where it depends on the partition.
    pub fn small_share(&self, numbers: &Numbers, limits: &Limits) -> Option<f64> {
        match (self.files_per_partition, numbers.bytes) {
            (Some(files), Some(size)) => {
                let (least, most) = (size.min / u64::from(files), size.max / u64::from(files));
                match limits.small_file_bytes {
                    small if most < small => Some(1.0),
                    small if least >= small => Some(0.0),
                    _ => None,
                }
            }
            _ => numbers.small_share(),
        }
    }
}

/// So many files in each partition.
fn per_partition(numbers: &mut Numbers, files: u64, limits: &Limits) {
    numbers.files = numbers.partitions.saturating_mul(files.max(1));
    let all_small = numbers.bytes.is_some_and(|size| size.max / files.max(1) < limits.small_file_bytes);
    numbers.small_files = if all_small { numbers.files } else { 0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::layouts::{ByColumn, Group, QueryRead, simulate};
    use crate::table::{PartitionTuple, Value};

    fn candidate(by: LayoutBy, rows: &[u64]) -> Candidate {
        let limits = Limits::default();
        let group = |(i, rows): (i64, &u64)| Group {
            values: PartitionTuple(vec![Value::Int(i)]),
            rows: *rows,
            bytes: rows * 1_000_000,
        };
        let groups: Vec<Group> = (0..).zip(rows).map(group).collect();
        let mut c = Candidate::new(by, Origin::Given, simulate(&groups, 0, (0, 0), &limits), &limits);
        c.queries = vec![QueryRead { files: 1, bytes: 10, exact: false }];
        c
    }

    #[test]
    fn files_of_each_partition_are_counted_where_rows_suffice() {
        let wish = Wish { by: LayoutBy::of([ByColumn::plain("a")]), files_per_partition: Some(4), ..Wish::default() };
        let limits = Limits::default();
        let c = wish.settle(candidate(wish.simulated(), &[5, 40, 80]), &limits);
        assert_eq!((c.numbers.files, c.label.as_str()), (12, "a (4 files each)"));
        assert!(wish.knows_files(Origin::Given, &c.numbers));
        assert_eq!(wish.small_share(&c.numbers, &limits), None, "it depends on the partition");
        assert!(c.queries.is_empty(), "what was not tried is unknown");
        let few = wish.settle(candidate(wish.simulated(), &[3, 5, 8]), &limits);
        assert!(!wish.knows_files(Origin::Given, &few.numbers), "three rows make no four files");
        assert_eq!(wish.small_share(&few.numbers, &limits), Some(1.0));
        assert!(few.concerns.iter().any(|said| said.contains("100 %")), "{:?}", few.concerns);
    }

    #[test]
    fn a_curve_through_several_columns_is_not_simulated() {
        let curve = |columns: &[&str]| Wish {
            order: Order::ZOrder(columns.iter().map(ToString::to_string).collect()),
            ..Wish::default()
        };
        let limits = Limits::default();
        let two = curve(&["a", "b"]);
        let c = two.settle(candidate(two.simulated(), &[9]), &limits);
        assert!(c.queries.is_empty() && !c.numbers.bytes_after.measured);
        assert_eq!(two.label(), "none (Z-order a, b)");
        let one = curve(&["a"]);
        assert_eq!(one.settle(candidate(one.simulated(), &[9]), &limits).queries.len(), 1, "a sort by that column");
        assert_eq!(two.request().order, two.order);
    }
}
