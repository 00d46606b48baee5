//! The keys of the place, from the registry.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action;
use crate::tui::app::App;
use crate::tui::text::{Align, pad};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    pub top: usize,
}

/// The page's lines: a heading for each scope, a line for each action.
pub fn lines(app: &App) -> Vec<Vec<Piece>> {
    let (scopes, facts) = (app.scopes(), app.facts());
    let mut lines = Vec::new();
    let all = action::available(&scopes, &facts);
    for scope in scopes {
        let here: Vec<_> = all.iter().filter(|a| a.scope == scope).collect();
        if here.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.push(vec![piece(scope.title(), Role::Header)]);
        for action in here {
            let mut line = vec![
                piece(pad(&action.keys_text(), 14, Align::Right), Role::Key),
                piece(format!("  {}", action.words), Role::Text),
            ];
            if let Some(why) = action.disabled(&facts) {
                line.push(piece(format!("  ({why})"), Role::Dim));
            }
            lines.push(line);
        }
    }
    lines.push(Vec::new());
    lines.push(vec![piece("In every dialog Esc goes back. Changes of the table pass a confirmation.", Role::Dim)]);
    lines
}

pub fn draw(buf: &mut Buffer, area: Rect, help: &Help, app: &App) {
    let theme = &app.core.theme;
    let place = paint::centered(area, area.width.min(90), area.height.saturating_sub(2));
    let inner = paint::boxed(buf, place, "keys · j k scroll · Esc closes", Role::Accent, theme);
    let lines = lines(app);
    let top = help.top.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (row, line) in lines.iter().skip(top).take(usize::from(inner.height)).enumerate() {
        paint::line(buf, inner, row as u16, line, theme);
    }
}
