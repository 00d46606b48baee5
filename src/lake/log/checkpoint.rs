//! Checkpoints: classic, multi-part and V2 with sidecars (protocol, "Checkpoints").

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use deltalake::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use deltalake::arrow::compute::filter_record_batch;
use deltalake::arrow::datatypes::{DataType, Int64Type};
use deltalake::arrow::json::LineDelimitedWriter;
use deltalake::logstore::object_store::path::Path;
use deltalake::parquet::arrow::ProjectionMask;
use deltalake::parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use deltalake::parquet::file::FOOTER_SIZE;
use deltalake::parquet::file::metadata::FooterTail;

use super::action::{Add, Line, Remove, Sidecar, Txn, parse_lines};
use super::segment::Checkpoint;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::guard;
use crate::lake::store::TableStore;
use crate::table::file::DeletionVector;

/// Rows decoded at a time: small enough that the first partitions show at once.
const BATCH_ROWS: usize = 4096;

/// What a checkpoint holds besides files.
#[derive(Debug, Default)]
pub struct Head {
    pub lines: Vec<Line>,
    pub sidecars: Vec<Sidecar>,
}

/// Reads protocol, metadata and sidecars of a checkpoint.
///
/// # Errors
/// `BadCheckpoint`, `Storage`.
pub async fn read_head(store: &TableStore, checkpoint: &Checkpoint) -> Result<Head> {
    let mut head = Head::default();
    for part in &checkpoint.parts {
        let bytes = store.get(&part.location).await?;
        let lines = if checkpoint.json {
            json_lines(part.location.as_ref(), &bytes)?
        } else {
            head_lines(part.location.as_ref(), bytes, &["protocol.", "metaData.", "sidecar."])?
        };
        for line in lines {
            if let Some(sidecar) = &line.sidecar {
                head.sidecars.push(sidecar.clone());
            }
            if line.meta_data.is_some() || line.protocol.is_some() {
                head.lines.push(line);
            }
        }
    }
    Ok(head)
}

/// The application transactions that a checkpoint knows.
///
/// # Errors
/// `BadCheckpoint`, `Storage`.
pub async fn transactions(store: &TableStore, checkpoint: &Checkpoint) -> Result<Vec<Txn>> {
    let mut found = Vec::new();
    for part in &checkpoint.parts {
        let bytes = store.get(&part.location).await?;
        let name = part.location.as_ref();
        let lines = match checkpoint.json {
            true => parse_lines(name, &bytes)?,
            false => head_lines(name, bytes, &["txn."])?,
        };
        found.extend(lines.into_iter().filter_map(|line| line.txn));
    }
    Ok(found)
}

/// Sends the `add` actions of a checkpoint, batch by batch.
///
/// # Errors
/// `BadCheckpoint`, `Storage`, and whatever `on_batch` returns.
pub async fn read_adds(
    store: &TableStore,
    checkpoint: &Checkpoint,
    keep_rest: bool,
    on_batch: &mut (dyn FnMut(Vec<Add>) -> Result<()> + Send),
) -> Result<()> {
    let mut sidecars = Vec::new();
    for part in &checkpoint.parts {
        let bytes = store.get(&part.location).await?;
        let name = part.location.as_ref();
        if checkpoint.json {
            let mut adds = Vec::new();
            for line in json_lines(name, &bytes)? {
                adds.extend(line.add);
                sidecars.extend(line.sidecar);
            }
            on_batch(adds)?;
        } else {
            sidecars.extend(head_lines(name, bytes.clone(), &["sidecar."])?.into_iter().filter_map(|l| l.sidecar));
            adds_of_parquet(name, bytes, keep_rest, on_batch)?;
        }
    }
    for sidecar in sidecars {
        let path = sidecar_path(&sidecar)?;
        let bytes = store.get(&path).await?;
        adds_of_parquet(path.as_ref(), bytes, keep_rest, on_batch)?;
    }
    Ok(())
}

