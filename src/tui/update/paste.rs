//! The box for a statement: from text to what is asked.

use crossterm::event::KeyCode;

use super::form::completed;
use crate::action::{Id, Key};
use crate::error::ErrorKind;
use crate::ops::{self, Binding, OverwriteMode};
use crate::tui::app::{App, Screen};
use crate::tui::asked::{Asked, Pasted};
use crate::tui::msg::{Failure, TableInfo};
use crate::tui::screens::compare::CompareScreen;
use crate::tui::screens::paste::{Focus, PasteScreen, place_in};
use crate::tui::textarea::TextArea;

/// Opens the box, with the text that was left in it for this table.
pub(super) fn open(app: &mut App, info: TableInfo, source: String) {
    let draft = app.draft.as_ref().filter(|(location, _)| *location == info.location);
    let text = draft.map_or(String::new(), |(_, text)| text.clone());
    let screen = PasteScreen::new(info, &text, source);
    app.screens.push(Screen::Paste(Box::new(screen)));
}

/// Takes a key; `false` for those that the box leaves to the registry.
pub(super) fn key(app: &mut App, key: Key) -> bool {
    let Some(Screen::Paste(screen)) = app.screens.last_mut() else { return false };
    match (screen.focus, key.code()) {
        (Focus::Text, KeyCode::Esc) => {
            app.draft = Some((screen.info.location.clone(), screen.text.text()));
            return false;
        }
        (_, KeyCode::Esc) => back_to_text(screen),
        (Focus::Text, KeyCode::Tab) => read(screen),
        (Focus::Text, _) => return edit(screen, key),
        (_, KeyCode::Enter) => enter(app),
        (Focus::Source, KeyCode::Tab) if complete(screen) => {}
        (Focus::Source, KeyCode::Tab) if leaves_mode(screen) => screen.focus = Focus::Mode,
        (Focus::Mode, KeyCode::BackTab) => screen.focus = Focus::Source,
        (_, KeyCode::Tab | KeyCode::BackTab) => back_to_text(screen),
        (Focus::Mode, KeyCode::Up | KeyCode::Left) => screen.mode = Some(OverwriteMode::Dynamic),
        (Focus::Mode, KeyCode::Down | KeyCode::Right) => screen.mode = Some(OverwriteMode::Static),
        (Focus::Mode, _) => return false,
        (Focus::Source, KeyCode::Down) => match screen.candidates().len() {
            0 => {}
            n => screen.picked = Some(screen.picked.map_or(0, |p| (p + 1).min(n - 1))),
        },
        (Focus::Source, KeyCode::Up) if screen.picked.is_some() => {
            screen.picked = screen.picked.and_then(|p| p.checked_sub(1));
        }
        (Focus::Source, KeyCode::Up) => back_to_text(screen),
        (Focus::Source, _) => {
            if !screen.source.key(key) {
                return false;
            }
            screen.picked = None;
            screen.complaint = None;
        }
    }
    true
}

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Paste(screen)) = app.screens.last_mut() else { return };
    match id {
        Id::GoOn if screen.focus == Focus::Text => read(screen),
        Id::GoOn => enter(app),
        Id::Clear => {
            screen.text = TextArea::default();
            back_to_text(screen);
            changed(screen);
        }
        _ => {}
    }
}

pub(super) fn paste(screen: &mut PasteScreen, text: &str) {
    match screen.focus {
        Focus::Text => {
            screen.text.paste(text);
            changed(screen);
        }
        Focus::Source => {
            screen.source.paste(text);
            screen.picked = None;
        }
        Focus::Mode => {}
    }
}

fn edit(screen: &mut PasteScreen, key: Key) -> bool {
    let before = screen.text.text();
    let taken = screen.text.key(key);
    if screen.text.text() != before {
        changed(screen);
    }
    taken
}

/// What was said of the old text does not hold for the new.
fn changed(screen: &mut PasteScreen) {
    screen.outline = None;
    screen.complaint = None;
    screen.mode = None;
}

fn back_to_text(screen: &mut PasteScreen) {
    screen.focus = Focus::Text;
    screen.complaint = None;
    screen.picked = None;
}

fn leaves_mode(screen: &PasteScreen) -> bool {
    screen.outline.as_ref().is_some_and(|o| o.leaves_mode)
}

/// A statement that could not be planned goes back to its box, with what was
/// said; `false` where there is no box below.
pub(super) fn refused(app: &mut App, failure: &Failure) -> bool {
    let [.., Screen::Paste(screen), Screen::Compare(compare)] = app.screens.as_mut_slice() else { return false };
    if compare.asked.pasted.is_none() || failure.kind == ErrorKind::Cancelled {
        return false;
    }
    // A source that cannot be read is no mistake of the text.
    screen.focus = if failure.kind == ErrorKind::Usage { Focus::Text } else { Focus::Source };
    if let Some(place) = place_in(&failure.message) {
        screen.text.go_to(place);
    }
    screen.complaint = Some(failure.clone());
    app.screens.pop();
    true
}

/// Understands the text, or says where it does not.
fn read(screen: &mut PasteScreen) {
    match ops::statement::outline(&screen.text.text()) {
        Ok(outline) => {
            if screen.source.text().trim().is_empty()
                && let Some(path) = &outline.path
            {
                screen.source.set(path.as_str());
            }
            screen.outline = Some(outline);
            screen.complaint = None;
            screen.focus = Focus::Source;
        }
        Err(error) => {
            if let Some(place) = place_in(&error.message) {
                screen.text.go_to(place);
            }
            screen.outline = None;
            screen.complaint = Some(error.into());
        }
    }
}

fn complete(screen: &mut PasteScreen) -> bool {
    let text = completed(screen.source.text(), screen.candidates(), screen.picked);
    let Some(text) = text else { return false };
    screen.source.set(text);
    screen.picked = None;
    true
}

/// Takes the chosen candidate, asks for what is still missing, and at last plans.
fn enter(app: &mut App) {
    let Some(Screen::Paste(screen)) = app.screens.last_mut() else { return };
    let Some(outline) = screen.outline.clone() else {
        back_to_text(screen);
        return;
    };
    if screen.focus == Focus::Source && screen.picked.is_some() {
        complete(screen);
    }
    let source = screen.source.text().trim().to_owned();
    if source.is_empty() {
        let message = format!("{} is not bound to a source yet", outline.reads);
        let hint = Some("Name a Parquet file, a folder or glob of them, or a Delta table.".into());
        screen.complaint = Some(Failure { kind: ErrorKind::Usage, message, hint });
        screen.focus = Focus::Source;
        return;
    }
    screen.complaint = None;
    if outline.leaves_mode && screen.mode.is_none() {
        screen.focus = Focus::Mode;
        return;
    }
    let known = &screen.info.settings.known;
    let asked = Asked {
        source: source.clone(),
        key: known.key.clone(),
        ignore: known.ignore.clone(),
        measures: known.measures.clone(),
        grain: known.grain.clone(),
        pasted: Some(Pasted {
            sql: screen.text.text(),
            bindings: vec![Binding { name: String::new(), source }],
            mode: screen.mode,
            verb: outline.verb,
        }),
        ..Asked::default()
    };
    app.draft = Some((screen.info.location.clone(), screen.text.text()));
    let next = CompareScreen::new(screen.info.clone(), asked);
    app.screens.push(Screen::Compare(Box::new(next)));
}
