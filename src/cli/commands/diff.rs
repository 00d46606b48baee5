//! `partwise diff`

use crate::cli::args::{column_name, filter, time};
use crate::cli::effect_rows::EffectArgs;
use crate::cli::output::table::Table;
use crate::cli::output::{Answer, count, plural};
use crate::cli::{Outcome, Session};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::ops::{At, Diff, DiffRequest, OpenTable, diff};
use crate::table::number::{grouped, grouped_text};
use crate::table::value::escape_controls;

/// More partitions are counted, not listed; `--json` has them all.
const MAX_PARTITIONS: usize = 50;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// The version before
    #[arg(long, value_name = "N", conflicts_with = "from_time", required_unless_present = "from_time")]
    from: Option<u64>,
    /// The version before, as of this time; UTC where it has no zone
    #[arg(long, value_name = "TIME")]
    from_time: Option<String>,
    /// The version after [default: the newest]
    #[arg(long, value_name = "M", conflicts_with = "to_time")]
    to: Option<u64>,
    /// The version after, as of this time
    #[arg(long, value_name = "TIME")]
    to_time: Option<String>,
    /// The columns that identify a row [default: the config's for the table].
    /// Without a key rows are removed and added, never updated
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    key: Vec<String>,
    /// Technical columns: a row that differs only there is counted apart
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    ignore: Vec<String>,
    /// Compare only partitions for which this is true
    #[arg(long, value_name = "PRED")]
    filter: Option<String>,
    #[command(flatten)]
    look: EffectArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    args.look.check()?;
    let request =
        DiffRequest { key: args.key.clone(), ignore: args.ignore.clone(), filter: filter(args.filter.as_deref())? };
    let at = |version: Option<u64>, text: &Option<String>| match (version, text) {
        (Some(version), _) => Ok(At::Version(version)),
        (None, Some(text)) => time(text),
        (None, None) => Ok(At::Latest),
    };
    if args.from.is_none() && args.from_time.is_none() {
        return Err(Error::new(ErrorKind::Usage, "diff needs --from N or --from-time TIME"));
    }
    let from = OpenTable::open(&session.context, &args.table, at(args.from, &args.from_time)?).await?;
    let to = OpenTable::open(&session.context, &args.table, at(args.to, &args.to_time)?).await?;
    let diff = diff(&session.context, &from, &to, &request, &session.progress).await?;
    let looked = args.look.look(&diff.effect_rows, &session.progress).await?;
    if session.json {
        let mut object = serde_json::to_value(&diff).context(ErrorKind::Internal, || "cannot print the diff".into())?;
        looked.add_to(&mut object);
        return Ok(Outcome::Done(Answer::json(&object)?));
    }
    Ok(Outcome::Done(Answer::text(render(&diff) + &looked.render())))
}

fn render(diff: &Diff) -> String {
    let mut out = format!("diff {} from version {} to {}\n", escape_controls(&diff.table), diff.from, diff.to);
    let mut head = |title: &str, text: &str| out += &format!("{title:<8} {}\n", escape_controls(text));
    if !diff.key.is_empty() {
        head("key", &diff.key.join(", "));
    }
    if !diff.ignore.is_empty() {
        head("ignored", &diff.ignore.join(", "));
    }
    for change in &diff.schema_changes {
        let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".into());
        let compared = if change.compared { "" } else { "; not compared" };
        let (before, after) = (side(&change.from), side(&change.to));
        head("schema", &format!("{} {}: {before} → {after}{compared}", change.column, change.change.as_str()));
    }
    for note in &diff.notes {
        head("note", note);
    }
    out += "\n";
    out += &totals(diff);
    out += &partitions(diff);
    out += &format!(
        "\nfiles    {} in both, {} only before, {} only after\n",
        grouped(diff.files.shared),
        grouped(diff.files.only_from),
        grouped(diff.files.only_to)
    );
    if diff.same_rows() {
        out += "the rows are the same\n";
    }
    out
}

fn totals(diff: &Diff) -> String {
    let r = &diff.rows;
    let mut table = Table::default().left("rows").right("");
    let always = [
        ("before", r.before),
        ("after", r.after),
        ("inserted", Some(r.inserted)),
        ("updated", r.updated),
        ("deleted", Some(r.deleted)),
        ("unchanged in changed files", Some(r.unchanged_in_changed_files)),
    ];
    let sometimes = [
        ("moved to another partition", r.moved),
        ("touched only in ignored columns", r.touched_only),
        ("duplicate keys before", diff.keys.duplicates.target),
        ("duplicate keys after", diff.keys.duplicates.source),
    ];
    let sometimes = sometimes.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| (what, Some(n)));
    for (what, n) in always.into_iter().chain(sometimes) {
        table.push([what.to_owned(), count(n)]);
    }
    table.render()
}

fn partitions(diff: &Diff) -> String {
    if diff.partitions.is_empty() {
        return String::new();
    }
    let mut measures: Vec<&String> = diff.partitions.iter().flat_map(|p| p.measure_changes.keys()).collect();
    measures.sort();
    measures.dedup();
    let mut table = Table::default().left("partition");
    for head in ["before", "after", "+ insert", "~ update", "= same", "- delete"] {
        table = table.right(head);
    }
    for measure in &measures {
        table = table.right(&format!("Δ {measure}"));
    }
    for p in diff.partitions.iter().take(MAX_PARTITIONS) {
        let cells = [
            p.label.clone(),
            grouped(p.before),
            grouped(p.after),
            grouped(p.inserted),
            count(p.updated),
            grouped(p.unchanged_in_changed_files),
            grouped(p.deleted),
        ];
        let sums = measures.iter().map(|m| match p.measure_changes.get(*m).and_then(|v| v.as_str()) {
            Some(text) => grouped_text(text),
            // No row on either side is no change.
            None => "0".into(),
        });
        table.push(cells.into_iter().chain(sums));
    }
    let mut out = format!("\n{}", table.render());
    if diff.partitions.len() > MAX_PARTITIONS {
        out += &format!("… and {} more partitions (--json lists them)\n", diff.partitions.len() - MAX_PARTITIONS);
    }
    if diff.unchanged_partitions > 0 {
        out += &format!("{} with the same files\n", plural(diff.unchanged_partitions, "other partition"));
    }
    out
}
