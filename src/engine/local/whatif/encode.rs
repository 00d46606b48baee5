//! Bytes of a layout, measured: rows of a sample are encoded in the new order
//! with the writer that a rewrite uses, into memory.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake::arrow::array::{ArrayRef, RecordBatch, UInt64Array, new_null_array};
use deltalake::arrow::compute::{SortColumn, SortOptions, concat_batches, lexsort_to_indices, take_record_batch};
use deltalake::logstore::object_store::memory::InMemory;
use deltalake::logstore::object_store::path::Path;

use super::grouping::{Grouping, Groups, group_batch};
use super::sample::Sample;
use crate::error::{Context, ErrorKind, Result};
use crate::lake::data::{DataWriter, TableLayout};
use crate::plan::layouts::ByteRange;
use crate::progress::{Phase, Progress};
use crate::table::{DataType, Field, Metadata, PartitionTuple};

/// Partitions that are encoded; of more, so many are chosen by their size.
const MOST_ENCODED: usize = 500;
const ROWS_PER_WRITE: usize = 8192;

/// What encoding a sample showed.
#[derive(Debug, Default)]
pub struct Encoded {
    /// Bytes of every partition, in the order in which they were asked for.
    pub bytes: Vec<u64>,
    pub total: ByteRange,
}

/// A partition's rows in the sample, and their bytes for half of them and for all.
struct Measured {
    half: (u64, u64),
    whole: (u64, u64),
}

/// Measures the partitions `wanted` (their rows in the whole table) by a sample
/// of whole rows. `sort_by`: indexes of the schema.
///
/// # Errors
/// `UnsupportedType`, `Internal`; where an expression fails.
pub async fn encode(
    metadata: &Metadata,
    grouping: &Grouping,
    sort_by: &[usize],
    sample: &Sample,
    wanted: &[(PartitionTuple, u64)],
    progress: &Progress,
) -> Result<Encoded> {
    let Some(first) = sample.batches().next() else {
        return Ok(Encoded { bytes: vec![0; wanted.len()], total: ByteRange::exactly(0, true) });
    };
    let all = concat_batches(&first.schema(), sample.batches())
        .context(ErrorKind::Internal, || "the sample's batches could not be joined".into())?;
    let rows_of = rows_by_partition(grouping, &all)?;
    let chosen = choose(wanted, &rows_of);
    progress.enter(Phase::Staging, chosen.len() as u64, 0);
    let writer = Encoder::new(metadata, grouping)?;
    let mut measured: HashMap<usize, Measured> = HashMap::new();
    for at in chosen {
        progress.check()?;
        let Some(rows) = rows_of.get(&wanted[at].0) else { continue };
        let ordered = sorted(&all, rows, sort_by)?;
        let whole = (rows.len() as u64, writer.size(&ordered).await?);
        let half = match sample.is_whole() || rows.len() < 2 {
            true => whole,
            // Every second row: what half as large a sample would have shown.
            false => {
                let some: Vec<u64> = rows.iter().step_by(2).copied().collect();
                (some.len() as u64, writer.size(&sorted(&all, &some, sort_by)?).await?)
            }
        };
        measured.insert(at, Measured { half, whole });
        progress.advance(1, rows.len() as u64, 0);
    }
    Ok(extrapolate(wanted, &measured))
}

/// Bytes of a file with one row of a sample of whole rows, under a layout or
/// today's: about what a file takes however few rows it has. 0 of an empty sample.
///
/// # Errors
/// `UnsupportedType`, `Internal`.
pub async fn one_row(metadata: &Metadata, grouping: Option<&Grouping>, sample: &Sample) -> Result<u64> {
    let Some(first) = sample.batches().find(|b| b.num_rows() > 0) else { return Ok(0) };
    let encoder = match grouping {
        Some(grouping) => Encoder::new(metadata, grouping)?,
        None => Encoder::of(metadata, 0)?,
    };
    encoder.size(&first.slice(0, 1)).await
}

