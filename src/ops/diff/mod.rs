//! What changed between two versions of a table, by partition and by row.
//!
//! Files that both versions have are the same rows on both sides and are never
//! read. Of the others, the first version's rows are the target and the second
//! version's the source of a rule that replaces everything.

mod columns;
mod files;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

pub use columns::{Change, SchemaChange};
pub use files::FileCounts;

use self::columns::Columns;
use self::files::Files;
use super::browse::OpenTable;
use super::context::Context;
use super::effect_rows::EffectRows;
use super::prepare::{seed, spilling};
use super::strategy::key_pairs;
use crate::engine::local::LocalEngine;
use crate::engine::{Engine, PartitionSummary, RowJob};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Effects, KeyFacts, Reach, RowRule};
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::source::{Matching, delta};
use crate::table::{DataType, PartitionTuple, PrimitiveType};

/// How two versions are compared.
#[derive(Debug, Clone, Default)]
pub struct DiffRequest {
    /// Empty: the config's key for the table, if it has one.
    pub key: Vec<String>,
    /// Technical columns; empty: the config's.
    pub ignore: Vec<String>,
    /// Only partitions for which this is true.
    pub filter: Option<Predicate>,
}

/// What `diff --json` prints, with the means to look at the rows.
#[derive(Clone, Serialize)]
pub struct Diff {
    pub table: String,
    pub from: u64,
    pub to: u64,
    pub key: Vec<String>,
    pub ignore: Vec<String>,
    pub schema_changes: Vec<SchemaChange>,
    /// What a person should know about how the versions were compared.
    pub notes: Vec<String>,
    pub rows: DiffTotals,
    /// Of the files that only one version has.
    pub keys: KeyFacts,
    pub partition_columns: Vec<String>,
    /// Those that some file is only in one version of, by typed value.
    pub partitions: Vec<DiffPartition>,
    /// Partitions all of whose files are in both versions.
    pub unchanged_partitions: u64,
    pub files: FileCounts,
    #[serde(skip)]
    pub effect_rows: EffectRows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DiffTotals {
    /// Live rows; `None` where the log lacks `numRecords` of a file that both have.
    pub before: Option<u64>,
    pub after: Option<u64>,
    pub inserted: u64,
    /// `None` without a key: rows are then a multiset.
    pub updated: Option<u64>,
    /// Rows that are the same and lie in other files.
    pub unchanged_in_changed_files: u64,
    pub deleted: u64,
    /// Of the updated rows, those that changed their partition.
    pub moved: u64,
    /// Of the updated rows, those that differ in ignored columns alone.
    pub touched_only: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffPartition {
    pub values: Map<String, Json>,
    /// Live rows of the whole partition.
    pub before: u64,
    pub after: u64,
    pub inserted: u64,
    pub updated: Option<u64>,
    pub unchanged_in_changed_files: u64,
    pub deleted: u64,
    pub moved_in: u64,
    pub moved_out: u64,
    pub touched_only: u64,
    pub files: FileCounts,
    /// By how much the sum of each measure changed.
    pub measure_changes: Map<String, Json>,
    #[serde(skip)]
    pub label: String,
}

impl Diff {
    /// Whether no row differs, whatever files hold them.
    pub fn same_rows(&self) -> bool {
        self.rows.inserted + self.rows.updated.unwrap_or(0) + self.rows.deleted == 0
    }
}

/// Compares two versions of one table.
///
/// # Errors
/// `Usage` for columns that cannot be compared and for a filter on other than
/// partition columns; `MissingFiles` where files of an old version are gone;
/// whatever reading gives.
pub async fn diff(
    _context: &Context,
    from: &OpenTable,
    to: &OpenTable,
    request: &DiffRequest,
    progress: &Progress,
) -> Result<Diff> {
    from.protocol().check_rows()?;
    let columns = Columns::new(from.metadata(), to.metadata());
    let schema = columns.metadata.schema.clone();
    if schema.fields.is_empty() {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("versions {} and {} have no column in common", from.version(), to.version()),
        )
        .hint("Look at their rows by themselves: partwise rows --version N."));
    }
    let key = key(&columns, request, to)?;
    let ignore = ignored(&columns, request, to, &key)?;
    let files = Files::read(from, to, &columns, request.filter.as_ref(), progress).await?;
    let rules = vec![RowRule::replace(Reach::Table)];
    let sides = (from.snapshot().clone(), delta::of_files(to.snapshot(), files.only_to.clone()).await?);
    let matching = Matching { columns: columns.places.clone(), ..Matching::default() };
    let job = RowJob {
        metadata: Some(columns.metadata.clone()),
        files: Some(files.only_from.clone()),
        measures: measures(&columns, to, &key, &ignore),
        ignore: ignore.clone(),
        ..RowJob::of(sides, matching, key_pairs(&rules, &key), rules, spilling(to)?, seed())
    };
    let classified = LocalEngine.classify(job, progress.clone()).await?.pop();
    let classified = classified.ok_or_else(|| Error::new(ErrorKind::Internal, "one rule gave no result"))?;
    let summary = classified.summary();
    let keyed = !key.is_empty();
    let mut partitions: BTreeMap<PartitionTuple, Option<&PartitionSummary>> =
        files.changed_partitions().map(|tuple| (tuple.clone(), None)).collect();
    partitions.extend(summary.partitions.iter().map(|p| (p.values.clone(), Some(p))));
    let shared = files.shared_rows(from, &partitions, progress).await?;
    let mut total = Effects::default();
    let mut listed = Vec::with_capacity(partitions.len());
    for (tuple, of) in &partitions {
        let effects = of.map(|p| p.effects).unwrap_or_default();
        if effects.after() != effects.source {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("{} has {} rows by its changes and {} by its files", tuple, effects.after(), effects.source),
            )
            .hint("Nothing was written. Please report this with the table's log."));
        }
        total.add(&effects);
        let same = shared.of.get(tuple).copied().unwrap_or(0);
        listed.push(DiffPartition {
            values: tuple.to_json(&columns.metadata.partition_columns),
            label: tuple.label(&columns.metadata.partition_columns),
            before: same + effects.before,
            after: same + effects.after(),
            inserted: effects.inserted,
            updated: keyed.then_some(effects.updated),
            unchanged_in_changed_files: effects.unchanged,
            deleted: effects.deleted,
            moved_in: effects.moved_in,
            moved_out: effects.moved_out,
            touched_only: effects.touched_only,
            files: files.counts_of(tuple),
            measure_changes: of.map(measure_changes).unwrap_or_default(),
        });
    }
    Ok(Diff {
        table: to.location.clone(),
        from: from.version(),
        to: to.version(),
        notes: notes(&columns, request, from, to),
        rows: DiffTotals {
            before: shared.all.map(|rows| rows + total.before),
            after: shared.all.map(|rows| rows + total.after()),
            inserted: total.inserted,
            updated: keyed.then_some(total.updated),
            unchanged_in_changed_files: total.unchanged,
            deleted: total.deleted,
            moved: total.moved_in,
            touched_only: total.touched_only,
        },
        keys: summary.keys.clone(),
        unchanged_partitions: files.unchanged_partitions(),
        files: files.counts(),
        partition_columns: columns.metadata.partition_columns.clone(),
        schema_changes: columns.changes,
        partitions: listed,
        effect_rows: EffectRows::new(classified, schema),
        key,
        ignore,
    })
}

