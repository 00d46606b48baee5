//! Sorting one partition that does not fit into memory: DataFusion's external
//! merge sort, with a bounded pool and its runs in the spill folder.

use std::sync::Arc;

use deltalake::arrow::array::{ArrayRef, RecordBatch};
use deltalake::arrow::compute::concat;
use deltalake::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use deltalake::datafusion::error::DataFusionError;
use deltalake::datafusion::execution::TaskContext;
use deltalake::datafusion::execution::memory_pool::FairSpillPool;
use deltalake::datafusion::execution::runtime_env::RuntimeEnvBuilder;
use deltalake::datafusion::physical_expr::expressions::Column;
use deltalake::datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use deltalake::datafusion::physical_plan::sorts::sort::SortExec;
use deltalake::datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use deltalake::datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use deltalake::datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};

use super::order::{ASCENDING, Curve, Sorting, sample};
use super::spill::Pool;
use super::write::stream_of;
use crate::error::{Context, Error, ErrorKind, Result};

/// Below this the sort cannot hold what it merges.
const LEAST: usize = 64 << 20;
/// Pieces of a partition that the ranks of a Z-order are sampled from.
const SAMPLED_PIECES: usize = 8;
/// The column that holds places on the curve while rows are sorted.
const KEY: &str = "\u{0}place on the curve";

/// The rows of a bucket in their order; `picked`: only those of one partition.
///
/// # Errors
/// `Storage`, `UnsupportedType`.
pub async fn sorted(
    pool: &Arc<Pool>,
    bucket: usize,
    picked: Option<u32>,
    sorting: &Sorting,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let plain = pool.schema();
    let (curve, schema, keys) = match sorting {
        Sorting::None => return Ok(rows(pool.clone(), bucket, picked)),
        Sorting::Columns(columns) => (None, plain.clone(), columns.clone()),
        Sorting::ZOrder(columns) => {
            let curve = Curve::new(&sample_of(pool, bucket, columns)?)?;
            let key = Field::new(KEY, DataType::Binary, false);
            let fields = plain.fields().iter().cloned().chain([Arc::new(key)]);
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            (Some((Arc::new(curve), columns.clone())), schema, vec![plain.fields().len()])
        }
    };
    let source = Source { pool: pool.clone(), bucket, picked, curve, schema: schema.clone() };
    let failed = |e: DataFusionError| {
        Error::new(ErrorKind::Storage, "the rows of a large partition could not be sorted")
            .hint("Is the disk full? Set spill_dir, or a larger memory_limit, in the config.")
            .because(e)
    };
    let input = StreamingTableExec::try_new(schema.clone(), vec![Arc::new(source)], None, None, false, None);
    let by = keys
        .into_iter()
        .map(|column| PhysicalSortExpr::new(Arc::new(Column::new(schema.field(column).name(), column)), ASCENDING));
    let order =
        LexOrdering::new(by).ok_or_else(|| Error::new(ErrorKind::Internal, "rows were to be sorted by no column"))?;
    let sort = SortExec::new(order, Arc::new(input.map_err(failed)?));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new((pool.memory() / 4).max(LEAST))))
        .with_temp_file_path(pool.folder())
        .build_arc()
        .map_err(failed)?;
    let context = Arc::new(TaskContext::default().with_runtime(runtime));
    let batches = sort.execute(0, context).map_err(failed)?;
    let columns: Vec<usize> = (0..plain.fields().len()).collect();
    let narrowed = batches.map_err(failed).and_then(move |batch| {
        let narrow = batch.project(&columns).context(ErrorKind::Internal, || "a sorted batch lacks columns".into());
        futures::future::ready(narrow)
    });
    Ok(narrowed.boxed())
}

/// The rows of a bucket as they lie there.
fn rows(pool: Arc<Pool>, bucket: usize, picked: Option<u32>) -> BoxStream<'static, Result<RecordBatch>> {
    let Some(wanted) = picked else { return stream_of(pool, bucket) };
    let pieces = pool.pieces(bucket);
    let read = move |at| -> Result<Vec<RecordBatch>> {
        let pieces = pool.piece(bucket, at)?;
        Ok(pieces.iter().flat_map(|p| p.slices(|n| n == wanted).map(|(_, rows)| rows).collect::<Vec<_>>()).collect())
    };
    stream::iter((0..pieces).map(read))
        .map_ok(|batches| stream::iter(batches.into_iter().map(Ok)))
        .try_flatten()
        .boxed()
}

fn sample_of(pool: &Pool, bucket: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
    let pieces = pool.pieces(bucket);
    let mut samples: Vec<Vec<ArrayRef>> = vec![Vec::new(); columns.len()];
    for at in (0..pieces).step_by((pieces / SAMPLED_PIECES).max(1)) {
        for piece in pool.piece(bucket, at)? {
            let taken = sample(&piece.batch, columns)?;
            samples.iter_mut().zip(taken).for_each(|(all, column)| all.push(column));
        }
    }
    let joined = samples.iter().map(|parts| {
        let parts: Vec<&dyn deltalake::arrow::array::Array> = parts.iter().map(AsRef::as_ref).collect();
        concat(&parts).context(ErrorKind::Internal, || "samples could not be joined".into())
    });
    joined.collect()
}

/// What the sort reads.
struct Source {
    pool: Arc<Pool>,
    bucket: usize,
    picked: Option<u32>,
    curve: Option<(Arc<Curve>, Vec<usize>)>,
    schema: SchemaRef,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}

impl PartitionStream for Source {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (curve, schema) = (self.curve.clone(), self.schema.clone());
        let widen = move |batch: RecordBatch| -> Result<RecordBatch> {
            let Some((curve, columns)) = &curve else { return Ok(batch) };
            let mut arrays = batch.columns().to_vec();
            arrays.push(Arc::new(curve.keys(&batch, columns)?));
            RecordBatch::try_new(schema.clone(), arrays)
                .context(ErrorKind::Internal, || "rows do not line up with their keys".into())
        };
        let rows = rows(self.pool.clone(), self.bucket, self.picked)
            .map(move |batch| batch.and_then(&widen).map_err(|e| DataFusionError::External(Box::new(e))));
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), rows))
    }
}
