//! `partwise tables`

use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

use crate::cli::output::table::Table;
use crate::cli::output::{Answer, plural};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{TableSummary, find_tables};
use crate::table::number::{bytes, grouped};
use crate::table::value::millis_text;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A folder, or the name of a configured lake
    #[arg(value_name = "ROOT")]
    root: String,
}

/// Tables that are on their way at once; the walk waits while the list is full.
const QUEUE: usize = 64;

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let (sender, mut receiver) = mpsc::channel::<TableSummary>(QUEUE);
    let collect = async {
        let mut tables: Vec<TableSummary> = Vec::new();
        // A table comes once by name and once more with its facts.
        while let Some(table) = receiver.recv().await {
            match tables.iter_mut().find(|t| t.location == table.location) {
                Some(known) => *known = table,
                None => tables.push(table),
            }
        }
        tables
    };
    let (walked, mut tables) = tokio::join!(find_tables(&session.context, &args.root, sender), collect);
    walked?;
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    if session.json {
        let tables: Vec<Json> = tables.iter().map(to_json).collect();
        return Ok(Outcome::Done(Answer::json(&json!({"root": args.root, "tables": tables}))?));
    }
    Ok(Outcome::Done(Answer::text(render(&tables))))
}

fn to_json(table: &TableSummary) -> Json {
    let facts = table.facts.as_ref().ok();
    json!({
        "name": table.name,
        "location": table.location,
        "version": facts.map(|f| f.version),
        "rows": facts.and_then(|f| f.rows.exact()),
        "bytes": facts.map(|f| f.bytes),
        "files": facts.map(|f| f.files),
        "partitions": facts.map(|f| f.partitions.len()),
        "partition_columns": facts.map(|f| &f.partition_columns),
        "last_commit": facts.map(|f| millis_text(f.last_commit)),
        "gaps": facts.map(|f| &f.gaps),
        "error": table.facts.as_ref().err(),
    })
}

fn render(tables: &[TableSummary]) -> String {
    let mut out = Table::default()
        .left("table")
        .right("version")
        .right("rows")
        .right("size")
        .right("files")
        .right("partitions")
        .left("partitioned by")
        .left("last commit")
        .left("");
    for table in tables {
        match &table.facts {
            Ok(f) => {
                let gaps = if f.gaps.is_empty() { String::new() } else { plural(f.gaps.len() as u64, "gap") };
                out.push([
                    table.name.clone(),
                    f.version.to_string(),
                    f.rows.to_string(),
                    bytes(f.bytes),
                    grouped(f.files),
                    grouped(f.partitions.len() as u64),
                    f.partition_columns.join(", "),
                    millis_text(f.last_commit),
                    gaps,
                ]);
            }
            Err(said) => {
                let unknown = std::iter::repeat_n("?".to_owned(), 5);
                let rest = [String::new(), String::new(), format!("error: {said}")];
                out.push(std::iter::once(table.name.clone()).chain(unknown).chain(rest));
            }
        }
    }
    format!("{}\n{}\n", out.render(), plural(tables.len() as u64, "table"))
}
