//! Actions of a log entry (protocol, "Actions").

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::error::{Error, ErrorKind, Result};
use crate::table::file::{DataFile, DeletionVector, FileId};
use crate::table::partition::PartitionTuple;
use crate::table::schema::{DataType, PrimitiveType, Schema};
use crate::table::value::Value;
use crate::table::{Metadata, Protocol};

/// One line of a log entry; unknown actions are ignored, as the protocol asks.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Line {
    pub add: Option<Add>,
    pub remove: Option<Remove>,
    pub meta_data: Option<Map<String, Json>>,
    pub protocol: Option<RawProtocol>,
    pub commit_info: Option<Map<String, Json>>,
    pub txn: Option<Txn>,
    pub cdc: Option<serde::de::IgnoredAny>,
    pub sidecar: Option<Sidecar>,
    pub checkpoint_metadata: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Add {
    pub path: String,
    pub partition_values: BTreeMap<String, Option<String>>,
    pub size: i64,
    pub modification_time: i64,
    pub data_change: bool,
    pub stats: Option<String>,
    pub deletion_vector: Option<DeletionVector>,
    pub tags: Option<Json>,
    pub base_row_id: Option<Json>,
    pub default_row_commit_version: Option<Json>,
    pub clustering_provider: Option<Json>,
    /// From a checkpoint that keeps statistics as a struct only.
    #[serde(skip)]
    pub parsed_num_records: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Remove {
    pub path: String,
    pub data_change: bool,
    pub deletion_vector: Option<DeletionVector>,
    pub partition_values: Option<BTreeMap<String, Option<String>>>,
    pub size: Option<i64>,
    pub deletion_timestamp: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawProtocol {
    pub min_reader_version: i64,
    pub min_writer_version: i64,
    #[serde(default)]
    pub reader_features: Option<Vec<String>>,
    #[serde(default)]
    pub writer_features: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Txn {
    pub app_id: String,
    pub version: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sidecar {
    pub path: String,
    pub size_in_bytes: i64,
}

#[derive(Deserialize)]
struct StatsHead {
    #[serde(rename = "numRecords")]
    num_records: Option<i64>,
}

/// Parses a log entry.
///
/// # Errors
/// `BadCommit` with the file's name and the line: cut off, empty, not UTF-8, a
/// byte order mark.
pub fn parse_lines(name: &str, bytes: &[u8]) -> Result<Vec<Line>> {
    let bad = |why: String| {
        Error::new(ErrorKind::BadCommit, format!("{name}: {why}"))
            .hint("The log is damaged there. Restore the file from a backup; nothing will be written to this table.")
    };
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(bad("starts with a byte order mark (BOM)".into()));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| bad(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        lines.push(serde_json::from_str(line).map_err(|e| bad(format!("line {}: {e}", number + 1)))?);
    }
    if lines.is_empty() {
        return Err(bad("the file is empty".into()));
    }
    Ok(lines)
}

impl RawProtocol {
    pub fn into_protocol(self) -> Protocol {
        Protocol {
            min_reader: self.min_reader_version,
            min_writer: self.min_writer_version,
            reader_features: self.reader_features,
            writer_features: self.writer_features,
        }
    }
}

/// # Errors
/// `BadMetadata`, `UnsupportedType`, `BadPartitionColumn`.
pub fn parse_metadata(raw: Map<String, Json>) -> Result<Metadata> {
    let bad = |what: &str| {
        Error::new(ErrorKind::BadMetadata, format!("the table's metaData {what}"))
            .hint("The metaData action in _delta_log is damaged.")
    };
    let text = |key: &str| raw.get(key).and_then(Json::as_str).map(str::to_owned);
    let schema_text = text("schemaString").ok_or_else(|| bad("has no schemaString"))?;
    let schema = Schema::parse(&schema_text)?;
    let partition_columns: Vec<String> = match raw.get("partitionColumns") {
        None | Some(Json::Null) => Vec::new(),
        Some(list) => {
            serde_json::from_value(list.clone()).map_err(|_| bad("has partitionColumns that are no list of names"))?
        }
    };
    for column in &partition_columns {
        let Some(field) = schema.field(column) else {
            return Err(Error::new(
                ErrorKind::BadPartitionColumn,
                format!("the table says that it is partitioned by '{column}', a column that its schema lacks"),
            ));
        };
        if field.data_type.is_nested() {
            return Err(Error::new(
                ErrorKind::BadPartitionColumn,
                format!("the partition column '{column}' is a {}", field.data_type),
            ));
        }
    }
    let configuration = match raw.get("configuration").and_then(Json::as_object) {
        Some(map) => {
            map.iter().map(|(k, v)| (k.clone(), v.as_str().map_or_else(|| v.to_string(), str::to_owned))).collect()
        }
        None => Vec::new(),
    };
    Ok(Metadata {
        id: text("id").ok_or_else(|| bad("has no id"))?,
        name: text("name"),
        description: text("description"),
        created_time: raw.get("createdTime").and_then(Json::as_i64),
        schema,
        partition_columns,
        configuration,
        raw,
    })
}

/// Turns raw actions into [`DataFile`]s of one table.
#[derive(Debug, Clone)]
pub struct FileParser {
    /// (logical name, physical name, type), in partitioning order
    columns: Vec<(String, String, PrimitiveType)>,
    keep_rest: bool,
}

impl FileParser {
    /// `keep_rest` keeps statistics and tags, for operations that may have to
    /// add a file again.
    pub fn new(metadata: &Metadata, keep_rest: bool) -> Self {
        let columns = metadata
            .partition_fields()
            .into_iter()
            .filter_map(|f| match &f.data_type {
                DataType::Primitive(p) => Some((f.name.clone(), f.physical_name().to_owned(), p.clone())),
                _ => None,
            })
            .collect();
        Self { columns, keep_rest }
    }

    /// The typed partition values of an action.
    ///
    /// # Errors
    /// `BadPartitionValue` with the file, the column, the text and the type.
    pub fn partition(&self, path: &str, values: &BTreeMap<String, Option<String>>) -> Result<PartitionTuple> {
        let typed: Result<Vec<Value>> = self
            .columns
            .iter()
            .map(|(logical, physical, kind)| {
                let text = values.get(physical).or_else(|| values.get(logical)).and_then(Option::as_deref);
                Value::parse_partition(text, kind).ok_or_else(|| {
                    Error::new(
                        ErrorKind::BadPartitionValue,
                        format!(
                            "the file {path} has '{}' for the partition column '{logical}', which is no {kind}",
                            text.unwrap_or_default()
                        ),
                    )
                    .hint("The log is damaged there; nothing will be written to this table.")
                })
            })
            .collect();
        Ok(PartitionTuple(typed?))
    }

    /// # Errors
    /// As [`FileParser::partition`]; `BadCommit` for a size or a number of
    /// deleted rows that no file has.
    pub fn file(&self, add: Add, version: Option<u64>) -> Result<DataFile> {
        let partition = self.partition(&add.path, &add.partition_values)?;
        let damaged = |what: &str, number: i64| {
            Error::new(ErrorKind::BadCommit, format!("the file {} has {what} {number}", add.path))
                .hint("The log is damaged there; nothing will be written to this table.")
        };
        let size = plausible(add.size).ok_or_else(|| damaged("the impossible size", add.size))?;
        if let Some(dv) = &add.deletion_vector {
            plausible(dv.cardinality)
                .ok_or_else(|| damaged("an impossible number of deleted rows,", dv.cardinality))?;
        }
        let num_records = add
            .stats
            .as_deref()
            .and_then(|text| serde_json::from_str::<StatsHead>(text).ok())
            .and_then(|s| s.num_records)
            .or(add.parsed_num_records)
            .and_then(plausible);
        let rest = self.keep_rest.then(|| Box::new(rest(&add)));
        Ok(DataFile {
            partition,
            num_records,
            rest,
            size,
            modified: add.modification_time,
            deletion_vector: add.deletion_vector,
            raw_partition_values: add.partition_values.into_iter().collect(),
            path: add.path,
            version,
        })
    }
}

/// Bytes or rows of one file. Beyond, a number is damage, and the sums over a
/// table's files would overflow.
pub fn plausible(number: i64) -> Option<u64> {
    const MOST: u64 = 1 << 48;
    u64::try_from(number).ok().filter(|n| *n <= MOST)
}

/// What of an `add` no field of [`DataFile`] holds.
fn rest(add: &Add) -> Map<String, Json> {
    let mut rest = Map::new();
    let stats = add.stats.clone().or_else(|| add.parsed_num_records.map(|n| format!("{{\"numRecords\":{n}}}")));
    if let Some(stats) = stats {
        rest.insert("stats".into(), Json::String(stats));
    }
    for (key, value) in [
        ("tags", &add.tags),
        ("baseRowId", &add.base_row_id),
        ("defaultRowCommitVersion", &add.default_row_commit_version),
        ("clusteringProvider", &add.clustering_provider),
    ] {
        if let Some(value) = value {
            rest.insert(key.into(), value.clone());
        }
    }
    rest
}

impl Remove {
    pub fn id(&self) -> FileId {
        FileId {
            path: self.path.clone(),
            deletion_vector: self.deletion_vector.as_ref().map(DeletionVector::unique_id),
        }
    }
}

impl Add {
    pub fn id(&self) -> FileId {
        FileId {
            path: self.path.clone(),
            deletion_vector: self.deletion_vector.as_ref().map(DeletionVector::unique_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_file_has_are_damage() {
        let metadata = serde_json::json!({"id": "t", "schemaString": "{\"type\":\"struct\",\"fields\":[]}"});
        let Json::Object(metadata) = metadata else { unreachable!("an object") };
        let parser = FileParser::new(&parse_metadata(metadata).unwrap(), false);
        let stats = |rows: i64| Some(format!("{{\"numRecords\":{rows}}}"));
        for size in [-1, i64::MAX] {
            let error = parser.file(Add { path: "x".into(), size, ..Add::default() }, None).unwrap_err();
            assert_eq!(error.kind, ErrorKind::BadCommit);
            assert!(error.message.contains(&size.to_string()), "{}", error.message);
        }
        for (rows, want) in [(7, Some(7)), (-7, None), (i64::MAX, None)] {
            let file = parser.file(Add { stats: stats(rows), ..Add::default() }, None).unwrap();
            assert_eq!(file.num_records, want);
        }
        let vector = |cardinality| DeletionVector {
            storage_type: "i".into(),
            path_or_inline_dv: String::new(),
            offset: None,
            size_in_bytes: 0,
            cardinality,
        };
        for cardinality in [-1, i64::MAX] {
            let add = Add { deletion_vector: Some(vector(cardinality)), ..Add::default() };
            assert_eq!(parser.file(add, None).unwrap_err().kind, ErrorKind::BadCommit);
        }
    }

    #[test]
    fn damaged_entries_are_named_with_their_line() {
        let good = b"{\"commitInfo\":{}}\r\n{\"strange\":{\"x\":1}}\r\n";
        assert_eq!(parse_lines("0.json", good).unwrap().len(), 2);
        for (bytes, said) in
            [(&b"{\"add\":{}}\n{\"add\":{\"pa"[..], "line 2"), (&b""[..], "empty"), (&b"\xef\xbb\xbf{}"[..], "BOM")]
        {
            let error = parse_lines("2.json", bytes).unwrap_err();
            assert_eq!(error.kind, ErrorKind::BadCommit);
            assert!(error.message.contains("2.json") && error.message.contains(said), "{}", error.message);
        }
    }
}
