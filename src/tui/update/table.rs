//! What actions do on the table screen.

use super::changes;
use super::keys::plan_write;
use super::{gates, layouts, paste};
use crate::action::Id;
use crate::ops::At;
use crate::predicate::Predicate;
use crate::table::PartitionTuple;
use crate::tui::app::{App, Screen};
use crate::tui::msg::Request;
use crate::tui::screens::form::FormScreen;
use crate::tui::screens::health::Mend;
use crate::tui::screens::rows::{any_of, condition};
use crate::tui::screens::table::{Tab, TableScreen};
use crate::tui::screens::wanted::Wanted;
use crate::tui::shared::Core;

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Table(table)) = app.screens.last_mut() else { return };
    let core = &mut app.core;
    match id {
        Id::NextPane => table.tab = table.tab.step(1),
        Id::PreviousPane => table.tab = table.tab.step(Tab::ALL.len() - 1),
        Id::Tab(n) => table.tab = Tab::ALL[usize::from(n) % Tab::ALL.len()],
        Id::Refresh => refresh(table, core),
        Id::ViewLatest => {
            table.at_latest = true;
            refresh(table, core);
        }
        Id::Sort => sort(table),
        Id::Mark if table.tab == Tab::History => {
            let here = table.history.selected().map(|c| c.version);
            table.history.marked = here.filter(|version| table.history.marked != Some(*version));
        }
        Id::Mark | Id::MarkRange | Id::MarkAll => mark(table, id),
        Id::Changes => changes::open(app),
        Id::LogBars => table.partitions.log_bars = !table.partitions.log_bars,
        Id::Open if table.tab == Tab::Partitions => open_partition(table, core),
        Id::Open if table.tab == Tab::History => view_version(app),
        Id::Open if table.tab == Tab::Health => {
            match table.health.selected().and_then(|finding| Mend::of(&finding.name)) {
                Some(Mend::Optimize) => act(app, Id::Optimize),
                Some(Mend::Vacuum) => act(app, Id::Vacuum),
                Some(Mend::Layouts) => act(app, Id::Layouts),
                None => app.core.say("partwise knows nothing that mends this by itself"),
            }
        }
        Id::Optimize => optimize(app),
        Id::Compare => {
            if let Some(info) = &table.info.value {
                let form = FormScreen::new(info.clone());
                app.screens.push(Screen::Form(Box::new(form)));
            }
        }
        Id::Statement => {
            if let Some(info) = table.info.value.clone() {
                paste::open(app, info, String::new());
            }
        }
        Id::Thresholds => {
            if let Some(info) = table.info.value.clone() {
                gates::open(app, info, None);
            }
        }
        Id::OnlyMarked => only_marked(table),
        Id::Layouts => {
            if let Some(info) = table.info.value.clone() {
                layouts::open(app, info);
            }
        }
        Id::Vacuum => {
            let Some(info) = &table.info.value else { return };
            let (name, location) = (info.name.clone(), info.location.clone());
            plan_write(app, Request::PlanVacuum { location: location.clone() }, name, location);
        }
        Id::Restore => {
            let (Some(commit), Some(info)) = (table.history.selected(), &table.info.value) else { return };
            let (to, name, location) = (commit.version, info.name.clone(), info.location.clone());
            let request = Request::PlanRestore { location: location.clone(), to, partitions: Vec::new() };
            plan_write(app, request, name, location);
        }
        Id::RestoreChosen => {
            let (Some(commit), Some(info)) = (table.history.selected(), &table.info.value) else { return };
            let (to, name, location) = (commit.version, info.name.clone(), info.location.clone());
            let partitions = table.history.chosen.clone();
            if !partitions.is_empty() {
                plan_write(app, Request::PlanRestore { location: location.clone(), to, partitions }, name, location);
            }
        }
        Id::PartitionHistory => partition_history(table),
        Id::Redo => {
            let Some(info) = &table.info.value else { return };
            let (name, location) = (info.name.clone(), info.location.clone());
            plan_write(app, Request::PlanRedo { location: location.clone() }, name, location);
        }
        Id::UndoLast => {
            let Some(info) = &table.info.value else { return };
            let (name, location) = (info.name.clone(), info.location.clone());
            plan_write(app, Request::PlanUndo { location: location.clone(), operation: None }, name, location);
        }
        _ => {}
    }
}

/// Opens the table again; what was shown stays, dimmed, until the new is there.
fn refresh(table: &mut TableScreen, core: &mut Core) {
    let (reference, at) = match &table.info.value {
        Some(info) if !table.at_latest => (info.location.clone(), At::Version(info.version)),
        Some(info) => (info.location.clone(), At::Latest),
        None => (table.reference.clone(), At::Latest),
    };
    core.load(&mut table.info, Request::Open { reference, at });
}

