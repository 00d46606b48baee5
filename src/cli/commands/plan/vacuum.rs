//! `partwise plan vacuum`

use super::road::{PlanArgs, carry_on};
use crate::cli::Session;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::{At, OpenTable, Prepared, VacuumRequest, prepare_vacuum};
use crate::table::duration::parse_span;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Keep removed files for so long: 7d, 36h, 2w; never less than the table
    /// itself says [default: delta.deletedFileRetentionDuration, a week]
    #[arg(long, value_name = "TIME", value_parser = span)]
    retain: Option<i64>,
    /// Versions that have to stay readable
    #[arg(long, value_name = "N,M", value_delimiter = ',')]
    protect: Vec<u64>,
    #[command(flatten)]
    plan: PlanArgs,
}

fn span(text: &str) -> std::result::Result<i64, String> {
    parse_span(text).ok_or_else(|| format!("'{text}' is no time; write 7d, 36h or 2w"))
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    args.plan.check(session)?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let request = VacuumRequest { retain_ms: args.retain, protect: args.protect };
    let plan = prepare_vacuum(&session.context, &table, &request, &session.progress).await?;
    carry_on(session, Prepared { plan, rows: None }, &args.plan).await
}
