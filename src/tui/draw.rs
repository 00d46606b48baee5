//! From the state to the screen. Reads the state and nothing else.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::{App, Screen};
use super::msg::Failure;
use super::overlays;
use super::screens::{
    apply, changes, compare, compare_rows, current, form, gates, keys, lake, layouts, partitions, paste, rows, table,
};
use super::shared::Core;
use super::text::{fit, width, wrap};
use super::theme::Role;
use super::widgets::paint::{self, Piece, line, line_right, piece};
use crate::action;
use crate::table::value::escape_controls;

/// Below this nothing sensible can be shown.
const SMALLEST: (u16, u16) = (60, 15);

pub fn too_small((columns, rows): (u16, u16)) -> bool {
    columns < SMALLEST.0 || rows < SMALLEST.1
}

pub fn draw(frame: &mut Frame, app: &App) {
    let area = frame.area();
    paint_all(frame.buffer_mut(), area, app);
}

fn paint_all(buf: &mut Buffer, area: Rect, app: &App) {
    let theme = &app.core.theme;
    buf.set_style(area, theme.style(Role::Text));
    if too_small((area.width, area.height)) {
        let text = format!("window too small ({}x{}); q quits", area.width, area.height);
        line(buf, area, 0, &[piece(text, Role::Text)], theme);
        return;
    }
    title(buf, Rect { height: 1, ..area }, app);
    let body = Rect { y: area.y + 1, height: area.height - 3, ..area };
    match app.top() {
        Screen::Lake(screen) => lake::draw(buf, body, screen, &app.core),
        Screen::Table(screen) => table::draw(buf, body, screen, &app.core),
        Screen::Form(screen) => form::draw(buf, body, screen, &app.core),
        Screen::Paste(screen) => paste::draw(buf, body, screen, &app.core),
        Screen::Keys(screen) => keys::draw(buf, body, screen, &app.core),
        Screen::Layouts(screen) => layouts::draw(buf, body, screen, &app.core),
        Screen::Gates(screen) => gates::draw(buf, body, screen, &app.core),
        Screen::Compare(screen) => compare::draw(buf, body, screen, &app.core),
        Screen::Changes(screen) => changes::draw(buf, body, screen, &app.core),
        Screen::Apply(screen) => apply::draw(buf, body, screen, &app.core),
    }
    status(buf, Rect { y: area.bottom() - 2, height: 1, ..area }, app);
    footer(buf, Rect { y: area.bottom() - 1, height: 1, ..area }, app);
    if let Some(overlay) = &app.overlay {
        overlays::draw(buf, area, overlay, app);
    }
    if let Some(failure) = &app.core.error {
        error(buf, body, failure, &app.core);
    }
}

fn title(buf: &mut Buffer, area: Rect, app: &App) {
    let theme = &app.core.theme;
    let (text, right) = match app.top() {
        Screen::Lake(screen) => {
            let mode = if app.core.read_only { "read-only" } else { "read-write" };
            (lake::title(screen), vec![piece(mode, Role::Dim)])
        }
        Screen::Table(screen) => (table::title(screen), table::tabs(screen, tab_cells(screen, area.width))),
        Screen::Form(screen) => (format!("{} · compare", escape_controls(&screen.info.name)), Vec::new()),
        Screen::Paste(screen) => (format!("{} · statement", escape_controls(&screen.info.name)), Vec::new()),
        Screen::Keys(screen) => (format!("{} · keys", escape_controls(&screen.info.name)), Vec::new()),
        Screen::Layouts(screen) => (layouts::title(screen), Vec::new()),
        Screen::Gates(screen) => (format!("{} · gates", escape_controls(&screen.info.name)), Vec::new()),
        Screen::Compare(screen) => (compare::title(screen), Vec::new()),
        Screen::Changes(screen) => (changes::title(screen), Vec::new()),
        Screen::Apply(screen) => (apply::title(screen), Vec::new()),
    };
    let right_cells: usize = right.iter().map(|(t, _)| width(t)).sum();
    let room = usize::from(area.width).saturating_sub(right_cells + 4);
    line(buf, area, 0, &[piece(format!(" {}", fit(&text, room)), Role::Accent)], theme);
    let inner = Rect { width: area.width - 1, ..area };
    line_right(buf, inner, 0, &right, theme);
}

/// What the tabs may take: the table's name is never cut below 24 cells for them.
fn tab_cells(screen: &table::TableScreen, columns: u16) -> usize {
    usize::from(columns).saturating_sub(width(&table::title(screen)).clamp(24, 60) + 4)
}

/// Where a person is, or what just happened.
fn status(buf: &mut Buffer, area: Rect, app: &App) {
    let core = &app.core;
    let position = match app.top() {
        Screen::Table(screen) if screen.tab == table::Tab::Partitions && screen.partitions.load.value.is_some() => {
            partitions::status(&screen.partitions, core)
        }
        Screen::Table(screen) if screen.tab == table::Tab::Rows && !screen.rows.columns.is_empty() => {
            rows::status(&screen.rows, core)
        }
        screen => listed(screen, core).unwrap_or_default(),
    };
    line_right(buf, Rect { width: area.width - 1, ..area }, 0, &[piece(position, Role::Dim)], &core.theme);
    let left = if let Some(toast) = core.toast() {
        let role = if toast.starts_with('✔') { Role::Ok } else { Role::Text };
        Some(piece(format!(" {} ", escape_controls(toast)), role))
    } else {
        busy(app).map(|text| piece(format!(" {text} "), Role::Accent)).or_else(|| about_rows(app))
    };
    if let Some(left) = left {
        line(buf, area, 0, &[left], &core.theme);
    }
}

