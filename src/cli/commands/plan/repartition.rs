//! `partwise plan repartition`

use super::road::{PlanArgs, carry_on_described};
use crate::cli::Session;
use crate::cli::args::{column_name, file_size};
use crate::cli::output::Answer;
use crate::error::Result;
use crate::ops::{At, OpenTable, Prepared, RepartitionRequest, describe, prepare_repartition};
use crate::plan::layouts::LayoutBy;
use crate::plan::relayout::Order;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// The new partition columns; none for no partitions. Each expression with a
    /// name adds a generated column: "year(ts) AS y, month(ts) AS mo"
    #[arg(long, value_name = "A,B", value_parser = LayoutBy::parse)]
    by: LayoutBy,
    /// Columns of expressions are ordinary ones, which other writers must supply
    #[arg(long)]
    plain_column: bool,
    /// So many files in each partition, with about as many rows each
    #[arg(long, value_name = "N", conflicts_with = "target_file_size", value_parser = clap::value_parser!(u32).range(1..))]
    files_per_partition: Option<u32>,
    /// Files of about this size [default: the table's delta.targetFileSize, else 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    target_file_size: Option<u64>,
    /// Sort the rows of each partition by these columns
    #[arg(long, value_name = "C,D", value_delimiter = ',', value_parser = column_name, conflicts_with = "zorder_by")]
    sort_by: Vec<String>,
    /// Sort the rows of each partition along a Z-order curve through these columns
    #[arg(long, value_name = "C,D", value_delimiter = ',', value_parser = column_name)]
    zorder_by: Vec<String>,
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Answer> {
    args.plan.check(session)?;
    let order = match (args.sort_by.is_empty(), args.zorder_by.is_empty()) {
        (false, _) => Order::Columns(args.sort_by),
        (true, false) => Order::ZOrder(args.zorder_by),
        (true, true) => Order::None,
    };
    let request = RepartitionRequest {
        by: args.by,
        plain_column: args.plain_column,
        files_per_partition: args.files_per_partition,
        target_file_size: args.target_file_size,
        order,
        undoes: None,
    };
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let plan = prepare_repartition(&session.context, &table, &request, &session.progress).await?;
    let described = describe(&table, &plan).await?;
    carry_on_described(session, Prepared { plan, rows: None }, &args.plan, &described).await
}
