//! From a statement that a notebook runs to what it asks for here.

use super::browse::OpenTable;
use super::prepare::SourceRequest;
use super::strategy::Strategy;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::clauses::On;
use crate::source::Source;
use crate::statement::{Mode, Statement, StatementKind, TableName};

/// What a name in a statement stands for here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Empty: whatever the statement reads.
    pub name: String,
    pub source: String,
}

impl Binding {
    /// `name=path`, or a path alone. A path that exists is a path, whatever
    /// characters are in it.
    pub fn parse(text: &str) -> Binding {
        let named =
            text.split_once('=').filter(|(name, _)| !name.contains('/') && !std::path::Path::new(text).exists());
        match named {
            Some((name, source)) => Binding { name: name.trim().to_owned(), source: source.to_owned() },
            None => Binding { name: String::new(), source: text.to_owned() },
        }
    }
}

/// Which overwrite is meant where a statement leaves it to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverwriteMode {
    Dynamic,
    Static,
}

/// What has to be known of a statement before it can be planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// `MERGE`, `INSERT OVERWRITE`, …
    pub verb: &'static str,
    /// The table that it writes to, as it says it.
    pub target: String,
    /// The name that it reads, as it says it.
    pub reads: String,
    /// Where that is, for a name that is a path by itself.
    pub path: Option<String>,
    /// Whether it leaves it to the session which partitions it clears: a mode
    /// has to be chosen.
    pub leaves_mode: bool,
}

/// Reads a statement without looking at any table.
///
/// # Errors
/// `Usage` with the place, for what cannot be taken.
pub fn outline(sql: &str) -> Result<Outline> {
    let statement = Statement::parse(sql)?;
    let path = match &statement.source.name {
        TableName::Path { format, path } if format == "delta" || format == "parquet" => Some(path.clone()),
        TableName::Path { .. } | TableName::Name(_) => None,
    };
    let verb = match &statement.kind {
        StatementKind::Merge { .. } => "MERGE",
        StatementKind::Overwrite { .. } => "INSERT OVERWRITE",
        StatementKind::ReplaceWhere { .. } => "INSERT REPLACE WHERE",
        StatementKind::Append { .. } => "INSERT INTO",
    };
    Ok(Outline {
        verb,
        target: statement.target.text(),
        reads: statement.source.name.text(),
        path,
        leaves_mode: matches!(statement.kind, StatementKind::Overwrite { mode: Mode::Session, .. }),
    })
}

/// Reads a statement as a request and a strategy for one table.
///
/// # Errors
/// `Usage` for what cannot be taken, by its name; `BadSource` for a source that
/// cannot be opened.
pub async fn from_statement(
    table: &OpenTable,
    sql: &str,
    bindings: &[Binding],
    mode: Option<OverwriteMode>,
    request: SourceRequest,
) -> Result<(SourceRequest, Strategy)> {
    let statement = Statement::parse(sql)?;
    check_target(table, &statement.target)?;
    let uri = bound(&statement.source.name, bindings)?;
    let strategy = match &statement.kind {
        StatementKind::Merge { on, clauses } => Strategy::Clauses { on: on.clone(), clauses: clauses.clone() },
        StatementKind::Append { .. } => Strategy::Append,
        StatementKind::ReplaceWhere { predicate, .. } => Strategy::ReplaceWhere { predicate: predicate.clone() },
        StatementKind::Overwrite { mode: said, replace, .. } => match (replace, resolve(*said, mode)?) {
            (Some(predicate), OverwriteMode::Static) => Strategy::ReplaceWhere { predicate: predicate.clone() },
            (_, OverwriteMode::Dynamic) => Strategy::Overwrite,
            (None, OverwriteMode::Static) => Strategy::OverwriteAll,
        },
    };
    check_columns(table, &statement, &uri).await?;
    let mut view = statement.source.view;
    view.operations = request.view.operations.clone();
    view.latest_by = view.latest_by.or_else(|| request.view.latest_by.clone());
    Ok((SourceRequest { source: uri, view, ..request }, strategy))
}

