//! `partwise plan restore`

use super::road::{PlanArgs, carry_on};
use crate::cli::Session;
use crate::cli::args::{column_name, time};
use crate::cli::output::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{At, OpenTable, RestoreRequest, plan_restore};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("target").required(true).args(["to", "at"]))]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// The version to go back to
    #[arg(long, value_name = "N")]
    to: Option<u64>,
    /// The time to go back to; UTC where it has no zone
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Only this partition, such as a=1/b=2 or a=∅ for NULL; repeat it for more.
    /// Schema and properties stay as they are
    #[arg(long, value_name = "PARTITION")]
    partition: Vec<String>,
    /// Only partitions for which this is true, over partition columns
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// Restore what is still there where files are gone
    #[arg(long)]
    partial: bool,
    /// Only the rows; schema, properties and partition columns stay
    #[arg(long)]
    data_only: bool,
    /// Columns that identify a row, for the preview where rows are compared
    /// [default: the config's for the table]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    key: Vec<String>,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    args.plan.check(session)?;
    let to = match (args.to, &args.at) {
        (Some(version), _) => At::Version(version),
        (None, Some(text)) => time(text)?,
        (None, None) => return Err(Error::new(ErrorKind::Usage, "restore needs --to N or --at TIME")),
    };
    let request = RestoreRequest {
        to,
        partitions: args.partition,
        chosen: Vec::new(),
        filter: args.filter,
        partial: args.partial,
        data_only: args.data_only,
        key: args.key,
    };
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let prepared = plan_restore(&session.context, &table, &request, &session.progress).await?;
    carry_on(session, prepared, &args.plan).await
}
