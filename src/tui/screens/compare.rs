//! One source, every strategy side by side: what each would do, whether the
//! gates let it pass, and the rows behind the numbers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::effects::{self, strategy};
use super::table::{below, trouble};
use crate::action::Facts;
use crate::ops::prepare::DiffRow;
use crate::plan::advice::DeliveryKind;
use crate::plan::{Effect, GateStatus, Plan, Verdict};
use crate::table::number::grouped;
use crate::table::value::escape_controls;
use crate::tui::load::{Load, Window};
use crate::tui::msg::{Compared, Failure, TableInfo};
use crate::tui::shared::Core;
use crate::tui::text::{Align, count, fit, pad, width, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{self, GridState};
use crate::tui::widgets::paint::{self, Piece, piece, put};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    #[default]
    Rows,
    Gates,
    Partitions,
}

impl Pane {
    pub const ALL: [Pane; 3] = [Pane::Rows, Pane::Gates, Pane::Partitions];

    pub fn step(self, by: usize) -> Pane {
        let at = Pane::ALL.iter().position(|p| *p == self).unwrap_or(0);
        Pane::ALL[(at + by) % Pane::ALL.len()]
    }
}

pub struct CompareScreen {
    pub info: TableInfo,
    pub source: String,
    pub key: Vec<String>,
    pub ignore: Vec<String>,
    pub load: Load<Compared>,
    /// The chosen strategy.
    pub strategy: usize,
    pub pane: Pane,
    pub effect: Effect,
    /// The page of rows that is being read.
    pub diff: Load<()>,
    pub columns: Vec<String>,
    pub window: Window<DiffRow>,
    pub rows_grid: GridState,
    pub gates_top: usize,
    pub partitions_grid: GridState,
}

impl CompareScreen {
    pub fn new(info: TableInfo, source: String, key: Vec<String>, ignore: Vec<String>) -> Self {
        Self {
            info,
            source,
            key,
            ignore,
            load: Load::default(),
            strategy: 0,
            pane: Pane::default(),
            effect: Effect::Updated,
            diff: Load::default(),
            columns: Vec::new(),
            window: Window::default(),
            rows_grid: GridState::default(),
            gates_top: 0,
            partitions_grid: GridState::default(),
        }
    }

    pub fn plans(&self) -> &[Plan] {
        self.load.value.as_ref().map_or(&[], |c| &c.plans)
    }

    pub fn plan(&self) -> Option<&Plan> {
        self.plans().get(self.strategy)
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.has_plan = self.plan().is_some();
        facts.refused = facts.has_plan && self.possible().is_none();
        facts.no_op = self.plan().is_some_and(|p| p.verdict == Verdict::NoOp);
        facts.on_row = self.pane == Pane::Rows && !self.window.is_empty();
    }

    /// Forgets the rows shown: another effect or strategy is asked for.
    pub fn reset_rows(&mut self) {
        self.diff = Load::default();
        self.window = Window::default();
        self.rows_grid = GridState::default();
    }

    /// The chosen plan, if nothing refuses it: a refused one has no numbers.
    fn possible(&self) -> Option<&Plan> {
        self.plan().filter(|p| p.refusals.is_empty())
    }

    /// Rows of an effect in the chosen plan.
    pub fn rows_of(&self, effect: Effect) -> u64 {
        self.possible().map_or(0, |plan| match effect {
            Effect::Inserted => plan.rows.inserted,
            Effect::Updated => plan.rows.updated.unwrap_or(0),
            Effect::Unchanged => plan.rows.unchanged,
            Effect::Deleted => plan.rows.deleted,
            Effect::Zombies => plan.rows.zombies,
            Effect::Kept => plan.rows.kept,
            Effect::Ignored => plan.rows.ignored,
        })
    }

    /// Lines above the lower pane, for the number of rows that fit below.
    pub fn upper_height(&self, cells: u16) -> u16 {
        let Some(compared) = &self.load.value else { return 2 };
        let because = because(compared, cells).len();
        let lines = effects::lines(self.plans(), self.strategy).len();
        u16::try_from(2 + lines + because).unwrap_or(u16::MAX)
    }

    /// Rows of the lower pane's list.
    pub fn list_height(&self, core: &Core) -> usize {
        // Title, status, footer, the pane's rule, the list's header.
        usize::from(core.size.1.saturating_sub(5 + self.upper_height(core.size.0))).max(1)
    }
}