/// A MERGE from the text of its parts: what ON demands besides the key, and what
/// stands after each `WHEN`, over `s` and `t`; without any it is an upsert. It is read by the parser of whole statements, so that a flag and a
/// pasted statement mean the same.
///
/// # Errors
/// `Usage` for what cannot be read, and without a key or a condition.
pub fn merge_of_clauses(on: Option<&str>, key: &[String], null_safe: bool, whens: &[String]) -> Result<Strategy> {
    let equal = (!key.is_empty()).then(|| On::columns(key, null_safe).sql());
    let on: Vec<String> = equal.into_iter().chain(on.map(|condition| format!("({condition})"))).collect();
    if on.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "clauses need a key or a condition: --key A,B or --on COND"));
    }
    let on = on.join(" AND ");
    let upsert = ["MATCHED THEN UPDATE SET *".to_owned(), "NOT MATCHED THEN INSERT *".to_owned()];
    let whens = if whens.is_empty() { &upsert[..] } else { whens };
    let whens: Vec<String> = whens.iter().map(|clause| format!("\nWHEN {clause}")).collect();
    let sql = format!("MERGE INTO t AS t USING s AS s ON {on}{}", whens.concat());
    match Statement::parse(&sql)?.kind {
        StatementKind::Merge { on, clauses } => Ok(Strategy::Clauses { on, clauses }),
        _ => Err(Error::new(ErrorKind::Usage, "the clauses make no MERGE")),
    }
}

fn resolve(said: Mode, asked: Option<OverwriteMode>) -> Result<OverwriteMode> {
    match (said, asked) {
        (Mode::Dynamic, None | Some(OverwriteMode::Dynamic)) => Ok(OverwriteMode::Dynamic),
        (Mode::Static, None | Some(OverwriteMode::Static)) => Ok(OverwriteMode::Static),
        (Mode::Session, Some(asked)) => Ok(asked),
        (Mode::Session, None) => Err(Error::new(
            ErrorKind::Usage,
            "the statement leaves it to the session which partitions it clears; Spark's own setting clears the whole table",
        )
        .hint(
            "Say --mode dynamic or --mode static, or put SET spark.sql.sources.partitionOverwriteMode = dynamic; before it.",
        )),
        (said, Some(_)) => Err(Error::new(
            ErrorKind::Usage,
            format!("the statement says {}, --mode says the opposite", if said == Mode::Dynamic { "dynamic" } else { "static" }),
        )
        .hint("Leave --mode out.")),
    }
}

/// A path in the statement must be the table that is open; a name is whatever
/// the catalog calls it.
fn check_target(table: &OpenTable, target: &TableName) -> Result<()> {
    let TableName::Path { format, path } = target else { return Ok(()) };
    let plain = |text: &str| {
        let path = text.strip_prefix("file://").unwrap_or(text).trim_end_matches('/').to_owned();
        std::fs::canonicalize(&path).map_or(path, |real| real.to_string_lossy().into_owned())
    };
    if format == "delta" && plain(path) == plain(&table.location) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("the statement writes to {format}.`{path}`, not to {}", table.location))
        .hint("Open that table, or change the statement."))
}

fn bound(name: &TableName, bindings: &[Binding]) -> Result<String> {
    let text = name.text();
    let last = match name {
        TableName::Name(parts) => parts.last().cloned().unwrap_or_default(),
        TableName::Path { .. } => String::new(),
    };
    let named = |b: &&Binding| b.name.eq_ignore_ascii_case(&text) || b.name.eq_ignore_ascii_case(&last);
    if let Some(binding) = bindings.iter().filter(|b| !b.name.is_empty()).find(named) {
        return Ok(binding.source.clone());
    }
    match (bindings, name) {
        ([only], _) if only.name.is_empty() => Ok(only.source.clone()),
        ([], TableName::Path { format, path }) if format == "delta" || format == "parquet" => Ok(path.clone()),
        ([], TableName::Path { format, .. }) => Err(Error::new(
            ErrorKind::BadSource,
            format!("the statement reads {format} files, which are no source yet"),
        )
        .hint("Name a Parquet file or folder, or a Delta table: --source PATH.")),
        ([], TableName::Name(_)) => {
            Err(Error::new(ErrorKind::Usage, format!("the statement reads {text}, which is not bound to a source"))
                .hint(format!("Say where it is: --source {last}=PATH.")))
        }
        _ => Err(Error::new(ErrorKind::Usage, format!("the statement reads {text}; no --source binds that name"))
            .hint(format!("Say where it is: --source {last}=PATH."))),
    }
}

/// An INSERT that goes by position must give every column to its namesake:
/// anything else is how values are swapped without a word.
async fn check_columns(table: &OpenTable, statement: &Statement, uri: &str) -> Result<()> {
    let source = Source::open(uri).await?;
    let delivered: Vec<&str> = source.schema().names().collect();
    let columns: Vec<&str> = table.metadata().schema.names().collect();
    let Some(pairs) = statement.column_pairs(&delivered, &columns)? else { return Ok(()) };
    let odd: Vec<String> = pairs
        .iter()
        .filter(|(to, from)| !to.eq_ignore_ascii_case(from))
        .map(|(to, from)| format!("{from} into {to}"))
        .collect();
    if odd.is_empty() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("the statement goes by position and would put {}", odd.join(", ")))
        .hint("Columns are matched by name here: write INSERT … BY NAME, or give each column its name with AS."))
}
