//! Staged files that never come into the log: their removal, and what stays.

use deltalake::logstore::object_store::path::Path;
use deltalake::logstore::object_store::{Error as StoreError, ObjectStoreExt};

use crate::engine::Staged;
use crate::error::Error;
use crate::lake::TableStore;

/// Removes everything that was staged. Gives how many files stay.
pub async fn discard_staged(store: &TableStore, staged: &Staged) -> usize {
    let files = staged.files.iter().chain(&staged.changes);
    let paths: Vec<Path> = files.filter_map(|f| Some(store.locate(&f.path).ok()?.path)).collect();
    remove_staged(store, &paths).await
}

/// Removes staged files that never came into the log, and the folders that are
/// empty then; best effort: what stays is harmless and carries the operation's
/// id. Gives how many files stay.
pub async fn remove_staged(store: &TableStore, paths: &[Path]) -> usize {
    let mut left = 0;
    for path in paths {
        match store.objects().delete(path).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => {}
            Err(error) => {
                left += 1;
                tracing::warn!(%path, %error, "a staged file could not be removed");
            }
        }
    }
    remove_empty_folders(store, paths);
    left
}

/// Folders of partitions that no file is in any more. Only a local table has folders.
fn remove_empty_folders(store: &TableStore, paths: &[Path]) {
    let Some(root) = store.local_root() else { return };
    for path in paths {
        let file = root.join(path.as_ref());
        // A folder that is not empty stays: `remove_dir` refuses it.
        let inside = file.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(&root));
        inside.map_while(|folder| std::fs::remove_dir(folder).ok()).for_each(drop);
    }
}

/// The error of a write, with what it had to leave behind.
pub fn left_behind(mut error: Error, left: usize) -> Error {
    if left > 0 {
        let (files, them) = if left == 1 { ("file", "it") } else { ("files", "them") };
        error.message.push_str(&format!("; {left} staged {files} could not be removed"));
        let hint = format!("`partwise clean TABLE --remove` removes {them} later.");
        error.hint = Some(error.hint.map_or(hint.clone(), |said| format!("{said} {hint}")));
    }
    error
}
