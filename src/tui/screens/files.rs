//! The live data files of a table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{TableScreen, below, freshness, placeholder, trouble};
use crate::table::DataFile;
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{count, timestamp};
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{self, Cell, Column, Rows};
use crate::tui::widgets::list::List;
use crate::tui::widgets::paint;

#[derive(Debug, Clone, Default)]
pub struct FilesTab {
    pub load: Load<Vec<DataFile>>,
    pub list: List,
}

impl FilesTab {
    pub fn rows(&self) -> &[DataFile] {
        self.load.value.as_deref().unwrap_or_default()
    }

    pub fn arrange(&mut self, columns: &[String]) {
        let kept = self.list.selected().and_then(|row| self.rows().get(row)).map(DataFile::id);
        let rows = self.load.value.as_deref().unwrap_or_default();
        let needle = self.list.filter.to_lowercase();
        self.list.arrange(
            rows.len(),
            |row| {
                needle.is_empty()
                    || rows[row].path.to_lowercase().contains(&needle)
                    || rows[row].partition.label(columns).to_lowercase().contains(&needle)
            },
            |column, a, b| {
                let (a, b) = (&rows[a], &rows[b]);
                match column {
                    0 => a.partition.cmp(&b.partition),
                    1 => a.live_rows().cmp(&b.live_rows()),
                    2 => a.size.cmp(&b.size),
                    3 => a.deleted_rows().cmp(&b.deleted_rows()),
                    4 => a.version.cmp(&b.version),
                    5 => a.modified.cmp(&b.modified),
                    _ => a.path.cmp(&b.path),
                }
            },
        );
        if let Some(row) = kept.and_then(|id| rows.iter().position(|f| f.id() == id)) {
            self.list.select(row);
        }
    }
}

pub struct Table<'a> {
    tab: &'a FilesTab,
    columns: &'a [String],
}

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.tab.list.len()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::left("partition").limit(28),
            Column::right("rows"),
            Column::right("size"),
            Column::right("deleted"),
            Column::left("by"),
            Column::left("written (UTC)"),
            Column::left("path").limit(80),
        ]
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let file = &self.tab.rows()[self.tab.list.order[row]];
        match column {
            0 => Cell::text(file.partition.label(self.columns)),
            1 => Cell::text(file.live_rows().map_or("?".into(), grouped)),
            2 => Cell::text(bytes(file.size)),
            3 if file.deleted_rows() == 0 => Cell::dim("–"),
            3 => Cell::new(grouped(file.deleted_rows()), Role::Warn),
            4 => Cell::dim(file.version.map_or("?".into(), |v| format!("v{v}"))),
            5 => Cell::dim(timestamp(file.modified)),
            _ => Cell::dim(escape_controls(&file.path)),
        }
    }
}

pub fn rows<'a>(tab: &'a FilesTab, info: &'a TableInfo) -> Table<'a> {
    Table { tab, columns: &info.metadata.partition_columns }
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, info: &TableInfo, core: &Core) {
    let tab = &screen.files;
    // The size is of what is shown: a filter leaves files out.
    let size: u64 = tab.list.order.iter().map(|row| tab.rows()[*row].size).sum();
    let all = count(tab.rows().len() as u64, "file", "files");
    let shown = tab.list.len();
    let of = if shown == tab.rows().len() { all } else { format!("{} of {all}", grouped(shown as u64)) };
    let filter = if tab.list.filter.is_empty() { String::new() } else { format!(" · filter: {}", tab.list.filter) };
    let heading = format!("{of} · {}{filter}{}", bytes(size), freshness(&tab.load, info, core));
    paint::rule(buf, area, 0, &heading, &core.theme);
    let body = below(area);
    if let Some(failure) = &tab.load.failure {
        trouble(buf, body, failure, core);
    } else if tab.load.value.is_none() {
        placeholder(buf, body, core);
    } else {
        let table = rows(tab, info);
        grid::draw(buf, body, &table, &tab.list.grid, &core.theme, tab.load.is_stale());
    }
}
