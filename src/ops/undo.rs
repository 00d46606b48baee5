//! Taking an operation back by an inverse commit.

use super::browse::OpenTable;
use super::context::Context;
use crate::error::Result;
use crate::plan::Plan;
use crate::progress::Progress;

/// Plans the inverse of an operation: the given one, else the last of
/// partwise's operations in the table's history.
///
/// # Errors
/// `NoSuchOperation`, `MissingFiles`, `Conflict` where a later commit changed
/// the files that the operation added.
pub async fn prepare_undo(
    _context: &Context,
    _table: &OpenTable,
    _operation: Option<&str>,
    _progress: &Progress,
) -> Result<Plan> {
    todo!()
}
