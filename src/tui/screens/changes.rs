//! What changed between two versions, by partition and by row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::compare_rows::DiffRows;
use super::effect_pane::EffectPane;
use super::table::{below, trouble};
use crate::action::Facts;
use crate::ops::diff::DiffPartition;
use crate::plan::Effect;
use crate::table::number::{grouped, grouped_text};
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::msg::{Changes, TableInfo};
use crate::tui::shared::Core;
use crate::tui::text::{count, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    Partitions,
    Rows,
}

pub struct ChangesScreen {
    pub info: TableInfo,
    pub from: u64,
    pub to: u64,
    pub load: Load<Changes>,
    pub pane: Pane,
    pub effect: Effect,
    pub rows: EffectPane,
    pub partitions_grid: GridState,
}

/// The effects that a diff knows.
pub const EFFECTS: [Effect; 4] = [Effect::Inserted, Effect::Updated, Effect::Deleted, Effect::Unchanged];

impl ChangesScreen {
    /// From the older of the two versions to the newer one.
    pub fn new(info: TableInfo, versions: (u64, u64)) -> Self {
        Self {
            info,
            from: versions.0.min(versions.1),
            to: versions.0.max(versions.1),
            load: Load::default(),
            pane: Pane::Partitions,
            effect: Effect::Updated,
            rows: EffectPane::default(),
            partitions_grid: GridState::default(),
        }
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.has_plan = self.load.value.is_some();
        facts.on_row = match self.pane {
            Pane::Partitions => self.load.value.as_ref().is_some_and(|c| !c.partitions.is_empty()),
            Pane::Rows => !self.rows.window.is_empty(),
        };
    }

    pub fn rows_of(&self, effect: Effect) -> u64 {
        self.load.value.as_ref().map_or(0, |changes| match effect {
            Effect::Inserted => changes.rows.inserted,
            Effect::Updated => changes.rows.updated.unwrap_or(0),
            Effect::Deleted => changes.rows.deleted,
            Effect::Unchanged => changes.rows.unchanged_in_changed_files,
            Effect::Zombies | Effect::Kept | Effect::Ignored => 0,
        })
    }

    /// The first effect that has rows.
    pub fn first_effect(&self) -> Effect {
        EFFECTS.into_iter().find(|e| self.rows_of(*e) > 0).unwrap_or(Effect::Updated)
    }

    /// Lines above the lower pane, the first being the heading.
    fn upper(&self, (columns, rows): (u16, u16)) -> Vec<Piece> {
        let Some(changes) = &self.load.value else { return Vec::new() };
        let r = &changes.rows;
        let optional = |n: Option<u64>| n.map_or("?".into(), grouped);
        let mut totals = format!(
            " rows {} → {}   + {}   ~ {}   - {}   = {} in rewritten files",
            optional(r.before),
            optional(r.after),
            grouped(r.inserted),
            optional(r.updated),
            grouped(r.deleted),
            grouped(r.unchanged_in_changed_files)
        );
        for (word, n) in [("moved", r.moved), ("touched only", r.touched_only)] {
            if n > 0 {
                totals += &format!("   {word} {}", grouped(n));
            }
        }
        let mut lines = vec![piece(totals, Role::Text)];
        let f = &changes.files;
        let files = format!(
            " files {} in both, {} gone, {} new · {} with the same files",
            grouped(f.shared),
            grouped(f.only_from),
            grouped(f.only_to),
            count(changes.unchanged_partitions, "partition", "partitions")
        );
        lines.push(piece(files, Role::Dim));
        if changes.rows.inserted + changes.rows.deleted + changes.rows.updated.unwrap_or(0) == 0 {
            lines.push(piece(" the rows are the same", Role::Ok));
        }
        let most = if rows < 30 { 3 } else { 8 };
        let texts = changes.schema.iter().chain(&changes.notes);
        let cells = usize::from(columns.saturating_sub(5));
        let said = texts.flat_map(|text| wrap(&escape_controls(text), cells)).take(most);
        lines.extend(said.map(|line| piece(format!(" ! {line}"), Role::Warn)));
        lines
    }

    /// Rows of the lower pane's list.
    pub fn list_height(&self, core: &Core) -> usize {
        // Title, heading, status, footer, the pane's rule, the list's header.
        usize::from(core.size.1).saturating_sub(6 + self.upper(core.size).len()).max(1)
    }
}

pub fn title(screen: &ChangesScreen) -> String {
    format!("{} · v{} → v{}", escape_controls(&screen.info.name), screen.from, screen.to)
}

