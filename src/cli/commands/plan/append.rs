//! `partwise plan append`

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
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    from_source(session, &args.table, &args.source, Strategy::Append, &args.plan).await
}
