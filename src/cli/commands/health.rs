//! `partwise health`

use crate::cli::output::table::Table;
use crate::cli::output::{Answer, count, plural};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, Health, OpenTable, health};
use crate::table::duration::span_text;
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let found = health(&session.context, &table, &session.progress).await?;
    Ok(Outcome::Done(if session.json { Answer::json(&found)? } else { Answer::text(render(&found)) }))
}

fn render(h: &Health) -> String {
    let mut out = escape_controls(&format!("{} at version {}", h.table, h.version)) + "\n\n";
    let mut table = Table::default().left("what").right("number").right("size");
    let share = if h.files == 0 { 0.0 } else { h.small_files as f64 * 100.0 / h.files as f64 };
    let mut line = |what: String, number: String, size: String| table.push([what, number, size]);
    line("partitions".into(), grouped(h.partitions), String::new());
    line("rows".into(), count(h.rows), String::new());
    line("files".into(), grouped(h.files), bytes(h.bytes));
    line(
        format!("small files (below {})", bytes(h.small_file_bytes)),
        format!("{} ({share:.0} %)", grouped(h.small_files)),
        bytes(h.small_bytes),
    );
    let times = h.skew.map_or_else(|| "?".into(), |s| format!("{s:.1}"));
    line("skew (largest / middle partition)".into(), times, String::new());
    line("deleted rows in deletion vectors".into(), grouped(h.deletion_vector_rows), String::new());
    line("removed files still there".into(), grouped(h.tombstones), bytes(h.tombstone_bytes));
    line(
        format!("older than {}: VACUUM would take", span_text(h.retention_ms)),
        grouped(h.vacuum_files),
        bytes(h.vacuum_bytes),
    );
    line("of these not in the log".into(), grouped(h.left_over_files), String::new());
    line("gaps between dates".into(), grouped(h.gaps.len() as u64), String::new());
    out += &table.render();
    if h.findings.is_empty() {
        return out + "\nnothing needs mending\n";
    }
    out += "\n";
    for finding in &h.findings {
        out += &format!("{}: {}\n", finding.name, escape_controls(&finding.message));
        let mut costs = Vec::new();
        costs.extend(finding.rewrite_bytes.map(|n| format!("rewrites {}", bytes(n))));
        costs.extend(finding.frees_bytes.filter(|n| *n > 0).map(|n| format!("frees {}", bytes(n))));
        if let Some(mend) = &finding.mend {
            let cost = if costs.is_empty() { String::new() } else { format!("   ({})", costs.join(", ")) };
            out += &format!("  {}{cost}\n", escape_controls(mend));
        }
    }
    out + &format!("\n{}\n", plural(h.findings.len() as u64, "finding"))
}