fn rows_by_partition(grouping: &Grouping, all: &RecordBatch) -> Result<HashMap<PartitionTuple, Vec<u64>>> {
    let inputs = all
        .project(grouping.inputs())
        .context(ErrorKind::Internal, || "the sample lacks a column of the layout".into())?;
    let mut groups = Groups::default();
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for (row, number) in group_batch(grouping, &inputs, &mut groups)?.into_iter().enumerate() {
        let at = number as usize;
        if at >= rows.len() {
            rows.resize(at + 1, Vec::new());
        }
        rows[at].push(row as u64);
    }
    Ok(groups.tuples.into_iter().zip(rows).collect())
}

/// All that the sample met, or as many as are encoded: at even distances in
/// the order of their rows.
fn choose(wanted: &[(PartitionTuple, u64)], rows_of: &HashMap<PartitionTuple, Vec<u64>>) -> Vec<usize> {
    let mut met: Vec<usize> = (0..wanted.len()).filter(|i| rows_of.contains_key(&wanted[*i].0)).collect();
    if met.len() > MOST_ENCODED {
        met.sort_by_key(|i| wanted[*i].1);
        let step = (met.len() - 1) as f64 / (MOST_ENCODED - 1) as f64;
        met = (0..MOST_ENCODED).map(|k| met[(k as f64 * step).round() as usize]).collect();
        met.dedup();
    }
    met
}

fn sorted(all: &RecordBatch, rows: &[u64], by: &[usize]) -> Result<RecordBatch> {
    let failed = || "the sample could not be put in order".to_owned();
    let part = take_record_batch(all, &UInt64Array::from(rows.to_vec())).context(ErrorKind::Internal, failed)?;
    if by.is_empty() {
        return Ok(part);
    }
    let options = Some(SortOptions { descending: false, nulls_first: true });
    let keys: Vec<SortColumn> =
        by.iter().map(|c| SortColumn { values: Arc::clone(part.column(*c)), options }).collect();
    let order = lexsort_to_indices(&keys, None).context(ErrorKind::Internal, failed)?;
    take_record_batch(&part, &order).context(ErrorKind::Internal, failed)
}

/// Writes data files of the new layout into memory.
struct Encoder {
    layout: Arc<TableLayout>,
    files: DataWriter,
    /// Columns that the table does not have yet.
    added: usize,
}

impl Encoder {
    fn new(metadata: &Metadata, grouping: &Grouping) -> Result<Encoder> {
        let mut new = metadata.clone();
        new.partition_columns.clear();
        let mut added = 0;
        for (name, data_type) in grouping.columns() {
            match metadata.schema.find(name) {
                Some(field) => new.partition_columns.push(field.name.clone()),
                None => {
                    new.schema.fields.push(Field {
                        name: name.to_owned(),
                        data_type: DataType::Primitive(data_type.clone()),
                        nullable: true,
                        metadata: serde_json::Map::new(),
                    });
                    new.partition_columns.push(name.to_owned());
                    added += 1;
                }
            }
        }
        Encoder::of(&new, added)
    }

    /// `added`: so many columns at the end are not in the sample.
    fn of(metadata: &Metadata, added: usize) -> Result<Encoder> {
        let layout = Arc::new(TableLayout::from_metadata(metadata)?);
        // Statistics go into the log, not into the file.
        Ok(Encoder { files: DataWriter::new(Arc::clone(&layout), 0), layout, added })
    }

    /// Bytes of one file with these rows of all the table's columns.
    async fn size(&self, rows: &RecordBatch) -> Result<u64> {
        let schema = self.layout.arrow_schema();
        let path = Path::from("sample.parquet");
        let mut file = self.files.open(Arc::new(InMemory::new()), path)?;
        for start in (0..rows.num_rows()).step_by(ROWS_PER_WRITE) {
            let part = rows.slice(start, ROWS_PER_WRITE.min(rows.num_rows() - start));
            let mut columns: Vec<ArrayRef> = part.columns().to_vec();
            // Partition columns are not in the file, whatever they hold.
            let new = schema.fields().iter().skip(schema.fields().len() - self.added);
            columns.extend(new.map(|f| new_null_array(f.data_type(), part.num_rows())));
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns)
                .context(ErrorKind::Internal, || "a sample does not fit the table's columns".into())?;
            file.write(&batch).await?;
        }
        Ok(file.close().await?.size)
    }
}

