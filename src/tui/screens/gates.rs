//! The gates of one table: what holds, what a plan makes of it, and what it
//! would make of other thresholds.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::effects::strategy;
use super::table::below;
use crate::action::Facts;
use crate::gate::{self, Evidence, Gate, Origin, Setting, Severity, Thresholds, Tuning};
use crate::plan::kinds::Class;
use crate::plan::{GateResult, GateStatus, Plan, Verdict};
use crate::table::value::escape_controls;
use crate::tui::input::TextInput;
use crate::tui::load::Load;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{count, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{self, Cell, Column, GridState, Rows};
use crate::tui::widgets::paint::{self, piece};

pub struct GatesScreen {
    pub info: TableInfo,
    /// The plan that is judged again with every change, and what it is judged
    /// by; none where the screen was opened for the table alone.
    pub judged: Option<(Plan, Evidence)>,
    /// What is tried, and what the config says.
    pub tuning: Tuning,
    pub saved: Tuning,
    /// What holds while it is tried.
    thresholds: Thresholds,
    pub grid: GridState,
    /// The number that is being typed.
    pub edit: Option<TextInput>,
    /// Why the last number was not taken.
    pub complaint: Option<String>,
    /// What saving would change.
    pub change: Load<()>,
}

/// What a line of the list is about.
#[derive(Clone, Copy)]
pub enum Item {
    Gate(&'static dyn Gate),
    Setting(&'static Setting),
}

impl GatesScreen {
    pub fn new(info: TableInfo, judged: Option<(Plan, Evidence)>) -> Self {
        let tuning = info.settings.tuning();
        let mut screen = Self {
            thresholds: info.settings.thresholds.clone(),
            saved: tuning.clone(),
            tuning,
            info,
            judged,
            grid: GridState::default(),
            edit: None,
            complaint: None,
            change: Load::default(),
        };
        screen.judge();
        // What blocks is what one came for.
        let failed = screen.blocking().first().map(|gate| gate.name.clone());
        let at = failed.and_then(|name| items().iter().position(|i| matches!(i, Item::Gate(g) if g.name() == name)));
        screen.grid.cursor = at.unwrap_or(0);
        screen
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.on_row = true;
        facts.unsaved = self.is_changed();
        facts.on_threshold = matches!(self.selected(), Item::Setting(_));
        facts.set_here = self.own_here();
    }

    pub fn is_changed(&self) -> bool {
        self.tuning != self.saved
    }

    pub fn selected(&self) -> Item {
        let items = items();
        items.get(self.grid.cursor).copied().unwrap_or(items[0])
    }

    /// Whether the table has a value of its own for what is selected.
    fn own_here(&self) -> bool {
        let origin = match self.selected() {
            Item::Gate(gate) => self.tuning.severity_origin(gate.name()),
            Item::Setting(setting) => self.tuning.origin(setting),
        };
        origin == Origin::Table
    }

    fn blocking(&self) -> Vec<&GateResult> {
        self.judged.as_ref().map_or(Vec::new(), |(plan, _)| plan.blocking())
    }

    /// Takes other values where they go together, and judges by them.
    pub fn try_out(&mut self, tuning: Tuning) -> bool {
        match tuning.thresholds() {
            Ok(thresholds) => {
                self.tuning = tuning;
                self.thresholds = thresholds;
                self.complaint = None;
                self.judge();
                true
            }
            Err(said) => {
                self.complaint = Some(said);
                false
            }
        }
    }

    /// The config says something else from now on; what was tried is what was saved.
    pub fn settle_on_saved(&mut self) {
        self.saved = self.info.settings.tuning();
        self.tuning = self.saved.clone();
        self.thresholds = self.info.settings.thresholds.clone();
        self.complaint = None;
        self.judge();
    }

    fn judge(&mut self) {
        if let Some((plan, evidence)) = self.judged.as_mut().filter(|(plan, _)| plan.compared) {
            plan.gates = gate::judge(plan, evidence, &self.thresholds);
            plan.settle();
        }
    }

    fn class(&self) -> Option<Class> {
        self.judged.as_ref().map(|(plan, _)| plan.spec.kind().class())
    }

    /// The severity of the selected gate for the plan; without one, what the
    /// config says of it for every kind.
    pub fn severity_here(&self) -> Option<(&'static str, Option<Severity>)> {
        let Item::Gate(gate) = self.selected() else { return None };
        let severity = match self.class() {
            Some(class) => Some(gate::severity(gate, class, &self.thresholds)),
            None => self.thresholds.severity(gate.name()),
        };
        Some((gate.name(), severity))
    }

    /// The threshold under the cursor, as it is typed.
    pub fn number_here(&self) -> Option<(&'static Setting, String)> {
        let Item::Setting(setting) = self.selected() else { return None };
        Some((setting, setting.value(&self.thresholds).to_string()))
    }

    fn result(&self, gate: &str) -> Option<&GateResult> {
        self.judged.as_ref()?.0.gates.iter().find(|result| result.name == gate)
    }

    /// Lines below the list: what the selected line is about.
    fn details(&self, (cells, rows): (u16, u16)) -> Vec<(String, Role)> {
        let mut lines: Vec<(String, Role)> = Vec::new();
        let most = if rows < 30 { 4 } else { 7 };
        let mut add = |text: &str, role: Role| {
            let parts = wrap(&escape_controls(text), usize::from(cells.saturating_sub(4)));
            lines.extend(parts.into_iter().map(|part| (format!(" {part}"), role)));
        };
        if let Some(complaint) = &self.complaint {
            add(&format!("✘ {complaint}"), Role::Error);
        } else if self.edit.is_some() {
            add("⏎ takes the number, Esc leaves it as it was", Role::Accent);
        }
        match self.selected() {
            Item::Gate(gate) => {
                if let Some(result) = self.result(gate.name()) {
                    let role = status_role(result.status);
                    add(&format!("{} {}", mark(result.status), result.message), role);
                    add(&format!("threshold: {}", result.threshold), Role::Dim);
                } else if self.judged.is_some() {
                    add("· it has nothing to judge in this plan, or is off", Role::Dim);
                }
                add(gate.about(), Role::Dim);
            }
            Item::Setting(setting) => {
                let default = setting.shown(&Thresholds::default());
                add(&format!("{} (built in: {default})", setting.about), Role::Dim);
            }
        }
        lines.truncate(most);
        lines
    }

    /// Rows of the list that fit.
    pub fn list_height(&self, core: &Core) -> usize {
        let details = self.details(core.size).len() + 1;
        core.list_height().saturating_sub(details).max(1)
    }
}

fn mark(status: GateStatus) -> &'static str {
    match status {
        GateStatus::Pass => "✔",
        GateStatus::Warn => "!",
        GateStatus::Fail => "✘",
    }
}

fn status_role(status: GateStatus) -> Role {
    match status {
        GateStatus::Pass => Role::Ok,
        GateStatus::Warn => Role::Warn,
        GateStatus::Fail => Role::Error,
    }
}

/// Every gate, each with the thresholds that are its own below it. A threshold
/// that two gates share stands below the first.
fn items() -> Vec<Item> {
    let mut items = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for gate in gate::ALL {
        items.push(Item::Gate(*gate));
        for setting in gate.settings().iter().filter_map(|name| gate::setting(name)) {
            if !seen.contains(&setting.name) {
                seen.push(setting.name);
                items.push(Item::Setting(setting));
            }
        }
    }
    items
}

pub struct GateLines<'a> {
    screen: &'a GatesScreen,
    items: Vec<Item>,
}

pub fn rows(screen: &GatesScreen) -> GateLines<'_> {
    GateLines { screen, items: items() }
}

