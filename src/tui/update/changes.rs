//! What actions do where two versions are compared.

use crate::action::Id;
use crate::tui::app::{App, Screen};
use crate::tui::load::PAGE;
use crate::tui::msg::{Answer, JobId, Request};
use crate::tui::overlays::Overlay;
use crate::tui::overlays::export::Export;
use crate::tui::screens::changes::{ChangesScreen, EFFECTS, Pane};
use crate::tui::shared::Core;

/// Opens it from the history: the marked version and the one under the cursor,
/// or the one under the cursor and the version before it.
pub(super) fn open(app: &mut App) {
    let Some(Screen::Table(table)) = app.screens.last() else { return };
    let (Some(commit), Some(info)) = (table.history.selected(), &table.info.value) else { return };
    let other = match table.history.marked.filter(|marked| *marked != commit.version) {
        Some(marked) => marked,
        None if commit.version > 0 => commit.version - 1,
        None => {
            app.core.say("there is no version before this one; Space marks one to compare with");
            return;
        }
    };
    let screen = ChangesScreen::new(info.clone(), (commit.version, other));
    app.screens.push(Screen::Changes(Box::new(screen)));
}

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Changes(screen)) = app.screens.last_mut() else { return };
    match id {
        Id::NextEffect => step(screen, 1),
        Id::PreviousEffect => step(screen, EFFECTS.len() - 1),
        Id::NextPane | Id::PreviousPane => {
            screen.pane = if screen.pane == Pane::Rows { Pane::Partitions } else { Pane::Rows };
        }
        Id::Open if screen.pane == Pane::Partitions => screen.pane = Pane::Rows,
        Id::Refresh => {
            screen.reset_rows();
            screen.load = crate::tui::load::Load::default();
        }
        Id::Export => match &screen.load.value {
            Some(changes) if screen.rows_of(screen.effect) > 0 => {
                let export = Export::new(changes.handle.clone(), screen.effect, &screen.info.name);
                app.overlay = Some(Overlay::Export(Box::new(export)));
            }
            _ => app.core.say("there are no rows to export"),
        },
        _ => {}
    }
}

fn step(screen: &mut ChangesScreen, by: usize) {
    let at = EFFECTS.iter().position(|e| *e == screen.effect).unwrap_or(0);
    let steps = (1..=EFFECTS.len()).map(|n| EFFECTS[(at + n * by) % EFFECTS.len()]);
    let next = match screen.pane {
        // From the partitions to the effect that was shown last.
        Pane::Partitions => Some(screen.effect),
        Pane::Rows => steps.clone().find(|effect| screen.rows_of(*effect) > 0),
    };
    screen.pane = Pane::Rows;
    if let Some(effect) = next.filter(|effect| *effect != screen.effect) {
        screen.reset_rows();
        screen.effect = effect;
    }
}

/// Asks for what is shown and not there yet.
pub(super) fn settle(screen: &mut ChangesScreen, core: &mut Core, height: usize) {
    if screen.load.is_untouched() {
        let location = screen.info.location.clone();
        core.load(&mut screen.load, Request::Changes { location, from: screen.from, to: screen.to });
        return;
    }
    let Some(changes) = &screen.load.value else { return };
    if screen.pane != Pane::Rows || screen.page.is_loading() || screen.page.failure.is_some() {
        return;
    }
    if screen.rows_of(screen.effect) == 0 {
        return;
    }
    let first = (screen.page.is_untouched() && screen.window.is_empty()).then_some(0);
    if let Some(offset) = first.or_else(|| screen.window.missing(screen.rows_grid.top, height)) {
        let (plan, effect) = (changes.handle.clone(), screen.effect);
        core.load(&mut screen.page, Request::Diff { plan, effect, offset, limit: PAGE });
    }
}

pub(super) fn answer(screen: &mut ChangesScreen, core: &mut Core, id: JobId, answer: Answer) {
    match answer {
        Answer::Changes(changes) => {
            screen.load.finish(*changes, core.clock);
            screen.reset_rows();
            screen.effect = screen.first_effect();
        }
        Answer::Diff { page, offset } => {
            screen.page.finish((), core.clock);
            screen.columns = page.columns;
            screen.window.total = if page.rows.is_empty() { offset } else { page.total };
            screen.window.offset = offset;
            screen.window.rows = page.rows;
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            if screen.page.waits_for(id) {
                screen.page.fail(failure);
            } else {
                screen.load.fail(failure);
            }
        }
        _ => {}
    }
}
