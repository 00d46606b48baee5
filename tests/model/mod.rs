//! A naive model of what a write does to rows (contract, "What happens to rows").
//!
//! Nested loops over vectors, cell by cell: slow, plain, and without a line of
//! `src/plan` or `src/engine`. Property tests hold the product to it.

mod expr;
mod feed;
mod merge;
mod replace;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use partwise::table::Value;

pub use expr::{Expr, Names, has_literals};
pub use feed::{Delivered, Feed, Meaning};
pub use merge::{BySource, Matched, Scd2, Statement, Values};

use crate::support::Row;

#[derive(Debug, Clone)]
pub enum Rule {
    /// Dynamic: the partitions of the source.
    Overwrite,
    /// Static: the whole table.
    OverwriteAll,
    /// The rows for which the predicate is true.
    Where(Expr),
    Append,
    Merge(Statement),
    Scd2(Scd2),
}

/// One equality of the key; `null_safe` says something of a MERGE only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub target: usize,
    /// A place in the source's rows.
    pub source: usize,
    pub null_safe: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Model<'a> {
    pub rule: &'a Rule,
    /// Columns of the table.
    pub partition: &'a [usize],
    /// Columns of the table that do not count.
    pub ignore: &'a [usize],
    /// Empty for rows without identity.
    pub pairs: &'a [Pair],
    pub target: &'a [Row],
    pub feed: &'a Feed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub before: u64,
    pub source: u64,
    pub inserted: u64,
    /// Where rows move, counted in the partition to which they go.
    pub updated: u64,
    pub unchanged: u64,
    pub deleted: u64,
    pub zombies: u64,
    pub kept: u64,
    pub ignored: u64,
    pub moved_in: u64,
    pub moved_out: u64,
}

