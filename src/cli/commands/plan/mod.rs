//! `partwise plan`: what a write would do, and the write itself if asked.

mod append;
mod merge;
mod overwrite;
mod restore;
pub(super) mod road;

use clap::Subcommand;

use crate::cli::{Outcome, Session};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Replace the partitions that occur in the source
    Overwrite(overwrite::Args),
    /// Insert every delivered row
    Append(append::Args),
    /// Update what matches by key, insert what does not
    Merge(merge::Args),
    /// Put the whole table back to an earlier version
    Restore(restore::Args),
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let answer = match args.kind {
        Kind::Overwrite(args) => overwrite::run(args, session).await,
        Kind::Append(args) => append::run(args, session).await,
        Kind::Merge(args) => merge::run(args, session).await,
        Kind::Restore(args) => restore::run(args, session).await,
    };
    answer.map(Outcome::Done)
}
