//! How the table is, and what each thing would cost to mend.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{TableScreen, below, freshness, placeholder, trouble};
use crate::ops::Health;
use crate::ops::health::Finding;
use crate::table::duration::span_text;
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::shared::Core;
use crate::tui::text::{fit, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::bar;
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, Default)]
pub struct HealthTab {
    pub load: Load<Health>,
    pub grid: GridState,
}

/// Lines above the findings.
const HEAD: u16 = 7;
/// Lines below them: the message of the finding under the cursor.
const FOOT: u16 = 5;

/// What mends a finding here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    Optimize,
    Vacuum,
    /// Other partition columns: the wizard.
    Layouts,
}

impl Mend {
    pub fn of(finding: &str) -> Option<Mend> {
        match finding {
            "small-files" | "deletion-vectors" => Some(Mend::Optimize),
            "tombstones" | "left-overs" | "change-data" => Some(Mend::Vacuum),
            "skew" | "gaps" => Some(Mend::Layouts),
            _ => None,
        }
    }

    pub fn writes(self) -> bool {
        self != Mend::Layouts
    }

    fn words(self) -> &'static str {
        match self {
            Mend::Optimize => "⏎ plans an optimize",
            Mend::Vacuum => "⏎ plans a vacuum",
            Mend::Layouts => "⏎ tries other layouts",
        }
    }
}

impl HealthTab {
    pub fn selected(&self) -> Option<&Finding> {
        self.load.value.as_ref()?.findings.get(self.grid.cursor)
    }
}

/// Files too small that no optimize can put together: each is alone in its
/// partition. Only other partition columns help.
fn lonely(h: &Health) -> bool {
    let mended = h.findings.iter().any(|f| f.name.contains("small"));
    h.partitions > 1 && !mended && h.small_files.saturating_mul(2) > h.files
}

pub struct Findings<'a>(Option<&'a Health>);

impl Rows for Findings<'_> {
    fn len(&self) -> usize {
        self.0.map_or(0, |h| h.findings.len())
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::left("finding").limit(18),
            Column::right("rewrites"),
            Column::right("frees"),
            Column::left("mend").limit(30),
        ]
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let Some(finding) = self.0.and_then(|h| h.findings.get(row)) else { return Cell::dim("") };
        let size = |n: Option<u64>| n.map_or_else(|| Cell::dim("–"), |n| Cell::text(bytes(n)));
        match column {
            0 => Cell::new(finding.name.clone(), Role::Warn),
            1 => size(finding.rewrite_bytes),
            2 => size(finding.frees_bytes),
            _ => match Mend::of(&finding.name) {
                Some(Mend::Vacuum) if finding.mend.is_none() => Cell::dim("not yet: retained"),
                Some(mend) => Cell::text(mend.words()),
                None => Cell::dim("–"),
            },
        }
    }
}

pub fn rows(tab: &HealthTab) -> Findings<'_> {
    Findings(tab.load.value.as_ref())
}

/// Rows of findings that fit.
pub fn list_height(core: &Core) -> usize {
    core.list_height().saturating_sub(usize::from(HEAD + FOOT)).max(1)
}

fn fact(name: &str, value: String, share: Option<(u64, u64)>) -> Vec<Piece> {
    let mut pieces = vec![piece(format!("   {name:<22}"), Role::Dim), piece(format!("{value:<34}"), Role::Text)];
    if let Some((part, whole)) = share {
        pieces.push(piece(bar(part, whole, 16, false), Role::Bar));
    }
    pieces
}

fn head(h: &Health) -> Vec<Vec<Piece>> {
    let spread = |s: Option<crate::plan::layouts::Spread>, text: fn(u64) -> String| {
        s.map_or_else(|| "?".into(), |s| format!("{} / {} / {}", text(s.min), text(s.median), text(s.max)))
    };
    let small = format!("{} of {} below {}", grouped(h.small_files), grouped(h.files), bytes(h.small_file_bytes));
    let skew = h.skew.map_or_else(|| "?".into(), |s| format!("{s:.1} × the middle partition"));
    let stones = format!("{} still there, {}", grouped(h.tombstones), bytes(h.tombstone_bytes));
    let old =
        format!("{} older than {}, {}", grouped(h.vacuum_files), span_text(h.retention_ms), bytes(h.vacuum_bytes));
    vec![
        fact("small files", small, Some((h.small_files, h.files))),
        fact("partition min/med/max", spread(h.partition_bytes, bytes), None),
        fact("largest", skew, None),
        fact(
            "deletion vectors",
            format!("{} rows in {} files", grouped(h.deletion_vector_rows), grouped(h.deletion_vector_files)),
            Some((h.deletion_vector_files, h.files)),
        ),
        fact("removed files", stones, Some((h.tombstone_bytes, h.bytes + h.tombstone_bytes))),
        fact("VACUUM would take", old, Some((h.vacuum_bytes, h.bytes + h.vacuum_bytes))),
    ]
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, core: &Core) {
    let tab = &screen.health;
    let Some(info) = &screen.info.value else { return };
    let heading = match &tab.load.value {
        Some(h) if h.findings.is_empty() && lonely(h) => "small files that no optimize can join".to_owned(),
        Some(h) if h.findings.is_empty() => "nothing needs mending".to_owned(),
        Some(h) => crate::tui::text::count(h.findings.len() as u64, "finding", "findings"),
        None => "health".into(),
    };
    paint::rule(buf, area, 0, &format!("{heading}{}", freshness(&tab.load, info, core)), &core.theme);
    let body = below(area);
    if let Some(failure) = &tab.load.failure {
        trouble(buf, body, failure, core);
        return;
    }
    let Some(health) = &tab.load.value else {
        placeholder(buf, body, core);
        return;
    };
    for (row, line) in (0..).zip(head(health)) {
        paint::line(buf, body, row, &line, &core.theme);
    }
    if lonely(health) {
        let said = "→ the small files are alone in their partitions: W tries other layouts";
        paint::line(buf, body, HEAD - 1, &[piece(format!("   {said}"), Role::Warn)], &core.theme);
    }
    if health.findings.is_empty() {
        return;
    }
    let list = Rect { y: body.y + HEAD, height: body.height.saturating_sub(HEAD + FOOT), ..body };
    grid::draw(buf, list, &rows(tab), &tab.grid, &core.theme, tab.load.is_stale());
    let Some(finding) = health.findings.get(tab.grid.cursor) else { return };
    let foot = Rect { y: list.bottom(), height: FOOT.min(body.height), ..body };
    paint::rule(buf, foot, 0, &finding.name, &core.theme);
    let cells = usize::from(foot.width.saturating_sub(4));
    let mut lines: Vec<(String, Role)> = Vec::new();
    lines.extend(wrap(&escape_controls(&finding.message), cells).into_iter().map(|l| (l, Role::Text)));
    match &finding.mend {
        _ if finding.name == "gaps" => {
            lines.push(("c fills a gap from a source; coarser partitions have fewer".into(), Role::Dim));
        }
        Some(command) => {
            let command = fit(&escape_controls(command), cells.saturating_sub(15));
            lines.push((format!("command line: {command}"), Role::Dim));
        }
        None => {}
    }
    for (row, (line, role)) in (1..).zip(lines) {
        paint::line(buf, foot, row, &[piece(format!("   {line}"), role)], &core.theme);
    }
}
