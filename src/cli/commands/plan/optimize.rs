//! `partwise plan optimize`

use super::road::{PlanArgs, carry_on};
use crate::cli::Session;
use crate::cli::args::{file_size, filter};
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::{At, OpenTable, OptimizeRequest, Prepared, prepare_optimize};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Only partitions for which this is true: a condition on partition columns
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// Files of about this size [default: the table's delta.targetFileSize, else 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    target_file_size: Option<u64>,
    /// Only files below this size, and those with deleted rows [default: three quarters of the target]
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    min_file_size: Option<u64>,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    args.plan.check(session)?;
    let request = OptimizeRequest {
        filter: filter(args.filter.as_deref())?,
        target_file_size: args.target_file_size,
        min_file_size: args.min_file_size,
    };
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let plan = prepare_optimize(&session.context, &table, &request, &session.progress).await?;
    carry_on(session, Prepared { plan, rows: None }, &args.plan).await
}
