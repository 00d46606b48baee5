//! `partwise undo`, and what it shares with `partwise redo`.

use std::path::PathBuf;

use super::plan::road::{ApplyArgs, PlanArgs, carry_on};
use crate::cli::args::column_name;
use crate::cli::effect_rows::EffectArgs;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, OpenTable, Prepared, UndoRequest, forget, plan_undo};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The operation to take back [default: the last one of this program in the table's history]
    #[arg(long, value_name = "ID")]
    operation: Option<String>,
    #[command(flatten)]
    back: BackArgs,
}

/// Flags of both ways.
#[derive(Debug, clap::Args)]
pub(super) struct BackArgs {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Columns that identify a row, so that no key is doubled, and where it
    /// takes rows [default: the operation's, else the config's]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    pub key: Vec<String>,
    /// Only write the plan to a file, for apply
    #[arg(long, value_name = "PLAN.json")]
    out: Option<PathBuf>,
    #[command(flatten)]
    look: EffectArgs,
    #[command(flatten)]
    end: ApplyArgs,
}

impl BackArgs {
    /// # Errors
    /// `Usage`; whatever keeps the table from being opened.
    pub async fn open(&self, session: &Session) -> Result<OpenTable> {
        self.plan_args().check(session)?;
        OpenTable::open(&session.context, &self.table, At::Latest).await
    }

    fn plan_args(&self) -> PlanArgs {
        let (look, end) = (self.look.clone(), self.end.clone());
        PlanArgs { apply: self.out.is_none(), out: self.out.clone(), look, end }
    }

    /// Goes on with the plan. Rows that were kept for it stay only where it was
    /// written to a file.
    ///
    /// # Errors
    /// As [`carry_on`].
    pub async fn go(&self, session: &Session, prepared: Prepared) -> Result<Outcome> {
        let plan = prepared.plan.clone();
        let answer = carry_on(session, prepared, &self.plan_args()).await;
        if self.out.is_none() {
            forget(&session.context, &plan);
        }
        answer.map(Outcome::Done)
    }
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let table = args.back.open(session).await?;
    let request = UndoRequest { operation: args.operation, key: args.back.key.clone() };
    let prepared = plan_undo(&session.context, &table, &request, &session.progress).await?;
    args.back.go(session, prepared).await
}
