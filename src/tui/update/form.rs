//! The form before a comparison.

use crossterm::event::KeyCode;

use super::paste;
use crate::action::{Id, Key};
use crate::tui::app::{App, Screen};
use crate::tui::msg::Request;
use crate::tui::screens::compare::CompareScreen;
use crate::tui::screens::form::{FormScreen, KEY, SOURCE};
use crate::tui::screens::keys::KeysScreen;

/// Takes a key; `false` for those that the form leaves to the registry.
pub(super) fn key(app: &mut App, key: Key) -> bool {
    let Some(Screen::Form(form)) = app.screens.last_mut() else { return false };
    match key.code() {
        KeyCode::Enter => enter(app),
        KeyCode::Tab if form.focus == SOURCE && form.complete() => {}
        KeyCode::Tab => step(form, 1),
        KeyCode::BackTab => step(form, form.fields.len() - 1),
        KeyCode::Down => match form.suggestions().len() {
            0 => step(form, 1),
            n => form.picked = Some(form.picked.map_or(0, |p| (p + 1).min(n - 1))),
        },
        KeyCode::Up if form.picked.is_some() => form.picked = form.picked.and_then(|p| p.checked_sub(1)),
        KeyCode::Up => step(form, form.fields.len() - 1),
        _ => {
            if !form.fields[form.focus].key(key) {
                return false;
            }
            form.complaint = None;
            form.picked = None;
        }
    }
    true
}

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Form(form)) = app.screens.last_mut() else { return };
    match id {
        Id::GoOn => enter(app),
        Id::NextPane => step(form, 1),
        Id::PreviousPane => step(form, form.fields.len() - 1),
        Id::Statement => {
            let source = form.text(SOURCE).to_owned();
            let info = form.info.clone();
            paste::open(app, info, source);
        }
        Id::SaveConfig => match form.check_columns() {
            Ok(()) => {
                let request = Request::ConfigChange { table: form.info.key(), known: form.known() };
                app.core.load(&mut form.change, request);
            }
            Err(wrong) => complain(form, wrong),
        },
        Id::Keys => match form.check_columns() {
            Ok(()) => {
                let source = form.text(SOURCE);
                let source = (!source.is_empty()).then(|| source.to_owned());
                let screen = KeysScreen::new(form.info.clone(), source, form.columns(KEY));
                app.screens.push(Screen::Keys(Box::new(screen)));
                ask_keys(app);
            }
            Err(wrong) => complain(form, wrong),
        },
        _ => {}
    }
}

/// Asks for what the keys screen shows.
pub(super) fn ask_keys(app: &mut App) {
    let Some(Screen::Keys(screen)) = app.screens.last_mut() else { return };
    let (location, source, key) = (screen.info.location.clone(), screen.source.clone(), screen.key.clone());
    app.core.load(&mut screen.load, Request::Keys { location, source, key });
}

fn step(form: &mut FormScreen, by: usize) {
    form.focus = (form.focus + by) % form.fields.len();
    form.picked = None;
}

fn complain(form: &mut FormScreen, (field, said): (usize, String)) {
    form.complaint = Some(said);
    form.focus = field;
    form.picked = None;
}

/// Enter takes the chosen suggestion, goes to the key where none is known, and
/// at last compares.
fn enter(app: &mut App) {
    let Some(Screen::Form(form)) = app.screens.last_mut() else { return };
    if let Some(suggestion) = form.picked.and_then(|p| form.suggestions().get(p).cloned()) {
        form.take(&suggestion);
        if form.focus != SOURCE {
            return;
        }
    }
    if form.focus == SOURCE && !form.text(SOURCE).is_empty() && form.text(KEY).is_empty() {
        form.focus = KEY;
        return;
    }
    match form.wanted() {
        Ok(asked) => {
            let screen = CompareScreen::new(form.info.clone(), asked);
            app.screens.push(Screen::Compare(Box::new(screen)));
        }
        Err(wrong) => complain(form, wrong),
    }
}

impl FormScreen {
    /// Takes the chosen candidate over, or what all candidates have in common;
    /// `false` where that adds nothing.
    fn complete(&mut self) -> bool {
        match completed(self.fields[SOURCE].text(), self.candidates(), self.picked) {
            Some(text) => {
                self.take(&text);
                true
            }
            None => false,
        }
    }
}

/// What a source's text becomes by completion; `None` where nothing is added.
pub(super) fn completed(typed: &str, candidates: &[String], picked: Option<usize>) -> Option<String> {
    let chosen = picked.and_then(|p| candidates.get(p));
    let text = chosen.cloned().unwrap_or_else(|| common_start(candidates));
    let adds = !text.is_empty() && text != typed && (chosen.is_some() || text.starts_with(typed));
    adds.then_some(text)
}

fn common_start(texts: &[String]) -> String {
    let Some(first) = texts.first() else { return String::new() };
    let mut shared = first.as_str();
    for text in &texts[1..] {
        let same = shared.char_indices().zip(text.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
        shared = match same {
            Some(at) => &shared[..at],
            None if text.len() < shared.len() => text,
            None => shared,
        };
    }
    shared.to_owned()
}

#[cfg(test)]
mod tests {
    use super::common_start;

    #[test]
    fn completion_stops_where_candidates_part() {
        let texts = |t: &[&str]| t.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(common_start(&texts(&["staging/06.parquet", "staging/07.parquet"])), "staging/0");
        assert_eq!(common_start(&texts(&["ab", "abc"])), "ab");
        assert_eq!(common_start(&[]), "");
    }
}
