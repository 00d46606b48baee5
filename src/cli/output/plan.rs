//! A plan for people.

use serde_json::Value as Json;

use super::table::Table;
use super::{count, plural, roles};
use crate::plan::describe::DescribeRow;
use crate::plan::measures::measures;
use crate::plan::relayout::Order;
use crate::plan::script::is_offered;
use crate::plan::vacuum::{Vacuum, Why};
use crate::plan::{Change, Layout, Plan, PlanPartition, Spec, slice};
use crate::table::number::{bytes, grouped, grouped_text};
use crate::table::value::escape_controls;

/// More partitions are counted, not listed; `--json` has them all.
const MAX_PARTITIONS: usize = 50;

pub fn render(plan: &Plan) -> String {
    if let Spec::Vacuum(spec) = &plan.spec {
        return vacuum(plan, spec);
    }
    let mut out = format!("{} {} at version {}\n", plan.operation, plan.table, plan.version);
    if let Some(source) = &plan.source {
        out += &format!("source   {} ({}, {})\n", source.uri, source.format, plural(source.files, "file"));
    }
    if !plan.key.is_empty() {
        out += &format!("key      {}\n", plan.key.join(", "));
    }
    if let Some(slice) = &plan.slice {
        out += &format!("slice    {slice}\n");
    }
    out += &roles::head(plan);
    out = escape_lines(&out);
    out += "\n";
    let alarms = roles::render(plan);
    if !alarms.is_empty() {
        out += &(alarms + "\n");
    }
    out += &rows(plan);
    out += &partitions(plan);
    out += &files(plan);
    out += &layout(plan);
    out += &said(plan);
    out += &format!("\nverdict  {}\n", plan.verdict.as_str());
    out
}

/// A VACUUM has no rows: what goes, and what follows from it.
fn vacuum(plan: &Plan, spec: &Vacuum) -> String {
    let mut out = escape_lines(&format!("vacuum {} at version {}\n", plan.table, plan.version));
    let mut table = Table::default().right("size").left("why").left("file");
    for file in spec.files.iter().take(MAX_PARTITIONS) {
        let why = match file.why {
            Why::Removed => "removed",
            Why::Unknown => "not in the log",
            Why::ChangeData => "change data",
        };
        table.push([bytes(file.size), why.to_owned(), file.path.clone()]);
    }
    if !spec.files.is_empty() {
        out += &format!("\n{}", table.render());
    }
    if spec.files.len() > MAX_PARTITIONS {
        out += &format!("… and {} more files (--json lists them)\n", spec.files.len() - MAX_PARTITIONS);
    }
    out += &format!("\nfiles    {} would go ({})\n", grouped(plan.files.removed), bytes(plan.files.removed_bytes));
    out += &said(plan);
    out += &format!("\nverdict  {}\n", plan.verdict.as_str());
    out
}

fn files(plan: &Plan) -> String {
    if uncompared(plan) {
        return "\nfiles    ?\n".into();
    }
    format!(
        "\nfiles    {} removed ({}), {} restored; {} rewritten unchanged\n",
        grouped(plan.files.removed),
        bytes(plan.files.removed_bytes),
        grouped(plan.files.restored),
        plural(plan.files.rows_rewritten_unchanged, "row"),
    )
}

/// Partitions and files before and after, for plans that are about them.
fn layout(plan: &Plan) -> String {
    let Change::Layout(layout) = plan.spec.lower() else { return String::new() };
    if !plan.compared {
        return String::new();
    }
    let about = match &plan.spec {
        Spec::Repartition(r) => r.estimate.map(|estimate| estimate.files),
        _ => None,
    };
    let side = |l: &Layout, about: Option<u64>| {
        let files = match (l.files, about) {
            (Some(files), _) => plural(files, "file"),
            (None, Some(files)) => format!("~{}", plural(files, "file")),
            (None, None) => "? files".to_owned(),
        };
        format!("{}, {files}", plural(l.partitions, "partition"))
    };
    let order = match &layout.order {
        Order::None => String::new(),
        Order::Columns(columns) => format!("; rows sorted by {}", columns.join(", ")),
        Order::ZOrder(columns) => format!("; rows along a Z-order curve through {}", columns.join(", ")),
    };
    format!("layout   {} → {}{order}\n", side(&plan.layout.before, None), side(&plan.layout.after, about))
}

/// What DESCRIBE EXTENDED says before and after, side by side; `≠` marks what differs.
pub fn description(rows: &[DescribeRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::default().left("").left("described").left("before").left("after");
    for row in rows {
        let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "–".into());
        let mark = if row.differs() { "≠" } else { "" };
        table.push([mark.to_owned(), row.name.clone(), text(&row.before), text(&row.after)]);
    }
    format!("\n{}", table.render())
}

