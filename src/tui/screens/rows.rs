//! The rows of a table, page by page, with a condition if one is set.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{TableScreen, below, placeholder, trouble};
use crate::table::number::grouped;
use crate::table::value::escape_controls;
use crate::table::{PartitionTuple, Value};
use crate::tui::load::{Load, Window};
use crate::tui::shared::Core;
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint;

#[derive(Debug, Clone, Default)]
pub struct RowsTab {
    pub load: Load<()>,
    pub columns: Vec<String>,
    pub window: Window<Vec<Value>>,
    /// A condition in the predicate language.
    pub filter: Option<String>,
    /// Opened from the Partitions tab: Esc goes back there.
    pub from_partitions: bool,
    pub grid: GridState,
}

impl RowsTab {
    /// Forgets the rows, so that they are read anew.
    pub fn reset(&mut self, filter: Option<String>) {
        let columns = std::mem::take(&mut self.columns);
        *self = RowsTab { filter, columns, from_partitions: self.from_partitions, ..RowsTab::default() };
    }

    pub fn selected(&self) -> Option<&Vec<Value>> {
        self.window.get(self.grid.cursor)
    }
}

/// The condition that selects one partition.
pub fn condition(columns: &[String], values: &PartitionTuple) -> String {
    let terms: Vec<String> = columns
        .iter()
        .zip(&values.0)
        .map(|(column, value)| {
            let name = identifier(column);
            match value {
                Value::Null => format!("{name} IS NULL"),
                Value::Boolean(_) | Value::Int(_) | Value::Decimal { .. } => format!("{name} = {}", value.plain()),
                other => format!("{name} = '{}'", other.plain().replace('\'', "''")),
            }
        })
        .collect();
    terms.join(" AND ")
}

/// The condition that selects any of the partitions; empty for the whole table.
pub fn any_of<'a>(columns: &[String], partitions: impl IntoIterator<Item = &'a PartitionTuple>) -> String {
    let mut terms: Vec<String> = partitions.into_iter().map(|values| condition(columns, values)).collect();
    if terms.len() == 1 {
        terms.remove(0)
    } else {
        terms.iter().map(|t| format!("({t})")).collect::<Vec<_>>().join(" OR ")
    }
}

/// A column's name, quoted where it is not a plain word.
fn identifier(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

pub struct Table<'a>(&'a RowsTab);

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.0.window.len()
    }

    fn columns(&self) -> Vec<Column> {
        let first = self.0.window.rows.first();
        self.0
            .columns
            .iter()
            .enumerate()
            .map(|(i, name)| {
                let numeric = first.and_then(|row| row.get(i)).is_some_and(Value::is_numeric);
                let title = escape_controls(name);
                if numeric { Column::right(title) } else { Column::left(title) }
            })
            .collect()
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        match self.0.window.get(row).and_then(|values| values.get(column)) {
            Some(value @ Value::Null) => Cell::dim(value.to_string()),
            Some(value) => Cell::text(value.to_string()),
            None => Cell::dim("…"),
        }
    }
}

pub fn rows(tab: &RowsTab) -> Table<'_> {
    Table(tab)
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, core: &Core) {
    let tab = &screen.rows;
    let heading = match &tab.filter {
        Some(filter) => format!("rows where {}", escape_controls(filter)),
        None => "rows".into(),
    };
    paint::rule(buf, area, 0, &heading, &core.theme);
    let body = below(area);
    if let Some(failure) = &tab.load.failure {
        trouble(buf, body, failure, core);
    } else if tab.columns.is_empty() {
        placeholder(buf, body, core);
    } else {
        grid::draw(buf, body, &rows(tab), &tab.grid, &core.theme, false);
    }
}

/// `rows 1–20 of ≥ 200`.
pub fn status(tab: &RowsTab, core: &Core) -> String {
    let total = tab.window.total;
    let known = usize::try_from(total).unwrap_or(usize::MAX);
    if tab.window.more {
        let top = tab.grid.top.min(known.saturating_sub(1));
        let last = (top + core.list_height()).min(known);
        return format!("rows {}–{} of ≥ {}", grouped(top as i128 + 1), grouped(last as i128), grouped(total));
    }
    tab.grid.position(known, core.list_height())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partitions_condition_tells_null_from_empty() {
        let columns = ["dt".to_owned(), "Region".to_owned(), "n".to_owned()];
        let tuple = |values| condition(&columns, &PartitionTuple(values));
        assert_eq!(
            tuple(vec![Value::Date(0), Value::String("O'Neil".into()), Value::Int(7)]),
            "dt = '1970-01-01' AND `Region` = 'O''Neil' AND n = 7"
        );
        assert_eq!(
            tuple(vec![Value::Null, Value::String(String::new()), Value::Null]),
            "dt IS NULL AND `Region` = '' AND n IS NULL"
        );
    }
}
