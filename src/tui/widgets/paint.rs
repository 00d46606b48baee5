//! Text into a buffer, cut at the area's edge.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::tui::text::{fit, width};
use crate::tui::theme::{Role, Theme};

/// A piece of a line and what it means.
pub type Piece = (String, Role);

pub fn piece(text: impl Into<String>, role: Role) -> Piece {
    (text.into(), role)
}

/// Puts text at a place, cut to `cells`; gives back the cells used.
pub fn put(buf: &mut Buffer, x: u16, y: u16, cells: u16, text: &str, style: Style) -> u16 {
    if y < buf.area.top() || y >= buf.area.bottom() || x >= buf.area.right() {
        return 0;
    }
    let cells = cells.min(buf.area.right() - x);
    let text = fit(text, usize::from(cells));
    let (end, _) = buf.set_stringn(x, y, &text, usize::from(cells), style);
    end - x
}

/// Puts pieces one after another on one line of the area.
pub fn line(buf: &mut Buffer, area: Rect, row: u16, pieces: &[Piece], theme: &Theme) {
    if row >= area.height {
        return;
    }
    let mut x = area.x;
    for (text, role) in pieces {
        if x >= area.right() {
            break;
        }
        x += put(buf, x, area.y + row, area.right() - x, text, theme.style(*role));
    }
}

/// Puts pieces so that they end at the area's right edge; gives back where they start.
pub fn line_right(buf: &mut Buffer, area: Rect, row: u16, pieces: &[Piece], theme: &Theme) -> u16 {
    let cells: usize = pieces.iter().map(|(text, _)| width(text)).sum();
    let cells = u16::try_from(cells).unwrap_or(u16::MAX).min(area.width);
    let start = area.right() - cells;
    line(buf, Rect { x: start, width: cells, ..area }, row, pieces, theme);
    start
}

/// A horizontal rule with a title in it: `─ title ─────`.
pub fn rule(buf: &mut Buffer, area: Rect, row: u16, title: &str, theme: &Theme) {
    if row >= area.height {
        return;
    }
    let y = area.y + row;
    put(buf, area.x, y, area.width, &"─".repeat(usize::from(area.width)), theme.style(Role::Border));
    if !title.is_empty() && area.width > 6 {
        put(
            buf,
            area.x + 1,
            y,
            area.width - 3,
            &format!(" {} ", fit(title, usize::from(area.width - 6))),
            theme.style(Role::Dim),
        );
    }
}

/// An empty box with a title, for overlays; gives back its inside.
pub fn boxed(buf: &mut Buffer, area: Rect, title: &str, role: Role, theme: &Theme) -> Rect {
    let border = theme.style(role);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buf.cell_mut((x, y)) {
                cell.reset();
            }
        }
    }
    if area.width < 2 || area.height < 2 {
        return area;
    }
    let inner = usize::from(area.width - 2);
    put(buf, area.x, area.y, area.width, &format!("┌{}┐", "─".repeat(inner)), border);
    put(buf, area.x, area.bottom() - 1, area.width, &format!("└{}┘", "─".repeat(inner)), border);
    for y in area.y + 1..area.bottom() - 1 {
        put(buf, area.x, y, 1, "│", border);
        put(buf, area.right() - 1, y, 1, "│", border);
    }
    put(
        buf,
        area.x + 1,
        area.y,
        area.width - 2,
        &format!(" {} ", fit(title, inner.saturating_sub(2))),
        theme.style(role),
    );
    Rect { x: area.x + 2, y: area.y + 1, width: area.width.saturating_sub(4), height: area.height - 2 }
}

/// A rectangle of at most this size in the middle of another.
pub fn centered(area: Rect, cells: u16, rows: u16) -> Rect {
    let (w, h) = (cells.min(area.width), rows.min(area.height));
    Rect { x: area.x + (area.width - w) / 2, y: area.y + (area.height - h) / 2, width: w, height: h }
}
