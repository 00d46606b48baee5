//! Files of a table's folder that an operation of ours wrote and that no
//! version can name any more, by the operation's id in their names.

use std::collections::HashSet;
use std::fs;
use std::path::{Path as FsPath, PathBuf};
use std::time::SystemTime;

use percent_encoding::percent_decode_str;
use serde_json::Value as Json;
use uuid::Uuid;

use super::log::checkpoint;
use super::log::segment::log_folder;
use super::store::TableStore;
use crate::error::{Context, Error, ErrorKind, Result};

/// A file with an operation's id in its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub operation: Uuid,
    /// Below the table's folder.
    pub path: PathBuf,
    /// bytes
    pub size: u64,
    pub modified: SystemTime,
}

/// Whose file it is by its name: `part-00000-<id>-<attempt>.…` and `cdc-…`, also
/// with the `#1` of an upload that was not completed; in the log's folder
/// `_commit_<id>-<attempt>.json.tmp`. Other writers' names look otherwise.
pub fn operation_of(name: &str, in_log: bool) -> Option<Uuid> {
    let hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    let (rest, attempt_digits, end) = if in_log {
        (name.strip_prefix("_commit_")?, 32, ".json.tmp")
    } else {
        let rest = ["part-", "cdc-"].iter().find_map(|p| name.strip_prefix(p))?;
        let (number, rest) = rest.split_once('-')?;
        if number.len() < 5 || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        (rest, 8, "")
    };
    let (id, rest) = rest.split_at_checked(36)?;
    let (attempt, rest) = rest.strip_prefix('-')?.split_at_checked(attempt_digits)?;
    let ends = if in_log { rest == end } else { rest.starts_with('.') && rest.contains(".parquet") };
    if !hex(attempt, attempt_digits) || !ends {
        return None;
    }
    Uuid::try_parse(id).ok()
}

/// All files below the table's folder that bear an operation's id. Links are
/// not followed, and a table in a folder of its own below is left alone.
///
/// # Errors
/// `Storage` for a folder that cannot be listed, `Refused` for a store that is
/// no local disk.
pub fn named_files(store: &TableStore) -> Result<Vec<Named>> {
    let root = store.local_root().ok_or_else(|| {
        Error::new(ErrorKind::Refused, format!("{} is on no local disk", store.location()))
            .hint("Left-overs are looked for on local disks only.")
    })?;
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let in_log = folder == root.join("_delta_log");
        let failed = || format!("cannot list {}", folder.display());
        for item in fs::read_dir(&folder).context(ErrorKind::Storage, failed)? {
            let item = item.context(ErrorKind::Storage, failed)?;
            // Of the link itself, not of what it points to.
            let kind = item.file_type().context(ErrorKind::Storage, failed)?;
            let path = item.path();
            if kind.is_dir() {
                if !in_log && !path.join("_delta_log").is_dir() {
                    folders.push(path);
                }
                continue;
            }
            let Some(operation) = item.file_name().to_str().and_then(|name| operation_of(name, in_log)) else {
                continue;
            };
            if !kind.is_file() {
                continue;
            }
            let facts = match item.metadata() {
                Ok(facts) => facts,
                // Its operation may have removed it in this moment.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(Error::new(ErrorKind::Storage, failed()).because(e)),
            };
            let modified = facts.modified().context(ErrorKind::Storage, failed)?;
            let path = path.strip_prefix(&root).map(FsPath::to_owned).unwrap_or(path);
            found.push(Named { operation, path, size: facts.len(), modified });
        }
    }
    found.sort_by(|a, b| (a.operation, &a.path).cmp(&(b.operation, &b.path)));
    Ok(found)
}

