//! Rows in buckets, in memory up to a limit and on disk beyond it.
//!
//! Rows are dealt by the first bits of their key's hash, so everything that is
//! said about one key is said within one bucket (the partitioning step of a
//! GRACE hash join: Kitsuregawa, Tanaka, Moto-oka 1983). A bucket is what is
//! loaded at a time, whatever the number of rows.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::measure::MeasureRows;
use super::rows::Rows;
use crate::error::{Context, Error, ErrorKind, Result};

pub const BUCKETS: usize = 256;
/// Rows of one bucket that a reader gathers before it hands them over.
const CHUNK_ROWS: usize = 1024;

pub fn bucket_of(hash: u128) -> usize {
    (hash >> 120) as usize
}

/// Where rows go that do not fit into memory.
#[derive(Debug, Clone)]
pub struct Spilling {
    pub folder: PathBuf,
    /// Bytes that may stay in memory.
    pub limit: usize,
}

/// The rows of one side.
#[derive(Debug)]
pub struct RowStore {
    spilling: Spilling,
    /// Which measures the rows have.
    shape: Vec<MeasureRows>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    memory: Vec<Vec<Rows>>,
    bytes: usize,
    disk: Option<SpillFile>,
    /// Per bucket: (offset, length) in the file.
    segments: Vec<Vec<(u64, usize)>>,
}

impl RowStore {
    pub fn new(spilling: Spilling, shape: Vec<MeasureRows>) -> RowStore {
        let inner =
            Inner { memory: vec![Vec::new(); BUCKETS], segments: vec![Vec::new(); BUCKETS], ..Inner::default() };
        RowStore { spilling, shape, inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Bytes that are kept in memory now.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// # Errors
    /// `Storage` where the temporary file cannot be written.
    fn push(&self, bucket: usize, rows: Rows) -> Result<()> {
        let mut inner = self.lock();
        inner.bytes += rows.bytes();
        inner.memory[bucket].push(rows);
        if inner.bytes > self.spilling.limit { self.spill(&mut inner) } else { Ok(()) }
    }

    /// Writes everything that is in memory, bucket by bucket.
    fn spill(&self, inner: &mut Inner) -> Result<()> {
        let mut file = match inner.disk.take() {
            Some(file) => file,
            None => SpillFile::new(&self.spilling.folder)?,
        };
        for bucket in 0..BUCKETS {
            let parts = std::mem::take(&mut inner.memory[bucket]);
            if parts.is_empty() {
                continue;
            }
            let bytes = Rows::joined(&parts).encode();
            drop(parts);
            inner.segments[bucket].push((file.append(&bytes)?, bytes.len()));
        }
        inner.bytes = 0;
        inner.disk = Some(file);
        Ok(())
    }

    /// Joins what is in memory, so that buckets can be borrowed.
    pub fn seal(&self) {
        let mut inner = self.lock();
        for parts in &mut inner.memory {
            if parts.len() > 1 {
                *parts = vec![Rows::joined(parts)];
            }
        }
        inner.bytes = inner.memory.iter().flatten().map(Rows::bytes).sum();
    }

    /// Hands out every bucket in memory; call once all rows are there.
    pub fn sealed(self) -> Sealed {
        self.seal();
        let inner = self.inner.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let memory = inner.memory.into_iter().map(|mut parts| parts.pop().unwrap_or_default()).collect();
        Sealed { memory, disk: inner.disk.map(Mutex::new), segments: inner.segments, shape: self.shape }
    }
}

/// All rows of one side, to be read bucket by bucket, as often as wanted.
#[derive(Debug)]
pub struct Sealed {
    memory: Vec<Rows>,
    disk: Option<Mutex<SpillFile>>,
    segments: Vec<Vec<(u64, usize)>>,
    shape: Vec<MeasureRows>,
}

impl Sealed {
    /// # Errors
    /// `Storage`.
    pub fn bucket(&self, bucket: usize) -> Result<Cow<'_, Rows>> {
        let (memory, segments) = (&self.memory[bucket], &self.segments[bucket]);
        let Some(disk) = self.disk.as_ref().filter(|_| !segments.is_empty()) else {
            return Ok(Cow::Borrowed(memory));
        };
        let mut whole = Rows::default();
        for (offset, length) in segments {
            let bytes = disk.lock().unwrap_or_else(std::sync::PoisonError::into_inner).read(*offset, *length)?;
            let part = Rows::decode(&bytes, &self.shape)?;
            if whole.is_empty() && segments.len() == 1 && memory.is_empty() {
                return Ok(Cow::Owned(part));
            }
            whole.append(&part);
        }
        whole.append(memory);
        Ok(Cow::Owned(whole))
    }

    pub fn spilled(&self) -> bool {
        self.disk.is_some()
    }
}

/// One reader's rows on their way into a store.
#[derive(Debug)]
pub struct Dealer {
    store: Arc<RowStore>,
    open: Vec<Rows>,
    order: Vec<u32>,
}

impl Dealer {
    pub fn new(store: Arc<RowStore>) -> Dealer {
        Dealer { store, open: vec![Rows::default(); BUCKETS], order: Vec::new() }
    }