/// Every path that a Parquet file of the log mentions, in an `add` or a
/// `remove`, as it stands there.
///
/// # Errors
/// `BadCheckpoint`.
pub fn mentioned(name: &str, bytes: Bytes) -> Result<Vec<String>> {
    let Some(batches) = reader(name, bytes, |path| matches!(path, "add.path" | "remove.path"))? else {
        return Ok(Vec::new());
    };
    let mut paths = Vec::new();
    for batch in batches {
        let batch = batch?;
        for action in batch.columns().iter().filter_map(|c| c.as_struct_opt()) {
            let column = action.column_by_name("path");
            paths.extend((0..action.len()).filter(|row| action.is_valid(*row)).filter_map(|row| text(column, row)));
        }
    }
    Ok(paths)
}

fn bad(name: &str, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::BadCheckpoint, format!("{name}: {why}"))
        .hint("The checkpoint is damaged; without it the commits before it are needed.")
}

/// A V2 checkpoint in JSON has the lines of a commit, but can be done without.
fn json_lines(name: &str, bytes: &[u8]) -> Result<Vec<Line>> {
    parse_lines(name, bytes).map_err(|e| bad(name, e.message.trim_start_matches(name).trim_start_matches(": ")))
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// The decoder checks what it reads, but a panic in it must not end the program.
fn guarded<T>(name: &str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err(bad(name, "its pages are damaged")))
}

fn reader(name: &str, bytes: Bytes, wanted: impl Fn(&str) -> bool) -> Result<Option<Batches>> {
    check_footer_of(&bytes).map_err(|why| bad(name, why))?;
    let Some(mut reader) = guarded(name, || opened(name, bytes, wanted))? else { return Ok(None) };
    let name = name.to_owned();
    // After a panic the decoder is in no state to go on.
    let mut over = false;
    Ok(Some(Box::new(std::iter::from_fn(move || {
        if over {
            return None;
        }
        let batch = guarded(&name, || reader.next().transpose().map_err(|e| bad(&name, e)));
        over = batch.is_err();
        batch.transpose()
    }))))
}

fn opened(name: &str, bytes: Bytes, wanted: impl Fn(&str) -> bool) -> Result<Option<ParquetRecordBatchReader>> {
    // Plain types, whatever Arrow schema the writer left in the file.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder =
        ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options).map_err(|e| bad(name, e))?;
    let leaves: Vec<usize> = builder
        .parquet_schema()
        .columns()
        .iter()
        .enumerate()
        .filter(|(_, column)| wanted(&column.path().string()))
        .map(|(i, _)| i)
        .collect();
    if leaves.is_empty() {
        return Ok(None);
    }
    for group in builder.metadata().row_groups() {
        for column in leaves.iter().filter_map(|leaf| group.columns().get(*leaf)) {
            let (start, length) = column.byte_range();
            let chunk = usize::try_from(start).ok().zip(usize::try_from(start.saturating_add(length)).ok());
            let chunk = chunk.and_then(|(start, end)| bytes.get(start..end));
            let chunk = chunk.ok_or_else(|| bad(name, "its footer names bytes beyond its end"))?;
            guard::check_pages(chunk).map_err(|why| bad(name, why))?;
        }
    }
    let mask = ProjectionMask::leaves(builder.parquet_schema(), leaves);
    builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map(Some).map_err(|e| bad(name, e))
}

/// The tombstones of a checkpoint: files that were removed and may still be there.
///
/// # Errors
/// `BadCheckpoint`, `Storage`.
pub async fn read_removes(store: &TableStore, checkpoint: &Checkpoint) -> Result<Vec<Remove>> {
    const WANTED: [&str; 4] = ["remove.path", "remove.deletionTimestamp", "remove.size", "remove.deletionVector."];
    let mut removes = Vec::new();
    let mut sidecars = Vec::new();
    for part in &checkpoint.parts {
        let bytes = store.get(&part.location).await?;
        let name = part.location.as_ref();
        let lines = match checkpoint.json {
            true => json_lines(name, &bytes)?,
            false => {
                sidecars.extend(head_lines(name, bytes.clone(), &["sidecar."])?.into_iter().filter_map(|l| l.sidecar));
                head_lines(name, bytes, &WANTED)?
            }
        };
        for line in lines {
            removes.extend(line.remove);
            sidecars.extend(line.sidecar);
        }
    }
    for sidecar in sidecars {
        let path = sidecar_path(&sidecar)?;
        let lines = head_lines(path.as_ref(), store.get(&path).await?, &WANTED)?;
        removes.extend(lines.into_iter().filter_map(|l| l.remove));
    }
    Ok(removes)
}

