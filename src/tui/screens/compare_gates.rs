//! The gates of the compare screen's lower pane.

use super::compare::CompareScreen;
use crate::plan::GateStatus;
use crate::plan::script::is_offered;
use crate::table::value::escape_controls;
use crate::tui::text::{Align, pad, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{Piece, piece};

/// Refusals, gates, findings and advice of the chosen plan.
pub fn lines(screen: &CompareScreen, cells: u16) -> Vec<Vec<Piece>> {
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let Some(plan) = screen.plan() else { return lines };
    let room = usize::from(cells).saturating_sub(26);
    let mut add = |mark: &str, name: &str, text: &str, role: Role| {
        for (i, part) in wrap(&escape_controls(text), room).into_iter().enumerate() {
            let (mark, name) = if i == 0 { (mark, name) } else { ("", "") };
            lines.push(vec![
                piece(format!(" {} ", pad(mark, 1, Align::Left)), role),
                piece(pad(name, 20, Align::Left) + " ", role),
                piece(part, Role::Text),
            ]);
        }
    };
    for refusal in &plan.refusals {
        add("✘", &format!("refused: {}", refusal.kind), &refusal.message, Role::Error);
        if let Some(hint) = &refusal.hint {
            add("", "", hint, Role::Dim);
        }
    }
    if is_offered(plan) {
        add(
            "·",
            "script",
            "X saves the same write as a script for spark-sql; : finds pyspark and delta-rs",
            Role::Accent,
        );
    }
    for gate in &plan.gates {
        let (mark, role) = match gate.status {
            GateStatus::Pass => ("✔", Role::Ok),
            GateStatus::Warn => ("!", Role::Warn),
            GateStatus::Fail => ("✘", Role::Error),
        };
        add(mark, &gate.name, &gate.message, role);
        if gate.status != GateStatus::Pass && !gate.threshold.is_empty() {
            add("", "", &format!("threshold: {}", gate.threshold), Role::Dim);
        }
    }
    for text in plan.findings.iter().chain(&plan.metadata_changes) {
        add("·", "finding", text, Role::Dim);
    }
    for text in &plan.advice {
        add("·", "advice", text, Role::Accent);
    }
    if lines.is_empty() {
        lines.push(vec![piece("   no gate applies to this plan", Role::Dim)]);
    }
    if plan.compared {
        lines.push(vec![piece("   T tries other thresholds", Role::Dim)]);
    }
    lines
}