fn measure_changes(p: &PartitionSummary) -> Map<String, Json> {
    let change = |(name, before, after): &(String, crate::table::number::Sum, crate::table::number::Sum)| {
        let mut change = *after;
        change.add(before.negated());
        (name.clone(), json!(change.to_string()))
    };
    p.measures.iter().map(change).collect()
}

/// The key under the second version's names.
fn key(columns: &Columns, request: &DiffRequest, to: &OpenTable) -> Result<Vec<String>> {
    if request.key.is_empty() {
        let configured = &to.settings.known.key;
        let known: Vec<String> = configured.iter().filter_map(|name| comparable(columns, name)).collect();
        // A part of a key is none.
        return Ok(if known.len() == configured.len() { known } else { Vec::new() });
    }
    let key = named(columns, &request.key, to)?;
    for name in &key {
        if let Some(field) = columns.metadata.schema.field(name).filter(|f| f.data_type.is_nested()) {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("the key column {name} is a {}", field.data_type),
            )
            .hint("A key is made of plain columns."));
        }
    }
    Ok(key)
}

fn ignored(columns: &Columns, request: &DiffRequest, to: &OpenTable, key: &[String]) -> Result<Vec<String>> {
    if !request.ignore.is_empty() && key.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "--ignore needs a key: without one, rows that differ are other rows")
            .hint("Give --key A,B, or set key for this table in the config."));
    }
    let ignore = match request.ignore.is_empty() {
        true if key.is_empty() => Vec::new(),
        true => to.settings.known.ignore.iter().filter_map(|name| comparable(columns, name)).collect(),
        false => named(columns, &request.ignore, to)?,
    };
    Ok(ignore)
}

