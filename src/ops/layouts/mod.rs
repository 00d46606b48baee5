//! What-if: how the table would lie under other layouts, before a byte is
//! written.

mod cost;
mod evaluate;
mod queries;
mod report;

pub(super) use cost::FileCosts;
pub use report::{LayoutReport, Sampled};

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::browse::OpenTable;
use super::context::Context;
use crate::engine::local::key_scan::column_hashes;
use crate::engine::local::whatif::{Grouping, Sample, sample};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::{DataReader, TableLayout, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::plan::layouts::propose::{ColumnFacts, is_plain, propose};
use crate::plan::layouts::{ByColumn, Candidate, LayoutBy, Limits, Origin, advice, distinct_estimate};
use crate::predicate::{Bounds, Predicate};
use crate::progress::Progress;
use crate::table::{DataFile, Metadata, PartitionTuple};

/// Footers that are read at the same time.
const FOOTERS: usize = 16;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct LayoutRequest {
    /// Empty: layouts are proposed.
    pub by: Vec<LayoutBy>,
    /// Conditions, beside those of the config.
    pub queries: Vec<String>,
    /// Count every candidate exactly, and measure its bytes.
    pub exact: bool,
}

/// The table, ready to be looked at under any layout.
pub(super) struct Subject<'a> {
    pub table: &'a OpenTable,
    pub files: Vec<DataFile>,
    /// Physical rows of each file.
    pub rows: Vec<u64>,
    pub costs: FileCosts,
    pub queries: Vec<Predicate>,
    pub limits: Limits,
}

/// Layouts of a table, given or proposed, with their numbers and advice.
///
/// # Errors
/// `Usage` for unknown columns, expressions and queries; whatever is wrong with
/// the table.
pub async fn layouts(
    _context: &Context,
    table: &OpenTable,
    request: &LayoutRequest,
    progress: &Progress,
) -> Result<LayoutReport> {
    let metadata = table.metadata();
    let subject = Subject::open(table, &request.queries, progress).await?;
    // What is wrong with a candidate is said before anything is read.
    for by in &request.by {
        Grouping::new(by, &metadata.schema)?;
    }
    let today = today(metadata);
    let sample = subject.sample(&request.by, progress).await?;
    let mut wanted: Vec<(LayoutBy, Origin)> = vec![(today.clone(), Origin::Today)];
    if request.by.is_empty() {
        let facts = column_facts(&sample, metadata)?;
        let queried = queries::columns(&subject.queries, metadata);
        let rows = subject.live_rows();
        let found = propose(&facts, &metadata.schema, &queried, rows, &metadata.partition_columns, &subject.limits);
        wanted.extend(found.into_iter().map(|by| (by, Origin::Proposed)));
    } else {
        let given = request.by.iter().filter(|by| **by != today).cloned();
        wanted.extend(given.map(|by| (by, Origin::Given)));
    }
    let mut candidates: Vec<Candidate> = Vec::new();
    for (by, origin) in wanted {
        progress.check()?;
        let exact = request.exact && origin != Origin::Today;
        candidates.push(subject.evaluate(&by, origin, &sample, exact, progress).await?);
    }
    let bytes = subject.bytes();
    let told = advice::recommend(&candidates, bytes, &subject.limits);
    Ok(LayoutReport {
        table: table.location.clone(),
        version: table.version(),
        partition_columns: metadata.partition_columns.clone(),
        rows: subject.live_rows(),
        files: subject.files.len() as u64,
        bytes,
        sampled: Sampled { rows: sample.rows, of: sample.total },
        queries: subject.queries.iter().map(|q| q.text().to_owned()).collect(),
        candidates,
        recommended: told.index,
        because: told.because,
        advice: told.advice,
        breakers: Vec::new(),
    })
}

/// The exact pass over one candidate: partitions and rows counted, bytes
/// measured from a sample that is encoded in the new order.
///
/// # Errors
/// As [`layouts`].
pub async fn exact_layout(
    _context: &Context,
    table: &OpenTable,
    by: &LayoutBy,
    queries: &[String],
    progress: &Progress,
) -> Result<Candidate> {
    let subject = Subject::open(table, queries, progress).await?;
    Grouping::new(by, &table.metadata().schema)?;
    let sample = subject.sample(std::slice::from_ref(by), progress).await?;
    let origin = if *by == today(table.metadata()) { Origin::Today } else { Origin::Given };
    subject.evaluate(by, origin, &sample, true, progress).await
}

/// How the table is partitioned now.
pub fn today(metadata: &Metadata) -> LayoutBy {
    LayoutBy::of(metadata.partition_columns.iter().map(ByColumn::plain))
}

