//! A small writer of Delta tables for tests: raw JSON commits and Parquet files.
//! It shares nothing with the crate but the type of a cell.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deltalake::arrow::array::{ArrayRef, RecordBatch};
use deltalake::arrow::datatypes::{Field, Schema};
use deltalake::parquet::arrow::ArrowWriter;
use partwise::table::Value;
use roaring::RoaringTreemap;
use serde_json::{Map, Value as Json, json};

use super::kinds::{Kind, Row};

/// When the first commit was made, in milliseconds; each later one is a minute on.
pub const FIRST_COMMIT: u64 = 1_700_000_000_000;

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

pub fn columns(list: &[(&str, Kind)]) -> Vec<Column> {
    list.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect()
}

/// How folder names are put into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathStyle {
    /// Everything but unreserved ASCII is percent-encoded.
    #[default]
    Ascii,
    /// Spark's: Hive's escapes in the folder's name, encoded once more in the
    /// log, where letters outside ASCII stand as they are.
    Spark,
}

#[derive(Debug, Clone, Default)]
pub struct Shape {
    pub columns: Vec<Column>,
    pub partition_by: Vec<String>,
    /// Column mapping by name: physical names are `col-` and the logical name.
    pub mapped: bool,
    pub deletion_vectors: bool,
    pub paths: PathStyle,
    pub properties: Vec<(String, String)>,
    /// Columns that are declared NOT NULL.
    pub required: Vec<String>,
    /// Entries of columns' metadata: (column, key, text).
    pub marks: Vec<(String, String, String)>,
    /// Types that differ from the kind's in what may be NULL.
    pub types: Vec<(String, Json)>,
}

impl Shape {
    pub fn new(list: &[(&str, Kind)], partition_by: &[&str]) -> Self {
        Self {
            columns: columns(list),
            partition_by: partition_by.iter().map(|&c| c.to_owned()).collect(),
            ..Self::default()
        }
    }

    pub fn index(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|c| c.name == name);
        found.unwrap_or_else(|| panic!("no column {name} in the fixture"))
    }

    pub fn physical(&self, name: &str) -> String {
        if self.mapped { format!("col-{name}") } else { name.to_owned() }
    }

    pub fn partition_of(&self, row: &Row) -> Row {
        self.partition_by.iter().map(|c| row[self.index(c)].clone()).collect()
    }

    /// The rows of each partition, in the partitions' order.
    pub fn grouped(&self, rows: &[Row]) -> Vec<Vec<Row>> {
        let mut groups: BTreeMap<Row, Vec<Row>> = BTreeMap::new();
        for row in rows {
            groups.entry(self.partition_of(row)).or_default().push(row.clone());
        }
        groups.into_values().collect()
    }

    pub(super) fn schema_string(&self) -> String {
        let fields = self.columns.iter().enumerate().map(|(i, column)| {
            let id = i as i64 + 1;
            let inner = self.mapped.then_some(100 + 2 * id);
            let mut metadata = match self.mapped {
                true => json!({"delta.columnMapping.id": id,
                               "delta.columnMapping.physicalName": self.physical(&column.name)}),
                false => json!({}),
            };
            for (_, key, text) in self.marks.iter().filter(|(name, ..)| *name == column.name) {
                metadata[key] = json!(text);
            }
            let nullable = !self.required.contains(&column.name);
            let own = self.types.iter().find(|(name, _)| *name == column.name).map(|(_, json)| json.clone());
            json!({"name": column.name, "type": own.unwrap_or_else(|| column.kind.delta_type(inner)), "nullable": nullable,
                   "metadata": metadata})
        });
        json!({"type": "struct", "fields": fields.collect::<Vec<_>>()}).to_string()
    }
}

#[derive(Debug, Clone, Default)]
pub struct FileOptions {
    /// Leaves `stats` out of the action.
    pub without_stats: bool,
    /// Rows that an inline deletion vector hides.
    pub deleted: Vec<u64>,
}

/// A table that a test writes.
#[derive(Debug)]
pub struct Fixture {
    pub path: PathBuf,
    pub shape: Shape,
    /// The version that the next commit gets.
    pub next: u64,
    files: u64,
}

impl Fixture {
    /// An empty folder; the first commit will carry protocol and metaData.
    pub fn new(path: impl Into<PathBuf>, shape: Shape) -> Self {
        let path = path.into();
        fs::create_dir_all(path.join("_delta_log")).expect("a folder for the table");
        Self { path, shape, next: 0, files: 0 }
    }

    /// A table whose first commit has these rows, one file a partition.
    pub fn with_rows(path: impl Into<PathBuf>, shape: Shape, rows: &[Row]) -> Self {
        let mut table = Self::new(path, shape);
        table.append(rows);
        table
    }

