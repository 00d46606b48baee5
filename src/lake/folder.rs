//! What lies in a table's folder, whether the log knows it or not.

use std::collections::BTreeMap;
use std::path::Path as FsPath;

use deltalake::logstore::object_store::path::Path;
use deltalake::logstore::object_store::{Error as StoreError, ObjectStoreExt};

use super::store::TableStore;
use crate::error::{Context, Error, ErrorKind, Result};

/// A file below a table's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFile {
    pub size: u64,
    /// milliseconds since the epoch
    pub modified: i64,
    /// Which file it is, whatever its names; `None` where the platform does not tell.
    pub identity: Option<(u64, u64)>,
}

/// Files by their path below the folder, not URL-encoded.
pub type FolderFiles = BTreeMap<String, FolderFile>;

/// Whether readers and VACUUM pass over a folder or file of this name: it
/// begins with `.` or `_`, and is neither a partition's folder nor the change data.
pub fn is_hidden(name: &str, partition_columns: &[String]) -> bool {
    if !name.starts_with(['.', '_']) || name == "_change_data" {
        return false;
    }
    !partition_columns.iter().any(|c| name.strip_prefix(c.as_str()).is_some_and(|rest| rest.starts_with('=')))
}

/// Every file of the folder that is not hidden. Links are not followed, nor are
/// they listed. `partition_columns`: as folders call them.
///
/// # Errors
/// `Storage`.
pub async fn list(store: &TableStore, partition_columns: &[String]) -> Result<FolderFiles> {
    let failed = || format!("cannot list {}", store.location());
    if let Some(root) = store.local_root() {
        let columns = partition_columns.to_vec();
        let walked = tokio::task::spawn_blocking(move || {
            let mut found = FolderFiles::new();
            walk(&root, "", &columns, &mut found).map(|()| found)
        });
        return walked.await.context(ErrorKind::Internal, failed)?.context(ErrorKind::Storage, failed);
    }
    let all = store.list(&Path::default()).await?;
    let visible =
        all.into_iter().filter(|meta| meta.location.parts().all(|part| !is_hidden(part.as_ref(), partition_columns)));
    Ok(visible
        .map(|meta| {
            let modified = meta.last_modified.timestamp_millis();
            (meta.location.to_string(), FolderFile { size: meta.size, modified, identity: None })
        })
        .collect())
}

fn walk(folder: &FsPath, prefix: &str, columns: &[String], found: &mut FolderFiles) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // Another process may take a folder away meanwhile.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !prefix.is_empty() => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        // A name that is no text is not one of ours, nor of any writer's.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_hidden(&name, columns) {
            continue;
        }
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        // The entry itself, not what a link leads to.
        let meta = match std::fs::symlink_metadata(entry.path()) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if meta.is_dir() {
            walk(&entry.path(), &path, columns, found)?;
        } else if meta.is_file() {
            found.insert(path, describe(&meta));
        }
    }
    Ok(())
}

fn describe(meta: &std::fs::Metadata) -> FolderFile {
    // A file without a time is as young as can be.
    let modified = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = modified.and_then(|d| i64::try_from(d.as_millis()).ok()).unwrap_or(i64::MAX);
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt;
        Some((meta.dev(), meta.ino()))
    };
    #[cfg(not(unix))]
    let identity = None;
    FolderFile { size: meta.len(), modified, identity }
}

/// What a path below the folder names on a local disk, links followed; `None`
/// where there is nothing or the store is no disk.
pub fn find(store: &TableStore, path: &str) -> Option<FolderFile> {
    std::fs::metadata(store.local_root()?.join(path)).ok().map(|meta| describe(&meta))
}

/// Removes one file. A file that is gone already is removed.
///
/// # Errors
/// `Storage`; `Refused` where a folder on the way has become a link.
pub async fn remove(store: &TableStore, path: &str) -> Result<()> {
    let failed = || format!("cannot remove {path}");
    let Some(root) = store.local_root() else {
        let place = Path::parse(path).context(ErrorKind::Internal, failed)?;
        return match store.objects().delete(&place).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::new(ErrorKind::Storage, failed()).because(error)),
        };
    };
    let (path, said) = (path.to_owned(), failed());
    let removed = tokio::task::spawn_blocking(move || {
        let full = root.join(&path);
        for folder in full.ancestors().skip(1).take_while(|f| *f != root) {
            if std::fs::symlink_metadata(folder).is_ok_and(|meta| meta.file_type().is_symlink()) {
                return Err(Error::new(ErrorKind::Refused, format!("{} has become a link", folder.display()))
                    .hint("Nothing beyond it was removed."));
            }
        }
        match std::fs::remove_file(&full) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).context(ErrorKind::Storage, || said),
        }
    });
    removed.await.context(ErrorKind::Internal, failed)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_are_those_of_spark() {
        let columns = ["_part".to_owned(), "d".to_owned()];
        for (name, hidden) in [
            ("_delta_log", true),
            ("_committed_1", true),
            (".part-0.crc", true),
            ("_delta_index", true),
            ("_change_data", false),
            ("_part=1", false),
            ("_partial=1", true),
            ("d=1", false),
            ("part-0.parquet", false),
        ] {
            assert_eq!(is_hidden(name, &columns), hidden, "{name}");
        }
    }
}
