//! A second opinion: delta-rs replays the log and DataFusion reads the files,
//! with none of the code that wrote them.

use std::collections::BTreeSet;
use std::sync::Arc;

use deltalake::delta_datafusion::create_session;
use deltalake::{DeltaTable, DeltaTableBuilder};
use futures::TryStreamExt;
use percent_encoding::percent_decode_str;

use super::store::TableStore;
use crate::error::{Context, ErrorKind, Result};
use crate::table::DataFile;

/// What the other reader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    /// Differences, in words; none where both agree.
    Read(Vec<String>),
    /// The other reader does not support this table, and why.
    Unable(String),
}

/// Lets the other reader open a version, compares its live files with ours,
/// and counts the rows of some of them by really reading them.
///
/// # Errors
/// `Storage`.
pub async fn check(store: &TableStore, version: u64, ours: &[DataFile], count: &[&DataFile]) -> Result<Opinion> {
    let opened = async { DeltaTableBuilder::from_url(store.root().clone())?.with_version(version).load().await };
    let table = match opened.await {
        Ok(table) => table,
        Err(error) => return Ok(Opinion::Unable(error.to_string())),
    };
    let state = table.snapshot().context(ErrorKind::Storage, || "delta-rs could not open the new version".into())?;
    let theirs: BTreeSet<(String, bool)> = state
        .log_data()
        .iter()
        .map(|file| (file.path().into_owned(), file.deletion_vector_descriptor().is_some()))
        .collect();
    let ours: BTreeSet<(String, bool)> = ours.iter().map(|f| (decoded(&f.path), f.deletion_vector.is_some())).collect();
    let mut differences = Vec::new();
    for (path, _) in ours.difference(&theirs) {
        differences.push(format!("delta-rs does not see the live file {path}"));
    }
    for (path, _) in theirs.difference(&ours) {
        differences.push(format!("delta-rs still sees the file {path}"));
    }
    let expected: u64 = count.iter().filter_map(|f| f.live_rows()).sum();
    if differences.is_empty() && !count.is_empty() {
        match rows(&table, count).await {
            Ok(found) if found != expected => {
                differences.push(format!("delta-rs reads {found} rows in the new files, {expected} were written"));
            }
            Ok(_) => {}
            // It opened the table, so it should read what was just written.
            Err(error) => differences.push(error.full_message()),
        }
    }
    Ok(Opinion::Read(differences))
}

fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

/// Rows of some files, streamed through DataFusion; a bare `count(*)` would be
/// answered from the very statistics that are in question.
async fn rows(table: &DeltaTable, files: &[&DataFile]) -> Result<u64> {
    let reading =
        |e| crate::error::Error::new(ErrorKind::BadDataFile, "delta-rs could not read the new files").because(e);
    let paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
    let context = create_session().into_inner();
    table
        .update_datafusion_session(&context.state())
        .context(ErrorKind::Storage, || "delta-rs could not reach its files".into())?;
    let provider = table.table_provider().with_file_paths(paths).build().await.map_err(reading)?;
    let frame = context.read_table(Arc::new(provider)).map_err(reading)?;
    let mut batches = frame.execute_stream().await.map_err(reading)?;
    let mut rows = 0;
    while let Some(batch) = batches.try_next().await.map_err(reading)? {
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}
