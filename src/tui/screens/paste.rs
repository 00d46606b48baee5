//! A statement that a notebook runs, typed or pasted, and what the name that it
//! reads stands for here.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::form::field;
use super::table::below;
use crate::ops::{Outline, OverwriteMode};
use crate::table::value::escape_controls;
use crate::tui::input::TextInput;
use crate::tui::load::Load;
use crate::tui::msg::{Failure, TableInfo};
use crate::tui::shared::Core;
use crate::tui::text::{fit, wrap};
use crate::tui::textarea::TextArea;
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Text,
    /// What the statement's name stands for.
    Source,
    /// Which partitions an overwrite clears.
    Mode,
}

#[derive(Debug, Clone)]
pub struct PasteScreen {
    pub info: TableInfo,
    pub text: TextArea,
    pub focus: Focus,
    /// What the text was understood as; `None` once it is edited.
    pub outline: Option<Outline>,
    pub source: TextInput,
    pub candidates: Load<Vec<String>>,
    pub asked: Option<String>,
    pub picked: Option<usize>,
    pub mode: Option<OverwriteMode>,
    /// Why the text cannot be taken.
    pub complaint: Option<Failure>,
}

impl PasteScreen {
    pub fn new(info: TableInfo, text: &str, source: String) -> Self {
        Self {
            info,
            text: TextArea::new(text),
            focus: Focus::Text,
            outline: None,
            source: TextInput::new(source),
            candidates: Load::default(),
            asked: None,
            picked: None,
            mode: None,
            complaint: None,
        }
    }

    pub fn candidates(&self) -> &[String] {
        self.candidates.value.as_deref().unwrap_or_default()
    }

    /// Lines of the text that fit on the screen.
    pub fn text_height(&self, core: &Core) -> usize {
        let body = usize::from(core.size.1.saturating_sub(4));
        match self.focus {
            Focus::Text => body.saturating_sub(5),
            // The fields and the candidates want room; the text was read already.
            Focus::Source | Focus::Mode => (body.saturating_sub(5) / 2).min(self.text.len()),
        }
        .max(1)
    }
}

/// The place that a message about a text ends with: `(line 2, column 7)`.
pub fn place_in(message: &str) -> Option<(usize, usize)> {
    let (_, rest) = message.rsplit_once("(line ")?;
    let (line, rest) = rest.split_once(", column ")?;
    let (column, _) = rest.split_once(')')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &PasteScreen, core: &Core) {
    let theme = &core.theme;
    let title = "a MERGE or INSERT statement, as a notebook runs it; nothing is written";
    paint::rule(buf, area, 0, title, theme);
    let body = below(area);
    let height = u16::try_from(screen.text_height(core)).unwrap_or(u16::MAX).min(body.height);
    let wrong = screen.complaint.as_ref().and_then(|c| place_in(&c.message)).map(|(line, _)| line);
    if screen.text.is_empty() {
        let about = "paste or type: MERGE INTO …, INSERT OVERWRITE …, INSERT INTO … REPLACE WHERE …";
        paint::line(buf, Rect { x: body.x + 8, ..body }, 0, &[piece(about, Role::Dim)], theme);
    }
    screen.text.draw(buf, Rect { height, ..body }, screen.focus == Focus::Text, wrong, core);
    let rest = Rect { y: body.y + height, height: body.height.saturating_sub(height), ..body };
    let (line, column) = screen.text.place();
    paint::rule(buf, rest, 0, &format!("line {line} of {}, column {column}", screen.text.len()), theme);
    let rest = below(rest);
    match (&screen.complaint, &screen.outline) {
        (Some(failure), _) => complaint(buf, rest, failure, core),
        (None, Some(outline)) if screen.focus != Focus::Text => fields(buf, rest, screen, outline, core),
        _ => paint::line(buf, rest, 0, &[piece("   Tab reads the statement and goes on", Role::Dim)], theme),
    }
}

