//! Where the new files go: their names, what was begun, what is whole.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use deltalake::logstore::object_store::ObjectStore;
use deltalake::logstore::object_store::path::Path;
use uuid::Uuid;

use super::super::folders::folder;
use super::super::unstage::remove_staged;
use super::Paths;
use super::count::Counted;
use super::read::Reading;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::commit::StagedFile;
use crate::lake::data::{DataWriter, OpenFile, TableLayout};
use crate::lake::{TableStore, inside};
use crate::plan::relayout::Shape;
use crate::table::PartitionTuple;

/// Where the new files go.
pub struct Out {
    store: TableStore,
    objects: Arc<dyn ObjectStore>,
    layout: Arc<TableLayout>,
    files: DataWriter,
    mapped: bool,
    operation: Uuid,
    /// Tells this run's files from those of another run of the same plan.
    attempt: u32,
    pub shape: Shape,
    tuples: Vec<PartitionTuple>,
    begun: AtomicU32,
    /// All that were begun, so that they can be removed.
    paths: Paths,
    done: Mutex<Vec<Written>>,
}

/// A file that is whole.
#[derive(Debug, Clone)]
pub struct Written {
    pub file: StagedFile,
    pub path: Path,
    pub tuple: PartitionTuple,
}

impl Out {
    pub fn new(reading: &Reading, counted: &Counted, operation: Uuid) -> Out {
        let metadata = &reading.job.target;
        let indexed = metadata.property("delta.dataSkippingNumIndexedCols").and_then(|n| n.parse().ok()).unwrap_or(32);
        let store = reading.job.snapshot.store().clone();
        Out {
            objects: store.objects(),
            files: DataWriter::new(Arc::clone(&reading.target), indexed),
            layout: Arc::clone(&reading.target),
            mapped: metadata.column_mapping().is_some(),
            operation,
            attempt: Uuid::new_v4().as_fields().0,
            shape: reading.job.layout.shape,
            tuples: counted.tuples.iter().map(|t| t.values.clone()).collect(),
            begun: AtomicU32::new(0),
            paths: Paths::default(),
            done: Mutex::default(),
            store,
        }
    }

    /// `column=value/part-00000-<operation>-<attempt>.snappy.parquet`; a
    /// column-mapped table gets no value folders, as Spark does.
    fn path(&self, tuple: &PartitionTuple, number: u32) -> Result<Path> {
        let mut text = String::new();
        if !self.mapped {
            for (column, value) in self.layout.partition_indexes().iter().zip(&tuple.0) {
                text.push_str(&folder(&self.layout.schema.fields[*column].name, value));
            }
        }
        let (operation, attempt) = (self.operation, self.attempt);
        text.push_str(&format!("part-{number:05}-{operation}-{attempt:08x}.snappy.parquet"));
        Path::parse(&text).context(ErrorKind::Internal, || format!("a strange file name: {text}"))
    }

    /// # Errors
    /// `Refused` for a folder that is a link out of the table, `UnsupportedType`.
    pub fn begin(&self, partition: u32) -> Result<Open> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let tuple = &self.tuples[partition as usize];
        let path = self.path(tuple, number)?;
        inside::check(&self.store, &path)?;
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Ok(Open { file: self.files.open(self.objects.clone(), path.clone())?, path })
    }

    /// # Errors
    /// `Storage`.
    pub async fn close(&self, open: Open, partition: u32) -> Result<()> {
        let stats = open.file.close().await?;
        let tuple = self.tuples[partition as usize].clone();
        let fields = self.layout.partition_indexes().iter().map(|i| &self.layout.schema.fields[*i]);
        let file = StagedFile {
            path: open.path.as_ref().replace('%', "%25"),
            partition_values: fields.map(|f| f.physical_name().to_owned()).zip(tuple.0.iter().cloned()).collect(),
            size: stats.size,
            modified: chrono::Utc::now().timestamp_millis(),
            rows: stats.num_records,
            stats: stats.stats_json,
        };
        let written = Written { file, path: open.path, tuple };
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(written);
        Ok(())
    }

    /// The files that were written, in the order of their partitions.
    pub fn files(&self) -> Vec<Written> {
        let mut files = self.done.lock().unwrap_or_else(PoisonError::into_inner).clone();
        files.sort_by(|a, b| (&a.tuple, &a.file.path).cmp(&(&b.tuple, &b.file.path)));
        files
    }

    fn paths(&self) -> Vec<Path> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Errors
    /// `Storage`.
    pub fn make_durable(&self) -> Result<()> {
        /// A disk commits several flushes at once, so more threads than cores help.
        const THREADS: usize = 8;
        let paths = self.paths();
        let Some(root) = self.store.local_root() else { return Ok(()) };
        let failed = |path: &std::path::Path| format!("{} could not be flushed to the disk", path.display());
        let flush = |paths: &[Path]| {
            paths.iter().try_for_each(|path| {
                let file = root.join(path.as_ref());
                self.store.sync_file(&file).context(ErrorKind::Storage, || failed(&file))
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
        for path in &paths {
            let file = root.join(path.as_ref());
            folders.extend(file.ancestors().skip(1).take_while(|f| f.starts_with(&root)).map(ToOwned::to_owned));
        }
        folders
            .iter()
            .try_for_each(|folder| self.store.sync_folder(folder).context(ErrorKind::Storage, || failed(folder)))
    }

    /// Removes what was written. Gives how many files could not be removed.
    pub async fn discard(&self) -> usize {
        remove_staged(&self.store, &self.paths()).await
    }
}

/// A file that is being written.
pub struct Open {
    pub file: OpenFile,
    path: Path,
}
