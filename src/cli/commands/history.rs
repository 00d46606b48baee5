//! `partwise history`

use serde_json::{Value as Json, json};

use crate::cli::args::filter;
use crate::cli::output::Answer;
use crate::cli::output::table::Table;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, OpenTable};
use crate::table::Commit;
use crate::table::history::{FileChange, Restorable};
use crate::table::number::grouped;
use crate::table::value::millis_text;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Keep commits that touched a partition for which this is true
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let filter = filter(args.filter.as_deref())?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let commits = table.history(filter.as_ref(), true, &session.progress).await?;
    if session.json {
        let versions: Vec<Json> = commits.iter().map(to_json).collect();
        let object = json!({"table": table.location, "versions": versions});
        return Ok(Outcome::Done(Answer::json(&object)?));
    }
    Ok(Outcome::Done(Answer::text(render(&commits))))
}

fn to_json(c: &Commit) -> Json {
    let change = |f: &FileChange| json!({"files": f.files, "bytes": f.bytes, "rows": f.rows});
    json!({
        "version": c.version,
        "timestamp": millis_text(c.timestamp),
        "operation": c.operation(),
        "label": c.label(),
        "parameters": c.info_object("operationParameters"),
        "metrics": c.info_object("operationMetrics"),
        "user_metadata": c.info_text("userMetadata"),
        "partitions_touched": c.partitions().map(|(columns, p)| p.to_json(columns)).collect::<Vec<_>>(),
        "restorable": c.restorable.as_ref().map(|r| *r == Restorable::Yes),
        "restorable_until": c.restorable_until.map(millis_text),
        "added": change(&c.added),
        "removed": change(&c.removed),
        "operation_id": c.operation_id(),
    })
}

fn render(commits: &[Commit]) -> String {
    let mut out = Table::default()
        .right("version")
        .left("time")
        .left("what")
        .right("rows")
        .right("files")
        .left("restorable")
        .left("partitions");
    for c in commits {
        let rows = c.row_change().map_or_else(|| "?".into(), signed);
        let restorable = match &c.restorable {
            None => "?".into(),
            Some(Restorable::Yes) => until(c.restorable_until),
            Some(Restorable::FilesGone(n)) => format!("no, {} files gone", grouped(*n)),
            Some(Restorable::LogGone) => "no, log gone".into(),
        };
        out.push([
            c.version.to_string(),
            millis_text(c.timestamp),
            c.label(),
            rows,
            format!("+{} −{}", grouped(c.added.files), grouped(c.removed.files)),
            restorable,
            touched(c),
        ]);
    }
    out.render()
}

/// `yes`, or until when: a time in the past says that the next cleanup may be the end.
fn until(end: Option<i64>) -> String {
    match end {
        None => "yes".into(),
        Some(end) if end <= chrono::Utc::now().timestamp_millis() => "until the next VACUUM or log cleanup".into(),
        Some(end) => format!("until {}", millis_text(end)),
    }
}

fn signed(n: i64) -> String {
    if n > 0 { format!("+{}", grouped(n)) } else { grouped(n) }
}

fn touched(c: &Commit) -> String {
    const SHOWN: usize = 3;
    let mut text: Vec<String> = c.partitions().take(SHOWN).map(|(columns, p)| p.label(columns)).collect();
    let more = c.partitions().count().saturating_sub(SHOWN);
    if more > 0 {
        text.push(format!("and {more} more"));
    }
    text.join(", ")
}
