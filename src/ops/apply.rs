//! Carrying a plan out: stage, one commit, verify, journal.

use std::collections::BTreeMap;

use serde::Serialize;

use super::context::Context;
use crate::error::Result;
use crate::plan::Plan;
use crate::progress::Progress;

#[derive(Debug, Clone, Default)]
pub struct ApplyOptions {
    /// gate name → reason
    pub overrides: BTreeMap<String, String>,
    /// Fail instead of rebasing over commits elsewhere.
    pub strict: bool,
}

/// The contract's `apply` object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApplyReport {
    /// The plan's id.
    pub plan: String,
    pub version_before: u64,
    /// `None` for a no-op: no commit was made.
    pub version_after: Option<u64>,
    /// Versions of other writers that the commit was put on top of.
    pub rebased_over: Vec<u64>,
    pub rows_written: u64,
    pub files_added: u64,
    pub files_removed: u64,
    pub verified: bool,
    pub mismatches: Vec<String>,
    /// The command that takes it back.
    pub undo: Option<String>,
    pub undo_until: Option<String>,
}

/// # Errors
/// `GateFailed`, `StalePlan`, `Conflict`, `SourceChanged`, `Refused`,
/// `StagedDiffers`, `OutcomeUnknown`, `Storage`. A difference found by
/// verification is no error here: `verified` is false and `mismatches` says what.
pub async fn apply(
    _context: &Context,
    _plan: &Plan,
    _options: &ApplyOptions,
    _progress: &Progress,
) -> Result<ApplyReport> {
    todo!()
}
