//! What actions do on the compare screen.

use super::gates;
use crate::action::Id;
use crate::ops::ScriptEngine;
use crate::plan::Effect;
use crate::tui::app::{App, Screen};
use crate::tui::msg::Request;
use crate::tui::overlays::Overlay;
use crate::tui::overlays::confirm::Confirm;
use crate::tui::overlays::export::Export;
use crate::tui::screens::compare::{CompareScreen, Pane};
use crate::tui::screens::form::IGNORE;
use crate::tui::shared::Core;

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Compare(compare)) = app.screens.last_mut() else { return };
    let last = compare.plans().len().saturating_sub(1);
    match id {
        Id::Strategy(n) => choose(compare, usize::from(n).min(last)),
        Id::Left => choose(compare, compare.strategy.saturating_sub(1)),
        Id::Right => choose(compare, (compare.strategy + 1).min(last)),
        Id::NextEffect => step_effect(compare, 1),
        Id::PreviousEffect => step_effect(compare, Effect::ALL.len() - 1),
        Id::Zombies => {
            // A strategy without zombies has none to show: go to one that has.
            if compare.rows_of(Effect::Zombies) == 0
                && let Some(at) = compare.plans().iter().position(|p| p.rows.zombies > 0 && p.refusals.is_empty())
            {
                choose(compare, at);
            }
            show(compare, Effect::Zombies);
        }
        Id::Gates => compare.pane = Pane::Gates,
        Id::Thresholds => {
            let judged = compare.judged();
            let info = compare.info.clone();
            gates::open(app, info, judged);
        }
        Id::NextPane => compare.pane = compare.pane.step(1),
        Id::PreviousPane => compare.pane = compare.pane.step(Pane::ALL.len() - 1),
        Id::Compare => {
            app.screens.pop();
        }
        Id::Refresh => {
            compare.rows.reset();
            request(compare, &mut app.core);
        }
        Id::Ignore => ignore(app),
        Id::Apply => {
            if let Some(plan) = compare.plan().filter(|_| !app.core.read_only) {
                let (name, location) = (compare.info.name.clone(), compare.info.location.clone());
                app.overlay = Some(Overlay::Confirm(Box::new(Confirm::new(plan.clone(), name, location))));
            }
        }
        Id::Export => {
            let effect = compare.effect;
            match compare.plan().filter(|_| compare.rows_of(effect) > 0) {
                Some(plan) => {
                    let export = Export::new(plan.id.clone(), effect, &compare.info.name);
                    app.overlay = Some(Overlay::Export(Box::new(export)));
                }
                None => app.core.say("there are no rows to export"),
            }
        }
        Id::SavePlan => {
            if let Some(plan) = compare.plan() {
                let short: String = plan.id.chars().take(8).collect();
                let path = format!("plan-{}-{short}.json", plan.operation);
                app.core.run(Request::SavePlan { plan: Box::new(plan.clone()), path });
            }
        }
        Id::SaveScript(n) => {
            if let (Some(plan), Some(engine)) = (compare.plan(), ScriptEngine::ALL.get(usize::from(n)).copied()) {
                let short: String = plan.id.chars().take(8).collect();
                let path = format!("{}-{}-{short}.{}", plan.operation, engine.name(), engine.extension());
                app.core.run(Request::SaveScript { plan: Box::new(plan.clone()), engine, path });
            }
        }
        _ => {}
    }
}

/// Asks for the comparison.
pub(super) fn request(compare: &mut CompareScreen, core: &mut Core) {
    let request = Request::Compare { location: compare.info.location.clone(), asked: Box::new(compare.asked.clone()) };
    core.load(&mut compare.load, request);
}

/// Takes the proposed technical columns, also into the form below, and compares again.
fn ignore(app: &mut App) {
    let Some((Screen::Compare(compare), below)) = app.screens.split_last_mut() else { return };
    let Some(columns) = compare.technical().map(|t| t.columns.clone()) else { return };
    let new = columns.into_iter().filter(|c| !compare.asked.ignore.contains(c)).collect::<Vec<_>>();
    compare.asked.ignore.extend(new);
    if let Some(Screen::Form(form)) = below.last_mut() {
        form.fields[IGNORE].set(compare.asked.ignore.join(", "));
    }
    compare.rows.reset();
    request(compare, &mut app.core);
}

fn choose(compare: &mut CompareScreen, strategy: usize) {
    if strategy == compare.strategy {
        return;
    }
    compare.rows.reset();
    compare.strategy = strategy;
    compare.gates_top = 0;
    if compare.rows_of(compare.effect) == 0 {
        compare.effect = first_effect(compare);
    }
}

/// The first effect that has rows.
pub(super) fn first_effect(compare: &CompareScreen) -> Effect {
    Effect::ALL.into_iter().find(|e| compare.rows_of(*e) > 0).unwrap_or(Effect::Updated)
}

fn show(compare: &mut CompareScreen, effect: Effect) {
    compare.pane = Pane::Rows;
    if compare.effect != effect {
        compare.rows.reset();
        compare.effect = effect;
    }
}

fn step_effect(compare: &mut CompareScreen, by: usize) {
    let at = Effect::ALL.iter().position(|e| *e == compare.effect).unwrap_or(0);
    let steps = (1..=Effect::ALL.len()).map(|n| Effect::ALL[(at + n * by) % Effect::ALL.len()]);
    // Effects without rows are passed over; the table above says that they have none.
    let next = steps.clone().find(|effect| compare.rows_of(*effect) > 0).or_else(|| steps.clone().next());
    if let Some(effect) = next {
        show(compare, effect);
    }
}
