//! Undo: the inverse of one operation. It removes exactly the files that the
//! operation added and adds those that it removed; later commits elsewhere
//! stay. Where later commits rewrote those files, it takes back by rows what
//! the operation did to rows.

use serde::{Deserialize, Serialize};

use super::RowTotals;
use super::algebra::{Change, FileExchange, Pairing, Reach, RowRule};
use super::clauses::{Clauses, On};
use super::kinds::{Class, Io, Kind, RowSpec};
use super::layouts::breakers::Breaker;
use super::merge::{merge_metrics, merge_words};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    /// The id of the operation that is taken back.
    pub undoes: String,
    /// The version that it committed.
    pub undoes_version: u64,
    pub files: FileExchange,
    /// Whether the metaData from before the operation is put back too.
    pub metadata: bool,
    /// The operation moved rows between files only, and so does its inverse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_rows: bool,
    /// Whether other partition columns come back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switches: bool,
    /// What of the table's history would break on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<Breaker>,
}

impl Kind for Undo {
    fn operation(&self) -> &'static str {
        "undo"
    }

    fn lower(&self) -> Change {
        Change::Files(self.files.clone())
    }

    fn class(&self) -> Class {
        Class::Inverse
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::Inverse
    }

    fn brings_back(&self) -> Option<(u64, bool)> {
        Some((self.undoes_version.saturating_sub(1), self.metadata))
    }

    fn undoes(&self) -> Option<&str> {
        Some(&self.undoes)
    }

    fn keeps_rows(&self) -> bool {
        self.same_rows
    }

    fn breakers(&self) -> Option<&[Breaker]> {
        self.switches.then_some(&self.breakers)
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        // Spark has no word for it; RESTORE is what its history readers know
        // for "files come back", and our own object says which operation.
        let version = self.undoes_version.saturating_sub(1).to_string();
        ("RESTORE", vec![("version".into(), version), ("undoes".into(), self.undoes.clone())])
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

/// What an operation did to rows, the other way round. The source holds the
/// rows that come back and those that go, with a column that says which; rows
/// that later commits changed again are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoRows {
    /// The id of the operation that is taken back.
    pub undoes: String,
    /// The version that it committed.
    pub undoes_version: u64,
    #[serde(flatten)]
    pub rows: RowSpec,
}

impl UndoRows {
    fn on(&self) -> On {
        On::columns(&self.rows.key, true)
    }
}

impl Kind for UndoRows {
    fn operation(&self) -> &'static str {
        "undo"
    }

    fn title(&self) -> &'static str {
        "undo by rows"
    }

    fn lower(&self) -> Change {
        let pairing = Pairing::Join(self.on());
        Change::Rows(RowRule { reach: Reach::Key, pairing, clauses: Clauses::upsert() })
    }

    fn class(&self) -> Class {
        Class::Inverse
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::RowLevel
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    fn undoes(&self) -> Option<&str> {
        Some(&self.undoes)
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        ("MERGE", merge_words(&self.on(), &Clauses::upsert()))
    }

    fn metrics(&self, rows: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        merge_metrics(&Clauses::upsert(), rows, io)
    }
}
