//! The lists of the compare screen's lower pane: rows by effect, partitions.

use super::changes::ChangesScreen;
use super::compare::{CompareScreen, Pane};
use crate::ops::prepare::DiffRow;
use crate::plan::measures::measures;
use crate::plan::slice::by_alarm;
use crate::plan::{Effect, Plan, PlanPartition, Role as PartitionRole};
use crate::table::Value;
use crate::table::number::grouped;
use crate::table::value::escape_controls;
use crate::tui::load::Window;
use crate::tui::text::amount;
use crate::tui::theme::Role;
use crate::tui::widgets::grid::{Cell, Column, Rows};

pub fn role(effect: Effect) -> Role {
    match effect {
        Effect::Inserted => Role::Insert,
        Effect::Updated => Role::Update,
        Effect::Unchanged | Effect::Kept | Effect::Ignored => Role::Same,
        Effect::Deleted => Role::Delete,
        Effect::Zombies => Role::Zombie,
    }
}

/// The rows of one effect: mark and word, the key, what changed, measures, the rest.
pub struct DiffRows<'a> {
    columns: &'a [String],
    window: &'a Window<DiffRow>,
    /// Positions of the columns, in the order in which they are shown.
    shown: Vec<usize>,
}

impl<'a> DiffRows<'a> {
    pub fn of_plan(screen: &'a CompareScreen) -> Self {
        let key = screen.plan().map_or(&[][..], |p| &p.key);
        Self::new(&screen.rows.columns, &screen.rows.window, key, &measures(screen.plans()))
    }

    pub fn of_versions(screen: &'a ChangesScreen) -> Self {
        let changes = screen.load.value.as_ref();
        let mut measures: Vec<String> =
            changes.iter().flat_map(|c| &c.partitions).flat_map(|p| p.measure_changes.keys().cloned()).collect();
        measures.sort_unstable();
        measures.dedup();
        Self::new(&screen.rows.columns, &screen.rows.window, changes.map_or(&[][..], |c| &c.key), &measures)
    }

    fn new(columns: &'a [String], window: &'a Window<DiffRow>, key: &[String], measures: &[String]) -> Self {
        let changed = |i: &usize| window.rows.iter().any(|r| r.changed.contains(i));
        // false sorts before true: the key, what changed, the measures, the rest.
        let rank = |i: &usize| (!key.contains(&columns[*i]), !changed(i), !measures.contains(&columns[*i]));
        let mut shown: Vec<usize> = (0..columns.len()).collect();
        shown.sort_by_key(rank);
        Self { columns, window, shown }
    }
}

impl Rows for DiffRows<'_> {
    fn len(&self) -> usize {
        self.window.len()
    }

    fn columns(&self) -> Vec<Column> {
        let first = self.window.rows.first().and_then(|r| r.new.as_ref().or(r.old.as_ref()));
        let mut columns = vec![Column::left("effect")];
        for i in &self.shown {
            let title = escape_controls(&self.columns[*i]);
            let numeric = first.and_then(|row| row.get(*i)).is_some_and(Value::is_numeric);
            columns.push(if numeric { Column::right(title) } else { Column::left(title) });
        }
        columns.push(Column::left("last written by"));
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let Some(diff) = self.window.get(row) else { return Cell::dim("…") };
        let colour = role(diff.effect);
        if column == 0 {
            let (mark, word) = diff.effect.mark();
            return Cell::new(format!("{mark} {word}"), colour);
        }
        let Some(at) = self.shown.get(column - 1) else {
            return Cell::dim(diff.last_version.map_or("?".into(), |v| format!("v{v}")));
        };
        let value = |side: &Option<Vec<Value>>| side.as_ref().and_then(|row| row.get(*at)).map(ToString::to_string);
        match (value(&diff.old), value(&diff.new)) {
            (Some(old), Some(new)) if diff.changed.contains(at) => Cell::new(format!("{old} → {new}"), colour),
            (_, Some(text)) | (Some(text), None) => Cell::text(text),
            (None, None) => Cell::dim("…"),
        }
    }
}

