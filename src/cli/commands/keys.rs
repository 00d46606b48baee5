//! `partwise keys`

use crate::cli::args::{column_name, filter};
use crate::cli::output::table::Table;
use crate::cli::output::{Answer, plural};
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::keys::{Candidate, Elsewhere, KeyReport, KeyRequest, Near, SideKeys, diagnose_keys, rules_text};
use crate::ops::{At, OpenTable};
use crate::table::Value;
use crate::table::number::grouped;
use crate::table::value::escape_controls;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// What was delivered: its keys are looked at beside the table's
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// The columns that identify a row [default: the config's for the table;
    /// without any, columns that could be the key are proposed]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    key: Vec<String>,
    /// Look at rows for which this is true
    #[arg(long, value_name = "PRED")]
    filter: Option<String>,
    /// Print so many groups of each finding at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let filter = filter(args.filter.as_deref())?;
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let request = KeyRequest { source: args.source, key: args.key, filter, limit: args.limit };
    let report = diagnose_keys(&session.context, &table, &request, &session.progress).await?;
    Ok(Outcome::Done(if session.json { Answer::json(&report)? } else { Answer::text(render(&report)) }))
}

fn render(report: &KeyReport) -> String {
    let mut out = String::new();
    if report.key.is_empty() {
        out += "no key is known: give --key A,B, or take one of the candidates\n";
    } else {
        out += &format!("key  {}\n", escape_controls(&report.key.join(", ")));
        out += &numbers(report);
        for (name, side) in [("table", &report.table_keys), ("source", &report.source_keys)] {
            if let Some(side) = side {
                out += &groups(name, side);
            }
        }
        out += &report.near.as_ref().map(near).unwrap_or_default();
        out += &report.elsewhere.as_ref().map(elsewhere).unwrap_or_default();
    }
    if !report.candidates.is_empty() {
        out += &candidates(&report.candidates);
    }
    if !report.findings.is_empty() {
        out += "\n";
        for finding in &report.findings {
            out += &format!("{}: {}\n", finding.name, escape_controls(&finding.message));
        }
    } else if !report.key.is_empty() {
        out += "\nnothing is wrong with this key\n";
    }
    out
}

fn numbers(report: &KeyReport) -> String {
    let sides: Vec<(&str, &SideKeys)> = [("table", &report.table_keys), ("source", &report.source_keys)]
        .into_iter()
        .filter_map(|(name, side)| Some((name, side.as_ref()?)))
        .collect();
    let mut out = Table::default().left("");
    for (name, _) in &sides {
        out = out.right(name);
    }
    let about = |side: &SideKeys, n: u64| if side.exact { grouped(n) } else { format!("~{}", grouped(n)) };
    let mut line = |head: &str, cell: &dyn Fn(&SideKeys) -> String| {
        out.push(std::iter::once(head.to_owned()).chain(sides.iter().map(|(_, side)| cell(side))));
    };
    line("rows", &|s| grouped(s.rows));
    line("distinct keys", &|s| about(s, s.distinct));
    line("keys more than once", &|s| about(s, s.duplicate_keys));
    line("rows beyond the first", &|s| about(s, s.duplicate_rows));
    line("rows with NULL in it", &|s| grouped(s.null_rows));
    let mut text = out.render();
    if let Some((_, side)) = sides.iter().find(|(_, side)| !side.exact) {
        text += &format!("~ is an estimate: one key of {} was counted\n", grouped(side.one_of));
    }
    for t in report.types.iter().filter(|t| !t.refused) {
        text += &format!("{}: {} in the source is widened to {}\n", escape_controls(&t.column), t.source, t.table);
    }
    if let Some(matched) = report.matched {
        text += &format!("{} of the source in the table\n", plural(matched, "key"));
    }
    text
}

fn groups(name: &str, side: &SideKeys) -> String {
    if side.groups.is_empty() {
        return String::new();
    }
    let partitioned = side.groups.iter().flat_map(|g| &g.shown).any(|row| row.partition.is_some());
    let mut out = Table::default().right("rows").right("position");
    if partitioned {
        out = out.left("partition");
    }
    for column in &side.columns {
        out = out.left(column);
    }
    for group in &side.groups {
        for (i, row) in group.shown.iter().enumerate() {
            let count = if i == 0 { grouped(group.rows) } else { String::new() };
            let partition = partitioned.then(|| row.partition.clone().unwrap_or_default());
            let cells = row.values.iter().map(Value::to_string);
            out.push([count, grouped(row.position)].into_iter().chain(partition).chain(cells));
        }
    }
    let shown = side.groups.len() as u64;
    let more = if side.duplicate_keys > shown { format!(" (the first {})", grouped(shown)) } else { String::new() };
    format!("\nkeys more than once in the {name}{more}\n{}", out.render())
}

fn key(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

fn near(near: &Near) -> String {
    if near.examples.is_empty() {
        return String::new();
    }
    let mut out = Table::default().left("nearly the same").right("in table").right("in source").left("differ in");
    for example in &near.examples {
        for (i, member) in example.members.iter().enumerate() {
            let rules = if i == 0 { rules_text(&example.rules) } else { String::new() };
            // Quotes show the blanks.
            let shown = format!("'{}'", key(&member.key));
            out.push([shown, grouped(member.table_rows), grouped(member.source_rows), rules]);
        }
    }
    format!("\n{}", out.render())
}

fn elsewhere(found: &Elsewhere) -> String {
    if found.examples.is_empty() {
        return String::new();
    }
    let mut out = Table::default().left("in several partitions").right("rows").left("partitions");
    for example in &found.examples {
        out.push([key(&example.key), grouped(example.rows), example.partitions.join(", ")]);
    }
    format!("\n{}", out.render())
}

fn candidates(list: &[Candidate]) -> String {
    let mut out = Table::default().left("could be the key").left("of").right("distinct").right("rows").left("");
    for c in list {
        let about = if c.exact { "" } else { "~" };
        let verdict = match (c.unique, c.null_rows) {
            (true, _) if c.exact => "unique".into(),
            (true, _) => "no repetition among the keys that were counted".into(),
            (false, 0) => format!("{:.2} %", percent(c)),
            (false, nulls) => format!("{:.2} %, {} with NULL", percent(c), plural(nulls, "row")),
        };
        let distinct = format!("{about}{}", grouped(c.distinct));
        out.push([c.columns.join(", "), c.side.clone(), distinct, grouped(c.rows), verdict]);
    }
    format!("\n{}", out.render())
}

/// Rounded down: a set that is not unique never shows 100 %.
fn percent(c: &Candidate) -> f64 {
    if c.rows == 0 { 0.0 } else { (c.distinct as f64 / c.rows as f64 * 10_000.0).floor() / 100.0 }
}
