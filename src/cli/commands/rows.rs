//! `partwise rows`

use serde_json::{Value as Json, json};

use crate::cli::args::{AtArgs, column_name, filter};
use crate::cli::output::Answer;
use crate::cli::output::table::Table;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{OpenTable, RowPage};
use crate::table::number::grouped_text;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Keep rows for which this is true
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// Print these columns only
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    columns: Vec<String>,
    /// Print so many rows at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    at: AtArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let filter = filter(args.filter.as_deref())?;
    let table = OpenTable::open(&session.context, &args.table, args.at.at()?).await?;
    let page = table.rows(filter.as_ref(), &args.columns, 0, args.limit, &session.progress).await?;
    if session.json {
        let rows: Vec<Vec<Json>> = page.rows.iter().map(|row| row.iter().map(|v| v.to_json()).collect()).collect();
        let object = json!({
            "table": table.location, "version": table.version(), "columns": page.columns, "rows": rows, "more": page.more,
        });
        return Ok(Outcome::Done(Answer::json(&object)?));
    }
    Ok(Outcome::Done(render(&page)))
}

fn render(page: &RowPage) -> Answer {
    let mut out = Table::default();
    for (i, column) in page.columns.iter().enumerate() {
        let mut values = page.rows.iter().filter_map(|row| row.get(i)).filter(|v| !v.is_null());
        let numeric = values.next().is_some_and(|v| v.is_numeric());
        out = if numeric { out.right(column) } else { out.left(column) };
    }
    for row in &page.rows {
        out.push(row.iter().map(|v| if v.is_numeric() { grouped_text(&v.plain()) } else { v.to_string() }));
    }
    let narration = if page.more { "there are more rows; --limit N shows them\n".to_owned() } else { String::new() };
    Answer { narration, ..Answer::text(out.render()) }
}
