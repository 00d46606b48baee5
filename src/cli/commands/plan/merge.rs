//! `partwise plan merge`

use super::road::{PlanArgs, from_source};
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
    let strategy = Strategy::Merge { null_safe_keys: args.null_safe_keys, delete_missing: args.delete_missing };
    from_source(session, &args.table, &args.source, strategy, &args.plan).await
}