/// The word of an effect, the row in the table, the row that was delivered or
/// is written.
pub type Change = (&'static str, Option<Row>, Option<Row>);

#[derive(Debug, Default)]
pub struct Outcome {
    pub total: Counts,
    /// Every partition of the source and every other one in which something happens.
    pub partitions: BTreeMap<Row, Counts>,
    /// Partitions of the source; of the table too, where all of it is replaced.
    pub slice: Vec<Row>,
    /// All rows of the table afterwards.
    pub after: Vec<Row>,
    /// Every row of every effect.
    pub changes: Vec<Change>,
    /// Of the updated rows, those that differ only in ignored columns.
    pub touched_only: u64,
    pub before_images: u64,
    /// Ignored source rows that lie in no partition: the source does not tell it.
    pub unplaced: u64,
    /// `ambiguous`: a row of the table is matched by several source rows.
    /// `outside`: the predicate is not true for a source row.
    pub refused: Option<&'static str>,
    /// Which of several equal keys pair is left open, so `changes` is one of
    /// several right answers.
    pub open_pairs: bool,
    /// Which of several equal keys moved where is left open: then only the sums
    /// `inserted + moved_in` and `deleted + moved_out` of a partition are fixed.
    pub open_moves: bool,
    /// Source rows whose key lives out of reach.
    pub elsewhere: u64,
    /// Source rows whose key is in the reachable target.
    pub existing: u64,
    /// Source rows beyond the first of a key, and reachable rows of the table.
    pub duplicates: (u64, u64),
    /// Rows with a NULL in the key, source and reachable target.
    pub nulls: (u64, u64),
}

impl Model<'_> {
    fn tuple(&self, row: &Row) -> Row {
        self.partition.iter().map(|&c| row[c].clone()).collect()
    }

    /// Null-safe equality of keys.
    fn same_key(&self, old: &Row, new: &Delivered) -> bool {
        self.pairs.iter().all(|p| old[p.target] == new.cells[p.source])
    }

    fn joins(&self) -> bool {
        matches!(self.rule, Rule::Merge(_) | Rule::Scd2(_))
    }

    /// Whether a NULL keeps the key from matching anything.
    fn never(&self, value: impl Fn(&Pair) -> bool) -> bool {
        self.joins() && self.pairs.iter().any(|p| !p.null_safe && value(p))
    }

    /// Equality of keys as the rule sees it.
    fn matches(&self, old: &Row, new: &Delivered) -> bool {
        self.same_key(old, new) && !self.never(|p| old[p.target] == Value::Null)
    }

    /// Whether the source tells the partitions of its rows.
    fn places(&self) -> bool {
        self.partition.iter().all(|&c| self.feed.columns[c].is_some())
    }

    fn reachable(&self, row: &Row, out: &Outcome) -> bool {
        match self.rule {
            Rule::Overwrite | Rule::OverwriteAll => out.slice.contains(&self.tuple(row)),
            Rule::Where(predicate) => predicate.holds(None, Some(row)),
            Rule::Append | Rule::Merge(_) | Rule::Scd2(_) => true,
        }
    }

    pub fn run(&self) -> Outcome {
        let looked = self.feed.look(self.pairs);
        let said: Vec<&Delivered> = looked.rows.iter().chain(&looked.superseded).collect();
        let mut out = Outcome { before_images: looked.before_images, ..Outcome::default() };
        if self.places() {
            let all = matches!(self.rule, Rule::OverwriteAll);
            let rows = said.iter().map(|new| &new.row).chain(self.target.iter().filter(|_| all));
            for tuple in rows.map(|row| self.tuple(row)) {
                if !out.slice.contains(&tuple) {
                    out.slice.push(tuple);
                }
            }
        }
        for new in &looked.superseded {
            out.ignored(self, new);
        }
        match self.rule {
            Rule::Overwrite | Rule::OverwriteAll | Rule::Where(_) => self.replace(&looked.rows, &mut out),
            Rule::Append => self.append(&looked.rows, &mut out),
            Rule::Merge(statement) => self.merge(statement, &looked.rows, &mut out),
            Rule::Scd2(scd2) => self.scd2(scd2, &looked.rows, &mut out),
        }
        self.count_keys(&looked.rows, &said, &mut out);
        for new in said.iter().filter(|_| self.places()) {
            out.at(self.tuple(&new.row)).source += 1;
        }
        for row in self.target {
            if let Some(counts) = out.partitions.get_mut(&self.tuple(row)) {
                counts.before += 1;
            }
        }
        out.total = out.partitions.values().fold(Counts::default(), |sum, c| sum.plus(c));
        out.total.ignored += out.unplaced + out.before_images;
        out.total.source = self.feed.rows.len() as u64;
        if let Some(filter) = &self.feed.filter {
            out.total.source = self.feed.rows.iter().filter(|row| filter.holds(Some(row), None)).count() as u64;
        }
        out
    }

    fn append(&self, delivered: &[Delivered], out: &mut Outcome) {
        out.after = self.target.to_vec();
        for new in delivered {
            if new.deletion {
                out.ignored(self, new);
            } else {
                out.inserted(self, new.row.clone());
            }
        }
    }

    fn count_keys(&self, delivered: &[Delivered], said: &[&Delivered], out: &mut Outcome) {
        if self.pairs.is_empty() {
            return;
        }
        let (reach, beyond): (Vec<&Row>, Vec<&Row>) = self.target.iter().partition(|row| self.reachable(row, out));
        let null = |row: &&&Row| self.pairs.iter().any(|p| row[p.target] == Value::Null);
        out.nulls.1 = reach.iter().filter(null).count() as u64;
        // A MERGE with a partition column in ON cannot see the row that it doubles:
        // there, the rest of the key is what identifies a row.
        let binds = |p: &&Pair| self.partition.contains(&p.target) && self.feed.columns[p.target] == Some(p.source);
        let hides = self.joins() && self.places();
        let seen: Vec<Pair> = self.pairs.iter().filter(|p| !(hides && binds(p))).copied().collect();
        let rest = Model { pairs: &seen, ..*self };
        let outside: Vec<&Row> = match self.rule {
            Rule::Where(_) => beyond,
            _ => self.target.iter().filter(|row| !out.slice.contains(&self.tuple(row))).collect(),
        };
        for new in said {
            let lives = outside.iter().any(|old| rest.matches(old, new));
            out.elsewhere += u64::from(!seen.is_empty() && lives);
        }
        for (at, new) in delivered.iter().enumerate() {
            let is_null = |p: &Pair| new.cells[p.source] == Value::Null;
            let alike = |other: &Delivered| self.pairs.iter().all(|p| other.cells[p.source] == new.cells[p.source]);
            out.nulls.0 += u64::from(self.pairs.iter().any(is_null));
            out.duplicates.0 += u64::from(!self.never(is_null) && delivered[..at].iter().any(alike));
            out.existing += u64::from(reach.iter().any(|old| self.matches(old, new)));
        }
        for (at, row) in reach.iter().enumerate() {
            let alike = |other: &&Row| self.pairs.iter().all(|p| other[p.target] == row[p.target]);
            out.duplicates.1 += u64::from(reach[..at].iter().any(alike));
        }
    }
}