fn because(compared: &Compared, cells: u16) -> Vec<String> {
    let mark = if compared.recommended.is_some() { "★" } else { "?" };
    let mut lines = wrap(&compared.because, usize::from(cells.saturating_sub(5)));
    lines.truncate(3);
    lines.iter().enumerate().map(|(i, l)| format!(" {} {l}", if i == 0 { mark } else { " " })).collect()
}

pub fn title(screen: &CompareScreen) -> String {
    let version = screen.plan().map_or(screen.info.version, |p| p.version);
    format!("{} @ v{version}", escape_controls(&screen.info.name))
}

/// `⇐ staging/2026006.parquet (2 rows, key doc_number)   full slice ✔`.
fn heading(screen: &CompareScreen, cells: u16) -> String {
    let key = if screen.key.is_empty() { "no key".into() } else { format!("key {}", screen.key.join(", ")) };
    let (rows, delivery) = match &screen.load.value {
        Some(compared) => match compared.plans.iter().find(|p| p.refusals.is_empty()) {
            Some(plan) => {
                let mark = match compared.delivery.kind {
                    DeliveryKind::FullSlice | DeliveryKind::RowLevel => "✔",
                    DeliveryKind::Unclear => "?",
                };
                let rows = count(plan.rows.source, "row", "rows") + ", ";
                (rows, format!(" · {} {mark}", compared.delivery.kind.words()))
            }
            // Where every strategy is refused, no number holds.
            None => ("? rows, ".into(), " · refused".into()),
        },
        None => (String::new(), String::new()),
    };
    let rest = format!(" ({rows}{key}){delivery}");
    let room = usize::from(cells).saturating_sub(width(&rest) + 8);
    // The end of a path says more than its beginning.
    let source = escape_controls(&screen.source);
    let source = if width(&source) > room { tail(&source, room) } else { source };
    format!("⇐ {source}{rest}")
}

/// The last cells of a text.
fn tail(text: &str, cells: usize) -> String {
    let mut start = 0;
    while width(&text[start..]) + 1 > cells && start < text.len() {
        start += text[start..].chars().next().map_or(1, char::len_utf8);
    }
    format!("…{}", &text[start..])
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &CompareScreen, core: &Core) {
    let theme = &core.theme;
    paint::rule(buf, area, 0, &heading(screen, area.width), theme);
    let Some(compared) = &screen.load.value else {
        match &screen.load.failure {
            Some(failure) => trouble(buf, below(area), failure, core),
            None => super::apply::waiting(buf, below(area), screen.load.job(), core),
        }
        return;
    };
    let upper = screen.upper_height(area.width);
    side_by_side(buf, Rect { y: area.y + 1, ..area }, screen, compared, core);
    let because = because(compared, area.width);
    let start = upper - because.len() as u16;
    for (i, line) in because.iter().enumerate() {
        paint::line(buf, area, start + i as u16, &[piece(line.clone(), Role::Accent)], theme);
    }
    let lower = Rect { y: area.y + upper, height: area.height.saturating_sub(upper), ..area };
    if lower.height == 0 {
        return;
    }
    paint::rule(buf, lower, 0, &pane_title(screen), theme);
    let body = below(lower);
    match screen.pane {
        Pane::Rows => rows_pane(buf, body, screen, core),
        Pane::Gates => {
            let lines = gate_lines(screen, area.width);
            for (row, line) in lines.iter().skip(screen.gates_top).take(usize::from(body.height)).enumerate() {
                paint::line(buf, body, row as u16, line, theme);
            }
        }
        Pane::Partitions => {
            let table = super::compare_rows::PlanPartitions(screen.plan());
            grid::draw(buf, body, &table, &screen.partitions_grid, theme, false);
        }
    }
}

/// The strategies and their numbers.
fn side_by_side(buf: &mut Buffer, area: Rect, screen: &CompareScreen, compared: &Compared, core: &Core) {
    let theme = &core.theme;
    let lines = effects::lines(&compared.plans, screen.strategy);
    let columns = compared.plans.len().max(1);
    let widest = lines.iter().map(|l| width(&l.label)).max().unwrap_or(0).max(22);
    let label = widest.min(usize::from(area.width) / 2);
    let cells = (usize::from(area.width).saturating_sub(label + 2) / columns).clamp(6, 18);
    let put_cell = |buf: &mut Buffer, column: usize, row: u16, text: &str, role: Role| {
        let x = area.x + (1 + label + column * cells) as u16;
        let chosen = column == screen.strategy;
        let style = theme.style(role);
        let style = if chosen { style.patch(theme.style(Role::Selection)) } else { style };
        put(buf, x, area.y + row, cells as u16, &format!("{} ", pad(text, cells - 1, Align::Right)), style);
    };
    for (column, plan) in compared.plans.iter().enumerate() {
        let star = if compared.recommended == Some(column) { " ★" } else { "" };
        put_cell(buf, column, 0, &format!("{}{star}", strategy(plan)), Role::Header);
    }
    for (i, line) in lines.iter().enumerate() {
        let row = 1 + i as u16;
        put(buf, area.x + 1, area.y + row, label as u16, &fit(&line.label, label), theme.style(line.role));
        for (column, text) in line.cells.iter().enumerate() {
            let failed = line.label == "  gates" && (text.contains('✘') || text == "refused");
            let role = match text.as_str() {
                "0" | "–" => Role::Dim,
                _ if failed => Role::Error,
                _ => line.role,
            };
            put_cell(buf, column, row, text, role);
        }
    }
}

