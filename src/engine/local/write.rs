//! Writing rows into one file per partition, with bounded memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use deltalake::arrow::array::{RecordBatch, UInt64Array};
use deltalake::arrow::compute::{concat_batches, take_record_batch};
use deltalake::logstore::object_store::ObjectStore;
use deltalake::logstore::object_store::path::Path;
use uuid::Uuid;

use super::folders::folder;
use super::hash;
use super::parked::Parked;
use super::store::Spilling;
use super::unstage::{left_behind, remove_staged};
use crate::engine::Staged;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::commit::StagedFile;
use crate::lake::data::{DataWriter, OpenFile, TableLayout};
use crate::lake::{Snapshot, TableStore, inside};
use crate::plan::OutputShape;
use crate::table::{Field, PartitionTuple};

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
const ROWS_PER_WRITE: usize = 8192;

/// What a writer's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Data,
    /// Rows of the change data feed.
    Changes,
}

impl Content {
    fn folder_and_stem(self) -> (&'static str, &'static str) {
        match self {
            Content::Data => ("", "part"),
            Content::Changes => ("_change_data/", "cdc"),
        }
    }
}

/// How a writer goes about it.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Its id is in the name of every file.
    pub operation: Uuid,
    /// Of the checksums.
    pub seed: u64,
    pub spilling: Spilling,
    pub shape: OutputShape,
    pub content: Content,
}

