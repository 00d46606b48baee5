//! The one committer: builds a log entry and puts it by compare-and-swap.

use deltalake::logstore::CommitOrBytes;
use serde_json::{Map, Value as Json, json};
use uuid::Uuid;

use super::log::segment::{LogListing, commit_path};
use super::log::snapshot::read_commit;
use super::store::TableStore;
use crate::calls::Op;
use crate::error::{Error, ErrorKind, Result};
use crate::table::file::DataFile;
use crate::table::value::Value;

/// A data file that was staged and is about to be added.
#[derive(Debug, Clone, PartialEq)]
pub struct StagedFile {
    /// As it goes into the log: relative, URL-encoded.
    pub path: String,
    /// (physical column name, value)
    pub partition_values: Vec<(String, Value)>,
    pub size: u64,
    /// milliseconds since the epoch
    pub modified: i64,
    pub rows: u64,
    pub stats: String,
}

/// How a put of a log entry ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Landed,
    /// Another writer has this version.
    Taken,
}

/// An `add` for a staged file.
pub fn add_staged(file: &StagedFile) -> Json {
    let values: Map<String, Json> =
        file.partition_values.iter().map(|(c, v)| (c.clone(), json!(v.to_partition_text()))).collect();
    json!({"add": {
        "path": file.path, "partitionValues": values, "size": file.size, "modificationTime": file.modified,
        "dataChange": true, "stats": file.stats,
    }})
}

/// A file of the change data feed.
pub fn change_file(file: &StagedFile) -> Json {
    let values: Map<String, Json> =
        file.partition_values.iter().map(|(c, v)| (c.clone(), json!(v.to_partition_text()))).collect();
    json!({"cdc": {"path": file.path, "partitionValues": values, "size": file.size, "dataChange": false}})
}

/// An `add` that puts a file back as it was, with its deletion vector.
pub fn add_again(file: &DataFile) -> Json {
    let mut add = Map::new();
    add.insert("path".into(), json!(file.path));
    add.insert("partitionValues".into(), Json::Object(raw_values(file)));
    add.insert("size".into(), json!(file.size));
    add.insert("modificationTime".into(), json!(file.modified));
    add.insert("dataChange".into(), json!(true));
    if let Some(dv) = &file.deletion_vector {
        add.insert("deletionVector".into(), json!(dv));
    }
    for (key, value) in file.rest.iter().flat_map(|rest| rest.iter()) {
        add.insert(key.clone(), value.clone());
    }
    json!({"add": add})
}

/// A `remove` that repeats its add's path byte for byte: replay pairs the two
/// by the raw text, so any re-encoding would bring the removed rows back.
pub fn remove(file: &DataFile, now: i64) -> Json {
    let mut remove = Map::new();
    remove.insert("path".into(), json!(file.path));
    remove.insert("deletionTimestamp".into(), json!(now));
    remove.insert("dataChange".into(), json!(true));
    remove.insert("extendedFileMetadata".into(), json!(true));
    remove.insert("partitionValues".into(), Json::Object(raw_values(file)));
    remove.insert("size".into(), json!(file.size));
    if let Some(dv) = &file.deletion_vector {
        remove.insert("deletionVector".into(), json!(dv));
    }
    if let Some(rest) = &file.rest {
        for key in ["tags", "baseRowId", "defaultRowCommitVersion"] {
            if let Some(value) = rest.get(key) {
                remove.insert(key.into(), value.clone());
            }
        }
    }
    json!({"remove": remove})
}

fn raw_values(file: &DataFile) -> Map<String, Json> {
    file.raw_partition_values.iter().map(|(c, v)| (c.clone(), json!(v))).collect()
}

