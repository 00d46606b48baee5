//! Another Delta table as a source.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::{Format, Source};
use crate::error::Result;
use crate::lake::data::{ReadFile, TableLayout};
use crate::lake::log::deletion_vectors::readable;
use crate::lake::{Snapshot, TableStore};

/// `path` or `path@v12`.
fn split_version(reference: &str) -> (&str, Option<u64>) {
    match reference.rsplit_once("@v") {
        Some((path, digits)) => match digits.parse() {
            Ok(version) => (path, Some(version)),
            Err(_) => (reference, None),
        },
        None => (reference, None),
    }
}

pub fn is_table(reference: &str) -> bool {
    let (path, _) = split_version(reference);
    TableStore::open(path).ok().and_then(|s| s.local_root()).is_some_and(|root| root.join("_delta_log").is_dir())
}

/// # Errors
/// Whatever is wrong with the table's log; `UnsupportedReader` where its rows
/// cannot be read.
pub async fn open(reference: &str) -> Result<Source> {
    let (path, version) = split_version(reference);
    let store = TableStore::open(path)?;
    let snapshot = Snapshot::open(&store, version).await?;
    snapshot.protocol().check_rows()?;
    let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
    let files = snapshot.files(false).await?;
    let files: Vec<ReadFile> = stream::iter(files)
        .map(|file| {
            let store = store.clone();
            async move { readable(&store, &file).await }
        })
        .buffered(16)
        .try_collect()
        .await?;
    // The version is pinned in the name: what is read later is what was planned.
    Ok(Source {
        uri: format!("{}@v{}", store.location(), snapshot.version()),
        format: Format::Delta,
        files: Arc::new(files),
        layout,
        fingerprint: format!("delta:{}:{}", snapshot.metadata().id, snapshot.version()),
    })
}
