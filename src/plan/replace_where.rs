//! Replace where: the rows for which a predicate is true become exactly what was
//! delivered. A delivered row for which it is not true is refused.

use serde::{Deserialize, Serialize};

use super::RowTotals;
use super::algebra::{Change, Reach, RowRule};
use super::kinds::{Class, Io, Kind, RowSpec};
use super::overwrite::{overwrite_metrics, partition_by};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaceWhere {
    /// SQL over the table's columns.
    pub predicate: String,
    #[serde(flatten)]
    pub rows: RowSpec,
}

impl Kind for ReplaceWhere {
    fn operation(&self) -> &'static str {
        "replace-where"
    }

    fn title(&self) -> &'static str {
        "replace where"
    }

    fn lower(&self) -> Change {
        Change::Rows(RowRule::replace(Reach::Where(self.predicate.clone())))
    }

    fn class(&self) -> Class {
        Class::Replace
    }

    /// Rows that the predicate does not choose may share a file with those that
    /// it does.
    fn write_kind(&self) -> WriteKind {
        WriteKind::RowLevel
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    fn commit_words(&self, partition_columns: &[String]) -> (&'static str, Vec<(String, String)>) {
        let parameters = vec![
            ("mode".into(), "Overwrite".into()),
            partition_by(partition_columns),
            ("predicate".into(), self.predicate.clone()),
        ];
        ("WRITE", parameters)
    }

    fn metrics(&self, rows: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        // To Spark every row that the predicate chose is deleted, also one that
        // comes back.
        let replaced = rows.deleted + rows.updated.unwrap_or(0) + rows.unchanged;
        let mut metrics = overwrite_metrics(io);
        metrics.extend([
            ("numDeletedRows", replaced),
            ("numCopiedRows", io.copied_rows),
            ("numAddedChangeFiles", io.change_files),
        ]);
        metrics
    }
}
