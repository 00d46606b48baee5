//! A plan is carried out once, however often it is tried.

use uuid::Uuid;

use super::apply_report::undo_command_for;
use super::entry::application;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::commit;
use crate::plan::Plan;

/// Looks for the plan's own commit in the log, and for its application
/// transaction where commits since the plan were cleaned away.
///
/// # Errors
/// `StalePlan` where the plan was carried out; whatever reading the log gives.
pub async fn check_not_committed(newest: &Snapshot, id: Uuid, plan: &Plan) -> Result<()> {
    let done = |what: String| {
        let undo = undo_command_for(&plan.table, &plan.id);
        Err(Error::new(ErrorKind::StalePlan, format!("this plan was already carried out: {what}"))
            .hint(format!("Nothing was done. Make a new plan, or take it back: {undo}")))
    };
    if let Some(version) = commit::find_operation(newest.store(), newest.listing(), id, plan.version).await? {
        return done(format!("version {version} is its commit"));
    }
    let gone = (plan.version.saturating_add(1)..=newest.version()).any(|v| !newest.listing().commits.contains_key(&v));
    if gone && newest.transaction(&application(&plan.id)).await?.is_some() {
        return done("the table's checkpoint knows its transaction; the commit is no longer in the log".into());
    }
    Ok(())
}
