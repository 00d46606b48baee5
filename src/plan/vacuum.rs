//! VACUUM: files that no retained version needs are removed from the table's
//! folder. It changes no row and cannot be taken back.

use serde::{Deserialize, Serialize};

use super::RowTotals;
use super::algebra::Change;
use super::kinds::{Class, Io, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Vacuum {
    /// How long removed files are kept, in milliseconds.
    pub retain_ms: i64,
    /// Whether somebody asked for it, or it is the table's own retention.
    pub retain_given: bool,
    /// milliseconds since the epoch: what was needed then or later stays.
    pub cutoff_ms: i64,
    /// Versions that stay whole although they are older.
    #[serde(default)]
    pub protect: Vec<u64>,
    /// What would go.
    pub files: Vec<VacuumFile>,
    /// Versions that can be restored now, and cannot afterwards.
    #[serde(default)]
    pub lost_versions: Vec<u64>,
    /// Operations that can be taken back now, and cannot afterwards.
    #[serde(default)]
    pub lost_undos: Vec<LostUndo>,
}

/// A file below the table's folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VacuumFile {
    /// Relative, as the folder has it: not URL-encoded.
    pub path: String,
    pub size: u64,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Removed by a commit, longer ago than the retention.
    Removed,
    /// The log does not know it: a left-over of a write that failed.
    Unknown,
    /// A file of the change data feed.
    ChangeData,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostUndo {
    pub operation: String,
    pub version: u64,
}

impl Vacuum {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size).sum()
    }

    pub fn count(&self, why: Why) -> u64 {
        self.files.iter().filter(|f| f.why == why).count() as u64
    }
}

impl Vacuum {
    /// Whole hours that other engines keep removed files for; never less than planned.
    ///
    /// # Errors
    /// `Refused` where versions are protected, which no other engine can do.
    pub fn hours(&self) -> Result<i64> {
        const HOUR_MS: i64 = 3_600_000;
        if self.protect.is_empty() {
            return Ok(self.retain_ms.saturating_add(HOUR_MS - 1) / HOUR_MS);
        }
        Err(Error::new(ErrorKind::Refused, "the plan protects versions, and another engine's VACUUM protects none")
            .hint("Apply it with partwise, or plan it without --protect."))
    }
}

impl Kind for Vacuum {
    fn operation(&self) -> &'static str {
        "vacuum"
    }

    fn lower(&self) -> Change {
        Change::Vacuum(self.files.clone())
    }

    fn class(&self) -> Class {
        // No gate judges it: what it takes away is listed, and what follows too.
        Class::Inverse
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::Vacuum
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        let mut parameters = vec![("retentionCheckEnabled".to_owned(), "true".to_owned())];
        if self.retain_given {
            parameters.push(("specifiedRetentionMillis".into(), self.retain_ms.to_string()));
        }
        ("VACUUM START", parameters)
    }

    fn metrics(&self, _: &RowTotals, _: &Io) -> Vec<(&'static str, u64)> {
        vec![("numFilesToDelete", self.files.len() as u64), ("sizeOfDataToDelete", self.bytes())]
    }
}

/// `3`, `3–7`, `3–7 and 9`: versions in words.
pub fn version_ranges(versions: &[u64]) -> String {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for v in versions {
        match spans.last_mut() {
            Some((_, end)) if *end + 1 == *v => *end = *v,
            _ => spans.push((*v, *v)),
        }
    }
    let texts: Vec<String> =
        spans.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}–{b}") }).collect();
    match texts.as_slice() {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => texts.concat(),
    }
}
