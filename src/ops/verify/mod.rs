//! After the commit: is the table what was planned?

mod measures;

use std::collections::BTreeSet;

use super::relayout;
use crate::engine::Staged;
use crate::engine::local::verify::{measured, read_back};
use crate::error::Result;
use crate::lake::Snapshot;
use crate::lake::independent::{self, Opinion};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::table::DataFile;
use crate::table::file::FileId;

/// Reads the new data files back (rows and checksums per partition and per
/// column; measures against those of the files that went), compares the file
/// list of the rest, and asks delta-rs and DataFusion for a second opinion.
/// Gives differences in words.
///
/// # Errors
/// Whatever keeps the new version from being read.
pub async fn verify(
    plan: &Plan,
    after: &Snapshot,
    removed: &[DataFile],
    restored: &[DataFile],
    staged: &Staged,
    progress: &Progress,
) -> Result<Vec<String>> {
    let before = after.at(after.version() - 1).await?;
    let old: BTreeSet<FileId> = before.files(false).await?.iter().map(DataFile::id).collect();
    let live = after.files(false).await?;
    let new: BTreeSet<FileId> = live.iter().map(DataFile::id).collect();
    let staged_ids = staged.files.iter().map(|f| FileId { path: f.path.clone(), deletion_vector: None });
    let gone: BTreeSet<FileId> = removed.iter().map(DataFile::id).collect();
    let mut expected: BTreeSet<FileId> = old.difference(&gone).cloned().collect();
    expected.extend(staged_ids.clone());
    expected.extend(restored.iter().map(DataFile::id));

    let mut found = Vec::new();
    for id in expected.difference(&new) {
        found.push(format!("the file {} should be live and is not", id.path));
    }
    for id in new.difference(&expected) {
        found.push(format!("the file {} is live and should not be", id.path));
    }
    let fresh: BTreeSet<FileId> = staged_ids.collect();
    let fresh: Vec<&DataFile> = live.iter().filter(|f| fresh.contains(&f.id())).collect();
    if let Some(rows) = plan.spec.rows() {
        let names: Vec<String> = after.metadata().schema.names().map(str::to_owned).collect();
        let back = read_back(after, &fresh, rows.hash_seed, progress).await?;
        found.extend(back.differences(staged, &plan.partition_columns, &names));
        if !rows.measures.is_empty() {
            let gone: Vec<&DataFile> = removed.iter().collect();
            let gone = measured(&before, &gone, &rows.measures).await?;
            let come = measured(after, &fresh, &rows.measures).await?;
            found.extend(measures::differences(plan, after.metadata(), &gone, &come)?);
        }
    }
    for file in restored {
        if !after.store().exists(&file.path).await? {
            found.push(format!("the file {} came back into the log, but it is gone", file.path));
        }
    }
    found.extend(relayout::unlike(plan, before.metadata(), after.metadata()));
    let fresh = relayout::second_look(plan, fresh);
    match independent::check(after.store(), after.version(), &live, &fresh).await? {
        Opinion::Read(differences) => found.extend(differences),
        Opinion::Unable(why) => tracing::info!(%why, "delta-rs cannot give a second opinion on this table"),
    }
    Ok(found)
}
