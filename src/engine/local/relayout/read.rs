//! Reading the rows that are written anew, a few files at the same time.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deltalake::arrow::array::{ArrayRef, RecordBatch};
use deltalake::arrow::datatypes::{DataType, SchemaRef};
use futures::TryStreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::super::fetch::WHOLE;
use super::{LayoutJob, workers};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::{DataReader, LiveBatch, TableLayout, array_of, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::predicate::Bound;
use crate::progress::Progress;
use crate::table::Value;

/// Files are read in parts of about so many bytes, so that one large file keeps
/// every core busy.
const PART_BYTES: u64 = 64 << 20;

/// A job, with what reading its files needs.
pub struct Reading {
    pub job: LayoutJob,
    source: DataReader,
    pub target: Arc<TableLayout>,
    /// The columns that files have: all but the added ones.
    pub columns: Vec<usize>,
    /// Places in the old partition tuples of strings that become data.
    leaving: Vec<usize>,
}

/// Physical rows of one file.
#[derive(Debug, Clone)]
pub struct Part {
    pub file: usize,
    pub within: Range<u64>,
    /// How many parts the file was cut into.
    of: u64,
}

impl Reading {
    /// # Errors
    /// `BadPartitionColumn`, `BadMetadata`.
    pub fn new(job: LayoutJob) -> Result<Reading> {
        let source = Arc::new(TableLayout::from_metadata(job.snapshot.metadata())?);
        let target = Arc::new(TableLayout::from_metadata(&job.target)?);
        let leaves = |name: &String| !target.partition_columns.contains(name);
        let leaving = (0..source.partition_columns.len()).filter(|i| leaves(&source.partition_columns[*i])).collect();
        Ok(Reading {
            columns: (0..source.schema.fields.len()).collect(),
            source: DataReader::new(source),
            target,
            leaving,
            job,
        })
    }

    /// The columns of the new rows.
    pub fn schema(&self) -> SchemaRef {
        self.target.arrow_schema()
    }

    /// # Errors
    /// `MissingFiles`, `BadDataFile`, `Storage`.
    pub async fn parts(&self) -> Result<Vec<Part>> {
        let mut parts = Vec::with_capacity(self.job.files.len());
        for (number, file) in self.job.files.iter().enumerate() {
            let ranges = match file.size > PART_BYTES {
                true => {
                    let file = readable(self.job.snapshot.store(), file).await?;
                    self.source.parts(&file, PART_BYTES).await?
                }
                false => vec![WHOLE],
            };
            let of = ranges.len() as u64;
            parts.extend(ranges.into_iter().map(|within| Part { file: number, within, of }));
        }
        Ok(parts)
    }

    /// Live rows of a part, of some columns.
    ///
    /// # Errors
    /// As [`DataReader::read`].
    pub async fn batches(&self, part: &Part, columns: &[usize]) -> Result<BoxStream<'static, Result<LiveBatch>>> {
        let mut file = readable(self.job.snapshot.store(), &self.job.files[part.file]).await?;
        for place in &self.leaving {
            // As a partition value the empty string is NULL to every reader
            // that goes by the protocol; as data it would be a value.
            if let Some(value) = file.partition.0.get_mut(*place)
                && matches!(value, Value::String(text) if text.is_empty())
            {
                *value = Value::Null;
            }
        }
        self.source.read_part(&file, columns, None, &part.within).await
    }

    /// The added columns of some rows; `columns` are those of the batch.
    ///
    /// # Errors
    /// `Usage` where an expression fails on a row.
    pub fn added(&self, batch: &RecordBatch, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let schema = self.schema();
        let fields = schema.fields().iter().skip(self.columns.len());
        self.job
            .added
            .iter()
            .zip(fields)
            .map(|(bound, field)| computed(bound, batch, columns, field.data_type()))
            .collect()
    }

    /// A full-width batch with the added columns.
    ///
    /// # Errors
    /// As [`Reading::added`].
    pub fn widened(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let mut columns = batch.columns().to_vec();
        columns.extend(self.added(&batch, &self.columns)?);
        RecordBatch::try_new(self.schema(), columns)
            .context(ErrorKind::Internal, || "rows do not line up with the new layout".into())
    }

    /// The file's bytes that a part stands for, for progress.
    pub fn bytes(&self, part: &Part) -> u64 {
        self.job.files[part.file].size / part.of.max(1)
    }
}

