//! Which source, and how its rows are read and identified: the way into a
//! comparison. What holds for every delivery can be saved to the config.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::below;
use crate::action::Facts;
use crate::config::TableConfig;
use crate::ops::{ConfigChange, SourceProfile};
use crate::plan::operations;
use crate::predicate::{Predicate, RowExpr};
use crate::table::number::grouped;
use crate::table::value::escape_controls;
use crate::tui::asked::Asked;
use crate::tui::input::TextInput;
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{fit, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, piece, put};

#[derive(Debug, Clone)]
pub struct FormScreen {
    pub info: TableInfo,
    pub fields: [TextInput; 9],
    pub focus: usize,
    pub candidates: Load<Vec<String>>,
    /// What the candidates were asked for.
    pub asked: Option<String>,
    /// The suggestion under the cursor.
    pub picked: Option<usize>,
    /// What is wrong with the form.
    pub complaint: Option<String>,
    /// What the source's own columns say.
    pub profile: Load<SourceProfile>,
    /// Source and key that the profile was asked for.
    pub profiled: Option<(String, Vec<String>)>,
    /// What saving would do to the config file.
    pub change: Load<ConfigChange>,
}

pub const SOURCE: usize = 0;
pub const KEY: usize = 1;
pub const IGNORE: usize = 2;
pub const SLICE: usize = 3;
pub const REPLACE: usize = 4;
pub const LATEST: usize = 5;
pub const OPERATIONS: usize = 6;
pub const MEASURES: usize = 7;
pub const GRAIN: usize = 8;

/// Fields that hold columns of the table.
const COLUMNS: [usize; 4] = [KEY, IGNORE, MEASURES, GRAIN];

/// (label, what to type)
const FIELDS: [(&str, &str); 9] = [
    ("source", "a Parquet file, a folder or glob of them, or a Delta table"),
    ("key", "columns that identify a row, with commas; empty: only an overwrite can be planned"),
    ("ignore", "technical columns such as a load time, with commas"),
    ("slice", "which partitions were meant to be delivered, as in fiscal_period = '2026006'"),
    ("where", "what a replace-where replaces; empty: it is not planned, or for the slice"),
    ("latest by", "of the rows of one key only the one with the greatest value counts"),
    ("operation", "the column that says what became of a row: auto, or COLUMN=D:delete,U:upsert"),
    ("measures", "columns to sum, with commas; empty: decimal and float columns"),
    ("grain", "columns of which no value may vanish, such as the company"),
];

impl FormScreen {
    pub fn new(info: TableInfo) -> Self {
        let mut form = Self {
            fields: Default::default(),
            info,
            focus: SOURCE,
            candidates: Load::default(),
            asked: None,
            picked: None,
            complaint: None,
            profile: Load::default(),
            profiled: None,
            change: Load::default(),
        };
        let known = form.info.settings.known.clone();
        for (field, columns) in
            [(KEY, &known.key), (IGNORE, &known.ignore), (MEASURES, &known.measures), (GRAIN, &known.grain)]
        {
            form.fields[field].set(columns.join(", "));
        }
        form
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.table_known = true;
        facts.unsaved = self.known() != self.info.settings.known;
    }

    pub fn text(&self, field: usize) -> &str {
        self.fields[field].text().trim()
    }

    /// The columns that a field names.
    pub fn columns(&self, field: usize) -> Vec<String> {
        self.fields[field].text().split(',').map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
    }

    /// What the config would know of the table.
    pub fn known(&self) -> TableConfig {
        TableConfig {
            key: self.columns(KEY),
            ignore: self.columns(IGNORE),
            measures: self.columns(MEASURES),
            grain: self.columns(GRAIN),
            gates: self.info.settings.known.gates.clone(),
            queries: self.info.settings.known.queries.clone(),
        }
    }

