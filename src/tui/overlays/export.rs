//! Where the rows of an effect are exported to, over the status line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::filter::{self, Filter};
use crate::plan::Effect;
use crate::tui::input::TextInput;
use crate::tui::shared::Core;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The plan's id.
    pub plan: String,
    pub effect: Effect,
    /// The file's name; its ending says the format.
    pub line: Filter,
}

impl Export {
    pub fn new(plan: String, effect: Effect, table: &str) -> Export {
        let name: String = table.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let input = TextInput::new(format!("{name}-{}.csv", effect.name()));
        let about = ".parquet, .csv or .md";
        Export { plan, effect, line: Filter { input, about, complaint: None } }
    }
}

pub fn draw(buf: &mut Buffer, area: Rect, export: &Export, core: &Core) {
    filter::draw(buf, area, &export.line, core);
}
