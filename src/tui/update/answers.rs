//! What background jobs send back. An answer that no place waits for is stale
//! and dropped.

use std::collections::HashSet;

use super::{changes, compare, confirm, layouts, paste, table};
use crate::action::Id;
use crate::error::ErrorKind;
use crate::ops::SavedConfig;
use crate::table::number::grouped;
use crate::tui::app::{App, Screen};
use crate::tui::load::Load;
use crate::tui::msg::{Answer, Failure, JobId};
use crate::tui::overlays::Overlay;
use crate::tui::overlays::save_config::SaveConfig;
use crate::tui::screens::apply::ApplyScreen;
use crate::tui::screens::compare::CompareScreen;
use crate::tui::screens::form::FormScreen;
use crate::tui::screens::keys::KeysScreen;
use crate::tui::screens::lake::LakeScreen;
use crate::tui::screens::table::TableScreen;
use crate::tui::shared::Core;

pub(super) fn answer(app: &mut App, id: JobId, answer: Answer) {
    if let Answer::Progress(progress) = answer {
        app.core.progress(id, progress);
        return;
    }
    let mut detached = false;
    if !answer.is_partial() {
        detached = app.core.jobs.remove(&id).is_some_and(|job| job.detached);
    }
    if app.planning.waits_for(id) {
        confirm::planned(app, answer);
        return;
    }
    let mut found = None;
    for (at, screen) in app.screens.iter_mut().enumerate() {
        if screen.jobs().contains(&id) {
            found = Some(at);
            break;
        }
    }
    let Some(at) = found else {
        unclaimed(app, answer, detached);
        return;
    };
    let core = &mut app.core;
    match &mut app.screens[at] {
        Screen::Lake(lake) => {
            if let Some(next) = in_lake(lake, core, id, answer) {
                app.screens[at] = next;
            }
        }
        Screen::Table(screen) => {
            in_table(screen, core, id, answer);
            let go = std::mem::take(&mut screen.compare_next);
            if go && screen.info.value.is_some() {
                table::act(app, Id::Compare);
            } else if let Screen::Table(screen) = &mut app.screens[at] {
                screen.compare_next = go && screen.info.is_loading();
            }
        }
        Screen::Form(form) => app.overlay = in_form(form, core, id, answer).or(app.overlay.take()),
        Screen::Paste(paste) => match answer {
            Answer::Candidates(found) => {
                paste.candidates.finish(found, core.clock);
                paste.picked = None;
            }
            Answer::Failed(failure) => paste.candidates.fail(failure),
            _ => {}
        },
        Screen::Keys(keys) => in_keys(keys, core, answer),
        Screen::Layouts(screen) if screen.change.waits_for(id) => {
            screen.change = Load::default();
            app.overlay = change_of_config(core, answer).or(app.overlay.take());
        }
        Screen::Layouts(screen) => layouts::answer(screen, core, id, answer),
        Screen::Gates(gates) => {
            gates.change = Load::default();
            app.overlay = change_of_config(core, answer).or(app.overlay.take());
        }
        Screen::Compare(screen) => {
            let planned = screen.load.waits_for(id);
            let failure = if let Answer::Failed(failure) = &answer { Some(failure.clone()) } else { None };
            in_compare(screen, core, id, answer);
            if let Some(failure) = failure.filter(|_| planned) {
                paste::refused(app, &failure);
            }
        }
        Screen::Changes(screen) => changes::answer(screen, core, id, answer),
        Screen::Apply(screen) => in_apply(screen, core, answer),
    }
}

/// Answers of jobs that no screen waits for: what was saved, or a failure of it.
fn unclaimed(app: &mut App, answer: Answer, detached: bool) {
    let core = &mut app.core;
    match answer {
        Answer::Exported { path, rows } => core.say(format!("{} rows were exported to {path}", grouped(rows))),
        Answer::Settled(said) => said.into_iter().for_each(|line| core.say(line)),
        Answer::Saved(path) => core.say(format!("the plan was saved to {path}")),
        Answer::ScriptSaved(path) => core.say(format!("the script was saved to {path}")),
        Answer::ConfigSaved(saved) => {
            core.say(format!("✔ saved to {}", saved.file.display()));
            settings_hold(app, &saved);
        }
        Answer::Failed(failure) if detached => core.fail(failure),
        // A stale job that was cancelled has nothing to say.
        Answer::Failed(failure) if failure.kind != ErrorKind::Cancelled => core.note(&failure),
        _ => {}
    }
}

