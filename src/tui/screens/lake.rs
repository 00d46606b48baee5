//! The lake: the tables that were found, and one of them at a glance.

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Facts;
use crate::ops::TableSummary;
use crate::ops::discover::SummaryFacts;
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::core::Core;
use crate::tui::msg::{Clock, Failure, JobId};
use crate::tui::text::{ago, fit};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::sparkline;
use crate::tui::widgets::grid::{self, Cell, Column, Rows};
use crate::tui::widgets::list::List;
use crate::tui::widgets::paint::{self, piece};

#[derive(Debug, Clone, Default)]
pub struct LakeScreen {
    pub targets: Vec<String>,
    pub tables: Vec<TableSummary>,
    pub list: List,
    /// Jobs that are still looking for tables.
    pub jobs: Vec<JobId>,
    /// Locations that this search has found so far.
    pub seen: HashSet<String>,
    /// When the search began.
    pub started: Clock,
    /// Why a place could not be looked at.
    pub failure: Option<Failure>,
}

const NAME: usize = 0;
const ROWS: usize = 1;
const SIZE: usize = 2;
const PARTITIONS: usize = 3;
const LAST: usize = 4;

/// The pane on the right appears from this width on.
const WITH_PANE: u16 = 100;

impl LakeScreen {
    pub fn new(targets: Vec<String>) -> Self {
        let mut list = List::default();
        // Tables arrive in the order in which storage lists them.
        list.grid.sort = Some((NAME, false));
        Self { targets, list, ..Self::default() }
    }

    pub fn selected(&self) -> Option<&TableSummary> {
        self.tables.get(self.list.selected()?)
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.on_row = self.selected().is_some();
        facts.table_known = self.selected().is_some_and(|t| t.facts.is_ok());
        facts.sortable = true;
        facts.filterable = true;
    }

    /// Sorts and filters anew, and keeps the cursor on its table.
    pub fn arrange(&mut self) {
        // Until the cursor is moved it stays on the first row, whatever comes in there.
        let kept = self.selected().filter(|_| self.list.grid.cursor > 0).map(|t| t.location.clone());
        let needle = self.list.filter.to_lowercase();
        let tables = &self.tables;
        let known = |row: usize| tables[row].facts.as_ref().ok();
        self.list.arrange(
            tables.len(),
            |row| needle.is_empty() || tables[row].name.to_lowercase().contains(&needle),
            |column, a, b| match column {
                ROWS => known(a).map(|f| f.rows.known).cmp(&known(b).map(|f| f.rows.known)),
                SIZE => known(a).map(|f| f.bytes).cmp(&known(b).map(|f| f.bytes)),
                PARTITIONS => known(a).map(|f| f.partitions.len()).cmp(&known(b).map(|f| f.partitions.len())),
                LAST => known(a).map(|f| f.last_commit).cmp(&known(b).map(|f| f.last_commit)),
                _ => tables[a].name.cmp(&tables[b].name),
            },
        );
        if let Some(row) = kept.and_then(|k| self.tables.iter().position(|t| t.location == k)) {
            self.list.select(row);
        }
    }
}

pub struct Table<'a> {
    screen: &'a LakeScreen,
    now_ms: i64,
}

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.screen.list.len()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::left("name"),
            Column::right("rows"),
            Column::right("size"),
            Column::right("parts"),
            Column::right("last"),
            Column::left("").limit(60),
        ]
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let table = &self.screen.tables[self.screen.list.order[row]];
        let facts = match (&table.facts, column) {
            (_, NAME) => return Cell::text(escape_controls(&table.name)),
            (Ok(facts), _) => facts,
            (Err(why), ROWS) if why.is_empty() => return Cell::dim("…"),
            (Err(why), 5) if !why.is_empty() => return Cell::new(format!("✘ {}", escape_controls(why)), Role::Error),
            _ => return Cell::dim(""),
        };
        match column {
            ROWS => Cell::text(facts.rows.to_string()),
            SIZE => Cell::text(bytes(facts.bytes)),
            PARTITIONS if facts.partition_columns.is_empty() => Cell::dim("–"),
            PARTITIONS => Cell::text(grouped(facts.partitions.len() as u64)),
            LAST => Cell::dim(ago(facts.last_commit, self.now_ms)),
            _ if !facts.gaps.is_empty() => Cell::new("▲ gap", Role::Warn),
            _ => Cell::dim(""),
        }
    }
}

pub fn rows<'a>(screen: &'a LakeScreen, core: &Core) -> Table<'a> {
    Table { screen, now_ms: core.clock.wall_ms }
}

