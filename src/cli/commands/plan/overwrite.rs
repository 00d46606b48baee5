//! `partwise plan overwrite`

use std::path::PathBuf;

use clap::ValueEnum;

use super::road::{PlanArgs, Wanted, from_source};
use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::{OverwriteMode, Strategy};

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

    fn meant(self) -> OverwriteMode {
        match self {
            Mode::Dynamic => OverwriteMode::Dynamic,
            Mode::Static => OverwriteMode::Static,
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
    /// Which partitions are replaced [default: dynamic; what a statement says]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// A file with an INSERT OVERWRITE statement; --source NAME=PATH says where
    /// the tables are that it reads
    #[arg(long, value_name = "FILE")]
    sql: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    let wanted = match args.sql {
        Some(file) => Wanted::Sql { file, mode: args.mode.map(Mode::meant) },
        None => Wanted::Strategy(args.mode.unwrap_or(Mode::Dynamic).strategy()),
    };
    from_source(session, &args.table, &args.source, wanted, &args.plan).await
}
