//! From rows to the partitions that they would fall into.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake::arrow::array::RecordBatch;
use futures::{StreamExt, TryStreamExt, stream};

use crate::engine::local::key_scan::{HashMap128, key_hashes};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::data::{DataReader, TableLayout, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::plan::layouts::LayoutBy;
use crate::predicate::{Bound, RowExpr, Scope};
use crate::progress::{Phase, Progress};
use crate::table::schema::PrimitiveType;
use crate::table::{DataFile, DataType, PartitionTuple, Schema, Value};

/// Inputs of expressions whose results are kept: beyond, they are computed again.
const MOST_CACHED: usize = 1 << 20;
/// Files that are decoded at the same time.
const AT_ONCE: usize = 4;

/// The partition columns of a layout, bound to a table's schema.
#[derive(Debug, Clone)]
pub struct Grouping {
    /// Indexes of the schema: the columns that the values are made of.
    inputs: Vec<usize>,
    columns: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    data_type: PrimitiveType,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    /// A place among the inputs.
    Input(usize),
    /// Reads inputs by their index in the schema.
    Computed(Bound),
}

impl Grouping {
    /// # Errors
    /// `Usage` for an unknown column, an expression that is not understood, a
    /// new column that is there already; `UnsupportedType` for a column that
    /// cannot partition.
    pub fn new(by: &LayoutBy, schema: &Schema) -> Result<Grouping> {
        let mut inputs: Vec<usize> = Vec::new();
        let mut place = |column: usize| match inputs.iter().position(|c| *c == column) {
            Some(at) => at,
            None => {
                inputs.push(column);
                inputs.len() - 1
            }
        };
        let left = |name: &str| !by.columns.iter().any(|c| c.expression.is_none() && c.name.eq_ignore_ascii_case(name));
        if !by.columns.is_empty() && !schema.names().any(left) {
            return Err(Error::new(ErrorKind::Usage, "no column would be left for the data files")
                .hint("Delta wants at least one that is no partition column."));
        }
        let mut columns = Vec::new();
        for column in &by.columns {
            let (data_type, from) = match &column.expression {
                None => {
                    let index = index_of(schema, &column.name)?;
                    (schema.fields[index].data_type.clone(), From::Input(place(index)))
                }
                Some(sql) => {
                    if let Some(there) = schema.find(&column.name) {
                        return Err(Error::new(
                            ErrorKind::Usage,
                            format!("the table has a column {} already", there.name),
                        )
                        .hint("Give the new column another name: … AS name."));
                    }
                    let none = Schema { fields: Vec::new() };
                    let bound = RowExpr::parse(sql)?.bind(&Scope { source: &none, target: schema })?;
                    if bound.columns().is_empty() {
                        return Err(Error::new(ErrorKind::Usage, format!("`{sql}` names no column of the table")));
                    }
                    bound.columns().iter().for_each(|(_, index)| {
                        place(*index);
                    });
                    (bound.data_type().clone(), From::Computed(bound))
                }
            };
            let data_type = match data_type {
                DataType::Primitive(t) if t != PrimitiveType::Binary => t,
                other => {
                    return Err(Error::new(
                        ErrorKind::UnsupportedType,
                        format!("{} is a {other}, and no table can be partitioned by that", column.name),
                    )
                    .hint("Partition columns are plain columns, and not binary."));
                }
            };
            columns.push(Column { name: column.name.clone(), data_type, from });
        }
        Ok(Grouping { inputs, columns })
    }

    /// Indexes of the schema that have to be read.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// Name and type of each partition column.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &PrimitiveType)> {
        self.columns.iter().map(|c| (c.name.as_str(), &c.data_type))
    }

    /// The partition of a row whose inputs have these values.
    ///
    /// # Errors
    /// Where an expression fails, as it does in Spark.
    pub fn tuple(&self, cells: &[Value]) -> Result<PartitionTuple> {
        let value = |column: &Column| match &column.from {
            From::Input(at) => Ok(cells[*at].clone()),
            From::Computed(bound) => bound.evaluate(&|_, index| {
                let at = self.inputs.iter().position(|c| *c == index);
                at.map_or(Value::Null, |at| cells[at].clone())
            }),
        };
        Ok(PartitionTuple(self.columns.iter().map(value).collect::<Result<_>>()?))
    }
}

fn index_of(schema: &Schema, name: &str) -> Result<usize> {
    schema.find(name).and_then(|f| schema.index_of(&f.name)).ok_or_else(|| {
        let names: Vec<&str> = schema.names().collect();
        Error::new(ErrorKind::Usage, format!("the table has no column {name}"))
            .hint(format!("It has {}. An expression is given a name: year(ts) AS y.", names.join(", ")))
    })
}