    /// # Errors
    /// `Storage`.
    pub fn deal(&mut self, rows: &Rows) -> Result<()> {
        let bucket = |row: usize| bucket_of(rows.dealt_by(row));
        let mut starts = [0usize; BUCKETS + 1];
        (0..rows.len()).for_each(|row| starts[bucket(row) + 1] += 1);
        for i in 0..BUCKETS {
            starts[i + 1] += starts[i];
        }
        let mut next = starts;
        self.order.resize(rows.len(), 0);
        for row in 0..rows.len() {
            let at = &mut next[bucket(row)];
            self.order[*at] = row as u32;
            *at += 1;
        }
        for bucket in 0..BUCKETS {
            let picks = &self.order[starts[bucket]..starts[bucket + 1]];
            if picks.is_empty() {
                continue;
            }
            self.open[bucket].take(rows, picks);
            if self.open[bucket].len() >= CHUNK_ROWS {
                self.store.push(bucket, std::mem::take(&mut self.open[bucket]))?;
            }
        }
        Ok(())
    }

    /// # Errors
    /// `Storage`.
    pub fn finish(self) -> Result<()> {
        for (bucket, rows) in self.open.into_iter().enumerate() {
            if !rows.is_empty() {
                self.store.push(bucket, rows)?;
            }
        }
        Ok(())
    }
}

/// A temporary file that is gone when it is closed.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    end: u64,
}

impl SpillFile {
    /// # Errors
    /// `Storage`.
    pub fn new(folder: &Path) -> Result<SpillFile> {
        let failed = || format!("no temporary file can be made in {}", folder.display());
        std::fs::create_dir_all(folder).context(ErrorKind::Storage, failed)?;
        let file = tempfile::tempfile_in(folder).context(ErrorKind::Storage, failed)?;
        Ok(SpillFile { file, end: 0 })
    }

    /// Where the bytes begin.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let start = self.end;
        self.file.seek(SeekFrom::Start(start)).and_then(|_| self.file.write_all(bytes)).map_err(|e| {
            Error::new(ErrorKind::Storage, "rows that do not fit into memory cannot be written to the temporary file")
                .hint("Is the disk full? Set spill_dir, or a larger memory_limit, in the config.")
                .because(e)
        })?;
        self.end += bytes.len() as u64;
        Ok(start)
    }

    pub fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .context(ErrorKind::Storage, || "the temporary file cannot be read back".into())?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Place;
    use super::*;

    fn rows(range: std::ops::Range<u64>) -> Rows {
        let spread = |i: u64| u128::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        Rows {
            key: range.clone().map(spread).collect(),
            row: range.clone().map(u128::from).collect(),
            place: range.clone().map(|i| Place::new(0, i).unwrap()).collect(),
            flags: vec![0; range.count()],
            ..Rows::default()
        }
    }

    fn all(limit: usize) -> (Vec<u128>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(RowStore::new(Spilling { folder: folder.path().into(), limit }, Vec::new()));
        for start in (0..60_000).step_by(6_000) {
            let mut dealer = Dealer::new(store.clone());
            dealer.deal(&rows(start..start + 6_000)).unwrap();
            dealer.finish().unwrap();
        }
        let sealed = Arc::into_inner(store).unwrap().sealed();
        let mut seen = Vec::new();
        for bucket in 0..BUCKETS {
            let rows = sealed.bucket(bucket).unwrap();
            assert!((0..rows.len()).all(|row| bucket_of(rows.key[row]) == bucket));
            seen.extend_from_slice(&rows.row);
        }
        seen.sort_unstable();
        (seen, sealed.spilled())
    }

    #[test]
    fn what_spills_comes_back() {
        let (in_memory, spilled) = all(usize::MAX);
        assert!(!spilled);
        let (on_disk, spilled) = all(100_000);
        assert!(spilled);
        assert_eq!(in_memory, on_disk);
        assert_eq!(in_memory.len(), 60_000);
    }
}