    /// Goes on with a table that lies there already, as another writer would.
    pub fn resume(path: impl Into<PathBuf>, shape: Shape) -> Self {
        let path = path.into();
        let mut next = 0;
        while log_file(&path, next).exists() {
            next += 1;
        }
        Self { path, shape, next, files: next * 1000 }
    }

    pub fn append(&mut self, rows: &[Row]) -> u64 {
        let adds = self.add_each(rows, &FileOptions::default());
        self.commit("WRITE", json!({"mode": "Append"}), adds)
    }

    /// Data files for the rows, one a partition, and their `add` actions.
    pub fn add_each(&mut self, rows: &[Row], options: &FileOptions) -> Vec<Json> {
        self.shape.grouped(rows).iter().map(|group| self.add(group, options)).collect()
    }

    /// One data file for rows of one partition, and its `add` action.
    pub fn add(&mut self, rows: &[Row], options: &FileOptions) -> Json {
        self.files += 1;
        let partition = self.shape.partition_of(&rows[0]);
        assert!(rows.iter().all(|r| self.shape.partition_of(r) == partition), "rows of several partitions in one file");
        let mut values = Map::new();
        let (mut folder, mut logged) = (String::new(), String::new());
        for (name, value) in self.shape.partition_by.iter().zip(&partition) {
            let physical = self.shape.physical(name);
            let text = self.shape.columns[self.shape.index(name)].kind.partition_text(value);
            let escaped = hive_escape(text.as_deref().unwrap_or("__HIVE_DEFAULT_PARTITION__"));
            folder.push_str(&format!("{physical}={escaped}/"));
            values.insert(physical, json!(text));
        }
        folder.push_str(&format!("part-{:05}-fixture.c000.snappy.parquet", self.files));
        logged.push_str(&uri_encode(&folder, self.shape.paths));
        let file = self.path.join(&folder);
        let stored: Vec<&Column> =
            self.shape.columns.iter().filter(|c| !self.shape.partition_by.contains(&c.name)).collect();
        self.write_parquet(&file, &stored, rows);
        let size = fs::metadata(&file).expect("the data file's size").len();
        let mut add = json!({"path": logged, "partitionValues": values, "size": size,
                             "modificationTime": FIRST_COMMIT + self.next * 60_000, "dataChange": true});
        if !options.without_stats {
            add["stats"] = json!(self.stats(&stored, rows).to_string());
        }
        if !options.deleted.is_empty() {
            add["deletionVector"] = inline_deletion_vector(&options.deleted);
        }
        json!({"add": add})
    }

