//! The form before a comparison.

use crossterm::event::KeyCode;

use crate::action::Key;
use crate::tui::app::{App, Screen};
use crate::tui::screens::compare::CompareScreen;
use crate::tui::screens::form::{FormScreen, IGNORE, KEY, SOURCE};

/// Takes a key; `false` for those that the form leaves to the registry (Esc).
pub(super) fn key(app: &mut App, key: Key) -> bool {
    let Some(Screen::Form(form)) = app.screens.last_mut() else { return false };
    match key.code() {
        KeyCode::Esc => return false,
        KeyCode::Enter => enter(app),
        KeyCode::Tab if form.focus == SOURCE && form.complete() => {}
        KeyCode::Tab => form.focus = (form.focus + 1) % form.fields.len(),
        KeyCode::BackTab => form.focus = (form.focus + form.fields.len() - 1) % form.fields.len(),
        KeyCode::Down if form.focus == SOURCE && !form.candidates().is_empty() => {
            let last = form.candidates().len() - 1;
            form.picked = Some(form.picked.map_or(0, |p| (p + 1).min(last)));
        }
        KeyCode::Up if form.picked.is_some() => form.picked = form.picked.and_then(|p| p.checked_sub(1)),
        KeyCode::Down => form.focus = (form.focus + 1) % form.fields.len(),
        KeyCode::Up => form.focus = form.focus.saturating_sub(1),
        _ => {
            if form.fields[form.focus].key(key) {
                form.complaint = None;
                if form.focus == SOURCE {
                    form.picked = None;
                }
            }
        }
    }
    true
}

/// Enter takes the chosen candidate, goes to the next field, and at last compares.
fn enter(app: &mut App) {
    let Some(Screen::Form(form)) = app.screens.last_mut() else { return };
    if form.focus == SOURCE && form.picked.is_some() {
        form.complete();
    }
    if form.fields[SOURCE].text().trim().is_empty() {
        form.complaint = Some("name a source first".into());
        form.focus = SOURCE;
        return;
    }
    if form.focus == SOURCE && form.fields[KEY].text().trim().is_empty() {
        form.focus = KEY;
        return;
    }
    let unknown = [KEY, IGNORE].into_iter().find_map(|field| {
        let known = |c: &String| form.info.metadata.schema.find(c).is_some();
        form.columns(field).into_iter().find(|c| !known(c)).map(|column| (field, column))
    });
    if let Some((field, column)) = unknown {
        form.complaint = Some(format!("the table has no column {column}"));
        form.focus = field;
        return;
    }
    let screen = CompareScreen::new(
        form.info.clone(),
        form.fields[SOURCE].text().trim().to_owned(),
        form.columns(KEY),
        form.columns(IGNORE),
    );
    app.screens.push(Screen::Compare(Box::new(screen)));
}

impl FormScreen {
    /// Takes the chosen candidate over, or what all candidates have in common;
    /// `false` where that adds nothing.
    fn complete(&mut self) -> bool {
        let typed = self.fields[SOURCE].text().to_owned();
        let text = match self.picked.and_then(|p| self.candidates().get(p)) {
            Some(candidate) => candidate.clone(),
            None => common_start(self.candidates()),
        };
        if text.is_empty() || text == typed || (self.picked.is_none() && !text.starts_with(&typed)) {
            return false;
        }
        self.fields[SOURCE].set(text);
        self.picked = None;
        self.complaint = None;
        true
    }
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