fn pane_title(screen: &CompareScreen) -> String {
    let panes = Pane::ALL.map(|pane| {
        let name = match pane {
            Pane::Rows => {
                let rows = screen.possible().map_or("–".into(), |_| grouped(screen.rows_of(screen.effect)));
                format!("{} {rows}", screen.effect.mark().1)
            }
            Pane::Gates => "gates".into(),
            Pane::Partitions => "partitions".into(),
        };
        if pane == screen.pane { format!("[{name}]") } else { name }
    });
    let slice = screen.plan().and_then(|p| p.slice.as_deref()).unwrap_or("?");
    let chosen = screen.plan().map_or("", strategy);
    format!("{chosen} · slice {} · {}", escape_controls(slice), panes.join(" "))
}

fn rows_pane(buf: &mut Buffer, area: Rect, screen: &CompareScreen, core: &Core) {
    let say = |buf: &mut Buffer, text: String| paint::line(buf, area, 0, &[piece(text, Role::Dim)], &core.theme);
    if let Some(failure) = &screen.diff.failure {
        trouble(buf, area, failure, core);
    } else if let Some(refusal) = screen.plan().and_then(|p| p.refusals.first()) {
        let hint = refusal.hint.clone().or_else(|| Some("The gates pane says more.".into()));
        let message = format!("refused: {}", refusal.message);
        trouble(buf, area, &Failure { kind: refusal.kind, message, hint }, core);
    } else if screen.rows_of(screen.effect) == 0 {
        say(buf, format!("   no rows: {}", screen.effect.name()));
    } else if screen.window.is_empty() {
        say(buf, if screen.diff.is_loading() { "   reading rows …".into() } else { "   rows are not at hand".into() });
    } else {
        let table = super::compare_rows::DiffRows::new(screen);
        grid::draw(buf, area, &table, &screen.rows_grid, &core.theme, false);
    }
}

/// Refusals, gates, findings and advice of the chosen plan.
pub fn gate_lines(screen: &CompareScreen, cells: u16) -> Vec<Vec<Piece>> {
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let Some(plan) = screen.plan() else { return lines };
    let room = usize::from(cells).saturating_sub(26);
    let mut add = |mark: &str, name: &str, text: &str, role: Role| {
        for (i, part) in wrap(&escape_controls(text), room).into_iter().enumerate() {
            let (mark, name) = if i == 0 { (mark, name) } else { ("", "") };
            lines.push(vec![
                piece(format!(" {} ", pad(mark, 1, Align::Left)), role),
                piece(pad(name, 20, Align::Left) + " ", role),
                piece(part, Role::Text),
            ]);
        }
    };
    for refusal in &plan.refusals {
        add("✘", &format!("refused: {}", refusal.kind), &refusal.message, Role::Error);
        if let Some(hint) = &refusal.hint {
            add("", "", hint, Role::Dim);
        }
    }
    for gate in &plan.gates {
        let (mark, role) = match gate.status {
            GateStatus::Pass => ("✔", Role::Ok),
            GateStatus::Warn => ("!", Role::Warn),
            GateStatus::Fail => ("✘", Role::Error),
        };
        add(mark, &gate.name, &gate.message, role);
        if gate.status != GateStatus::Pass && !gate.threshold.is_empty() {
            add("", "", &format!("threshold: {}", gate.threshold), Role::Dim);
        }
    }
    for text in plan.findings.iter().chain(&plan.metadata_changes) {
        add("·", "finding", text, Role::Dim);
    }
    for text in &plan.advice {
        add("·", "advice", text, Role::Accent);
    }
    if lines.is_empty() {
        lines.push(vec![piece("   no gate applies to this plan", Role::Dim)]);
    }
    lines
}
