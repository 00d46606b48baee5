//! What saving would change in the config file, before it does.

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::confirm::Outcome;
use crate::action::Key;
use crate::config::diff::Line;
use crate::ops::ConfigChange;
use crate::table::value::escape_controls;
use crate::tui::shared::Core;
use crate::tui::text::fit;
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveConfig {
    pub change: ConfigChange,
    /// Whether the button that saves has the focus; Cancel has it at first.
    pub on_save: bool,
    pub top: usize,
}

impl SaveConfig {
    pub fn new(change: ConfigChange) -> Self {
        Self { change, on_save: false, top: 0 }
    }

    pub fn key(&mut self, key: Key) -> Outcome {
        match key.code() {
            KeyCode::Esc => return Outcome::Cancel,
            KeyCode::Enter if self.on_save => return Outcome::Apply,
            KeyCode::Enter => return Outcome::Cancel,
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => self.on_save = !self.on_save,
            KeyCode::Down | KeyCode::Char('j') => {
                self.top = (self.top + 1).min(self.change.lines().len().saturating_sub(1));
            }
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            _ => {}
        }
        Outcome::Stay
    }
}

pub fn draw(buf: &mut Buffer, area: Rect, dialog: &SaveConfig, core: &Core) {
    let theme = &core.theme;
    let lines = dialog.change.lines();
    let height = u16::try_from(lines.len() + 6).unwrap_or(u16::MAX).min(area.height);
    let place = paint::centered(area, area.width.min(90), height);
    let inner = paint::boxed(buf, place, "save what is known about the table", Role::Accent, theme);
    let state = if dialog.change.before.is_some() { "" } else { " (new)" };
    let cells = usize::from(inner.width);
    let file = fit(&escape_controls(&format!("{}{state}", dialog.change.file.display())), cells);
    paint::line(buf, inner, 0, &[piece(file, Role::Text)], theme);
    let room = usize::from(inner.height.saturating_sub(4));
    for (row, line) in lines.iter().skip(dialog.top).take(room).enumerate() {
        paint::line(buf, inner, 2 + row as u16, &[shown(line)], theme);
    }
    let role = |focused: bool| if focused { Role::Selection } else { Role::Text };
    let buttons =
        [piece("[ Save ]", role(dialog.on_save)), piece("  ", Role::Text), piece("[ Cancel ]", role(!dialog.on_save))];
    paint::line_right(buf, inner, inner.height.saturating_sub(1), &buttons, theme);
}

fn shown(line: &Line) -> Piece {
    match line {
        Line::Same(text) => piece(format!("  {}", escape_controls(text)), Role::Dim),
        Line::Added(text) => piece(format!("+ {}", escape_controls(text)), Role::Insert),
        Line::Removed(text) => piece(format!("- {}", escape_controls(text)), Role::Delete),
        Line::Skipped(n) => piece(format!("  … {}", crate::tui::text::count(*n as u64, "line", "lines")), Role::Dim),
    }
}