/// How many of the rows shown differ in which columns, where they are rows that
/// differ at all: `changes: amount in 3, status in 1 of 4`.
///
/// Counted over the page that was read: where there are more rows than that, the
/// line says so. A count over all rows belongs into [`Compared`].
///
/// [`Compared`]: crate::tui::msg::Compared
pub fn changes(screen: &CompareScreen) -> Option<String> {
    let rows = &screen.rows.window.rows;
    if screen.pane != Pane::Rows || screen.effect != Effect::Updated || rows.is_empty() {
        return None;
    }
    let mut counts: Vec<(usize, usize)> = (0..screen.rows.columns.len())
        .map(|column| (column, rows.iter().filter(|row| row.changed.contains(&column)).count()))
        .filter(|(_, n)| *n > 0)
        .collect();
    counts.sort_by_key(|(column, n)| (std::cmp::Reverse(*n), *column));
    let parts: Vec<String> =
        counts.iter().map(|(column, n)| format!("{} in {n}", escape_controls(&screen.rows.columns[*column]))).collect();
    let of = match rows.len() as u64 == screen.rows.window.total {
        true => grouped(rows.len() as u64),
        false => format!("the {} rows read", grouped(rows.len() as u64)),
    };
    (!parts.is_empty()).then(|| format!("changes: {} of {of}", parts.join(", ")))
}

/// A column of numbers: its title, and the number of a partition.
type Figure = (&'static str, fn(&PlanPartition) -> u64);

/// The partitions of a plan; first those that need a look.
pub struct PlanPartitions<'a> {
    plan: Option<&'a Plan>,
    rows: Vec<&'a PlanPartition>,
    measures: Vec<String>,
    /// Kept and ignored rows are rare; their columns too.
    optional: Vec<Figure>,
}

/// Columns before the optional ones.
const FIXED: usize = 10;

impl<'a> PlanPartitions<'a> {
    pub fn new(plan: Option<&'a Plan>) -> Self {
        let rows = plan.map_or(Vec::new(), by_alarm);
        let mut optional: Vec<Figure> =
            vec![("moved in", |p| p.moved_in), ("kept", |p| p.kept), ("ignored", |p| p.ignored)];
        optional.retain(|(_, number)| rows.iter().any(|p| number(p) > 0));
        Self { plan, rows, measures: measures(plan), optional }
    }
}

/// What a partition is to the slice: mark, word and colour.
fn role_cell(role: PartitionRole) -> Cell {
    let (mark, colour) = match role {
        PartitionRole::Unexpected => ("!", Role::Warn),
        PartitionRole::Emptied => ("✘", Role::Delete),
        PartitionRole::Left => ("·", Role::Zombie),
        PartitionRole::Intended => ("✔", Role::Ok),
        PartitionRole::Touched => ("~", Role::Dim),
    };
    Cell::new(format!("{mark} {}", role.alarm().unwrap_or(role.as_str())), colour)
}

impl Rows for PlanPartitions<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::left("partition"), Column::left("what")];
        for title in ["before", "source", "after", "+", "~", "-", "z", "="] {
            columns.push(Column::right(title));
        }
        columns.extend(self.optional.iter().map(|(title, _)| Column::right(*title)));
        columns.extend(self.measures.iter().map(|name| Column::right(format!("Σ {}", escape_controls(name)))));
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let Some(partition) = self.rows.get(row) else { return Cell::dim("") };
        let (number, colour) = match column {
            0 => return Cell::text(partition.label()),
            1 => return role_cell(partition.role),
            2 => (Some(partition.before), Role::Text),
            3 => (Some(partition.source), Role::Text),
            4 => (Some(partition.after), Role::Text),
            5 => (Some(partition.inserted), Role::Insert),
            6 => (partition.updated, Role::Update),
            7 => (Some(partition.deleted), Role::Delete),
            8 => (Some(partition.zombies), Role::Zombie),
            9 => (Some(partition.unchanged), Role::Same),
            n => match self.optional.get(n - FIXED) {
                Some((_, number)) => (Some(number(partition)), Role::Same),
                None => return self.measure(partition, n - FIXED - self.optional.len()),
            },
        };
        if self.plan.is_some_and(|p| !p.refusals.is_empty()) {
            return Cell::dim("–");
        }
        match number {
            Some(0) => Cell::dim("0"),
            Some(n) => Cell::new(grouped(n), colour),
            None => Cell::dim("?"),
        }
    }
}

impl PlanPartitions<'_> {
    /// `1,400 → 750`; one number where it stays. A partition that is only listed
    /// was not read.
    fn measure(&self, partition: &PlanPartition, at: usize) -> Cell {
        let Some(sums) = self.measures.get(at).and_then(|name| partition.measures.get(name)) else {
            return Cell::dim("?");
        };
        let side = |name: &str| sums.get(name).and_then(|v| v.as_str()).map_or("?".to_owned(), amount);
        let (before, after) = (side("before"), side("after"));
        if before == after { Cell::dim(after) } else { Cell::new(format!("{before} → {after}"), Role::Update) }
    }
}