fn sidecar_path(sidecar: &Sidecar) -> Result<Path> {
    Path::parse(format!("_delta_log/_sidecars/{}", sidecar.path))
        .context(ErrorKind::BadCheckpoint, || format!("the checkpoint names a strange sidecar {}", sidecar.path))
}

/// Where there is no footer, the decoder says so.
fn check_footer_of(bytes: &[u8]) -> Result<(), String> {
    let Some((rest, end)) = bytes.split_last_chunk::<FOOTER_SIZE>() else { return Ok(()) };
    let footer = FooterTail::try_new(end).ok().and_then(|end| rest.len().checked_sub(end.metadata_length()));
    footer.map_or(Ok(()), |start| guard::check_footer(&rest[start..]))
}

/// The lines of a Parquet checkpoint that hold one of some actions.
fn head_lines(name: &str, bytes: Bytes, actions: &[&str]) -> Result<Vec<Line>> {
    let wanted = |path: &str| actions.iter().any(|p| path.starts_with(p));
    let Some(batches) = reader(name, bytes, wanted)? else { return Ok(Vec::new()) };
    let mut lines = Vec::new();
    for batch in batches {
        let batch = batch?;
        let keep = (0..batch.num_rows()).map(|row| Some(batch.columns().iter().any(|c| c.is_valid(row)))).collect();
        let kept = filter_record_batch(&batch, &keep).map_err(|e| bad(name, e))?;
        if kept.num_rows() == 0 {
            continue;
        }
        let mut writer = LineDelimitedWriter::new(Vec::new());
        writer.write(&kept).and_then(|()| writer.finish()).map_err(|e| bad(name, e))?;
        lines.extend(parse_lines(name, &writer.into_inner()).map_err(|e| bad(name, e.message))?);
    }
    Ok(lines)
}

fn adds_of_parquet(
    name: &str,
    bytes: Bytes,
    keep_rest: bool,
    on_batch: &mut (dyn FnMut(Vec<Add>) -> Result<()> + Send),
) -> Result<()> {
    const ALWAYS: [&str; 6] =
        ["add.path", "add.size", "add.modificationTime", "add.dataChange", "add.stats", "add.stats_parsed.numRecords"];
    const PREFIXES: [&str; 2] = ["add.partitionValues.", "add.deletionVector."];
    const REST: [&str; 3] = ["add.baseRowId", "add.defaultRowCommitVersion", "add.clusteringProvider"];
    let wanted = |path: &str| {
        ALWAYS.contains(&path)
            || PREFIXES.iter().any(|p| path.starts_with(p))
            || keep_rest && (REST.contains(&path) || path.starts_with("add.tags."))
    };
    let Some(batches) = reader(name, bytes, wanted)? else { return Ok(()) };
    for batch in batches {
        let batch = batch?;
        let Some(column) = batch.column_by_name("add").and_then(|c| c.as_struct_opt()) else { continue };
        let adds = AddColumns::new(column).map_err(|why| bad(name, why))?;
        let found: Vec<Add> =
            (0..column.len()).filter(|row| column.is_valid(*row)).filter_map(|row| adds.get(row)).collect();
        on_batch(found)?;
    }
    Ok(())
}

/// The columns of `add`, found once per batch.
struct AddColumns<'a> {
    path: &'a ArrayRef,
    partition_values: Option<&'a ArrayRef>,
    size: Option<&'a ArrayRef>,
    modification_time: Option<&'a ArrayRef>,
    data_change: Option<&'a ArrayRef>,
    stats: Option<&'a ArrayRef>,
    num_records: Option<&'a ArrayRef>,
    vector: Option<&'a StructArray>,
    rest: &'a StructArray,
}

