//! The small algebra that plan kinds lower to and engines implement.
//!
//! A kind is a [`Change`]: either a rule for rows (overwrite, append, MERGE; later
//! replace-where, SCD 2) or an exchange of whole files (undo, restore).
//! Engines know only this page, so a new kind needs no engine code.

use serde::{Deserialize, Serialize};

use crate::table::file::FileId;

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Rows(RowRule),
    Files(FileExchange),
}

/// What becomes of each source row and each target row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRule {
    pub reach: Reach,
    pub pairing: Pairing,
    pub target_only: TargetOnly,
}

/// Which target rows the rule can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The partitions that occur in the source.
    Slice,
    /// Every row that the key can match, in any partition.
    Key,
    /// Every row of the table.
    Table,
}

/// When a source row and a target row are the same row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Keys are compared null-safely and a key that occurs more than once is
    /// paired as a multiset: identical rows first, then within the partition.
    /// Without a key, only identical rows pair.
    Multiset,
    /// SQL's join: every target row is judged by itself; NULL matches nothing
    /// unless `null_safe`. Two source rows for one target row are refused.
    Join { null_safe: bool },
    /// No two rows are the same row: what is delivered is added.
    Never,
}

/// What becomes of a target row without a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetOnly {
    Delete,
    /// Deleted where its partition occurs in the source, else kept.
    DeleteInSlice,
    Keep,
}

/// Files that go and files that come, by identity.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileExchange {
    pub remove: Vec<FileId>,
    pub add: Vec<FileId>,
}
