//! The wizard before a switch of partition columns: layouts as rows, what each
//! would mean, and what it would break.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{below, trouble};
use crate::action::Facts;
use crate::ops::LayoutReport;
use crate::plan::layouts::breakers::Breaker;
use crate::plan::layouts::{Candidate, Numbers, Origin, Spread};
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{count, fit, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::{bar, level};
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint::{self, Piece, piece};

/// What the exact pass over one layout found.
#[derive(Debug, Clone, PartialEq)]
pub struct Looked {
    pub candidate: Candidate,
    pub breakers: Vec<Breaker>,
}

pub struct LayoutsScreen {
    pub info: TableInfo,
    pub load: Load<LayoutReport>,
    pub grid: GridState,
    /// The layout that was looked at exactly, last.
    pub looked: Load<Looked>,
}

impl LayoutsScreen {
    pub fn new(info: TableInfo) -> Self {
        Self { info, load: Load::default(), grid: GridState::default(), looked: Load::default() }
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.on_row = self.selected().is_some_and(|c| c.origin != Origin::Today);
        facts.has_plan = self.is_looked_at();
    }

    pub fn selected(&self) -> Option<&Candidate> {
        self.load.value.as_ref()?.candidates.get(self.grid.cursor)
    }

    /// Whether the exact numbers of the layout under the cursor are there.
    pub fn is_looked_at(&self) -> bool {
        let of = self.looked.value.as_ref().map(|l| &l.candidate.by);
        of.is_some() && self.selected().map(|c| &c.by) == of
    }

    /// Takes the exact pass over: its row has exact numbers from now on.
    pub fn took(&mut self, looked: Looked) {
        let Some(report) = &mut self.load.value else { return };
        if let Some(row) = report.candidates.iter_mut().find(|c| c.by == looked.candidate.by) {
            let origin = row.origin;
            *row = Candidate { origin, ..looked.candidate };
        }
    }

    fn today(&self) -> Option<&Candidate> {
        self.load.value.as_ref()?.candidates.iter().find(|c| c.origin == Origin::Today)
    }
}

pub fn title(screen: &LayoutsScreen) -> String {
    format!("{} @ v{} · partition columns", escape_controls(&screen.info.name), screen.info.version)
}

pub struct Table<'a>(Option<&'a LayoutReport>);

pub fn rows(screen: &LayoutsScreen) -> Table<'_> {
    Table(screen.load.value.as_ref())
}

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.0.map_or(0, |r| r.candidates.len())
    }

    fn columns(&self) -> Vec<Column> {
        let queries = self.0.map_or(0, |r| r.queries.len() as u64);
        let mut columns = vec![
            Column::left("candidate").limit(26),
            Column::right("parts"),
            Column::right("rows min/med/max"),
            Column::right("skew"),
            Column::right("small"),
        ];
        if queries > 0 {
            columns.push(Column::right(format!("our {} read", count(queries, "query", "queries"))));
        }
        columns.extend([Column::right("files"), Column::right("size min/med/max"), Column::right("NULLs")]);
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let Some(report) = self.0 else { return Cell::dim("") };
        let Some(c) = report.candidates.get(row) else { return Cell::dim("") };
        let asked = usize::from(!report.queries.is_empty());
        let n = &c.numbers;
        let about = if n.exact { "" } else { "~" };
        match column {
            0 => {
                let star = if report.recommended == Some(row) { "★ " } else { "" };
                let today = if c.origin == Origin::Today { " (today)" } else { "" };
                let role = if star.is_empty() { Role::Text } else { Role::Accent };
                Cell::new(format!("{star}{}{today}", escape_controls(&c.label)), role)
            }
            1 => {
                let over = c.concerns.iter().any(|s| s.contains("partitions: more than"));
                let sign = if n.at_least { "≥ " } else { about };
                Cell::new(format!("{sign}{}", grouped(n.partitions)), if over { Role::Error } else { Role::Text })
            }
            2 => Cell::text(spread(n.rows, about, grouped)),
            3 => Cell::text(n.skew.map_or_else(|| "?".into(), |s| format!("{about}{s:.1}"))),
            4 => small(n),
            5 if asked == 1 => {
                let read = c.reads();
                let about = if read.exact { "" } else { "~" };
                let files = count(read.files, "file", "files");
                Cell::text(format!("{about}{files} {about}{}", bytes(read.bytes)))
            }
            at if at == 5 + asked => Cell::dim(format!("{about}{}", grouped(n.files))),
            at if at == 6 + asked => Cell::dim(spread(n.bytes, about, bytes)),
            _ => Cell::dim(format!("{about}{}", grouped(n.nulls))),
        }
    }
}

