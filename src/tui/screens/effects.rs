//! The numbers of plans, side by side: one line an effect, one column a strategy.

use crate::plan::measures::{measures, total};
use crate::plan::{GateStatus, Plan, Verdict};
use crate::table::number::{bytes, grouped};
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
    /// Which lines give way on a low screen: the highest first, 0 never.
    rank: u8,
}

/// The lines of the comparison. `selected` is the plan whose "before" is shown
/// in the measures' labels.
pub fn lines(plans: &[Plan], selected: usize) -> Vec<Line> {
    let line = |rank: u8, label: &str, role: Role, cell: &dyn Fn(&Plan) -> String| Line {
        label: label.to_owned(),
        role,
        cells: plans.iter().map(|p| if p.refusals.is_empty() { cell(p) } else { "–".into() }).collect(),
        rank,
    };
    let optional = |n: Option<u64>| n.map_or("?".into(), grouped);
    let any = |number: fn(&Plan) -> u64| plans.iter().any(|p| number(p) > 0);
    let mut lines = vec![
        line(0, "  insert", Role::Insert, &|p| grouped(p.rows.inserted)),
        line(0, "  update", Role::Update, &|p| optional(p.rows.updated)),
        line(3, "  same (rewritten)", Role::Same, &|p| grouped(p.rows.unchanged)),
        line(0, "  delete", Role::Delete, &|p| grouped(p.rows.deleted)),
        line(0, "z ZOMBIE", Role::Zombie, &|p| grouped(p.rows.zombies)),
    ];
    if any(|p| p.rows.moved) {
        lines.push(line(3, "  moved", Role::Update, &|p| grouped(p.rows.moved)));
    }
    if any(|p| p.rows.kept) {
        lines.push(line(4, "  kept", Role::Same, &|p| grouped(p.rows.kept)));
    }
    if any(|p| p.rows.ignored) {
        lines.push(line(4, "  ignored", Role::Same, &|p| grouped(p.rows.ignored)));
    }
    lines.push(line(1, "  rows in slice after", Role::Text, &|p| grouped(p.rows.slice_after)));
    for (i, name) in measures(plans).into_iter().enumerate() {
        let before = plans.get(selected).and_then(|p| total(p, &name, "before"));
        let label = format!("  Σ {}  {} →", escape_controls(&name), amount(before.as_deref().unwrap_or("?")));
        let after = |p: &Plan| total(p, &name, "after").map_or("?".into(), |text| amount(&text));
        lines.push(line(if i == 0 { 2 } else { 6 }, &label, Role::Text, &after));
    }
    lines.push(line(3, "  rewritten", Role::Text, &|p| rewritten(p)));
    lines.push(line(5, "  written per change", Role::Text, &|p| amplification(p)));
    lines.push(line(5, "  partitions touched", Role::Text, &|p| grouped(touched(p))));
    let cells = |text: fn(&Plan) -> String| plans.iter().map(text).collect();
    lines.push(Line { label: GATES.into(), role: Role::Text, cells: cells(gate_summary), rank: 1 });
    lines.push(Line { label: VERDICT.into(), role: Role::Text, cells: cells(verdict), rank: 4 });
    lines
}

pub const GATES: &str = "  gates";
pub const VERDICT: &str = "  verdict";

/// The lines that fit into so many rows, and how many were left out.
pub fn fitting(mut lines: Vec<Line>, room: usize) -> (Vec<Line>, usize) {
    let all = lines.len();
    while lines.len() > room {
        // Of the same rank the last goes first.
        let worst = lines.iter().enumerate().max_by_key(|(at, line)| (line.rank, *at));
        match worst.filter(|(_, line)| line.rank > 0).map(|(at, _)| at) {
            Some(at) => lines.remove(at),
            None => break,
        };
    }
    let left_out = all - lines.len();
    (lines, left_out)
}

/// Partitions that rows or files of the plan are in.
fn touched(plan: &Plan) -> u64 {
    plan.partitions.iter().filter(|p| !p.is_only_listed()).count() as u64
}

/// Rows that are written for each row that changes.
fn amplification(plan: &Plan) -> String {
    let rows = &plan.rows;
    let changed = rows.inserted + rows.updated.unwrap_or(0).saturating_sub(rows.touched_only) + rows.deleted;
    let written: u64 = plan.partitions.iter().map(|p| p.written.rows).sum();
    if changed == 0 {
        return "–".into();
    }
    let times = written as f64 / changed as f64;
    if times < 100.0 { format!("{times:.1} ×") } else { format!("{} ×", grouped(times.round() as u64)) }
}

fn verdict(plan: &Plan) -> String {
    if plan.refusals.is_empty() { plan.verdict.as_str().into() } else { "refused".into() }
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
