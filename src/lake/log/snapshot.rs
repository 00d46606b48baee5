//! A table at one version: metadata at once, files as a stream.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};

use super::action::{Add, FileParser, Line, parse_lines, parse_metadata};
use super::checkpoint;
use super::segment::{LogListing, LogSegment, commit_path};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::store::TableStore;
use crate::table::file::{DataFile, FileId};
use crate::table::{Metadata, Protocol};

/// Commits fetched ahead of the one that is parsed.
const READ_AHEAD: usize = 32;

/// Cheap to clone.
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    store: TableStore,
    listing: LogListing,
    segment: LogSegment,
    metadata: Metadata,
    protocol: Protocol,
    /// Commits that finding the metadata read anyway, newest first.
    read: Vec<(u64, Bytes)>,
}

impl Snapshot {
    /// Opens a version, or the newest. Reads the log back only as far as
    /// protocol and metadata are found.
    ///
    /// # Errors
    /// `NotATable`, `LogGap`, `NoSuchVersion`, `VersionGone`, `BadCommit`,
    /// `BadCheckpoint`, `BadMetadata`, `InvalidProtocol`, `UnsupportedReader`, …
    pub async fn open(store: &TableStore, version: Option<u64>) -> Result<Snapshot> {
        let listing = LogListing::read(store).await?;
        Self::open_listed(store, listing, version).await
    }