/// Asks again for what the tabs had, now of the table that was just opened.
pub(super) fn reread(table: &mut TableScreen, core: &mut Core) {
    let Some(info) = &table.info.value else { return };
    let key = info.key();
    if !table.partitions.load.is_untouched() {
        core.load(&mut table.partitions.load, Request::Partitions(key.clone()));
    }
    if !table.files.load.is_untouched() {
        core.load(&mut table.files.load, Request::Files(key.clone()));
    }
    if !table.health.load.is_untouched() {
        core.load(&mut table.health.load, Request::Health(key.clone()));
    }
    if !table.history.load.is_untouched() {
        table.history.checked = false;
        let filter = table.history.filter.clone();
        core.load(&mut table.history.load, Request::History { table: key, filter, check_files: false });
    }
    let (filter, cursor) = (table.rows.filter.clone(), table.rows.grid.cursor);
    table.rows.reset(filter);
    table.rows.grid.cursor = cursor;
}

fn sort(table: &mut TableScreen) {
    let Some(info) = &table.info.value else { return };
    let columns = info.metadata.partition_columns.clone();
    match table.tab {
        Tab::Partitions => {
            let kept = table.partitions.selected().map(|p| p.values.clone());
            table.partitions.list.sort();
            table.partitions.arrange(&columns, kept);
        }
        Tab::Files => {
            table.files.list.sort();
            table.files.arrange(&columns);
        }
        Tab::Overview | Tab::Rows | Tab::Schema | Tab::History | Tab::Health => {}
    }
}

fn mark(table: &mut TableScreen, id: Id) {
    let tab = &mut table.partitions;
    let Some(here) = tab.selected().map(|p| p.values.clone()) else { return };
    match id {
        Id::Mark => {
            if !tab.marks.remove(&here) {
                tab.marks.insert(here.clone());
            }
            tab.anchor = Some(here);
            tab.list.grid.move_by(1, tab.list.len());
        }
        Id::MarkRange => {
            let rows = tab.load.value.as_deref().unwrap_or_default();
            let anchor = tab.anchor.clone().unwrap_or_else(|| here.clone());
            let at = tab.list.order.iter().position(|row| rows[*row].values == anchor).unwrap_or(tab.list.grid.cursor);
            let (from, to) = (at.min(tab.list.grid.cursor), at.max(tab.list.grid.cursor));
            tab.marks.extend(tab.list.order[from..=to].iter().map(|row| rows[*row].values.clone()));
            tab.anchor = Some(here);
        }
        _ => {
            let rows = tab.load.value.as_deref().unwrap_or_default();
            let shown = || tab.list.order.iter().map(|row| &rows[*row].values);
            if shown().all(|values| tab.marks.contains(values)) {
                tab.marks.clear();
            } else {
                let all: Vec<_> = shown().cloned().collect();
                tab.marks.extend(all);
            }
        }
    }
    tab.add_up();
}

/// Marked partitions whose rows are shown together: a condition of more would
/// be longer than anybody reads.
const MOST_MARKED: usize = 20;

/// Shows the rows of the marked partitions; of the one under the cursor where
/// none is marked, or too many are.
fn open_partition(table: &mut TableScreen, core: &mut Core) {
    let (Some(partition), Some(info)) = (table.partitions.selected(), &table.info.value) else { return };
    let columns = &info.metadata.partition_columns;
    let marks = &table.partitions.marks;
    let text = match marks.len() {
        1..=MOST_MARKED => {
            let shown = table.partitions.rows().iter().map(|p| &p.values);
            any_of(columns, shown.filter(|values| marks.contains(*values)))
        }
        _ => condition(columns, &partition.values),
    };
    if marks.len() > MOST_MARKED {
        core.say(format!("rows of this partition only: more than {MOST_MARKED} are marked"));
    }
    table.rows.reset((!text.is_empty()).then_some(text));
    table.rows.from_partitions = true;
    table.tab = Tab::Rows;
}

/// Partitions that one condition names: a longer one would fill the commit.
const MOST_OPTIMIZED: usize = 200;

/// Plans to put small files together: of the marked partitions, or of the one
/// under the cursor; on other tabs than Partitions of the whole table.
fn optimize(app: &mut App) {
    let Some(Screen::Table(table)) = app.screens.last() else { return };
    let Some(info) = &table.info.value else { return };
    let columns = &info.metadata.partition_columns;
    let mut filter = None;
    if table.tab == Tab::Partitions {
        let mut chosen = marked(table);
        if chosen.is_empty() {
            chosen.extend(table.partitions.selected().map(|p| p.values.clone()));
        }
        let all = chosen.len() == table.partitions.rows().len();
        if !all && chosen.len() > MOST_OPTIMIZED {
            let said = format!("more than {MOST_OPTIMIZED} partitions are marked; mark fewer, or all of them");
            app.core.say(said);
            return;
        }
        let text = if all { String::new() } else { any_of(columns, &chosen) };
        filter = (!text.is_empty()).then_some(text);
    }
    let (name, location) = (info.name.clone(), info.location.clone());
    plan_write(app, Request::PlanOptimize { location: location.clone(), filter }, name, location);
}

