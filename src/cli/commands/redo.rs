//! `partwise redo`

use super::undo::BackArgs;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::plan_redo;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    back: BackArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let table = args.back.open(session).await?;
    let prepared = plan_redo(&session.context, &table, &args.back.key, &session.progress).await?;
    args.back.go(session, prepared).await
}
