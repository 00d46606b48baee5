//! Finding Delta tables below a folder.

use std::path::{Path, PathBuf};

use crate::error::{Context, Error, ErrorKind, Result};

/// Folders below this depth are not looked into.
const MAX_DEPTH: usize = 12;

/// Calls `found` for every folder that holds a `_delta_log`, in name order. A
/// table's own folders are not searched, nor are hidden ones; links to folders
/// are followed once, so a loop ends.
///
/// # Errors
/// `NotATable` where the root is no folder; folders that cannot be read are
/// passed over, as `find` does, but a root that cannot be read is an error.
pub fn walk(root: &Path, found: &mut dyn FnMut(PathBuf) -> bool) -> Result<()> {
    if !root.is_dir() {
        return Err(Error::new(ErrorKind::NotATable, format!("there is no folder {}", root.display())));
    }
    std::fs::read_dir(root).context(ErrorKind::Storage, || format!("cannot list {}", root.display()))?;
    let mut seen = std::collections::HashSet::new();
    descend(root, 0, &mut seen, found);
    Ok(())
}

fn descend(
    folder: &Path,
    depth: usize,
    seen: &mut std::collections::HashSet<PathBuf>,
    found: &mut dyn FnMut(PathBuf) -> bool,
) -> bool {
    let Ok(real) = std::fs::canonicalize(folder) else { return true };
    if !seen.insert(real) {
        return true;
    }
    if folder.join("_delta_log").is_dir() {
        return found(folder.to_owned());
    }
    if depth == MAX_DEPTH {
        return true;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return true };
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir() && !is_hidden(path)).collect();
    folders.sort();
    folders.iter().all(|path| descend(path, depth + 1, seen, found))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_none_or(|name| name.starts_with(['.', '_']))
}
