//! Tables that Spark and others made, where the checkout has them next to it:
//! the live rows must be those that two other readers counted.

use std::collections::BTreeMap;
use std::path::Path as FsPath;
use std::sync::Arc;

use deltalake::logstore::object_store::{local::LocalFileSystem, path::Path};
use futures::TryStreamExt;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value as Json};

use super::*;
use crate::table::{DeletionVector, Metadata, PartitionTuple, Schema, Value};

/// Replays commits that are plain JSON from version 0; `None` where they are not.
fn replay(table: &FsPath) -> Option<(Metadata, Vec<Json>)> {
    let mut metadata = None;
    let mut live: BTreeMap<String, Json> = BTreeMap::new();
    let id = |action: &Json| format!("{}{}", action["path"], action["deletionVector"]["pathOrInlineDv"]);
    for version in 0.. {
        let Ok(commit) = std::fs::read_to_string(table.join(format!("_delta_log/{version:020}.json"))) else { break };
        for line in commit.lines().filter(|line| !line.trim().is_empty()) {
            let action: Json = serde_json::from_str(line).ok()?;
            if let Some(raw) = action.get("metaData") {
                metadata = Some(raw.clone());
            } else if let Some(remove) = action.get("remove") {
                live.remove(&id(remove));
            } else if let Some(add) = action.get("add") {
                live.insert(id(add), add.clone());
            }
        }
    }
    let raw = metadata?;
    let texts = |json: &Json| -> Option<Vec<String>> {
        json.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let configuration = raw["configuration"].as_object().cloned().unwrap_or_default();
    let metadata = Metadata {
        id: String::new(),
        name: None,
        description: None,
        schema: Schema::parse(raw["schemaString"].as_str()?).ok()?,
        partition_columns: texts(&raw["partitionColumns"])?,
        configuration: configuration.iter().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect(),
        created_time: None,
        raw: Map::new(),
    };
    Some((metadata, live.into_values().collect()))
}

fn read_file(table: &FsPath, metadata: &Metadata, add: &Json) -> Option<ReadFile> {
    let path = percent_decode_str(add["path"].as_str()?).decode_utf8().ok()?.into_owned();
    let partition = metadata.partition_fields().into_iter().map(|field| {
        let values = &add["partitionValues"];
        let text = values.get(field.physical_name()).or_else(|| values.get(&field.name))?.as_str();
        Value::parse_partition(text, field.primitive()?)
    });
    let partition = PartitionTuple(partition.collect::<Option<_>>()?);
    let deleted = match add.get("deletionVector") {
        None | Some(Json::Null) => None,
        Some(json) => {
            let dv: DeletionVector = serde_json::from_value(json.clone()).ok()?;
            let bytes = match dv_location(&dv).unwrap() {
                None => None,
                Some(DvPath::Relative(file)) => Some(std::fs::read(table.join(file)).ok()?),
                Some(DvPath::Absolute(_)) => return None,
            };
            Some(Arc::new(decode_deletion_vector(&dv, bytes.as_deref()).unwrap()))
        }
    };
    let store = Arc::new(LocalFileSystem::new_with_prefix(table).ok()?);
    Some(ReadFile { store, path: Path::parse(path).ok()?, size: add["size"].as_u64()?, partition, deleted })
}

#[tokio::test]
async fn rows_of_foreign_tables_are_those_that_others_count() {
    let root = FsPath::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tables");
    let Ok(facts) = std::fs::read_to_string(root.join("facts.json")) else { return };
    let facts: BTreeMap<String, Json> = serde_json::from_str(&facts).unwrap();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, fact) in &facts {
        let Some(expected) = fact["rows"].as_u64() else { continue };
        let table = root.join(name);
        let Some((metadata, adds)) = replay(&table) else { continue };
        if adds.len() as u64 != fact["files"].as_u64().unwrap_or(0) {
            continue;
        }
        let files: Option<Vec<ReadFile>> = adds.iter().map(|add| read_file(&table, &metadata, add)).collect();
        let Some(files) = files else { continue };
        let reader = DataReader::new(Arc::new(TableLayout::from_metadata(&metadata).unwrap()));
        let columns: Vec<usize> = (0..metadata.schema.fields.len()).collect();
        match count(&reader, &files, &columns).await {
            Ok(rows) if rows == (expected, expected) => compared += 1,
            other => wrong.push(format!("{name}: {expected} expected, {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{compared} agree; not: {wrong:#?}");
    assert!(compared >= 100, "only {compared} tables were compared");
}

/// Rows read and rows by the footers.
async fn count(reader: &DataReader, files: &[ReadFile], columns: &[usize]) -> crate::error::Result<(u64, u64)> {
    let (mut read, mut counted) = (0, 0);
    for file in files {
        let batches: Vec<LiveBatch> = reader.read(file, columns, None).await?.try_collect().await?;
        read += batches.iter().map(|b| b.batch.num_rows() as u64).sum::<u64>();
        counted += reader.row_count(file).await?;
    }
    Ok((read, counted))
}
