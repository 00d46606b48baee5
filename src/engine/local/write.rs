//! Writing rows into one file per partition, with bounded memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use deltalake::arrow::array::{RecordBatch, UInt64Array};
use deltalake::arrow::compute::{concat_batches, take_record_batch};
use deltalake::logstore::object_store::path::Path;
use deltalake::logstore::object_store::{Error as StoreError, ObjectStore, ObjectStoreExt};
use uuid::Uuid;

use super::hash;
use crate::engine::Staged;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::commit::StagedFile;
use crate::lake::data::{DataWriter, OpenFile, TableLayout};
use crate::lake::store::{sync_file, sync_folder};
use crate::lake::{Snapshot, TableStore};
use crate::table::{Field, PartitionTuple, Value};

/// How many bytes may be held, at most.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Rows are gathered so far before they are split by partition, so that a
    /// thousand partitions do not make a million tiny batches.
    gather: usize,
    /// Rows that wait for their partition's file; beyond, the largest goes out.
    waiting: usize,
    /// Encoded bytes of open files; beyond, the largest is closed.
    buffered: usize,
}

impl Room {
    fn within(limit: usize) -> Room {
        const MIB: usize = 1 << 20;
        Room {
            gather: (limit / 16).clamp(MIB, 64 * MIB),
            waiting: (limit / 4).clamp(4 * MIB, 256 * MIB),
            buffered: (limit / 4).clamp(16 * MIB, 256 * MIB),
        }
    }
}

/// Files that are open at the same time.
const OPEN_FILES: usize = 64;
/// A file is closed at this size and the next one begun.
const TARGET_FILE_BYTES: u64 = 256 << 20;
const ROWS_PER_WRITE: usize = 8192;

pub struct PartitionWriter {
    store: TableStore,
    objects: Arc<dyn ObjectStore>,
    layout: Arc<TableLayout>,
    files: DataWriter,
    operation: Uuid,
    /// Tells this run's files from those of another run of the same plan, which
    /// may be live by now and must never be overwritten or removed.
    attempt: u32,
    seed: u64,
    mapped: bool,
    /// What the partition numbers of rows stand for.
    tuples: Vec<PartitionTuple>,
    room: Room,
    gathered: Vec<(RecordBatch, Vec<u32>)>,
    gathered_bytes: usize,
    waiting: BTreeMap<u32, Waiting>,
    waiting_bytes: usize,
    open: BTreeMap<u32, Writing>,
    tick: u64,
    begun: u32,
    paths: Vec<Path>,
    staged: Staged,
}

#[derive(Default)]
struct Waiting {
    batches: Vec<RecordBatch>,
    bytes: usize,
}

struct Writing {
    file: OpenFile,
    path: Path,
    used: u64,
}

impl PartitionWriter {
    pub fn new(snapshot: &Snapshot, layout: Arc<TableLayout>, operation: Uuid, seed: u64, memory: usize) -> Self {
        let metadata = snapshot.metadata();
        let indexed = metadata.property("delta.dataSkippingNumIndexedCols").and_then(|n| n.parse().ok()).unwrap_or(32);
        Self {
            store: snapshot.store().clone(),
            objects: snapshot.store().objects(),
            files: DataWriter::new(Arc::clone(&layout), indexed),
            mapped: metadata.column_mapping().is_some(),
            staged: Staged { columns: vec![0; layout.schema.fields.len()], ..Staged::default() },
            layout,
            operation,
            attempt: Uuid::new_v4().as_fields().0,
            seed,
            tuples: Vec::new(),
            room: Room::within(memory),
            gathered: Vec::new(),
            gathered_bytes: 0,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            open: BTreeMap::new(),
            tick: 0,
            begun: 0,
            paths: Vec::new(),
        }
    }

    /// How many partition numbers it knows.
    pub fn known(&self) -> usize {
        self.tuples.len()
    }

    /// What the partition numbers stand for; numbers never change their meaning.
    pub fn know(&mut self, tuples: Vec<PartitionTuple>) {
        self.tuples = tuples;
    }

    /// Takes rows of all columns; `numbers` says each row's partition, which it
    /// has to know.
    ///
    /// # Errors
    /// `Storage`, `UnsupportedType`.
    pub async fn write(&mut self, batch: RecordBatch, numbers: Vec<u32>) -> Result<()> {
        self.count(&batch, &numbers)?;
        self.gathered_bytes += batch.get_array_memory_size();
        self.gathered.push((batch, numbers));
        if self.gathered_bytes >= self.room.gather {
            self.split().await?;
        }
        Ok(())
    }

