//! What was done, written ahead: one file per operation in the state folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The operation's (plan's) id.
    pub id: String,
    pub operation: String,
    pub table: String,
    pub table_id: String,
    pub user: String,
    /// RFC 3339, UTC
    pub started_at: String,
    pub finished_at: Option<String>,
    pub version_before: u64,
    pub version_after: Option<u64>,
    pub slice: Option<String>,
    pub rows_written: Option<u64>,
    /// gate name → reason
    pub overrides: std::collections::BTreeMap<String, String>,
    pub outcome: Outcome,
    pub message: Option<String>,
    /// The command that takes it back.
    pub undo: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Staging; nothing is in the table.
    Intent,
    /// The commit was sent; a crash here is resolved by the table's history.
    Committing,
    Committed,
    /// Committed, but verification found a difference.
    Mismatch,
    Failed,
    Unknown,
}

pub struct Journal {
    dir: PathBuf,
}

impl Journal {
    pub fn new(state_dir: &Path) -> Self {
        Self { dir: state_dir.join("journal") }
    }

    /// # Errors
    /// `Storage`.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        todo!()
    }
}
