//! Reading batches of the source and the table in the table's types, whole or
//! by position.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use crate::engine::RowJob;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::{DataReader, LiveBatch, TableLayout, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::source::cast::to_table_types;
use crate::table::{DataFile, Value};

/// Readers for both sides of a job.
#[derive(Clone)]
pub struct Fetch {
    pub job: Arc<RowJob>,
    pub layout: Arc<TableLayout>,
    target: DataReader,
    source: DataReader,
}

impl Fetch {
    pub fn new(job: Arc<RowJob>) -> Result<Fetch> {
        let layout = Arc::new(TableLayout::from_metadata(job.snapshot.metadata())?);
        Ok(Fetch { target: DataReader::new(layout.clone()), source: job.source.reader(), layout, job })
    }

    pub fn all_columns(&self) -> Vec<usize> {
        (0..self.layout.schema.fields.len()).collect()
    }

    /// Batches of one source file; `columns` are indexes of the table's schema.
    pub async fn source(
        &self,
        file: usize,
        columns: &[usize],
        select: Option<&[u64]>,
    ) -> Result<BoxStream<'static, Result<LiveBatch>>> {
        let wanted: Vec<usize> = columns.iter().map(|c| self.job.matching.columns[*c]).collect();
        let schema = Arc::new(
            self.layout
                .arrow_schema()
                .project(columns)
                .map_err(|e| Error::new(ErrorKind::Internal, "columns of the table that are not there").because(e))?,
        );
        let batches = self.source.read(&self.job.source.files[file], &wanted, select).await?;
        let cast = batches.and_then(move |live| {
            let cast = to_table_types(&live.batch, &schema).map(|batch| LiveBatch { batch, positions: live.positions });
            futures::future::ready(cast)
        });
        Ok(cast.boxed())
    }

    /// Batches of one live file of the table.
    pub async fn target(
        &self,
        file: &DataFile,
        columns: &[usize],
        select: Option<&[u64]>,
    ) -> Result<BoxStream<'static, Result<LiveBatch>>> {
        let readable = readable(self.job.snapshot.store(), file).await?;
        self.target.read(&readable, columns, select).await
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