    /// What is really staged is counted here, from the rows themselves.
    fn count(&mut self, batch: &RecordBatch, numbers: &[u32]) -> Result<()> {
        let sets = hash::row_sets(batch, self.seed, &mut self.staged.columns)?;
        for (mixed, number) in sets.into_iter().zip(numbers) {
            self.staged.partitions.entry(self.tuples[*number as usize].clone()).or_default().add(mixed);
        }
        Ok(())
    }

    /// Hands the gathered rows to their partitions.
    async fn split(&mut self) -> Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        let Some((first, _)) = gathered.first() else { return Ok(()) };
        let schema = first.schema();
        let numbers: Vec<u32> = gathered.iter().flat_map(|(_, numbers)| numbers.iter().copied()).collect();
        let whole = concat_batches(&schema, gathered.iter().map(|(batch, _)| batch))
            .context(ErrorKind::Internal, || "batches could not be joined".into())?;
        drop(gathered);
        let mut rows_of: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (row, number) in numbers.into_iter().enumerate() {
            rows_of.entry(number).or_default().push(row as u64);
        }
        for (number, rows) in rows_of {
            let part = if rows.len() == whole.num_rows() {
                whole.clone()
            } else {
                take_record_batch(&whole, &UInt64Array::from(rows))
                    .context(ErrorKind::Internal, || "a batch could not be split".into())?
            };
            let bytes = part.get_array_memory_size();
            let waiting = self.waiting.entry(number).or_default();
            waiting.batches.push(part);
            waiting.bytes += bytes;
            self.waiting_bytes += bytes;
        }
        while self.waiting_bytes > self.room.waiting {
            let Some(largest) = self.waiting.iter().max_by_key(|(_, w)| w.bytes).map(|(number, _)| *number) else {
                break;
            };
            self.write_out(largest).await?;
        }
        Ok(())
    }

    /// Writes a partition's waiting rows into its open file.
    async fn write_out(&mut self, number: u32) -> Result<()> {
        let Some(waiting) = self.waiting.remove(&number) else { return Ok(()) };
        self.waiting_bytes -= waiting.bytes;
        if !self.open.contains_key(&number) {
            if self.open.len() >= OPEN_FILES {
                let oldest = self.open.iter().min_by_key(|(_, w)| w.used).map(|(number, _)| *number);
                if let Some(oldest) = oldest {
                    self.close(oldest).await?;
                }
            }
            let path = self.next_path(number)?;
            let file = self.files.open(self.objects.clone(), path.clone())?;
            self.paths.push(path.clone());
            self.open.insert(number, Writing { file, path, used: 0 });
        }
        self.tick += 1;
        let Some(writing) = self.open.get_mut(&number) else { return Ok(()) };
        writing.used = self.tick;
        for batch in waiting.batches {
            for start in (0..batch.num_rows()).step_by(ROWS_PER_WRITE) {
                writing.file.write(&batch.slice(start, ROWS_PER_WRITE.min(batch.num_rows() - start))).await?;
            }
        }
        if writing.file.estimated_size() >= TARGET_FILE_BYTES {
            self.close(number).await?;
        }
        while self.open.values().map(|w| w.file.buffered()).sum::<usize>() > self.room.buffered {
            let largest = self.open.iter().max_by_key(|(_, w)| w.file.buffered()).map(|(number, _)| *number);
            let Some(largest) = largest else { break };
            self.close(largest).await?;
        }
        Ok(())
    }

    async fn close(&mut self, number: u32) -> Result<()> {
        let Some(writing) = self.open.remove(&number) else { return Ok(()) };
        let stats = writing.file.close().await?;
        let tuple = &self.tuples[number as usize];
        let physical = self.fields().map(|f| f.physical_name().to_owned());
        self.staged.files.push(StagedFile {
            path: writing.path.as_ref().replace('%', "%25"),
            partition_values: physical.zip(tuple.0.iter().cloned()).collect(),
            size: stats.size,
            modified: chrono::Utc::now().timestamp_millis(),
            rows: stats.num_records,
            stats: stats.stats_json,
        });
        Ok(())
    }

    fn fields(&self) -> impl Iterator<Item = &Field> {
        self.layout.partition_indexes().iter().map(|i| &self.layout.schema.fields[*i])
    }

    fn next_path(&mut self, number: u32) -> Result<Path> {
        let tuple = &self.tuples[number as usize];
        let path = data_path(&self.layout, self.mapped, tuple, self.begun, (self.operation, self.attempt));
        self.begun += 1;
        path
    }

    /// Closes everything and makes it durable.
    ///
    /// # Errors
    /// `Storage`; what was written is then removed.
    pub async fn finish(mut self) -> Result<Staged> {
        match self.close_all().await {
            Ok(()) => Ok(std::mem::take(&mut self.staged)),
            Err(error) => {
                self.discard().await;
                Err(error)
            }
        }
    }

    async fn close_all(&mut self) -> Result<()> {
        self.split().await?;
        for number in self.waiting.keys().copied().collect::<Vec<_>>() {
            self.write_out(number).await?;
            self.close(number).await?;
        }
        for number in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(number).await?;
        }
        make_durable(&self.store, &self.paths)
    }

    /// Removes what was written; a left-over keeps the operation's id in its name.
    pub async fn discard(mut self) {
        for (_, writing) in std::mem::take(&mut self.open) {
            writing.file.abort().await;
        }
        remove_staged(&self.store, &self.paths).await;
    }
}

