//! `partwise partitions`

use serde_json::{Value as Json, json};

use crate::cli::args::{AtArgs, filter};
use crate::cli::output::table::Table;
use crate::cli::output::{Answer, count};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::OpenTable;
use crate::predicate::Grid;
use crate::table::number::{bytes, grouped};
use crate::table::partition::{PartitionStats, RowCount};
use crate::table::value::millis_text;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Keep partitions for which this is true: partition columns and rows,
    /// files, bytes, last_modified, last_version, deletion_vectors
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// Sort by a partition column or a figure; a minus before it is downwards
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Count rows in the files where the log does not say
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    at: AtArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let filter = filter(args.filter.as_deref())?;
    let table = OpenTable::open(&session.context, &args.table, args.at.at()?).await?;
    let mut all = table.partitions(args.count, &session.progress, &mut |_| {}).await?;
    let sort = args.sort.as_deref().map(|column| match column.strip_prefix('-') {
        Some(column) => (column, true),
        None => (column, false),
    });
    if filter.is_some() || sort.is_some() {
        let grid = Grid::partitions(&table.metadata().partition_fields(), &all)?;
        all = grid.rows(filter.as_ref(), sort)?.into_iter().map(|row| all[row].clone()).collect();
    }
    Ok(Outcome::Done(if session.json {
        Answer::json(&to_json(&table, &all))?
    } else {
        Answer::text(render(&table, &all))
    }))
}

fn total(partitions: &[PartitionStats]) -> (RowCount, u64, u64) {
    let mut rows = RowCount::default();
    partitions.iter().for_each(|p| rows.merge(p.rows));
    (rows, partitions.iter().map(|p| p.files).sum(), partitions.iter().map(|p| p.bytes).sum())
}

fn to_json(table: &OpenTable, partitions: &[PartitionStats]) -> Json {
    let columns = &table.metadata().partition_columns;
    let (rows, files, size) = total(partitions);
    let list: Vec<Json> = partitions
        .iter()
        .map(|p| {
            json!({
                "values": p.values.to_json(columns),
                "rows": p.rows.exact(),
                "files": p.files,
                "bytes": p.bytes,
                "last_modified": p.last_modified.map(millis_text),
                "last_version": p.last_version,
                "deletion_vectors": p.deleted_rows,
                "assumed_utc": p.assumed_utc,
            })
        })
        .collect();
    json!({
        "table": table.location,
        "version": table.version(),
        "partition_columns": columns,
        "partitions": list,
        "total": {"partitions": partitions.len(), "rows": rows.exact(), "files": files, "bytes": size},
    })
}

fn render(table: &OpenTable, partitions: &[PartitionStats]) -> String {
    let columns = &table.metadata().partition_columns;
    let whole = columns.is_empty();
    let mut out = Table::default();
    for column in columns {
        out = out.left(column);
    }
    if whole {
        out = out.left("partition");
    }
    out = out.right("rows").right("files").right("size").left("last modified").right("last version").right("deleted");
    let figures = |p: &PartitionStats| {
        [
            p.rows.to_string(),
            grouped(p.files),
            bytes(p.bytes),
            p.last_modified.map_or_else(|| "?".into(), millis_text),
            p.last_version.map_or_else(|| "?".into(), |v| v.to_string()),
            grouped(p.deleted_rows),
        ]
    };
    for p in partitions {
        let label = whole.then(|| p.values.label(columns));
        out.push(p.values.0.iter().map(|v| v.to_string()).chain(label).chain(figures(p)));
    }
    let (rows, files, size) = total(partitions);
    let note = match partitions.iter().filter(|p| p.assumed_utc).count() as u64 {
        0 => String::new(),
        some => {
            format!("{} with a time whose zone the log does not say: it is read as UTC (AssumedUtc)\n", grouped(some))
        }
    };
    let (partitions, files) = (count(Some(partitions.len() as u64)), grouped(files));
    format!("{}\n{partitions} partitions, {rows} rows, {files} files, {}\n{note}", out.render(), bytes(size))
}
