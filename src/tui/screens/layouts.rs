//! The wizard before a switch of partition columns: layouts as rows, what each
//! would mean, and what it would break.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{below, trouble};
use super::{layouts_detail, layouts_table};
use crate::action::Facts;
use crate::ops::{ConfigChange, LayoutReport};
use crate::plan::layouts::advice::recommend;
use crate::plan::layouts::breakers::Breaker;
use crate::plan::layouts::{Candidate, Origin};
use crate::table::number::bytes;
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::overlays::fields::Purpose;
use crate::tui::shared::Core;
use crate::tui::text::{fit, width};
use crate::tui::widgets::grid::{self, GridState};
use crate::tui::widgets::paint;
use crate::tui::wish::Wish;

/// One layout and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub wish: Wish,
    pub candidate: Candidate,
    /// What it would break; `None` until it was counted exactly.
    pub breakers: Option<Vec<Breaker>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    List,
    /// What the layout under the cursor would mean.
    Detail,
}

pub struct LayoutsScreen {
    pub info: TableInfo,
    pub load: Load<LayoutReport>,
    /// Today's layout, the proposed ones, the person's own.
    pub rows: Vec<Row>,
    pub grid: GridState,
    pub pane: Pane,
    /// The first line shown in the lower pane.
    pub top: usize,
    /// The exact pass over one layout.
    pub counting: Load<()>,
    /// The layout that is counted, or was last.
    pub counted: Option<Wish>,
    /// The person's next own layout is on its way.
    pub adding: Load<()>,
    /// Conditions of this session, beside those of the config.
    pub queries: Vec<String>,
    /// What saving the queries would do to the config file.
    pub change: Load<ConfigChange>,
    /// What was typed into a dialog that was left, or that asked in vain.
    pub typed: Option<(Purpose, Vec<String>)>,
}

/// Lines of the lower pane while the list has the keys.
const LEAST_DETAIL: usize = 9;
/// Lines of the list, with its header, while the lower pane has the keys.
const LEAST_LIST: usize = 5;

impl LayoutsScreen {
    pub fn new(info: TableInfo) -> Self {
        Self {
            info,
            load: Load::default(),
            rows: Vec::new(),
            grid: GridState::default(),
            pane: Pane::List,
            top: 0,
            counting: Load::default(),
            counted: None,
            adding: Load::default(),
            queries: Vec::new(),
            change: Load::default(),
            typed: None,
        }
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.on_row = self.selected().is_some_and(|row| row.candidate.origin != Origin::Today);
        facts.has_plan = facts.on_row && self.is_counted();
        facts.table_known = self.load.value.is_some();
        facts.unsaved = self.queries.iter().any(|q| !self.info.settings.known.queries.contains(q));
    }

    /// The config's queries, and those of this session.
    pub fn all_queries(&self) -> Vec<String> {
        let known = &self.info.settings.known.queries;
        known.iter().chain(self.queries.iter().filter(|q| !known.contains(q))).cloned().collect()
    }

    pub fn in_list(&self) -> bool {
        self.pane == Pane::List
    }

    pub fn selected(&self) -> Option<&Row> {
        self.rows.get(self.grid.cursor)
    }

    /// Whether the exact numbers of the layout under the cursor are there.
    pub fn is_counted(&self) -> bool {
        self.selected().is_some_and(|row| row.breakers.is_some())
    }

