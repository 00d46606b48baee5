//! Which files of `_delta_log` make up a version.

use std::collections::BTreeMap;

use deltalake::logstore::object_store::ObjectMeta;
use deltalake::logstore::object_store::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::lake::store::TableStore;

/// Everything that a listing of `_delta_log` tells.
#[derive(Debug, Clone, Default)]
pub struct LogListing {
    pub commits: BTreeMap<u64, ObjectMeta>,
    /// Complete checkpoints only, by version.
    pub checkpoints: BTreeMap<u64, Checkpoint>,
}

#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// One file, or the parts of a multi-part checkpoint in order.
    pub parts: Vec<ObjectMeta>,
    /// A V2 checkpoint in JSON.
    pub json: bool,
}

/// The checkpoint and the commits after it that make up one version.
#[derive(Debug, Clone)]
pub struct LogSegment {
    pub version: u64,
    pub checkpoint: Option<(u64, Checkpoint)>,
    /// Ascending, contiguous.
    pub commits: Vec<(u64, ObjectMeta)>,
}

pub fn log_folder() -> Path {
    Path::from("_delta_log")
}

pub fn commit_path(version: u64) -> Path {
    Path::from(format!("_delta_log/{version:020}.json"))
}

enum Entry {
    Commit(u64),
    Single { version: u64, json: bool },
    Part { version: u64, part: u32, of: u32 },
}

fn classify(name: &str) -> Option<Entry> {
    let (digits, rest) = name.split_at_checked(20)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Versions are signed where Delta comes from; beyond, counting on overflows.
    let version = digits.parse().ok().filter(|v| i64::try_from(*v).is_ok())?;
    let pieces: Vec<&str> = rest.strip_prefix('.')?.split('.').collect();
    match pieces.as_slice() {
        ["json"] => Some(Entry::Commit(version)),
        ["checkpoint", "parquet"] => Some(Entry::Single { version, json: false }),
        ["checkpoint", part, of, "parquet"] => {
            Some(Entry::Part { version, part: part.parse().ok()?, of: of.parse().ok()? })
        }
        ["checkpoint", _uuid, "parquet"] => Some(Entry::Single { version, json: false }),
        ["checkpoint", _uuid, "json"] => Some(Entry::Single { version, json: true }),
        // Compacted logs only repeat what the commits say.
        _ => None,
    }
}

impl LogListing {
    /// Lists the log once.
    ///
    /// # Errors
    /// `NotATable` where there is no log, `Storage`.
    pub async fn read(store: &TableStore) -> Result<LogListing> {
        let folder = log_folder();
        let mut listing = LogListing::default();
        let mut multi: BTreeMap<(u64, u32), BTreeMap<u32, ObjectMeta>> = BTreeMap::new();
        for meta in store.list(&folder).await? {
            // Sidecars and change files live in folders of their own.
            let Some(name) = meta.location.as_ref().strip_prefix("_delta_log/").filter(|n| !n.contains('/')) else {
                continue;
            };
            match classify(name) {
                Some(Entry::Commit(version)) => {
                    listing.commits.insert(version, meta);
                }
                Some(Entry::Single { version, json }) => {
                    listing.checkpoints.insert(version, Checkpoint { parts: vec![meta], json });
                }
                Some(Entry::Part { version, part, of }) => {
                    multi.entry((version, of)).or_default().insert(part, meta);
                }
                None => {}
            }
        }
        for ((version, of), parts) in multi {
            if parts.keys().copied().eq(1..=of) {
                let whole = Checkpoint { parts: parts.into_values().collect(), json: false };
                listing.checkpoints.entry(version).or_insert(whole);
            }
        }
        if listing.commits.is_empty() && listing.checkpoints.is_empty() {
            return Err(Error::new(
                ErrorKind::NotATable,
                format!("{} is no Delta table: its _delta_log has no entries", store.location()),
            )
            .hint("Name the folder that holds _delta_log; `partwise tables FOLDER` finds tables below a folder."));
        }
        Ok(listing)
    }

    /// The newest version that the log has.
    pub fn latest(&self) -> u64 {
        let commit = self.commits.last_key_value().map(|(v, _)| *v);
        let checkpoint = self.checkpoints.last_key_value().map(|(v, _)| *v);
        commit.max(checkpoint).unwrap_or(0)
    }