impl Subject<'_> {
    async fn open<'a>(table: &'a OpenTable, queries: &[String], progress: &Progress) -> Result<Subject<'a>> {
        let metadata = table.metadata();
        let known = &table.settings.known.queries;
        let extra = queries.iter().filter(|q| !known.contains(q));
        let texts: Vec<String> = known.iter().chain(extra).cloned().collect();
        let queries = queries::parse(&texts, metadata)?;
        let mut files = table.snapshot().files(true).await?;
        files.sort_by(|a, b| (&a.partition, &a.path).cmp(&(&b.partition, &b.path)));
        let rows = physical_rows(table, &files, progress).await?;
        let costs = FileCosts::read(table, &files, &rows, progress).await?;
        Ok(Subject { table, files, rows, costs, queries, limits: table.settings.layout.clone() })
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size).sum()
    }

    pub fn live_rows(&self) -> u64 {
        self.files.iter().zip(&self.rows).map(|(f, rows)| rows.saturating_sub(f.deleted_rows())).sum()
    }

    /// Rows of every column that a layout could need.
    async fn sample(&self, given: &[LayoutBy], progress: &Progress) -> Result<Sample> {
        let metadata = self.table.metadata();
        let schema = &metadata.schema;
        let mut columns: Vec<usize> = Vec::new();
        let names = queries::columns(&self.queries, metadata);
        if given.is_empty() {
            columns.extend((0..schema.fields.len()).filter(|i| is_plain(&schema.fields[*i].data_type)));
        } else {
            for by in given {
                columns.extend(Grouping::new(by, schema)?.inputs());
                columns.extend(by.sort_by.iter().map(|c| index_of(metadata, c)).collect::<Result<Vec<_>>>()?);
            }
            columns.extend(metadata.partition_columns.iter().filter_map(|c| schema.index_of(c)));
        }
        columns.extend(names.iter().filter_map(|c| schema.index_of(c)));
        columns.sort_unstable();
        columns.dedup();
        let snapshot = self.table.snapshot();
        sample(snapshot, &self.files, &self.rows, &columns, self.limits.sample_rows, progress).await
    }
}

fn index_of(metadata: &Metadata, name: &str) -> Result<usize> {
    let schema = &metadata.schema;
    schema.find(name).and_then(|f| schema.index_of(&f.name)).ok_or_else(|| {
        let names: Vec<&str> = schema.names().collect();
        Error::new(ErrorKind::Usage, format!("the table has no column {name} to sort by"))
            .hint(format!("It has {}.", names.join(", ")))
    })
}

/// Rows of each file, from the log or else from its footer.
pub(super) async fn physical_rows(table: &OpenTable, files: &[DataFile], progress: &Progress) -> Result<Vec<u64>> {
    let mut rows: Vec<u64> = files.iter().map(|f| f.num_records.unwrap_or(0)).collect();
    let unknown: Vec<(usize, DataFile)> =
        files.iter().cloned().enumerate().filter(|(_, f)| f.num_records.is_none()).collect();
    let layout = Arc::new(TableLayout::from_metadata(table.metadata())?);
    let mut footers = stream::iter(unknown)
        .map(|(at, file)| {
            let (store, layout) = (table.snapshot().store().clone(), Arc::clone(&layout));
            async move {
                let live = DataReader::new(layout).row_count(&readable(&store, &file).await?).await?;
                Ok::<_, Error>((at, live + file.deleted_rows()))
            }
        })
        .buffer_unordered(FOOTERS);
    while let Some((at, physical)) = footers.try_next().await? {
        progress.check()?;
        rows[at] = physical;
    }
    drop(footers);
    Ok(rows)
}

/// Distinct values and bounds of each plain column, from the sample.
fn column_facts(sample: &Sample, metadata: &Metadata) -> Result<Vec<ColumnFacts>> {
    let mut facts = Vec::new();
    for (place, index) in sample.columns.iter().enumerate() {
        let field = &metadata.schema.fields[*index];
        let Some(data_type) = field.primitive().cloned() else { continue };
        let mut seen: std::collections::HashMap<u128, u32> = std::collections::HashMap::new();
        let mut values = Vec::new();
        for batch in sample.batches() {
            for (row, hash) in column_hashes(batch, place)?.into_iter().enumerate() {
                let times = seen.entry(hash).or_insert(0);
                if *times == 0 {
                    values.push(value_at(batch.column(place).as_ref(), row));
                }
                *times = times.saturating_add(1);
            }
        }
        let once = seen.values().filter(|n| **n == 1).count() as u64;
        let bounds = Bounds::of(&values);
        facts.push(ColumnFacts {
            name: field.name.clone(),
            data_type,
            distinct: distinct_estimate(sample.total, sample.rows, seen.len() as u64, once),
            min: bounds.min,
            max: bounds.max,
        });
    }
    Ok(facts)
}

/// The partitions of today's files.
fn live_partitions(files: &[DataFile]) -> std::collections::BTreeMap<&PartitionTuple, Vec<usize>> {
    let mut found: std::collections::BTreeMap<&PartitionTuple, Vec<usize>> = std::collections::BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        found.entry(&file.partition).or_default().push(at);
    }
    found
}