/// An expression's value for each row of a batch with some of the table's `columns`.
fn computed(bound: &Bound, batch: &RecordBatch, columns: &[usize], data_type: &DataType) -> Result<ArrayRef> {
    let places: Vec<(usize, usize)> = bound
        .columns()
        .iter()
        .filter_map(|(_, column)| Some((*column, columns.iter().position(|c| c == column)?)))
        .collect();
    let place = |column: usize| places.iter().find(|(c, _)| *c == column).map(|(_, place)| *place);
    let values = (0..batch.num_rows())
        .map(|row| {
            bound.evaluate(&|_, column| {
                place(column).map_or(Value::Null, |place| value_at(batch.column(place).as_ref(), row))
            })
        })
        .collect::<Result<Vec<Value>>>()?;
    array_of(&values, data_type)
}

/// Works on pieces, a few at the same time; each task keeps a state of its own.
/// After the first error the other tasks are told to stop, and waited for, so
/// that none of them writes a file once the error is known.
///
/// # Errors
/// The first one; `Cancelled`.
pub async fn each<P, L, N, W>(pieces: Vec<P>, progress: &Progress, new: N, work: W) -> Result<Vec<L>>
where
    P: Send + Sync + 'static,
    L: Send + 'static,
    N: Fn() -> L,
    W: for<'a> Fn(&'a P, &'a mut L, &'a Stop) -> BoxFuture<'a, Result<()>> + Send + Sync + 'static,
{
    let (count, pieces, next) = (workers(pieces.len()), Arc::new(pieces), Arc::new(AtomicUsize::new(0)));
    let work = Arc::new(work);
    let stop = Stop { token: CancellationToken::new(), progress: progress.clone() };
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let (pieces, next, work, stop, mut local) = (pieces.clone(), next.clone(), work.clone(), stop.clone(), new());
        tasks.spawn(async move {
            while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                let done = async {
                    stop.check()?;
                    work(piece, &mut local, &stop).await
                };
                if let Err(error) = done.await {
                    stop.token.cancel();
                    return Err(error);
                }
            }
            Ok(local)
        });
    }
    let (mut done, mut first): (Vec<L>, Option<Error>) = (Vec::new(), None);
    while let Some(ended) = tasks.join_next().await {
        match ended.context(ErrorKind::Internal, || "rewriting rows broke off".into()).and_then(|inner| inner) {
            Ok(local) => done.push(local),
            Err(error) => {
                stop.token.cancel();
                // That a task was stopped is not what went wrong.
                match &first {
                    Some(known) if known.kind != ErrorKind::Cancelled => {}
                    _ => first = Some(error),
                }
            }
        }
    }
    match first {
        None => Ok(done),
        Some(error) => Err(error),
    }
}

/// Whether a task should go on.
#[derive(Clone)]
pub struct Stop {
    token: CancellationToken,
    progress: Progress,
}

impl Stop {
    /// # Errors
    /// `Cancelled`, by a person or because another task failed.
    pub fn check(&self) -> Result<()> {
        self.progress.check()?;
        match self.token.is_cancelled() {
            true => Err(Error::new(ErrorKind::Cancelled, "stopped, because another part failed")),
            false => Ok(()),
        }
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// Hands on the batches of a stream, as long as nobody stops it.
///
/// # Errors
/// Whatever the stream or `take` gives; `Cancelled`.
pub async fn take_all<T>(
    mut batches: BoxStream<'static, Result<T>>,
    stop: &Stop,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    while let Some(batch) = batches.try_next().await? {
        stop.check()?;
        take(batch)?;
    }
    Ok(())
}
