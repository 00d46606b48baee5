//! Whether a source was committed before.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::browse::OpenTable;
use crate::error::{ErrorKind, Result};
use crate::gate::evidence::AppliedBefore;
use crate::lake::log::snapshot::read_commit;
use crate::plan::Plan;

/// Looks for a commit by which the plan's operation already brought the plan's
/// source and that was not taken back since. Only asked for operations that a
/// second run would repeat.
///
/// # Errors
/// `BadCommit`, `Storage`.
pub async fn before(table: &OpenTable, plan: &Plan) -> Result<AppliedBefore> {
    let Some(source) = plan.source.as_ref().filter(|_| plan.repeats()) else { return Ok(AppliedBefore::No) };
    let snapshot = table.snapshot();
    let versions: Vec<u64> = snapshot.listing().commits.range(..=snapshot.version()).rev().map(|(v, _)| *v).collect();
    let mut undone: HashSet<String> = HashSet::new();
    let mut oldest = snapshot.version();
    for version in versions {
        let lines = match read_commit(snapshot.store(), version).await {
            Ok(lines) => lines,
            // Log clean-up may be faster than we are.
            Err(error) if error.kind == ErrorKind::MissingFiles => break,
            Err(error) => return Err(error),
        };
        oldest = version;
        let info = lines.into_iter().find_map(|l| l.commit_info);
        let Some(own) = info.as_ref().and_then(|i| i.get("partwise")).and_then(Json::as_object) else { continue };
        let text = |own: &Map<String, Json>, key: &str| own.get(key).and_then(Json::as_str).map(str::to_owned);
        let id = text(own, "id").unwrap_or_default();
        if let Some(undoes) = text(own, "undoes").filter(|_| !undone.contains(&id)) {
            undone.insert(undoes);
        }
        let delivered = text(own, "content").is_some_and(|content| source.content.as_ref() == Some(&content));
        let same = (delivered || text(own, "source").as_deref() == Some(&source.fingerprint))
            && text(own, "operation").as_deref() == Some(&plan.operation);
        if same && !undone.contains(&id) {
            return Ok(AppliedBefore::Yes(version));
        }
    }
    Ok(if oldest == 0 { AppliedBefore::No } else { AppliedBefore::NotSince(oldest) })
}
