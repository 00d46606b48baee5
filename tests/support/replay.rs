//! A strict replay of a table's log, and a reader of its live rows.
//!
//! Other readers forgive: a `remove` that matches nothing is dropped, and the
//! rows that it should have taken away are read beside the new ones. Here that
//! is an error. Nothing of `src/lake` is used.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use deltalake::arrow::array::ArrayRef;
use deltalake::parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use partwise::table::Value;
use percent_encoding::percent_decode_str;
use roaring::RoaringTreemap;
use serde_json::Value as Json;

use super::kinds::{Row, arrow_type, cell, parse_partition};
use super::writer::log_file;

/// Path and deletion vector, as the log has them.
pub type FileKey = (String, String);

#[derive(Debug, Default)]
pub struct Replayed {
    pub version: u64,
    pub metadata: Json,
    pub protocol: Json,
    pub live: BTreeMap<FileKey, Json>,
    /// The `commitInfo` of each version.
    pub infos: Vec<Json>,
}

/// Replays every commit from the first.
pub fn replay(table: &Path) -> Result<Replayed, String> {
    let mut state = Replayed::default();
    let mut version = 0;
    while log_file(table, version).exists() {
        state.apply(table, version)?;
        state.version = version;
        version += 1;
    }
    if version == 0 {
        return Err(format!("{} has no version 0", table.display()));
    }
    Ok(state)
}