/// A table that the target itself turned out to be takes the lake's place.
fn in_lake(lake: &mut LakeScreen, core: &mut Core, id: JobId, answer: Answer) -> Option<Screen> {
    match answer {
        Answer::Table(summary) => {
            lake.seen.insert(summary.location.clone());
            match lake.tables.iter_mut().find(|t| t.location == summary.location) {
                // A name that comes again while facts are known would wipe them.
                Some(known) if known.facts.is_ok() && matches!(&summary.facts, Err(why) if why.is_empty()) => {}
                Some(known) => *known = *summary,
                None => lake.tables.push(*summary),
            }
            lake.arrange();
            return None;
        }
        Answer::Opened(info) => {
            let mut screen = TableScreen::new(info.name.clone());
            screen.opened(*info, core.clock);
            return Some(Screen::Table(Box::new(screen)));
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            lake.failure = Some(failure);
        }
        _ => {}
    }
    lake.jobs.retain(|job| *job != id);
    if lake.jobs.is_empty() && lake.failure.is_none() {
        // A search that ended well has found all there are.
        let seen = std::mem::take(&mut lake.seen);
        lake.tables.retain(|table| seen.contains(&table.location));
        lake.arrange();
    }
    None
}

fn in_table(screen: &mut TableScreen, core: &mut Core, id: JobId, answer: Answer) {
    let now = core.clock;
    let columns = screen.info.value.as_ref().map_or(Vec::new(), |i| i.metadata.partition_columns.clone());
    match answer {
        Answer::Opened(info) => {
            screen.opened(*info, now);
            table::reread(screen, core);
        }
        Answer::Partitions { rows, complete } => {
            let tab = &mut screen.partitions;
            // While the log streams in for the first time the cursor stays on the
            // first row until somebody moves it.
            let untouched = tab.list.grid.cursor == 0 && (tab.streaming || tab.load.value.is_none());
            let kept = tab.selected().map(|p| p.values.clone());
            if complete {
                tab.load.finish(rows, now);
                tab.streaming = false;
                let known: HashSet<_> = tab.rows().iter().map(|p| p.values.clone()).collect();
                tab.marks.retain(|values| known.contains(values));
            } else if tab.load.value.is_none() || tab.streaming {
                tab.load.value = Some(rows);
                tab.streaming = true;
            } else {
                // A part of the new would be worse than all of the old.
                return;
            }
            tab.refresh(&columns, kept);
            if untouched {
                tab.list.grid.cursor = 0;
                tab.list.grid.top = 0;
            }
        }
        Answer::Files(files) => {
            screen.files.load.finish(files, now);
            screen.files.arrange(&columns);
        }
        Answer::Rows { page, offset } => {
            let tab = &mut screen.rows;
            tab.load.finish((), now);
            tab.columns = page.columns;
            let end = offset + page.rows.len() as u64;
            // An empty page ends the list, whatever it says: asking on would never end.
            let page_more = page.more && !page.rows.is_empty();
            tab.window.total = if page_more { tab.window.total.max(end) } else { end };
            tab.window.more = page_more && tab.window.total <= end || tab.window.more && tab.window.total > end;
            tab.window.offset = offset;
            tab.window.rows = page.rows;
        }
        Answer::Health(health) => screen.health.load.finish(*health, now),
        Answer::History { commits, checked } => {
            let tab = &mut screen.history;
            let kept = tab.selected().map(|c| c.version);
            tab.load.finish(commits, now);
            tab.checked = checked;
            if let Some(at) = kept.and_then(|v| tab.rows().iter().position(|c| c.version == v)) {
                tab.grid.cursor = at;
            }
        }
        Answer::Failed(failure) => failed(screen, core, id, failure),
        _ => {}
    }
}

fn failed(screen: &mut TableScreen, core: &mut Core, id: JobId, failure: Failure) {
    core.note(&failure);
    if screen.info.waits_for(id) {
        if screen.info.value.is_some() {
            core.fail(failure.clone());
        }
        screen.info.fail(failure);
    } else if screen.partitions.load.waits_for(id) {
        screen.partitions.load.fail(failure);
    } else if screen.files.load.waits_for(id) {
        screen.files.load.fail(failure);
    } else if screen.rows.load.waits_for(id) {
        screen.rows.load.fail(failure);
    } else if screen.health.load.waits_for(id) {
        screen.health.load.fail(failure);
    } else if screen.history.load.value.is_some() {
        // The versions are there; only what is left of their files could not be found out.
        screen.history.checked = true;
        let value = screen.history.load.value.take();
        screen.history.load = Load::default();
        screen.history.load.value = value;
        core.fail(failure);
    } else {
        screen.history.load.fail(failure);
    }
}

