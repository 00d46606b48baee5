//! From a plan to its confirm dialog, and from there to the running operation.

use crate::plan::{Plan, Spec, Verdict};
use crate::table::duration::span_text;
use crate::tui::app::{App, Screen};
use crate::tui::load::Load;
use crate::tui::msg::{Answer, Request};
use crate::tui::overlays::Overlay;
use crate::tui::overlays::confirm::Confirm;
use crate::tui::screens::apply::ApplyScreen;

/// The plan of a write: on to its confirmation.
pub(super) fn planned(app: &mut App, answer: Answer) {
    match (answer, app.planning_for.take()) {
        // There is nothing to confirm; a dialog would ask for a name in vain.
        (Answer::Planned(plan), Some(_)) if plan.verdict == Verdict::NoOp => {
            app.planning = Load::default();
            give_up(app, &plan);
            app.core.say(nothing_to_do(&plan));
        }
        (Answer::Planned(plan), Some((name, location))) => {
            app.planning = Load::default();
            app.overlay = Some(Overlay::Confirm(Box::new(Confirm::new(*plan, name, location))));
        }
        (Answer::PlannedSwitch { plan, described }, Some((name, location))) => {
            app.planning = Load::default();
            let confirm = Confirm::new(*plan, name, location).described(described);
            app.overlay = Some(Overlay::Confirm(Box::new(confirm)));
        }
        (Answer::Failed(failure), _) => {
            app.planning = Load::default();
            app.core.fail(failure);
        }
        (_, target) => app.planning_for = target,
    }
}

/// Why a plan would change nothing, in one line.
fn nothing_to_do(plan: &Plan) -> String {
    let why = match &plan.spec {
        Spec::Optimize(_) => Some("no files here could be joined; W tries other layouts".to_owned()),
        Spec::Vacuum(spec) => Some(format!("no file is older than {} and no longer needed", span_text(spec.retain_ms))),
        _ => plan.findings.first().cloned(),
    };
    let why = why.unwrap_or_else(|| "the plan would change nothing".into());
    format!("{}: nothing to do; {why}", plan.operation)
}

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
