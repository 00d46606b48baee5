//! `partwise plan merge`

use std::path::PathBuf;

use super::road::{PlanArgs, Wanted, from_source};
use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::output::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::Strategy;
use crate::plan::clauses::On;
use crate::statement::{Statement, StatementKind};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    source: SourceArgs,
    /// Delete rows of the delivered partitions that the source lacks
    #[arg(long, conflicts_with_all = ["insert_only", "when", "sql"])]
    delete_missing: bool,
    /// Only insert what does not match: rows that arrive late
    #[arg(long, conflicts_with_all = ["when", "sql"])]
    insert_only: bool,
    /// NULL in a key matches NULL
    #[arg(long, conflicts_with = "sql")]
    null_safe_keys: bool,
    /// The whole ON condition, over s (the source) and t (the table), in place of --key
    #[arg(long, value_name = "COND", conflicts_with_all = ["key", "sql"], requires = "when")]
    on: Option<String>,
    /// A clause as SQL has it after WHEN, such as "MATCHED AND s.x > t.x THEN
    /// UPDATE SET *"; repeat it, the order counts
    #[arg(long, value_name = "CLAUSE", conflicts_with = "sql")]
    when: Vec<String>,
    /// A file with a MERGE INTO statement; --source NAME=PATH says where the
    /// tables are that it reads
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    sql: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    let null_safe_keys = args.null_safe_keys;
    let wanted = match (&args.sql, args.when.is_empty()) {
        (Some(file), _) => Wanted::Sql { file: file.clone(), mode: None },
        (None, false) => Wanted::Strategy(clauses(&args)?),
        (None, true) if args.insert_only => Wanted::Strategy(Strategy::InsertOnly { null_safe_keys }),
        (None, true) => Wanted::Strategy(Strategy::Merge { null_safe_keys, delete_missing: args.delete_missing }),
    };
    from_source(session, &args.table, &args.source, wanted, &args.plan).await
}

/// The clauses are read by the parser of whole statements, so that a flag and a
/// pasted statement mean the same.
fn clauses(args: &Args) -> Result<Strategy> {
    let on = match &args.on {
        Some(condition) => condition.clone(),
        None if args.source.key.is_empty() => {
            return Err(Error::new(ErrorKind::Usage, "--when needs --key A,B or --on COND"));
        }
        None => On::columns(&args.source.key, args.null_safe_keys).sql(),
    };
    let whens: Vec<String> = args.when.iter().map(|clause| format!("\nWHEN {clause}")).collect();
    let sql = format!("MERGE INTO t AS t USING s AS s ON {on}{}", whens.concat());
    match Statement::parse(&sql)?.kind {
        StatementKind::Merge { on, clauses } => Ok(Strategy::Clauses { on, clauses }),
        _ => Err(Error::new(ErrorKind::Usage, "the clauses make no MERGE")),
    }
}