pub struct PartitionWriter {
    store: TableStore,
    objects: Arc<dyn ObjectStore>,
    layout: Arc<TableLayout>,
    files: DataWriter,
    options: WriterOptions,
    /// Tells this run's files from those of another run of the same plan, which
    /// may be live by now and must never be overwritten or removed.
    attempt: u32,
    mapped: bool,
    /// What the partition numbers of rows stand for.
    tuples: Vec<PartitionTuple>,
    room: Room,
    gathered: Vec<(RecordBatch, Vec<u32>)>,
    gathered_bytes: usize,
    waiting: BTreeMap<u32, Waiting>,
    waiting_bytes: usize,
    /// Where the number of files is fixed: what does not fit, until it is known
    /// how many rows each partition has.
    parked: Parked,
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
    pub fn new(snapshot: &Snapshot, layout: Arc<TableLayout>, options: WriterOptions) -> Self {
        let metadata = snapshot.metadata();
        let indexed = metadata.property("delta.dataSkippingNumIndexedCols").and_then(|n| n.parse().ok()).unwrap_or(32);
        Self {
            store: snapshot.store().clone(),
            objects: snapshot.store().objects(),
            files: DataWriter::new(Arc::clone(&layout), indexed),
            mapped: metadata.column_mapping().is_some(),
            staged: Staged { columns: vec![0; layout.schema.fields.len()], ..Staged::default() },
            layout,
            attempt: Uuid::new_v4().as_fields().0,
            tuples: Vec::new(),
            room: Room::within(options.spilling.limit),
            parked: Parked::new(options.spilling.folder.clone()),
            options,
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
        let sets = hash::row_sets(batch, self.options.seed, &mut self.staged.columns)?;
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
            match self.options.shape.files_per_partition {
                None => self.write_out(largest).await?,
                Some(_) => {
                    let Some(waiting) = self.waiting.remove(&largest) else { break };
                    self.waiting_bytes -= waiting.bytes;
                    self.parked.park(largest, &waiting.batches)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a partition's waiting rows into its open file.
    async fn write_out(&mut self, number: u32) -> Result<()> {
        let Some(waiting) = self.waiting.remove(&number) else { return Ok(()) };
        self.waiting_bytes -= waiting.bytes;
        let target = self.options.shape.target();
        for batch in waiting.batches {
            for start in (0..batch.num_rows()).step_by(ROWS_PER_WRITE) {
                let rows = batch.slice(start, ROWS_PER_WRITE.min(batch.num_rows() - start));
                let writing = self.opened(number).await?;
                writing.file.write(&rows).await?;
                if writing.file.estimated_size() >= target {
                    self.close(number).await?;
                }
            }
        }
        while self.open.values().map(|w| w.file.buffered()).sum::<usize>() > self.room.buffered {
            let largest = self.open.iter().max_by_key(|(_, w)| w.file.buffered()).map(|(number, _)| *number);
            let Some(largest) = largest else { break };
            self.close(largest).await?;
        }
        Ok(())
    }

    /// The open file of a partition.
    async fn opened(&mut self, number: u32) -> Result<&mut Writing> {
        if !self.open.contains_key(&number) && self.open.len() >= OPEN_FILES {
            let oldest = self.open.iter().min_by_key(|(_, w)| w.used).map(|(number, _)| *number);
            if let Some(oldest) = oldest {
                self.close(oldest).await?;
            }
        }
        self.tick += 1;
        let used = self.tick;
        if !self.open.contains_key(&number) {
            let path = self.next_path(number)?;
            inside::check(&self.store, &path)?;
            let file = self.files.open(self.objects.clone(), path.clone())?;
            self.paths.push(path.clone());
            self.open.insert(number, Writing { file, path, used });
        }
        let writing = self.open.get_mut(&number);
        let writing = writing.ok_or_else(|| Error::new(ErrorKind::Internal, "a file that was opened is not open"))?;
        writing.used = used;
        Ok(writing)
    }

    /// Writes all rows of a partition into a fixed number of files of one size.
    async fn write_evenly(&mut self, number: u32) -> Result<()> {
        let waiting = self.waiting.remove(&number).unwrap_or_default();
        self.waiting_bytes -= waiting.bytes;
        let waiting_rows: usize = waiting.batches.iter().map(RecordBatch::num_rows).sum();
        let rows = self.parked.rows(number) + waiting_rows as u64;
        let Some(mut quotas) = self.options.shape.quotas(rows).map(Vec::into_iter) else { return Ok(()) };
        let mut left = quotas.next().unwrap_or(0);
        for part in 0..=self.parked.parts(number) {
            let batches = if part < self.parked.parts(number) {
                self.parked.take(number, part)?
            } else {
                waiting.batches.clone()
            };
            for batch in batches {
                let mut start = 0;
                while start < batch.num_rows() {
                    let most = usize::try_from(left).unwrap_or(usize::MAX);
                    let rows = ROWS_PER_WRITE.min(batch.num_rows() - start).min(most);
                    self.opened(number).await?.file.write(&batch.slice(start, rows)).await?;
                    (start, left) = (start + rows, left - rows as u64);
                    if left == 0 {
                        self.close(number).await?;
                        left = quotas.next().unwrap_or(u64::MAX);
                    }
                }
            }
        }
        self.close(number).await
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

    /// `column=value/part-00000-<operation>-<attempt>.snappy.parquet`. Values are escaped
    /// to plain ASCII letters, digits and `_.-`, so no value can name another
    /// folder; a column-mapped table gets no value folders, as Spark does.
    fn next_path(&mut self, number: u32) -> Result<Path> {
        let (root, stem) = self.options.content.folder_and_stem();
        let mut text = root.to_owned();
        if !self.mapped {
            for (field, value) in self.fields().zip(&self.tuples[number as usize].0) {
                text.push_str(&folder(&field.name, value));
            }
        }
        let (operation, attempt) = (self.options.operation, self.attempt);
        text.push_str(&format!("{stem}-{:05}-{operation}-{attempt:08x}.snappy.parquet", self.begun));
        self.begun += 1;
        Path::parse(&text).context(ErrorKind::Internal, || format!("a strange file name: {text}"))
    }

    /// Closes everything and makes it durable.
    ///
    /// # Errors
    /// `Storage`; what was written is then removed.
    pub async fn finish(mut self) -> Result<Staged> {
        match self.close_all().await {
            Ok(()) => Ok(std::mem::take(&mut self.staged)),
            Err(error) => Err(left_behind(error, self.discard().await)),
        }
    }

    async fn close_all(&mut self) -> Result<()> {
        self.split().await?;
        if self.options.shape.files_per_partition.is_some() {
            let numbers: std::collections::BTreeSet<u32> =
                self.waiting.keys().copied().chain(self.parked.partitions()).collect();
            for number in numbers {
                self.write_evenly(number).await?;
            }
        }
        for number in self.waiting.keys().copied().collect::<Vec<_>>() {
            self.write_out(number).await?;
            self.close(number).await?;
        }
        for number in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(number).await?;
        }
        let Some(root) = self.store.local_root() else { return Ok(()) };
        let mut folders = std::collections::BTreeSet::from([root.clone()]);
        for path in &self.paths {
            let file = root.join(path.as_ref());
            self.store
                .sync_file(&file)
                .context(ErrorKind::Storage, || format!("{} could not be flushed to the disk", file.display()))?;
            folders.extend(file.ancestors().skip(1).take_while(|f| f.starts_with(&root)).map(ToOwned::to_owned));
        }
        for folder in folders {
            self.store
                .sync_folder(&folder)
                .context(ErrorKind::Storage, || format!("{} could not be flushed to the disk", folder.display()))?;
        }
        Ok(())
    }

    /// Removes what was written; a left-over keeps the operation's id in its
    /// name. Gives how many files could not be removed.
    pub async fn discard(mut self) -> usize {
        for (_, writing) in std::mem::take(&mut self.open) {
            writing.file.abort().await;
        }
        remove_staged(&self.store, &self.paths).await
    }
}