/// What can be said of the rows of a plan that are shown.
fn about_rows(app: &App) -> Option<Piece> {
    let Screen::Compare(screen) = app.top() else { return None };
    compare_rows::changes(screen).map(|text| piece(format!(" {text} "), Role::Dim))
}

fn listed(screen: &Screen, core: &Core) -> Option<String> {
    let rows = current::rows(screen, core).filter(|r| !r.is_empty())?;
    let grid = match screen {
        Screen::Lake(lake) => &lake.list.grid,
        Screen::Table(table) => match table.tab {
            table::Tab::Files => &table.files.list.grid,
            table::Tab::Schema => &table.schema.grid,
            table::Tab::History => &table.history.grid,
            table::Tab::Health => &table.health.grid,
            table::Tab::Overview | table::Tab::Partitions | table::Tab::Rows => return None,
        },
        Screen::Compare(compare) => match compare.pane {
            compare::Pane::Rows => &compare.rows.grid,
            compare::Pane::Partitions => &compare.partitions_grid,
            compare::Pane::Gates => return None,
        },
        Screen::Changes(screen) => match screen.pane {
            changes::Pane::Rows => &screen.rows.grid,
            changes::Pane::Partitions => &screen.partitions_grid,
        },
        Screen::Keys(screen) => &screen.grid,
        Screen::Layouts(screen) => &screen.grid,
        Screen::Gates(screen) => &screen.grid,
        Screen::Form(_) | Screen::Paste(_) | Screen::Apply(_) => return None,
    };
    Some(grid.position(rows.len(), current::height(screen, core)))
}

/// The oldest job that takes longer than a moment.
fn busy(app: &App) -> Option<String> {
    let core = &app.core;
    let slow = core
        .jobs
        .values()
        .find(|job| core.clock.running.saturating_sub(job.started.running) >= super::load::SPINNER_AFTER)?;
    let state = if slow.cancelling { " · cancelling …" } else { " …" };
    Some(format!("{} {}{state}", core.spinner(), slow.words))
}

/// Hints from the registry, then version, read-only, jobs.
fn footer(buf: &mut Buffer, area: Rect, app: &App) {
    let core = &app.core;
    let mut badges: Vec<Piece> = Vec::new();
    if let Screen::Table(screen) = app.top()
        && let Some(info) = &screen.info.value
        && !screen.at_latest
    {
        badges.push(piece(format!(" old version v{} ", info.version), Role::Badge));
        badges.push(piece(" ", Role::Text));
    }
    if core.read_only {
        badges.push(piece(" read-only ", Role::Badge));
        badges.push(piece(" ", Role::Text));
    }
    if !core.jobs.is_empty() {
        badges.push(piece(super::text::count(core.jobs.len() as u64, "job ", "jobs "), Role::Dim));
    }
    let start = line_right(buf, area, 0, &badges, &core.theme);
    let hints = action::hints(&app.scopes(), &app.facts());
    // The place where help is found is worth more than the last hints.
    let (help, others): (Vec<_>, Vec<_>) = hints.into_iter().partition(|(_, word)| *word == "help");
    let cells = |hint: &(String, &str)| width(&hint.0) + width(hint.1) + 3;
    let reserved: usize = help.iter().map(cells).sum();
    let room = usize::from(start.saturating_sub(area.x + 1));
    let mut used = reserved;
    let mut pieces = vec![piece(" ", Role::Text)];
    for hint in others.iter().take(7).take_while(|h| {
        used += cells(h);
        used <= room
    }) {
        push_hint(&mut pieces, hint);
    }
    for hint in &help {
        push_hint(&mut pieces, hint);
    }
    let left = Rect { width: start.saturating_sub(area.x), ..area };
    line(buf, left, 0, &pieces, &core.theme);
}

fn push_hint(pieces: &mut Vec<Piece>, (key, word): &(String, &str)) {
    // Hints such as "1–3 strategy" bring their keys along.
    match word.split_once(' ').filter(|(start, _)| start.contains('–')) {
        Some((keys, word)) => {
            pieces.push(piece(keys, Role::Key));
            pieces.push(piece(format!(" {word}  "), Role::Dim));
        }
        None => {
            pieces.push(piece(key.as_str(), Role::Key));
            pieces.push(piece(format!(" {word}  "), Role::Dim));
        }
    }
}

/// An error lies over the bottom of the body until Esc.
fn error(buf: &mut Buffer, body: Rect, failure: &Failure, core: &Core) {
    let cells = usize::from(body.width.saturating_sub(6));
    let mut lines: Vec<Piece> = Vec::new();
    for part in wrap(&escape_controls(&failure.message), cells).into_iter().take(6) {
        lines.push(piece(part, Role::Text));
    }
    if let Some(hint) = &failure.hint {
        lines.extend(wrap(&escape_controls(hint), cells).into_iter().take(3).map(|l| piece(l, Role::Dim)));
    }
    let height = (lines.len() as u16 + 2).min(body.height);
    let place = Rect { y: body.bottom() - height, height, ..body };
    let inner =
        paint::boxed(buf, place, &format!("✘ {} · Esc dismisses, ! keeps it", failure.kind), Role::Error, &core.theme);
    for (row, text) in lines.into_iter().enumerate() {
        line(buf, inner, row as u16, &[text], &core.theme);
    }
}
