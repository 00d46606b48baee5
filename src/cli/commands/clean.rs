//! `partwise clean`

use crate::cli::narrate::say;
use crate::cli::output::table::Table;
use crate::cli::output::{Answer, plural};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::left_overs::{Cleaned, left_overs};
use crate::table::number::bytes;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Remove what ended or dead operations left; nothing else is ever removed
    #[arg(long)]
    remove: bool,
    /// Only this operation's; needed for operations of another machine, whose
    /// files must be older than a day
    #[arg(long, value_name = "ID")]
    of: Option<String>,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let cleaned = left_overs(&session.context, &args.table, args.of.as_deref(), args.remove).await?;
    let code = u8::from(!cleaned.failed.is_empty());
    if session.json {
        return Ok(Outcome::Done(Answer::json(&cleaned)?.with_code(code)));
    }
    for failure in &cleaned.failed {
        say(failure);
    }
    if cleaned.operations.is_empty() {
        let narration = format!("nothing is left over in {}\n", cleaned.table);
        return Ok(Outcome::Done(Answer { narration, ..Answer::default() }));
    }
    Ok(Outcome::Done(Answer::text(render(&cleaned, args.remove)).with_code(code)))
}

fn render(cleaned: &Cleaned, removing: bool) -> String {
    let mut out = Table::default().left("operation").left("state").right("files").right("bytes").left("removable");
    for o in &cleaned.operations {
        let removable = if o.removable { "yes: " } else { "no: " };
        out.push([
            format!("{} {}", o.operation.as_deref().unwrap_or("?"), o.id),
            o.state.as_str().to_owned(),
            o.files.len().to_string(),
            bytes(o.bytes),
            format!("{removable}{}", o.because),
        ]);
    }
    let mut text = out.render();
    text.push('\n');
    for file in cleaned.operations.iter().flat_map(|o| &o.files) {
        text.push_str(&format!("{}\n", crate::table::value::escape_controls(&file.path)));
    }
    let removable = cleaned.operations.iter().any(|o| o.removable);
    if removing {
        text.push_str(&format!("\n{} removed\n", plural(cleaned.removed.len() as u64, "file")));
    } else if removable {
        text.push_str("\n--remove removes those that are removable\n");
    }
    text
}