/// One JSON object per line.
pub fn to_lines(actions: &[Json]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for action in actions {
        bytes.extend_from_slice(action.to_string().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// Puts a log entry if its version is still free. Whatever the store answers
/// but success, also "already exists" (stores retry), the entry is read back
/// and searched for the operation's id before anything is said.
///
/// # Errors
/// `Storage` where nothing landed, `OutcomeUnknown` where that could not be
/// found out, `Refused` where a link leads out of the table's folder.
pub async fn put(store: &TableStore, version: u64, actions: &[Json], id: Uuid) -> Result<Put> {
    super::inside::check(store, &commit_path(version))?;
    let bytes = to_lines(actions);
    let answer = match local_entry(store, version, &bytes, id) {
        Some(done) => done.map_err(|e| Box::new(e) as Box<dyn std::error::Error + Send + Sync>),
        None => {
            let bytes = CommitOrBytes::LogBytes(bytes.into());
            store.log_store().write_commit_entry(version, bytes, id).await.map_err(Into::into)
        }
    };
    match answer {
        Ok(()) => {
            sync_log(store, version)?;
            Ok(Put::Landed)
        }
        Err(cause) => match whose(store, version, id).await {
            Ok(Some(true)) => {
                sync_log(store, version)?;
                Ok(Put::Landed)
            }
            Ok(Some(false)) => Ok(Put::Taken),
            Ok(None) => Err(Error::new(
                ErrorKind::Storage,
                format!("version {version} could not be committed; the table is unchanged"),
            )
            .because(cause)),
            Err(lookup) => Err(Error::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "it is not known whether version {version} was committed: {cause}; looking for it failed too: {}",
                    lookup.full_message()
                ),
            )
            .hint(format!("Look for the operation {id} in `partwise history` once the store answers."))),
        },
    }
}

/// Whether an entry is ours: `None` where there is no entry.
///
/// # Errors
/// `Storage`, `BadCommit`.
pub async fn whose(store: &TableStore, version: u64, id: Uuid) -> Result<Option<bool>> {
    match read_commit(store, version).await {
        Ok(lines) => {
            let text = id.to_string();
            let ours = lines.iter().filter_map(|l| l.commit_info.as_ref()).any(|info| {
                info.get("partwise").and_then(|p| p.get("id")).and_then(Json::as_str) == Some(text.as_str())
            });
            Ok(Some(ours))
        }
        Err(e) if e.kind == ErrorKind::MissingFiles => Ok(None),
        Err(e) => Err(e),
    }
}

/// Searches the log for an operation, newest first, down to a version.
///
/// # Errors
/// `Storage`, `BadCommit`.
pub async fn find_operation(store: &TableStore, listing: &LogListing, id: Uuid, above: u64) -> Result<Option<u64>> {
    let newer = (std::ops::Bound::Excluded(above), std::ops::Bound::Unbounded);
    for version in listing.commits.range(newer).rev().map(|(v, _)| *v) {
        if whose(store, version, id).await? == Some(true) {
            return Ok(Some(version));
        }
    }
    Ok(None)
}

/// On a local disk the entry is whole and on the disk before its name exists:
/// a power cut can never leave a version that is empty. The link is the
/// compare-and-swap. `None` where the disk knows no links, or is not local.
fn local_entry(store: &TableStore, version: u64, bytes: &[u8], id: Uuid) -> Option<std::io::Result<()>> {
    use std::io::Write;
    let root = store.local_root()?;
    let entry = root.join(commit_path(version).as_ref());
    let draft = root.join("_delta_log").join(format!("_commit_{id}-{}.json.tmp", Uuid::new_v4().simple()));
    let calls = store.calls();
    let created = calls.around(Op::DraftCreate, &draft, || std::fs::File::create_new(&draft));
    let written = created.and_then(|mut file| {
        calls.around(Op::DraftWrite, &draft, || file.write_all(bytes))?;
        calls.around(Op::DraftSync, &draft, || file.sync_all())
    });
    let linked = written.and_then(|()| calls.around(Op::DraftLink, &entry, || std::fs::hard_link(&draft, &entry)));
    if let Err(error) = calls.around(Op::DraftRemove, &draft, || std::fs::remove_file(&draft))
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(draft = %draft.display(), %error, "the draft of a commit could not be removed");
    }
    match linked {
        Err(e) if matches!(e.kind(), std::io::ErrorKind::Unsupported | std::io::ErrorKind::PermissionDenied) => None,
        other => Some(other),
    }
}

/// Makes a local commit durable: the entry, then its folder.
fn sync_log(store: &TableStore, version: u64) -> Result<()> {
    let Some(root) = store.local_root() else { return Ok(()) };
    let entry = root.join(commit_path(version).as_ref());
    let synced = store.sync_file(&entry).and_then(|()| store.sync_folder(&root.join("_delta_log")));
    synced.map_err(|e| {
        Error::new(
            ErrorKind::OutcomeUnknown,
            format!("version {version} is in the log, but the disk would not say that it is safe"),
        )
        .because(e)
    })
}
