//! The partitions of a table, with marks, bars and a calendar.

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{TableScreen, below, freshness, placeholder, trouble};
use super::wanted::Wanted;
use crate::table::number::{bytes, grouped};
use crate::table::partition::RowCount;
use crate::table::value::escape_controls;
use crate::table::{PartitionStats, PartitionTuple, Value};
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{ago, count};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::bar;
use crate::tui::widgets::calendar::{Calendar, day};
use crate::tui::widgets::grid::{self, Cell, Column, Rows};
use crate::tui::widgets::list::List;
use crate::tui::widgets::paint;

#[derive(Debug, Clone, Default)]
pub struct PartitionsTab {
    pub load: Load<Vec<PartitionStats>>,
    pub list: List,
    pub marks: HashSet<PartitionTuple>,
    /// Where the last mark was set: a range goes from there.
    pub anchor: Option<PartitionTuple>,
    /// Added up when marks change, not for each frame.
    pub marked: Marked,
    pub log_bars: bool,
    /// The value is what is known so far of the first load.
    pub streaming: bool,
    /// Made once for each load, not for each frame.
    pub calendar: Option<Calendar>,
    /// The largest number of rows, for the bars.
    pub largest: u64,
}

/// The marked partitions in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marked {
    pub partitions: usize,
    pub rows: RowCount,
    pub files: u64,
}

/// Cells of the bars.
const BAR: usize = 8;
/// The calendar's pane appears from this width on.
const WITH_CALENDAR: u16 = 100;

impl PartitionsTab {
    pub fn rows(&self) -> &[PartitionStats] {
        self.load.value.as_deref().unwrap_or_default()
    }

    pub fn selected(&self) -> Option<&PartitionStats> {
        self.rows().get(self.list.selected()?)
    }

    /// Takes new data over: bars, calendar, order. The cursor stays on its partition.
    pub fn refresh(&mut self, columns: &[String], kept: Option<PartitionTuple>) {
        self.largest = self.rows().iter().map(|p| p.rows.known).max().unwrap_or(0);
        self.calendar = Calendar::of(self.rows());
        self.add_up();
        self.arrange(columns, kept);
    }

    /// Sorts and filters anew.
    pub fn arrange(&mut self, columns: &[String], kept: Option<PartitionTuple>) {
        let kept = kept.or_else(|| self.selected().map(|p| p.values.clone()));
        let rows = self.load.value.as_deref().unwrap_or_default();
        // The filter was judged when it was set. What it cannot say of a row
        // that came later does not hold for it.
        let wanted = Wanted::new(&self.list.filter, columns).unwrap_or(Wanted::All);
        let key = columns.len();
        self.list.arrange(
            rows.len(),
            |row| wanted.keeps(&rows[row], columns) == Ok(true),
            |column, a, b| {
                let (a, b) = (&rows[a], &rows[b]);
                match column {
                    c if c < key => a.values.0[c].cmp(&b.values.0[c]),
                    c if c == key => a.rows.known.cmp(&b.rows.known),
                    c if c == key + 1 => a.files.cmp(&b.files),
                    c if c == key + 2 => a.bytes.cmp(&b.bytes),
                    _ => a.last_modified.cmp(&b.last_modified),
                }
            },
        );
        if let Some(row) = kept.and_then(|k| rows.iter().position(|p| p.values == k)) {
            self.list.select(row);
        }
    }

    /// Adds the marked partitions up anew.
    pub fn add_up(&mut self) {
        let mut marked = Marked { partitions: self.marks.len(), ..Marked::default() };
        if marked.partitions > 0 {
            for partition in self.rows().iter().filter(|p| self.marks.contains(&p.values)) {
                marked.rows.merge(partition.rows);
                marked.files += partition.files;
            }
        }
        self.marked = marked;
    }
}

pub struct Table<'a> {
    tab: &'a PartitionsTab,
    columns: &'a [String],
    numeric: Vec<bool>,
    now_ms: i64,
}

