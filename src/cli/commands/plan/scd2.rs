//! `partwise plan scd2`

use super::road::{PlanArgs, Wanted, from_source};
use crate::cli::Session;
use crate::cli::args::{SourceArgs, column_name};
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::{Scd2Columns, Strategy};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    source: SourceArgs,
    /// Columns whose change begins a new version [default: all that the source has]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    track: Vec<String>,
    /// The table's column with the begin of a version
    #[arg(long, value_name = "COLUMN", value_parser = column_name)]
    effective_from: String,
    /// The table's column with its end; NULL while it lasts
    #[arg(long, value_name = "COLUMN", value_parser = column_name)]
    effective_to: String,
    /// The table's boolean column that is true for the version that lasts
    #[arg(long, value_name = "COLUMN", value_parser = column_name)]
    current: Option<String>,
    /// When delivered versions begin: SQL over s, such as s.changed_at
    #[arg(long, value_name = "SQL", default_value = "current_timestamp()")]
    effective_at: String,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    let columns = Scd2Columns {
        track: args.track,
        effective_from: args.effective_from,
        effective_to: args.effective_to,
        current: args.current,
        effective_at: args.effective_at,
    };
    let wanted = Wanted::Strategy(Strategy::Scd2(columns));
    from_source(session, &args.table, &args.source, wanted, &args.plan).await
}
