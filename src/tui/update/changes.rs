//! What actions do where two versions are compared.

use crate::action::Id;
use crate::tui::app::{App, Screen};
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
            screen.rows.reset();
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
        screen.rows.reset();
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
    let Some(handle) = screen.load.value.as_ref().map(|changes| changes.handle.clone()) else { return };
    if screen.pane == Pane::Rows {
        let total = screen.rows_of(screen.effect);
        screen.rows.settle(core, &handle, screen.effect, total, height);
    }
}

pub(super) fn answer(screen: &mut ChangesScreen, core: &mut Core, id: JobId, answer: Answer) {
    match answer {
        Answer::Changes(changes) => {
            screen.load.finish(*changes, core.clock);
            screen.rows.reset();
            screen.effect = screen.first_effect();
        }
        Answer::Diff { page, offset } => {
            screen.rows.take(page, offset, core.clock);
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            if let Err(failure) = screen.rows.fail(id, failure) {
                screen.load.fail(failure);
            }
        }
        _ => {}
    }
}
