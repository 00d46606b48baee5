//! `partwise plan append`

use std::path::PathBuf;

use super::road::{PlanArgs, Wanted, from_source};
use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::Strategy;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    source: SourceArgs,
    /// A file with an INSERT INTO statement; --source NAME=PATH says where the
    /// tables are that it reads
    #[arg(long, value_name = "FILE")]
    sql: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    let wanted = match args.sql {
        Some(file) => Wanted::Sql { file, mode: None },
        None => Wanted::Strategy(Strategy::Append),
    };
    from_source(session, &args.table, &args.source, wanted, &args.plan).await
}
