//! The one table widget: sticky header and first column, sort arrow, sideways
//! scrolling. It asks for the rows in the window and for no others, so a list
//! of 100,000 rows costs a frame no more than one of 20.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::paint::put;
use crate::tui::text::{Align, pad, width};
use crate::tui::theme::{Role, Theme};

pub struct Column {
    pub title: String,
    pub align: Align,
    /// Cells that the column takes at most unless a person widens it.
    pub limit: usize,
}

impl Column {
    pub fn left(title: impl Into<String>) -> Self {
        Self { title: title.into(), align: Align::Left, limit: 32 }
    }

    pub fn right(title: impl Into<String>) -> Self {
        Self { title: title.into(), align: Align::Right, limit: 32 }
    }

    pub fn limit(mut self, cells: usize) -> Self {
        self.limit = cells;
        self
    }
}

pub struct Cell {
    pub text: String,
    pub role: Role,
}

impl Cell {
    pub fn new(text: impl Into<String>, role: Role) -> Self {
        Self { text: text.into(), role }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(text, Role::Text)
    }

    pub fn dim(text: impl Into<String>) -> Self {
        Self::new(text, Role::Dim)
    }
}

/// What a grid shows.
pub trait Rows {
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn columns(&self) -> Vec<Column>;
    fn cell(&self, row: usize, column: usize) -> Cell;
    fn marked(&self, _row: usize) -> bool {
        false
    }
}

/// Where a person is in a grid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GridState {
    pub cursor: usize,
    pub top: usize,
    pub column: usize,
    /// The first column shown beside the sticky one.
    pub left: usize,
    /// (column, descending)
    pub sort: Option<(usize, bool)>,
    /// What a person added to columns' widths.
    pub widths: BTreeMap<usize, i32>,
}

impl GridState {
    pub fn move_by(&mut self, delta: i64, len: usize) {
        let last = i64::try_from(len.saturating_sub(1)).unwrap_or(i64::MAX);
        let cursor = i64::try_from(self.cursor).unwrap_or(i64::MAX).saturating_add(delta).clamp(0, last);
        self.cursor = usize::try_from(cursor).unwrap_or(0);
    }

    /// Keeps the cursor on a row and the row in the window.
    pub fn follow(&mut self, len: usize, height: usize) {
        self.cursor = self.cursor.min(len.saturating_sub(1));
        self.top = scrolled(self.top, self.cursor, len, height);
    }

    /// The words under a grid: `rows 41–80 of 12,304`.
    pub fn position(&self, len: usize, height: usize) -> String {
        use crate::table::number::grouped;
        if len == 0 {
            return "no rows".into();
        }
        let top = scrolled(self.top, self.cursor, len, height);
        let last = (top + height.max(1)).min(len);
        format!("rows {}–{} of {}", grouped(top as i128 + 1), grouped(last as i128), grouped(len as i128))
    }
}

/// The first row of the window: as it was, moved just so far that the cursor is in it.
fn scrolled(top: usize, cursor: usize, len: usize, height: usize) -> usize {
    let height = height.max(1);
    let lowest = len.saturating_sub(height);
    let top = top.min(lowest);
    if cursor < top {
        cursor
    } else if cursor >= top + height {
        cursor + 1 - height
    } else {
        top
    }
}

/// Cells before the first column: the cursor, the mark, a space.
const GUTTER: u16 = 3;
const GAP: usize = 2;

/// One column as it is laid out: its number and its cells.
type Placed = (usize, usize);

/// Draws the header on the area's first line and the window below it. `faded`
/// is for rows that are old while new ones are read.
pub fn draw(buf: &mut Buffer, area: Rect, rows: &dyn Rows, state: &GridState, theme: &Theme, faded: bool) {
    if area.height == 0 || area.width <= GUTTER {
        return;
    }
    let height = usize::from(area.height - 1);
    let top = scrolled(state.top, state.cursor, rows.len(), height);
    let window = top..(top + height).min(rows.len());
    let columns = rows.columns();
    let cells: Vec<Vec<Cell>> =
        window.clone().map(|row| (0..columns.len()).map(|c| rows.cell(row, c)).collect()).collect();
    let titles: Vec<String> = columns.iter().enumerate().map(|(i, c)| title(c, i, state)).collect();
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(i, column)| {
            let widest = cells.iter().map(|row| width(&row[i].text)).max().unwrap_or(0);
            let natural = widest.min(column.limit).max(width(&titles[i]));
            let added = state.widths.get(&i).copied().unwrap_or(0);
            usize::try_from(i64::try_from(natural).unwrap_or(0) + i64::from(added)).unwrap_or(0).max(1)
        })
        .collect();
    let room = usize::from(area.width - GUTTER);
    let (placed, hidden_left, hidden_right) = place(&widths, &columns, state, room);

    let put_row = |buf: &mut Buffer, y: u16, texts: &dyn Fn(usize) -> (String, Role), line: Option<Role>| {
        let mut x = area.x + GUTTER;
        for (column, cells) in &placed {
            let (text, role) = texts(*column);
            let mut style = theme.style(if faded && line.is_none() { Role::Dim } else { role });
            if let Some(line) = line {
                style = style.patch(theme.style(line));
            }
            let text = pad(&text, *cells, columns[*column].align);
            x += put(buf, x, y, area.right().saturating_sub(x), &text, style);
            x = (x + GAP as u16).min(area.right());
        }
    };

    put_row(buf, area.y, &|c| (titles[c].clone(), if c == state.column { Role::Accent } else { Role::Header }), None);
    if hidden_left && let Some((_, cells)) = placed.first() {
        put(buf, area.x + GUTTER + *cells as u16, area.y, 1, "‹", theme.style(Role::Accent));
    }
    if hidden_right {
        put(buf, area.right() - 1, area.y, 1, "›", theme.style(Role::Accent));
    }
    for (i, row) in window.enumerate() {
        let y = area.y + 1 + i as u16;
        let selected = row == state.cursor;
        if selected {
            put(buf, area.x, y, area.width, &" ".repeat(usize::from(area.width)), theme.style(Role::Selection));
        }
        let line = selected.then_some(Role::Selection);
        put_row(buf, y, &|c| (cells[i][c].text.clone(), cells[i][c].role), line);
        let gutter = |role: Role| if selected { theme.style(Role::Selection) } else { theme.style(role) };
        if selected {
            put(buf, area.x, y, 1, "▸", gutter(Role::Accent));
        }
        if rows.marked(row) {
            put(buf, area.x + 1, y, 1, "●", gutter(Role::Mark));
        }
    }
}

