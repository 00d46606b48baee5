//! The whole table as it was at an earlier version.

use super::browse::{At, OpenTable};
use super::context::Context;
use crate::error::Result;
use crate::plan::Plan;
use crate::progress::Progress;

/// Plans a RESTORE. Every file that would come back is looked for first.
///
/// # Errors
/// `NoSuchVersion`, `VersionGone`, `MissingFiles` with the list.
pub async fn prepare_restore(_context: &Context, _table: &OpenTable, _to: At, _progress: &Progress) -> Result<Plan> {
    todo!()
}