    /// As [`Snapshot::open`], on a listing that was read before.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub async fn open_listed(store: &TableStore, listing: LogListing, version: Option<u64>) -> Result<Snapshot> {
        // A damaged checkpoint is passed over while the commits before it are there.
        let mut damaged: Vec<u64> = Vec::new();
        let mut first_error: Option<Error> = None;
        loop {
            let segment = match listing.segment(version, &damaged) {
                Ok(segment) => segment,
                Err(error) => return Err(first_error.unwrap_or(error)),
            };
            let at = segment.checkpoint.as_ref().map(|(v, _)| *v);
            match Self::from_segment(store, &listing, segment).await {
                Err(error) if error.kind == ErrorKind::BadCheckpoint && at.is_some() => {
                    damaged.extend(at);
                    first_error.get_or_insert(error);
                }
                other => return other,
            }
        }
    }

    async fn from_segment(store: &TableStore, listing: &LogListing, segment: LogSegment) -> Result<Snapshot> {
        let (mut protocol, mut metadata) = (None, None);
        let mut read = Vec::new();
        let mut commits = stream::iter(segment.commits.iter().rev().map(|(v, _)| *v).collect::<Vec<_>>())
            .map(|v| async move { Ok::<_, Error>((v, store.get(&commit_path(v)).await?)) })
            .buffered(READ_AHEAD);
        while protocol.is_none() || metadata.is_none() {
            let Some((version, bytes)) = commits.try_next().await? else { break };
            for line in head_lines(&commit_name(version), &bytes)? {
                protocol = protocol.or(line.protocol);
                metadata = metadata.or(line.meta_data);
            }
            read.push((version, bytes));
        }
        drop(commits);
        if (protocol.is_none() || metadata.is_none())
            && let Some((_, checkpoint)) = &segment.checkpoint
        {
            for line in checkpoint::read_head(store, checkpoint).await?.lines {
                protocol = protocol.or(line.protocol);
                metadata = metadata.or(line.meta_data);
            }
        }
        let missing = |what: &str| {
            Error::new(
                ErrorKind::BadMetadata,
                format!("the log of {} has no {what} action up to version {}", store.location(), segment.version),
            )
            .hint("The log is incomplete or no Delta log.")
        };
        let protocol = protocol.ok_or_else(|| missing("protocol"))?.into_protocol();
        protocol.check_read()?;
        let metadata = parse_metadata(metadata.ok_or_else(|| missing("metaData"))?)?;
        Ok(Snapshot(Arc::new(Inner {
            store: store.clone(),
            listing: listing.clone(),
            segment,
            metadata,
            protocol,
            read,
        })))
    }

    pub fn version(&self) -> u64 {
        self.0.segment.version
    }

    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }

    pub fn protocol(&self) -> &Protocol {
        &self.0.protocol
    }

    pub fn store(&self) -> &TableStore {
        &self.0.store
    }

    pub fn listing(&self) -> &LogListing {
        &self.0.listing
    }

    /// Another version of the same table.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub async fn at(&self, version: u64) -> Result<Snapshot> {
        Self::open_listed(&self.0.store, self.0.listing.clone(), Some(version)).await
    }

    /// The newest version now.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub async fn refresh(&self) -> Result<Snapshot> {
        Self::open(&self.0.store, None).await
    }

    /// Sends the live files, newest commits first, while the log is read
    /// (protocol, "Action Reconciliation", run backwards: the first mention of
    /// a file decides).
    ///
    /// # Errors
    /// `BadCommit`, `BadCheckpoint`, `BadPartitionValue`, `Storage`, and
    /// whatever `on_batch` returns.
    pub async fn stream_files(
        &self,
        keep_rest: bool,
        on_batch: &mut (dyn FnMut(Vec<DataFile>) -> Result<()> + Send),
    ) -> Result<()> {
        let inner = &self.0;
        let parser = FileParser::new(&inner.metadata, keep_rest);
        let mut decided: HashSet<FileId> = HashSet::new();
        let newer: u64 = inner.read.len() as u64;
        let ahead = inner.segment.commits.iter().rev().skip(inner.read.len()).map(|(v, _)| *v).collect::<Vec<_>>();
        let store = &inner.store;
        let mut rest = stream::iter(ahead)
            .map(|v| async move { Ok::<_, Error>((v, store.get(&commit_path(v)).await?)) })
            .buffered(READ_AHEAD);
        for i in 0.. {
            let (version, bytes) = if i < newer {
                inner.read[i as usize].clone()
            } else {
                match rest.try_next().await? {
                    Some(next) => next,
                    None => break,
                }
            };
            let mut files = Vec::new();
            // Within one commit an add and a remove of the same file cannot
            // both be; the order of its lines does not matter.
            for line in parse_lines(&commit_name(version), &bytes)? {
                if let Some(remove) = line.remove {
                    decided.insert(remove.id());
                } else if let Some(add) = line.add
                    && decided.insert(add.id())
                {
                    files.push(parser.file(add, Some(version))?);
                }
            }
            if !files.is_empty() {
                on_batch(files)?;
            }
        }
        if let Some((_, checkpoint)) = &inner.segment.checkpoint {
            let mut forward = |adds: Vec<Add>| {
                let live = adds.into_iter().filter(|add| !decided.contains(&add.id()));
                on_batch(live.map(|add| parser.file(add, None)).collect::<Result<_>>()?)
            };
            checkpoint::read_adds(&inner.store, checkpoint, keep_rest, &mut forward).await?;
        }
        Ok(())
    }

    /// The newest version that an application committed under its id (protocol,
    /// "Transaction Identifiers"); `None` where the table knows none.
    ///
    /// # Errors
    /// `BadCommit`, `BadCheckpoint`, `Storage`.
    pub async fn transaction(&self, app_id: &str) -> Result<Option<i64>> {
        let segment = &self.0.segment;
        for (version, _) in segment.commits.iter().rev() {
            let mut found = read_commit(&self.0.store, *version).await?.into_iter().filter_map(|line| line.txn);
            if let Some(txn) = found.rfind(|txn| txn.app_id == app_id) {
                return Ok(Some(txn.version));
            }
        }
        let Some((_, checkpoint)) = &segment.checkpoint else { return Ok(None) };
        let known = checkpoint::transactions(&self.0.store, checkpoint).await?;
        Ok(known.into_iter().find(|txn| txn.app_id == app_id).map(|txn| txn.version))
    }

    /// All live files at once.
    ///
    /// # Errors
    /// As [`Snapshot::stream_files`].
    pub async fn files(&self, keep_rest: bool) -> Result<Vec<DataFile>> {
        let mut all = Vec::new();
        self.stream_files(keep_rest, &mut |files| {
            all.extend(files);
            Ok(())
        })
        .await?;
        Ok(all)
    }
}

/// # Errors
/// `BadCommit`, `Storage`, `MissingFiles`.
pub async fn read_commit(store: &TableStore, version: u64) -> Result<Vec<Line>> {
    let bytes = store.get(&commit_path(version)).await?;
    parse_lines(&commit_name(version), &bytes)
}

pub fn commit_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// Only the lines that can hold metadata or protocol, and the last one as a
/// check that the file is whole: a commit of 200,000 files opens at once.
fn head_lines(name: &str, bytes: &[u8]) -> Result<Vec<Line>> {
    let mut wanted: Vec<&[u8]> = Vec::new();
    let lines = || bytes.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty());
    for line in lines() {
        let head = &line[..line.len().min(64)];
        if [&b"metaData"[..], b"protocol"].iter().any(|w| head.windows(w.len()).any(|x| x == *w)) {
            wanted.push(line);
        }
    }
    if bytes.len() < 1 << 20 {
        return parse_lines(name, bytes);
    }
    if let Some(last) = lines().next_back() {
        parse_lines(name, last)?;
    }
    if wanted.is_empty() { Ok(Vec::new()) } else { parse_lines(name, &wanted.join(&b'\n')) }
}