    /// What the form asks for.
    ///
    /// # Errors
    /// The field that is wrong, and why.
    pub fn wanted(&self) -> Result<Asked, (usize, String)> {
        if self.text(SOURCE).is_empty() {
            return Err((SOURCE, "name a source first".into()));
        }
        self.check_columns()?;
        let given = |field: usize| (!self.text(field).is_empty()).then(|| self.text(field).to_owned());
        if let Some(slice) = given(SLICE) {
            Predicate::parse(&slice).map_err(|e| (SLICE, e.message))?;
        }
        if let Some(replace) = given(REPLACE) {
            RowExpr::parse(&replace).map_err(|e| (REPLACE, e.message))?;
        }
        let operations = given(OPERATIONS).map(|text| operations::parse(&text)).transpose();
        Ok(Asked {
            source: self.text(SOURCE).to_owned(),
            key: self.columns(KEY),
            ignore: self.columns(IGNORE),
            measures: self.columns(MEASURES),
            grain: self.columns(GRAIN),
            slice: given(SLICE),
            replace: given(REPLACE),
            latest_by: given(LATEST),
            operations: operations.map_err(|said| (OPERATIONS, said))?,
            pasted: None,
        })
    }

    /// # Errors
    /// The field that names a column which the table lacks.
    pub fn check_columns(&self) -> Result<(), (usize, String)> {
        for field in COLUMNS {
            let stranger = self.columns(field).into_iter().find(|c| self.info.metadata.schema.find(c).is_none());
            if let Some(column) = stranger {
                return Err((field, format!("the table has no column {column}")));
            }
        }
        Ok(())
    }

    pub fn candidates(&self) -> &[String] {
        self.candidates.value.as_deref().unwrap_or_default()
    }

    /// The profile, if it is of the source and the key that the form names now.
    pub fn profile(&self) -> Option<&SourceProfile> {
        let now = (self.text(SOURCE).to_owned(), self.columns(KEY));
        self.profile.value.as_ref().filter(|_| self.profiled.as_ref() == Some(&now))
    }

