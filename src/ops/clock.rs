//! In-commit timestamps: times that never run backwards (protocol, "In-Commit
//! Timestamps").

use super::entry::Work;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::version;

/// The time of the newest commit, in milliseconds since the epoch, which the
/// next one has to be after; `None` where the table keeps no such times.
///
/// # Errors
/// `UnsupportedFeature` where older metadata would switch them on again, whose
/// note of the version from which they hold would be wrong; `Storage`.
pub(super) async fn last_commit(newest: &Snapshot, work: &Work) -> Result<Option<i64>> {
    const PROPERTY: &str = "delta.enableInCommitTimestamps";
    if newest.metadata().flag(PROPERTY) {
        return version::timestamp(newest, newest.version()).await.map(Some);
    }
    let configuration = work.metadata.as_ref().and_then(|m| m.get("configuration"));
    let value = configuration.and_then(|c| c.get(PROPERTY)).and_then(serde_json::Value::as_str);
    if value.is_some_and(|v| v.eq_ignore_ascii_case("true")) {
        return Err(Error::new(
            ErrorKind::UnsupportedFeature,
            format!("the older metadata switches {PROPERTY} on, which the table switched off since"),
        )
        .hint("Switch it on with the engine that made the table, then restore."));
    }
    Ok(None)
}