/// The actions of one commit.
pub fn actions(table: &Path, version: u64) -> Vec<Json> {
    let text = fs::read_to_string(log_file(table, version)).expect("the commit's file");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The newest version, by the log's files.
pub fn newest(table: &Path) -> u64 {
    let mut version = 0;
    while log_file(table, version + 1).exists() {
        version += 1;
    }
    version
}

impl Replayed {
    fn apply(&mut self, table: &Path, version: u64) -> Result<(), String> {
        let text = fs::read_to_string(log_file(table, version)).map_err(|e| e.to_string())?;
        let (mut adds, mut removes, mut info) = (Vec::new(), Vec::new(), Json::Null);
        for line in text.lines() {
            let action: Json = serde_json::from_str(line).map_err(|e| format!("version {version}: {e}"))?;
            let (name, body) = action.as_object().and_then(|o| o.iter().next()).ok_or("an empty action")?;
            match name.as_str() {
                "add" => adds.push(body.clone()),
                "remove" => removes.push(body.clone()),
                "metaData" => self.metadata = body.clone(),
                "protocol" => self.protocol = body.clone(),
                "commitInfo" => info = body.clone(),
                _ => {}
            }
        }
        for remove in removes {
            let key = file_key(&remove);
            if self.live.remove(&key).is_none() {
                return Err(format!("version {version} removes {key:?}, which is not live"));
            }
        }
        for add in adds {
            let key = file_key(&add);
            if let Some((twin, _)) = self.live.iter().find(|((path, _), _)| *path == key.0) {
                return Err(format!("version {version} adds {key:?} beside the live {twin:?}"));
            }
            self.live.insert(key, add);
        }
        self.infos.push(info);
        Ok(())
    }

    fn fields(&self) -> Vec<Field> {
        let text = self.metadata["schemaString"].as_str().expect("a schemaString");
        let schema: Json = serde_json::from_str(text).expect("the schema is JSON");
        let field = |f: &Json| Field {
            name: f["name"].as_str().expect("a field's name").to_owned(),
            physical: f["metadata"]["delta.columnMapping.physicalName"]
                .as_str()
                .unwrap_or_else(|| f["name"].as_str().expect("a field's name"))
                .to_owned(),
            delta: f["type"].as_str().map(str::to_owned),
        };
        schema["fields"].as_array().expect("the schema's fields").iter().map(field).collect()
    }

    /// The rows of a version's change files: the table's cells, and what became
    /// of the row. Empty where the version has no such files.
    pub fn changes(&self, table: &Path, version: u64) -> Vec<(Row, String)> {
        let mut fields = self.fields();
        let kind = Field { name: "_change_type".into(), physical: "_change_type".into(), delta: Some("string".into()) };
        fields.push(kind);
        let partitioned = self.partitioned();
        let mut changes = Vec::new();
        for action in actions(table, version) {
            let Some(file) = action.get("cdc") else { continue };
            assert_eq!(file["dataChange"], false, "{file}");
            assert!(file["path"].as_str().is_some_and(|path| path.starts_with("_change_data/")), "{file}");
            for mut row in read_file(table, file, &fields, &partitioned) {
                match row.pop() {
                    Some(Value::String(kind)) => changes.push((row, kind)),
                    other => panic!("a change of the kind {other:?}"),
                }
            }
        }
        changes
    }

    fn partitioned(&self) -> Vec<&str> {
        self.metadata["partitionColumns"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
    }

    /// Every live row, with its cells in schema order.
    pub fn rows(&self, table: &Path) -> Vec<Row> {
        let fields = self.fields();
        let partitioned = self.partitioned();
        self.live.values().flat_map(|add| read_file(table, add, &fields, &partitioned)).collect()
    }
}

struct Field {
    name: String,
    physical: String,
    /// The name of a primitive type.
    delta: Option<String>,
}

fn file_key(action: &Json) -> FileKey {
    let path = action["path"].as_str().expect("an action with a path").to_owned();
    let vector = match action.get("deletionVector").filter(|v| !v.is_null()) {
        Some(v) => format!("{}{}@{}", v["storageType"], v["pathOrInlineDv"], v["offset"]),
        None => String::new(),
    };
    (path, vector)
}

fn read_file(table: &Path, add: &Json, fields: &[Field], partitioned: &[&str]) -> Vec<Row> {
    let decoded = percent_decode_str(add["path"].as_str().expect("a path")).decode_utf8().expect("UTF-8");
    let path = table.join(decoded.as_ref());
    let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let size = file.metadata().expect("the file's size").len();
    assert_eq!(Some(size), add["size"].as_u64(), "the log's size of {}", path.display());
    // Without Arrow's own hints the types are those that any reader sees.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
        .and_then(|builder| builder.build())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let deleted = deleted_rows(add);
    let (mut rows, mut at) = (Vec::new(), 0);
    for batch in reader {
        let batch = batch.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let sources: Vec<Result<ArrayRef, Value>> = fields
            .iter()
            .map(|field| {
                if partitioned.contains(&field.name.as_str()) {
                    let text = add["partitionValues"][&field.physical].as_str();
                    return Err(parse_partition(text, field.delta.as_deref().expect("a primitive partition column")));
                }
                let Some(array) = batch.column_by_name(&field.physical) else { return Err(Value::Null) };
                if let Some(want) = field.delta.as_deref().and_then(arrow_type) {
                    assert_eq!(*array.data_type(), want, "{} in {}", field.name, path.display());
                }
                Ok(array.clone())
            })
            .collect();
        for row in 0..batch.num_rows() {
            if !deleted.contains(at) {
                let value = |source: &Result<ArrayRef, Value>| match source {
                    Ok(array) => cell(array, row),
                    Err(constant) => constant.clone(),
                };
                rows.push(sources.iter().map(value).collect());
            }
            at += 1;
        }
    }
    if let Some(stats) = add["stats"].as_str() {
        let stats: Json = serde_json::from_str(stats).expect("stats are JSON");
        assert_eq!(stats["numRecords"].as_u64(), Some(at), "numRecords of {}", path.display());
    }
    rows
}

fn deleted_rows(add: &Json) -> RoaringTreemap {
    let Some(vector) = add.get("deletionVector").filter(|v| !v.is_null()) else { return RoaringTreemap::new() };
    assert_eq!(vector["storageType"], "i", "only inline deletion vectors are read here");
    let bytes = z85::decode(vector["pathOrInlineDv"].as_str().expect("a vector's text")).expect("z85");
    RoaringTreemap::deserialize_from(&bytes[4..]).expect("a bitmap")
}

/// The live rows of a table by strict replay, sorted.
pub fn rows_of(table: &Path) -> Vec<Row> {
    let state = replay(table).unwrap_or_else(|e| panic!("strict replay: {e}"));
    let mut rows = state.rows(table);
    rows.sort();
    rows
}

/// Rows with every bit of their cells (`Value` calls NaNs and zeros equal), sorted.
pub fn exact(rows: &[Row]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    texts.sort();
    texts
}
