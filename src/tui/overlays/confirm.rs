//! The dialog that every change of a table passes.
//!
//! Cancel has the focus. Enter alone can never apply: the table's name has to
//! be typed key by key, and each failed gate wants a reason. Pasted text is
//! ignored (the caller does not pass it on).

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Key;
use crate::plan::kinds::Class;
use crate::plan::vacuum::Vacuum;
use crate::plan::{GateStatus, Plan, Spec, Verdict};
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::input::TextInput;
use crate::tui::screens::form::field;
use crate::tui::shared::Core;
use crate::tui::text::{count, fit, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, Piece, piece};

/// A failed gate and the reason to go on all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    pub gate: String,
    pub message: String,
    pub input: TextInput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Cancel,
    Reason(usize),
    Name,
    Apply,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    pub plan: Plan,
    /// What has to be typed.
    pub name: String,
    pub location: String,
    pub reasons: Vec<Reason>,
    pub typed: TextInput,
    pub focus: Focus,
}

/// What a key led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Stay,
    Cancel,
    Apply,
}

impl Confirm {
    pub fn new(plan: Plan, name: String, location: String) -> Self {
        let reasons = plan
            .blocking()
            .into_iter()
            .map(|g| Reason { gate: g.name.clone(), message: g.message.clone(), input: TextInput::default() })
            .collect();
        Self { plan, name, location, reasons, typed: TextInput::default(), focus: Focus::Cancel }
    }

    /// Why it cannot be applied yet; `None` when it can.
    pub fn obstacle(&self) -> Option<String> {
        if let Some(refusal) = self.plan.refusals.first() {
            return Some(format!("refused: {}", refusal.message));
        }
        if self.plan.verdict == Verdict::NoOp {
            return Some("the plan would change nothing".into());
        }
        if let Some(reason) = self.reasons.iter().find(|r| r.input.text().trim().is_empty()) {
            return Some(format!("the gate {} failed: say why to go on all the same", reason.gate));
        }
        if self.typed.text() != self.name {
            return Some(self.ask_name());
        }
        None
    }

    fn ask_name(&self) -> String {
        format!("type {} to go on", self.name)
    }

    /// The one line above the name's field: what to do next. It belongs to the
    /// field until the name is there; failed gates have fields of their own.
    fn instruction(&self) -> String {
        let possible = self.plan.refusals.is_empty() && self.plan.verdict != Verdict::NoOp;
        if possible && self.typed.text() != self.name {
            return self.ask_name();
        }
        self.obstacle().unwrap_or_else(|| "Apply carries it out".into())
    }

    /// gate → reason, for the commit and the journal.
    pub fn overrides(&self) -> Vec<(String, String)> {
        self.reasons.iter().map(|r| (r.gate.clone(), r.input.text().trim().to_owned())).collect()
    }

    fn order(&self) -> Vec<Focus> {
        let reasons = (0..self.reasons.len()).map(Focus::Reason);
        std::iter::once(Focus::Cancel).chain(reasons).chain([Focus::Name, Focus::Apply]).collect()
    }

    fn step(&mut self, forward: bool) {
        let order = self.order();
        let at = order.iter().position(|f| *f == self.focus).unwrap_or(0);
        let by = if forward { 1 } else { order.len() - 1 };
        self.focus = order[(at + by) % order.len()];
    }

    /// The first field that still wants text.
    fn open_field(&self) -> Focus {
        let empty = self.reasons.iter().position(|r| r.input.text().trim().is_empty());
        empty.map_or(Focus::Name, Focus::Reason)
    }

    fn input(&mut self) -> Option<&mut TextInput> {
        match self.focus {
            Focus::Reason(i) => self.reasons.get_mut(i).map(|r| &mut r.input),
            Focus::Name => Some(&mut self.typed),
            Focus::Cancel | Focus::Apply => None,
        }
    }

    pub fn key(&mut self, key: Key) -> Outcome {
        match key.code() {
            KeyCode::Esc => return Outcome::Cancel,
            KeyCode::Tab | KeyCode::Down => self.step(true),
            KeyCode::BackTab | KeyCode::Up => self.step(false),
            KeyCode::Enter => match self.focus {
                Focus::Cancel => return Outcome::Cancel,
                Focus::Apply if self.obstacle().is_none() => return Outcome::Apply,
                Focus::Apply => self.focus = self.open_field(),
                Focus::Reason(_) | Focus::Name => self.step(true),
            },
            KeyCode::Left | KeyCode::Right if self.input().is_none() => {
                self.focus = if self.focus == Focus::Cancel { Focus::Apply } else { Focus::Cancel };
            }
            _ => {
                // A typed letter goes to where text is wanted, also from a button.
                if key.typed().is_some() && self.input().is_none() {
                    self.focus = self.open_field();
                }
                if let Some(input) = self.input() {
                    input.key(key);
                }
            }
        }
        Outcome::Stay
    }
}

