//! `partwise compare`

use crate::cli::args::SourceArgs;
use crate::cli::output::plan::uncompared;
use crate::cli::output::table::Table;
use crate::cli::output::{Answer, count, roles};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, Comparison, OpenTable, Prepared, compare};
use crate::plan::measures::{measures, total};
use crate::plan::{GateStatus, Plan};
use crate::table::number::{bytes, grouped, grouped_text};
use crate::table::value::escape_controls;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    source: SourceArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let request = args.source.request()?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let comparison = compare(&session.context, &table, &request, &session.progress).await?;
    Ok(Outcome::Done(if session.json {
        Answer::json(&comparison.to_json())?
    } else {
        Answer::text(render(&comparison))
    }))
}

/// So many strategies fit side by side into 80 columns.
const SIDE_BY_SIDE: usize = 3;

fn table(strategies: &[(&'static str, Prepared)]) -> String {
    const VERDICT: &str = "verdict";
    let plans: Vec<&Plan> = strategies.iter().map(|(_, prepared)| &prepared.plan).collect();
    let mut out = Table::default().left("");
    for (name, _) in strategies {
        out = out.right(name);
    }
    let mut line = |head: &str, cell: &dyn Fn(&Plan) -> String| {
        let cells = plans.iter().map(|p| if uncompared(p) && head != VERDICT { "?".to_owned() } else { cell(p) });
        out.push(std::iter::once(head.to_owned()).chain(cells));
    };
    line("rows after", &|p| grouped(p.rows.slice_after));
    line("inserted", &|p| grouped(p.rows.inserted));
    line("updated", &|p| count(p.rows.updated));
    line("unchanged", &|p| grouped(p.rows.unchanged));
    line("deleted", &|p| grouped(p.rows.deleted));
    line("zombies that stay", &|p| grouped(p.rows.zombies));
    for name in measures(plans.iter().copied()) {
        let sum = |p: &Plan, side| total(p, &name, side).map_or("?".into(), |text| grouped_text(&text));
        let before = plans.first().map_or("?".into(), |p| sum(p, "before"));
        line(&format!("Σ {} after (now {before})", escape_controls(&name)), &|p| sum(p, "after"));
    }
    line("rewritten unchanged", &|p| grouped(p.files.rows_rewritten_unchanged));
    line("partitions touched", &|p| grouped(p.partitions.iter().filter(|p| !p.is_only_listed()).count() as u64));
    line("files replaced", &|p| grouped(p.files.removed));
    line("bytes replaced", &|p| bytes(p.files.removed_bytes));
    line("rows written a changed row", &|p| p.write_amplification().map_or("–".into(), |x| format!("{x:.1}")));
    line("gates", &|p| {
        let of = |status| p.gates.iter().filter(|g| g.status == status).count();
        match (of(GateStatus::Fail), of(GateStatus::Warn)) {
            (0, 0) => "pass".into(),
            (0, warn) => format!("{warn} warn"),
            (fail, _) => format!("{fail} fail"),
        }
    });
    line(VERDICT, &|p| p.verdict.as_str().to_owned());
    out.render()
}

fn render(comparison: &Comparison) -> String {
    let plans: Vec<&Plan> = comparison.strategies.iter().map(|(_, prepared)| &prepared.plan).collect();
    let tables: Vec<String> = comparison.strategies.chunks(SIDE_BY_SIDE).map(table).collect();
    let recommended = match comparison.recommended {
        Some(i) => comparison.strategies[i].0,
        None => "none",
    };
    let delivery = match &comparison.delivery {
        _ if plans.iter().all(|p| uncompared(p)) => "unknown (refused)".to_owned(),
        d => format!(
            "{} ({:.0} % of the keys, {:.0} % of the matched rows changed)",
            d.kind.words(),
            d.key_coverage * 100.0,
            d.changed_share * 100.0
        ),
    };
    let technical = comparison.technical.as_ref().map(|t| {
        format!(
            "{}\n  if they say nothing: --ignore {}\n",
            escape_controls(&t.because),
            escape_controls(&t.columns.join(","))
        )
    });
    format!(
        "{}{}\ndelivery     {delivery}\nrecommended  {recommended}\n{}\n{}",
        alarms(comparison),
        tables.join("\n"),
        comparison.because,
        technical.unwrap_or_default()
    )
}

/// The partitions that need a look, as the overwrite sees them, which deletes most.
fn alarms(comparison: &Comparison) -> String {
    let overwrite = comparison.strategies.iter().find(|(name, _)| *name == "overwrite");
    let last = overwrite.map(|(name, prepared)| (name, roles::render(&prepared.plan)));
    last.filter(|(_, table)| !table.is_empty()).map_or_else(String::new, |(name, table)| format!("{name}:\n{table}\n"))
}
