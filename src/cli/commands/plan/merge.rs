//! `partwise plan merge`

use super::road::{PlanArgs, carry_on};
use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::{At, OpenTable, Strategy, prepare};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    source: SourceArgs,
    /// Delete rows of the delivered partitions that the source lacks
    #[arg(long)]
    delete_missing: bool,
    /// NULL in a key matches NULL
    #[arg(long)]
    null_safe_keys: bool,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    args.plan.check(session)?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let strategy = Strategy::Merge { null_safe_keys: args.null_safe_keys, delete_missing: args.delete_missing };
    let prepared = prepare(&session.context, &table, &args.source.request(), strategy, &session.progress).await?;
    carry_on(session, prepared, &args.plan).await
}
