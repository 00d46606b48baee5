//! `partwise plan merge`

use std::path::PathBuf;

use super::road::{PlanArgs, Wanted, from_source};
use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::{At, OpenTable, Strategy, merge_of_clauses};

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
    /// What ON demands besides the equality of the key, over s (the source) and t
    /// (the table), such as "t.is_current AND t.day >= s.day"
    #[arg(long, value_name = "COND", conflicts_with_all = ["sql", "delete_missing", "insert_only"])]
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
    let wanted = match (&args.sql, args.when.is_empty() && args.on.is_none()) {
        (Some(file), _) => Wanted::Sql { file: file.clone(), mode: None },
        (None, false) => {
            let mut key = args.source.key.clone();
            if key.is_empty() {
                key = OpenTable::open(&session.context, &args.table, At::Latest).await?.settings.known.key;
            }
            Wanted::Strategy(merge_of_clauses(args.on.as_deref(), &key, null_safe_keys, &args.when)?)
        }
        (None, true) if args.insert_only => Wanted::Strategy(Strategy::InsertOnly { null_safe_keys }),
        (None, true) => Wanted::Strategy(Strategy::Merge { null_safe_keys, delete_missing: args.delete_missing }),
    };
    from_source(session, &args.table, &args.source, wanted, &args.plan).await
}
