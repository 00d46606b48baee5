//! The lists of the compare screen's lower pane: rows by effect, partitions.

use super::compare::CompareScreen;
use crate::plan::{Effect, Plan};
use crate::table::Value;
use crate::table::number::grouped;
use crate::table::value::escape_controls;
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
    screen: &'a CompareScreen,
    /// Positions of the columns, in the order in which they are shown.
    shown: Vec<usize>,
}

impl<'a> DiffRows<'a> {
    pub fn new(screen: &'a CompareScreen) -> Self {
        let key = |i: &usize| screen.plan().is_some_and(|p| p.key.contains(&screen.columns[*i]));
        let changed = |i: &usize| screen.window.rows.iter().any(|r| r.changed.contains(i));
        let measures = crate::plan::measures::measures(screen.plans());
        let measure = |i: &usize| measures.contains(&screen.columns[*i]);
        // false sorts before true: the key, what changed, the measures, the rest.
        let rank = |i: &usize| (!key(i), !changed(i), !measure(i));
        let mut shown: Vec<usize> = (0..screen.columns.len()).collect();
        shown.sort_by_key(rank);
        Self { screen, shown }
    }
}

impl Rows for DiffRows<'_> {
    fn len(&self) -> usize {
        self.screen.window.len()
    }

    fn columns(&self) -> Vec<Column> {
        let first = self.screen.window.rows.first().and_then(|r| r.new.as_ref().or(r.old.as_ref()));
        let mut columns = vec![Column::left("effect")];
        for i in &self.shown {
            let title = escape_controls(&self.screen.columns[*i]);
            let numeric = first.and_then(|row| row.get(*i)).is_some_and(Value::is_numeric);
            columns.push(if numeric { Column::right(title) } else { Column::left(title) });
        }
        columns.push(Column::left("last written by"));
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let Some(diff) = self.screen.window.get(row) else { return Cell::dim("…") };
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

/// The partitions of a plan.
pub struct PlanPartitions<'a>(pub Option<&'a Plan>);

impl Rows for PlanPartitions<'_> {
    fn len(&self) -> usize {
        self.0.map_or(0, |p| p.partitions.len())
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::left("partition")];
        for title in ["before", "source", "after", "+", "~", "-", "z", "="] {
            columns.push(Column::right(title));
        }
        columns
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let Some(partition) = self.0.and_then(|p| p.partitions.get(row)) else { return Cell::dim("") };
        let (number, colour) = match column {
            0 => return Cell::text(partition.label()),
            1 => (Some(partition.before), Role::Text),
            2 => (Some(partition.source), Role::Text),
            3 => (Some(partition.after), Role::Text),
            4 => (Some(partition.inserted), Role::Insert),
            5 => (partition.updated, Role::Update),
            6 => (Some(partition.deleted), Role::Delete),
            7 => (Some(partition.zombies), Role::Zombie),
            _ => (Some(partition.unchanged), Role::Same),
        };
        if self.0.is_some_and(|p| !p.refusals.is_empty()) {
            return Cell::dim("–");
        }
        match number {
            Some(0) => Cell::dim("0"),
            Some(n) => Cell::new(grouped(n), colour),
            None => Cell::dim("?"),
        }
    }
}
