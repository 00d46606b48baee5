//! The write plans of `tests/corpus`: their files, and the table and the source
//! that each describes. `tests/corpus/README.md` says what the fields mean.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use partwise::error::ErrorKind;
use partwise::table::Value;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::kinds::{Kind, Row};
use super::road::Bench;
use super::writer::{Column, FileOptions, Fixture, PathStyle, Shape};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// What the case shows, in a sentence.
    pub shows: String,
    pub table: Table,
    pub source: Delivered,
    pub write: Write,
    /// Where partwise means to differ from Spark.
    #[serde(default)]
    pub partwise: Option<Ours>,
    /// The same for the statement alone.
    #[serde(default)]
    pub statement: Option<Ours>,
    pub truth: Truth,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub columns: Vec<Typed>,
    #[serde(default)]
    pub partition_by: Vec<String>,
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// CHECK constraints: name and condition.
    #[serde(default)]
    pub checks: BTreeMap<String, String>,
    /// The rows of each commit.
    pub commits: Vec<Vec<Vec<Json>>>,
    /// `COLUMN = VALUE`: a DELETE that leaves deletion vectors.
    #[serde(default)]
    pub delete: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default = "yes")]
    pub nullable: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    pub columns: Vec<Typed>,
    pub rows: Vec<Vec<Json>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Spark's statement over `target` and `staging`.
    pub sql: Lines,
    /// Spark's settings for the statement.
    #[serde(default)]
    pub conf: BTreeMap<String, String>,
    /// The word after `partwise plan` for the form with flags.
    pub kind: String,
    /// `None` where only the statement can say it.
    pub flags: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Lines {
    One(String),
    Many(Vec<String>),
}

impl Lines {
    pub fn text(&self) -> String {
        match self {
            Lines::One(text) => text.clone(),
            Lines::Many(lines) => lines.join("\n"),
        }
    }
}

/// A difference from Spark that is meant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ours {
    /// The refusal, where Spark goes on.
    #[serde(default)]
    pub refuses: Option<ErrorKind>,
    /// The rows afterwards, where they differ from Spark's.
    #[serde(default)]
    pub rows: Option<Vec<Vec<Json>>>,
    pub because: String,
}

/// What a real Spark did, as `tests/spark/corpus.py record` writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// The class of the error, where there was one.
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub committed: bool,
    #[serde(default)]
    pub metrics: BTreeMap<String, u64>,
    /// The table's rows afterwards.
    pub rows: Vec<Vec<Json>>,
}

/// Every case, by file and place. Panics for a file that does not parse: that
/// is a mistake in the corpus.
pub fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(&folder).expect("the corpus's folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    let read = |path: &PathBuf| -> Vec<Case> {
        let text = fs::read_to_string(path).expect("a file of cases");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    files.iter().flat_map(read).collect()
}

impl Case {
    /// The values of a flag, in their order; a word after the flag is its value.
    pub fn flag(&self, name: &str) -> Vec<&str> {
        let words = self.write.flags.as_deref().unwrap_or_default();
        words.windows(2).filter(|pair| pair[0] == name).map(|pair| pair[1].as_str()).collect()
    }

    pub fn has_flag(&self, name: &str) -> bool {
        self.write.flags.iter().flatten().any(|word| word == name)
    }

    pub fn key(&self) -> Vec<&str> {
        self.flag("--key").into_iter().flat_map(|list| list.split(',')).collect()
    }

    /// The table's rows afterwards, as partwise should leave them, sorted.
    pub fn rows_after(&self) -> Vec<Row> {
        let stated = self.partwise.as_ref().and_then(|ours| ours.rows.as_ref());
        super::sorted(rows(&self.table.columns, stated.unwrap_or(&self.truth.rows)))
    }

    fn shape(&self) -> Shape {
        const MAPPING: &str = "delta.columnMapping.mode";
        const VECTORS: &str = "delta.enableDeletionVectors";
        let table = &self.table;
        let checks = table.checks.iter().map(|(name, sql)| (format!("delta.constraints.{name}"), sql.clone()));
        let own = table.properties.iter().filter(|(k, _)| ![MAPPING, VECTORS].contains(&k.as_str()));
        Shape {
            columns: columns(&table.columns),
            partition_by: table.partition_by.clone(),
            mapped: table.properties.get(MAPPING).is_some_and(|mode| mode == "name"),
            deletion_vectors: table.properties.get(VECTORS).is_some_and(|on| on == "true"),
            paths: PathStyle::Spark,
            properties: own.map(|(k, v)| (k.clone(), v.clone())).chain(checks).collect(),
            required: table.columns.iter().filter(|c| !c.nullable).map(|c| c.name.clone()).collect(),
            ..Shape::default()
        }
    }

