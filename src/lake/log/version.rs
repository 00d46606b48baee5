//! When a version was committed, and which version a time means.

use futures::{StreamExt, TryStreamExt, stream};

use super::snapshot::{Snapshot, read_commit};
use crate::error::{Error, ErrorKind, Result};
use crate::table::value::millis_text;

/// Milliseconds since the epoch of one version: the in-commit timestamp where
/// the table has them (protocol, "In-Commit Timestamps"), else the log entry's
/// modification time.
///
/// # Errors
/// `BadCommit`, `Storage`.
pub async fn timestamp(snapshot: &Snapshot, version: u64) -> Result<i64> {
    if snapshot.metadata().flag("delta.enableInCommitTimestamps") {
        let lines = read_commit(snapshot.store(), version).await?;
        let info = lines.into_iter().find_map(|l| l.commit_info);
        if let Some(time) = info.and_then(|i| i.get("inCommitTimestamp").and_then(|t| t.as_i64())) {
            return Ok(time);
        }
    }
    let listing = snapshot.listing();
    let meta =
        listing.commits.get(&version).or_else(|| listing.checkpoints.get(&version).and_then(|c| c.parts.first()));
    Ok(meta.map_or(0, |m| m.last_modified.timestamp_millis()))
}

/// The newest version that was committed at or before `time` (milliseconds).
///
/// # Errors
/// `NoSuchVersion` for a time before the oldest version that the log still has.
pub async fn at_time(newest: &Snapshot, time: i64) -> Result<u64> {
    let versions: Vec<u64> = newest.listing().commits.keys().copied().collect();
    let times: Vec<(u64, i64)> = stream::iter(versions)
        .map(|v| async move { Ok::<_, Error>((v, timestamp(newest, v).await?)) })
        .buffered(32)
        .try_collect()
        .await?;
    // File times can run backwards (a copied table); versions cannot.
    let mut last = i64::MIN;
    let mut found = None;
    for (version, at) in &times {
        last = (*at).max(last.saturating_add(1));
        if last <= time {
            found = Some(*version);
        }
    }
    found.ok_or_else(|| {
        let oldest = times.first().map_or_else(|| "unknown".into(), |(_, t)| millis_text(*t));
        Error::new(
            ErrorKind::NoSuchVersion,
            format!("the table has no version as old as {}; its oldest is of {oldest}", millis_text(time)),
        )
    })
}
