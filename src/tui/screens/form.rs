//! Which source, and how its rows are identified: the way into a comparison.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::below;
use crate::table::value::escape_controls;
use crate::tui::input::TextInput;
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::fit;
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, piece, put};

#[derive(Debug, Clone)]
pub struct FormScreen {
    pub info: TableInfo,
    /// Source, key, ignored columns.
    pub fields: [TextInput; 3],
    pub focus: usize,
    pub candidates: Load<Vec<String>>,
    /// What the candidates were asked for.
    pub asked: Option<String>,
    /// The candidate under the cursor.
    pub picked: Option<usize>,
    /// What is wrong with the form.
    pub complaint: Option<String>,
}

pub const SOURCE: usize = 0;
pub const KEY: usize = 1;
pub const IGNORE: usize = 2;

/// (label, what to type)
const FIELDS: [(&str, &str); 3] = [
    ("source", "a Parquet file, a folder or glob of them, or a Delta table"),
    ("key", "columns that identify a row, with commas; empty: only an overwrite can be planned"),
    ("ignore", "technical columns such as a load time, with commas"),
];

impl FormScreen {
    pub fn new(info: TableInfo) -> Self {
        let known = &info.settings.known;
        let fields =
            [TextInput::default(), TextInput::new(known.key.join(", ")), TextInput::new(known.ignore.join(", "))];
        Self { info, fields, focus: SOURCE, candidates: Load::default(), asked: None, picked: None, complaint: None }
    }

    /// The columns that a field names.
    pub fn columns(&self, field: usize) -> Vec<String> {
        self.fields[field].text().split(',').map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
    }

    pub fn candidates(&self) -> &[String] {
        self.candidates.value.as_deref().unwrap_or_default()
    }
}

pub fn draw(buf: &mut Buffer, area: Rect, form: &FormScreen, core: &Core) {
    let theme = &core.theme;
    paint::rule(buf, area, 0, "compare write strategies for one source", theme);
    let body = below(area);
    let cells = body.width.saturating_sub(13);
    let mut y = 1;
    for (i, (label, about)) in FIELDS.iter().enumerate() {
        let focused = form.focus == i;
        let role = if focused { Role::Accent } else { Role::Dim };
        paint::line(buf, body, y, &[piece(format!(" {} {label:<8}", if focused { "▸" } else { " " }), role)], theme);
        field(buf, Rect { x: body.x + 11, y: body.y + y, width: cells, height: 1 }, &form.fields[i], focused, core);
        paint::line(buf, body, y + 1, &[piece(format!("            {about}"), Role::Dim)], theme);
        y += 3;
    }
    if let Some(complaint) = &form.complaint {
        paint::line(buf, body, y, &[piece(format!("   ✘ {complaint}"), Role::Error)], theme);
    } else if form.focus == SOURCE {
        let found = form.candidates();
        let words = match (&form.candidates.failure, found.len()) {
            (Some(failure), _) => failure.message.clone(),
            (None, 0) if form.candidates.is_loading() => "looking …".into(),
            (None, 0) => "nothing here that could be a source".into(),
            (None, n) => format!("found nearby ({n}); ↓ chooses, Tab completes"),
        };
        paint::line(buf, body, y, &[piece(format!("   {words}"), Role::Dim)], theme);
        let height = usize::from(body.height.saturating_sub(y + 1));
        let top = form.picked.map_or(0, |p| (p + 1).saturating_sub(height));
        for (row, candidate) in found.iter().enumerate().skip(top).take(height) {
            let role = if form.picked == Some(row) { Role::Selection } else { Role::Text };
            let text = fit(&escape_controls(candidate), usize::from(body.width.saturating_sub(5)));
            paint::line(buf, body, y + 1 + (row - top) as u16, &[piece(format!("   {text} "), role)], theme);
        }
    } else {
        let columns: Vec<&str> = form.info.metadata.schema.names().collect();
        paint::line(buf, body, y, &[piece("   columns of the table", Role::Dim)], theme);
        for (i, line) in
            crate::tui::text::wrap(&columns.join(", "), usize::from(body.width.saturating_sub(6))).iter().enumerate()
        {
            paint::line(
                buf,
                body,
                y + 1 + i as u16,
                &[piece(format!("   {}", escape_controls(line)), Role::Text)],
                theme,
            );
        }
    }
}

/// A text field; the cursor is a reversed cell, so that drawing stays pure.
pub fn field(buf: &mut Buffer, area: Rect, input: &TextInput, focused: bool, core: &Core) {
    let (shown, cursor) = input.view(usize::from(area.width));
    let style = core.theme.style(Role::Text);
    put(buf, area.x, area.y, area.width, &shown, style);
    if focused {
        let x = area.x + u16::try_from(cursor).unwrap_or(0);
        if let Some(cell) = buf.cell_mut((x.min(area.right().saturating_sub(1)), area.y)) {
            cell.set_style(core.theme.style(Role::Badge));
        }
    }
}
