//! `partwise plan replace-where`

use std::path::PathBuf;

use super::road::{PlanArgs, Wanted, from_source};
use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::output::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::Strategy;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    source: SourceArgs,
    /// The rows that become what was delivered: SQL over the table's columns
    #[arg(long = "where", value_name = "PRED", required_unless_present = "sql", conflicts_with = "sql")]
    predicate: Option<String>,
    /// A file with an INSERT INTO … REPLACE WHERE statement; --source NAME=PATH
    /// says where the tables are that it reads
    #[arg(long, value_name = "FILE")]
    sql: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    let wanted = match (args.sql, args.predicate) {
        (Some(file), _) => Wanted::Sql { file, mode: None },
        (None, Some(predicate)) => Wanted::Strategy(Strategy::ReplaceWhere { predicate }),
        (None, None) => return Err(Error::new(ErrorKind::Usage, "say --where PRED or --sql FILE")),
    };
    from_source(session, &args.table, &args.source, wanted, &args.plan).await
}
