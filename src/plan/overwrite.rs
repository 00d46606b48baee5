//! Dynamic partition overwrite: every partition that occurs in the source
//! becomes exactly what was delivered for it; the others are not touched.

use serde::{Deserialize, Serialize};

use super::RowTotals;
use super::algebra::{Change, Pairing, Reach, RowRule, TargetOnly};
use super::kinds::{Class, Io, Kind, RowSpec};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overwrite {
    pub mode: Mode,
    #[serde(flatten)]
    pub rows: RowSpec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Dynamic,
}

impl Kind for Overwrite {
    fn operation(&self) -> &'static str {
        "overwrite"
    }

    fn lower(&self) -> Change {
        Change::Rows(RowRule { reach: Reach::Slice, pairing: Pairing::Multiset, target_only: TargetOnly::Delete })
    }

    fn class(&self) -> Class {
        Class::Replace
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::Overwrite
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    fn commit_words(&self, partition_columns: &[String]) -> (&'static str, Vec<(String, String)>) {
        let columns: Vec<String> = partition_columns.iter().map(|c| serde_json::json!(c).to_string()).collect();
        (
            "WRITE",
            vec![
                ("mode".into(), "Overwrite".into()),
                ("partitionBy".into(), format!("[{}]", columns.join(","))),
                ("isDynamicPartitionOverwrite".into(), "true".into()),
            ],
        )
    }

    fn metrics(&self, _: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        vec![
            ("numFiles", io.written_files),
            ("numOutputRows", io.written_rows),
            ("numOutputBytes", io.written_bytes),
            ("numRemovedFiles", io.removed_files),
            ("numRemovedBytes", io.removed_bytes),
        ]
    }
}
