//! Restore: the table, or chosen partitions of it, as they were at an earlier
//! version. By the log alone where the old files can be named again, else by
//! their rows.

use serde::{Deserialize, Serialize};

use super::RowTotals;
use super::algebra::{Change, FileExchange, Reach, RowRule};
use super::kinds::{Class, Io, Kind, RowSpec};
use super::layouts::breakers::Breaker;
use super::overwrite::overwrite_metrics;
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Restore {
    pub to: u64,
    pub files: FileExchange,
    /// Whether the version's metaData is put back too.
    pub metadata: bool,
    /// SQL over the partition columns: only these partitions. `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<String>,
    /// Today's metadata stays, whatever the version had.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub data_only: bool,
    /// Files of the version that are gone and do not come back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_lost: u64,
    /// Whether the version has other partition columns, which come back too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switches: bool,
    /// What of the table's history would break on the version's columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<Breaker>,
}

impl Restore {
    /// Whether it does what RESTORE of other engines does: all files and the
    /// metadata of the version.
    pub fn is_whole(&self) -> bool {
        self.partitions.is_none() && !self.data_only && self.files_lost == 0
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The parameters of Spark's RESTORE, and which partitions where not all.
fn words(to: u64, partitions: Option<&String>) -> Vec<(String, String)> {
    let mut words = vec![("version".into(), to.to_string()), ("timestamp".into(), String::new())];
    words.extend(partitions.map(|text| ("predicate".to_owned(), text.clone())));
    words
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

    fn breakers(&self) -> Option<&[Breaker]> {
        self.switches.then_some(&self.breakers)
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        ("RESTORE", words(self.to, self.partitions.as_ref()))
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

/// The rows of an earlier version, written again under today's metadata. The
/// source is the table itself at that version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreRows {
    pub to: u64,
    /// SQL over the table's columns: only these rows. `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<String>,
    #[serde(flatten)]
    pub rows: RowSpec,
}

impl Kind for RestoreRows {
    fn operation(&self) -> &'static str {
        "restore"
    }

    fn title(&self) -> &'static str {
        "restore by rows"
    }

    fn lower(&self) -> Change {
        let reach = self.predicate.clone().map_or(Reach::Table, Reach::Where);
        Change::Rows(RowRule::replace(reach))
    }

    fn class(&self) -> Class {
        Class::Inverse
    }

    fn write_kind(&self) -> WriteKind {
        if self.predicate.is_some() { WriteKind::RowLevel } else { WriteKind::Overwrite }
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        ("RESTORE", words(self.to, self.predicate.as_ref()))
    }

    fn metrics(&self, _: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        overwrite_metrics(io)
    }
}