    /// Writes the table as a bench's `t`: the commits, then the DELETE.
    pub fn write_table(&self, bench: &Bench) -> Fixture {
        let mut table = Fixture::new(bench.path("t"), self.shape());
        // Spark makes a table first and then writes to it.
        table.commit("CREATE TABLE", json!({}), Vec::new());
        let mut files: Vec<(Json, Vec<Row>)> = Vec::new();
        for commit in &self.table.commits {
            let groups = table.shape.grouped(&rows(&self.table.columns, commit));
            let adds: Vec<Json> = groups.iter().map(|group| table.add(group, &FileOptions::default())).collect();
            table.commit("WRITE", json!({"mode": "Append"}), adds.clone());
            files.extend(adds.into_iter().zip(groups));
        }
        if let Some(predicate) = &self.table.delete {
            let (name, text) = predicate.split_once(" = ").expect("a DELETE by COLUMN = VALUE");
            let at = table.shape.index(name);
            let gone = value(table.shape.columns[at].kind, &serde_json::from_str(text).expect("a JSON value"));
            let mut actions = Vec::new();
            for (add, rows) in &files {
                let hit: Vec<u64> = (0..).zip(rows).filter(|(_, row)| row[at] == gone).map(|(i, _)| i).collect();
                if !hit.is_empty() {
                    actions.extend(table.mask(add, &hit, rows.len() as u64));
                }
            }
            table.commit("DELETE", json!({"predicate": [predicate]}), actions);
        }
        table
    }

    /// Writes the source and says where it is.
    pub fn write_source(&self, bench: &Bench) -> String {
        bench.source("staging", &columns(&self.source.columns), &rows(&self.source.columns, &self.source.rows))
    }
}

fn columns(list: &[Typed]) -> Vec<Column> {
    list.iter().map(|c| Column { name: c.name.clone(), kind: kind(&c.kind) }).collect()
}

fn kind(name: &str) -> Kind {
    match name {
        "boolean" => Kind::Boolean,
        "byte" => Kind::Byte,
        "short" => Kind::Short,
        "integer" => Kind::Integer,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "string" => Kind::String,
        "binary" => Kind::Binary,
        "date" => Kind::Date,
        "timestamp" => Kind::Timestamp,
        "timestamp_ntz" => Kind::TimestampNtz,
        "struct<a:integer,b:string>" => Kind::Struct,
        "array<integer>" => Kind::List,
        "map<string,integer>" => Kind::Map,
        other => {
            let inner = other.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')'));
            let (p, s) = inner.and_then(|i| i.split_once(',')).unwrap_or_else(|| panic!("a column of type {other}"));
            Kind::Decimal(p.parse().expect("a precision"), s.parse().expect("a scale"))
        }
    }
}

/// Rows from their JSON. Panics for a cell that its column cannot hold.
pub fn rows(columns: &[Typed], rows: &[Vec<Json>]) -> Vec<Row> {
    let row = |cells: &Vec<Json>| -> Row {
        assert_eq!(cells.len(), columns.len(), "cells in {cells:?}");
        columns.iter().zip(cells).map(|(c, cell)| value(kind(&c.kind), cell)).collect()
    };
    rows.iter().map(row).collect()
}

fn value(kind: Kind, cell: &Json) -> Value {
    if cell.is_null() {
        return Value::Null;
    }
    let text = || cell.as_str().unwrap_or_else(|| panic!("{cell} is no text, in a column of type {kind:?}"));
    let float = || match cell {
        Json::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    };
    match kind {
        Kind::Boolean => Value::Boolean(cell.as_bool().expect("a boolean")),
        Kind::Byte | Kind::Short | Kind::Integer | Kind::Long => Value::Int(cell.as_i64().expect("a whole number")),
        Kind::Float => Value::Float(float() as f32),
        Kind::Double => Value::Double(float()),
        Kind::Decimal(_, scale) => {
            let (whole, fraction) = text().split_once('.').unwrap_or((text(), ""));
            let width = usize::try_from(scale).expect("a scale of at least 0");
            assert!(fraction.len() <= width, "{cell} has more digits than its column");
            let digits = format!("{whole}{fraction:0<width$}");
            Value::Decimal { unscaled: digits.parse().expect("a decimal"), scale: scale as u8 }
        }
        Kind::String => Value::String(text().to_owned()),
        Kind::Binary => Value::Binary(hex(text())),
        Kind::Date => {
            let date = NaiveDate::parse_from_str(text(), "%Y-%m-%d").expect("a date");
            let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).expect("the epoch");
            Value::Date((date - epoch).num_days().try_into().expect("a date in range"))
        }
        Kind::Timestamp => {
            Value::Timestamp(DateTime::parse_from_rfc3339(text()).expect("an instant").timestamp_micros())
        }
        Kind::TimestampNtz => {
            let time = NaiveDateTime::parse_from_str(text(), "%Y-%m-%dT%H:%M:%S%.f").expect("a time without a zone");
            Value::TimestampNtz(time.and_utc().timestamp_micros())
        }
        Kind::Struct => Value::Nested(json!([cell["a"], cell["b"]]).to_string()),
        Kind::List => Value::Nested(cell.to_string()),
        Kind::Map => {
            let object: &Map<String, Json> = cell.as_object().expect("a map");
            let entries: BTreeMap<&String, &Json> = object.iter().collect();
            Value::Nested(json!(entries.into_iter().collect::<Vec<_>>()).to_string())
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("two hex digits");
    (0..text.len()).step_by(2).map(byte).collect()
}
