//! Moving in lists, the same everywhere.

use crate::action::Id;
use crate::tui::app::{App, Screen};
use crate::tui::msg::Command;
use crate::tui::overlays::Overlay;
use crate::tui::screens::{compare::Pane, current, layouts_detail, rows::RowsTab, table::Tab};

/// Takes a movement or a copy; `false` for any other action.
pub(super) fn act(app: &mut App, id: Id) -> bool {
    if let Screen::Compare(_) = app.top()
        && matches!(id, Id::Left | Id::Right)
    {
        return false;
    }
    let delta = {
        let page = i64::try_from(current::height(app.top(), &app.core)).unwrap_or(1);
        match id {
            Id::Up => Some(-1),
            Id::Down => Some(1),
            Id::HalfUp => Some(-(page / 2).max(1)),
            Id::HalfDown => Some((page / 2).max(1)),
            Id::PageUp => Some(-page),
            Id::PageDown => Some(page),
            Id::Top => Some(i64::MIN / 2),
            Id::Bottom => Some(i64::MAX / 2),
            _ => None,
        }
    };
    if let Some(delta) = delta {
        move_by(app, delta);
        return true;
    }
    match id {
        Id::Left | Id::Right | Id::ScrollLeft | Id::ScrollRight | Id::Narrower | Id::Wider => sideways(app, id),
        Id::CopyCell => copy(app, false),
        Id::CopyRow => copy(app, true),
        Id::NextMatch => search(app, true),
        Id::PreviousMatch => search(app, false),
        _ => return false,
    }
    true
}

pub(super) fn wheel(app: &mut App, rows: i32) {
    match &mut app.overlay {
        None => move_by(app, rows.into()),
        Some(Overlay::Help(help)) => help.top = shifted(help.top, rows.into()),
        Some(Overlay::Activity(activity)) => activity.top = shifted(activity.top, rows.into()),
        Some(Overlay::Confirm(confirm)) => confirm.scroll_by(rows.into(), app.core.size),
        Some(
            Overlay::Palette(_) | Overlay::Filter(_) | Overlay::Fields(_) | Overlay::Export(_) | Overlay::SaveConfig(_),
        ) => {}
    }
}

/// A line number moved by so much, not below the first.
pub(super) fn shifted(top: usize, delta: i64) -> usize {
    let moved = i64::try_from(top).unwrap_or(i64::MAX).saturating_add(delta).max(0);
    usize::try_from(moved).unwrap_or(0)
}

fn move_by(app: &mut App, delta: i64) {
    let len = current::rows(app.top(), &app.core).map_or(0, |rows| rows.len());
    let last_overview = match app.top() {
        Screen::Table(table) if table.tab == Tab::Overview => table.info.value.as_ref().map_or(0, |info| {
            crate::tui::screens::overview::lines(table, info, &app.core).len().saturating_sub(app.core.list_height())
        }),
        _ => 0,
    };
    let cells = app.core.size.0;
    let last_line = match app.top() {
        Screen::Layouts(layouts) => layouts_detail::last_top(layouts, &app.core),
        _ => 0,
    };
    let Some(screen) = app.screens.last_mut() else { return };
    if let Screen::Layouts(layouts) = screen {
        // Another layout is read from its first line on.
        layouts.top = if layouts.in_list() { 0 } else { shifted(layouts.top, delta).min(last_line) };
    }
    if let Some(grid) = current::grid(screen) {
        grid.move_by(delta, len);
        return;
    }
    match screen {
        Screen::Table(table) => table.overview.top = shifted(table.overview.top, delta).min(last_overview),
        Screen::Paste(paste) => paste.text.move_by(delta),
        Screen::Compare(compare) if compare.pane == Pane::Gates => {
            let lines = crate::tui::screens::compare_gates::lines(compare, cells).len();
            compare.gates_top = shifted(compare.gates_top, delta).min(lines.saturating_sub(1));
        }
        _ => {}
    }
}

fn sideways(app: &mut App, id: Id) {
    let columns = current::rows(app.top(), &app.core).map_or(0, |rows| rows.columns().len());
    let Some(grid) = app.screens.last_mut().and_then(current::grid) else { return };
    let last = columns.saturating_sub(1);
    match id {
        Id::Left => grid.column = grid.column.saturating_sub(1),
        Id::Right => grid.column = (grid.column + 1).min(last),
        Id::ScrollLeft => {
            grid.left = grid.left.saturating_sub(1);
            grid.column = grid.column.min(last);
        }
        Id::ScrollRight => {
            grid.left = (grid.left.max(1) + 1).min(last);
            // The cursor goes along: the widget keeps its column in view.
            grid.column = grid.column.max(grid.left);
        }
        Id::Narrower => *grid.widths.entry(grid.column).or_insert(0) -= 2,
        Id::Wider => *grid.widths.entry(grid.column).or_insert(0) += 2,
        _ => {}
    }
}

fn copy(app: &mut App, whole: bool) {
    let Some((row, column)) = app.screens.last_mut().and_then(current::grid).map(|g| (g.cursor, g.column)) else {
        return;
    };
    let text = match app.top() {
        Screen::Table(table) if table.tab == Tab::Rows => plain(&table.rows, column, whole),
        screen => current::rows(screen, &app.core).filter(|rows| row < rows.len()).map(|rows| {
            let cells = if whole { 0..rows.columns().len() } else { column..column + 1 };
            cells.map(|c| rows.cell(row, c).text).collect::<Vec<_>>().join("\t")
        }),
    };
    if let Some(text) = text {
        app.core.say(if whole { "the row was copied" } else { "the cell was copied" });
        app.core.out.push(Command::Copy(text.trim_end().to_owned()));
    }
}

/// Values of a table's row as they are, not as they are shown.
fn plain(tab: &RowsTab, column: usize, whole: bool) -> Option<String> {
    let row = tab.selected()?;
    if whole {
        return Some(row.iter().map(|v| v.plain()).collect::<Vec<_>>().join("\t"));
    }
    row.get(column).map(|v| v.plain())
}

/// To the next row that has the text of the last filter in one of its cells.
fn search(app: &mut App, forward: bool) {
    let needle = app.search.to_lowercase();
    let from = app.screens.last_mut().and_then(current::grid).map_or(0, |g| g.cursor);
    let found = current::rows(app.top(), &app.core).and_then(|rows| {
        let (len, columns) = (rows.len(), rows.columns().len());
        let hit = |row: &usize| (0..columns).any(|c| rows.cell(*row, c).text.to_lowercase().contains(&needle));
        let places = (1..len).map(|step| if forward { (from + step) % len } else { (from + len - step) % len });
        places.into_iter().find(hit)
    });
    match (found, app.screens.last_mut().and_then(current::grid)) {
        (Some(row), Some(grid)) => grid.cursor = row,
        _ => app.core.say(format!("no other row has \"{}\"", app.search)),
    }
}
