//! `partwise redo`

use super::plan::road::{ApplyArgs, PlanArgs};
use super::undo::go_back;
use crate::cli::args::column_name;
use crate::cli::effect_rows::EffectArgs;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, OpenTable, plan_redo};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Columns that identify a row, where it takes rows [default: the
    /// operation's, else the config's]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    key: Vec<String>,
    /// Only write the plan to a file, for apply
    #[arg(long, value_name = "PLAN.json")]
    out: Option<std::path::PathBuf>,
    #[command(flatten)]
    look: EffectArgs,
    #[command(flatten)]
    end: ApplyArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let plan_args = PlanArgs { apply: args.out.is_none(), out: args.out, look: args.look, end: args.end };
    plan_args.check(session)?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let prepared = plan_redo(&session.context, &table, &args.key, &session.progress).await?;
    go_back(session, prepared, &plan_args).await
}
