//! Optimize: the small files of chosen partitions become few large ones.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::RowTotals;
use super::algebra::Change;
use super::kinds::{Class, Io, Kind};
use super::relayout::{Chosen, Order, Relayout, Shape};
use super::repartition::layout_metrics;
use crate::table::features::WriteKind;
use crate::table::file::FileId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Optimize {
    /// The table's partition columns, which stay.
    pub by: Vec<String>,
    /// Which partitions are looked at: a predicate over their columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// bytes
    pub target_file_size: u64,
    /// Smaller files are rewritten; bytes.
    pub min_file_size: u64,
    pub files: Vec<FileId>,
}

impl Kind for Optimize {
    fn operation(&self) -> &'static str {
        "optimize"
    }

    fn lower(&self) -> Change {
        Change::Layout(Relayout {
            files: Chosen::These(self.files.clone()),
            partition_by: self.by.clone(),
            added: Vec::new(),
            shape: Shape::TargetBytes(self.target_file_size),
            order: Order::None,
        })
    }

    fn class(&self) -> Class {
        Class::Layout
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::Layout
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        let predicate: Vec<&String> = self.filter.iter().collect();
        let parameters = vec![
            ("predicate".into(), json!(predicate).to_string()),
            ("zOrderBy".into(), "[]".into()),
            ("auto".into(), "false".into()),
            ("targetFileSize".into(), self.target_file_size.to_string()),
        ];
        ("OPTIMIZE", parameters)
    }

    fn metrics(&self, _: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        layout_metrics(io)
    }
}

/// What is known of one live file of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// bytes
    pub size: u64,
    /// Whether a deletion vector hides rows of it.
    pub has_deletes: bool,
}

/// Which files of one partition are worth rewriting: those that are too small,
/// where fewer come out of them, and those with deleted rows in them.
pub fn worth_rewriting(files: &[Candidate], target: u64, smallest: u64) -> Vec<usize> {
    let small: Vec<usize> = (0..files.len()).filter(|i| files[*i].size < smallest || files[*i].has_deletes).collect();
    let bytes: u64 = small.iter().map(|i| files[*i].size).sum();
    let after = bytes.div_ceil(target.max(1)).max(1);
    let fewer = after < small.len() as u64;
    small.into_iter().filter(|i| fewer || files[*i].has_deletes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: &[u64]) -> Vec<Candidate> {
        sizes.iter().map(|size| Candidate { size: *size, has_deletes: false }).collect()
    }

    #[test]
    fn small_files_are_rewritten_where_fewer_come_out() {
        assert_eq!(worth_rewriting(&of(&[10, 20, 90, 10]), 100, 75), [0, 1, 3]);
        assert!(worth_rewriting(&of(&[10]), 100, 75).is_empty(), "one small file stays one");
        assert!(worth_rewriting(&of(&[70, 70]), 100, 75).is_empty(), "two come out of two");
        assert!(worth_rewriting(&of(&[100, 200]), 100, 75).is_empty());
        assert!(worth_rewriting(&[], 100, 75).is_empty());
    }

    #[test]
    fn a_file_with_deleted_rows_is_rewritten_alone() {
        let mut files = of(&[300, 10]);
        files[0].has_deletes = true;
        assert_eq!(worth_rewriting(&files, 100, 75), [0]);
    }
}
