//! Writing data files.

use std::sync::Arc;

use deltalake::arrow::array::{Array, RecordBatch};
use deltalake::arrow::datatypes::SchemaRef;
use deltalake::logstore::object_store::{ObjectStore, buffered::BufWriter, path::Path};
use deltalake::parquet::arrow::arrow_writer::ArrowWriterOptions;
use deltalake::parquet::arrow::async_writer::AsyncArrowWriter;
use deltalake::parquet::basic::Compression;
use deltalake::parquet::errors::ParquetError;
use deltalake::parquet::file::properties::WriterProperties;

use super::adapt::{adapt, in_place};
use super::layout::TableLayout;
use super::stats::Stats;
use crate::error::{Error, ErrorKind, Result};

/// Encoded bytes after which a row group is closed, which bounds what one
/// open file holds in memory.
const ROW_GROUP_BYTES: usize = 128 * 1024 * 1024;
/// Parts of one file that are uploaded at once.
const UPLOADS: usize = 2;

/// Opens data files of one table for writing.
#[derive(Debug, Clone)]
pub struct DataWriter {
    layout: Arc<TableLayout>,
    data_columns: Arc<[usize]>,
    file_schema: SchemaRef,
    indexed_cols: i64,
}

/// What the log says about a written file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStats {
    pub num_records: u64,
    /// bytes
    pub size: u64,
    /// `stats` of the `add` action (protocol, "Per-file Statistics").
    pub stats_json: String,
}

impl DataWriter {
    /// `indexed_cols`: the table's `delta.dataSkippingNumIndexedCols`, by
    /// default 32: so many leaf columns get statistics; all where negative.
    pub fn new(layout: Arc<TableLayout>, indexed_cols: i64) -> DataWriter {
        let data_columns = layout.data_indexes().into();
        let file_schema = layout.file_schema();
        DataWriter { layout, data_columns, file_schema, indexed_cols }
    }

    /// Begins a data file. Nothing is visible in the store before
    /// [`OpenFile::close`].
    ///
    /// # Errors
    /// `UnsupportedType` for a table that Parquet cannot hold.
    pub fn open(&self, store: Arc<dyn ObjectStore>, path: Path) -> Result<OpenFile> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .set_created_by(concat!("partwise version ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let upload = BufWriter::new(store, path.clone()).with_max_concurrency(UPLOADS);
        let writer = AsyncArrowWriter::try_new_with_options(upload, Arc::clone(&self.file_schema), options)
            .map_err(|e| Error::new(ErrorKind::UnsupportedType, "the table's columns cannot be written").because(e))?;
        Ok(OpenFile {
            stats: Stats::new(&self.file_schema, self.indexed_cols),
            format: self.clone(),
            path,
            writer,
            rows: 0,
        })
    }
}

/// A data file that is being written.
pub struct OpenFile {
    format: DataWriter,
    path: Path,
    writer: AsyncArrowWriter<BufWriter>,
    stats: Stats,
    rows: u64,
}

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenFile").field("path", &self.path).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl OpenFile {
    /// Appends rows. The batch has the columns of
    /// [`TableLayout::arrow_schema`]; partition columns are left out of the file.
    ///
    /// # Errors
    /// `Internal` for a batch of other columns, `NotNullViolation`, `Storage`.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check(batch)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let format = &self.format;
        let columns = format
            .data_columns
            .iter()
            .zip(format.file_schema.fields())
            .map(|(&index, field)| {
                let column = batch.column(index);
                adapt(column, &in_place(column.data_type()), field.data_type())
                    .map_err(|why| Error::new(ErrorKind::Internal, format!("column '{}': {why}", field.name())))
            })
            .collect::<Result<Vec<_>>>()?;
        let stored = RecordBatch::try_new(Arc::clone(&format.file_schema), columns)
            .map_err(|e| Error::new(ErrorKind::Internal, "cannot lay out rows for a data file").because(e))?;
        self.stats.update(&stored);
        self.writer.write(&stored).await.map_err(|e| cannot_write(&self.path, e))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let layout = &self.format.layout;
        let wanted = layout.arrow_schema();
        if batch.num_columns() != wanted.fields().len() {
            let message = format!("rows of {} columns for a table of {}", batch.num_columns(), wanted.fields().len());
            return Err(Error::new(ErrorKind::Internal, message));
        }
        for ((field, declared), column) in wanted.fields().iter().zip(&layout.schema.fields).zip(batch.columns()) {
            if column.data_type() != field.data_type() {
                let message =
                    format!("column '{}' is {} where {} belongs", field.name(), column.data_type(), field.data_type());
                return Err(Error::new(ErrorKind::Internal, message));
            }
            let nulls = column.null_count();
            if nulls > 0 && !declared.nullable {
                return Err(Error::new(
                    ErrorKind::NotNullViolation,
                    format!("column '{}' is declared NOT NULL, but {nulls} rows have no value", field.name()),
                ));
            }
        }
        Ok(())
    }

    /// Bytes in memory.
    pub fn buffered(&self) -> usize {
        self.writer.memory_size()
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes that the file would have if it were closed now, roughly.
    pub fn estimated_size(&self) -> u64 {
        (self.writer.bytes_written() + self.writer.in_progress_size()) as u64
    }

    /// Finishes the file; from now on it is in the store.
    ///
    /// # Errors
    /// `Storage`. Then nothing is visible in the store.
    pub async fn close(mut self) -> Result<FileStats> {
        let footer = self.writer.finish().await.map_err(|e| cannot_write(&self.path, e))?;
        let written = footer.file_metadata().num_rows();
        if u64::try_from(written) != Ok(self.rows) {
            let message = format!("'{}' holds {written} rows where {} were given", self.path, self.rows);
            return Err(Error::new(ErrorKind::Internal, message));
        }
        Ok(FileStats {
            num_records: self.rows,
            size: self.writer.bytes_written() as u64,
            stats_json: self.stats.to_json(self.rows).to_string(),
        })
    }

    /// Drops the file. What was uploaded of it is removed, where the store can.
    pub async fn abort(self) {
        let mut upload = self.writer.into_inner();
        if let Err(error) = upload.abort().await {
            tracing::warn!(path = %self.path, %error, "parts of an aborted upload may remain");
        }
    }
}

fn cannot_write(path: &Path, error: ParquetError) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot write the data file '{path}'")).because(error)
}
