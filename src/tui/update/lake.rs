//! What actions do on the lake screen.

use crate::action::Id;
use crate::ops::At;
use crate::tui::app::{App, Screen};
use crate::tui::msg::Request;
use crate::tui::screens::table::TableScreen;

pub(super) fn act(app: &mut App, id: Id) {
    let Some(Screen::Lake(lake)) = app.screens.last_mut() else { return };
    match id {
        Id::Sort => {
            lake.list.sort();
            lake.arrange();
        }
        Id::Refresh => {
            lake.jobs.clear();
            lake.started = app.core.clock;
            lake.failure = None;
            lake.seen.clear();
            for target in &lake.targets {
                lake.jobs.push(app.core.run(Request::Discover(target.clone())));
            }
        }
        Id::Open | Id::Compare => {
            let Some(table) = lake.selected() else { return };
            let mut screen = TableScreen::new(table.name.clone());
            screen.label = Some(table.name.clone());
            screen.compare_next = id == Id::Compare;
            let request = Request::Open { reference: table.location.clone(), at: At::Latest };
            app.core.load(&mut screen.info, request);
            app.screens.push(Screen::Table(Box::new(screen)));
        }
        _ => {}
    }
}
