//! From a key to what it does.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use super::{changes, compare, form, gates, lake, layouts, navigate, overlays, paste, table};
use crate::action::{self, Id, Key, ctrl};
use crate::tui::app::{App, Screen};
use crate::tui::draw::too_small;
use crate::tui::msg::{Command, Request};
use crate::tui::overlays::{Overlay, activity, filter, help, palette};
use crate::tui::screens::form::KEY;

/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

pub(super) fn key(app: &mut App, event: KeyEvent) {
    if event.kind == KeyEventKind::Release {
        return;
    }
    let key = Key::from(event);
    if key == ctrl('c') {
        interrupt(app);
    } else if key == ctrl('z') {
        act(app, Id::Suspend);
    } else if too_small(app.core.size) {
        if key.code() == KeyCode::Char('q') {
            quit(app, 0);
        }
    } else if app.overlay.is_some() {
        overlays::key(app, key);
    } else if app.core.error.is_some() && key.code() == KeyCode::Esc {
        app.core.error = None;
    } else if takes_text(app, key) {
    } else if let Some(action) = action::find(key, &app.scopes(), &app.facts()) {
        run(app, action);
    }
}

/// Carries an action out, or says why it cannot be done now.
pub(super) fn run(app: &mut App, action: &action::Action) {
    match action.disabled(&app.facts()) {
        Some(why) => app.core.say(why),
        None => act(app, action.id),
    }
}

fn act(app: &mut App, id: Id) {
    if navigate::act(app, id) {
        return;
    }
    match id {
        Id::Help => app.overlay = Some(Overlay::Help(help::Help::default())),
        Id::Palette => app.overlay = Some(Overlay::Palette(palette::Palette::default())),
        Id::Activity => app.overlay = Some(Overlay::Activity(activity::Activity::default())),
        Id::Back => back(app),
        Id::Close => close(app),
        Id::Cancel => interrupt(app),
        Id::Suspend if app.core.is_writing() => app.core.say("a write is running; it is not suspended"),
        Id::Suspend => app.core.out.push(Command::Suspend),
        Id::Theme => match app.core.theme.next() {
            Ok(theme) => {
                app.core.say(format!("theme: {}", theme.name));
                app.core.theme = theme;
            }
            Err(error) => app.core.fail(error.into()),
        },
        Id::Filter => open_filter(app),
        Id::UndoThis => {
            if let Screen::Apply(apply) = app.top() {
                let (plan, name, location) = (apply.plan.id.clone(), apply.name.clone(), apply.location.clone());
                plan_write(
                    app,
                    Request::PlanUndo { location: location.clone(), operation: Some(plan) },
                    name,
                    location,
                );
            }
        }
        _ => match app.top() {
            Screen::Lake(_) => lake::act(app, id),
            Screen::Table(_) => table::act(app, id),
            Screen::Compare(_) => compare::act(app, id),
            Screen::Changes(_) => changes::act(app, id),
            Screen::Form(_) => form::act(app, id),
            Screen::Paste(_) => paste::act(app, id),
            Screen::Gates(_) => gates::act(app, id),
            Screen::Layouts(_) => layouts::act(app, id),
            Screen::Keys(_) if id == Id::Open => take_key(app),
            Screen::Keys(_) if id == Id::Refresh => form::ask_keys(app),
            Screen::Keys(_) | Screen::Apply(_) => {}
        },
    }
}

/// Places of text take keys before the registry does.
fn takes_text(app: &mut App, key: Key) -> bool {
    match app.top() {
        Screen::Form(_) => form::key(app, key),
        Screen::Paste(_) => paste::key(app, key),
        Screen::Gates(_) => gates::key(app, key),
        _ => false,
    }
}

/// The proposed columns become the key of the form below.
fn take_key(app: &mut App) {
    let Screen::Keys(screen) = app.top() else { return };
    let Some(columns) = screen.selected(&app.core).map(|c| c.columns.join(", ")) else { return };
    app.screens.pop();
    if let Some(Screen::Form(form)) = app.screens.last_mut() {
        form.fields[KEY].set(columns);
        form.focus = KEY;
        form.complaint = None;
    }
}