impl<'a> AddColumns<'a> {
    fn new(add: &'a StructArray) -> Result<Self, String> {
        let parsed = add.column_by_name("stats_parsed").and_then(|c| c.as_struct_opt());
        Ok(Self {
            path: add.column_by_name("path").ok_or("an add without a path column")?,
            partition_values: add.column_by_name("partitionValues"),
            size: add.column_by_name("size"),
            modification_time: add.column_by_name("modificationTime"),
            data_change: add.column_by_name("dataChange"),
            stats: add.column_by_name("stats"),
            num_records: parsed.and_then(|p| p.column_by_name("numRecords")),
            vector: add.column_by_name("deletionVector").and_then(|c| c.as_struct_opt()),
            rest: add,
        })
    }

    fn get(&self, row: usize) -> Option<Add> {
        Some(Add {
            path: text(Some(self.path), row)?,
            partition_values: self.partition_values.map(|c| string_map(c, row)).unwrap_or_default(),
            size: int(self.size, row).unwrap_or(0),
            modification_time: int(self.modification_time, row).unwrap_or(0),
            data_change: self
                .data_change
                .and_then(|c| c.as_boolean_opt())
                .is_some_and(|c| c.is_valid(row) && c.value(row)),
            stats: text(self.stats, row),
            parsed_num_records: int(self.num_records, row),
            deletion_vector: self.vector.and_then(|v| deletion_vector(v, row)),
            tags: self
                .rest
                .column_by_name("tags")
                .filter(|c| c.is_valid(row))
                .map(|c| serde_json::json!(string_map(c, row))),
            base_row_id: int(self.rest.column_by_name("baseRowId"), row).map(Into::into),
            default_row_commit_version: int(self.rest.column_by_name("defaultRowCommitVersion"), row).map(Into::into),
            clustering_provider: text(self.rest.column_by_name("clusteringProvider"), row).map(Into::into),
        })
    }
}

fn deletion_vector(column: &StructArray, row: usize) -> Option<DeletionVector> {
    if column.is_null(row) {
        return None;
    }
    Some(DeletionVector {
        storage_type: text(column.column_by_name("storageType"), row)?,
        path_or_inline_dv: text(column.column_by_name("pathOrInlineDv"), row)?,
        offset: int(column.column_by_name("offset"), row),
        size_in_bytes: int(column.column_by_name("sizeInBytes"), row)?,
        cardinality: int(column.column_by_name("cardinality"), row)?,
    })
}

fn text(column: Option<&ArrayRef>, row: usize) -> Option<String> {
    let column = column.filter(|c| c.is_valid(row))?;
    match column.data_type() {
        DataType::Utf8 => Some(column.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Some(column.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Some(column.as_string_view().value(row).to_owned()),
        // Old writers leave the UTF8 annotation out.
        DataType::Binary => std::str::from_utf8(column.as_binary::<i32>().value(row)).ok().map(str::to_owned),
        _ => None,
    }
}

fn int(column: Option<&ArrayRef>, row: usize) -> Option<i64> {
    let column = column.filter(|c| c.is_valid(row))?;
    match column.data_type() {
        DataType::Int64 => Some(column.as_primitive::<Int64Type>().value(row)),
        DataType::Int32 => Some(column.as_primitive::<deltalake::arrow::datatypes::Int32Type>().value(row).into()),
        _ => None,
    }
}

fn string_map(column: &ArrayRef, row: usize) -> BTreeMap<String, Option<String>> {
    let mut map = BTreeMap::new();
    let Some(entries) = column.as_map_opt().filter(|m| m.is_valid(row)) else { return map };
    let (start, end) = (entries.value_offsets()[row] as usize, entries.value_offsets()[row + 1] as usize);
    let (keys, values) = (Arc::clone(entries.keys()), Arc::clone(entries.values()));
    for i in start..end {
        if let Some(key) = text(Some(&keys), i) {
            map.insert(key, text(Some(&values), i));
        }
    }
    map
}
