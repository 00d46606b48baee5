//! `partwise undo`

use super::plan::road::{ApplyArgs, PlanArgs, carry_on};
use crate::cli::effect_rows::EffectArgs;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, OpenTable, Prepared, prepare_undo};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// The operation to take back [default: the last one of this program in the table's history]
    #[arg(long, value_name = "ID")]
    operation: Option<String>,
    /// Only write the plan to a file, for apply
    #[arg(long, value_name = "PLAN.json")]
    out: Option<std::path::PathBuf>,
    #[command(flatten)]
    end: ApplyArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let look = EffectArgs::default();
    let plan_args = PlanArgs { apply: args.out.is_none(), out: args.out, look, end: args.end };
    plan_args.check(session)?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let plan = prepare_undo(&session.context, &table, args.operation.as_deref(), &session.progress).await?;
    carry_on(session, Prepared { plan, rows: None }, &plan_args).await.map(Outcome::Done)
}
