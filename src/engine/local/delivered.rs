//! The source's rows as its view gives them: filtered, renamed, computed.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use deltalake::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use deltalake::arrow::compute::filter_record_batch;
use deltalake::arrow::datatypes::SchemaRef;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::compile::find;
use crate::engine::RowJob;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::{DataReader, LiveBatch, TableLayout, array_of, arrow_type, value_at};
use crate::plan::view::{RowMeaning, SourceView};
use crate::predicate::{Bound, RowExpr, Scope, Side};
use crate::source::Source;
use crate::source::cast::cast_column;
use crate::table::{Field, Schema, Value};

/// Columns of the source with what its view computes: a computed column takes
/// the place of the delivered one of its name.
///
/// # Errors
/// `Usage` for texts that cannot be read.
pub fn delivered_schema(source: &Source, view: &SourceView) -> Result<Schema> {
    let mut schema = source.schema().clone();
    for (name, bound) in computed(source, view)? {
        let field =
            Field { name, data_type: bound.data_type().clone(), nullable: true, metadata: serde_json::Map::new() };
        match schema.find(&field.name).and_then(|f| schema.index_of(&f.name)) {
            Some(index) => schema.fields[index] = field,
            None => schema.fields.push(field),
        }
    }
    Ok(schema)
}

fn computed(source: &Source, view: &SourceView) -> Result<Vec<(String, Bound)>> {
    let none = Schema { fields: Vec::new() };
    let scope = Scope { source: source.schema(), target: &none };
    view.columns.iter().map(|(name, text)| Ok((name.clone(), RowExpr::parse(text)?.bind(&scope)?))).collect()
}

/// Where a column of the delivered schema comes from.
#[derive(Debug)]
enum Origin {
    Stored(usize),
    Computed(Arc<Bound>),
}

/// Rows of the source in the table's types, with what clauses look at.
#[derive(Debug)]
pub struct Delivered {
    /// The wanted columns of the table; NULL where the source has none.
    pub batch: RecordBatch,
    /// The key's columns in the table's types.
    pub keys: Vec<ArrayRef>,
    /// The cells that rules read, in the source's types.
    pub cells: Vec<ArrayRef>,
    pub positions: Vec<u64>,
    /// Rows that stand for deletions; empty where none can.
    pub deletions: Vec<bool>,
    /// Rows that mean nothing: before-images. They are in none of the above.
    pub excluded: u64,
}

/// What is wanted of each batch.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Indexes of the table's schema.
    pub columns: Vec<usize>,
    pub keys: bool,
    /// Indexes of the delivered schema.
    pub cells: Vec<usize>,
}

/// Reads a job's source through its view. Cheap to clone.
#[derive(Clone)]
pub struct DeliveredReader {
    source: Source,
    reader: DataReader,
    parts: Arc<Parts>,
}

struct Parts {
    table: SchemaRef,
    /// Per column of the table: the delivered column, if there is one.
    columns: Vec<Option<usize>>,
    /// Per key column: (column of the table, delivered column).
    keys: Vec<(usize, usize)>,
    origins: Vec<Origin>,
    filter: Option<Bound>,
    /// (delivered column, meaning by text)
    operations: Option<(usize, HashMap<Option<String>, RowMeaning>)>,
}

impl DeliveredReader {
    /// # Errors
    /// `Usage` for names and texts of the view.
    pub fn new(job: &RowJob, layout: &TableLayout) -> Result<DeliveredReader> {
        let schema = delivered_schema(&job.source, &job.view)?;
        let stored = job.source.schema();
        let mut origins: Vec<Origin> = (0..schema.fields.len()).map(Origin::Stored).collect();
        for (name, bound) in computed(&job.source, &job.view)? {
            origins[find(&schema, &name, "the source")?] = Origin::Computed(Arc::new(bound));
        }
        let none = Schema { fields: Vec::new() };
        let filter = match &job.view.filter {
            None => None,
            Some(text) => Some(RowExpr::parse(text)?.bind(&Scope { source: stored, target: &none })?),
        };
        let operations = match &job.view.operations {
            None => None,
            Some(column) => {
                Some((find(&schema, &column.column, "the source")?, column.codes.iter().cloned().collect()))
            }
        };
        let keys = job
            .key
            .iter()
            .map(|pair| {
                Ok((find(&layout.schema, &pair.target, "the table")?, find(&schema, &pair.source, "the source")?))
            })
            .collect::<Result<_>>()?;
        let parts = Parts {
            table: layout.arrow_schema().clone(),
            columns: job.matching.columns.clone(),
            keys,
            origins,
            filter,
            operations,
        };
        Ok(DeliveredReader { reader: job.source.reader(), source: job.source.clone(), parts: Arc::new(parts) })
    }

    /// Whether the key's columns are read like any others, from the delivered
    /// columns of their names.
    pub fn keys_are_columns(&self) -> bool {
        self.parts.keys.iter().all(|(column, delivered)| self.parts.columns[*column] == Some(*delivered))
    }

    /// Parts of a file that can be read at the same time.
    pub async fn split(&self, file: usize, bytes: u64) -> Result<Vec<Range<u64>>> {
        self.reader.parts(&self.source.files[file], bytes).await
    }