impl Counts {
    fn plus(self, more: &Counts) -> Counts {
        Counts {
            before: self.before + more.before,
            source: self.source + more.source,
            inserted: self.inserted + more.inserted,
            updated: self.updated + more.updated,
            unchanged: self.unchanged + more.unchanged,
            deleted: self.deleted + more.deleted,
            zombies: self.zombies + more.zombies,
            kept: self.kept + more.kept,
            ignored: self.ignored + more.ignored,
            moved_in: self.moved_in + more.moved_in,
            moved_out: self.moved_out + more.moved_out,
        }
    }

    pub fn after(&self) -> u64 {
        self.before + self.inserted + self.moved_in - self.deleted - self.moved_out
    }
}

impl Outcome {
    fn at(&mut self, tuple: Row) -> &mut Counts {
        self.partitions.entry(tuple).or_default()
    }

    /// Whether anything but ignored columns changes.
    pub fn changes_something(&self) -> bool {
        self.total.inserted + self.total.updated + self.total.deleted > self.touched_only
    }

    fn inserted(&mut self, model: &Model<'_>, row: Row) {
        self.at(model.tuple(&row)).inserted += 1;
        self.after.push(row.clone());
        self.changes.push(("inserted", None, Some(row)));
    }

    fn deleted(&mut self, model: &Model<'_>, old: &Row) {
        self.at(model.tuple(old)).deleted += 1;
        self.changes.push(("deleted", Some(old.clone()), None));
    }

    fn ignored(&mut self, model: &Model<'_>, new: &Delivered) {
        if model.places() {
            self.at(model.tuple(&new.row)).ignored += 1;
        } else {
            self.unplaced += 1;
        }
        self.changes.push(("ignored", None, Some(new.row.clone())));
    }

    /// `kept`, `zombies`, or nothing to say.
    fn stays(&mut self, word: &'static str, model: &Model<'_>, old: &Row) {
        self.after.push(old.clone());
        if word.is_empty() {
            return;
        }
        let counts = self.at(model.tuple(old));
        if word == "kept" {
            counts.kept += 1
        } else {
            counts.zombies += 1
        }
        self.changes.push((word, Some(old.clone()), None));
    }

    fn rewritten(&mut self, model: &Model<'_>, old: &Row, new: Row) {
        let (from, to) = (model.tuple(old), model.tuple(&new));
        if *old == new {
            self.at(to).unchanged += 1;
            self.changes.push(("unchanged", Some(old.clone()), Some(new.clone())));
        } else {
            let differs = |c: usize| old[c] != new[c] && !model.ignore.contains(&c);
            self.touched_only += u64::from(!(0..old.len()).any(differs));
            self.at(to.clone()).updated += 1;
            if from != to {
                self.at(to).moved_in += 1;
                self.at(from).moved_out += 1;
            }
            self.changes.push(("updated", Some(old.clone()), Some(new.clone())));
        }
        self.after.push(new);
    }
}
