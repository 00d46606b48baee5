//! What an operation that goes back changes besides rows, in words, and what
//! it leaves as it is although the older version had it otherwise.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::entry::is_own;
use crate::error::{ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::snapshot::read_commit;
use crate::table::Metadata;
use crate::table::evolution::namesake;

const CONSTRAINT: &str = "delta.constraints.";
const CHANGE_FEED: &str = "delta.enableChangeDataFeed";
const CLOCK: &str = "delta.enableInCommitTimestamps";
/// From which version on in-commit timestamps hold: what is true of the log
/// stays true, whatever metadata comes back (protocol, "In-Commit Timestamps").
const CLOCK_SINCE: [&str; 2] =
    ["delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"];
const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";

/// What differs between two metadata, one line each, as what going from `now`
/// back to `then` does.
pub fn metadata_changes(now: &Metadata, then: &Metadata) -> Vec<String> {
    let mut changes = Vec::new();
    if now.partition_columns != then.partition_columns {
        changes.push(format!(
            "partition columns: {} → {}",
            list(&now.partition_columns),
            list(&then.partition_columns)
        ));
    }
    columns(now, then, &mut changes);
    let keys: BTreeSet<&String> = now.configuration.iter().chain(&then.configuration).map(|(k, _)| k).collect();
    for key in keys {
        let (a, b) = (now.property(key), then.property(key));
        if a != b && key != MAX_COLUMN_ID {
            changes.push(property(key, a, b));
        }
    }
    let text = |text: &Option<String>| text.as_ref().map_or_else(|| "none".to_owned(), |t| format!("'{t}'"));
    for (what, a, b) in [("name", &now.name, &then.name), ("description", &now.description, &then.description)] {
        if a != b {
            changes.push(format!("{what}: {} → {}", text(a), text(b)));
        }
    }
    changes
}

fn columns(now: &Metadata, then: &Metadata, changes: &mut Vec<String>) {
    for field in &now.schema.fields {
        let Some(old) = namesake(&then.schema, field) else {
            changes.push(format!("column {} ({}) removed", field.name, field.data_type));
            continue;
        };
        if old.name != field.name {
            changes.push(format!("column {} renamed to {}", field.name, old.name));
        }
        if old.data_type.to_string() != field.data_type.to_string() {
            changes.push(format!("column {}: {} → {}", old.name, field.data_type, old.data_type));
        }
        match (field.nullable, old.nullable) {
            (true, false) => changes.push(format!("column {}: NOT NULL again", old.name)),
            (false, true) => changes.push(format!("column {}: no longer NOT NULL", old.name)),
            _ => {}
        }
        if old.comment() != field.comment() {
            changes.push(format!("column {}: comment goes back", old.name));
        }
        let rest = |field: &crate::table::Field| {
            let mut rest = field.metadata.clone();
            rest.remove("comment");
            rest
        };
        if rest(old) != rest(field)
            || (old.data_type != field.data_type && old.data_type.to_string() == field.data_type.to_string())
        {
            changes.push(format!("column {}: its metadata goes back", old.name));
        }
    }
    for field in then.schema.fields.iter().filter(|f| namesake(&now.schema, f).is_none()) {
        changes.push(format!("column {} ({}) comes back", field.name, field.data_type));
    }
    let common = |of: &Metadata, other: &Metadata| -> Vec<String> {
        let fields = of.schema.fields.iter().filter(|f| namesake(&other.schema, f).is_some());
        fields.map(|f| f.physical_name().to_owned()).collect()
    };
    if common(now, then) != common(then, now) {
        changes.push("the order of the columns goes back".into());
    }
}

fn property(key: &str, now: Option<&str>, then: Option<&str>) -> String {
    if let Some(name) = key.strip_prefix(CONSTRAINT) {
        return match (now, then) {
            (Some(sql), None) => format!("constraint {name} ({sql}) removed"),
            (None, Some(sql)) => format!("constraint {name} ({sql}) comes back"),
            (a, b) => format!("constraint {name}: {} → {}", a.unwrap_or_default(), b.unwrap_or_default()),
        };
    }
    let on = |value: Option<&str>| value.is_some_and(|v| v.eq_ignore_ascii_case("true"));
    if key == CHANGE_FEED && on(now) != on(then) {
        return format!("change feed {}", if on(then) { "on" } else { "off: its readers get no changes from here on" });
    }
    let show = |v: Option<&str>| v.map_or_else(|| "not set".to_owned(), |v| format!("'{v}'"));
    format!("property {key}: {} → {}", show(now), show(then))
}

/// What stays as it is today although the older version had it otherwise: the
/// protocol, which never goes back, and the marks of streams.
///
/// # Errors
/// `BadCommit`, `Storage`.
pub async fn stays(now: &Snapshot, then: &Snapshot) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let (a, b) = (now.protocol(), then.protocol());
    if a != b {
        lines.push(format!(
            "the protocol stays at reader {} / writer {} (it was {} / {}): it never goes back",
            a.min_reader, a.min_writer, b.min_reader, b.min_writer
        ));
    }
    for (app, version) in marks_since(now, then.version()).await? {
        lines.push(format!(
            "the stream mark of {app} stays at {version}: a stream that writes by it takes its batches up to {version} for written and does not bring them again"
        ));
    }
    Ok(lines)
}

/// Application transactions that were committed after a version, the newest of each.
async fn marks_since(now: &Snapshot, version: u64) -> Result<BTreeMap<String, i64>> {
    let mut marks = BTreeMap::new();
    let since = now.listing().commits.range(..=now.version()).map(|(v, _)| *v).filter(|v| *v > version);
    for version in since {
        let lines = match read_commit(now.store(), version).await {
            Ok(lines) => lines,
            // Log clean-up may be faster than we are.
            Err(error) if error.kind == ErrorKind::MissingFiles => continue,
            Err(error) => return Err(error),
        };
        // Ours mark single plans, which no stream goes by.
        let streams = lines.into_iter().filter_map(|l| l.txn).filter(|txn| !is_own(&txn.app_id));
        marks.extend(streams.map(|txn| (txn.app_id, txn.version)));
    }
    Ok(marks)
}

/// The `metaData` action that puts an older one back. Ids of columns that were
/// given since are not given again: old files may still carry them. Since when
/// commits have times of their own is not taken back either.
pub fn metadata_back(now: &Metadata, then: &Metadata) -> Map<String, Json> {
    let mut raw = then.raw.clone();
    if then.flag(CLOCK)
        && let Some(configuration) = raw.get_mut("configuration").and_then(Json::as_object_mut)
    {
        for key in CLOCK_SINCE {
            match now.property(key) {
                Some(value) => configuration.insert(key.into(), json!(value)),
                None => configuration.remove(key),
            };
        }
    }
    let highest = |of: &Metadata| of.property(MAX_COLUMN_ID).and_then(|id| id.parse::<u64>().ok());
    if let (Some(a), Some(b)) = (highest(now), highest(then))
        && a > b
        && let Some(configuration) = raw.get_mut("configuration").and_then(Json::as_object_mut)
    {
        configuration.insert(MAX_COLUMN_ID.into(), json!(a.to_string()));
    }
    raw
}

fn list(columns: &[String]) -> String {
    if columns.is_empty() { "none".into() } else { columns.join(", ") }
}
