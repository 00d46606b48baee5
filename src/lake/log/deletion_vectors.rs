//! Fetching deletion vectors for the files of a snapshot.

use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use roaring::RoaringTreemap;

use crate::error::Result;
use crate::lake::data::{DvPath, ReadFile, decode_deletion_vector, dv_location};
use crate::lake::store::{Located, TableStore};
use crate::table::file::{DataFile, DeletionVector};

/// Relative deletion-vector paths are plain; log paths are URL-encoded.
const PLAIN: &AsciiSet = &CONTROLS.add(b'%');

/// The text that [`TableStore::locate`] takes for a file's deletion vector.
///
/// # Errors
/// `BadDataFile` for a malformed descriptor.
pub fn vector_path(file: &DataFile) -> Result<Option<String>> {
    file.deletion_vector.as_ref().map_or(Ok(None), vector_of)
}

/// The same of a deletion vector; `None` for one that stands in the log itself.
///
/// # Errors
/// `BadDataFile` for a malformed descriptor.
pub fn vector_of(dv: &DeletionVector) -> Result<Option<String>> {
    Ok(match dv_location(dv)? {
        None => None,
        Some(DvPath::Relative(path)) => Some(utf8_percent_encode(&path, PLAIN).to_string()),
        // Absolute ones are URLs already.
        Some(DvPath::Absolute(path)) => Some(path),
    })
}

/// Makes a live file readable: where it is, its partition, its deleted rows.
///
/// # Errors
/// `BadDataFile`, `MissingFiles`, `Storage`.
pub async fn readable(store: &TableStore, file: &DataFile) -> Result<ReadFile> {
    let Located { store: objects, path } = store.locate(&file.path)?;
    let deleted = match &file.deletion_vector {
        None => None,
        Some(dv) => {
            let bytes = match vector_path(file)? {
                None => None,
                Some(raw) => {
                    let at = store.locate(&raw)?;
                    let read = async {
                        use deltalake::logstore::object_store::ObjectStoreExt;
                        at.store.get(&at.path).await?.bytes().await
                    };
                    Some(read.await.map_err(|e| crate::lake::store::read_error(&raw, e))?)
                }
            };
            let rows: RoaringTreemap = decode_deletion_vector(dv, bytes.as_deref())?;
            Some(Arc::new(rows))
        }
    };
    Ok(ReadFile { store: objects, path, size: file.size, partition: file.partition.clone(), deleted })
}
