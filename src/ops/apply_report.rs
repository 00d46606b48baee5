//! What became of an apply, and the command that takes it back.

use serde::Serialize;

use super::browse::OpenTable;
use crate::plan::Plan;

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
    /// What went wrong beside the commit, which stands.
    pub warnings: Vec<String>,
    /// The command that takes it back.
    pub undo: Option<String>,
    pub undo_until: Option<String>,
}

impl ApplyReport {
    /// Of a plan that changes nothing: no commit is made.
    pub(super) fn no_op(plan: &Plan) -> ApplyReport {
        ApplyReport {
            plan: plan.id.clone(),
            version_before: plan.version,
            version_after: None,
            rebased_over: Vec::new(),
            rows_written: 0,
            files_added: 0,
            files_removed: 0,
            verified: true,
            mismatches: Vec::new(),
            warnings: Vec::new(),
            undo: None,
            undo_until: None,
        }
    }
}

/// What takes the plan back; nothing does where the table lets no row go.
pub(super) fn undo_of(plan: &Plan, table: &OpenTable) -> Option<String> {
    (!table.metadata().flag("delta.appendOnly")).then(|| undo_command_for(&plan.table, &plan.id))
}

pub(super) fn undo_command_for(table: &str, operation: &str) -> String {
    format!("partwise undo {} --operation {operation}", shell_word(table))
}

/// A word that a shell takes as it is.
pub(super) fn shell_word(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+=:@".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
