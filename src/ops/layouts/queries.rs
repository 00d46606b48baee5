//! What saved queries would read: today, by the log's statistics; under another
//! layout, by files that are put together from a sample.

use serde_json::{Map, Value as Json};

use crate::engine::local::whatif::{Grouping, Groups, Sample, group_batch};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::value_at;
use crate::plan::layouts::numbers::file_count;
use crate::plan::layouts::{Limits, QueryRead};
use crate::predicate::{Bounds, Predicate};
use crate::table::schema::PrimitiveType;
use crate::table::{DataFile, Field, Metadata, Value};

/// Parses queries and looks for their columns.
///
/// # Errors
/// `Usage` for a text that is no condition, and for a column that the table lacks.
pub fn parse(texts: &[String], metadata: &Metadata) -> Result<Vec<Predicate>> {
    let one = |text: &String| -> Result<Predicate> {
        let predicate = Predicate::parse(text).map_err(|e| {
            Error::new(e.kind, format!("the query \"{text}\": {}", e.message)).hint(e.hint.unwrap_or_default())
        })?;
        let schema = &metadata.schema;
        match predicate.columns().iter().find(|c| schema.find(c).is_none()) {
            Some(stranger) => {
                let names: Vec<&str> = schema.names().collect();
                Err(Error::new(
                    ErrorKind::Usage,
                    format!("the query \"{text}\" names {stranger}, which the table lacks"),
                )
                .hint(format!("It has {}.", names.join(", "))))
            }
            None => {
                // A literal that is no value of its column's type is a mistake of
                // the text, whatever the rows are.
                predicate.evaluate(&|name| schema.find(name).map(any_value)).map_err(|e| {
                    Error::new(e.kind, format!("the query \"{text}\": {}", e.message)).hint(e.hint.unwrap_or_default())
                })?;
                Ok(predicate)
            }
        }
    };
    texts.iter().map(one).collect()
}

/// A value of a column's type.
fn any_value(field: &Field) -> Value {
    use PrimitiveType as T;
    match field.primitive() {
        Some(T::String) => Value::String(String::new()),
        Some(T::Long | T::Integer | T::Short | T::Byte) => Value::Int(0),
        Some(T::Float) => Value::Float(0.0),
        Some(T::Double) => Value::Double(0.0),
        Some(T::Decimal { scale, .. }) => Value::Decimal { unscaled: 0, scale: *scale },
        Some(T::Boolean) => Value::Boolean(false),
        Some(T::Binary) => Value::Binary(Vec::new()),
        Some(T::Date) => Value::Date(0),
        Some(T::Timestamp) => Value::Timestamp(0),
        Some(T::TimestampNtz) => Value::TimestampNtz(0),
        None => Value::Null,
    }
}

/// The columns that the queries name, each once, as the table calls them.
pub fn columns(queries: &[Predicate], metadata: &Metadata) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in queries.iter().flat_map(Predicate::columns) {
        if let Some(field) = metadata.schema.find(&column)
            && !names.contains(&field.name)
        {
            names.push(field.name.clone());
        }
    }
    names
}

/// Files that each query has to read today.
///
/// # Errors
/// `Usage` for values that cannot be compared.
pub fn today(files: &[DataFile], metadata: &Metadata, queries: &[Predicate]) -> Result<Vec<QueryRead>> {
    let mut reads = vec![QueryRead { exact: true, ..QueryRead::default() }; queries.len()];
    if queries.is_empty() {
        return Ok(reads);
    }
    for file in files {
        let stats = Stats::of(file);
        for (query, read) in queries.iter().zip(&mut reads) {
            if query.may_match(&|name| stats.bounds(file, metadata, name))? {
                read.files += 1;
                read.bytes += file.size;
            }
        }
    }
    Ok(reads)
}

/// The statistics of one file (protocol, "Per-file Statistics").
struct Stats(Map<String, Json>);

impl Stats {
    fn of(file: &DataFile) -> Stats {
        let text = file.rest.as_ref().and_then(|rest| rest.get("stats")).and_then(Json::as_str);
        Stats(text.and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default())
    }

    fn bounds(&self, file: &DataFile, metadata: &Metadata, name: &str) -> Option<Bounds> {
        let field = metadata.schema.find(name)?;
        if let Some(at) = metadata.partition_columns.iter().position(|c| *c == field.name) {
            return file.partition.0.get(at).map(|value| Bounds::constant(value, file.num_records));
        }
        let Some(kind) = field.primitive() else { return Some(Bounds::default()) };
        let of = |key: &str| self.0.get(key)?.get(field.physical_name());
        let slack = matches!(kind, PrimitiveType::Timestamp | PrimitiveType::TimestampNtz);
        let mut bounds = Bounds {
            min: of("minValues").and_then(|v| value(v, kind)),
            max: of("maxValues").and_then(|v| value(v, kind)),
            nulls: of("nullCount").and_then(Json::as_u64),
            rows: self.0.get("numRecords").and_then(Json::as_u64),
        };
        if slack && let Some(Value::Timestamp(us) | Value::TimestampNtz(us)) = &mut bounds.max {
            // Writers cut a timestamp to milliseconds.
            *us = us.saturating_add(999);
        }
        Some(bounds)
    }
}

