//! The list that the keys of a screen move in.

use super::changes::{self, ChangedPartitions};
use super::compare::Pane;
use super::table::Tab;
use super::{compare_rows, files, gates, health, history, keys, lake, layouts_table, partitions, rows, schema};
use crate::tui::app::Screen;
use crate::tui::shared::Core;
use crate::tui::widgets::grid::{GridState, Rows};

/// What the list shows, if the screen has one.
pub fn rows<'a>(screen: &'a Screen, core: &Core) -> Option<Box<dyn Rows + 'a>> {
    Some(match screen {
        Screen::Lake(lake) => Box::new(lake::rows(lake, core)),
        Screen::Table(table) => {
            let info = table.info.value.as_ref()?;
            match table.tab {
                Tab::Overview => return None,
                Tab::Partitions => Box::new(partitions::rows(&table.partitions, info, core)),
                Tab::Files => Box::new(files::rows(&table.files, info)),
                Tab::Rows => Box::new(rows::rows(&table.rows)),
                Tab::Schema => Box::new(schema::rows(info)),
                Tab::History => Box::new(history::rows(&table.history, info, core.clock.wall_ms)),
                Tab::Health => Box::new(health::rows(&table.health)),
            }
        }
        Screen::Compare(compare) => match compare.pane {
            Pane::Rows => Box::new(compare_rows::DiffRows::of_plan(compare)),
            Pane::Gates => return None,
            Pane::Partitions => Box::new(compare_rows::PlanPartitions::new(compare.plan())),
        },
        Screen::Changes(screen) => match screen.pane {
            changes::Pane::Rows => Box::new(compare_rows::DiffRows::of_versions(screen)),
            changes::Pane::Partitions => Box::new(ChangedPartitions::new(screen.load.value.as_ref()?)),
        },
        Screen::Keys(screen) => Box::new(keys::rows(screen, core)),
        Screen::Gates(screen) => Box::new(gates::rows(screen)),
        Screen::Layouts(screen) if screen.in_list() => Box::new(layouts_table::rows(screen, core.size.0)),
        Screen::Layouts(_) => return None,
        Screen::Form(_) | Screen::Paste(_) | Screen::Apply(_) => return None,
    })
}

/// Where a person is in it.
pub fn grid(screen: &mut Screen) -> Option<&mut GridState> {
    Some(match screen {
        Screen::Lake(lake) => &mut lake.list.grid,
        Screen::Table(table) => match table.tab {
            Tab::Overview => return None,
            Tab::Partitions => &mut table.partitions.list.grid,
            Tab::Files => &mut table.files.list.grid,
            Tab::Rows => &mut table.rows.grid,
            Tab::Schema => &mut table.schema.grid,
            Tab::History => &mut table.history.grid,
            Tab::Health => &mut table.health.grid,
        },
        Screen::Compare(compare) => match compare.pane {
            Pane::Rows => &mut compare.rows.grid,
            Pane::Gates => return None,
            Pane::Partitions => &mut compare.partitions_grid,
        },
        Screen::Changes(screen) => match screen.pane {
            changes::Pane::Rows => &mut screen.rows.grid,
            changes::Pane::Partitions => &mut screen.partitions_grid,
        },
        Screen::Keys(screen) => &mut screen.grid,
        Screen::Gates(screen) => &mut screen.grid,
        Screen::Layouts(screen) if screen.in_list() => &mut screen.grid,
        Screen::Layouts(_) => return None,
        Screen::Form(_) | Screen::Paste(_) | Screen::Apply(_) => return None,
    })
}

/// Rows of it that fit on the screen.
pub fn height(screen: &Screen, core: &Core) -> usize {
    match screen {
        Screen::Compare(compare) => compare.list_height(core),
        Screen::Changes(screen) => screen.list_height(core),
        Screen::Gates(screen) => screen.list_height(core),
        Screen::Layouts(screen) if screen.in_list() => screen.list_height(core),
        Screen::Layouts(screen) => screen.detail_height(core),
        Screen::Table(table) if table.tab == Tab::Health => health::list_height(core),
        _ => core.list_height(),
    }
}
