//! Overwrite. Dynamic: every partition that occurs in the source becomes exactly
//! what was delivered for it; the others are not touched. Static: the whole
//! table becomes the source, which is never the default.

use serde::{Deserialize, Serialize};

use super::RowTotals;
use super::algebra::{Change, Reach, RowRule};
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
    Static,
}

/// The `partitionBy` parameter as Spark writes it.
pub(super) fn partition_by(columns: &[String]) -> (String, String) {
    ("partitionBy".into(), serde_json::json!(columns).to_string())
}

impl Kind for Overwrite {
    fn operation(&self) -> &'static str {
        "overwrite"
    }

    fn title(&self) -> &'static str {
        match self.mode {
            Mode::Dynamic => "overwrite",
            Mode::Static => "overwrite all",
        }
    }

    fn lower(&self) -> Change {
        let reach = match self.mode {
            Mode::Dynamic => Reach::Slice,
            Mode::Static => Reach::Table,
        };
        Change::Rows(RowRule::replace(reach))
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
        let dynamic = (self.mode == Mode::Dynamic).to_string();
        let parameters = vec![
            ("mode".into(), "Overwrite".into()),
            partition_by(partition_columns),
            ("isDynamicPartitionOverwrite".into(), dynamic),
        ];
        ("WRITE", parameters)
    }

    fn metrics(&self, _: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        overwrite_metrics(io)
    }
}

pub(super) fn overwrite_metrics(io: &Io) -> Vec<(&'static str, u64)> {
    vec![
        ("numFiles", io.written_files),
        ("numOutputRows", io.written_rows),
        ("numOutputBytes", io.written_bytes),
        ("numRemovedFiles", io.removed_files),
        ("numRemovedBytes", io.removed_bytes),
    ]
}
