//! Append: every delivered row is inserted, whatever is there already.

use serde::{Deserialize, Serialize};

use super::algebra::{Change, RowRule};
use super::kinds::{Class, Io, Kind, RowSpec};
use super::overwrite::partition_by;
use super::{KeyFacts, RowTotals};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Append {
    #[serde(flatten)]
    pub rows: RowSpec,
}

impl Kind for Append {
    fn operation(&self) -> &'static str {
        "append"
    }

    fn lower(&self) -> Change {
        Change::Rows(RowRule::append())
    }

    fn class(&self) -> Class {
        Class::Append
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::Append
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    fn repeats(&self, _: &KeyFacts) -> bool {
        true
    }

    fn commit_words(&self, partition_columns: &[String]) -> (&'static str, Vec<(String, String)>) {
        ("WRITE", vec![("mode".into(), "Append".into()), partition_by(partition_columns)])
    }

    fn metrics(&self, _: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        vec![("numFiles", io.written_files), ("numOutputRows", io.written_rows), ("numOutputBytes", io.written_bytes)]
    }
}
