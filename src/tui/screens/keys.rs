//! What is wrong with a key, and which columns could be one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{below, trouble};
use crate::action::Facts;
use crate::ops::keys::{Candidate, KeyReport, SideKeys, rules_text};
use crate::table::Value;
use crate::table::number::grouped;
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{count, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint;

pub struct KeysScreen {
    pub info: TableInfo,
    pub source: Option<String>,
    /// The key that was asked about; empty for proposals only.
    pub key: Vec<String>,
    pub load: Load<KeyReport>,
    pub grid: GridState,
}

impl KeysScreen {
    pub fn new(info: TableInfo, source: Option<String>, key: Vec<String>) -> Self {
        Self { info, source, key, load: Load::default(), grid: GridState::default() }
    }

    pub fn facts(&self, facts: &mut Facts, core: &Core) {
        facts.on_row = self.selected(core).is_some();
    }

    /// The candidate under the cursor, if its columns are the table's.
    pub fn selected(&self, core: &Core) -> Option<&Candidate> {
        let report = self.load.value.as_ref()?;
        let at = rows(self, core).0.get(self.grid.cursor)?.candidate?;
        let schema = &self.info.metadata.schema;
        report.candidates.get(at).filter(|c| c.columns.iter().all(|name| schema.find(name).is_some()))
    }
}

struct Line {
    text: String,
    role: Role,
    candidate: Option<usize>,
}

/// Proposals first, then what was found, then examples.
fn lines(report: &KeyReport, cells: usize) -> Vec<Line> {
    let mut all: Vec<Line> = Vec::new();
    let mut say = |text: String, role: Role| {
        for (i, part) in wrap(&escape_controls(&text), cells.max(20)).into_iter().enumerate() {
            let text = if i == 0 { part } else { format!("  {part}") };
            all.push(Line { text, role, candidate: None });
        }
    };
    if report.findings.is_empty() && !report.key.is_empty() {
        say(format!("✔ {} identifies every row", report.key.join(", ")), Role::Ok);
    }
    report.findings.iter().for_each(|f| say(format!("! {}: {}", f.name, f.message), Role::Warn));
    if !report.candidates.is_empty() {
        say(String::new(), Role::Text);
        say("columns that could be the key; ⏎ takes them".into(), Role::Header);
    }
    for (i, c) in report.candidates.iter().enumerate() {
        let about = if c.exact { "" } else { "about " };
        let distinct = format!("{about}{} distinct in {}", grouped(c.distinct), count(c.rows, "row", "rows"));
        let nulls = if c.null_rows > 0 { format!(", {} with NULL", grouped(c.null_rows)) } else { String::new() };
        let (mark, role) = if c.unique { ("★", Role::Accent) } else { ("·", Role::Text) };
        let text = format!("{mark} {}   {} · {distinct}{nulls}", c.columns.join(", "), c.side);
        all.push(Line { text: escape_controls(&text), role, candidate: Some(i) });
    }
    let mut say = |text: String, role: Role| all.push(Line { text: escape_controls(&text), role, candidate: None });
    for (name, side) in [("table", &report.table_keys), ("source", &report.source_keys)] {
        if let Some(side) = side {
            side_lines(name, side, &mut say);
        }
    }
    if let Some(matched) = report.matched {
        say(String::new(), Role::Text);
        say(format!("{} of the source are in the table", count(matched, "key", "keys")), Role::Text);
    }
    if let Some(near) = report.near.as_ref().filter(|n| !n.examples.is_empty()) {
        say(String::new(), Role::Text);
        say("keys that are nearly the same".into(), Role::Header);
        for example in &near.examples {
            say(format!("  they differ in {}", rules_text(&example.rules)), Role::Dim);
            for m in &example.members {
                let rows = format!("{} in the table, {} in the source", grouped(m.table_rows), grouped(m.source_rows));
                say(format!("    '{}'   {rows}", tuple(&m.key)), Role::Text);
            }
        }
    }
    if let Some(elsewhere) = report.elsewhere.as_ref().filter(|e| !e.examples.is_empty()) {
        say(String::new(), Role::Text);
        say("keys in several partitions".into(), Role::Header);
        for e in &elsewhere.examples {
            say(format!("  {}   {}", tuple(&e.key), e.partitions.join(", ")), Role::Text);
        }
    }
    all
}

fn side_lines(name: &str, side: &SideKeys, say: &mut impl FnMut(String, Role)) {
    say(String::new(), Role::Text);
    let about = if side.exact { "" } else { "about " };
    say(
        format!(
            "{name}: {}, {about}{}, {about}{} more than once, {} with NULL",
            count(side.rows, "row", "rows"),
            count(side.distinct, "key", "keys"),
            grouped(side.duplicate_keys),
            grouped(side.null_rows)
        ),
        Role::Header,
    );
    for group in &side.groups {
        say(format!("  {}   {}", tuple(&group.key), count(group.rows, "row", "rows")), Role::Text);
        for row in &group.shown {
            let partition = row.partition.as_deref().map_or(String::new(), |p| format!("{p} · "));
            let cells: Vec<String> =
                side.columns.iter().zip(&row.values).map(|(column, value)| format!("{column} {value}")).collect();
            say(format!("    {partition}{}", cells.join(" · ")), Role::Dim);
        }
    }
}

fn tuple(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The report as a list that can be scrolled.
pub struct KeyLines(Vec<Line>);

pub fn rows(screen: &KeysScreen, core: &Core) -> KeyLines {
    let cells = usize::from(core.size.0.saturating_sub(6));
    KeyLines(screen.load.value.as_ref().map_or(Vec::new(), |report| lines(report, cells)))
}

impl KeyLines {
    /// The first candidate's line, where the cursor starts.
    pub fn first_candidate(&self) -> usize {
        self.0.iter().position(|line| line.candidate.is_some()).unwrap_or(0)
    }
}

impl Rows for KeyLines {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column::left("").limit(400)]
    }

    fn cell(&self, row: usize, _: usize) -> Cell {
        self.0.get(row).map_or_else(|| Cell::dim(""), |line| Cell::new(line.text.clone(), line.role))
    }
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &KeysScreen, core: &Core) {
    let key = if screen.key.is_empty() { "no key yet".into() } else { format!("key {}", screen.key.join(", ")) };
    let source = screen.source.as_deref().map_or(String::new(), |s| format!(" · ⇐ {s}"));
    paint::rule(buf, area, 0, &escape_controls(&format!("{key}{source}")), &core.theme);
    match (&screen.load.value, &screen.load.failure) {
        (_, Some(failure)) => trouble(buf, below(area), failure, core),
        (None, None) => super::apply::waiting(buf, below(area), screen.load.job(), core),
        (Some(_), None) => grid::draw(buf, below(area), &rows(screen, core), &screen.grid, &core.theme, false),
    }
}