/// Whether the plan was refused before any row was compared: its counts are
/// then unknown, not 0. Rows that were compared went through the gates.
pub fn uncompared(plan: &Plan) -> bool {
    plan.spec.rows().is_some() && !plan.refusals.is_empty() && plan.partitions.is_empty() && plan.gates.is_empty()
}

/// The totals, those that are 0 left out where they say nothing.
fn rows(plan: &Plan) -> String {
    let r = &plan.rows;
    let uncompared = uncompared(plan);
    let keyed = !plan.key.is_empty();
    let mut table = Table::default().left("rows").right("");
    let always = [
        ("source", Some(r.source)),
        ("slice before", Some(r.slice_before)),
        ("slice after", Some(r.slice_after)),
        ("inserted", Some(r.inserted)),
        ("updated", r.updated),
        ("unchanged", Some(r.unchanged)),
        ("deleted", Some(r.deleted)),
        ("zombies", Some(r.zombies)),
    ];
    // With a key they say something also where they are 0.
    let of_keys = [
        ("keys already there", keyed.then_some(plan.keys.existing)),
        ("keys outside the slice", plan.keys.elsewhere.filter(|_| keyed)),
    ];
    let of_keys = of_keys.into_iter().filter(|(_, n)| n.is_some());
    let sometimes = [
        ("kept", r.kept),
        ("ignored", r.ignored),
        ("moved", r.moved),
        ("touched only in ignored columns", r.touched_only),
        ("duplicate keys in the source", plan.keys.duplicates.source),
        ("duplicate keys in the table", plan.keys.duplicates.target),
    ];
    let sometimes = sometimes.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| (what, Some(n)));
    for (what, n) in always.into_iter().chain(of_keys).chain(sometimes) {
        table.push([what.to_owned(), count(n.filter(|_| !uncompared))]);
    }
    table.push(["table before".into(), count(r.table_before)]);
    table.push(["table after".into(), count(r.table_after)]);
    table.render()
}

fn partitions(plan: &Plan) -> String {
    if plan.partitions.is_empty() {
        return String::new();
    }
    let measures = measures([plan]);
    let mut table = Table::default().left("partition");
    for head in ["before", "source", "after", "+ insert", "~ update", "= same", "- delete", "zombies"] {
        table = table.right(head);
    }
    for measure in &measures {
        table = table.right(&format!("{measure} before")).right(&format!("{measure} after"));
    }
    for p in slice::by_alarm(plan).into_iter().take(MAX_PARTITIONS) {
        let counts = [p.before, p.source, p.after, p.inserted].map(grouped);
        let rest = [grouped(p.unchanged), grouped(p.deleted), grouped(p.zombies)];
        let sums = measures.iter().flat_map(|m| [measure(p, m, "before"), measure(p, m, "after")]);
        let cells = std::iter::once(p.label()).chain(counts).chain([count(p.updated)]).chain(rest).chain(sums);
        table.push(cells);
    }
    let mut out = format!("\n{}", table.render());
    if plan.partitions.len() > MAX_PARTITIONS {
        out += &format!("… and {} more partitions (--json lists them)\n", plan.partitions.len() - MAX_PARTITIONS);
    }
    out
}

fn measure(p: &PlanPartition, name: &str, side: &str) -> String {
    match p.measures.get(name).and_then(|m| m.get(side)) {
        None | Some(Json::Null) => "?".into(),
        Some(Json::String(text)) => grouped_text(text),
        Some(other) => other.to_string(),
    }
}

/// Gates, findings, refusals and advice.
fn said(plan: &Plan) -> String {
    let mut out = String::new();
    if !plan.gates.is_empty() {
        let mut table = Table::default().left("gate").left("status").left("message");
        for gate in &plan.gates {
            let message = match &gate.overridden {
                Some(reason) => format!("{} (overridden: {reason})", gate.message),
                None => gate.message.clone(),
            };
            table.push([gate.name.clone(), gate.status.as_str().to_owned(), message]);
        }
        out += &format!("\n{}", table.render());
    }
    let list = |title: &str, lines: &[String]| -> String {
        lines.iter().map(|line| format!("{title}  {}\n", escape_controls(line))).collect()
    };
    let refusals: Vec<String> = plan
        .refusals
        .iter()
        .map(|r| match &r.hint {
            Some(hint) => format!("{} ({hint})", r.message),
            None => r.message.clone(),
        })
        .collect();
    let lists = [
        list("changes", &plan.metadata_changes),
        list("finding", &plan.findings),
        list("refused", &refusals),
        list("advice ", &plan.advice),
    ]
    .concat();
    if !lists.is_empty() {
        out += "\n";
        out += &lists;
    }
    if is_offered(plan) {
        out += "script   another engine can do it: plan … --out PLAN.json, then ";
        out += "partwise script PLAN.json --for spark-sql|pyspark|delta-rs\n";
    }
    out
}

fn escape_lines(text: &str) -> String {
    text.lines().map(|line| escape_controls(line) + "\n").collect()
}
