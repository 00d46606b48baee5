//! Commands by name, with fuzzy search. What cannot be done now says why.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::{self, Action};
use crate::tui::app::App;
use crate::tui::input::TextInput;
use crate::tui::screens::form::field;
use crate::tui::text::{Align, pad};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, piece};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Palette {
    pub input: TextInput,
    pub cursor: usize,
}

/// The actions that match, best first.
pub fn matches(palette: &Palette, app: &App) -> Vec<&'static Action> {
    let mut ranked: Vec<(i32, &Action)> = action::available(&app.scopes(), &app.facts())
        .into_iter()
        .filter_map(|a| action::score(palette.input.text(), a.words).map(|s| (s, a)))
        .collect();
    ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    ranked.into_iter().map(|(_, a)| a).collect()
}

pub fn draw(buf: &mut Buffer, area: Rect, palette: &Palette, app: &App) {
    let theme = &app.core.theme;
    let place = paint::centered(area, area.width.min(76), area.height.saturating_sub(4).min(18));
    let inner = paint::boxed(buf, place, "commands", Role::Accent, theme);
    paint::line(buf, inner, 0, &[piece(":", Role::Accent)], theme);
    field(
        buf,
        Rect { x: inner.x + 2, width: inner.width.saturating_sub(2), height: 1, ..inner },
        &palette.input,
        true,
        &app.core,
    );
    let found = matches(palette, app);
    let facts = app.facts();
    if found.is_empty() {
        paint::line(buf, inner, 2, &[piece("no command has these letters", Role::Dim)], theme);
    }
    let height = usize::from(inner.height.saturating_sub(2));
    let top = (palette.cursor + 1).saturating_sub(height);
    for (i, action) in found.iter().enumerate().skip(top).take(height) {
        let why = action.disabled(&facts);
        let selected = i == palette.cursor;
        let role = match why {
            _ if selected => Role::Selection,
            Some(_) => Role::Dim,
            None => Role::Text,
        };
        let keys = pad(&action.keys_text(), 12, Align::Right);
        let text = match why {
            Some(why) => format!("{keys}  {} — {why}", action.words),
            None => format!("{keys}  {}", action.words),
        };
        let line = pad(&text, usize::from(inner.width), Align::Left);
        paint::line(buf, inner, 2 + (i - top) as u16, &[piece(line, role)], theme);
    }
}