impl Table<'_> {
    fn row(&self, row: usize) -> &PartitionStats {
        &self.tab.rows()[self.tab.list.order[row]]
    }
}

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.tab.list.len()
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for (name, numeric) in self.columns.iter().zip(&self.numeric) {
            let title = escape_controls(name);
            columns.push(if *numeric { Column::right(title) } else { Column::left(title) });
        }
        if columns.is_empty() {
            columns.push(Column::left("partition"));
        }
        columns.extend([
            Column::right("rows"),
            Column::right("files"),
            Column::right("size"),
            Column::left("last write"),
            Column::left(if self.tab.log_bars { "log rows" } else { "" }),
        ]);
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let partition = self.row(row);
        let keys = self.columns.len().max(1);
        if column < keys {
            return match partition.values.0.get(column) {
                Some(value @ Value::Null) => Cell::dim(value.to_string()),
                Some(value) => Cell::text(value.to_string()),
                None => Cell::text("(whole table)"),
            };
        }
        match column - keys {
            0 => Cell::text(partition.rows.to_string()),
            1 => Cell::text(grouped(partition.files)),
            2 => Cell::text(bytes(partition.bytes)),
            3 => {
                let version = partition.last_version.map_or("?".into(), |v| format!("v{v}"));
                let age = partition.last_modified.map_or(String::new(), |ms| ago(ms, self.now_ms));
                Cell::dim(format!("{version:<5}{age}"))
            }
            _ => Cell::new(bar(partition.rows.known, self.tab.largest, BAR, self.tab.log_bars), Role::Bar),
        }
    }

    fn marked(&self, row: usize) -> bool {
        self.tab.marks.contains(&self.row(row).values)
    }
}

pub fn rows<'a>(tab: &'a PartitionsTab, info: &'a TableInfo, core: &Core) -> Table<'a> {
    let columns = &info.metadata.partition_columns;
    let numeric = (0..columns.len())
        .map(|i| tab.rows().first().and_then(|p| p.values.0.get(i)).is_some_and(Value::is_numeric))
        .collect();
    Table { tab, columns, numeric, now_ms: core.clock.wall_ms }
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, info: &TableInfo, core: &Core) {
    let tab = &screen.partitions;
    let mut total = RowCount::default();
    let mut size = 0;
    // Totals are of what is shown: a filter leaves partitions out.
    for partition in tab.list.order.iter().map(|row| &tab.rows()[*row]) {
        total.merge(partition.rows);
        size += partition.bytes;
    }
    let shown = tab.list.len() as u64;
    let all = count(tab.rows().len() as u64, "partition", "partitions");
    let of = if shown == tab.rows().len() as u64 { all } else { format!("{} of {all}", grouped(shown)) };
    let filter = if tab.list.filter.is_empty() { String::new() } else { format!(" · filter: {}", tab.list.filter) };
    let freshness = if tab.streaming { " so far …".into() } else { freshness(&tab.load, info, core) };
    let heading = format!("{of} · {total} rows · {}{filter}{freshness}", bytes(size));
    paint::rule(buf, area, 0, &heading, &core.theme);
    let body = below(area);
    if let Some(failure) = &tab.load.failure {
        trouble(buf, body, failure, core);
        return;
    }
    if tab.load.value.is_none() {
        placeholder(buf, body, core);
        return;
    }
    let side = match &tab.calendar {
        Some(_) if area.width >= WITH_CALENDAR => 38,
        _ => 0,
    };
    let left = Rect { width: body.width - side, ..body };
    let table = rows(tab, info, core);
    grid::draw(buf, left, &table, &tab.list.grid, &core.theme, tab.load.is_stale() && !tab.streaming);
    if let (Some(calendar), true) = (&tab.calendar, side > 0) {
        for y in body.top()..body.bottom() {
            paint::put(buf, left.right(), y, 1, "│", core.theme.style(Role::Border));
        }
        let focus = tab.selected().and_then(|p| p.values.0.first()).and_then(day);
        let pane = Rect { x: left.right() + 2, width: side - 2, ..body };
        calendar.draw(buf, pane, focus, &core.theme);
    }
}

/// The status line's words: marks and the place in the list.
pub fn status(tab: &PartitionsTab, core: &Core) -> String {
    let position = tab.list.grid.position(tab.list.len(), core.list_height());
    let Marked { partitions, rows, files } = tab.marked;
    if partitions == 0 {
        return position;
    }
    format!("{partitions} marked: {rows} rows, {}    {position}", count(files, "file", "files"))
}
