//! `partwise layouts`

use crate::cli::output::table::Table;
use crate::cli::output::{Answer, plural};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{At, LayoutReport, LayoutRequest, OpenTable, breakers, layouts};
use crate::plan::layouts::{Candidate, LayoutBy, Origin, Spread};
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// A layout to look at: columns, expressions with a name
    /// ("date_trunc('month', ts) AS m"), or none; may be repeated
    /// [default: layouts are proposed]
    #[arg(long, value_name = "A,B", value_parser = LayoutBy::parse)]
    by: Vec<LayoutBy>,
    /// Sort rows by these columns within each layout of --by
    #[arg(long, value_name = "C,D", value_delimiter = ',', requires = "by")]
    sort_by: Vec<String>,
    /// A condition that people ask the table for, beside those of the config;
    /// may be repeated
    #[arg(long, value_name = "PRED")]
    query: Vec<String>,
    /// Count partitions and rows in one pass, and measure bytes
    #[arg(long)]
    exact: bool,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let by: Vec<LayoutBy> = args.by.into_iter().map(|by| by.sorted(args.sort_by.clone())).collect();
    let request = LayoutRequest { by: by.clone(), queries: args.query, exact: args.exact };
    let mut report = layouts(&session.context, &table, &request, &session.progress).await?;
    // What would break is asked of the layout that somebody has in mind.
    let meant = by.first().cloned().or_else(|| report.recommended.map(|i| report.candidates[i].by.clone()));
    if let Some(by) = meant {
        report.breakers = breakers(&table, &by, &session.progress).await?;
    }
    Ok(Outcome::Done(if session.json { Answer::json(&report)? } else { Answer::text(render(&report)) }))
}

fn render(report: &LayoutReport) -> String {
    let by = match report.partition_columns.is_empty() {
        true => "not partitioned".to_owned(),
        false => format!("partitioned by {}", report.partition_columns.join(", ")),
    };
    let mut out = format!(
        "{} at version {}, {by}: {}, {}, {}\n\n",
        report.table,
        report.version,
        plural(report.rows, "row"),
        plural(report.files, "file"),
        bytes(report.bytes)
    );
    out = escape(&out);
    let mut table = Table::default().left("layout").right("partitions").right("rows min/median/max");
    for head in ["size min/median/max", "skew", "NULLs", "files", "small", "to rewrite", "extra"] {
        table = table.right(head);
    }
    if !report.queries.is_empty() {
        table = table.right("queries read");
    }
    for (at, candidate) in report.candidates.iter().enumerate() {
        table.push(cells(report, at, candidate));
    }
    out += &table.render();
    if report.candidates.iter().any(|c| !c.numbers.exact) {
        out += &format!(
            "~ is an estimate from {} of {} rows; --exact counts\n",
            grouped(report.sampled.rows),
            grouped(report.sampled.of)
        );
    } else if report.candidates.iter().any(|c| !c.numbers.estimated().is_empty()) {
        out += "~ is an estimate from the sizes of today's files; --exact measures\n";
    }
    for (at, query) in report.queries.iter().enumerate() {
        out += &format!("\nquery  {}\n", escape_controls(query));
        for candidate in &report.candidates {
            let Some(read) = candidate.queries.get(at) else { continue };
            let about = if read.exact { "" } else { "~" };
            out += &format!(
                "  {}: {about}{}, {about}{}\n",
                escape_controls(&candidate.label),
                plural(read.files, "file"),
                bytes(read.bytes)
            );
        }
    }
    let concerns: Vec<String> = report
        .candidates
        .iter()
        .flat_map(|c| c.concerns.iter().map(|said| format!("concern  {}: {}\n", escape_controls(&c.label), said)))
        .collect();
    if !concerns.is_empty() {
        out += &format!("\n{}", concerns.concat());
    }
    out += &format!("\n★ {}\n", escape_controls(&report.because));
    for said in &report.advice {
        out += &format!("advice   {}\n", escape_controls(said));
    }
    if !report.breakers.is_empty() {
        out += "\n";
        for breaker in &report.breakers {
            let mark = if breaker.danger { "breaks" } else { "note  " };
            out += &format!("{mark}   {}\n", escape_controls(&breaker.line()));
        }
    }
    out
}

fn cells(report: &LayoutReport, at: usize, c: &Candidate) -> Vec<String> {
    let n = &c.numbers;
    // Rows may be counted where sizes are guessed: each number has its own mark.
    let (rows, sizes) = (n.rows_mark(), n.sizes_mark());
    let star = if report.recommended == Some(at) { " ★" } else { "" };
    let today = if c.origin == Origin::Today { " (today)" } else { "" };
    let spread = |s: Option<Spread>, about: &str, text: fn(u64) -> String| {
        s.map_or_else(|| "?".into(), |s| format!("{about}{} / {} / {}", text(s.min), text(s.median), text(s.max)))
    };
    let partitions = format!("{}{}", if n.at_least { "≥ " } else { rows }, grouped(n.partitions));
    let mut cells = vec![
        format!("{}{today}{star}", c.label),
        partitions,
        spread(n.rows, rows, grouped),
        spread(n.bytes, sizes, bytes),
        n.skew.map_or_else(|| "?".into(), |s| format!("{rows}{s:.1}")),
        format!("{rows}{}", grouped(n.nulls)),
        format!("{sizes}{}", grouped(n.files)),
        n.small_share().map_or_else(|| "–".into(), |s| format!("{sizes}{:.0} %", s * 100.0)),
        if n.rewrite_bytes == 0 { "–".into() } else { bytes(n.rewrite_bytes) },
        if n.rewrite_bytes == 0 { "–".into() } else { n.extra_bytes().text() },
    ];
    if !report.queries.is_empty() {
        let reads = c.reads();
        let about = if reads.exact { "" } else { "~" };
        cells.push(format!("{about}{}, {about}{}", plural(reads.files, "file"), bytes(reads.bytes)));
    }
    cells
}

fn escape(text: &str) -> String {
    text.lines().map(|line| escape_controls(line) + "\n").collect()
}
