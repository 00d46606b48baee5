//! One table at one version, in seven tabs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::files::FilesTab;
use super::health::HealthTab;
use super::history::HistoryTab;
use super::overview::OverviewTab;
use super::partitions::PartitionsTab;
use super::rows::RowsTab;
use super::schema::SchemaTab;
use super::{files, health, history, overview, partitions, rows, schema};
use crate::action::{Facts, Scope};
use crate::table::history::Restorable;
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::msg::{Clock, JobId, TableInfo};
use crate::tui::shared::Core;
use crate::tui::text::{ago, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    Overview,
    #[default]
    Partitions,
    Files,
    Rows,
    Schema,
    History,
    Health,
}

impl Tab {
    pub const ALL: [Tab; 7] =
        [Tab::Overview, Tab::Partitions, Tab::Files, Tab::Rows, Tab::Schema, Tab::History, Tab::Health];

    pub fn title(self) -> &'static str {
        match self {
            Tab::Overview => "Overview",
            Tab::Partitions => "Partitions",
            Tab::Files => "Files",
            Tab::Rows => "Rows",
            Tab::Schema => "Schema",
            Tab::History => "History",
            Tab::Health => "Health",
        }
    }

    pub fn scope(self) -> Scope {
        match self {
            Tab::Overview => Scope::Overview,
            Tab::Partitions => Scope::Partitions,
            Tab::Files => Scope::Files,
            Tab::Rows => Scope::Rows,
            Tab::Schema => Scope::Schema,
            Tab::History => Scope::History,
            Tab::Health => Scope::Health,
        }
    }

    /// The tab so many steps away, round and round.
    pub fn step(self, by: usize) -> Tab {
        let at = Tab::ALL.iter().position(|t| *t == self).unwrap_or(0);
        Tab::ALL[(at + by) % Tab::ALL.len()]
    }
}

#[derive(Default)]
pub struct TableScreen {
    /// What was asked to be opened; its name until the table is open.
    pub reference: String,
    /// What the lake calls it, where it was opened from there.
    pub label: Option<String>,
    pub info: Load<TableInfo>,
    /// The newest version is shown, not one from the history.
    pub at_latest: bool,
    pub tab: Tab,
    pub overview: OverviewTab,
    pub partitions: PartitionsTab,
    pub files: FilesTab,
    pub rows: RowsTab,
    pub schema: SchemaTab,
    pub history: HistoryTab,
    pub health: HealthTab,
    /// Go on to the comparison once the table is open.
    pub compare_next: bool,
}

impl TableScreen {
    pub fn new(reference: impl Into<String>) -> Self {
        Self { reference: reference.into(), at_latest: true, ..Self::default() }
    }

    /// Takes an open table over. The lake's name for it wins where it says more
    /// than the folder's name.
    pub fn opened(&mut self, mut info: TableInfo, now: Clock) {
        if let Some(label) = self.label.as_ref().filter(|label| label.ends_with(&info.name)) {
            info.name.clone_from(label);
        }
        self.info.finish(info, now);
    }

