//! What the confirm dialog says of a plan: version, slice, rows, files, every
//! gate that failed with all of its message, the way back.

use super::confirm::Confirm;
use crate::plan::describe::DescribeRow;
use crate::plan::kinds::Class;
use crate::plan::relayout::{Order, Shape};
use crate::plan::repartition::Repartition;
use crate::plan::vacuum::Vacuum;
use crate::plan::{GateResult, GateStatus, Plan, Spec};
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::text::{count, wrap};
use crate::tui::theme::Role;

/// The gate that lists writers of the history.
const BREAKING_WRITERS: &str = "breaking-writers";

/// The text as lines of at most so many cells.
pub fn lines(confirm: &Confirm, cells: usize) -> Vec<(String, Role)> {
    let mut lines = Vec::new();
    for (text, role) in facts(confirm) {
        // What goes on is set in below its mark.
        let marked = ["✘ ", "! ", "· ", "≠ ", "= "].iter().any(|mark| text.starts_with(mark));
        let indent = if marked { "  " } else { "" };
        for (i, part) in wrap(&text, cells.saturating_sub(indent.len())).into_iter().enumerate() {
            let indent = if i == 0 { "" } else { indent };
            lines.push((format!("{indent}{part}"), role));
        }
    }
    lines
}

fn vacuum(plan: &Plan, spec: &Vacuum) -> Vec<(String, Role)> {
    let files = count(spec.files.len() as u64, "file", "files");
    let mut lines = vec![(format!("v{} · {files} would go ({})", plan.version, bytes(spec.bytes())), Role::Text)];
    let lost = !spec.lost_versions.is_empty() || !spec.lost_undos.is_empty();
    let role = if lost { Role::Warn } else { Role::Text };
    obstacles(&mut lines, plan);
    lines.extend(plan.findings.iter().map(|said| (escape_controls(said), role)));
    lines
}

fn facts(confirm: &Confirm) -> Vec<(String, Role)> {
    let plan = &confirm.plan;
    if let Spec::Vacuum(spec) = &plan.spec {
        return vacuum(plan, spec);
    }
    let rows = &plan.rows;
    let touched = plan.partitions.iter().filter(|p| !p.is_only_listed()).count();
    let partitions = count(touched as u64, "partition", "partitions");
    // The whole table is in brackets as it is.
    let slice = plan.slice.as_deref().map_or(String::new(), |s| match s.starts_with('(') {
        true => format!(" {}", escape_controls(s)),
        false => format!(" ({})", escape_controls(s)),
    });
    let mut lines = vec![(format!("v{} → v{} · {partitions}{slice}", plan.version, plan.version + 1), Role::Text)];
    let mut effects = vec![format!("rows {} → {}", grouped(rows.slice_before), grouped(rows.slice_after))];
    let comes_back = plan.spec.kind().brings_back().is_some();
    if comes_back {
        let known = |n: Option<u64>| n.map_or("?".into(), grouped);
        effects.push(format!("table {} → {}", known(rows.table_before), known(rows.table_after)));
    }
    for (word, n) in [
        ("insert", rows.inserted),
        ("update", rows.updated.unwrap_or(0)),
        ("delete", rows.deleted),
        ("zombies stay", rows.zombies),
        ("same", rows.unchanged),
    ] {
        if n > 0 {
            effects.push(format!("{word} {}", grouped(n)));
        }
    }
    lines.push((effects.join("   "), Role::Text));
    let files = if comes_back {
        format!("files −{} +{}", plan.files.removed, plan.files.restored)
    } else {
        format!("files −{} + new ones", plan.files.removed)
    };
    let number = |status| plan.gates.iter().filter(|g| g.status == status).count();
    let (passed, warned, stopped) = (number(GateStatus::Pass), number(GateStatus::Warn), number(GateStatus::Fail));
    lines.push((format!("{files} · gates: {passed} passed, {warned} warned, {stopped} failed"), Role::Text));
    obstacles(&mut lines, plan);
    for change in &plan.metadata_changes {
        lines.push((format!("also changes: {}", escape_controls(change)), Role::Warn));
    }
    // What goes back says what does not: lost files, the protocol, stream marks.
    let goes_back = plan.spec.kind().class() == Class::Inverse;
    for finding in plan.findings.iter().filter(|_| goes_back) {
        lines.push((format!("· {}", escape_controls(finding)), Role::Text));
    }
    lines.extend(layout(plan));
    for gate in plan.gates.iter().filter(|g| g.status == GateStatus::Warn) {
        lines.push((format!("! {}: {}", gate.name, escape_controls(&gate.message)), Role::Warn));
    }
    let command = if plan.spec.kind().undoes().is_some() { "redo" } else { "undo" };
    let back = format!("Take it back with u, or: partwise {command} {}", escape_controls(&confirm.location));
    lines.push((back, Role::Dim));
    lines.extend(described(&confirm.described));
    lines
}

