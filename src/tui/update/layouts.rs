//! The wizard for partition columns: asks for layouts, takes a person's own,
//! looks at one exactly, goes on to the plan.

use super::keys::plan_write;
use crate::action::Id;
use crate::plan::layouts::Origin;
use crate::predicate::Predicate;
use crate::tui::app::{App, Screen};
use crate::tui::msg::{Answer, JobId, Request, TableInfo};
use crate::tui::overlays::Overlay;
use crate::tui::overlays::fields::{Fields, Purpose};
use crate::tui::screens::layouts::{LayoutsScreen, Pane};
use crate::tui::shared::Core;
use crate::tui::wish_form;

/// Opens the wizard over the table's screen.
pub(super) fn open(app: &mut App, info: TableInfo) {
    app.screens.push(Screen::Layouts(Box::new(LayoutsScreen::new(info))));
}

/// Asks for what the wizard shows and does not have.
pub(super) fn ask(screen: &mut LayoutsScreen, core: &mut Core) {
    if screen.load.is_untouched() {
        reload(screen, core);
    }
}

fn reload(screen: &mut LayoutsScreen, core: &mut Core) {
    let (table, queries, own) = (screen.info.key(), screen.queries.clone(), screen.own());
    core.load(&mut screen.load, Request::Layouts { table, queries, own });
}

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Layouts(screen)) = app.screens.last_mut() else { return };
    match id {
        Id::Refresh => reload(screen, &mut app.core),
        Id::NextPane | Id::PreviousPane => {
            screen.pane = if screen.in_list() { Pane::Detail } else { Pane::List };
        }
        Id::Open => {
            let chosen = screen.selected().filter(|row| row.candidate.origin != Origin::Today);
            let Some(wish) = chosen.map(|row| row.wish.clone()) else { return };
            if screen.is_counted() {
                plan(app);
                return;
            }
            let (table, queries) = (screen.info.key(), screen.queries.clone());
            screen.counted = Some(wish.clone());
            screen.top = 0;
            let request = Request::TryLayout { table, wish: Box::new(wish), queries, exact: true };
            app.core.load(&mut screen.counting, request);
        }
        Id::Apply => plan(app),
        Id::AddLayout => ask_for(app, Purpose::Layout),
        Id::AddQuery => ask_for(app, Purpose::Query),
        Id::SaveConfig => {
            let request = Request::QueriesChange { table: screen.info.key(), queries: screen.all_queries() };
            app.core.load(&mut screen.change, request);
        }
        _ => {}
    }
}

/// From the layout that was looked at to its plan and the confirmation.
fn plan(app: &mut App) {
    let Screen::Layouts(screen) = app.top() else { return };
    let Some(row) = screen.selected().filter(|_| screen.is_counted()) else { return };
    if app.core.read_only {
        app.core.say("read-only: no switch is planned");
        return;
    }
    let (name, location) = (screen.info.name.clone(), screen.info.location.clone());
    let wish = Box::new(row.wish.clone());
    plan_write(app, Request::PlanRepartition { location: location.clone(), wish }, name, location);
}

/// Opens a dialog with what was typed into it before.
fn ask_for(app: &mut App, purpose: Purpose) {
    let Some(Screen::Layouts(screen)) = app.screens.last_mut() else { return };
    let mut fields = wish_form::fields(purpose, &screen.info.metadata.schema, &screen.queries);
    if let Some((_, texts)) = screen.typed.take_if(|(of, _)| *of == purpose) {
        fields.fields.iter_mut().zip(texts).for_each(|(field, text)| field.input.set(text));
    }
    app.overlay = Some(Overlay::Fields(Box::new(fields)));
}

/// Esc: what was typed is there again when the dialog is opened anew.
pub(super) fn leave(app: &mut App, fields: Fields) {
    if let Some(Screen::Layouts(screen)) = app.screens.last_mut() {
        screen.typed = Some((fields.purpose, fields.texts()));
    }
}