/// Short words for the classes, beside each other.
const SHORT: [&str; 6] = ["over", "app", "merge", "m+del", "repart", "undo"];

impl GateLines<'_> {
    fn name(&self, row: usize) -> Cell {
        let screen = self.screen;
        match self.items[row] {
            Item::Gate(gate) => match screen.result(gate.name()).map(|result| result.status) {
                Some(status) => Cell::new(format!("{} {}", mark(status), gate.name()), status_role(status)),
                None => Cell::text(format!("· {}", gate.name())),
            },
            Item::Setting(setting) => {
                let value = match &screen.edit {
                    Some(input) if row == screen.grid.cursor => format!("{}▏", input.text()),
                    _ => setting.shown(&screen.thresholds),
                };
                Cell::dim(format!("    {} = {value}", setting.name))
            }
        }
    }

    fn severity(&self, row: usize, class: Class) -> Cell {
        match self.items[row] {
            Item::Gate(gate) => match gate::severity(gate, class, &self.screen.thresholds) {
                Severity::Off => Cell::dim("off"),
                severity => Cell::text(severity.as_str()),
            },
            Item::Setting(_) => Cell::dim(""),
        }
    }

    fn from(&self, row: usize) -> Cell {
        let origin = match self.items[row] {
            Item::Gate(gate) => self.screen.tuning.severity_origin(gate.name()),
            Item::Setting(setting) => self.screen.tuning.origin(setting),
        };
        match origin {
            Origin::Default => Cell::dim("default"),
            origin if self.marked(row) => Cell::new(origin.as_str(), Role::Accent),
            origin => Cell::text(origin.as_str()),
        }
    }

    fn says(&self, row: usize) -> Cell {
        match self.items[row] {
            Item::Gate(gate) => self.screen.result(gate.name()).map_or_else(
                || Cell::dim("not judged"),
                |result| Cell::new(escape_controls(&result.message), status_role(result.status)),
            ),
            Item::Setting(_) => Cell::dim(""),
        }
    }
}

