//! `partwise plan append`

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
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    args.plan.check(session)?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let request = args.source.request();
    let prepared = prepare(&session.context, &table, &request, Strategy::Append, &session.progress).await?;
    carry_on(session, prepared, &args.plan).await
}