    /// The oldest version that can still be put together.
    pub fn oldest_usable(&self) -> Option<u64> {
        if self.commits.contains_key(&0) {
            return Some(0);
        }
        self.checkpoints.keys().next().copied()
    }

    /// Chooses the files for a version; `skip_checkpoints` are ones that could
    /// not be read.
    ///
    /// # Errors
    /// `NoSuchVersion`, `VersionGone`, `LogGap`.
    pub fn segment(&self, version: Option<u64>, skip_checkpoints: &[u64]) -> Result<LogSegment> {
        let latest = self.latest();
        let version = version.unwrap_or(latest);
        if version > latest {
            return Err(Error::new(
                ErrorKind::NoSuchVersion,
                format!("there is no version {version}; the newest is {latest}"),
            ));
        }
        let checkpoint = self
            .checkpoints
            .range(..=version)
            .rev()
            .find(|(v, _)| !skip_checkpoints.contains(v))
            .map(|(v, c)| (*v, c.clone()));
        let first = checkpoint.as_ref().map_or(0, |(v, _)| v + 1);
        let missing: Vec<u64> = (first..=version).filter(|v| !self.commits.contains_key(v)).take(1).collect();
        if let Some(missing) = missing.first() {
            return Err(self.gap(version, *missing));
        }
        // A checkpoint of the version itself needs no commit after it.
        let tail = (first <= version).then(|| self.commits.range(first..=version));
        let commits = tail.into_iter().flatten().map(|(v, m)| (*v, m.clone())).collect();
        Ok(LogSegment { version, checkpoint, commits })
    }

    fn gap(&self, version: u64, missing: u64) -> Error {
        let oldest_commit = self.commits.keys().next().copied().unwrap_or(0);
        if missing < oldest_commit
            && let Some(oldest) = self.oldest_usable()
            && version < oldest
        {
            return Error::new(
                ErrorKind::VersionGone,
                format!("version {version} can no longer be put together; the oldest usable is {oldest}"),
            )
            .hint("Log entries are removed after delta.logRetentionDuration.");
        }
        Error::new(
            ErrorKind::LogGap,
            format!("the log has a gap: have {}, missing {missing}", ranges(self.commits.keys().copied())),
        )
        .hint("Put the missing file back into _delta_log; nothing will be written to this table.")
    }
}

/// `0–2 and 4–5`.
fn ranges(versions: impl Iterator<Item = u64>) -> String {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for v in versions {
        match spans.last_mut() {
            Some((_, end)) if *end + 1 == v => *end = v,
            _ => spans.push((v, v)),
        }
    }
    let texts: Vec<String> =
        spans.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}–{b}") }).collect();
    match texts.as_slice() {
        [] => "no commits".into(),
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => texts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(versions: &[u64]) -> LogListing {
        let meta = |v: u64| ObjectMeta {
            location: commit_path(v),
            last_modified: chrono::Utc::now(),
            size: 1,
            e_tag: None,
            version: None,
        };
        LogListing { commits: versions.iter().map(|v| (*v, meta(*v))).collect(), checkpoints: BTreeMap::new() }
    }

    #[test]
    fn a_gap_is_told_with_its_place() {
        let error = listing(&[0, 1, 2, 4, 5]).segment(None, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::LogGap);
        assert!(error.message.contains("have 0–2 and 4–5, missing 3"), "{}", error.message);
        assert_eq!(listing(&[1, 2]).segment(None, &[]).unwrap_err().kind, ErrorKind::LogGap);
        assert_eq!(listing(&[0, 1]).segment(Some(7), &[]).unwrap_err().kind, ErrorKind::NoSuchVersion);
    }

    #[test]
    fn names_are_told_apart() {
        assert!(matches!(classify("00000000000000000003.json"), Some(Entry::Commit(3))));
        assert!(matches!(
            classify("00000000000000000003.checkpoint.0000000001.0000000002.parquet"),
            Some(Entry::Part { version: 3, part: 1, of: 2 })
        ));
        assert!(classify("00000000000000000003.00000000000000000005.compacted.json").is_none());
        assert!(classify("_commit_x.json.tmp").is_none());
        assert!(classify("18446744073709551615.json").is_none());
        assert!(classify("99999999999999999999.checkpoint.parquet").is_none());
    }
}