/// DESCRIBE EXTENDED on both sides: what differs with both, first; then what
/// stays.
fn described(rows: &[DescribeRow]) -> Vec<(String, Role)> {
    let side = |text: &Option<String>| text.as_deref().map_or_else(|| "–".to_owned(), escape_controls);
    let mut lines = Vec::new();
    if !rows.is_empty() {
        lines.push(("DESCRIBE EXTENDED, before → after:".to_owned(), Role::Text));
    }
    for row in rows.iter().filter(|row| row.differs()) {
        let name = escape_controls(&row.name);
        lines.push((format!("≠ {name}: {} → {}", side(&row.before), side(&row.after)), Role::Warn));
    }
    for row in rows.iter().filter(|row| !row.differs()) {
        lines.push((format!("= {}: {}", escape_controls(&row.name), side(&row.before)), Role::Dim));
    }
    lines
}

/// What stops the plan comes before anything else that is said of it.
fn obstacles(lines: &mut Vec<(String, Role)>, plan: &Plan) {
    for refusal in &plan.refusals {
        lines.push((format!("✘ {}", escape_controls(&refusal.message)), Role::Error));
    }
    for gate in plan.blocking() {
        failed(lines, plan, gate);
    }
}

/// A failed gate with all of its message. Writers that a switch would break have
/// a line each: the reason that is typed covers what is listed.
fn failed(lines: &mut Vec<(String, Role)>, plan: &Plan, gate: &GateResult) {
    let said = match &plan.spec {
        Spec::Repartition(spec) if gate.name == BREAKING_WRITERS => {
            let dangers: Vec<String> = spec.breakers.iter().filter(|b| b.danger).map(|b| b.line()).collect();
            if !dangers.is_empty() {
                let jobs = count(dangers.len() as u64, "job", "jobs");
                lines.push((format!("✘ {}: change {jobs} before the switch, and say so:", gate.name), Role::Error));
                lines.extend(dangers.iter().map(|line| (format!("✘ {}", escape_controls(line)), Role::Error)));
                return;
            }
            &gate.message
        }
        _ => &gate.message,
    };
    lines.push((format!("✘ {}: {}", gate.name, escape_controls(said)), Role::Error));
}

/// What a new layout is like, and what else was found.
fn layout(plan: &Plan) -> Vec<(String, Role)> {
    let mut lines = Vec::new();
    match &plan.spec {
        Spec::Repartition(spec) => {
            lines.push((shape(spec), Role::Text));
            // Dangers stand with their gate.
            let known: Vec<String> = spec.breakers.iter().map(|b| b.line()).collect();
            let others = plan.findings.iter().filter(|said| !known.iter().any(|line| said.ends_with(line.as_str())));
            lines.extend(others.map(|said| (format!("· {}", escape_controls(said)), Role::Text)));
            let mild = spec.breakers.iter().filter(|b| !b.danger).map(|b| b.line());
            lines.extend(mild.map(|line| (format!("! {}", escape_controls(&line)), Role::Warn)));
        }
        Spec::Optimize(spec) => {
            let target = bytes(spec.target_file_size);
            lines.push((
                format!("files below {} become files of up to {target}", bytes(spec.min_file_size)),
                Role::Text,
            ));
            lines.extend(plan.findings.iter().map(|said| (format!("· {}", escape_controls(said)), Role::Text)));
        }
        _ => {}
    }
    lines
}

fn shape(spec: &Repartition) -> String {
    let files = match spec.shape {
        Shape::FilesPerPartition(1) => "one file a partition".to_owned(),
        Shape::FilesPerPartition(n) => format!("{n} files a partition"),
        Shape::TargetBytes(size) => format!("files of up to {}", bytes(size)),
    };
    let files = match &spec.estimate {
        Some(e) => format!("{files}: ~{}, ~{}", count(e.files, "file", "files"), bytes(e.bytes)),
        None => files,
    };
    match &spec.order {
        Order::None => files,
        Order::Columns(by) => format!("{files}, rows sorted by {}", escape_controls(&by.join(", "))),
        Order::ZOrder(by) => format!("{files}, rows in Z-order of {}", escape_controls(&by.join(", "))),
    }
}
