//! Partitions: tuples of typed values, and what the log knows about each.

use std::fmt;

use serde_json::{Map, Value as Json};

use super::file::DataFile;
use super::value::Value;

/// The values of the partition columns, in partitioning order. An
/// unpartitioned table has one partition, the empty tuple.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PartitionTuple(pub Vec<Value>);

impl PartitionTuple {
    /// `a=1/b=∅`; `(whole table)` for the empty tuple.
    pub fn label(&self, columns: &[String]) -> String {
        if self.0.is_empty() {
            return "(whole table)".into();
        }
        let parts: Vec<String> = columns.iter().zip(&self.0).map(|(c, v)| format!("{c}={v}")).collect();
        parts.join("/")
    }

    /// The contract's `values` object.
    pub fn to_json(&self, columns: &[String]) -> Map<String, Json> {
        columns.iter().zip(&self.0).map(|(c, v)| (c.clone(), v.to_json())).collect()
    }
}

impl fmt::Display for PartitionTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, value) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(" / ")?;
            }
            value.fmt(f)?;
        }
        Ok(())
    }
}

/// A number of rows that may be partly unknown. Unknown is never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCount {
    /// Rows of the files that could be counted.
    pub known: u64,
    /// Files whose rows are unknown.
    pub unknown_files: u64,
}

impl RowCount {
    pub fn exact(self) -> Option<u64> {
        (self.unknown_files == 0).then_some(self.known)
    }

    pub fn add(&mut self, rows: Option<u64>) {
        match rows {
            Some(rows) => self.known += rows,
            None => self.unknown_files += 1,
        }
    }

    pub fn merge(&mut self, other: RowCount) {
        self.known += other.known;
        self.unknown_files += other.unknown_files;
    }
}

/// `1,204`, `≥ 1,204` where some files are unknown, `?` where all are.
impl fmt::Display for RowCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = super::number::grouped(self.known);
        match (self.unknown_files, self.known) {
            (0, _) => f.pad_integral(true, "", &text),
            (_, 0) => f.pad_integral(true, "", "?"),
            _ => f.pad_integral(true, "", &format!("≥ {text}")),
        }
    }
}

/// What the log says about one partition of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionStats {
    pub values: PartitionTuple,
    pub rows: RowCount,
    pub files: u64,
    pub bytes: u64,
    /// milliseconds since the epoch: the newest file's modification time
    pub last_modified: Option<i64>,
    /// The newest commit that added a live file; `None` where the log no longer tells.
    pub last_version: Option<u64>,
    /// Rows hidden by deletion vectors.
    pub deleted_rows: u64,
    /// The log does not say the zone of a time in it (AssumedUtc).
    pub assumed_utc: bool,
}

impl PartitionStats {
    pub fn new(values: PartitionTuple) -> Self {
        Self {
            values,
            rows: RowCount::default(),
            files: 0,
            bytes: 0,
            last_modified: None,
            last_version: None,
            deleted_rows: 0,
            assumed_utc: false,
        }
    }

    pub fn add(&mut self, file: &DataFile) {
        self.rows.add(file.live_rows());
        self.files += 1;
        self.bytes += file.size;
        self.last_modified = self.last_modified.max(Some(file.modified));
        self.last_version = self.last_version.max(file.version);
        self.deleted_rows += file.deleted_rows();
        self.assumed_utc |= file.assumed_utc();
    }
}

/// Adds files to their partitions; the result is sorted by typed value.
#[derive(Debug, Default)]
pub struct PartitionGrouper {
    index: std::collections::HashMap<PartitionTuple, usize>,
    rows: Vec<PartitionStats>,
}

impl PartitionGrouper {
    pub fn add(&mut self, file: &DataFile) {
        let at = match self.index.get(&file.partition) {
            Some(at) => *at,
            None => {
                self.index.insert(file.partition.clone(), self.rows.len());
                self.rows.push(PartitionStats::new(file.partition.clone()));
                self.rows.len() - 1
            }
        };
        self.rows[at].add(file);
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The partitions so far, sorted, while more files may still come.
    pub fn snapshot(&self) -> Vec<PartitionStats> {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| a.values.cmp(&b.values));
        rows
    }

    pub fn finish(mut self) -> Vec<PartitionStats> {
        self.rows.sort_by(|a, b| a.values.cmp(&b.values));
        self.rows
    }
}

/// Dates without a partition between the first and the last one of a table
/// that is partitioned by one date column; empty for any other table.
pub fn date_gaps(partitions: &[PartitionStats]) -> Vec<Value> {
    /// A stray year 9999 must not list three million gaps.
    const MOST: usize = 1000;
    let days: std::collections::BTreeSet<i32> = partitions
        .iter()
        .filter_map(|p| match p.values.0.as_slice() {
            [Value::Date(day)] => Some(*day),
            _ => None,
        })
        .collect();
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return Vec::new() };
    (*first..=*last).filter(|day| !days.contains(day)).take(MOST).map(Value::Date).collect()
}
