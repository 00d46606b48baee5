//! A few text fields over a screen: a layout of one's own, a query.

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::confirm::Outcome;
use crate::action::Key;
use crate::table::value::escape_controls;
use crate::tui::input::TextInput;
use crate::tui::screens::form::field;
use crate::tui::shared::Core;
use crate::tui::text::{Align, fit, pad, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, piece};

/// Who takes the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A layout that is added to the wizard's.
    Layout,
    /// A condition that is tried on every layout.
    Query,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub label: &'static str,
    /// What to type.
    pub about: &'static str,
    pub input: TextInput,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    pub purpose: Purpose,
    pub title: &'static str,
    pub fields: Vec<Field>,
    pub focus: usize,
    /// What is wrong with the field in focus.
    pub complaint: Option<String>,
    /// What a person may need to know to fill them in.
    pub foot: String,
}

impl Fields {
    /// Empty fields: (label, what to type).
    pub fn new(
        purpose: Purpose,
        title: &'static str,
        fields: &[(&'static str, &'static str)],
        foot: impl Into<String>,
    ) -> Fields {
        let field = |(label, about): &(&'static str, &'static str)| Field { label, about, input: TextInput::default() };
        let fields = fields.iter().map(field).collect();
        Fields { purpose, title, fields, focus: 0, complaint: None, foot: foot.into() }
    }

    pub fn text(&self, at: usize) -> &str {
        self.fields.get(at).map_or("", |f| f.input.text().trim())
    }

    pub fn texts(&self) -> Vec<String> {
        self.fields.iter().map(|f| f.input.text().to_owned()).collect()
    }

    /// Says what is wrong with a field and goes there.
    pub fn complain(&mut self, (at, said): (usize, String)) {
        self.focus = at.min(self.fields.len().saturating_sub(1));
        self.complaint = Some(said);
    }

    pub fn paste(&mut self, text: &str) {
        self.complaint = None;
        if let Some(field) = self.fields.get_mut(self.focus) {
            field.input.paste(text);
        }
    }

    pub fn key(&mut self, key: Key) -> Outcome {
        let fields = self.fields.len().max(1);
        match key.code() {
            KeyCode::Esc => return Outcome::Cancel,
            KeyCode::Enter => return Outcome::Apply,
            KeyCode::Tab | KeyCode::Down => self.focus = (self.focus + 1) % fields,
            KeyCode::BackTab | KeyCode::Up => self.focus = (self.focus + fields - 1) % fields,
            _ => {
                if self.fields.get_mut(self.focus).is_some_and(|f| f.input.key(key)) {
                    self.complaint = None;
                }
            }
        }
        Outcome::Stay
    }
}

/// Cells of the labels.
const LABEL: usize = 20;
/// Lines for what to type, or what is wrong with it.
const ABOUT: usize = 3;

pub fn draw(buf: &mut Buffer, area: Rect, dialog: &Fields, core: &Core) {
    let theme = &core.theme;
    let cells = usize::from(area.width.saturating_sub(8).min(86));
    let foot: Vec<String> = wrap(&escape_controls(&dialog.foot), cells).into_iter().take(3).collect();
    let height = dialog.fields.len() + 1 + ABOUT + foot.len() + 1 + 2;
    let place = paint::centered(
        area,
        u16::try_from(cells + 4).unwrap_or(area.width),
        u16::try_from(height).unwrap_or(area.height),
    );
    let inner = paint::boxed(buf, place, dialog.title, Role::Accent, theme);
    let mut row = 0;
    for (i, one) in dialog.fields.iter().enumerate() {
        let focused = i == dialog.focus;
        let mark = if focused { "▸" } else { " " };
        let role = if focused { Role::Accent } else { Role::Dim };
        paint::line(buf, inner, row, &[piece(format!("{mark} {}▏", pad(one.label, LABEL, Align::Left)), role)], theme);
        let used = u16::try_from(LABEL + 3).unwrap_or(0).min(inner.width);
        let at = Rect { x: inner.x + used, y: inner.y + row, width: inner.width - used, height: 1 };
        if row < inner.height {
            field(buf, at, &one.input, focused, core);
        }
        row += 1;
    }
    row += 1;
    let about = dialog.fields.get(dialog.focus).map_or("", |f| f.about);
    let (said, role) = match &dialog.complaint {
        Some(said) => (format!("✘ {said}"), Role::Error),
        None => (about.to_owned(), Role::Text),
    };
    for (i, line) in (0..).zip(wrap(&escape_controls(&said), cells).into_iter().take(ABOUT)) {
        paint::line(buf, inner, row + i, &[piece(line, role)], theme);
    }
    row += ABOUT as u16;
    for line in foot {
        paint::line(buf, inner, row, &[piece(line, Role::Dim)], theme);
        row += 1;
    }
    let keys = fit("Tab next field · ⏎ go on · Esc back", usize::from(inner.width));
    paint::line(buf, inner, inner.height.saturating_sub(1), &[piece(keys, Role::Dim)], theme);
}
