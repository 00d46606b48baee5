//! Tables of other writers, by each of their plain columns with less than 100
//! values, and back: rows and metadata are those from before. What is refused
//! stands in `docs/REPARTITION.md` with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use partwise::ops::OpenTable;
use partwise::plan::Plan;
use partwise::progress::Progress;
use partwise::table::{DataType, PrimitiveType, Value};
use serde_json::Value as Json;

use super::{by, plan};
use crate::support::road::{copy_folder, shared};
use crate::support::{Bench, Row, block_on};

const PAGE: &str = "docs/REPARTITION.md";
/// More rows are left to the benchmark.
const MOST_ROWS: usize = 20_000;
const MOST_VALUES: usize = 100;

fn rows(open: &OpenTable) -> Result<Vec<Row>, String> {
    let page = block_on(open.rows(None, &[], 0, MOST_ROWS, &Progress::default())).map_err(|e| e.message)?;
    if page.more {
        return Err(format!("more than {MOST_ROWS} rows"));
    }
    let mut rows = page.rows;
    rows.sort();
    Ok(rows)
}

/// The metaData's text without its partition columns, and these.
fn metadata(open: &OpenTable) -> (BTreeMap<String, Json>, Vec<String>) {
    let raw = open.metadata().raw.iter().filter(|(key, _)| *key != "partitionColumns");
    (raw.map(|(k, v)| (k.clone(), v.clone())).collect(), open.metadata().partition_columns.clone())
}

fn apply(bench: &Bench, table: &Path, columns: &[&str]) -> Result<Plan, String> {
    let plan = plan(bench, table, &by(columns)).map_err(|e| e.message)?;
    if let Some(refusal) = plan.refusals.first() {
        return Err(refusal.message.clone());
    }
    bench.apply(&plan).map_err(|e| e.full_message())?;
    Ok(plan)
}

/// What became of one table, in words for the page; panics where anything is lost.
fn check(name: &str, folder: &Path) -> String {
    let bench = Bench::default();
    let (original, copy) = (bench.path("original"), bench.path("copy"));
    copy_folder(folder, &original);
    let plain = |text: String| text.replace(&original.to_string_lossy().into_owned(), name);
    let open = match bench.open(&original) {
        Ok(open) => open,
        Err(error) => return plain(format!("cannot be opened: {}", error.message)),
    };
    let before = match rows(&open) {
        Ok(before) => before,
        Err(why) => return plain(format!("cannot be read whole: {why}")),
    };
    let (kept, old) = metadata(&open);
    let (mut done, mut refused): (Vec<String>, BTreeMap<String, Vec<String>>) = (Vec::new(), BTreeMap::new());
    for (at, field) in open.metadata().schema.fields.iter().enumerate() {
        let primitive = matches!(&field.data_type, DataType::Primitive(t) if *t != PrimitiveType::Binary);
        let values: BTreeSet<&Value> = before.iter().map(|row| &row[at]).collect();
        if !primitive || values.len() >= MOST_VALUES {
            continue;
        }
        let _ = std::fs::remove_dir_all(&copy);
        copy_folder(&original, &copy);
        if let Err(why) = apply(&bench, &copy, &[&field.name]) {
            refused.entry(why).or_default().push(field.name.clone());
            continue;
        }
        let there = bench.open(&copy).unwrap();
        // The protocol reads the empty string in a partition column as NULL.
        let left: Vec<usize> = (0..open.metadata().schema.fields.len())
            .filter(|i| {
                let name = &open.metadata().schema.fields[*i].name;
                old.contains(name) && *name != field.name
            })
            .collect();
        let mut want = before.clone();
        for row in &mut want {
            left.iter().for_each(|i| {
                if row[*i] == Value::String(String::new()) {
                    row[*i] = Value::Null;
                }
            });
        }
        want.sort();
        assert_eq!(rows(&there).unwrap(), want, "{name} by {}", field.name);
        assert_eq!(metadata(&there), (kept.clone(), vec![field.name.clone()]), "{name} by {}", field.name);
        let back: Vec<&str> = old.iter().map(String::as_str).collect();
        apply(&bench, &copy, &back).unwrap_or_else(|e| panic!("{name} back from {}: {e}", field.name));
        let again = bench.open(&copy).unwrap();
        assert_eq!((rows(&again).unwrap(), metadata(&again)), (want, (kept.clone(), old.clone())), "{name} back");
        done.push(field.name.clone());
    }
    let refused =
        refused.into_iter().map(|(why, columns)| format!("refused by {}: {}", columns.join(", "), plain(why)));
    let done = match done.is_empty() {
        true => None,
        false => Some(format!("there and back by {}", done.join(", "))),
    };
    let said: Vec<String> = done.into_iter().chain(refused).collect();
    match said.is_empty() {
        true => format!("has no plain column with less than {MOST_VALUES} values"),
        false => said.join("; "),
    }
}

fn line(name: &str, said: &str) -> String {
    format!("| {name} | {} |\n", said.replace('|', "\\|").replace(['\n', '\r'], " "))
}

/// All tables with `PARTWISE_FULL=1`, else each sixteenth. `PARTWISE_BLESS=1` with
/// all of them rewrites the page.
#[test]
fn every_table_of_other_writers_there_and_back() {
    let Some(root) = shared("tables") else { return };
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let facts: BTreeMap<String, Json> =
        serde_json::from_str(&std::fs::read_to_string(root.join("facts.json")).unwrap()).unwrap();
    let mut lines = Vec::new();
    for (number, name) in facts.keys().enumerate() {
        if full || number % 16 == 3 {
            lines.push(line(name, &check(name, &root.join(name))));
        }
    }
    assert!(lines.iter().filter(|l| l.contains("there and back")).count() * 4 > lines.len(), "{lines:?}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if full && std::env::var_os("PARTWISE_BLESS").is_some() {
        let page = format!(
            "# Repartition of other writers' tables\n\n\
             {} tables that Spark, Databricks and other writers made, each partitioned by every plain column with less than \
             {MOST_VALUES} values, and back. Rows are the same by every cell, and so is the metadata but for the partition \
             columns. What is refused is refused before a file is written.\n\n\
             This page is written by `PARTWISE_FULL=1 PARTWISE_BLESS=1 cargo test layout::others`.\n\n\
             | table | what became of it |\n| --- | --- |\n{}",
            lines.len(),
            lines.concat()
        );
        std::fs::write(&path, page).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    for line in &lines {
        assert!(page.contains(line.as_str()), "{PAGE} does not say: {line}");
    }
}
