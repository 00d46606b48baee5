//! `partwise apply`

use std::path::PathBuf;

use super::plan::road::{ApplyArgs, finish, override_gates};
use crate::cli::narrate::write;
use crate::cli::output;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::plan_file;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A plan that `plan --out` wrote
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,
    #[command(flatten)]
    end: ApplyArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    session.context.check_may_write()?;
    let mut plan = plan_file::read(&args.plan)?;
    override_gates(&mut plan, &args.end.overrides);
    write(&output::plan::render(&plan));
    finish(session, &plan, &args.end).await.map(Outcome::Done)
}