fn view_version(app: &mut App) {
    let Some(Screen::Table(table)) = app.screens.last() else { return };
    let (Some(commit), Some(info)) = (table.history.selected(), &table.info.value) else { return };
    let at = At::Version(commit.version);
    let mut screen = TableScreen::new(format!("{} @ v{}", info.name, commit.version));
    screen.at_latest = false;
    screen.label = Some(info.name.clone());
    app.core.load(&mut screen.info, Request::Open { reference: info.location.clone(), at });
    app.screens.push(Screen::Table(Box::new(screen)));
}

/// Narrows the history to the marked partitions, and widens it again.
fn only_marked(table: &mut TableScreen) {
    let Some(info) = &table.info.value else { return };
    let columns = &info.metadata.partition_columns;
    let marked: Vec<PartitionTuple> = marked(table);
    let terms: Vec<String> = marked.iter().map(|values| format!("({})", condition(columns, values))).collect();
    match table.history.filter {
        None if !terms.is_empty() => table.history.reset(Some(terms.join(" OR ")), marked),
        _ => table.history.reset(None, Vec::new()),
    }
}

fn marked(table: &TableScreen) -> Vec<PartitionTuple> {
    let all = table.partitions.rows().iter().map(|p| &p.values);
    all.filter(|values| table.partitions.marks.contains(*values)).cloned().collect()
}

/// The history of the marked partitions; of the one under the cursor where none is marked.
fn partition_history(table: &mut TableScreen) {
    let (Some(partition), Some(info)) = (table.partitions.selected(), &table.info.value) else { return };
    let columns = &info.metadata.partition_columns;
    let mut chosen = marked(table);
    if chosen.is_empty() {
        chosen.push(partition.values.clone());
    }
    let text = any_of(columns, &chosen);
    // The one partition of an unpartitioned table is the table.
    let chosen = if text.is_empty() { Vec::new() } else { chosen };
    table.history.reset((!text.is_empty()).then_some(text), chosen);
    table.history.from_partitions = true;
    table.tab = Tab::History;
}

/// The filter of the tab and what it understands; `None` where there is none.
pub(super) fn filter(table: &TableScreen) -> Option<(String, &'static str)> {
    const CONDITION: &str = "a condition, as in amount > 100 AND region = 'EMEA'";
    Some(match table.tab {
        Tab::Partitions => {
            (table.partitions.list.filter.clone(), "a word, or a condition on partition columns, rows, files")
        }
        Tab::Files => (table.files.list.filter.clone(), "a part of the path or the partition"),
        Tab::Rows => (table.rows.filter.clone().unwrap_or_default(), CONDITION),
        Tab::History => (table.history.filter.clone().unwrap_or_default(), "a condition on partition columns"),
        Tab::Overview | Tab::Schema | Tab::Health => return None,
    })
}

/// # Errors
/// What is wrong with the condition, for the input line.
pub(super) fn set_filter(table: &mut TableScreen, text: &str) -> Result<(), String> {
    let Some(info) = &table.info.value else { return Ok(()) };
    let columns = info.metadata.partition_columns.clone();
    let condition = || -> Result<Option<String>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        Predicate::parse(text).map(|_| Some(text.to_owned())).map_err(|e| e.message)
    };
    match table.tab {
        Tab::Partitions => {
            let wanted = Wanted::new(text, &columns)?;
            if let Some(first) = table.partitions.rows().first() {
                wanted.keeps(first, &columns)?;
            }
            table.partitions.list.filter = text.to_owned();
            table.partitions.arrange(&columns, None);
        }
        Tab::Files => {
            table.files.list.filter = text.to_owned();
            table.files.arrange(&columns);
        }
        Tab::Rows => {
            let condition = condition()?;
            table.rows.reset(condition);
        }
        Tab::History => {
            let condition = condition()?;
            table.history.reset(condition, Vec::new());
        }
        Tab::Overview | Tab::Schema | Tab::Health => {}
    }
    Ok(())
}

/// Esc within the table: from a partition's rows back to the partitions, or out
/// of the tab's filter; `false` where there is neither.
pub(super) fn step_back(table: &mut TableScreen) -> bool {
    if table.tab == Tab::Rows && std::mem::take(&mut table.rows.from_partitions) {
        table.rows.reset(None);
        table.tab = Tab::Partitions;
        return true;
    }
    if table.tab == Tab::History && std::mem::take(&mut table.history.from_partitions) {
        table.history.reset(None, Vec::new());
        table.tab = Tab::Partitions;
        return true;
    }
    let set = filter(table).is_some_and(|(text, _)| !text.is_empty());
    set && set_filter(table, "").is_ok()
}