fn small(n: &Numbers) -> Cell {
    match n.small_share() {
        None => Cell::dim("?"),
        Some(share) if share > 0.5 => Cell::new(format!("{:.0} %", share * 100.0), Role::Warn),
        Some(share) if share > 0.0 => Cell::text(format!("{:.0} %", share * 100.0)),
        Some(_) => Cell::new("–", Role::Ok),
    }
}

fn spread(sizes: Option<Spread>, about: &str, text: fn(u64) -> String) -> String {
    match sizes {
        None => "?".into(),
        Some(s) if s.min == s.max => format!("{about}{}", text(s.max)),
        Some(s) => format!("{about}{} / {} / {}", text(s.min), text(s.median), text(s.max)),
    }
}

/// Lines below the candidates.
fn foot_height(core: &Core) -> usize {
    (core.list_height() / 2).clamp(9, 16)
}

pub fn list_height(core: &Core) -> usize {
    core.list_height().saturating_sub(foot_height(core)).max(3)
}

fn heading(screen: &LayoutsScreen) -> String {
    let today = screen.info.metadata.partition_columns.join(", ");
    let today = if today.is_empty() { "none".to_owned() } else { today };
    let Some(c) = screen.selected() else { return format!("by {today} → ?") };
    let n = &c.numbers;
    if n.rewrite_bytes == 0 {
        return format!("by {today}: nothing to rewrite");
    }
    let extra = n.extra_bytes();
    let about = if extra.measured && extra.is_narrow() { "" } else { "~" };
    let range = match extra.measured && !extra.is_narrow() {
        true => format!("{} … {}", bytes(extra.low), bytes(extra.high)),
        false => format!("{about}{}", bytes(extra.middle())),
    };
    format!("by {today} → {} · {} to rewrite, +{range} until VACUUM", escape_controls(&c.label), bytes(n.rewrite_bytes))
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &LayoutsScreen, core: &Core) {
    paint::rule(buf, area, 0, &heading(screen), &core.theme);
    let body = below(area);
    match (&screen.load.value, &screen.load.failure) {
        (_, Some(failure)) => trouble(buf, body, failure, core),
        (None, None) => super::apply::waiting(buf, body, screen.load.job(), core),
        (Some(report), None) => {
            let foot = u16::try_from(foot_height(core)).unwrap_or(9).min(body.height);
            let list = Rect { height: body.height.saturating_sub(foot), ..body };
            grid::draw(buf, list, &rows(screen), &screen.grid, &core.theme, screen.load.is_stale());
            let below = Rect { y: list.bottom(), height: foot, ..body };
            detail(buf, below, screen, report, core);
        }
    }
}

