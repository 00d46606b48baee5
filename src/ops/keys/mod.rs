//! What is wrong with a key, and which columns could be one.
//!
//! Reads table and source; writes nothing. Memory is bounded: beyond some
//! million keys a sample of them is counted, and the report says so.

mod report;
mod rows;

pub use report::{
    Candidate, Elsewhere, ElsewhereKey, Finding, FloatKey, Group, GroupRow, KeyReport, Near, NearMember, SideKeys,
    TypeDifference, rules_text,
};

use super::browse::OpenTable;
use super::context::Context;
use crate::engine::local::key_candidates;
use crate::engine::local::key_scan::{Go, KeyCounter, KeySide, MOST_KEYS, key_hashes, null_rows};
use crate::engine::local::near_keys;
use crate::error::{Error, ErrorKind, Result};
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::source::{Needs, Source, match_columns};
use crate::table::schema::PrimitiveType;
use crate::table::{DataType, Field, Schema};

/// What is asked about.
#[derive(Debug, Clone, Default)]
pub struct KeyRequest {
    pub source: Option<String>,
    /// Empty: the config's key for the table; without one there only candidates
    /// are proposed.
    pub key: Vec<String>,
    /// Rows of both sides that count.
    pub filter: Option<Predicate>,
    /// Groups that are shown of each finding.
    pub limit: usize,
}

/// Rows that are shown of one group.
const ROWS_OF_GROUP: usize = 10;

/// Looks at a key on the table and, where one is given, on a source.
///
/// # Errors
/// `Usage` for a column that the table or the source lacks and for a filter
/// that does not fit; `UnsupportedType` for a nested key column; whatever keeps
/// a side from being read.
pub async fn diagnose_keys(
    _context: &Context,
    table: &OpenTable,
    request: &KeyRequest,
    progress: &Progress,
) -> Result<KeyReport> {
    let source = match &request.source {
        Some(reference) => Some(Source::open(reference).await?),
        None => None,
    };
    let target = KeySide::of_table(table.snapshot()).await?;
    let delivered = source.as_ref().map(KeySide::of_source);
    let given = if request.key.is_empty() { &table.settings.known.key } else { &request.key };
    let filter = request.filter.as_ref();

    let mut report = KeyReport::new(table.location.clone(), table.version(), source.as_ref().map(|s| s.uri.clone()));
    report.filter = filter.map(|f| f.text().to_owned());
    let target_key = columns(target.schema(), given, "table")?;
    report.key = names(target.schema(), &target_key);
    let source_key = match &delivered {
        Some(side) => columns(side.schema(), &report.key, "source")?,
        None => Vec::new(),
    };
    if !given.is_empty() {
        let counted = count(&target, &target_key, filter, progress).await?;
        report.table_keys =
            Some(rows::describe(&target, &target_key, filter, request.limit, &counted, progress).await?);
        report.elsewhere = rows::elsewhere(&target, &target_key, filter, request.limit, &counted, progress).await?;
        if let Some(side) = &delivered {
            let other = count(side, &source_key, filter, progress).await?;
            report.source_keys =
                Some(rows::describe(side, &source_key, filter, request.limit, &other, progress).await?);
            report.types = type_differences(target.schema(), &target_key, side.schema(), &source_key);
            let types = |schema: &Schema, key: &[usize]| -> Vec<DataType> {
                key.iter().map(|c| schema.fields[*c].data_type.clone()).collect()
            };
            let (ours, theirs) = (types(target.schema(), &target_key), types(side.schema(), &source_key));
            if ours.iter().zip(&theirs).all(|(a, b)| hash_alike(a, b)) {
                report.matched = Some(other.counter.shared_with(&counted.counter));
            }
        }
        report.floats = floats("table", target.schema(), &target_key);
        if let Some(side) = &delivered {
            report.floats.extend(floats("source", side.schema(), &source_key));
        }
        report.near = near(&target, &target_key, delivered.as_ref(), &source_key, request, progress).await?;
    }
    let unique = |side: &Option<SideKeys>| side.as_ref().is_none_or(|s| s.duplicate_keys == 0 && s.null_rows == 0);
    if given.is_empty() || !unique(&report.table_keys) || !unique(&report.source_keys) {
        report.candidates.extend(candidates("table", &target, filter, progress).await?);
        if let Some(side) = &delivered {
            report.candidates.extend(candidates("source", side, filter, progress).await?);
        }
    }
    report.conclude();
    Ok(report)
}

/// Names resolved to indexes of a schema, as SQL engines find columns.
fn columns(schema: &Schema, names: &[String], side: &str) -> Result<Vec<usize>> {
    let column = |name: &String| {
        let field = schema.find(name).ok_or_else(|| {
            let all: Vec<&str> = schema.names().collect();
            Error::new(ErrorKind::Usage, format!("the {side} has no column {name}"))
                .hint(format!("It has {}.", all.join(", ")))
        })?;
        if field.data_type.is_nested() {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("the key column {name} of the {side} is a {}", field.data_type),
            )
            .hint("A key is made of plain columns."));
        }
        schema
            .index_of(&field.name)
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("the column {name} was lost")))
    };
    names.iter().map(column).collect()
}