fn comparable(columns: &Columns, name: &str) -> Option<String> {
    columns.metadata.schema.find(name).map(|field| field.name.clone())
}

fn named(columns: &Columns, given: &[String], to: &OpenTable) -> Result<Vec<String>> {
    let find = |name: &String| {
        comparable(columns, name).ok_or_else(|| {
            let message = match columns.changes.iter().find(|c| c.column.eq_ignore_ascii_case(name)) {
                Some(_) => format!("the column {name} cannot be compared: only one version has it in this type"),
                None => format!("the table has no column {name} at version {}", to.version()),
            };
            let names: Vec<&str> = columns.metadata.schema.names().collect();
            Error::new(ErrorKind::Usage, message).hint(format!("Both versions have {}.", names.join(", ")))
        })
    };
    given.iter().map(find).collect()
}

/// The configured measures, else decimal and float columns that are no key.
fn measures(columns: &Columns, to: &OpenTable, key: &[String], ignore: &[String]) -> Vec<String> {
    let configured = &to.settings.known.measures;
    let summable = |data_type: &DataType| {
        use PrimitiveType::{Byte, Decimal, Double, Float, Integer, Long, Short};
        let DataType::Primitive(data_type) = data_type else { return false };
        matches!(data_type, Byte | Short | Integer | Long | Float | Double | Decimal { .. })
    };
    let fields = columns.metadata.schema.fields.iter();
    let wanted = fields.filter(|f| match configured.is_empty() {
        false => configured.iter().any(|m| m.eq_ignore_ascii_case(&f.name)) && summable(&f.data_type),
        true => {
            f.data_type.is_measure()
                && !key.iter().chain(ignore).any(|c| *c == f.name)
                && !columns.metadata.is_partition_column(&f.name)
        }
    });
    wanted.map(|f| f.name.clone()).collect()
}

fn notes(columns: &Columns, request: &DiffRequest, from: &OpenTable, to: &OpenTable) -> Vec<String> {
    let mut notes = Vec::new();
    let (old, new) = (from.version(), to.version());
    let list = |names: &[String]| if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    if from.metadata().id != to.metadata().id {
        notes.push(format!(
            "versions {old} and {new} are of two tables that were made in this folder one after the other"
        ));
    }
    if columns.changes.iter().any(|change| !change.compared) {
        let names: Vec<&str> = columns.metadata.schema.names().collect();
        notes.push(format!("rows are compared over the columns that both versions have: {}", names.join(", ")));
    }
    if columns.repartitioned {
        let (before, after) = (&from.metadata().partition_columns, &to.metadata().partition_columns);
        notes.push(format!(
            "the table was partitioned by {} and is by {}; partitions are broken down by {}",
            list(before),
            list(after),
            list(&columns.metadata.partition_columns)
        ));
    } else if let Some(column) = &columns.stored_apart {
        notes.push(format!("files of both versions are read too: {column} is stored under another name since"));
    }
    let configured = &to.settings.known.key;
    if request.key.is_empty() && configured.iter().any(|name| comparable(columns, name).is_none()) {
        notes.push(format!("the configured key {} is not in both versions; rows are compared whole", list(configured)));
    }
    if request.filter.is_some() {
        notes.push("only the chosen partitions are compared: a row that moved out of them counts as deleted".into());
    }
    notes
}