/// Numbers partitions in the order in which they are met.
#[derive(Default)]
pub struct Groups {
    pub tuples: Vec<PartitionTuple>,
    numbers: HashMap<PartitionTuple, u32>,
    cache: HashMap128<u32>,
}

impl Groups {
    fn number(&mut self, tuple: PartitionTuple) -> u32 {
        if let Some(number) = self.numbers.get(&tuple) {
            return *number;
        }
        let number = u32::try_from(self.tuples.len()).unwrap_or(u32::MAX);
        self.tuples.push(tuple.clone());
        self.numbers.insert(tuple, number);
        number
    }
}

/// The number of each row's partition. The batch's columns are the grouping's
/// inputs, in their order.
///
/// # Errors
/// `UnsupportedType`; where an expression fails.
pub fn group_batch(grouping: &Grouping, batch: &RecordBatch, groups: &mut Groups) -> Result<Vec<u32>> {
    if grouping.inputs.is_empty() {
        let number = groups.number(PartitionTuple::default());
        return Ok(vec![number; batch.num_rows()]);
    }
    let places: Vec<usize> = (0..grouping.inputs.len()).collect();
    let hashes = key_hashes(batch, &places)?;
    let mut numbers = Vec::with_capacity(hashes.len());
    for (row, hash) in hashes.into_iter().enumerate() {
        if let Some(number) = groups.cache.get(&hash) {
            numbers.push(*number);
            continue;
        }
        let cells: Vec<Value> = batch.columns().iter().map(|c| value_at(c.as_ref(), row)).collect();
        let number = groups.number(grouping.tuple(&cells)?);
        if groups.cache.len() >= MOST_CACHED {
            groups.cache.clear();
        }
        groups.cache.insert(hash, number);
        numbers.push(number);
    }
    Ok(numbers)
}

/// Rows per partition.
#[derive(Debug, Default)]
pub struct Counted {
    pub rows: HashMap<PartitionTuple, u64>,
    /// There are more partitions than were asked for; the rest was not counted.
    pub stopped: bool,
}

/// Counts the live rows of these files by their partition under `grouping`, in
/// one pass over the columns that it needs. Stops beyond `most` partitions.
///
/// # Errors
/// Whatever reading gives, and where an expression fails.
pub async fn count(
    snapshot: &Snapshot,
    files: &[DataFile],
    grouping: &Grouping,
    most: usize,
    progress: &Progress,
) -> Result<Counted> {
    snapshot.protocol().check_rows()?;
    let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
    let of_partition: Option<Vec<usize>> =
        grouping.inputs.iter().map(|c| layout.partition_indexes().iter().position(|p| p == c)).collect();
    progress.enter(Phase::Reading, files.len() as u64, files.iter().map(|f| f.size).sum());
    let mut counted = Counted::default();
    let mut to_read = Vec::new();
    for file in files {
        // Where partition values alone decide, the log knows the rows.
        match (&of_partition, file.live_rows()) {
            (Some(places), Some(rows)) => {
                let cells: Vec<Value> =
                    places.iter().map(|p| file.partition.0.get(*p).cloned().unwrap_or(Value::Null)).collect();
                if rows > 0 {
                    *counted.rows.entry(grouping.tuple(&cells)?).or_insert(0) += rows;
                }
                progress.advance(1, rows, file.size);
            }
            _ => to_read.push(file.clone()),
        }
    }
    counted.stopped = counted.rows.len() > most;
    let mut parts = stream::iter(to_read)
        .map(|file| {
            let (store, layout) = (snapshot.store().clone(), Arc::clone(&layout));
            let (grouping, progress) = (grouping.clone(), progress.clone());
            // A task of its own: decoding takes every core.
            tokio::spawn(async move {
                let mut groups = Groups::default();
                let mut rows: Vec<u64> = Vec::new();
                let reader = DataReader::new(layout);
                let mut batches = reader.read(&readable(&store, &file).await?, grouping.inputs(), None).await?;
                while let Some(live) = batches.try_next().await? {
                    progress.check()?;
                    for number in group_batch(&grouping, &live.batch, &mut groups)? {
                        let at = number as usize;
                        if at >= rows.len() {
                            rows.resize(at + 1, 0);
                        }
                        rows[at] += 1;
                    }
                    progress.advance(0, live.positions.len() as u64, 0);
                    if groups.tuples.len() > most {
                        break;
                    }
                }
                progress.advance(1, 0, file.size);
                Ok::<_, Error>(groups.tuples.into_iter().zip(rows).collect::<Vec<_>>())
            })
        })
        .buffer_unordered(AT_ONCE);
    while let Some(part) = parts.next().await {
        if counted.stopped {
            break;
        }
        for (tuple, rows) in part.context(ErrorKind::Internal, || "counting stopped".into())?? {
            *counted.rows.entry(tuple).or_insert(0) += rows;
        }
        counted.stopped = counted.rows.len() > most;
    }
    Ok(counted)
}
