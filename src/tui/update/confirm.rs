//! From the confirm dialog to the running operation.

use crate::plan::{Plan, Spec};
use crate::tui::app::{App, Screen};
use crate::tui::load::Load;
use crate::tui::msg::Request;
use crate::tui::overlays::confirm::Confirm;
use crate::tui::screens::apply::ApplyScreen;

/// Gives a plan up: rows that were kept for an undo by rows go.
pub(super) fn give_up(app: &mut App, plan: &Plan) {
    if matches!(plan.spec, Spec::UndoRows(_)) {
        app.core.run(Request::Forget(Box::new(plan.clone())));
    }
}

pub(super) fn cancel(app: &mut App, confirm: Confirm) {
    give_up(app, &confirm.plan);
    app.core.say("nothing was written");
}

/// Starts a confirmed plan. The dialog has checked name and reasons; here they
/// are checked once more, because nothing else stands before the write.
pub(super) fn apply(app: &mut App, confirm: Confirm) {
    if app.core.read_only || confirm.obstacle().is_some() {
        cancel(app, confirm);
        return;
    }
    let overrides = confirm.overrides();
    let Confirm { plan, name, location, .. } = confirm;
    let mut load = Load::default();
    app.core.load(&mut load, Request::Apply { plan: Box::new(plan.clone()), overrides });
    let screen = ApplyScreen { plan, name, location, load, took: None };
    // An undo starts from a result: that screen is done with.
    if matches!(app.top(), Screen::Apply(_)) {
        app.screens.pop();
    }
    app.screens.push(Screen::Apply(Box::new(screen)));
}
