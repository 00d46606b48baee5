//! What keys do on the gates screen.

use crossterm::event::KeyCode;

use crate::action::{Id, Key};
use crate::gate::{Evidence, Severity};
use crate::plan::Plan;
use crate::tui::app::{App, Screen};
use crate::tui::input::TextInput;
use crate::tui::msg::{Request, TableInfo};
use crate::tui::screens::gates::{GatesScreen, Item};

pub(super) fn open(app: &mut App, info: TableInfo, judged: Option<(Plan, Evidence)>) {
    app.screens.push(Screen::Gates(Box::new(GatesScreen::new(info, judged))));
}

/// Keys of the number that is being typed; a digit on a threshold begins one.
pub(super) fn key(app: &mut App, key: Key) -> bool {
    let Some(Screen::Gates(screen)) = app.screens.last_mut() else { return false };
    let Some(input) = &mut screen.edit else {
        let digit = key.typed().filter(char::is_ascii_digit);
        return match digit.filter(|_| matches!(screen.selected(), Item::Setting(_))) {
            Some(digit) => {
                screen.edit = Some(TextInput::new(digit));
                screen.complaint = None;
                true
            }
            None => false,
        };
    };
    match key.code() {
        KeyCode::Esc => {
            screen.edit = None;
            screen.complaint = None;
        }
        KeyCode::Enter => take(screen),
        _ => {
            if input.key(key) {
                screen.complaint = None;
            }
        }
    }
    true
}

/// Takes the typed number, if it is one and goes with the others.
fn take(screen: &mut GatesScreen) {
    let (Some(input), Some((setting, _))) = (&screen.edit, screen.number_here()) else { return };
    let mut tuning = screen.tuning.clone();
    match tuning.set(setting, input.text()) {
        Ok(()) => {
            if screen.try_out(tuning) {
                screen.edit = None;
            }
        }
        Err(said) => screen.complaint = Some(said),
    }
}

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Gates(screen)) = app.screens.last_mut() else { return };
    match id {
        Id::Milder => cycle(screen, Severity::ALL.len() - 1),
        Id::Harder => cycle(screen, 1),
        Id::EditThreshold => {
            if let Some((_, number)) = screen.number_here() {
                screen.edit = Some(TextInput::new(number));
            }
        }
        Id::ResetSetting => {
            let mut tuning = screen.tuning.clone();
            let had = tuning.reset(match screen.selected() {
                Item::Gate(gate) => gate.name(),
                Item::Setting(setting) => setting.name,
            });
            if had {
                screen.try_out(tuning);
            }
        }
        Id::SaveConfig => {
            let request = Request::GatesChange { table: screen.info.key(), gates: screen.tuning.own().clone() };
            app.core.load(&mut screen.change, request);
        }
        _ => {}
    }
}

/// To the severity so many steps on, round and round.
fn cycle(screen: &mut GatesScreen, by: usize) {
    let Some((gate, now)) = screen.severity_here() else { return };
    let all = Severity::ALL;
    let next = match now.and_then(|now| all.iter().position(|s| *s == now)) {
        Some(at) => all[(at + by) % all.len()],
        None if by == 1 => all[0],
        None => all[all.len() - 1],
    };
    let mut tuning = screen.tuning.clone();
    tuning.set_severity(gate, next);
    screen.try_out(tuning);
}

/// Esc: what was tried is dropped first; `false` where there is nothing.
pub(super) fn step_back(screen: &mut GatesScreen) -> bool {
    screen.is_changed() && screen.try_out(screen.saved.clone())
}
