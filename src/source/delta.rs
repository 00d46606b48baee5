//! Another Delta table as a source.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::{Format, Source};
use crate::error::{ErrorKind, Result};
use crate::lake::data::{ReadFile, TableLayout};
use crate::lake::log::deletion_vectors::{readable, vector_path};
use crate::lake::{Snapshot, TableStore};
use crate::table::DataFile;

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
    let snapshot = snapshot(reference).await?;
    let files = snapshot.files(false).await?;
    of_files(&snapshot, files).await
}

async fn snapshot(reference: &str) -> Result<Snapshot> {
    let (path, version) = split_version(reference);
    let store = TableStore::open(path)?;
    Snapshot::open(&store, version).await
}

/// The fingerprint of what a reference names now. A version's files never
/// change, so they need not be looked at.
///
/// # Errors
/// Whatever is wrong with the table's log.
pub async fn fingerprint(reference: &str) -> Result<String> {
    Ok(fingerprint_of(&snapshot(reference).await?))
}

fn fingerprint_of(snapshot: &Snapshot) -> String {
    format!("delta:{}:{}", snapshot.metadata().id, snapshot.version())
}

/// The rows of some live files of a snapshot.
///
/// # Errors
/// `UnsupportedReader` where its rows cannot be read; `BadDataFile` for
/// deletion vectors. One that is gone matters once its file is read.
pub async fn of_files(snapshot: &Snapshot, files: Vec<DataFile>) -> Result<Source> {
    snapshot.protocol().check_rows()?;
    let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
    let store = snapshot.store();
    let files: Vec<ReadFile> = stream::iter(files)
        .map(|file| {
            let store = store.clone();
            async move {
                match readable(&store, &file).await {
                    Err(gone) if gone.kind == ErrorKind::MissingFiles => without_vector(&store, &file)?.ok_or(gone),
                    read => read,
                }
            }
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
        fingerprint: fingerprint_of(snapshot),
    })
}

/// A file whose deletion vector is gone, and which a view may never look at:
/// reading it fails with the vector's path.
fn without_vector(store: &TableStore, file: &DataFile) -> Result<Option<ReadFile>> {
    let Some(vector) = vector_path(file)? else { return Ok(None) };
    let gone = store.locate(&vector)?;
    let partition = file.partition.clone();
    Ok(Some(ReadFile { store: gone.store, path: gone.path, size: file.size, partition, deleted: None }))
}
