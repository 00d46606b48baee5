//! The numbers of plans, side by side: one line an effect, one column a strategy.

use crate::plan::{GateStatus, Plan, Verdict};
use crate::table::number::{Sum, bytes, grouped, parse_decimal};
use crate::table::value::escape_controls;
use crate::tui::text::amount;
use crate::tui::theme::Role;

/// What a strategy is called on the screen.
pub fn strategy(plan: &Plan) -> &'static str {
    plan.spec.kind().title()
}

/// A line: its label, its meaning, a text for each plan.
pub struct Line {
    pub label: String,
    pub role: Role,
    pub cells: Vec<String>,
}

/// The lines of the comparison. `selected` is the plan whose "before" is shown
/// in the measures' labels.
pub fn lines(plans: &[Plan], selected: usize) -> Vec<Line> {
    let line = |label: &str, role: Role, cell: &dyn Fn(&Plan) -> String| Line {
        label: label.to_owned(),
        role,
        cells: plans.iter().map(|p| if p.refusals.is_empty() { cell(p) } else { "–".into() }).collect(),
    };
    let optional = |n: Option<u64>| n.map_or("?".into(), grouped);
    let mut lines = vec![
        line("  insert", Role::Insert, &|p| grouped(p.rows.inserted)),
        line("  update", Role::Update, &|p| optional(p.rows.updated)),
        line("  same (rewritten)", Role::Same, &|p| grouped(p.rows.unchanged)),
        line("  delete", Role::Delete, &|p| grouped(p.rows.deleted)),
        line("z ZOMBIE", Role::Zombie, &|p| grouped(p.rows.zombies)),
        line("  rows in slice after", Role::Text, &|p| grouped(p.rows.slice_after)),
        line("  rewritten", Role::Text, &|p| rewritten(p)),
    ];
    if plans.iter().any(|p| p.rows.moved > 0) {
        lines.insert(5, line("  moved", Role::Update, &|p| grouped(p.rows.moved)));
    }
    for name in measures(plans) {
        let before = plans.get(selected).and_then(|p| total(p, &name, "before"));
        let label = format!("  Σ {}  {} →", escape_controls(&name), amount(before.as_deref().unwrap_or("?")));
        lines.push(line(&label, Role::Text, &|p| total(p, &name, "after").map_or("?".into(), |text| amount(&text))));
    }
    lines.push(Line { label: "  gates".into(), role: Role::Text, cells: plans.iter().map(gate_summary).collect() });
    lines
}

/// Files and bytes that the plan removes.
fn rewritten(plan: &Plan) -> String {
    let files = plan.files.removed;
    format!("{files} {} {}", if files == 1 { "file" } else { "files" }, bytes(plan.files.removed_bytes))
}

/// `4 ✔ 1 ! 1 ✘`; what stands in the way comes last.
pub fn gate_summary(plan: &Plan) -> String {
    if !plan.refusals.is_empty() {
        return "refused".into();
    }
    let number = |status| plan.gates.iter().filter(|g| g.status == status).count();
    let mut parts = Vec::new();
    for (status, mark) in [(GateStatus::Pass, "✔"), (GateStatus::Warn, "!"), (GateStatus::Fail, "✘")] {
        if number(status) > 0 {
            parts.push(format!("{} {mark}", number(status)));
        }
    }
    if plan.verdict == Verdict::NoOp {
        parts.push("no-op".into());
    }
    parts.join(" ")
}

/// The measures that any of the plans has, in their order.
pub fn measures(plans: &[Plan]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for partition in plans.iter().flat_map(|p| &p.partitions) {
        for name in partition.measures.keys() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// A measure's sum over the plan's partitions: `side` is `before` or `after`.
/// Decimals are added exactly. `None` where a partition does not tell.
pub fn total(plan: &Plan, measure: &str, side: &str) -> Option<String> {
    let texts: Option<Vec<&str>> = plan
        .partitions
        .iter()
        .filter_map(|p| p.measures.get(measure))
        .map(|m| m.get(side).and_then(serde_json::Value::as_str))
        .collect();
    let texts = texts?;
    let scale = texts.iter().map(|t| t.split_once('.').map_or(0, |(_, d)| d.len())).max()?;
    let scale = u8::try_from(scale).ok()?;
    let exact: Option<Vec<i128>> = texts.iter().map(|t| parse_decimal(t, 38, scale)).collect();
    let mut sum = if exact.is_some() { Sum::exact(scale) } else { Sum::float() };
    match exact {
        Some(values) => values.into_iter().for_each(|unscaled| sum.add(Sum::Exact { unscaled, scale })),
        None => {
            for text in texts {
                sum.add(Sum::Float { sum: text.parse().ok()?, compensation: 0.0 });
            }
        }
    }
    Some(sum.to_string())
}