/// Flushes files and their folders to a local disk.
///
/// # Errors
/// `Storage`.
pub(super) fn make_durable(store: &TableStore, paths: &[Path]) -> Result<()> {
    /// A disk commits several flushes at once, so more threads than cores help.
    const THREADS: usize = 8;
    let Some(root) = store.local_root() else { return Ok(()) };
    let failed = |path: &std::path::Path| format!("{} could not be flushed to the disk", path.display());
    let flush = |paths: &[Path]| {
        paths.iter().try_for_each(|path| {
            let file = root.join(path.as_ref());
            sync_file(&file).context(ErrorKind::Storage, || failed(&file))
        })
    };
    std::thread::scope(|scope| {
        let parts = paths.chunks(paths.len().div_ceil(THREADS).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || flush(part))).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(flushed) => flushed,
            Err(_) => Err(Error::new(ErrorKind::Internal, "flushing files to the disk broke off")),
        })
    })?;
    let mut folders = std::collections::BTreeSet::from([root.clone()]);
    for path in paths {
        let file = root.join(path.as_ref());
        folders.extend(file.ancestors().skip(1).take_while(|f| f.starts_with(&root)).map(ToOwned::to_owned));
    }
    folders.iter().try_for_each(|folder| sync_folder(folder).context(ErrorKind::Storage, || failed(folder)))
}

/// Where a data file of a partition goes:
/// `column=value/part-00000-<operation>-<attempt>.snappy.parquet`. Values are escaped
/// to plain ASCII letters, digits and `_.-`, so no value can name another
/// folder; a column-mapped table (`mapped`) gets no value folders, as Spark does.
///
/// # Errors
/// `Internal`.
pub(super) fn data_path(
    layout: &TableLayout,
    mapped: bool,
    tuple: &PartitionTuple,
    number: u32,
    (operation, attempt): (Uuid, u32),
) -> Result<Path> {
    let mut text = String::new();
    if !mapped {
        for (column, value) in layout.partition_indexes().iter().zip(&tuple.0) {
            let name = &layout.schema.fields[*column].name;
            text.push_str(&format!("{}={}/", escape(name), folder_value(value)));
        }
    }
    text.push_str(&format!("part-{number:05}-{operation}-{attempt:08x}.snappy.parquet"));
    Path::parse(&text).context(ErrorKind::Internal, || format!("a strange file name: {text}"))
}

/// Removes staged files that never came into the log, best effort: what stays
/// is harmless and carries the operation's id.
pub async fn remove_staged(store: &TableStore, paths: &[Path]) {
    for path in paths {
        match store.objects().delete(path).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => {}
            Err(error) => tracing::warn!(%path, %error, "a staged file could not be removed"),
        }
    }
    let Some(root) = store.local_root() else { return };
    for path in paths {
        let file = root.join(path.as_ref());
        // Folders that were made for it go too; one that is not empty stays,
        // because `remove_dir` refuses it.
        let inside = file.ancestors().skip(1).take_while(|folder| **folder != root);
        inside.map_while(|folder| std::fs::remove_dir(folder).ok()).for_each(drop);
    }
}

fn folder_value(value: &Value) -> String {
    /// Folder names have a limit of 255 bytes.
    const MAX: usize = 180;
    match value.to_partition_text() {
        None => "__HIVE_DEFAULT_PARTITION__".into(),
        Some(text) => {
            let escaped = escape(&text);
            if escaped.len() > MAX {
                format!("{}-{:016x}", &escaped[..MAX / 2], xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
            } else {
                escaped
            }
        }
    }
}

fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, b| {
        if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.') {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_can_name_another_folder() {
        for text in ["..", "a/b", "/etc", "a\\b", "\0", "é", "a b", "%2F"] {
            let name = format!("g={}", folder_value(&Value::String(text.into())));
            assert!(Path::parse(&name).is_ok_and(|p| p.parts().count() == 1), "{name}");
        }
        assert_eq!(folder_value(&Value::String("a%2Fb".into())), "a%252Fb");
        assert!(folder_value(&Value::String("x".repeat(5000))).len() < 255);
    }
}