/// What was saved is what the screens know of the table from now on. Plans are
/// judged again by it.
fn settings_hold(app: &mut App, saved: &SavedConfig) {
    let Some(known) = saved.config.tables.get(&saved.section) else { return };
    let thresholds = saved.config.thresholds(&saved.section);
    for screen in &mut app.screens {
        let info = match screen {
            Screen::Form(form) => Some(&mut form.info),
            Screen::Paste(paste) => Some(&mut paste.info),
            Screen::Keys(keys) => Some(&mut keys.info),
            Screen::Layouts(layouts) => Some(&mut layouts.info),
            Screen::Gates(gates) => Some(&mut gates.info),
            Screen::Compare(compare) => Some(&mut compare.info),
            Screen::Changes(changes) => Some(&mut changes.info),
            Screen::Table(table) => table.info.value.as_mut(),
            Screen::Lake(_) | Screen::Apply(_) => None,
        };
        let Some(info) = info.filter(|info| info.location == saved.location) else { continue };
        info.settings.known = known.clone();
        info.settings.global = saved.config.gates.clone();
        if let Ok(thresholds) = &thresholds {
            info.settings.thresholds = thresholds.clone();
        }
        match screen {
            Screen::Gates(gates) => gates.settle_on_saved(),
            Screen::Compare(compare) => compare.judge_again(),
            _ => {}
        }
    }
}

/// The dialog that an answer opens, if it does.
fn in_form(form: &mut FormScreen, core: &mut Core, id: JobId, answer: Answer) -> Option<Overlay> {
    match answer {
        Answer::Candidates(found) => {
            form.candidates.finish(found, core.clock);
            form.picked = None;
        }
        Answer::Profiled(profile) => form.profile.finish(*profile, core.clock),
        answer @ (Answer::ConfigChange(_) | Answer::Failed(_)) if form.change.waits_for(id) => {
            form.change = Load::default();
            return change_of_config(core, answer);
        }
        Answer::Failed(failure) if form.profile.waits_for(id) => form.profile.fail(failure),
        Answer::Failed(failure) => form.candidates.fail(failure),
        _ => {}
    }
    None
}

/// The dialog that shows what saving would change, if it would.
fn change_of_config(core: &mut Core, answer: Answer) -> Option<Overlay> {
    match answer {
        Answer::ConfigChange(change) if change.is_none() => {
            core.say(format!("{} says so already", change.file.display()));
            None
        }
        Answer::ConfigChange(change) => Some(Overlay::SaveConfig(Box::new(SaveConfig::new(*change)))),
        Answer::Failed(failure) => {
            core.fail(failure);
            None
        }
        _ => None,
    }
}

fn in_keys(screen: &mut KeysScreen, core: &mut Core, answer: Answer) {
    match answer {
        Answer::Keys(report) => {
            screen.load.finish(*report, core.clock);
            screen.grid.cursor = crate::tui::screens::keys::rows(screen, core).first_candidate();
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            screen.load.fail(failure);
        }
        _ => {}
    }
}

fn in_compare(screen: &mut CompareScreen, core: &mut Core, id: JobId, answer: Answer) {
    match answer {
        Answer::Compared(compared) => {
            screen.strategy = compared.recommended.unwrap_or(0);
            screen.load.finish(*compared, core.clock);
            screen.rows.reset();
            screen.effect = compare::first_effect(screen);
        }
        Answer::Diff { page, offset } => {
            screen.rows.take(page, offset, core.clock);
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            if let Err(failure) = screen.rows.fail(id, failure) {
                screen.load.fail(failure);
            }
        }
        _ => {}
    }
}

fn in_apply(screen: &mut ApplyScreen, core: &mut Core, answer: Answer) {
    let started = screen.load.started();
    match answer {
        Answer::Applied(report) => {
            screen.took = started.map(|s| core.clock.running.saturating_sub(s));
            match report.version_after {
                Some(version) if report.mismatches.is_empty() => {
                    core.say(format!("✔ v{version} committed and verified"))
                }
                Some(_) => core.fail(Failure {
                    kind: ErrorKind::VerifyFailed,
                    message: report.mismatches.join("; "),
                    hint: report.undo.as_ref().map(|undo| format!("Take it back with: {undo}")),
                }),
                None => core.say("nothing to do; no commit was made"),
            }
            screen.load.finish(*report, core.clock);
        }
        Answer::Failed(failure) => {
            core.note(&failure);
            screen.load.fail(failure);
        }
        _ => {}
    }
}