fn value(json: &Json, kind: &PrimitiveType) -> Option<Value> {
    let text = match json {
        Json::String(text) => text.clone(),
        Json::Number(_) | Json::Bool(_) => json.to_string(),
        _ => return None,
    };
    // An empty text is a bound, and no NULL.
    match (kind, text.is_empty()) {
        (PrimitiveType::String, _) => Some(Value::String(text)),
        (_, true) => None,
        _ => Value::parse_partition(Some(&text), kind).filter(|v| !v.is_null()),
    }
}

/// A sample's rows, with what queries and orders need of them.
pub struct Rows<'a> {
    sample: &'a Sample,
    metadata: &'a Metadata,
}

impl<'a> Rows<'a> {
    pub fn new(sample: &'a Sample, metadata: &'a Metadata) -> Rows<'a> {
        Rows { sample, metadata }
    }

    /// The cells of one column of the table, in the sample's order.
    fn cells(&self, name: &str) -> Result<Vec<Value>> {
        let index = self.metadata.schema.index_of(name);
        let at = index
            .and_then(|i| self.sample.columns.iter().position(|c| *c == i))
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("the sample has no column {name}")))?;
        let cells =
            self.sample.batches().flat_map(|b| (0..b.num_rows()).map(|row| value_at(b.column(at).as_ref(), row)));
        Ok(cells.collect())
    }

    /// The number of each row's partition, and the partitions.
    ///
    /// # Errors
    /// Where an expression fails.
    pub fn grouped(&self, grouping: &Grouping) -> Result<(Vec<u32>, Groups)> {
        let places: Option<Vec<usize>> =
            grouping.inputs().iter().map(|i| self.sample.columns.iter().position(|c| c == i)).collect();
        let places = places.ok_or_else(|| Error::new(ErrorKind::Internal, "the sample lacks a layout's column"))?;
        let (mut groups, mut numbers) = (Groups::default(), Vec::new());
        for batch in self.sample.batches() {
            let inputs = batch.project(&places).context(ErrorKind::Internal, || "the sample is not as asked".into())?;
            numbers.extend(group_batch(grouping, &inputs, &mut groups)?);
        }
        Ok((numbers, groups))
    }

    /// Files that each query would read. `numbers`: each row's partition;
    /// `bytes`: of each partition.
    ///
    /// # Errors
    /// `Usage` for values that cannot be compared.
    pub fn simulated(
        &self,
        numbers: &[u32],
        bytes: &[u64],
        sort_by: &[String],
        queries: &[Predicate],
        limits: &Limits,
    ) -> Result<Vec<QueryRead>> {
        let mut reads = vec![QueryRead::default(); queries.len()];
        if queries.is_empty() {
            return Ok(reads);
        }
        let names = columns(queries, self.metadata);
        let cells: Vec<Vec<Value>> = names.iter().map(|n| self.cells(n)).collect::<Result<_>>()?;
        let order: Vec<Vec<Value>> = sort_by.iter().map(|n| self.cells(n)).collect::<Result<_>>()?;
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); bytes.len()];
        for (row, number) in numbers.iter().enumerate() {
            if let Some(list) = rows.get_mut(*number as usize) {
                list.push(row);
            }
        }
        for (mut list, bytes) in rows.into_iter().zip(bytes) {
            if list.is_empty() {
                continue;
            }
            list.sort_by(|a, b| order.iter().map(|c| c[*a].cmp(&c[*b])).find(|o| o.is_ne()).unwrap_or(a.cmp(b)));
            let files = file_count(*bytes, limits);
            // Of a file without a row of the sample nothing is known; its neighbours stand for it.
            let pieces = usize::try_from(files).unwrap_or(usize::MAX).min(list.len());
            for piece in 0..pieces {
                let part = &list[list.len() * piece / pieces..list.len() * (piece + 1) / pieces];
                let bounds: Vec<Bounds> = cells.iter().map(|c| Bounds::of(part.iter().map(|row| &c[*row]))).collect();
                let lookup = |name: &str| {
                    let at = names.iter().position(|n| n.eq_ignore_ascii_case(name))?;
                    bounds.get(at).cloned()
                };
                let share = files as f64 / pieces as f64;
                for (query, read) in queries.iter().zip(&mut reads) {
                    if query.may_match(&lookup)? {
                        read.files += share.round() as u64;
                        read.bytes += bytes / pieces as u64;
                    }
                }
            }
        }
        Ok(reads)
    }
}
