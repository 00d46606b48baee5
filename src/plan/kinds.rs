//! The registry of plan kinds: one variant and one line in each match, and a
//! file of its own that says what the kind means.

use serde::{Deserialize, Serialize};

use super::algebra::Change;
use super::{merge, overwrite, restore, undo};
use crate::table::features::WriteKind;

/// What is enough, with the plan's table and version, to carry the plan out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Spec {
    Overwrite(overwrite::Overwrite),
    Merge(merge::Merge),
    Restore(restore::Restore),
    Undo(undo::Undo),
}

impl Spec {
    pub fn operation(&self) -> &'static str {
        match self {
            Spec::Overwrite(_) => "overwrite",
            Spec::Merge(_) => "merge",
            Spec::Restore(_) => "restore",
            Spec::Undo(_) => "undo",
        }
    }

    pub fn lower(&self) -> Change {
        match self {
            Spec::Overwrite(kind) => kind.lower(),
            Spec::Merge(kind) => kind.lower(),
            Spec::Restore(kind) => kind.lower(),
            Spec::Undo(kind) => kind.lower(),
        }
    }

    pub fn write_kind(&self) -> WriteKind {
        match self {
            Spec::Overwrite(_) => WriteKind::Overwrite,
            Spec::Merge(_) => WriteKind::RowLevel,
            Spec::Restore(_) => WriteKind::Restore,
            Spec::Undo(_) => WriteKind::Inverse,
        }
    }

    pub fn rows(&self) -> Option<&RowSpec> {
        match self {
            Spec::Overwrite(kind) => Some(&kind.rows),
            Spec::Merge(kind) => Some(&kind.rows),
            Spec::Restore(_) | Spec::Undo(_) => None,
        }
    }

    /// The operation and parameters under Spark's names, for the commit.
    pub fn commit_words(&self, partition_columns: &[String]) -> (&'static str, Vec<(String, String)>) {
        match self {
            Spec::Overwrite(_) => overwrite::commit_words(partition_columns),
            Spec::Merge(kind) => kind.commit_words(),
            Spec::Restore(kind) => kind.commit_words(),
            Spec::Undo(kind) => kind.commit_words(),
        }
    }
}

/// What every kind with a row rule needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSpec {
    /// Paths or a table that open the source again.
    pub source: String,
    pub key: Vec<String>,
    /// Technical columns: rows that differ only there count as unchanged for gates.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Columns that are summed.
    #[serde(default)]
    pub measures: Vec<String>,
    /// Seeds every hash of the plan, so that no data can be made to collide.
    pub hash_seed: u64,
}
