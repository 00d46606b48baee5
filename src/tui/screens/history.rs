//! The versions of a table, newest first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{TableScreen, below, freshness, placeholder, trouble};
use crate::table::history::Restorable;
use crate::table::value::escape_controls;
use crate::table::{Commit, PartitionTuple};
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{count, signed, timestamp};
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint;

#[derive(Debug, Clone, Default)]
pub struct HistoryTab {
    pub load: Load<Vec<Commit>>,
    pub grid: GridState,
    /// A condition on partition columns: only the commits that touched such partitions.
    pub filter: Option<String>,
    /// The partitions that the filter means, where they were chosen on the
    /// Partitions tab: they can be restored by themselves.
    pub chosen: Vec<PartitionTuple>,
    /// Opened from the Partitions tab: Esc goes back there.
    pub from_partitions: bool,
    /// Whether the files of old versions were looked for.
    pub checked: bool,
    /// A version that another is to be compared with.
    pub marked: Option<u64>,
}

impl HistoryTab {
    pub fn rows(&self) -> &[Commit] {
        self.load.value.as_deref().unwrap_or_default()
    }

    /// Narrows the history, so that it is read anew.
    pub fn reset(&mut self, filter: Option<String>, chosen: Vec<PartitionTuple>) {
        self.filter = filter;
        self.chosen = chosen;
        self.load = Load::default();
        self.checked = false;
        self.grid.cursor = 0;
    }

    pub fn selected(&self) -> Option<&Commit> {
        self.rows().get(self.grid.cursor)
    }
}

pub struct Table<'a> {
    tab: &'a HistoryTab,
    columns: &'a [String],
    shown: u64,
    /// milliseconds since the epoch
    now: i64,
}

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.tab.rows().len()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::right("ver"),
            Column::left("when (UTC)"),
            Column::left("operation").limit(20),
            Column::right("rows ±"),
            Column::left("restorable"),
            Column::left("partitions").limit(40),
            Column::left("by").limit(24),
        ]
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let commit = &self.tab.rows()[row];
        match column {
            0 if self.tab.marked == Some(commit.version) => Cell::new(format!("● {}", commit.version), Role::Accent),
            0 => Cell::text(commit.version.to_string()),
            1 => Cell::dim(timestamp(commit.timestamp)),
            2 => Cell::text(escape_controls(&commit.label())),
            3 => Cell::text(commit.row_change().map_or("?".into(), |n| signed(n.into()))),
            4 if commit.version == self.shown => Cell::new("shown", Role::Accent),
            4 => match commit.restorable {
                Some(Restorable::Yes) => match commit.restorable_until {
                    None => Cell::new("✔", Role::Ok),
                    Some(end) if end <= self.now => Cell::new("✔ until VACUUM", Role::Warn),
                    Some(end) => Cell::new(format!("✔ until {}", day(end, self.now)), Role::Ok),
                },
                Some(Restorable::FilesGone(n)) => {
                    Cell::new(format!("✘ {} gone", count(n, "file", "files")), Role::Warn)
                }
                Some(Restorable::LogGone) => Cell::new("✘ log gone", Role::Warn),
                None => Cell::dim("…"),
            },
            5 => Cell::dim(touched(commit, self.columns)),
            _ => Cell::dim(author(commit)),
        }
    }
}

pub fn rows<'a>(tab: &'a HistoryTab, info: &'a TableInfo, now: i64) -> Table<'a> {
    Table { tab, columns: &info.metadata.partition_columns, shown: info.version, now }
}

/// The month and day, with the year where it is another one than now.
fn day(time: i64, now: i64) -> String {
    let (time, now) = (timestamp(time), timestamp(now));
    let year = |text: &str| text.chars().take(4).collect::<String>();
    let skip = if year(&time) == year(&now) { 5 } else { 0 };
    time.chars().take(10).skip(skip).collect()
}

/// The partitions of a commit: the only column's values, a few of them, how many.
fn touched(commit: &Commit, columns: &[String]) -> String {
    const SHOWN: usize = 3;
    // Under today's columns the values are enough.
    let text = |(then, tuple): (&[String], &PartitionTuple)| match then == columns {
        true => tuple.to_string(),
        false => tuple.label(then),
    };
    let texts: Vec<String> = commit.partitions().take(SHOWN).map(text).filter(|text| !text.is_empty()).collect();
    match commit.partitions().count() {
        _ if columns.is_empty() && texts.is_empty() => String::new(),
        0 => "–".into(),
        n if n > SHOWN => format!("{}, … {n} in all", texts.join(", ")),
        _ => texts.join(", "),
    }
}

fn author(commit: &Commit) -> String {
    let own = commit.info_object("partwise").and_then(|p| p.get("user")).and_then(|u| u.as_str());
    escape_controls(
        own.or_else(|| commit.info_text("userName")).or_else(|| commit.info_text("engineInfo")).unwrap_or(""),
    )
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, core: &Core) {
    let tab = &screen.history;
    let Some(info) = &screen.info.value else { return };
    let filter = tab.filter.as_ref().map_or(String::new(), |f| format!(" that touched {f}"));
    let heading = format!(
        "{}{filter}{}",
        count(tab.rows().len() as u64, "version", "versions"),
        freshness(&tab.load, info, core)
    );
    paint::rule(buf, area, 0, &heading, &core.theme);
    let body = below(area);
    if let Some(failure) = &tab.load.failure {
        trouble(buf, body, failure, core);
    } else if tab.load.value.is_none() {
        placeholder(buf, body, core);
    } else {
        let table = rows(tab, info, core.clock.wall_ms);
        // The first load is followed by the check of old files: not stale, only not complete.
        grid::draw(buf, body, &table, &tab.grid, &core.theme, tab.load.is_stale() && tab.checked);
    }
}
