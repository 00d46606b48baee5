//! The columns of a table, at every depth.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{TableScreen, below};
use crate::table::value::escape_controls;
use crate::table::{DataType, Field};
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::count;
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint;

#[derive(Debug, Clone, Default)]
pub struct SchemaTab {
    pub grid: GridState,
}

/// Every field with its dotted path, in the schema's order.
fn fields(info: &TableInfo) -> Vec<(String, &Field)> {
    let mut fields = Vec::new();
    info.metadata.schema.walk(&mut |path, field| fields.push((path.to_owned(), field)));
    fields
}

fn type_words(data_type: &DataType) -> String {
    match data_type {
        DataType::Primitive(primitive) => primitive.to_string(),
        DataType::Struct(_) => "struct".into(),
        DataType::Array { element, .. } => format!("array<{}>", type_words(element)),
        DataType::Map { key, value, .. } => format!("map<{}, {}>", type_words(key), type_words(value)),
        DataType::Variant => "variant".into(),
    }
}

pub struct Table<'a> {
    fields: Vec<(String, &'a Field)>,
    info: &'a TableInfo,
}

pub fn rows(info: &TableInfo) -> Table<'_> {
    Table { fields: fields(info), info }
}

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.fields.len()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::left("column").limit(40),
            Column::left("type").limit(30),
            Column::left("null"),
            Column::left("role"),
            Column::left("comment").limit(60),
        ]
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let (path, field) = &self.fields[row];
        match column {
            0 => Cell::text(escape_controls(path)),
            1 => Cell::text(type_words(&field.data_type)),
            2 => Cell::dim(if field.nullable { "yes" } else { "no" }),
            3 => {
                let partition = self.info.metadata.partition_columns.iter().position(|c| c == path);
                let key = self.info.settings.known.key.contains(path);
                match (partition, key) {
                    (Some(at), true) => Cell::new(format!("partition {}, key", at + 1), Role::Accent),
                    (Some(at), false) => Cell::new(format!("partition {}", at + 1), Role::Accent),
                    (None, true) => Cell::new("key", Role::Accent),
                    (None, false) => Cell::dim(""),
                }
            }
            _ => Cell::dim(field.comment().map(escape_controls).unwrap_or_default()),
        }
    }
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, info: &TableInfo, core: &Core) {
    let heading = count(info.metadata.schema.fields.len() as u64, "column", "columns");
    paint::rule(buf, area, 0, &heading, &core.theme);
    grid::draw(buf, below(area), &rows(info), &screen.schema.grid, &core.theme, false);
}
