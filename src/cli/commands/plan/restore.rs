//! `partwise plan restore`

use super::road::{PlanArgs, carry_on};
use crate::cli::Session;
use crate::cli::args::time;
use crate::cli::output::Answer;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{At, OpenTable, Prepared, prepare_restore};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// The version to go back to
    #[arg(long, value_name = "N", conflicts_with = "at", required_unless_present = "at")]
    to: Option<u64>,
    /// The time to go back to; UTC where it has no zone
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
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
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let plan = prepare_restore(&session.context, &table, to, &session.progress).await?;
    carry_on(session, Prepared { plan, rows: None }, &args.plan).await
}
