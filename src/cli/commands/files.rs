//! `partwise files`

use serde_json::{Value as Json, json};

use crate::cli::args::{AtArgs, filter};
use crate::cli::output::table::Table;
use crate::cli::output::{Answer, count, plural};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::OpenTable;
use crate::predicate::Grid;
use crate::table::number::{bytes, grouped};
use crate::table::schema::PrimitiveType;
use crate::table::value::millis_text;
use crate::table::{DataFile, Value};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Keep files for which this is true: partition columns and path, rows,
    /// bytes (or size), last_modified, version, deletion_vector_rows
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    #[command(flatten)]
    at: AtArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let filter = filter(args.filter.as_deref())?;
    let table = OpenTable::open(&session.context, &args.table, args.at.at()?).await?;
    let mut files = table.files(&session.progress).await?;
    if filter.is_some() {
        files = grid(&table, &files)?.rows(filter.as_ref(), None)?.into_iter().map(|row| files[row].clone()).collect();
    }
    let columns = &table.metadata().partition_columns;
    if session.json {
        let files: Vec<Json> = files.iter().map(|f| to_json(f, columns)).collect();
        let object = json!({"table": table.location, "version": table.version(), "files": files});
        return Ok(Outcome::Done(Answer::json(&object)?));
    }
    Ok(Outcome::Done(Answer::text(render(&files, columns))))
}

fn grid(table: &OpenTable, files: &[DataFile]) -> Result<Grid> {
    let mut columns: Vec<(String, PrimitiveType, Vec<Value>)> = Vec::new();
    for (i, field) in table.metadata().partition_fields().into_iter().enumerate() {
        if let Some(t) = field.primitive() {
            let values = files.iter().map(|f| f.partition.0.get(i).cloned().unwrap_or(Value::Null));
            columns.push((field.name.clone(), t.clone(), values.collect()));
        }
    }
    let number = |n: Option<u64>| n.and_then(|n| i64::try_from(n).ok()).map_or(Value::Null, Value::Int);
    let mut fact = |name: &str, t: PrimitiveType, value: &dyn Fn(&DataFile) -> Value| {
        // A partition column of the same name is what a person means.
        if !columns.iter().any(|(n, _, _)| n.eq_ignore_ascii_case(name)) {
            columns.push((name.to_owned(), t, files.iter().map(value).collect()));
        }
    };
    fact("path", PrimitiveType::String, &|f| Value::String(f.path.clone()));
    fact("rows", PrimitiveType::Long, &|f| number(f.live_rows()));
    fact("bytes", PrimitiveType::Long, &|f| number(Some(f.size)));
    fact("size", PrimitiveType::Long, &|f| number(Some(f.size)));
    fact("last_modified", PrimitiveType::Timestamp, &|f| Value::Timestamp(f.modified.saturating_mul(1000)));
    fact("version", PrimitiveType::Long, &|f| number(f.version));
    fact("deletion_vector_rows", PrimitiveType::Long, &|f| number(Some(f.deleted_rows())));
    Grid::new(columns)
}

fn to_json(file: &DataFile, columns: &[String]) -> Json {
    json!({
        "path": file.path,
        "values": file.partition.to_json(columns),
        "rows": file.live_rows(),
        "bytes": file.size,
        "last_modified": millis_text(file.modified),
        "version": file.version,
        "deletion_vector_rows": file.deleted_rows(),
    })
}

fn render(files: &[DataFile], columns: &[String]) -> String {
    let mut out =
        Table::default().left("partition").right("rows").right("size").right("deleted").right("version").left("path");
    for f in files {
        out.push([
            f.partition.label(columns),
            count(f.live_rows()),
            bytes(f.size),
            grouped(f.deleted_rows()),
            f.version.map_or_else(|| "?".into(), |v| v.to_string()),
            f.path.clone(),
        ]);
    }
    let size = files.iter().map(|f| f.size).sum();
    format!("{}\n{}, {}\n", out.render(), plural(files.len() as u64, "file"), bytes(size))
}
