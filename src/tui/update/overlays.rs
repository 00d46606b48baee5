//! Keys of what lies over a screen.

use crossterm::event::KeyCode;

use super::{confirm, keys, layouts, navigate, paste, table};
use crate::action::{Key, ctrl};
use crate::ops::export::check_export;
use crate::tui::app::{App, Screen};
use crate::tui::msg::Request;
use crate::tui::overlays::confirm::Outcome;
use crate::tui::overlays::{Overlay, palette};

pub(super) fn key(app: &mut App, key: Key) {
    // The overlay is taken out so that it and the rest of the state can be used at once.
    match app.overlay.take() {
        Some(Overlay::Help(mut help)) => {
            if let Some(delta) = scroll(key) {
                let lines = crate::tui::overlays::help::lines(app).len();
                help.top = navigate::shifted(help.top, delta).min(lines.saturating_sub(1));
                app.overlay = Some(Overlay::Help(help));
            } else if !closes(key, '?') {
                app.overlay = Some(Overlay::Help(help));
            }
        }
        Some(Overlay::Activity(mut activity)) => {
            if let Some(delta) = scroll(key) {
                let lines = crate::tui::overlays::activity::lines(&app.core, 80).len();
                activity.top = navigate::shifted(activity.top, delta).min(lines.saturating_sub(1));
                app.overlay = Some(Overlay::Activity(activity));
            } else if !closes(key, '!') {
                app.overlay = Some(Overlay::Activity(activity));
            }
        }
        Some(Overlay::Palette(palette)) => palette_key(app, palette, key),
        Some(Overlay::Filter(mut filter)) => match key.code() {
            KeyCode::Esc => {}
            KeyCode::Enter => {
                let text = filter.input.text().trim().to_owned();
                match set_filter(app, &text) {
                    Ok(()) => app.search = if text.is_empty() { std::mem::take(&mut app.search) } else { text },
                    Err(complaint) => {
                        filter.complaint = Some(complaint);
                        app.overlay = Some(Overlay::Filter(filter));
                    }
                }
            }
            _ => {
                filter.complaint = None;
                filter.input.key(key);
                app.overlay = Some(Overlay::Filter(filter));
            }
        },
        Some(Overlay::Export(mut export)) => match key.code() {
            KeyCode::Esc => app.core.say("nothing was exported"),
            KeyCode::Enter => {
                let path = export.line.input.text().trim().to_owned();
                // The same judgement that the command line makes, before the rows are read.
                match check_export(std::path::Path::new(&path), false) {
                    Ok(_) => {
                        app.core.run(Request::Export { plan: export.plan, effect: export.effect, path });
                    }
                    Err(error) => {
                        export.line.complaint = Some(error.message);
                        app.overlay = Some(Overlay::Export(export));
                    }
                }
            }
            _ => {
                export.line.complaint = None;
                export.line.input.key(key);
                app.overlay = Some(Overlay::Export(export));
            }
        },
        Some(Overlay::Confirm(mut dialog)) => {
            let scrolled = dialog.scroll(key, app.core.size);
            match if scrolled { Outcome::Stay } else { dialog.key(key) } {
                Outcome::Stay => app.overlay = Some(Overlay::Confirm(dialog)),
                Outcome::Cancel => confirm::cancel(app, *dialog),
                Outcome::Apply => confirm::apply(app, *dialog),
            }
        }
        Some(Overlay::Fields(mut dialog)) => match dialog.key(key) {
            Outcome::Stay => app.overlay = Some(Overlay::Fields(dialog)),
            Outcome::Cancel => layouts::leave(app, *dialog),
            Outcome::Apply => layouts::take(app, *dialog),
        },
        Some(Overlay::SaveConfig(mut dialog)) => match dialog.key(key) {
            Outcome::Stay => app.overlay = Some(Overlay::SaveConfig(dialog)),
            Outcome::Cancel => app.core.say("nothing was saved"),
            Outcome::Apply => {
                app.core.run(Request::SaveConfig(Box::new(dialog.change)));
            }
        },
        None => {}
    }
}

fn closes(key: Key, own: char) -> bool {
    key.code() == KeyCode::Esc || key.typed() == Some('q') || key.typed() == Some(own)
}

fn scroll(key: Key) -> Option<i64> {
    Some(match key.code() {
        _ if key == ctrl('d') => 10,
        _ if key == ctrl('u') => -10,
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::PageDown => 10,
        KeyCode::PageUp => -10,
        KeyCode::Home | KeyCode::Char('g') => i64::MIN / 2,
        KeyCode::End | KeyCode::Char('G') => 1000,
        _ => return None,
    })
}

fn palette_key(app: &mut App, mut palette: palette::Palette, key: Key) {
    let found = palette::matches(&palette, app);
    match key.code() {
        KeyCode::Esc => return,
        KeyCode::Enter => {
            if let Some(action) = found.get(palette.cursor) {
                keys::run(app, action);
            }
            return;
        }
        KeyCode::Down | KeyCode::Tab => palette.cursor = (palette.cursor + 1).min(found.len().saturating_sub(1)),
        KeyCode::Up | KeyCode::BackTab => palette.cursor = palette.cursor.saturating_sub(1),
        _ if key == ctrl('n') => palette.cursor = (palette.cursor + 1).min(found.len().saturating_sub(1)),
        _ if key == ctrl('p') => palette.cursor = palette.cursor.saturating_sub(1),
        _ => {
            if palette.input.key(key) {
                palette.cursor = 0;
            }
        }
    }
    app.overlay = Some(Overlay::Palette(palette));
}

/// Pasted text goes into text fields. The confirm dialog takes none: what
/// confirms a change has to be typed.
pub(super) fn paste(app: &mut App, text: &str) {
    match &mut app.overlay {
        Some(Overlay::Confirm(_) | Overlay::SaveConfig(_)) => {
            app.core.say("pasted text does not confirm; type it");
        }
        Some(Overlay::Filter(filter)) => filter.input.paste(text),
        Some(Overlay::Fields(fields)) => fields.paste(text),
        Some(Overlay::Export(export)) => export.line.input.paste(text),
        Some(Overlay::Palette(palette)) => {
            palette.input.paste(text);
            palette.cursor = 0;
        }
        Some(Overlay::Help(_) | Overlay::Activity(_)) => {}
        None => match app.screens.last_mut() {
            Some(Screen::Form(form)) => {
                form.fields[form.focus].paste(text);
                form.picked = None;
                form.complaint = None;
            }
            Some(Screen::Paste(screen)) => paste::paste(screen, text),
            _ => {}
        },
    }
}

fn set_filter(app: &mut App, text: &str) -> Result<(), String> {
    match app.screens.last_mut() {
        Some(Screen::Lake(lake)) => {
            lake.list.filter = text.to_owned();
            lake.arrange();
            Ok(())
        }
        Some(Screen::Table(screen)) => table::set_filter(screen, text),
        _ => Ok(()),
    }
}