    pub fn jobs(&self) -> Vec<JobId> {
        [
            self.info.job(),
            self.partitions.load.job(),
            self.files.load.job(),
            self.rows.load.job(),
            self.history.load.job(),
            self.health.load.job(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.at_latest = self.at_latest;
        facts.table_known = self.info.value.is_some();
        facts.sortable = matches!(self.tab, Tab::Partitions | Tab::Files);
        facts.filterable = matches!(self.tab, Tab::Partitions | Tab::Files | Tab::Rows | Tab::History);
        facts.on_row = match self.tab {
            Tab::Overview => false,
            Tab::Partitions => self.partitions.list.selected().is_some(),
            Tab::Files => self.files.list.selected().is_some(),
            Tab::Rows => !self.rows.window.is_empty(),
            Tab::Schema => self.info.value.is_some(),
            Tab::History => self.history.selected().is_some(),
            Tab::Health => self.health.load.value.as_ref().is_some_and(|h| !h.findings.is_empty()),
        };
        let mend = self.health.selected().and_then(|f| health::Mend::of(&f.name));
        facts.mend_writes = mend.is_some_and(health::Mend::writes);
        facts.marked = !self.partitions.marks.is_empty();
        facts.filtered = self.history.filter.is_some();
        facts.chosen = !self.history.chosen.is_empty();
        if self.tab == Tab::History {
            let newest = self.history.load.value.as_ref().and_then(|c| c.iter().map(|c| c.version).max());
            let selected = self.history.selected();
            facts.on_newest = selected.is_some_and(|c| Some(c.version) == newest) && self.history.filter.is_none();
            facts.gone =
                selected.is_some_and(|c| matches!(c.restorable, Some(Restorable::FilesGone(_) | Restorable::LogGone)));
        }
    }
}

/// The tabs for the title line, as long as `cells` allow.
pub fn tabs(screen: &TableScreen, cells: usize) -> Vec<Piece> {
    let full: usize = Tab::ALL.iter().map(|t| t.title().len()).sum();
    let (between, short) = match cells {
        n if n >= full + 15 => (" │ ", false),
        n if n >= full + 10 => ("  ", false),
        _ => (" ", true),
    };
    let mut pieces = Vec::new();
    for (i, tab) in Tab::ALL.into_iter().enumerate() {
        if i > 0 {
            pieces.push(piece(between, Role::Border));
        }
        let current = tab == screen.tab;
        let title = if short && !current { tab.title().chars().take(4).collect() } else { tab.title().to_owned() };
        pieces.push(piece(title, if current { Role::Accent } else { Role::Dim }));
    }
    pieces
}

pub fn title(screen: &TableScreen) -> String {
    match &screen.info.value {
        Some(info) => format!("{} @ v{}", escape_controls(&info.name), info.version),
        None => escape_controls(&screen.reference),
    }
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, core: &Core) {
    let Some(info) = &screen.info.value else {
        let text = match &screen.info.failure {
            Some(failure) => {
                paint::rule(buf, area, 0, "", &core.theme);
                trouble(buf, below(area), failure, core);
                return;
            }
            None => "opening …",
        };
        paint::rule(buf, area, 0, text, &core.theme);
        return;
    };
    match screen.tab {
        Tab::Overview => overview::draw(buf, area, screen, info, core),
        Tab::Partitions => partitions::draw(buf, area, screen, info, core),
        Tab::Files => files::draw(buf, area, screen, info, core),
        Tab::Rows => rows::draw(buf, area, screen, core),
        Tab::Schema => schema::draw(buf, area, screen, info, core),
        Tab::History => history::draw(buf, area, screen, core),
        Tab::Health => health::draw(buf, area, screen, core),
    }
}

/// The area without its first line.
pub fn below(area: Rect) -> Rect {
    Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }
}

/// A failure in the place where the data would be.
pub fn trouble(buf: &mut Buffer, area: Rect, failure: &crate::tui::msg::Failure, core: &Core) {
    let cells = usize::from(area.width.saturating_sub(5));
    let mut row = 1;
    let hint = failure.hint.as_deref().unwrap_or("r tries again.");
    for (mark, text, role) in [("✘", failure.message.as_str(), Role::Error), (" ", hint, Role::Dim)] {
        for (i, line) in wrap(&escape_controls(text), cells).into_iter().enumerate() {
            let start = if i == 0 { mark } else { " " };
            paint::line(buf, area, row, &[piece(format!(" {start} {line}"), role)], &core.theme);
            row += 1;
        }
    }
}

/// Says in a rule's heading that old data is shown: `as of v31, 40 s ago`.
pub fn freshness<T>(load: &Load<T>, info: &TableInfo, core: &Core) -> String {
    if load.is_stale() {
        format!(" · as of v{}, {} ago", info.version, ago(load.loaded.wall_ms, core.clock.wall_ms))
    } else {
        String::new()
    }
}

/// Placeholder lines while the first data is on its way.
pub fn placeholder(buf: &mut Buffer, area: Rect, core: &Core) {
    for row in 1..area.height.min(7) {
        let dots = "·".repeat(usize::from(area.width.saturating_sub(8)).min(24 + 4 * usize::from(row % 3)));
        paint::line(buf, area, row, &[piece(format!("   {dots}"), Role::Border)], &core.theme);
    }
}
