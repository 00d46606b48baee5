//! The small algebra that plan kinds lower to and engines implement.
//!
//! A kind is a [`Change`]: a rule for rows (overwrite, replace-where, append,
//! MERGE, SCD 2), an exchange of whole files (undo, restore), another layout of
//! the same rows (repartition, optimize), or files that leave the folder (vacuum).
//! Engines know only this page, so a new kind needs no engine code.

use serde::{Deserialize, Serialize};

use super::clauses::{Clauses, MatchedAction, On};
use super::relayout::Relayout;
use super::vacuum::VacuumFile;
use crate::table::file::FileId;

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Rows(RowRule),
    Files(FileExchange),
    Layout(Relayout),
    /// Files that no retained version needs leave the folder; the table stays.
    Vacuum(Vec<VacuumFile>),
}

/// What becomes of each source row and each target row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRule {
    pub reach: Reach,
    pub pairing: Pairing,
    pub clauses: Clauses,
}

/// Which target rows the rule can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The partitions that occur in the source.
    Slice,
    /// Rows for which the predicate is true.
    Where(String),
    /// Every row that the key can match, in any partition.
    Key,
    /// Every row of the table.
    Table,
}

/// When a source row and a target row are the same row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairing {
    /// The reachable rows become the source's. Keys are compared null-safely and
    /// a key that occurs more than once is paired as a multiset: identical rows
    /// first, then within the partition. Without a key, only identical rows pair.
    Multiset,
    /// SQL's join: every target row is judged by itself; NULL matches nothing
    /// unless the pair is null-safe. Two source rows for one target row are
    /// refused unless the clauses allow it.
    Join(On),
    /// No two rows are the same row: what is delivered is added.
    Never,
}

impl RowRule {
    /// Everything within reach becomes what was delivered.
    pub fn replace(reach: Reach) -> RowRule {
        RowRule { reach, pairing: Pairing::Multiset, clauses: Clauses::replace(false) }
    }

    pub fn append() -> RowRule {
        RowRule { reach: Reach::Slice, pairing: Pairing::Never, clauses: Clauses::insert_only() }
    }

    /// Whether no row within reach stays where it is.
    pub fn replaces(&self) -> bool {
        self.pairing == Pairing::Multiset
    }

    /// Whether whole delivered rows are written somewhere, so that the source
    /// must have every column of the table.
    pub fn writes_whole_rows(&self) -> bool {
        let clauses = &self.clauses;
        clauses.not_matched.iter().any(|clause| clause.values.is_all())
            || clauses.matched.iter().any(|clause| match &clause.action {
                MatchedAction::Update(values) => values.is_all(),
                MatchedAction::Close { insert, .. } => insert.is_all(),
                MatchedAction::Delete => false,
            })
    }

    /// The search for rows by key reaches into every partition.
    pub fn by_key(&self) -> bool {
        self.reach == Reach::Key
    }
}

/// Files that go and files that come, by identity.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileExchange {
    pub remove: Vec<FileId>,
    pub add: Vec<FileId>,
}