/// From the measured partitions to all of them. A file's bytes are about a
/// fixed part (dictionaries, footer) and a part per row; two sizes of a sample
/// tell both. Where the two ways to go on from there differ, the truth lies
/// between them.
fn extrapolate(wanted: &[(PartitionTuple, u64)], measured: &HashMap<usize, Measured>) -> Encoded {
    let sum = |pick: fn(&Measured) -> (u64, u64)| {
        measured.values().map(pick).fold((0_u64, 0_u64), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    let (whole, half) = (sum(|m| m.whole), sum(|m| m.half));
    let files = measured.len().max(1) as f64;
    let per_row = if whole.0 == 0 { 0.0 } else { whole.1 as f64 / whole.0 as f64 };
    // What one more row adds, over all that was measured.
    let added = match whole.0 > half.0 {
        true => (whole.1 as f64 - half.1 as f64).max(0.0) / (whole.0 - half.0) as f64,
        false => per_row,
    };
    let fixed = ((whole.1 as f64 - added * whole.0 as f64) / files).max(0.0);
    let (mut low, mut high) = (0.0, 0.0);
    let bytes = wanted
        .iter()
        .enumerate()
        .map(|(at, (_, rows))| {
            let (least, most) = match measured.get(&at) {
                Some(m) if m.whole.0 >= *rows => (m.whole.1 as f64, m.whole.1 as f64),
                Some(m) => {
                    let slope = match m.whole.0 > m.half.0 {
                        true => (m.whole.1 as f64 - m.half.1 as f64).max(0.0) / (m.whole.0 - m.half.0) as f64,
                        false => added,
                    };
                    let line = m.whole.1 as f64 + slope * (*rows - m.whole.0) as f64;
                    let straight = m.whole.1 as f64 / m.whole.0 as f64 * *rows as f64;
                    (line.min(straight), line.max(straight))
                }
                None => {
                    let line = fixed + added * *rows as f64;
                    (line, line)
                }
            };
            low += least;
            high += most;
            f64::midpoint(least, most).round() as u64
        })
        .collect();
    Encoded { bytes, total: ByteRange { low: low.round() as u64, high: high.round() as u64, measured: true } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Value;

    fn tuple(i: i64) -> PartitionTuple {
        PartitionTuple(vec![Value::Int(i)])
    }

    #[test]
    fn what_was_encoded_whole_is_exact() {
        let wanted = [(tuple(1), 10), (tuple(2), 20)];
        let measured = HashMap::from([
            (0, Measured { half: (10, 700), whole: (10, 700) }),
            (1, Measured { half: (20, 900), whole: (20, 900) }),
        ]);
        let encoded = extrapolate(&wanted, &measured);
        assert_eq!(encoded.bytes, [700, 900]);
        assert_eq!((encoded.total.low, encoded.total.high), (1_600, 1_600));
    }

    #[test]
    fn a_fixed_part_is_not_multiplied() {
        // 5,000 bytes of footer and dictionary, 2 bytes a row.
        let at = |rows: u64| (rows, 5_000 + 2 * rows);
        let wanted = [(tuple(1), 100_000), (tuple(2), 50_000)];
        let measured = HashMap::from([(0, Measured { half: at(500), whole: at(1_000) })]);
        let encoded = extrapolate(&wanted, &measured);
        assert_eq!(encoded.total.low, 205_000 + 105_000);
        assert!(encoded.total.high > encoded.total.low && !encoded.total.is_narrow(), "{:?}", encoded.total);
    }

    #[test]
    fn many_partitions_are_chosen_by_size() {
        let wanted: Vec<(PartitionTuple, u64)> = (0..20_000).map(|i| (tuple(i), i as u64)).collect();
        let rows_of = wanted.iter().map(|(t, _)| (t.clone(), vec![0])).collect();
        let chosen = choose(&wanted, &rows_of);
        assert!(chosen.len() <= MOST_ENCODED && chosen.contains(&0) && chosen.contains(&19_999));
    }
}
