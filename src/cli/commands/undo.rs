//! `partwise undo`

use super::plan::road::{ApplyArgs, PlanArgs, carry_on};
use crate::cli::args::column_name;
use crate::cli::effect_rows::EffectArgs;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, OpenTable, Prepared, UndoRequest, forget, plan_undo};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// The operation to take back [default: the last one of this program in the table's history]
    #[arg(long, value_name = "ID")]
    operation: Option<String>,
    /// Columns that identify a row, where later commits rewrote the operation's
    /// files and it takes rows [default: the operation's, else the config's]
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
    let request = UndoRequest { operation: args.operation, key: args.key };
    let prepared = plan_undo(&session.context, &table, &request, &session.progress).await?;
    go_back(session, prepared, &plan_args).await
}

/// Goes on with a plan that takes something back. Rows that were kept for it
/// stay only where it was written to a file.
pub(super) async fn go_back(session: &Session, prepared: Prepared, args: &PlanArgs) -> Result<Outcome> {
    let plan = prepared.plan.clone();
    let answer = carry_on(session, prepared, args).await;
    if args.out.is_none() {
        forget(&session.context, &plan);
    }
    answer.map(Outcome::Done)
}