/// Takes the fields, or says what is wrong with one of them.
pub(super) fn take(app: &mut App, mut fields: Fields) {
    let Some(Screen::Layouts(screen)) = app.screens.last_mut() else { return };
    let wrong = match fields.purpose {
        Purpose::Layout => take_layout(screen, &mut app.core, &fields),
        Purpose::Query => take_query(screen, &mut app.core, &fields),
    };
    if let Err(wrong) = wrong {
        fields.complain(wrong);
        app.overlay = Some(Overlay::Fields(Box::new(fields)));
    }
}

fn take_layout(screen: &mut LayoutsScreen, core: &mut Core, fields: &Fields) -> Result<(), (usize, String)> {
    let metadata = &screen.info.metadata;
    let wish = wish_form::wish(fields, &metadata.schema, &metadata.partition_columns)?;
    screen.typed = Some((Purpose::Layout, fields.texts()));
    screen.pane = Pane::List;
    if let Some(at) = screen.rows.iter().position(|row| row.wish == wish) {
        screen.grid.cursor = at;
        screen.typed = None;
        core.say("this layout is there already");
        return Ok(());
    }
    let (table, queries) = (screen.info.key(), screen.queries.clone());
    core.load(&mut screen.adding, Request::TryLayout { table, wish: Box::new(wish), queries, exact: false });
    Ok(())
}

fn take_query(screen: &mut LayoutsScreen, core: &mut Core, fields: &Fields) -> Result<(), (usize, String)> {
    let text = fields.text(0).to_owned();
    if text.is_empty() {
        if screen.queries.is_empty() {
            return Err((0, "type a condition, as the WHERE of one of your queries".into()));
        }
        screen.queries.clear();
        core.say("the queries of this session are gone");
    } else {
        let predicate = Predicate::parse(&text).map_err(|e| (0, e.message))?;
        let schema = &screen.info.metadata.schema;
        if let Some(stranger) = predicate.columns().into_iter().find(|c| schema.find(c).is_none()) {
            return Err((0, format!("the table has no column {stranger}")));
        }
        if screen.queries.contains(&text) || screen.info.settings.known.queries.contains(&text) {
            return Err((0, "this query is tried already".into()));
        }
        screen.queries.push(text);
    }
    reload(screen, core);
    Ok(())
}

pub(super) fn answer(screen: &mut LayoutsScreen, core: &mut Core, id: JobId, answer: Answer) {
    match answer {
        Answer::Layouts { report, own } => {
            let best = report.recommended.unwrap_or(0);
            let kept = screen.selected().map(|row| row.wish.clone());
            screen.take(&report, own);
            screen.load.finish(*report, core.clock);
            // The cursor stays on its layout, if that is still there.
            let kept = kept.and_then(|wish| screen.rows.iter().position(|row| row.wish == wish));
            screen.grid.cursor = kept.unwrap_or(best);
        }
        Answer::Layout(row) => {
            let added = screen.adding.waits_for(id);
            let at = screen.took(*row);
            if added {
                screen.adding.finish((), core.clock);
                screen.typed = None;
                screen.top = 0;
                screen.grid.cursor = at;
            } else {
                screen.counting.finish((), core.clock);
            }
        }
        Answer::Failed(failure) if screen.adding.waits_for(id) => {
            screen.adding.fail(failure.clone());
            core.fail(failure);
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            if screen.counting.waits_for(id) {
                screen.counting.fail(failure);
            } else {
                screen.load.fail(failure.clone());
                if let Some(report) = &screen.load.value {
                    // The old layouts stay. A query that could not be tried goes
                    // back into its dialog.
                    let tried = |query: &String| report.queries.contains(query);
                    if let Some(query) = screen.queries.iter().find(|q| !tried(q)) {
                        screen.typed = Some((Purpose::Query, vec![query.clone()]));
                    }
                    screen.queries.retain(tried);
                    core.fail(failure);
                }
            }
        }
        _ => {}
    }
}