fn title(column: &Column, index: usize, state: &GridState) -> String {
    match state.sort {
        Some((sorted, descending)) if sorted == index => {
            format!("{} {}", column.title, if descending { "▾" } else { "▴" })
        }
        _ => column.title.clone(),
    }
}

/// Chooses the columns that fit: the first always, then those from `left` on,
/// moved so far that the column cursor is among them.
fn place(widths: &[usize], columns: &[Column], state: &GridState, room: usize) -> (Vec<Placed>, bool, bool) {
    let Some(first) = widths.first() else { return (Vec::new(), false, false) };
    let sticky = (*first).min(room);
    let mut left = state.left.max(1);
    if state.column > 0 && state.column < left {
        left = state.column;
    }
    left = left.min(widths.len().saturating_sub(1).max(1));
    loop {
        let mut placed = vec![(0, sticky)];
        let mut used = sticky;
        for (i, cells) in widths.iter().enumerate().skip(left) {
            let free = room.saturating_sub(used + GAP);
            if *cells <= free {
                placed.push((i, *cells));
                used += GAP + cells;
            } else {
                // A text may be cut; half a number would be a wrong number.
                if columns[i].align == Align::Left && free >= 8 {
                    placed.push((i, free));
                }
                break;
            }
        }
        let last = placed.last().map_or(0, |(i, _)| *i);
        if state.column > last && left < state.column {
            left += 1;
            continue;
        }
        let hidden_right = last + 1 < widths.len();
        return (placed, left > 1, hidden_right);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counter;

    use super::*;
    use crate::tui::theme::Depth;

    struct Many(usize, Counter<usize>);

    impl Rows for Many {
        fn len(&self) -> usize {
            self.0
        }
        fn columns(&self) -> Vec<Column> {
            (0..12).map(|i| Column::right(format!("column{i}"))).collect()
        }
        fn cell(&self, row: usize, column: usize) -> Cell {
            self.1.set(self.1.get() + 1);
            Cell::text(format!("{row}.{column}"))
        }
    }

    fn text(buf: &Buffer, y: u16) -> String {
        (0..buf.area.width).map(|x| buf[(x, y)].symbol()).collect()
    }

    #[test]
    fn only_the_window_is_laid_out() {
        let rows = Many(100_000, Counter::new(0));
        let state = GridState { cursor: 54_321, top: 54_310, column: 11, ..GridState::default() };
        let area = Rect::new(0, 0, 60, 21);
        let mut buf = Buffer::empty(area);
        draw(&mut buf, area, &rows, &state, &Theme::load("mono", Depth::None).unwrap(), false);
        assert_eq!(rows.1.get(), 20 * 12);
        let header = text(&buf, 0);
        assert!(header.contains("column0") && header.contains("column11"), "{header}");
        assert!(header.contains('‹'), "{header}");
        assert!(text(&buf, 12).starts_with("▸") && text(&buf, 12).contains("54321.11"), "{}", text(&buf, 12));
    }

    #[test]
    fn scrolling_moves_no_more_than_it_must() {
        assert_eq!(scrolled(10, 15, 100, 10), 10);
        assert_eq!(scrolled(10, 20, 100, 10), 11);
        assert_eq!(scrolled(10, 3, 100, 10), 3);
        assert_eq!(scrolled(95, 99, 100, 10), 90);
        assert_eq!(
            GridState { cursor: 40, top: 40, ..GridState::default() }.position(12_304, 40),
            "rows 41–80 of 12,304"
        );
    }
}