fn heading(screen: &ChangesScreen) -> String {
    let Some(changes) = &screen.load.value else {
        return format!("what changed from v{} to v{}", screen.from, screen.to);
    };
    let key = if changes.key.is_empty() { "no key".into() } else { format!("key {}", changes.key.join(", ")) };
    let ignored = match changes.ignore.is_empty() {
        true => String::new(),
        false => format!(" · {} ignored", changes.ignore.join(", ")),
    };
    format!("{} · {}{}", count(changes.partitions.len() as u64, "partition", "partitions"), key, ignored)
}

fn pane_title(screen: &ChangesScreen) -> String {
    let chosen = |name: String, on: bool| if on { format!("[{name}]") } else { name };
    let mut parts = vec![chosen("partitions".into(), screen.pane == Pane::Partitions)];
    for effect in EFFECTS {
        let on = screen.pane == Pane::Rows && screen.effect == effect;
        // Without a key no row is the same row with other values.
        let keyless = screen.load.value.as_ref().is_some_and(|c| c.rows.updated.is_none());
        let rows = match effect {
            Effect::Updated if keyless => "?".into(),
            _ => grouped(screen.rows_of(effect)),
        };
        parts.push(chosen(format!("{} {rows}", effect.mark().1), on));
    }
    parts.join(" ")
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &ChangesScreen, core: &Core) {
    let theme = &core.theme;
    paint::rule(buf, area, 0, &escape_controls(&heading(screen)), theme);
    if let Some(failure) = &screen.load.failure {
        trouble(buf, below(area), failure, core);
        return;
    }
    let Some(changes) = &screen.load.value else {
        super::apply::waiting(buf, below(area), screen.load.job(), core);
        return;
    };
    let upper = screen.upper(core.size);
    let height = 1 + upper.len() as u16;
    for (row, line) in upper.into_iter().enumerate() {
        paint::line(buf, area, 1 + row as u16, &[line], theme);
    }
    let lower = Rect { y: area.y + height, height: area.height.saturating_sub(height), ..area };
    if lower.height == 0 {
        return;
    }
    paint::rule(buf, lower, 0, &pane_title(screen), theme);
    let body = below(lower);
    let say = |buf: &mut Buffer, text: String| paint::line(buf, body, 0, &[piece(text, Role::Dim)], theme);
    match screen.pane {
        Pane::Partitions if changes.partitions.is_empty() => say(buf, "   both versions have the same files".into()),
        Pane::Partitions => {
            grid::draw(buf, body, &ChangedPartitions::new(changes), &screen.partitions_grid, theme, false);
        }
        Pane::Rows => match &screen.rows.load.failure {
            Some(failure) => trouble(buf, body, failure, core),
            None if screen.rows_of(screen.effect) == 0 => say(buf, format!("   no rows: {}", screen.effect.name())),
            None if screen.rows.window.is_empty() => say(buf, "   reading rows …".into()),
            None => grid::draw(buf, body, &DiffRows::of_versions(screen), &screen.rows.grid, theme, false),
        },
    }
}

/// The partitions that differ, by typed value.
pub struct ChangedPartitions<'a> {
    partitions: &'a [DiffPartition],
    measures: Vec<&'a str>,
}

impl<'a> ChangedPartitions<'a> {
    pub fn new(changes: &'a Changes) -> Self {
        let mut measures: Vec<&str> =
            changes.partitions.iter().flat_map(|p| p.measure_changes.keys().map(String::as_str)).collect();
        measures.sort_unstable();
        measures.dedup();
        Self { partitions: &changes.partitions, measures }
    }
}

const FIXED: [&str; 6] = ["before", "after", "+", "~", "-", "="];

impl Rows for ChangedPartitions<'_> {
    fn len(&self) -> usize {
        self.partitions.len()
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::left("partition")];
        columns.extend(FIXED.map(Column::right));
        columns.extend(self.measures.iter().map(|name| Column::right(format!("Δ {}", escape_controls(name)))));
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let Some(p) = self.partitions.get(row) else { return Cell::dim("") };
        let (number, role) = match column {
            0 => return Cell::text(p.label.clone()),
            1 => (Some(p.before), Role::Text),
            2 => (Some(p.after), Role::Text),
            3 => (Some(p.inserted), Role::Insert),
            4 => (p.updated, Role::Update),
            5 => (Some(p.deleted), Role::Delete),
            6 => (Some(p.unchanged_in_changed_files), Role::Same),
            n => {
                let name = self.measures.get(n - 1 - FIXED.len());
                let sum = name.and_then(|name| p.measure_changes.get(*name)).and_then(|v| v.as_str());
                return sum.map_or_else(|| Cell::dim("0"), |text| Cell::new(grouped_text(text), Role::Update));
            }
        };
        match number {
            Some(0) => Cell::dim("0"),
            Some(n) => Cell::new(grouped(n), role),
            None => Cell::dim("?"),
        }
    }
}
