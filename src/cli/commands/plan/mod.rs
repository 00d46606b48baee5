//! `partwise plan`: what a write would do, and the write itself if asked.

mod append;
mod merge;
mod optimize;
mod overwrite;
mod repartition;
mod replace_where;
mod restore;
pub(super) mod road;
mod scd2;
mod vacuum;

use clap::Subcommand;

use crate::cli::{Outcome, Session};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    kind: Box<Kind>,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Replace the partitions that occur in the source
    Overwrite(overwrite::Args),
    /// Replace the rows that a predicate chooses
    ReplaceWhere(replace_where::Args),
    /// Insert every delivered row
    Append(append::Args),
    /// Update what matches by key, insert what does not
    Merge(merge::Args),
    /// Close changed rows and insert their new versions (SCD type 2)
    Scd2(scd2::Args),
    /// Partition the table by other columns, in one commit
    Repartition(repartition::Args),
    /// Join the small files of chosen partitions
    Optimize(optimize::Args),
    /// Put the table, or chosen partitions, back to an earlier version
    Restore(restore::Args),
    /// Remove files that no retained version needs; there is no undo
    Vacuum(vacuum::Args),
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let answer = match *args.kind {
        Kind::Overwrite(args) => overwrite::run(args, session).await,
        Kind::ReplaceWhere(args) => replace_where::run(args, session).await,
        Kind::Append(args) => append::run(args, session).await,
        Kind::Merge(args) => merge::run(args, session).await,
        Kind::Scd2(args) => scd2::run(args, session).await,
        Kind::Repartition(args) => repartition::run(args, session).await,
        Kind::Optimize(args) => optimize::run(args, session).await,
        Kind::Restore(args) => restore::run(args, session).await,
        Kind::Vacuum(args) => vacuum::run(args, session).await,
    };
    answer.map(Outcome::Done)
}