    pub fn today(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.candidate.origin == Origin::Today)
    }

    /// The person's own layouts.
    pub fn own(&self) -> Vec<Wish> {
        let own = self.rows.iter().filter(|row| row.candidate.origin == Origin::Given);
        own.map(|row| row.wish.clone()).collect()
    }

    /// Takes a report over. What was counted stays counted: it is of the same
    /// version; only what the queries read is new.
    pub fn take(&mut self, report: &LayoutReport, own: Vec<Row>) {
        let fresh =
            report.candidates.iter().map(|c| Row { wish: Wish::of(&c.by), candidate: c.clone(), breakers: None });
        let mut rows: Vec<Row> = fresh.chain(own).collect();
        for row in &mut rows {
            let counted = |old: &&Row| old.wish == row.wish && old.breakers.is_some();
            if let Some(old) = self.rows.iter().find(counted) {
                let queries = std::mem::take(&mut row.candidate.queries);
                row.candidate = Candidate { queries, ..old.candidate.clone() };
                row.breakers = old.breakers.clone();
            }
        }
        self.rows = rows;
    }

    /// Takes one layout that was tried: its row has its numbers from now on.
    /// Gives back where it is.
    pub fn took(&mut self, tried: Row) -> usize {
        let at = self.place(tried);
        self.recommend();
        at
    }

    /// Chooses again by the numbers that are known by now. A layout whose queries
    /// cannot be simulated is not among the chosen.
    fn recommend(&mut self) {
        let Some(report) = &mut self.load.value else { return };
        let known = |at: &usize| self.rows[*at].candidate.queries.len() == report.queries.len();
        let places: Vec<usize> = (0..self.rows.len()).filter(known).collect();
        let candidates: Vec<Candidate> = places.iter().map(|at| self.rows[*at].candidate.clone()).collect();
        let told = recommend(&candidates, report.bytes, &self.info.settings.layout);
        report.recommended = told.index.and_then(|index| places.get(index)).copied();
        report.because = told.because;
    }

    fn place(&mut self, mut tried: Row) -> usize {
        match self.rows.iter().position(|row| row.wish == tried.wish) {
            Some(at) => {
                tried.candidate.origin = self.rows[at].candidate.origin;
                let known = self.rows[at].breakers.is_some() && tried.breakers.is_none();
                if !known {
                    self.rows[at] = tried;
                }
                at
            }
            None => {
                self.rows.push(tried);
                self.rows.len() - 1
            }
        }
    }

    /// Lines of the list with its header, and of the pane below with its rule.
    fn heights(&self, core: &Core) -> (usize, usize) {
        // All but title, heading, status and footer.
        let body = usize::from(core.size.1.saturating_sub(4));
        let wanted = self.rows.len() + 1;
        let list = match self.pane {
            Pane::List => wanted.min(body.saturating_sub(LEAST_DETAIL)),
            Pane::Detail => wanted.min(LEAST_LIST),
        };
        let list = list.max(2).min(body);
        (list, body - list)
    }

    pub fn list_height(&self, core: &Core) -> usize {
        self.heights(core).0.saturating_sub(1).max(1)
    }

    /// Lines of text in the lower pane.
    pub fn detail_height(&self, core: &Core) -> usize {
        self.heights(core).1.saturating_sub(1).max(1)
    }
}

pub fn title(screen: &LayoutsScreen) -> String {
    format!("{} @ v{} · partition columns", escape_controls(&screen.info.name), screen.info.version)
}

/// Both layouts, and what the switch costs; the names give way to the numbers.
fn heading(screen: &LayoutsScreen, cells: usize) -> String {
    let today = screen.info.metadata.partition_columns.join(", ");
    let today = if today.is_empty() { "none".to_owned() } else { escape_controls(&today) };
    let Some(row) = screen.selected() else { return format!("by {today} → ?") };
    let n = &row.candidate.numbers;
    if row.candidate.origin == Origin::Today {
        return format!("by {today}: as the table lies today");
    }
    let names = format!("by {today} → {}", escape_controls(&row.candidate.label));
    let extra = format!("+{} until VACUUM", n.extra_bytes().text());
    // Where both do not fit, what is rewritten stands in the pane below only.
    let full = format!(" · rewrites {}, {extra}", bytes(n.rewrite_bytes));
    let cost = if width(&names) + width(&full) <= cells { full } else { format!(" · {extra}") };
    fit(&names, cells.saturating_sub(width(&cost)).max(12)) + &cost
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &LayoutsScreen, core: &Core) {
    let cells = usize::from(area.width.saturating_sub(6));
    paint::rule(buf, area, 0, &heading(screen, cells), &core.theme);
    let body = below(area);
    match (&screen.load.value, &screen.load.failure) {
        (None, Some(failure)) => trouble(buf, body, failure, core),
        (None, None) => super::apply::waiting(buf, body, screen.load.job(), core),
        (Some(report), _) => {
            let list = u16::try_from(screen.heights(core).0).unwrap_or(2).min(body.height);
            let upper = Rect { height: list, ..body };
            let table = layouts_table::rows(screen, core.size.0);
            grid::draw(buf, upper, &table, &screen.grid, &core.theme, screen.load.is_stale());
            let lower = Rect { y: upper.bottom(), height: body.height - list, ..body };
            layouts_detail::draw(buf, lower, screen, report, core);
        }
    }
}
