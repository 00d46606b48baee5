//! One source, every strategy side by side: what each would do, whether the
//! gates let it pass, and the rows behind the numbers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::effect_pane::EffectPane;
use super::effects::{self, strategy};
use super::table::{below, trouble};
use crate::action::Facts;
use crate::gate::Evidence;
use crate::plan::advice::{Delivery, DeliveryKind};
use crate::plan::technical::TechnicalProposal;
use crate::plan::{Effect, Plan, Verdict};
use crate::table::number::grouped;
use crate::table::value::escape_controls;
use crate::tui::asked::Asked;
use crate::tui::load::Load;
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
    pub asked: Asked,
    pub load: Load<Compared>,
    /// The chosen strategy.
    pub strategy: usize,
    pub pane: Pane,
    pub effect: Effect,
    pub rows: EffectPane,
    pub gates_top: usize,
    pub partitions_grid: GridState,
}

impl CompareScreen {
    pub fn new(info: TableInfo, asked: Asked) -> Self {
        Self {
            info,
            asked,
            load: Load::default(),
            strategy: 0,
            pane: Pane::default(),
            effect: Effect::Updated,
            rows: EffectPane::default(),
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

    /// The chosen plan with what it is judged by.
    pub fn judged(&self) -> Option<(Plan, Evidence)> {
        let evidence = self.load.value.as_ref().and_then(|c| c.evidence.get(self.strategy)).cloned();
        Some((self.plan()?.clone(), evidence.unwrap_or_default()))
    }

    /// Judges every plan by the thresholds that hold now.
    pub fn judge_again(&mut self) {
        if let Some(compared) = &mut self.load.value {
            compared.judge_again(&self.info.settings.thresholds);
        }
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.has_plan = self.plan().is_some();
        facts.refused = facts.has_plan && self.possible().is_none();
        facts.no_op = self.plan().is_some_and(|p| p.verdict == Verdict::NoOp);
        facts.strategies = self.plans().len();
        facts.proposal = self.technical().is_some();
        facts.on_row = self.pane == Pane::Rows && !self.rows.window.is_empty();
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

    /// Proposed technical columns that are not ignored yet.
    pub fn technical(&self) -> Option<&TechnicalProposal> {
        let proposal = self.load.value.as_ref()?.technical.as_ref()?;
        proposal.columns.iter().any(|c| !self.asked.ignore.contains(c)).then_some(proposal)
    }

    /// The lines of numbers that fit, and how many do not.
    fn numbers(&self, size: (u16, u16)) -> (Vec<effects::Line>, usize) {
        // Title, status and footer; the heading and the strategies; the rows below.
        let below = match self.pane {
            _ if size.1 < LOW => 3,
            Pane::Rows => 5,
            // Gates have texts, and partitions are what one looks for there.
            Pane::Gates | Pane::Partitions => 9,
        };
        let used = 3 + 2 + below + self.reasons(size).len();
        effects::fitting(effects::lines(self.plans(), self.strategy), usize::from(size.1).saturating_sub(used))
    }

    /// Lines above the lower pane.
    pub fn upper_height(&self, size: (u16, u16)) -> u16 {
        if self.load.value.is_none() {
            return 2;
        }
        u16::try_from(2 + self.numbers(size).0.len() + self.reasons(size).len()).unwrap_or(u16::MAX)
    }

    /// Rows of the lower pane's list.
    pub fn list_height(&self, core: &Core) -> usize {
        // Title, status, footer, the pane's rule, the list's header.
        let below = usize::from(core.size.1.saturating_sub(5 + self.upper_height(core.size)));
        // The last line of the partitions counts those that are not there.
        below.saturating_sub(usize::from(self.pane == Pane::Partitions)).max(1)
    }

    /// Why one strategy is recommended, how the source delivers, and what hides
    /// the changes.
    fn reasons(&self, (columns, rows): (u16, u16)) -> Vec<Piece> {
        let Some(compared) = &self.load.value else { return Vec::new() };
        let mut lines = Vec::new();
        let mut add = |mark: &str, text: &str, role: Role, most: usize| {
            let parts = wrap(&escape_controls(text), usize::from(columns.saturating_sub(5)));
            for (i, part) in parts.into_iter().take(most).enumerate() {
                lines.push(piece(format!(" {} {part}", if i == 0 { mark } else { " " }), role));
            }
        };
        if !compared.because.is_empty() {
            let mark = match (compared.recommended, &compared.delivery) {
                (Some(_), _) => "★",
                (None, Some(_)) => "?",
                (None, None) => "·",
            };
            add(mark, &compared.because, Role::Accent, if rows < TALL { 2 } else { 3 });
        }
        if let Some(delivery) = compared.delivery.as_ref().filter(|d| rows >= TALL || !d.unexpected.is_empty()) {
            add("·", &delivery_text(delivery), Role::Dim, if rows < TALL { 1 } else { 2 });
        }
        if let Some(proposal) = self.technical() {
            let text = format!("i ignores {} and compares again: {}", proposal.columns.join(", "), proposal.because);
            let cells = usize::from(columns.saturating_sub(5));
            let text = if rows < TALL { fit(&text, cells) } else { text };
            add("T", &text, Role::Warn, 2);
        }
        lines
    }
}

/// Below so many rows the lower pane keeps one row of its list.
const LOW: u16 = 20;
/// From so many rows on nothing has to be left out.
const TALL: u16 = 30;

/// How the source delivers, with the numbers that say so.
fn delivery_text(delivery: &Delivery) -> String {
    let percent = |share: f64| format!("{} %", (share * 100.0).round());
    let mut parts = vec![format!(
        "{}: {} of the slice's keys delivered, {} of the matched rows changed",
        delivery.kind.words(),
        percent(delivery.key_coverage),
        percent(delivery.changed_share)
    )];
    if let Some(operations) = &delivery.operations {
        let rows = &operations.rows;
        parts.push(format!(
            "{}: {} upserts, {} deletes, {} before-images",
            operations.column,
            grouped(rows.upserts),
            grouped(rows.deletes),
            grouped(rows.before_images)
        ));
    }
    for (word, names) in [("unexpected", &delivery.unexpected), ("asked for and absent", &delivery.absent)] {
        if !names.is_empty() {
            parts.push(format!("{word}: {}", names.join(", ")));
        }
    }
    parts.join(" · ")
}

pub fn title(screen: &CompareScreen) -> String {
    let version = screen.plan().map_or(screen.info.version, |p| p.version);
    format!("{} @ v{version}", escape_controls(&screen.info.name))
}

/// `⇐ staging/2026006.parquet (2 rows, key doc_number)   full slice ✔`.
fn heading(screen: &CompareScreen, cells: u16) -> String {
    // A statement's ON says by itself what identifies a row.
    let key = screen.plan().map_or(&screen.asked.key, |p| &p.key);
    let key = if key.is_empty() { "no key".into() } else { format!("key {}", key.join(", ")) };
    let (rows, delivery) = match &screen.load.value {
        Some(compared) => match compared.plans.iter().find(|p| p.refusals.is_empty()) {
            Some(plan) => {
                let rows = count(plan.rows.source, "row", "rows") + ", ";
                let words = match (&compared.delivery, &screen.asked.pasted) {
                    (Some(delivery), _) => {
                        let mark = if delivery.kind == DeliveryKind::Unclear { "?" } else { "✔" };
                        format!(" · {} {mark}", delivery.kind.words())
                    }
                    (None, Some(pasted)) => format!(" · {} as given", pasted.verb),
                    (None, None) => String::new(),
                };
                (rows, words)
            }
            // Where every strategy is refused, no number holds.
            None => ("? rows, ".into(), " · refused".into()),
        },
        None => (String::new(), String::new()),
    };
    let rest = format!(" ({rows}{key}){delivery}");
    let room = usize::from(cells).saturating_sub(width(&rest) + 8);
    // The end of a path says more than its beginning.
    let source = escape_controls(&screen.asked.source);
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
    let upper = screen.upper_height(core.size);
    side_by_side(buf, Rect { y: area.y + 1, ..area }, screen, compared, core);
    let reasons = screen.reasons(core.size);
    let start = upper.saturating_sub(reasons.len() as u16);
    for (i, line) in reasons.into_iter().enumerate() {
        paint::line(buf, area, start + i as u16, &[line], theme);
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
            let lines = super::compare_gates::lines(screen, area.width);
            for (row, line) in lines.iter().skip(screen.gates_top).take(usize::from(body.height)).enumerate() {
                paint::line(buf, body, row as u16, line, theme);
            }
        }
        Pane::Partitions => {
            let table = super::compare_rows::PlanPartitions::new(screen.plan());
            let list = Rect { height: body.height.saturating_sub(1), ..body };
            grid::draw(buf, list, &table, &screen.partitions_grid, theme, false);
            if let Some(plan) = screen.plan() {
                let untouched = count(plan.untouched_partitions, "partition stays", "partitions stay");
                let text = format!("   {untouched} as they are");
                paint::line(buf, body, list.height, &[piece(text, Role::Dim)], theme);
            }
        }
    }
}

/// The strategies and their numbers; those that fit, the chosen one among them.
fn side_by_side(buf: &mut Buffer, area: Rect, screen: &CompareScreen, compared: &Compared, core: &Core) {
    let theme = &core.theme;
    let (lines, left_out) = screen.numbers(core.size);
    let titles: Vec<String> = compared
        .plans
        .iter()
        .enumerate()
        .map(|(i, plan)| format!("{}{}", strategy(plan), if compared.recommended == Some(i) { " ★" } else { "" }))
        .collect();
    let widest = lines.iter().map(|l| width(&l.label)).max().unwrap_or(0).max(22);
    let label = widest.min(usize::from(area.width) / 2);
    let room = usize::from(area.width).saturating_sub(label + 2);
    let texts = titles.iter().chain(lines.iter().flat_map(|l| &l.cells));
    let natural = texts.map(|t| width(t)).max().unwrap_or(0) + 1;
    let spread = (room / titles.len().max(1)).clamp(natural, natural.max(18));
    let cells = spread.clamp(6, room.max(6));
    let fit_in = (room / cells).clamp(1, titles.len().max(1));
    // The chosen one is always among those that are shown.
    let first = (screen.strategy + 1).saturating_sub(fit_in);
    let shown = first..(first + fit_in).min(titles.len());
    let put_cell = |buf: &mut Buffer, column: usize, row: u16, text: &str, role: Role| {
        let x = area.x + (1 + label + (column - first) * cells) as u16;
        let style = theme.style(role);
        let style = if column == screen.strategy { style.patch(theme.style(Role::Selection)) } else { style };
        put(buf, x, area.y + row, cells as u16, &format!("{} ", pad(text, cells - 1, Align::Right)), style);
    };
    if left_out > 0 {
        let text = format!("  +{left_out} if taller");
        put(buf, area.x + 1, area.y, label as u16, &fit(&text, label), theme.style(Role::Dim));
    }
    for column in shown.clone() {
        put_cell(buf, column, 0, &titles[column], Role::Header);
    }
    if first > 0 {
        put(buf, area.x + label as u16, area.y, 1, "‹", theme.style(Role::Accent));
    }
    if shown.end < titles.len() {
        put(buf, area.right() - 1, area.y, 1, "›", theme.style(Role::Accent));
    }
    for (i, line) in lines.iter().enumerate() {
        let row = 1 + i as u16;
        put(buf, area.x + 1, area.y + row, label as u16, &fit(&line.label, label), theme.style(line.role));
        for column in shown.clone() {
            let text = line.cells[column].as_str();
            let failed = (line.label == effects::GATES && text.contains('✘'))
                || (line.label == effects::VERDICT && text == "blocked")
                || text == "refused";
            let role = match text {
                "0" | "–" | "no-op" => Role::Dim,
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
    if let Some(failure) = &screen.rows.load.failure {
        trouble(buf, area, failure, core);
    } else if let Some(refusal) = screen.plan().and_then(|p| p.refusals.first()) {
        let hint = refusal.hint.clone().or_else(|| Some("The gates pane says more.".into()));
        let message = format!("refused: {}", refusal.message);
        trouble(buf, area, &Failure { kind: refusal.kind, message, hint }, core);
    } else if screen.rows_of(screen.effect) == 0 {
        say(buf, format!("   no rows: {}", screen.effect.name()));
    } else if screen.rows.window.is_empty() {
        say(
            buf,
            if screen.rows.load.is_loading() { "   reading rows …".into() } else { "   rows are not at hand".into() },
        );
    } else {
        let table = super::compare_rows::DiffRows::of_plan(screen);
        grid::draw(buf, area, &table, &screen.rows.grid, &core.theme, false);
    }
}