impl Rows for GateLines<'_> {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::left("gate").limit(44)];
        match self.screen.class() {
            Some(_) => {
                columns.extend([Column::left("is"), Column::left("from"), Column::left("says").limit(120)]);
            }
            None => {
                columns.extend(SHORT.map(Column::left));
                columns.push(Column::left("from"));
            }
        }
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        match (self.screen.class(), column) {
            (_, 0) => self.name(row),
            (Some(class), 1) => self.severity(row, class),
            (Some(_), 2) => self.from(row),
            (Some(_), _) => self.says(row),
            (None, column) => match Class::ALL.get(column - 1) {
                Some((class, _)) => self.severity(row, *class),
                None => self.from(row),
            },
        }
    }

    /// What is tried and not saved.
    fn marked(&self, row: usize) -> bool {
        let (now, saved) = (&self.screen.tuning, &self.screen.saved);
        let of = |tuning: &Tuning| match self.items[row] {
            Item::Gate(gate) => tuning.own().get("severity").and_then(|table| table.get(gate.name())).cloned(),
            Item::Setting(setting) => tuning.own().get(setting.name).cloned(),
        };
        of(now) != of(saved)
    }
}

/// What the plan comes to by what is tried.
fn heading(screen: &GatesScreen) -> String {
    let tried = if screen.is_changed() { " (tried, not saved)" } else { "" };
    let Some((plan, _)) = &screen.judged else { return format!("what is judged before a write{tried}") };
    let slice = plan.slice.as_deref().map_or(String::new(), |slice| format!(" · {}", escape_controls(slice)));
    let blocking = screen.blocking();
    let verdict = match plan.verdict {
        _ if !plan.refusals.is_empty() => "refused, whatever the gates say".to_owned(),
        Verdict::Blocked => {
            let first = blocking.first().map_or("", |gate| gate.name.as_str());
            match blocking.len() {
                1 => format!("blocked by {first}"),
                n => format!("blocked by {}, {first} first", count(n as u64, "gate", "gates")),
            }
        }
        Verdict::Ready => "ready".to_owned(),
        Verdict::NoOp => "changes nothing".to_owned(),
    };
    format!("{verdict}{tried} · {}{slice}", strategy(plan))
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &GatesScreen, core: &Core) {
    let theme = &core.theme;
    paint::rule(buf, area, 0, &heading(screen), theme);
    let details = screen.details(core.size);
    let below_list = u16::try_from(details.len() + 1).unwrap_or(u16::MAX).min(area.height.saturating_sub(3));
    let body = below(area);
    let list = Rect { height: body.height.saturating_sub(below_list), ..body };
    grid::draw(buf, list, &rows(screen), &screen.grid, theme, false);
    let name = match screen.selected() {
        Item::Gate(gate) => gate.name(),
        Item::Setting(setting) => setting.name,
    };
    let pane = Rect { y: list.bottom(), height: below_list, ..area };
    paint::rule(buf, pane, 0, name, theme);
    for (row, (text, role)) in details.into_iter().enumerate() {
        paint::line(buf, pane, row as u16 + 1, &[piece(text, role)], theme);
    }
}