/// What the layout under the cursor would mean, beside today's.
fn detail(buf: &mut Buffer, area: Rect, screen: &LayoutsScreen, report: &LayoutReport, core: &Core) {
    let theme = &core.theme;
    let cells = usize::from(area.width.saturating_sub(4));
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    if let (Some(today), Some(c)) = (screen.today(), screen.selected()) {
        lines.extend(strips(&today.numbers, &c.numbers, cells));
        if !report.queries.is_empty() {
            lines.extend(reads(today, c, cells));
        }
        let mut say = |mark: &str, text: &str, role: Role| {
            for (i, part) in wrap(&escape_controls(text), cells.saturating_sub(2)).into_iter().enumerate() {
                let mark = if i == 0 { mark } else { " " };
                lines.push(vec![piece(format!("   {mark} {part}"), role)]);
            }
        };
        if let Some(expression) = c.by.columns.iter().find_map(|b| b.expression.as_ref().map(|e| (e, &b.name))) {
            say("·", &format!("{} = {}", expression.1, expression.0), Role::Dim);
        }
        if screen.is_looked_at() {
            let found = screen.looked.value.as_ref().map_or(&[][..], |l| &l.breakers);
            for breaker in found {
                let (mark, role) = if breaker.danger { ("✘", Role::Error) } else { ("!", Role::Warn) };
                say(mark, &breaker.line(), role);
            }
            if found.is_empty() {
                say("✔", "no writer of the history would break", Role::Ok);
            }
        }
        for concern in &c.concerns {
            say("!", concern, Role::Warn);
        }
        if screen.looked.is_loading() {
            say(core.spinner(), "counting every row of the chosen layout …", Role::Accent);
        } else if let Some(failure) = &screen.looked.failure {
            say("✘", &failure.message, Role::Error);
        }
    }
    paint::rule(buf, area, 0, "", theme);
    let advice = wrap(&escape_controls(&report.because), cells.saturating_sub(2));
    let mut row = 1;
    for (i, part) in advice.into_iter().take(2).enumerate() {
        let mark = if i == 0 { "★" } else { " " };
        paint::line(buf, area, row, &[piece(format!(" {mark} {part}"), Role::Accent)], theme);
        row += 1;
    }
    for line in lines {
        paint::line(buf, area, row, &line, theme);
        row += 1;
    }
    for rule in &report.advice {
        for part in wrap(&escape_controls(rule), cells.saturating_sub(2)) {
            paint::line(buf, area, row, &[piece(format!("     {part}"), Role::Dim)], theme);
            row += 1;
        }
    }
}

/// Files as they are and as they would be: one mark a file, as high as the file
/// is large beside the larger kind.
fn strips(before: &Numbers, after: &Numbers, cells: usize) -> Vec<Vec<Piece>> {
    let size = |n: &Numbers| n.bytes_after.middle() / n.files.max(1);
    let (old, new) = (size(before), size(after));
    let largest = old.max(new).max(1);
    let strip = |name: &str, n: &Numbers, each: u64| {
        let about = if n.exact { "" } else { "~" };
        let said = format!("{about}{} of {about}{}", count(n.files, "file", "files"), bytes(each));
        let room = cells.saturating_sub(36).max(8);
        let shown = usize::try_from(n.files).unwrap_or(usize::MAX).min(room);
        let marks: String = std::iter::repeat_n(level(each, largest), shown).collect();
        let more = if n.files > shown as u64 { "…" } else { "" };
        vec![
            piece(format!("   {name:<8}"), Role::Dim),
            piece(format!("{marks}{more}"), Role::Bar),
            piece(format!("  {said}"), Role::Text),
        ]
    };
    vec![strip("before", before, old), strip("after", after, new)]
}

/// Bytes that all queries read, before and after.
fn reads(today: &Candidate, c: &Candidate, cells: usize) -> Vec<Vec<Piece>> {
    let (old, new) = (today.reads(), c.reads());
    let most = old.bytes.max(new.bytes);
    let room = cells.saturating_sub(44).clamp(8, 30);
    let line = |name: &str, read: crate::plan::layouts::QueryRead| {
        let about = if read.exact { "" } else { "~" };
        let said = format!("{about}{}, {about}{}", count(read.files, "file", "files"), bytes(read.bytes));
        let role = if read.bytes > old.bytes { Role::Warn } else { Role::Bar };
        vec![
            piece(format!("   {name:<8}"), Role::Dim),
            piece(fit(&bar(read.bytes, most, room, false), room), role),
            piece(format!("  {said}"), Role::Text),
        ]
    };
    vec![line("queries", old), line("     →", new)]
}
