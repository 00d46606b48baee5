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
