//! The tables that other writers made: each is shown as two other engines saw
//! it, or refused with an error that names the cause.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use partwise::error::{Error, ErrorKind, Result};
use partwise::ops::OpenTable;
use partwise::progress::Progress;
use partwise::table::{Field, PartitionStats, PrimitiveType, Value};
use serde_json::Value as Json;

use crate::support::peer::count_rows;
use crate::support::road::shared;
use crate::support::{Bench, Row, block_on};

/// What partwise says about one table.
struct Seen {
    version: u64,
    columns: Vec<String>,
    partition_columns: Vec<String>,
    types: Vec<PrimitiveType>,
    files: u64,
    uncounted: Vec<PartitionStats>,
    versions: Vec<u64>,
    /// Files of the log that lack `numRecords`.
    without_stats: u64,
}

async fn look(open: &OpenTable) -> Result<Seen> {
    let progress = Progress::default();
    let metadata = open.metadata();
    let files = open.files(&progress).await?;
    let primitive = |field: &&Field| field.primitive().cloned().expect("a primitive partition column");
    Ok(Seen {
        version: open.version(),
        columns: metadata.schema.names().map(str::to_owned).collect(),
        partition_columns: metadata.partition_columns.clone(),
        types: metadata.partition_fields().iter().map(primitive).collect(),
        files: files.len() as u64,
        uncounted: open.partitions(false, &progress, &mut |_| {}).await?,
        versions: open.history(None, false, &progress).await?.iter().map(|c| c.version).collect(),
        without_stats: files.iter().filter(|f| f.num_records.is_none()).count() as u64,
    })
}

/// Pages of seven rows, so that paging itself is tested.
async fn all_rows(open: &OpenTable) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let page_size = if open.files(&Progress::default()).await?.len() > 50 { 500 } else { 7 };
    loop {
        let page = open.rows(None, &[], rows.len() as u64, page_size, &Progress::default()).await?;
        let (more, empty) = (page.more, page.rows.is_empty());
        rows.extend(page.rows);
        if !more {
            return Ok(rows);
        }
        if empty {
            return Err(Error::new(ErrorKind::Internal, "an empty page that says that there is more"));
        }
    }
}

/// A partition value as the other engines printed it.
fn parse(text: &Json, kind: &PrimitiveType) -> Value {
    let Some(text) = text.as_str() else { return Value::Null };
    match kind {
        PrimitiveType::String => Value::String(text.to_owned()),
        PrimitiveType::Boolean => Value::Boolean(text.eq_ignore_ascii_case("true")),
        // An engine printed a column of whole numbers with NULLs as floats.
        PrimitiveType::Byte | PrimitiveType::Short | PrimitiveType::Integer | PrimitiveType::Long => {
            Value::Int(text.strip_suffix(".0").unwrap_or(text).parse().expect("a whole number"))
        }
        other => crate::support::kinds::parse_partition(
            Some(&text.replace("nan", "NaN").replacen("+00:00", "", 1)),
            &other.to_string(),
        ),
    }
}

fn check(name: &str, folder: &Path, facts: &Json) -> Result<(), String> {
    let bench = Bench::default();
    let readable = facts["log_reader_error"].is_null();
    let open = match bench.open(folder) {
        Ok(open) => open,
        Err(error) if !readable => return named(&error),
        Err(error) => return Err(format!("open: {} {}", error.kind, error.full_message())),
    };
    let seen = match block_on(look(&open)) {
        Ok(seen) => seen,
        Err(error) if !readable => return named(&error),
        Err(error) => return Err(format!("look: {} {}", error.kind, error.full_message())),
    };
    let mut descending = seen.versions.clone();
    descending.sort_unstable_by(|a, b| b.cmp(a));
    descending.dedup();
    same("history's versions", &seen.versions, &descending)?;
    same("history's newest", &seen.versions.first().copied(), &Some(seen.version))?;
    if !readable {
        return Err(format!("{name} opened, though its log is broken"));
    }
    same("version", &Some(seen.version), &facts["version"].as_u64())?;
    let texts = |json: &Json| -> Vec<String> {
        json.as_array().into_iter().flatten().filter_map(|t| t.as_str().map(str::to_owned)).collect()
    };
    same("columns", &seen.columns, &texts(&facts["columns"]))?;
    same("partition columns", &seen.partition_columns, &texts(&facts["partition_columns"]))?;
    same("files", &Some(seen.files), &facts["files"].as_u64())?;
    let unknown: u64 = seen.uncounted.iter().map(|p| p.rows.unknown_files).sum();
    same("files with unknown rows", &unknown, &seen.without_stats)?;
    rows(&open, &seen, folder, facts)
}

