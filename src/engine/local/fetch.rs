//! Reading batches of the source and the table in the table's types, whole or
//! by position.

use std::ops::Range;
use std::sync::Arc;

use futures::TryStreamExt;
use futures::stream::BoxStream;

use super::delivered::{Delivered, DeliveredReader, Wanted};
use crate::engine::RowJob;
use crate::error::Result;
use crate::lake::data::{DataReader, LiveBatch, TableLayout, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::table::{DataFile, Value};

/// Files are read in parts of about so many bytes.
const PART_BYTES: u64 = 32 << 20;
/// All rows of a file.
pub const WHOLE: Range<u64> = 0..u64::MAX;

/// Readers for both sides of a job.
#[derive(Clone)]
pub struct Fetch {
    pub job: Arc<RowJob>,
    pub layout: Arc<TableLayout>,
    target: DataReader,
    source: DeliveredReader,
}

impl Fetch {
    pub fn new(job: Arc<RowJob>) -> Result<Fetch> {
        let metadata = job.metadata.as_ref().unwrap_or_else(|| job.snapshot.metadata());
        let layout = Arc::new(TableLayout::from_metadata(metadata)?);
        let source = DeliveredReader::new(&job, &layout)?;
        Ok(Fetch { target: DataReader::new(layout.clone()), source, layout, job })
    }

    pub fn all_columns(&self) -> Vec<usize> {
        (0..self.layout.schema.fields.len()).collect()
    }

    /// Batches of one source file, with whatever else is wanted.
    pub async fn delivered(
        &self,
        file: usize,
        wanted: &Wanted,
        select: Option<&[u64]>,
        within: &Range<u64>,
    ) -> Result<BoxStream<'static, Result<Delivered>>> {
        self.source.read(file, wanted, select, within).await
    }

    /// Batches of one live file of the table.
    pub async fn target(
        &self,
        file: &DataFile,
        columns: &[usize],
        select: Option<&[u64]>,
    ) -> Result<BoxStream<'static, Result<LiveBatch>>> {
        self.target_part(file, columns, select, &WHOLE).await
    }

    pub async fn target_part(
        &self,
        file: &DataFile,
        columns: &[usize],
        select: Option<&[u64]>,
        within: &Range<u64>,
    ) -> Result<BoxStream<'static, Result<LiveBatch>>> {
        let readable = readable(self.job.snapshot.store(), file).await?;
        self.target.read_part(&readable, columns, select, within).await
    }

    pub fn keys_are_columns(&self) -> bool {
        self.source.keys_are_columns()
    }

    /// Parts of a source file that can be read at the same time.
    pub async fn source_parts(&self, file: usize) -> Result<Vec<Range<u64>>> {
        self.source.split(file, PART_BYTES).await
    }

    pub async fn target_parts(&self, file: &DataFile) -> Result<Vec<Range<u64>>> {
        if file.size <= PART_BYTES {
            return Ok(vec![WHOLE]);
        }
        let readable = readable(self.job.snapshot.store(), file).await?;
        self.target.parts(&readable, PART_BYTES).await
    }

    /// Live rows of a file by its footer.
    pub async fn count(&self, file: &DataFile) -> Result<u64> {
        let readable = readable(self.job.snapshot.store(), file).await?;
        self.target.row_count(&readable).await
    }
}

/// Rows of a stream as values, with their positions.
pub async fn collect_rows(mut batches: BoxStream<'static, Result<LiveBatch>>) -> Result<Vec<(u64, Vec<Value>)>> {
    let mut rows = Vec::new();
    while let Some(live) = batches.try_next().await? {
        for (row, position) in live.positions.iter().enumerate() {
            let values = live.batch.columns().iter().map(|column| value_at(column.as_ref(), row)).collect();
            rows.push((*position, values));
        }
    }
    Ok(rows)
}