fn names(schema: &Schema, columns: &[usize]) -> Vec<String> {
    columns.iter().filter_map(|c| schema.fields.get(*c)).map(|f| f.name.clone()).collect()
}

/// The keys of one side.
struct CountedKeys {
    counter: KeyCounter,
    /// Rows with a NULL in the key, and per key column.
    null_rows: u64,
    nulls: Vec<u64>,
}

async fn count(side: &KeySide, key: &[usize], filter: Option<&Predicate>, progress: &Progress) -> Result<CountedKeys> {
    let places: Vec<usize> = (0..key.len()).collect();
    let mut counted = CountedKeys { counter: KeyCounter::new(MOST_KEYS), null_rows: 0, nulls: vec![0; key.len()] };
    let mut partitions = rows::Numbers::default();
    side.scan(key, filter, progress, &mut |scanned| {
        let partition = partitions.of(scanned.partition);
        key_hashes(&scanned.batch, &places)?.into_iter().for_each(|hash| counted.counter.add(hash, partition));
        counted.null_rows += null_rows(&scanned.batch, &places).into_iter().filter(|null| *null).count() as u64;
        for (sum, column) in counted.nulls.iter_mut().zip(scanned.batch.columns()) {
            *sum += column.null_count() as u64;
        }
        Ok(Go::On)
    })
    .await?;
    Ok(counted)
}

fn type_differences(table: &Schema, table_key: &[usize], source: &Schema, source_key: &[usize]) -> Vec<TypeDifference> {
    let pairs = table_key.iter().zip(source_key).map(|(t, s)| (&table.fields[*t], &source.fields[*s]));
    pairs
        .filter(|(t, s)| t.data_type != s.data_type)
        .map(|(t, s)| {
            let one = |field: &Field| Schema { fields: vec![field.clone()] };
            // The same judgement that a plan makes.
            let needs = Needs { key: std::slice::from_ref(&t.name), folders: &[], whole_rows: true };
            let matching = match_columns(&one(t), &one(s), needs);
            TypeDifference {
                column: t.name.clone(),
                table: t.data_type.to_string(),
                source: s.data_type.to_string(),
                refused: !matching.refusals.is_empty(),
            }
        })
        .collect()
}

/// Whether equal values of two types have the same hash.
fn hash_alike(a: &DataType, b: &DataType) -> bool {
    use PrimitiveType::*;
    let (DataType::Primitive(a), DataType::Primitive(b)) = (a, b) else { return false };
    let is_whole = |t: &PrimitiveType| matches!(t, Byte | Short | Integer | Long);
    let is_time = |t: &PrimitiveType| matches!(t, Timestamp | TimestampNtz);
    let is_float = |t: &PrimitiveType| matches!(t, Float | Double);
    a == b || [is_whole(a) && is_whole(b), is_time(a) && is_time(b), is_float(a) && is_float(b)].contains(&true)
}

fn floats(side: &'static str, schema: &Schema, key: &[usize]) -> Vec<FloatKey> {
    let is_float =
        |f: &&Field| matches!(f.data_type, DataType::Primitive(PrimitiveType::Float | PrimitiveType::Double));
    let fields = key.iter().map(|c| &schema.fields[*c]).filter(is_float);
    fields.map(|f| FloatKey { side: side.into(), column: f.name.clone(), data_type: f.data_type.to_string() }).collect()
}

/// Only texts can be nearly the same.
async fn near(
    target: &KeySide,
    target_key: &[usize],
    delivered: Option<&KeySide>,
    source_key: &[usize],
    request: &KeyRequest,
    progress: &Progress,
) -> Result<Option<Near>> {
    let is_text = |side: &KeySide, key: &[usize]| {
        key.iter().any(|c| side.schema().fields[*c].data_type == DataType::Primitive(PrimitiveType::String))
    };
    if !is_text(target, target_key) && !delivered.is_some_and(|side| is_text(side, source_key)) {
        return Ok(None);
    }
    let filter = request.filter.as_ref();
    let mut sides = vec![(target, target_key.to_vec(), filter)];
    sides.extend(delivered.map(|side| (side, source_key.to_vec(), filter)));
    let found = near_keys::find(&sides, MOST_KEYS, request.limit, progress).await?;
    Ok(Some(Near::of(&found)))
}

async fn candidates(
    name: &'static str,
    side: &KeySide,
    filter: Option<&Predicate>,
    progress: &Progress,
) -> Result<Vec<Candidate>> {
    let found = key_candidates::propose(side, filter, MOST_KEYS, progress).await?;
    Ok(found
        .into_iter()
        .map(|c| Candidate {
            side: name.into(),
            columns: names(side.schema(), &c.columns),
            unique: c.is_unique(),
            rows: c.rows,
            distinct: c.distinct,
            exact: c.exact,
            null_rows: c.nulls,
        })
        .collect())
}
