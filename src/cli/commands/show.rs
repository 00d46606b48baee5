//! `partwise show`

use serde_json::{Map, Value as Json, json};

use crate::cli::args::AtArgs;
use crate::cli::output::table::Table;
use crate::cli::output::{Answer, count};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::OpenTable;
use crate::table::PartitionStats;
use crate::table::number::{bytes, grouped};
use crate::table::partition::RowCount;
use crate::table::value::{escape_controls, millis_text};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    at: AtArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let table = OpenTable::open(&session.context, &args.table, args.at.at()?).await?;
    let partitions = table.partitions(false, &session.progress, &mut |_| {}).await?;
    Ok(Outcome::Done(if session.json {
        Answer::json(&to_json(&table, &partitions))?
    } else {
        Answer::text(render(&table, &partitions))
    }))
}

struct Totals {
    rows: RowCount,
    files: u64,
    bytes: u64,
}

fn totals(partitions: &[PartitionStats]) -> Totals {
    let mut totals = Totals { rows: RowCount::default(), files: 0, bytes: 0 };
    for p in partitions {
        totals.rows.merge(p.rows);
        totals.files += p.files;
        totals.bytes += p.bytes;
    }
    totals
}

fn to_json(table: &OpenTable, partitions: &[PartitionStats]) -> Json {
    let (m, p, sum) = (table.metadata(), table.protocol(), totals(partitions));
    let columns: Vec<Json> = m
        .schema
        .fields
        .iter()
        .map(|f| {
            json!({"name": f.name, "type": f.data_type.to_string(), "nullable": f.nullable, "comment": f.comment()})
        })
        .collect();
    let texts = |pairs: &[(String, String)]| -> Map<String, Json> {
        pairs.iter().map(|(k, v)| (k.clone(), json!(v))).collect()
    };
    json!({
        "table": table.location,
        "table_id": m.id,
        "name": m.name,
        "description": m.description,
        "format": "delta",
        "version": table.version(),
        "created_at": m.created_time.map(millis_text),
        "committed_at": millis_text(table.committed_at()),
        "schema": columns,
        "partition_columns": m.partition_columns,
        "properties": texts(&m.configuration),
        "protocol": {
            "min_reader": p.min_reader,
            "min_writer": p.min_writer,
            "reader_features": p.reader_features,
            "writer_features": p.writer_features,
        },
        "constraints": texts(&m.constraints()),
        "partitions": partitions.len(),
        "rows": sum.rows.exact(),
        "files": sum.files,
        "bytes": sum.bytes,
    })
}

fn render(table: &OpenTable, partitions: &[PartitionStats]) -> String {
    let (m, p, sum) = (table.metadata(), table.protocol(), totals(partitions));
    let mut facts = Table::default().left("table").left(&table.location);
    let mut fact = |name: &str, value: String| facts.push([name.to_owned(), value]);
    fact("id", m.id.clone());
    fact("version", format!("{} ({})", table.version(), millis_text(table.committed_at())));
    if let Some(description) = &m.description {
        fact("description", description.clone());
    }
    if let Some(created) = m.created_time {
        fact("created", millis_text(created));
    }
    let by = if m.partition_columns.is_empty() { "nothing".to_owned() } else { m.partition_columns.join(", ") };
    fact("partitioned by", by);
    fact("partitions", grouped(partitions.len() as u64));
    fact("rows", sum.rows.to_string());
    fact("files", count(Some(sum.files)));
    fact("size", bytes(sum.bytes));
    fact("protocol", format!("reader {}, writer {}", p.min_reader, p.min_writer));
    for (side, features) in [("reader", &p.reader_features), ("writer", &p.writer_features)] {
        if let Some(features) = features {
            fact(&format!("{side} features"), features.join(", "));
        }
    }
    for (name, value) in &m.configuration {
        fact(name, value.clone());
    }
    let mut columns = Table::default().left("column").left("type").left("null").left("comment");
    for f in &m.schema.fields {
        let null = if f.nullable { "" } else { "not null" };
        let comment = f.comment().unwrap_or_default();
        columns.push([f.name.clone(), f.data_type.to_string(), null.to_owned(), escape_controls(comment)]);
    }
    format!("{}\n{}", facts.render(), columns.render())
}
