//! `partwise journal`

use serde_json::json;

use crate::cli::narrate::say;
use crate::cli::output::Answer;
use crate::cli::output::table::Table;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops;

#[derive(Debug, clap::Args)]
pub struct Args {}

pub async fn run(_: Args, session: &Session) -> Result<Outcome> {
    match ops::recover(&session.context).await {
        Ok(settled) => settled.iter().for_each(|entry| say(&ops::recover::said(entry))),
        // What it does say can be read all the same.
        Err(error) => say(&format!("what was in flight is not known: {}", error.full_message())),
    }
    let entries = ops::journal(&session.context)?;
    if session.json {
        return Ok(Outcome::Done(Answer::json(&json!({"operations": entries}))?));
    }
    if entries.is_empty() {
        let narration = "nothing was done yet\n".into();
        return Ok(Outcome::Done(Answer { narration, ..Answer::default() }));
    }
    let mut out = Table::default()
        .left("started")
        .left("operation")
        .left("outcome")
        .left("table")
        .right("version")
        .left("by")
        .left("undo");
    for e in &entries {
        let after = e.version_after.map_or_else(|| "–".into(), |v| v.to_string());
        out.push([
            e.started_at.clone(),
            e.operation.clone(),
            e.outcome.as_str().to_owned(),
            e.table.clone(),
            format!("{} → {after}", e.version_before),
            e.user.clone(),
            e.undo.clone().or_else(|| e.message.clone()).unwrap_or_default(),
        ]);
    }
    Ok(Outcome::Done(Answer::text(out.render())))
}