fn rows(open: &OpenTable, seen: &Seen, folder: &Path, facts: &Json) -> Result<(), String> {
    let counted = block_on(open.partitions(true, &Progress::default(), &mut |_| {}));
    let read = block_on(all_rows(open));
    let Some(want) = facts["rows"].as_u64() else {
        // Nobody could scan it: partwise says why, or it is right by the log.
        for error in [counted.err(), read.err()].into_iter().flatten() {
            named(&error)?;
        }
        return Ok(());
    };
    let counted = counted.map_err(|e| format!("count: {} {}", e.kind, e.full_message()))?;
    same("counted rows", &counted.iter().map(|p| p.rows.known).sum(), &want)?;
    same("files still unknown", &counted.iter().map(|p| p.rows.unknown_files).sum(), &0)?;
    for (before, after) in seen.uncounted.iter().zip(&counted) {
        if let Some(rows) = before.rows.exact() {
            same("rows by the log", &rows, &after.rows.known)?;
        }
    }
    if let Some(list) = facts["partitions"].as_array() {
        // Two texts of one value are one partition.
        let mut wanted: BTreeMap<Row, u64> = BTreeMap::new();
        for entry in list.iter().filter_map(Json::as_array) {
            let (rows, values) = entry.split_last().ok_or("an empty partition in facts.json")?;
            let tuple = values.iter().zip(&seen.types).map(|(text, kind)| parse(text, kind)).collect();
            *wanted.entry(tuple).or_default() += rows.as_u64().ok_or("rows in facts.json")?;
        }
        let found: BTreeMap<Row, u64> = counted.iter().map(|p| (p.values.0.clone(), p.rows.known)).collect();
        same("partitions", &found, &wanted)?;
        same("partitions listed once", &counted.len(), &found.len())?;
    }
    match read {
        Ok(rows) => {
            same("rows read", &(rows.len() as u64), &want)?;
            same("cells a row", &rows.iter().all(|r| r.len() == seen.columns.len()), &true)?;
        }
        // The log can be browsed without its rows, for features that say so.
        Err(error) if error.kind == ErrorKind::UnsupportedReader => named(&error)?,
        Err(error) => return Err(format!("rows: {} {}", error.kind, error.full_message())),
    }
    match count_rows(folder) {
        Ok(rows) => same("rows by DataFusion", &rows, &want),
        // delta-rs cannot read each of them; two other engines did.
        Err(reason) => {
            println!("{}: delta-rs: {}", folder.display(), reason.lines().next().unwrap_or_default());
            Ok(())
        }
    }
}

/// An error must have a kind of its own and words.
fn named(error: &Error) -> Result<(), String> {
    let said = error.full_message();
    let vague = matches!(error.kind, ErrorKind::Internal | ErrorKind::Cancelled) || said.len() < 20;
    if vague { Err(format!("an error that names no cause: {} {said}", error.kind)) } else { Ok(()) }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, have: &T, want: &T) -> Result<(), String> {
    if have == want { Ok(()) } else { Err(format!("{what}: {have:?}, where the facts say {want:?}")) }
}

#[test]
fn every_table_of_other_writers() {
    let Some(root) = shared("tables") else { return };
    let text = fs::read_to_string(root.join("facts.json")).expect("facts.json");
    let facts: BTreeMap<String, Json> = serde_json::from_str(&text).expect("facts.json is JSON");
    assert!(facts.len() > 100, "{} tables", facts.len());
    let mut wrong = Vec::new();
    for (name, facts) in &facts {
        let folder = root.join(name);
        assert!(folder.is_dir(), "no folder for {name}");
        let result = std::panic::catch_unwind(|| check(name, &folder, facts));
        match result {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => wrong.push(format!("{name}: {reason}")),
            Err(_) => wrong.push(format!("{name}: a panic")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} tables:\n{}", wrong.len(), facts.len(), wrong.join("\n"));
}