/// The facts of the plan: version, slice, rows, files, gates, the way back.
fn vacuum(plan: &Plan, spec: &Vacuum) -> Vec<(String, Role)> {
    let files = count(spec.files.len() as u64, "file", "files");
    let mut lines = vec![(format!("v{} · {files} would go ({})", plan.version, bytes(spec.bytes())), Role::Text)];
    let lost = !spec.lost_versions.is_empty() || !spec.lost_undos.is_empty();
    let role = if lost { Role::Warn } else { Role::Text };
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
    let slice = plan.slice.as_deref().map_or(String::new(), |s| format!(" ({})", escape_controls(s)));
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
    let (passed, warned, failed) = (number(GateStatus::Pass), number(GateStatus::Warn), number(GateStatus::Fail));
    lines.push((format!("{files} · gates: {passed} passed, {warned} warned, {failed} failed"), Role::Text));
    for change in &plan.metadata_changes {
        lines.push((format!("also changes: {}", escape_controls(change)), Role::Warn));
    }
    // What goes back says what does not: lost files, the protocol, stream marks.
    let goes_back = plan.spec.kind().class() == Class::Inverse;
    for finding in plan.findings.iter().filter(|_| goes_back) {
        lines.push((format!("· {}", escape_controls(finding)), Role::Text));
    }
    for gate in plan.gates.iter().filter(|g| g.status == GateStatus::Warn) {
        lines.push((format!("! {}: {}", gate.name, escape_controls(&gate.message)), Role::Warn));
    }
    for refusal in &plan.refusals {
        lines.push((format!("✘ {}", escape_controls(&refusal.message)), Role::Error));
    }
    let command = if plan.spec.kind().undoes().is_some() { "redo" } else { "undo" };
    let back = format!("Take it back with u, or: partwise {command} {}", escape_controls(&confirm.location));
    lines.push((back, Role::Dim));
    lines
}

pub fn draw(buf: &mut Buffer, area: Rect, confirm: &Confirm, core: &Core) {
    let theme = &core.theme;
    let cells = usize::from(area.width.saturating_sub(8).min(78));
    let mut lines: Vec<(String, Role)> = Vec::new();
    for (text, role) in facts(confirm) {
        lines.extend(wrap(&text, cells).into_iter().take(3).map(|l| (l, role)));
    }
    // As many failed gates as fit beside three facts; the others scroll.
    let room = usize::from(area.height).saturating_sub(3 + 2 + 5) / 2;
    let shown = confirm.reasons.len().min(room.max(1));
    let fields = shown * 2 + 2;
    let height = u16::try_from(lines.len() + fields + 5).unwrap_or(u16::MAX).min(area.height);
    // The fields and buttons always show; facts give way on a small screen.
    lines.truncate(usize::from(height).saturating_sub(fields + 5).max(3));
    let place = paint::centered(area, u16::try_from(cells + 4).unwrap_or(area.width), height);
    let title = format!("{} on {}", confirm.plan.operation, escape_controls(&confirm.name));
    let inner = paint::boxed(buf, place, &title, Role::Warn, theme);
    let mut row = 0;
    for (text, role) in lines {
        paint::line(buf, inner, row, &[piece(text, role)], theme);
        row += 1;
    }
    row += 1;
    let first = match confirm.focus {
        Focus::Reason(i) => (i + 1).saturating_sub(shown),
        Focus::Name | Focus::Apply => confirm.reasons.len() - shown,
        Focus::Cancel => 0,
    };
    for (i, reason) in confirm.reasons.iter().enumerate().skip(first).take(shown) {
        let text = format!("✘ {}: {}", reason.gate, escape_controls(&reason.message));
        paint::line(buf, inner, row, &[piece(fit(&text, usize::from(inner.width)), Role::Error)], theme);
        labelled(buf, inner, row + 1, "  why all the same ", &reason.input, confirm.focus == Focus::Reason(i), core);
        row += 2;
    }
    let instruction = escape_controls(&confirm.instruction());
    paint::line(buf, inner, row, &[piece(fit(&instruction, usize::from(inner.width)), Role::Text)], theme);
    labelled(buf, inner, row + 1, "", &confirm.typed, confirm.focus == Focus::Name, core);
    paint::line_right(buf, inner, inner.height.saturating_sub(1), &buttons(confirm), theme);
}

fn buttons(confirm: &Confirm) -> Vec<Piece> {
    let apply = match confirm.focus {
        Focus::Apply => Role::Selection,
        _ if confirm.obstacle().is_some() => Role::Dim,
        _ => Role::Text,
    };
    let cancel = if confirm.focus == Focus::Cancel { Role::Selection } else { Role::Text };
    vec![piece("[ Apply ]", apply), piece("  ", Role::Text), piece("[ Cancel ]", cancel)]
}

fn labelled(buf: &mut Buffer, area: Rect, row: u16, label: &str, input: &TextInput, focused: bool, core: &Core) {
    let role = if focused { Role::Accent } else { Role::Text };
    // The bar is the field's edge: an empty field is seen too.
    let label = format!("{label}▏");
    paint::line(buf, area, row, &[piece(label.as_str(), role)], &core.theme);
    let used = u16::try_from(crate::tui::text::width(&label)).unwrap_or(0).min(area.width);
    if row < area.height {
        field(
            buf,
            Rect { x: area.x + used, y: area.y + row, width: area.width - used, height: 1 },
            input,
            focused,
            core,
        );
    }
}
