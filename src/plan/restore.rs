//! RESTORE: the whole table as it was at an earlier version, by the log alone.

use serde::{Deserialize, Serialize};

use super::RowTotals;
use super::algebra::{Change, FileExchange};
use super::kinds::{Class, Io, Kind};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub to: u64,
    pub files: FileExchange,
    /// Whether the version's metaData is put back too.
    pub metadata: bool,
}

impl Kind for Restore {
    fn operation(&self) -> &'static str {
        "restore"
    }

    fn lower(&self) -> Change {
        Change::Files(self.files.clone())
    }

    fn class(&self) -> Class {
        Class::Inverse
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::Restore
    }

    fn brings_back(&self) -> Option<(u64, bool)> {
        Some((self.to, self.metadata))
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        ("RESTORE", vec![("version".into(), self.to.to_string()), ("timestamp".into(), String::new())])
    }

    fn metrics(&self, _: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        vec![
            ("numRestoredFiles", io.restored_files),
            ("numRemovedFiles", io.removed_files),
            ("restoredFilesSize", io.restored_bytes),
            ("removedFilesSize", io.removed_bytes),
        ]
    }
}
