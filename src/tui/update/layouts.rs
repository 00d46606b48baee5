//! The wizard for partition columns: asks for layouts, looks at one exactly,
//! goes on to the plan.

use super::keys::plan_write;
use crate::action::Id;
use crate::plan::layouts::Origin;
use crate::tui::app::{App, Screen};
use crate::tui::msg::{Answer, JobId, Request, TableInfo};
use crate::tui::screens::layouts::LayoutsScreen;
use crate::tui::shared::Core;

/// Opens the wizard over the table's screen.
pub(super) fn open(app: &mut App, info: TableInfo) {
    app.screens.push(Screen::Layouts(Box::new(LayoutsScreen::new(info))));
}

/// Asks for what the wizard shows and does not have.
pub(super) fn ask(screen: &mut LayoutsScreen, core: &mut Core) {
    if screen.load.is_untouched() {
        core.load(&mut screen.load, Request::Layouts(screen.info.key()));
    }
}

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Layouts(screen)) = app.screens.last_mut() else { return };
    match id {
        Id::Refresh => {
            let key = screen.info.key();
            app.core.load(&mut screen.load, Request::Layouts(key));
        }
        Id::Open => {
            let chosen = screen.selected().filter(|c| c.origin != Origin::Today).map(|c| c.by.clone());
            let Some(by) = chosen else { return };
            if screen.is_looked_at() {
                plan(app);
                return;
            }
            let table = screen.info.key();
            app.core.load(&mut screen.looked, Request::ExactLayout { table, by });
        }
        Id::Apply => plan(app),
        _ => {}
    }
}

/// From the layout that was looked at to its plan and the confirmation.
fn plan(app: &mut App) {
    let Screen::Layouts(screen) = app.top() else { return };
    let Some(by) = screen.selected().filter(|_| screen.is_looked_at()).map(|c| c.by.clone()) else { return };
    let (name, location) = (screen.info.name.clone(), screen.info.location.clone());
    plan_write(app, Request::PlanRepartition { location: location.clone(), by }, name, location);
}

pub(super) fn answer(screen: &mut LayoutsScreen, core: &mut Core, id: JobId, answer: Answer) {
    match answer {
        Answer::Layouts(report) => {
            let best = report.recommended.unwrap_or(0);
            let first = screen.load.value.is_none();
            screen.load.finish(*report, core.clock);
            if first {
                screen.grid.cursor = best;
            }
        }
        Answer::ExactLayout(looked) => {
            screen.took((*looked).clone());
            screen.looked.finish(*looked, core.clock);
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            if screen.looked.waits_for(id) {
                screen.looked.fail(failure);
            } else {
                screen.load.fail(failure);
            }
        }
        _ => {}
    }
}