    fn write_parquet(&self, path: &Path, stored: &[&Column], rows: &[Row]) {
        let mapped = self.shape.mapped;
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for column in stored {
            let at = self.shape.index(&column.name);
            let cells: Vec<&Value> = rows.iter().map(|row| &row[at]).collect();
            let array = column.kind.array(&cells, mapped);
            let mut field = Field::new(self.shape.physical(&column.name), array.data_type().clone(), true);
            if mapped {
                field = field.with_metadata([("PARQUET:field_id".to_owned(), (at + 1).to_string())].into());
            }
            fields.push(field);
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(
            Arc::clone(&schema),
            arrays,
            &deltalake::arrow::array::RecordBatchOptions::new().with_row_count(Some(rows.len())),
        );
        write_batch(path, &batch.expect("columns of one length"));
    }

    /// `numRecords` and, for types with an obvious order, bounds.
    fn stats(&self, stored: &[&Column], rows: &[Row]) -> Json {
        let (mut min, mut max, mut nulls) = (Map::new(), Map::new(), Map::new());
        for column in stored {
            let (at, physical) = (self.shape.index(&column.name), self.shape.physical(&column.name));
            let present: Vec<&Value> = rows.iter().map(|r| &r[at]).filter(|v| **v != Value::Null).collect();
            if !matches!(column.kind, Kind::Struct | Kind::List | Kind::Map) {
                nulls.insert(physical.clone(), json!(rows.len() - present.len()));
            }
            let bound = |v: &Value| match v {
                Value::Int(i) => Some(json!(i)),
                Value::String(s) => Some(json!(s)),
                Value::Date(_) => column.kind.partition_text(v).map(Json::String),
                _ => None,
            };
            let low = present.iter().min().and_then(|v| bound(v));
            let high = present.iter().max().and_then(|v| bound(v));
            if let (Some(low), Some(high)) = (low, high) {
                min.insert(physical.clone(), low);
                max.insert(physical, high);
            }
        }
        json!({"numRecords": rows.len(), "minValues": min, "maxValues": max, "nullCount": nulls})
    }

    /// Commits actions as the next version. The first one gets protocol and metaData.
    pub fn commit(&mut self, operation: &str, parameters: Json, actions: Vec<Json>) -> u64 {
        let time = FIRST_COMMIT + self.next * 60_000;
        let info = json!({"commitInfo": {"timestamp": time, "operation": operation,
            "operationParameters": parameters, "engineInfo": "Apache-Spark/4.0.3 Delta-Lake/4.0.0"}});
        let head = if self.next == 0 { self.shape.head() } else { Vec::new() };
        let lines: Vec<Json> = std::iter::once(info).chain(head).chain(actions).collect();
        self.commit_lines(&lines)
    }

    /// Commits exactly these actions.
    pub fn commit_lines(&mut self, lines: &[Json]) -> u64 {
        let version = self.next;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = log_file(&self.path, version);
        assert!(!path.exists(), "version {version} is taken");
        fs::write(&path, text).expect("the commit's file");
        set_time(&path, FIRST_COMMIT + version * 60_000);
        self.next += 1;
        version
    }

    /// Commits another metaData of the same table with these actions, as an
    /// ALTER TABLE or an overwrite with another schema does. Later files have
    /// the new shape.
    pub fn alter(&mut self, shape: Shape, operation: &str, mut actions: Vec<Json>) -> u64 {
        let first = fs::read_to_string(log_file(&self.path, 0)).expect("the first commit");
        let id = first.lines().find_map(|line| {
            serde_json::from_str::<Json>(line).expect("a line of JSON")["metaData"]["id"].as_str().map(str::to_owned)
        });
        self.shape = shape;
        for mut action in self.shape.head() {
            if action.get("metaData").is_some() {
                action["metaData"]["id"] = json!(id);
            }
            actions.push(action);
        }
        self.commit(operation, json!({}), actions)
    }

    /// The `remove` for an `add` of ours.
    pub fn remove(&self, add: &Json) -> Json {
        let add = &add["add"];
        let mut remove = json!({"path": add["path"], "deletionTimestamp": FIRST_COMMIT + self.next * 60_000,
            "dataChange": true, "extendedFileMetadata": true, "partitionValues": add["partitionValues"],
            "size": add["size"]});
        if let Some(vector) = add.get("deletionVector") {
            remove["deletionVector"] = vector.clone();
        }
        json!({"remove": remove})
    }

    /// What a DELETE of these rows of a file commits: its `remove`, and the
    /// file once more with a deletion vector where rows are left.
    pub fn mask(&self, add: &Json, deleted: &[u64], rows: u64) -> Vec<Json> {
        let mut actions = vec![self.remove(add)];
        if (deleted.len() as u64) < rows {
            let mut masked = add.clone();
            masked["add"]["deletionVector"] = inline_deletion_vector(deleted);
            actions.push(masked);
        }
        actions
    }
}

pub fn log_file(table: &Path, version: u64) -> PathBuf {
    table.join(format!("_delta_log/{version:020}.json"))
}

pub fn set_time(path: &Path, millis: u64) {
    let file = File::options().append(true).open(path).expect("a file to date");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)).expect("a file's time can be set");
}

/// A Parquet file with this batch.
pub fn write_batch(path: &Path, batch: &RecordBatch) {
    fs::create_dir_all(path.parent().expect("a file in a folder")).expect("the partition's folder");
    let mut writer =
        ArrowWriter::try_new(File::create(path).expect("a new file"), batch.schema(), None).expect("a Parquet writer");
    writer.write(batch).expect("rows that can be written");
    writer.close().expect("a Parquet footer");
}

/// A Parquet file with these columns in this order.
pub fn write_source(path: &Path, columns: &[Column], rows: &[Row]) {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let cells: Vec<&Value> = rows.iter().map(|row| &row[at]).collect();
        let array = column.kind.array(&cells, false);
        fields.push(Field::new(&column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    write_batch(path, &RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length"));
}

/// An inline deletion vector (protocol, "Deletion Vector Format").
pub fn inline_deletion_vector(rows: &[u64]) -> Json {
    let mut bytes = 1_681_511_377_u32.to_le_bytes().to_vec();
    let bitmap: RoaringTreemap = rows.iter().copied().collect();
    bitmap.serialize_into(&mut bytes).expect("a bitmap fits in memory");
    let size = bytes.len();
    bytes.resize(size.next_multiple_of(4), 0);
    json!({"storageType": "i", "pathOrInlineDv": z85::encode(&bytes), "sizeInBytes": size,
           "cardinality": bitmap.len()})
}

/// Hive's escapes in a partition folder's name.
fn hive_escape(text: &str) -> String {
    let special = |c: char| c.is_ascii_control() || "\"#%'*/:=?\\{[]^".contains(c);
    let escape = |c: char| if special(c) { format!("%{:02X}", c as u32) } else { c.to_string() };
    text.chars().map(escape).collect()
}

fn uri_encode(path: &str, style: PathStyle) -> String {
    let mut out = Vec::new();
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.!~*'()/=+$,:@&;".contains(&byte);
        if plain || (style == PathStyle::Spark && !byte.is_ascii()) {
            out.push(byte);
        } else {
            out.extend(format!("%{byte:02X}").bytes());
        }
    }
    String::from_utf8(out).expect("whole characters stay whole")
}