fn complaint(buf: &mut Buffer, area: Rect, failure: &Failure, core: &Core) {
    let cells = usize::from(area.width.saturating_sub(6));
    let mut lines: Vec<Piece> = Vec::new();
    for (i, line) in wrap(&escape_controls(&failure.message), cells).into_iter().take(3).enumerate() {
        lines.push(piece(format!(" {} {line}", if i == 0 { "✘" } else { " " }), Role::Error));
    }
    if let Some(hint) = &failure.hint {
        lines.extend(
            wrap(&escape_controls(hint), cells).into_iter().take(2).map(|l| piece(format!("   {l}"), Role::Dim)),
        );
    }
    for (row, text) in lines.into_iter().enumerate() {
        paint::line(buf, area, row as u16, &[text], &core.theme);
    }
}

/// What was understood, what the name stands for, and the mode.
fn fields(buf: &mut Buffer, area: Rect, screen: &PasteScreen, outline: &Outline, core: &Core) {
    let theme = &core.theme;
    let understood = format!("   ✔ {} into {} from {}", outline.verb, outline.target, outline.reads);
    paint::line(buf, area, 0, &[piece(escape_controls(&understood), Role::Ok)], theme);
    let label = |focused: bool, text: &str| {
        let role = if focused { Role::Accent } else { Role::Dim };
        piece(format!(" {} {text:<10}", if focused { "▸" } else { " " }), role)
    };
    let on_source = screen.focus == Focus::Source;
    let cells = usize::from(area.width);
    let reads = fit(&escape_controls(&format!("{} is", outline.reads)), (cells / 3).max(10));
    paint::line(buf, area, 1, &[label(on_source, &reads)], theme);
    let start = u16::try_from(crate::tui::text::width(&reads).max(10) + 4).unwrap_or(14);
    let place = Rect { x: area.x + start, y: area.y + 1, width: area.width.saturating_sub(start + 1), height: 1 };
    field(buf, place, &screen.source, on_source, core);
    let mut y = 2;
    if outline.leaves_mode {
        let on_mode = screen.focus == Focus::Mode;
        for (mode, name, words) in [
            (OverwriteMode::Dynamic, "clears", "dynamic: the partitions that get rows"),
            (OverwriteMode::Static, "", "static: THE WHOLE TABLE, also partitions that get none"),
        ] {
            let chosen = screen.mode == Some(mode);
            let role = match (chosen, mode) {
                (true, OverwriteMode::Static) => Role::Error,
                (true, OverwriteMode::Dynamic) => Role::Accent,
                (false, _) => Role::Dim,
            };
            let choice = piece(format!("{} {words}", if chosen { "(•)" } else { "( )" }), role);
            paint::line(buf, area, y, &[label(on_mode && !name.is_empty(), name), choice], theme);
            y += 1;
        }
    }
    if screen.focus == Focus::Mode {
        let about = "the statement does not say; Spark's own setting is static. ↑ ↓ choose";
        paint::line(buf, area, y, &[piece(format!("   {about}"), Role::Dim)], theme);
        return;
    }
    let found = screen.candidates();
    let words = match found.len() {
        0 if screen.candidates.is_loading() => "looking …".to_owned(),
        0 => "nothing here that could be a source".to_owned(),
        n => format!("found nearby ({n}); ↓ chooses, Tab completes"),
    };
    paint::line(buf, area, y, &[piece(format!("   {words}"), Role::Dim)], theme);
    let height = usize::from(area.height.saturating_sub(y + 1));
    let top = screen.picked.map_or(0, |p| (p + 1).saturating_sub(height));
    for (row, candidate) in found.iter().enumerate().skip(top).take(height) {
        let role = if screen.picked == Some(row) { Role::Selection } else { Role::Text };
        let text = fit(&escape_controls(candidate), cells.saturating_sub(5));
        paint::line(buf, area, y + 1 + (row - top) as u16, &[piece(format!("   {text} "), role)], theme);
    }
}

#[cfg(test)]
mod tests {
    use super::place_in;

    #[test]
    fn the_place_is_the_last_that_a_message_names() {
        assert_eq!(place_in("'(line 1, column 1)' begins no statement (line 12, column 3)"), Some((12, 3)));
        assert_eq!(place_in("no place (line x, column 3)"), None);
        assert_eq!(place_in("no place"), None);
    }
}
