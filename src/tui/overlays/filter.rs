//! The filter's input line, over the status line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::input::TextInput;
use crate::tui::screens::form::field;
use crate::tui::shared::Core;
use crate::tui::text::width;
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, piece};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    pub input: TextInput,
    /// What the place understands: a word, a condition, or both.
    pub about: &'static str,
    /// Why the text is not understood.
    pub complaint: Option<String>,
}

pub fn draw(buf: &mut Buffer, area: Rect, filter: &Filter, core: &Core) {
    let y = area.bottom().saturating_sub(2);
    let line = Rect { y, height: 1, ..area };
    paint::line(buf, line, 0, &[piece(" ".repeat(usize::from(area.width)), Role::Text)], &core.theme);
    paint::line(buf, line, 0, &[piece(" / ", Role::Accent)], &core.theme);
    let (about, role) = match &filter.complaint {
        Some(complaint) => (complaint.as_str(), Role::Error),
        None => (filter.about, Role::Dim),
    };
    let room = usize::from(area.width).saturating_sub(width(filter.input.text()) + 8);
    let about = if room >= 12 { crate::tui::text::fit(about, room) } else { String::new() };
    let about_cells = u16::try_from(width(&about)).unwrap_or(0);
    field(
        buf,
        Rect { x: area.x + 3, width: area.width.saturating_sub(about_cells + 6), ..line },
        &filter.input,
        true,
        core,
    );
    paint::line_right(buf, line, 0, &[piece(about + " ", role)], &core.theme);
}
