//! The dialog that every change of a table passes.
//!
//! Cancel has the focus. Enter alone can never apply: the table's name has to
//! be typed key by key, and each failed gate wants a reason. Pasted text is
//! ignored (the caller does not pass it on). What the plan says scrolls where it
//! does not fit; fields and buttons always show.

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::{Key, ctrl};
use crate::plan::describe::DescribeRow;
use crate::plan::{Plan, Verdict};
use crate::table::value::escape_controls;
use crate::tui::input::TextInput;
use crate::tui::screens::form::field;
use crate::tui::shared::Core;
use crate::tui::text::{count, fit};
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
    /// The first line shown of what the plan says.
    pub top: usize,
    /// The table's description on both sides of the plan; empty where it stays.
    pub described: Vec<DescribeRow>,
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
        Self {
            plan,
            name,
            location,
            reasons,
            typed: TextInput::default(),
            focus: Focus::Cancel,
            top: 0,
            described: Vec::new(),
        }
    }

    /// With the table's description on both sides of the plan.
    pub fn described(mut self, rows: Vec<DescribeRow>) -> Self {
        self.described = rows;
        self
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

    /// Moves in what the plan says, on a screen of so many cells; `false` for
    /// keys that do something else. Up and Down go from field to field.
    pub fn scroll(&mut self, key: Key, size: (u16, u16)) -> bool {
        let page = i64::try_from(Parts::new(self, screen(size)).body).unwrap_or(1).max(1);
        // In a field Ctrl-u edits its text.
        let delta = match key.code() {
            KeyCode::PageDown => page,
            KeyCode::PageUp => -page,
            _ if key == ctrl('d') => (page / 2).max(1),
            _ if key == ctrl('u') && self.input().is_none() => -(page / 2).max(1),
            _ => return false,
        };
        self.scroll_by(delta, size);
        true
    }

    pub fn scroll_by(&mut self, lines: i64, size: (u16, u16)) {
        let last = Parts::new(self, screen(size)).last_top();
        let top = i64::try_from(self.top).unwrap_or(i64::MAX).saturating_add(lines).max(0);
        self.top = usize::try_from(top).unwrap_or(0).min(last);
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

fn screen((columns, rows): (u16, u16)) -> Rect {
    Rect::new(0, 0, columns, rows)
}

/// Where the parts of the dialog go, on a screen of this size.
struct Parts {
    place: Rect,
    /// What the plan says, wrapped.
    lines: Vec<(String, Role)>,
    /// Of these lines so many are shown.
    body: usize,
    /// So many fields for reasons are shown; the others scroll.
    fields: usize,
}

impl Parts {
    fn new(confirm: &Confirm, area: Rect) -> Parts {
        let cells = area.width.saturating_sub(8).min(if area.width < WIDE { 78 } else { 100 });
        let lines = super::confirm_text::lines(confirm, usize::from(cells));
        let fields = confirm.reasons.len().min((usize::from(area.height).saturating_sub(3 + 2 + 5) / 2).max(1));
        // The hint, the name's two lines, a space, the buttons and the frame.
        let others = fields * 2 + 2 + 5;
        let height = u16::try_from(lines.len() + others).unwrap_or(u16::MAX).min(area.height);
        let body = usize::from(height).saturating_sub(others).max(3).min(lines.len());
        Parts { place: paint::centered(area, cells + 4, height), lines, body, fields }
    }

    fn last_top(&self) -> usize {
        self.lines.len().saturating_sub(self.body)
    }
}

/// From so many cells on the dialog is wider.
const WIDE: u16 = 120;

pub fn draw(buf: &mut Buffer, area: Rect, confirm: &Confirm, core: &Core) {
    let theme = &core.theme;
    let parts = Parts::new(confirm, area);
    let title = format!("{} on {}", confirm.plan.operation, escape_controls(&confirm.name));
    let inner = paint::boxed(buf, parts.place, &title, Role::Warn, theme);
    let top = confirm.top.min(parts.last_top());
    for (row, (text, role)) in (0..).zip(parts.lines.iter().skip(top).take(parts.body)) {
        paint::line(buf, inner, row, &[piece(text.as_str(), *role)], theme);
    }
    let mut row = u16::try_from(parts.body).unwrap_or(u16::MAX);
    paint::line(buf, inner, row, &[piece(more(&parts, top), Role::Accent)], theme);
    row += 1;
    let shown = parts.fields;
    let first = match confirm.focus {
        Focus::Reason(i) => (i + 1).saturating_sub(shown),
        Focus::Name | Focus::Apply => confirm.reasons.len() - shown,
        Focus::Cancel => 0,
    };
    for (i, reason) in confirm.reasons.iter().enumerate().skip(first).take(shown) {
        let focused = confirm.focus == Focus::Reason(i);
        let text = format!("✘ {}: why all the same? The reason is recorded.", reason.gate);
        paint::line(buf, inner, row, &[piece(fit(&text, usize::from(inner.width)), Role::Error)], theme);
        labelled(buf, inner, row + 1, "  ", &reason.input, focused, core);
        row += 2;
    }
    let instruction = escape_controls(&confirm.instruction());
    paint::line(buf, inner, row, &[piece(fit(&instruction, usize::from(inner.width)), Role::Text)], theme);
    labelled(buf, inner, row + 1, "", &confirm.typed, confirm.focus == Focus::Name, core);
    paint::line_right(buf, inner, inner.height.saturating_sub(1), &buttons(confirm), theme);
}

/// What of the text is not shown, and the keys that show it.
fn more(parts: &Parts, top: usize) -> String {
    let below = parts.lines.len().saturating_sub(top + parts.body) as u64;
    let lines = |n| count(n, "line", "lines");
    match (top as u64, below) {
        (0, 0) => String::new(),
        (0, below) => format!("↓ {} more: PgDn", lines(below)),
        (above, 0) => format!("↑ {} above: PgUp", lines(above)),
        (above, below) => format!("↑ {} above: PgUp   ↓ {} more: PgDn", lines(above), lines(below)),
    }
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
