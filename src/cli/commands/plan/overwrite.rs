//! `partwise plan overwrite`

use clap::ValueEnum;

use super::road::{PlanArgs, from_source};
use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::Strategy;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Only the partitions that occur in the source
    Dynamic,
    /// The whole table
    Static,
}

impl Mode {
    fn strategy(self) -> Strategy {
        match self {
            Mode::Dynamic => Strategy::Overwrite,
            Mode::Static => Strategy::OverwriteAll,
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    source: SourceArgs,
    /// Which partitions are replaced
    #[arg(long, value_enum, default_value_t = Mode::Dynamic)]
    mode: Mode,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    from_source(session, &args.table, &args.source, args.mode.strategy(), &args.plan).await
}
