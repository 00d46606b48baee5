//! The delivered rows as views of a Spark session: the files, then what the
//! source's view makes of them.

use super::literal::{name, text, type_name};
use super::{Facts, free_name, missing, place};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::kinds::RowSpec;
use crate::plan::view::RowMeaning;
use crate::plan::{Plan, SourceFacts};
use crate::table::DataType;

/// What was delivered, filtered and computed: its rows are the plan's.
pub(super) const DELIVERED: &str = "partwise_delivered";
/// The rows that the write takes.
pub(super) const SOURCE: &str = "partwise_source";
const FILES: &str = "partwise_files";

/// The views, in the order in which they are made.
///
/// # Errors
/// `UnsupportedFeature` for a source that Spark reads in another way.
pub(super) fn views(plan: &Plan, facts: &Facts) -> Result<Vec<String>> {
    let rows = plan.spec.rows().ok_or_else(|| missing("a source"))?;
    let source = plan.source.as_ref().ok_or_else(|| missing("a source"))?;
    let mut views = vec![files(source, facts)?, delivered(rows, facts)];
    views.push(format!("CREATE OR REPLACE TEMPORARY VIEW {SOURCE} AS\n{}", chosen(plan, rows, facts)?));
    Ok(views)
}

fn files(source: &SourceFacts, facts: &Facts) -> Result<String> {
    if source.format == "delta" {
        let (location, version) = place::pinned(&source.uri)?;
        return Ok(format!(
            "CREATE OR REPLACE TEMPORARY VIEW {FILES} AS\nSELECT * FROM {} VERSION AS OF {version}",
            place::spark_table(location)
        ));
    }
    if facts.glob && source.uri.contains("**") {
        return Err(Error::new(
            ErrorKind::UnsupportedFeature,
            format!("Spark has no pattern ** as in the source {}", source.uri),
        )
        .hint("Name the folder: it is read with everything below it."));
    }
    let path = match facts.glob {
        true => source.uri.replace('\\', "\\\\").replace('{', "\\{").replace('}', "\\}"),
        false => place::escaped(&source.uri),
    };
    // Values are read from files, never from the names of folders.
    Ok(format!(
        "CREATE OR REPLACE TEMPORARY VIEW {FILES} USING parquet\nOPTIONS (path {}, recursiveFileLookup 'true')",
        text(&path)
    ))
}

fn delivered(rows: &RowSpec, facts: &Facts) -> String {
    let computed = |column: &str| rows.view.columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
    let columns: Vec<String> = facts
        .delivered
        .names()
        .map(|column| match computed(column) {
            Some((_, value)) => format!("{value} AS {}", name(column)),
            None => format!("s.{}", name(column)),
        })
        .collect();
    let filter = rows.view.filter.as_ref().map(|f| format!("\nWHERE {f}")).unwrap_or_default();
    format!(
        "CREATE OR REPLACE TEMPORARY VIEW {DELIVERED} AS\nSELECT {}\nFROM {FILES} AS s{filter}",
        columns.join(",\n       ")
    )
}

/// The name of the column that tells deletions, where rows can be some.
pub(super) fn meaning(facts: &Facts) -> String {
    free_name(facts, "partwise_meaning")
}

/// The delivered rows that mean something, of each key the newest.
fn chosen(plan: &Plan, rows: &RowSpec, facts: &Facts) -> Result<String> {
    let mut select = format!("SELECT s.* FROM {DELIVERED} AS s");
    let meaning = name(&meaning(facts));
    if let Some(operations) = &rows.view.operations {
        let column = format!("CAST(s.{} AS STRING)", name(&operations.column));
        let whens: Vec<String> = operations
            .codes
            .iter()
            .map(|(code, meaning)| {
                let code = code.as_ref().map_or("NULL".into(), |c| text(c));
                format!("WHEN {column} <=> {code} THEN {}", text(meaning.words()))
            })
            .collect();
        select = format!(
            "SELECT * FROM (\n  SELECT s.*, CASE {}\n    ELSE raise_error({}) END AS {meaning}\n  FROM {DELIVERED} AS s)\n\
             WHERE {meaning} <> {}",
            whens.join("\n    "),
            text(&format!("the operation column {} holds a value whose meaning was not given", operations.column)),
            text(RowMeaning::BeforeImage.words())
        );
    }
    if let Some(latest) = &rows.view.latest_by {
        let rank = name(&free_name(facts, "partwise_rank"));
        let key: Vec<String> = source_keys(plan, facts)?.iter().map(|k| name(k)).collect();
        // Two rows of one time that say different things stay two: the write must see them.
        let is_map = |t: &DataType| t.contains(&|t| matches!(t, DataType::Map { .. } | DataType::Variant));
        let distinct = if facts.delivered.fields.iter().any(|f| is_map(&f.data_type)) { "" } else { "DISTINCT " };
        select = format!(
            "SELECT {distinct}* EXCEPT ({rank}) FROM (\n  SELECT *, rank() OVER (PARTITION BY {} ORDER BY {} DESC NULLS LAST) AS {rank}\n  FROM (\n{select}))\nWHERE {rank} = 1",
            key.join(", "),
            name(latest),
        );
    }
    Ok(select)
}

/// The key's columns as the source calls them.
fn source_keys(plan: &Plan, facts: &Facts) -> Result<Vec<String>> {
    if let crate::plan::Change::Rows(rule) = plan.spec.lower()
        && let crate::plan::Pairing::Join(on) = rule.pairing
    {
        return Ok(on.keys.into_iter().map(|pair| pair.source).collect());
    }
    let own = |key: &String| {
        let column = facts.schema.index_of(key).and_then(|at| facts.columns.get(at)?.clone());
        column.ok_or_else(|| missing("the source's key"))
    };
    plan.key.iter().map(own).collect()
}

/// The value of a column of the table, from the alias `s` in the table's type.
///
/// # Errors
/// `Internal` where the source has none.
pub(super) fn column(facts: &Facts, at: usize) -> Result<String> {
    let from = facts.columns.get(at).and_then(Option::as_ref).ok_or_else(|| missing("a column of the source"))?;
    Ok(typed(facts, from, at))
}

/// A delivered column in the type of a column of the table: no cast where the
/// types are the same.
pub(super) fn typed(facts: &Facts, from: &str, at: usize) -> String {
    let plain = format!("s.{}", name(from));
    let wanted = &facts.schema.fields[at].data_type;
    let same = facts.delivered.find(from).is_some_and(|f| f.data_type == *wanted);
    match wanted {
        DataType::Primitive(t) if !same => format!("CAST({plain} AS {})", type_name(t)),
        _ => plain,
    }
}
