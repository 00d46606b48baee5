//! After every message: cursors stay on rows, what the place shows but does
//! not have yet is asked for, and jobs that nobody waits for any more end.

use super::{changes, compare};
use crate::tui::app::{App, Screen};
use crate::tui::load::PAGE;
use crate::tui::msg::Request;
use crate::tui::screens::compare::{CompareScreen, Pane};
use crate::tui::screens::current;
use crate::tui::screens::form::{FormScreen, KEY, SOURCE};
use crate::tui::screens::paste::{Focus, PasteScreen};
use crate::tui::screens::table::{Tab, TableScreen};
use crate::tui::shared::Core;

pub(super) fn settle(app: &mut App) {
    ask(app);
    let mut waited_for: Vec<_> = app.screens.iter().flat_map(Screen::jobs).collect();
    waited_for.extend(app.planning.job());
    app.core.keep_only(&waited_for);
}

fn ask(app: &mut App) {
    let height = current::height(app.top(), &app.core);
    let len = current::rows(app.top(), &app.core).map(|rows| rows.len());
    let Some(screen) = app.screens.last_mut() else { return };
    if let (Some(len), Some(grid)) = (len.filter(|len| *len > 0), current::grid(screen)) {
        grid.follow(len, height);
    }
    match screen {
        Screen::Table(table) => self::table(table, &mut app.core, height),
        Screen::Form(form) => self::form(form, &mut app.core),
        Screen::Compare(compare) => comparison(compare, &mut app.core, height),
        Screen::Changes(screen) => changes::settle(screen, &mut app.core, height),
        Screen::Paste(paste) => self::paste(paste, &mut app.core),
        Screen::Layouts(layouts) => super::layouts::ask(layouts, &mut app.core),
        Screen::Lake(_) | Screen::Keys(_) | Screen::Gates(_) | Screen::Apply(_) => {}
    }
}

fn table(table: &mut TableScreen, core: &mut Core, height: usize) {
    let Some(info) = &table.info.value else { return };
    // While the table is opened anew, what is asked now would be of the old version.
    if table.info.is_loading() {
        return;
    }
    let key = info.key();
    match table.tab {
        Tab::Overview | Tab::Partitions => {
            if table.partitions.load.is_untouched() {
                core.load(&mut table.partitions.load, Request::Partitions(key));
            }
        }
        Tab::Files => {
            if table.files.load.is_untouched() {
                core.load(&mut table.files.load, Request::Files(key));
            }
        }
        Tab::Rows => {
            let tab = &mut table.rows;
            let first = tab.load.is_untouched().then_some(0);
            let offset = first.or_else(|| tab.window.missing(tab.grid.top, height));
            if let Some(offset) = offset.filter(|_| !tab.load.is_loading() && tab.load.failure.is_none()) {
                let filter = tab.filter.clone();
                core.load(&mut tab.load, Request::Rows { table: key, filter, offset, limit: PAGE });
            }
        }
        Tab::History => {
            let tab = &mut table.history;
            let filter = tab.filter.clone();
            if tab.load.is_untouched() {
                core.load(&mut tab.load, Request::History { table: key, filter, check_files: false });
            } else if tab.load.value.is_some() && !tab.checked && !tab.load.is_loading() && tab.load.failure.is_none() {
                core.load(&mut tab.load, Request::History { table: key, filter, check_files: true });
            }
        }
        Tab::Health => {
            if table.health.load.is_untouched() {
                core.load(&mut table.health.load, Request::Health(key));
            }
        }
        Tab::Schema => {}
    }
}

fn form(form: &mut FormScreen, core: &mut Core) {
    let typed = form.fields[SOURCE].text();
    if form.asked.as_deref() != Some(typed) {
        form.asked = Some(typed.to_owned());
        let request = Request::Candidates { location: form.info.location.clone(), typed: typed.to_owned() };
        core.load(&mut form.candidates, request);
    }
    // A source that is still being typed is not read.
    let now = (form.text(SOURCE).to_owned(), form.columns(KEY));
    if !matches!(form.focus, SOURCE | KEY) && !now.0.is_empty() && form.profiled.as_ref() != Some(&now) {
        form.profiled = Some(now.clone());
        let location = form.info.location.clone();
        core.load(&mut form.profile, Request::Profile { location, source: now.0, key: now.1 });
    }
}

fn paste(paste: &mut PasteScreen, core: &mut Core) {
    let height = paste.text_height(core);
    paste.text.follow(height);
    let typed = paste.source.text();
    if paste.focus == Focus::Source && paste.asked.as_deref() != Some(typed) {
        paste.asked = Some(typed.to_owned());
        let request = Request::Candidates { location: paste.info.location.clone(), typed: typed.to_owned() };
        core.load(&mut paste.candidates, request);
    }
}

fn comparison(compare: &mut CompareScreen, core: &mut Core, height: usize) {
    if compare.load.is_untouched() {
        compare::request(compare, core);
        return;
    }
    let Some(plan) = compare.plan().map(|p| p.id.clone()) else { return };
    if compare.pane == Pane::Rows {
        let total = compare.rows_of(compare.effect);
        compare.rows.settle(core, &plan, compare.effect, total, height);
    }
}