pub fn title(screen: &LakeScreen) -> String {
    let places = if screen.targets.is_empty() { ".".into() } else { screen.targets.join("  ") };
    format!("partwise  {}", escape_controls(&places))
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &LakeScreen, core: &Core) {
    let found = screen.tables.len();
    let heading = if screen.list.filter.is_empty() {
        format!("tables · {found}")
    } else {
        format!("{} of {found} tables · filter: {}", screen.list.len(), screen.list.filter)
    };
    paint::rule(buf, area, 0, &heading, &core.theme);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let side = if area.width >= WITH_PANE { (area.width * 2 / 5).min(44) } else { 0 };
    let left = Rect { width: body.width - side, ..body };
    if let Some(failure) = screen.failure.as_ref().filter(|_| screen.tables.is_empty()) {
        super::table::trouble(buf, left, failure, core);
        return;
    }
    if screen.tables.is_empty() {
        let searching = !screen.jobs.is_empty();
        let text = if searching { "looking for tables …" } else { "No Delta tables were found here." };
        paint::line(buf, left, 1, &[piece(format!("   {text}"), Role::Dim)], &core.theme);
        if !searching {
            let hint = "   partwise demo makes a lake to try things on.";
            paint::line(buf, left, 2, &[piece(hint, Role::Dim)], &core.theme);
        }
        return;
    }
    grid::draw(buf, left, &rows(screen, core), &screen.list.grid, &core.theme, false);
    if side > 0 {
        let pane = Rect { x: left.right() + 2, width: side - 2, ..body };
        for y in body.top()..body.bottom() {
            paint::put(buf, left.right(), y, 1, "│", core.theme.style(Role::Border));
        }
        if let Some(summary) = screen.selected() {
            glance(buf, pane, summary, core);
        }
    }
}

/// The pane on the right: one table at a glance.
fn glance(buf: &mut Buffer, area: Rect, summary: &TableSummary, core: &Core) {
    let theme = &core.theme;
    paint::line(buf, area, 0, &[piece(escape_controls(&summary.name), Role::Accent)], theme);
    let facts = match &summary.facts {
        Ok(facts) => facts,
        Err(why) if why.is_empty() => {
            paint::line(buf, area, 2, &[piece("reading …", Role::Dim)], theme);
            return;
        }
        Err(why) => {
            for (i, line) in crate::tui::text::wrap(&escape_controls(why), usize::from(area.width)).iter().enumerate() {
                paint::line(buf, area, 2 + i as u16, &[piece(line.clone(), Role::Error)], theme);
            }
            return;
        }
    };
    let mut row = 2;
    let mut add = |text: String, role: Role| {
        paint::line(buf, area, row, &[piece(text, role)], theme);
        row += 1;
    };
    if facts.partition_columns.is_empty() {
        add("not partitioned".into(), Role::Text);
    } else {
        add(format!("partitioned by {}", facts.partition_columns.join(", ")), Role::Text);
    }
    let operation = facts.last_operation.as_deref().unwrap_or("?");
    let age = ago(facts.last_commit, core.clock.wall_ms);
    add(format!("version {} · {} · {age} ago", facts.version, escape_controls(operation)), Role::Text);
    add(format!("{} rows · {} · {} files", facts.rows, bytes(facts.bytes), grouped(facts.files)), Role::Text);
    if !facts.partition_columns.is_empty() {
        add(span(facts, usize::from(area.width)), Role::Text);
        let rows: Vec<u64> = facts.partitions.iter().map(|p| p.rows.known).collect();
        add(String::new(), Role::Text);
        add("rows by partition".into(), Role::Dim);
        add(sparkline(&rows, usize::from(area.width)), Role::Bar);
        add(String::new(), Role::Text);
        match facts.gaps.as_slice() {
            [] => add("no gaps".into(), Role::Dim),
            gaps => {
                add(
                    format!("▲ {} without a partition", crate::tui::text::count(gaps.len() as u64, "date", "dates")),
                    Role::Warn,
                );
                for gap in gaps.iter().take(6) {
                    add(format!("  {gap}"), Role::Warn);
                }
                if gaps.len() > 6 {
                    add(format!("  … {} more", gaps.len() - 6), Role::Warn);
                }
            }
        }
    }
}

/// `12 partitions  2026001 … 2026012`.
fn span(facts: &SummaryFacts, cells: usize) -> String {
    let number = crate::tui::text::count(facts.partitions.len() as u64, "partition", "partitions");
    match (facts.partitions.first(), facts.partitions.last()) {
        (Some(first), Some(last)) if facts.partitions.len() > 1 => {
            fit(&format!("{number}  {} … {}", first.values, last.values), cells)
        }
        _ => number,
    }
}