    /// Batches of one file. Rows that the view leaves out are not in them.
    ///
    /// # Errors
    /// `BadDataFile` and the like; `LossyType` for a value that does not fit.
    pub async fn read(
        &self,
        file: usize,
        wanted: &Wanted,
        select: Option<&[u64]>,
        within: &Range<u64>,
    ) -> Result<BoxStream<'static, Result<Delivered>>> {
        let parts = self.parts.clone();
        let mut stored: Vec<usize> = Vec::new();
        let mut need = |delivered: usize| match &parts.origins[delivered] {
            Origin::Stored(column) => stored.push(*column),
            Origin::Computed(bound) => stored.extend(bound.columns().iter().map(|(_, column)| *column)),
        };
        wanted.columns.iter().filter_map(|c| parts.columns[*c]).for_each(&mut need);
        wanted.cells.iter().copied().for_each(&mut need);
        if wanted.keys {
            parts.keys.iter().for_each(|(_, delivered)| need(*delivered));
        }
        if let Some((column, _)) = &parts.operations {
            need(*column);
        }
        stored.extend(parts.filter.iter().flat_map(|bound| bound.columns().iter().map(|(_, column)| *column)));
        stored.sort_unstable();
        stored.dedup();
        let batches = self.reader.read_part(&self.source.files[file], &stored, select, within).await?;
        let wanted = wanted.clone();
        Ok(batches.and_then(move |live| futures::future::ready(parts.look(live, &stored, &wanted))).boxed())
    }
}

impl Parts {
    fn look(&self, live: LiveBatch, stored: &[usize], wanted: &Wanted) -> Result<Delivered> {
        let LiveBatch { mut batch, mut positions } = live;
        let place = |column: usize| stored.partition_point(|c| *c < column);
        if let Some(bound) = &self.filter {
            let keep = evaluate(bound, &batch, place)?;
            let keep: Vec<bool> = keep.into_iter().map(|v| v == Value::Boolean(true)).collect();
            (batch, positions) = retain(&batch, positions, &keep)?;
        }
        let delivered = |batch: &RecordBatch, column: usize| -> Result<ArrayRef> {
            match &self.origins[column] {
                Origin::Stored(source) => Ok(batch.column(place(*source)).clone()),
                Origin::Computed(bound) => array_of(&evaluate(bound, batch, place)?, &arrow_type(bound.data_type())),
            }
        };
        let (mut deletions, mut excluded) = (Vec::new(), 0);
        if let Some((column, codes)) = &self.operations {
            let codes_of = delivered(&batch, *column)?;
            let meanings: Vec<RowMeaning> = (0..codes_of.len())
                .map(|row| meaning(codes, &value_at(codes_of.as_ref(), row)))
                .collect::<Result<_>>()?;
            let keep: Vec<bool> = meanings.iter().map(|m| *m != RowMeaning::BeforeImage).collect();
            deletions =
                meanings.iter().filter(|m| **m != RowMeaning::BeforeImage).map(|m| *m == RowMeaning::Delete).collect();
            excluded = keep.iter().filter(|keep| !**keep).count() as u64;
            (batch, positions) = retain(&batch, positions, &keep)?;
        }
        let rows = batch.num_rows();
        let typed = |column: usize, from: usize| cast_column(&delivered(&batch, from)?, self.table.field(column));
        let columns = wanted
            .columns
            .iter()
            .map(|column| match self.columns[*column] {
                Some(from) => typed(*column, from),
                None => Ok(new_null_array(self.table.field(*column).data_type(), rows)),
            })
            .collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(
            self.table
                .project(&wanted.columns)
                .map_err(|e| Error::new(ErrorKind::Internal, "columns of the table that are not there").because(e))?,
        );
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let keys = if wanted.keys { self.keys.as_slice() } else { &[] };
        Ok(Delivered {
            keys: keys.iter().map(|(column, from)| typed(*column, *from)).collect::<Result<_>>()?,
            cells: wanted.cells.iter().map(|column| delivered(&batch, *column)).collect::<Result<_>>()?,
            batch: RecordBatch::try_new_with_options(schema, columns, &options)
                .context(ErrorKind::Internal, || "the source's columns do not line up with the table's".into())?,
            positions,
            deletions,
            excluded,
        })
    }
}

fn meaning(codes: &HashMap<Option<String>, RowMeaning>, code: &Value) -> Result<RowMeaning> {
    let text = (!code.is_null()).then(|| code.plain());
    codes.get(&text).copied().ok_or_else(|| {
        let shown = text.map_or("NULL".to_owned(), |t| format!("'{t}'"));
        Error::new(ErrorKind::BadSource, format!("the operation column holds {shown}, whose meaning was not given"))
            .hint("Name it: --operation-column COLUMN=CODE:upsert|delete|before-image,…")
    })
}

fn evaluate(bound: &Bound, batch: &RecordBatch, place: impl Fn(usize) -> usize) -> Result<Vec<Value>> {
    (0..batch.num_rows())
        .map(|row| bound.evaluate(&|_: Side, column: usize| value_at(batch.column(place(column)).as_ref(), row)))
        .collect()
}

fn retain(batch: &RecordBatch, positions: Vec<u64>, keep: &[bool]) -> Result<(RecordBatch, Vec<u64>)> {
    if keep.iter().all(|keep| *keep) {
        return Ok((batch.clone(), positions));
    }
    let mask = BooleanArray::from(keep.to_vec());
    let failed = || "rows of a batch could not be left out".to_owned();
    let batch = if batch.num_columns() == 0 {
        let rows = keep.iter().filter(|keep| **keep).count();
        RecordBatch::try_new_with_options(
            batch.schema(),
            Vec::new(),
            &RecordBatchOptions::new().with_row_count(Some(rows)),
        )
        .context(ErrorKind::Internal, failed)?
    } else {
        filter_record_batch(batch, &mask).context(ErrorKind::Internal, failed)?
    };
    let positions = positions.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(p, _)| p).collect();
    Ok((batch, positions))
}