/// Starts the plan of an undo or a restore; its confirm dialog opens when it is there.
pub(super) fn plan_write(app: &mut App, request: Request, name: String, location: String) {
    if app.core.read_only {
        return;
    }
    app.planning_for = Some((name, location));
    app.core.load(&mut app.planning, request);
}

/// Esc: out of a filter or a partition's rows, then out of the screen; never out of the program.
fn back(app: &mut App) {
    let stayed = match app.screens.last_mut() {
        Some(Screen::Lake(lake)) if !lake.list.filter.is_empty() => {
            lake.list.filter.clear();
            lake.arrange();
            true
        }
        Some(Screen::Table(table)) => table::step_back(table),
        Some(Screen::Gates(screen)) => {
            let dropped = gates::step_back(screen);
            if dropped {
                app.core.say("what was tried is dropped");
            }
            dropped
        }
        _ => false,
    };
    if !stayed && app.screens.len() > 1 {
        pop(app);
    }
}

/// q: closes the screen, and quits from the first one.
fn close(app: &mut App) {
    if app.screens.len() > 1 {
        pop(app);
    } else {
        quit(app, 0);
    }
}

fn pop(app: &mut App) {
    if let Screen::Apply(apply) = app.top() {
        if apply.is_running() {
            app.core.say("a write is running; Ctrl-C cancels it until it commits");
            return;
        }
        let committed = apply.load.value.as_ref().is_some_and(|r| r.version_after.is_some());
        app.screens.pop();
        if committed {
            app.lake_is_stale = true;
            // The plan on the screens below is used up; the table has moved on.
            while app.screens.len() > 1 && !matches!(app.top(), Screen::Lake(_) | Screen::Table(_)) {
                app.screens.pop();
            }
            refresh_below(app);
        }
        return;
    }
    app.screens.pop();
    if app.lake_is_stale && matches!(app.top(), Screen::Lake(_)) {
        refresh_below(app);
    }
}

fn refresh_below(app: &mut App) {
    match app.top() {
        Screen::Table(_) => table::act(app, Id::ViewLatest),
        Screen::Lake(_) => {
            app.lake_is_stale = false;
            lake::act(app, Id::Refresh);
        }
        Screen::Form(_)
        | Screen::Paste(_)
        | Screen::Keys(_)
        | Screen::Layouts(_)
        | Screen::Gates(_)
        | Screen::Compare(_)
        | Screen::Changes(_)
        | Screen::Apply(_) => {}
    }
}

fn quit(app: &mut App, code: u8) {
    if app.core.is_writing() {
        app.core.say("a write is running; Ctrl-C cancels it until it commits");
    } else {
        app.core.out.push(Command::Quit(code));
    }
}

/// Ctrl-C: cancels what is running, and quits where nothing is.
fn interrupt(app: &mut App) {
    if app.core.is_committing() {
        app.core.say("Committing cannot be cancelled; it takes moments");
        return;
    }
    let running: Vec<_> =
        app.core.jobs.iter().filter(|(_, job)| job.foreground && !job.cancelling).map(|(id, _)| *id).collect();
    if running.is_empty() {
        if app.core.is_writing() {
            app.core.say("cancelling …");
        } else {
            app.core.out.push(Command::Quit(INTERRUPTED));
        }
        return;
    }
    for id in running {
        app.core.cancel(id);
    }
}

fn open_filter(app: &mut App) {
    let (text, about) = match app.top() {
        Screen::Lake(lake) => (lake.list.filter.clone(), "a part of the name"),
        Screen::Table(table) => match table::filter(table) {
            Some(filter) => filter,
            None => return,
        },
        Screen::Form(_)
        | Screen::Paste(_)
        | Screen::Keys(_)
        | Screen::Layouts(_)
        | Screen::Gates(_)
        | Screen::Compare(_)
        | Screen::Changes(_)
        | Screen::Apply(_) => return,
    };
    let input = crate::tui::input::TextInput::new(text);
    app.overlay = Some(Overlay::Filter(filter::Filter { input, about, complaint: None }));
}