    /// What the field in focus could be, or its next column.
    pub fn suggestions(&self) -> Vec<String> {
        match self.focus {
            SOURCE => self.candidates().to_vec(),
            LATEST => self.profile().map_or(Vec::new(), |p| p.latest_by.iter().map(|l| l.column.clone()).collect()),
            OPERATIONS => {
                self.profile().and_then(|p| p.operations.as_ref()).map_or(Vec::new(), |_| vec!["auto".into()])
            }
            field if COLUMNS.contains(&field) => {
                let (kept, typed) = last_part(self.fields[field].text());
                let kept: Vec<&str> = kept.split(',').map(str::trim).collect();
                let typed = typed.to_lowercase();
                let fields = self.info.metadata.schema.names();
                let is_open = |name: &&str| !kept.contains(name) && name.to_lowercase().starts_with(&typed);
                fields.filter(is_open).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes a suggestion over into the field in focus.
    pub fn take(&mut self, suggestion: &str) {
        let field = &mut self.fields[self.focus];
        if COLUMNS.contains(&self.focus) {
            let (kept, _) = last_part(field.text());
            let kept = kept.trim_end();
            let text = if kept.is_empty() { suggestion.to_owned() } else { format!("{kept} {suggestion}") };
            field.set(text);
        } else {
            field.set(suggestion);
        }
        self.picked = None;
        self.complaint = None;
    }
}

/// What stands up to the last comma, and what was begun behind it.
fn last_part(text: &str) -> (&str, &str) {
    let at = text.rfind(',').map_or(0, |at| at + 1);
    (&text[..at], text[at..].trim())
}

pub fn draw(buf: &mut Buffer, area: Rect, form: &FormScreen, core: &Core) {
    let theme = &core.theme;
    paint::rule(buf, area, 0, "compare write strategies for one source", theme);
    let body = below(area);
    let cells = body.width.saturating_sub(14);
    // On a low screen the fields around the one in focus are shown.
    let shown = usize::from(body.height.saturating_sub(5)).clamp(1, FIELDS.len());
    let first = (form.focus + 1).saturating_sub(shown);
    let mut y = 0;
    for (i, (label, _)) in FIELDS.iter().enumerate().skip(first).take(shown) {
        let focused = form.focus == i;
        let role = if focused { Role::Accent } else { Role::Dim };
        paint::line(buf, body, y, &[piece(format!(" {} {label:<10}", if focused { "▸" } else { " " }), role)], theme);
        field(buf, Rect { x: body.x + 13, y: body.y + y, width: cells, height: 1 }, &form.fields[i], focused, core);
        y += 1;
    }
    let below = Rect { y: body.y + y, height: body.height.saturating_sub(y), ..body };
    paint::rule(buf, below, 0, FIELDS[form.focus].1, theme);
    let rest = Rect { y: below.y + 1, height: below.height.saturating_sub(1), ..below };
    about(buf, rest, form, core);
}

/// What is wrong, what the source says, and what the field could be.
fn about(buf: &mut Buffer, area: Rect, form: &FormScreen, core: &Core) {
    let theme = &core.theme;
    let cells = usize::from(area.width.saturating_sub(6));
    let mut y = 0;
    let mut say = |buf: &mut Buffer, text: &str, role: Role, most: usize| {
        for line in wrap(&escape_controls(text), cells).into_iter().take(most) {
            paint::line(buf, area, y, &[piece(format!("   {line}"), role)], theme);
            y += 1;
        }
    };
    if let Some(complaint) = &form.complaint {
        say(buf, &format!("✘ {complaint}"), Role::Error, 3);
    }
    for (text, role) in hints(form) {
        say(buf, &text, role, 3);
    }
    let found = form.suggestions();
    let words = match (form.focus, found.len()) {
        (SOURCE, 0) => match &form.candidates.failure {
            Some(failure) => failure.message.clone(),
            None if form.candidates.is_loading() => "looking …".into(),
            None => "nothing here that could be a source".into(),
        },
        (SOURCE, n) => format!("found nearby ({n}); ↓ chooses, Tab completes"),
        (_, 0) => String::new(),
        (LATEST | OPERATIONS, _) => "found in the source; ↓ chooses".into(),
        _ => "columns of the table; ↓ chooses".into(),
    };
    say(buf, &words, Role::Dim, 1);
    let height = usize::from(area.height.saturating_sub(y));
    let top = form.picked.map_or(0, |p| (p + 1).saturating_sub(height));
    for (row, candidate) in found.iter().enumerate().skip(top).take(height) {
        let role = if form.picked == Some(row) { Role::Selection } else { Role::Text };
        let text = fit(&escape_controls(candidate), usize::from(area.width.saturating_sub(5)));
        paint::line(buf, area, y + (row - top) as u16, &[piece(format!("   {text} "), role)], theme);
    }
}

/// What the source's columns say about the field in focus.
fn hints(form: &FormScreen) -> Vec<(String, Role)> {
    let mut lines = Vec::new();
    if let Some(failure) = form.profile.failure.as_ref().filter(|_| form.focus != SOURCE) {
        lines.push((format!("✘ the source: {}", failure.message), Role::Error));
    }
    let Some(profile) = form.profile() else { return lines };
    match form.focus {
        OPERATIONS => {
            match &profile.operations {
                Some(proposal) => lines.push((format!("★ auto: {}", proposal.because), Role::Accent)),
                None => lines.push(("the source has no operation column that is understood".into(), Role::Dim)),
            }
            lines.extend(profile.not_understood.iter().map(|why| (format!("· {why}"), Role::Dim)));
        }
        LATEST => {
            let text = match profile.repeated {
                None => "without a key it is not known whether keys repeat".into(),
                Some(0) => "every key occurs once in the source: nothing to choose from".into(),
                Some(n) => format!("{} source rows repeat a key", grouped(n)),
            };
            lines.push((text, Role::Dim));
            let best = profile.latest_by.iter().find(|l| l.proposed);
            lines.extend(best.map(|l| (format!("★ {}: it tells every repeated row apart", l.column), Role::Accent)));
        }
        IGNORE if !profile.technical.is_empty() => {
            let list = profile.technical.join(", ");
            lines.push((format!("the source also has {list}, which the table lacks"), Role::Dim));
        }
        _ => {}
    }
    lines
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