/// The file names that anything of the log still mentions: commits, compacted
/// commits, checkpoints and their sidecars; files that were added, removed or
/// written for the change data feed. Names, not paths: an operation's names are
/// unique, and paths are encoded in more than one way.
///
/// # Errors
/// `Storage`, `BadCommit`, `BadCheckpoint`: what cannot be read might mention
/// any file.
pub async fn mentioned(store: &TableStore) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    for meta in store.list(&log_folder()).await? {
        let name = meta.location.as_ref();
        let (json, parquet) = (name.ends_with(".json"), name.ends_with(".parquet"));
        if !json && !parquet {
            continue;
        }
        let bytes = match store.get(&meta.location).await {
            Ok(bytes) => bytes,
            // Log clean-up may be faster than we are.
            Err(error) if error.kind == ErrorKind::MissingFiles => continue,
            Err(error) => return Err(error),
        };
        let paths = if parquet { checkpoint::mentioned(name, bytes)? } else { of_lines(name, &bytes)? };
        names.extend(paths.iter().filter_map(|path| last_part(path)));
    }
    Ok(names)
}

fn of_lines(name: &str, bytes: &[u8]) -> Result<Vec<String>> {
    let bad = || format!("{name} cannot be read");
    let mut paths = Vec::new();
    for line in bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let line: Json = serde_json::from_slice(line).context(ErrorKind::BadCommit, bad)?;
        let actions = ["add", "remove", "cdc"].iter().filter_map(|action| line.get(action));
        paths.extend(actions.filter_map(|a| a.get("path")?.as_str().map(str::to_owned)));
    }
    Ok(paths)
}

fn last_part(path: &str) -> Option<String> {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    decoded.rsplit('/').next().map(str::to_owned)
}

/// Removes one of them. Its folder must still lie within the table's, by real
/// folders only.
///
/// # Errors
/// `Refused` where a link leads out of the table's folder, `Storage`.
pub fn remove(store: &TableStore, file: &Named) -> Result<()> {
    let failed = || format!("cannot remove {}", file.path.display());
    let root = store.local_root().ok_or_else(|| Error::new(ErrorKind::Refused, failed()))?;
    let root = fs::canonicalize(&root).context(ErrorKind::Storage, failed)?;
    let path = root.join(&file.path);
    let folder = path.parent().ok_or_else(|| Error::new(ErrorKind::Refused, failed()))?;
    let real = fs::canonicalize(folder).context(ErrorKind::Storage, failed)?;
    let facts = fs::symlink_metadata(&path).context(ErrorKind::Storage, failed)?;
    if real != folder || !real.starts_with(&root) || !facts.is_file() {
        return Err(Error::new(ErrorKind::Refused, format!("{}: it is reached by a link", failed()))
            .hint("Nothing outside of the table's folder is ever removed."));
    }
    store
        .calls()
        .around(crate::calls::Op::Delete, &path, || fs::remove_file(&path))
        .context(ErrorKind::Storage, failed)
        .map_err(Error::explained)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "6f2c1a54-0000-4000-8000-000000000001";

    #[test]
    fn only_names_of_ours_bear_an_operation() {
        let id = Uuid::parse_str(ID).unwrap();
        for (name, in_log, ours) in [
            (format!("part-00000-{ID}-0a1b2c3d.snappy.parquet"), false, true),
            (format!("part-123456-{ID}-0a1b2c3d.snappy.parquet#1"), false, true),
            (format!("cdc-00000-{ID}-0a1b2c3d.snappy.parquet"), false, true),
            (format!("_commit_{ID}-{}.json.tmp", "0".repeat(32)), true, true),
            (format!("_commit_{ID}-{}.json.tmp", "0".repeat(32)), false, false),
            // Spark's and delta-rs's.
            (format!("part-00000-{ID}-c000.snappy.parquet"), false, false),
            (format!("part-00000-{ID}.c000.snappy.parquet"), false, false),
            (format!("part-00000-{ID}-0a1b2c3d.snappy.parquet"), true, false),
            (format!("part-0000x-{ID}-0a1b2c3d.snappy.parquet"), false, false),
            (format!("part-00000-{ID}-0a1b2c3d.txt"), false, false),
            ("part-00000-x.parquet".into(), false, false),
            (format!("{ID}.parquet"), false, false),
        ] {
            assert_eq!(operation_of(&name, in_log), ours.then_some(id), "{name}");
        }
    }
}
