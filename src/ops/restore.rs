//! The whole table as it was at an earlier version.

use super::browse::{At, OpenTable};
use super::context::Context;
use super::exchange;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::log::version;
use crate::plan::restore::Restore;
use crate::plan::{Plan, Spec};
use crate::progress::Progress;
use crate::table::DataFile;

/// Plans a RESTORE. Every file that would come back is looked for first.
///
/// # Errors
/// `NoSuchVersion`, `VersionGone`, `MissingFiles` with the list.
pub async fn prepare_restore(_context: &Context, table: &OpenTable, to: At, progress: &Progress) -> Result<Plan> {
    let newest = table.snapshot().refresh().await?;
    let table = table.at_snapshot(newest.clone());
    let target = match to {
        At::Version(version) => version,
        At::Time(time) => version::at_time(&newest, time).await?,
        At::Latest => newest.version(),
    };
    let then = newest.at(target).await?;
    if then.metadata().id != newest.metadata().id {
        return Err(Error::new(ErrorKind::Refused, format!("version {target} was another table in the same folder"))
            .hint("Its rows can be read with --version, but not restored."));
    }
    let (now_files, then_files) = (exchange::by_id(&newest).await?, exchange::by_id(&then).await?);
    let only_in =
        |a: &std::collections::BTreeMap<_, DataFile>, b: &std::collections::BTreeMap<_, DataFile>| -> Vec<DataFile> {
            a.iter().filter(|(id, _)| !b.contains_key(*id)).map(|(_, f)| f.clone()).collect()
        };
    let removed = only_in(&now_files, &then_files);
    let restored = only_in(&then_files, &now_files);
    let mut changes = exchange::metadata_changes(newest.metadata(), then.metadata());
    let metadata = !changes.is_empty();
    if newest.protocol() != then.protocol() {
        changes.push(format!(
            "the protocol stays at reader {} / writer {}: it never goes back",
            newest.protocol().min_reader,
            newest.protocol().min_writer
        ));
    }
    exchange::check_protocol(&newest, &then)?;
    exchange::check_there(&table, &restored, progress).await?;
    let spec = Spec::Restore(Restore { to: target, files: exchange::exchange(&removed, &restored), metadata });
    let mut plan = exchange::plan(
        &table,
        spec,
        &removed,
        &restored,
        if metadata { changes.clone() } else { Vec::new() },
        progress,
    )
    .await?;
    if !metadata {
        plan.findings = changes;
    }
    Ok(plan)
}
