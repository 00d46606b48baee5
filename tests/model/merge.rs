//! MERGE and SCD type 2, row by row.

use partwise::table::Value;

use super::{Delivered, Expr, Model, Outcome};
use crate::support::Row;

/// The clauses of a MERGE; conditions of a list are tried in order.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    /// What ON demands besides the keys.
    pub condition: Option<Expr>,
    pub matched: Vec<(Option<Expr>, Matched)>,
    pub not_matched: Vec<(Option<Expr>, Values)>,
    pub by_source: Vec<BySource>,
}

#[derive(Debug, Clone)]
pub enum Matched {
    Update(Values),
    Delete,
}

#[derive(Debug, Clone)]
pub enum Values {
    All,
    /// (column of the table, value)
    Set(Vec<(usize, Expr)>),
}

#[derive(Debug, Clone)]
pub struct BySource {
    pub condition: Option<Expr>,
    pub within_slice: bool,
    /// `None` deletes.
    pub set: Option<Vec<(usize, Expr)>>,
}

/// Columns of the table, but for `at`: a place in the source's rows.
#[derive(Debug, Clone)]
pub struct Scd2 {
    pub track: Vec<usize>,
    pub from: usize,
    pub to: usize,
    pub current: Option<usize>,
    pub at: usize,
}

/// What became of a delivered row so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Used {
    No,
    Matched,
    Fired,
    Inserted,
}

impl Statement {
    pub fn upsert(delete_missing: bool) -> Statement {
        let delete = BySource { condition: None, within_slice: true, set: None };
        Statement {
            matched: vec![(None, Matched::Update(Values::All))],
            by_source: if delete_missing { vec![delete] } else { Vec::new() },
            ..Statement::insert_only()
        }
    }

    pub fn insert_only() -> Statement {
        Statement { not_matched: vec![(None, Values::All)], ..Statement::default() }
    }
}

fn passes(condition: Option<&Expr>, source: Option<&Row>, target: Option<&Row>) -> bool {
    condition.is_none_or(|c| c.holds(source, target))
}

fn assigned(set: &[(usize, Expr)], source: Option<&Row>, target: &Row) -> Row {
    let mut row = target.clone();
    for (column, value) in set {
        row[*column] = value.evaluate(source, Some(target));
    }
    row
}

fn built(values: &Values, new: &Delivered) -> Row {
    match values {
        Values::All => new.row.clone(),
        Values::Set(set) => {
            let mut row = vec![Value::Null; new.row.len()];
            for (column, value) in set {
                row[*column] = value.evaluate(Some(&new.cells), None);
            }
            row
        }
    }
}

/// Whether several source rows may match one row of the table: nothing is done
/// with the match, or all of them delete it.
fn allows_many(statement: &Statement, matching: &[&Delivered]) -> bool {
    match statement.matched.as_slice() {
        [] => matching.iter().all(|new| new.deletion == matching[0].deletion),
        [(None, Matched::Delete)] => true,
        _ => false,
    }
}

impl Model<'_> {
    pub(super) fn merge(&self, statement: &Statement, delivered: &[Delivered], out: &mut Outcome) {
        let mut used = vec![Used::No; delivered.len()];
        for old in self.target {
            let holds = |new: &Delivered| {
                self.matches(old, new) && passes(statement.condition.as_ref(), Some(&new.cells), Some(old))
            };
            let at: Vec<usize> = (0..delivered.len()).filter(|at| holds(&delivered[*at])).collect();
            let matching: Vec<&Delivered> = at.iter().map(|at| &delivered[*at]).collect();
            let Some(first) = matching.first() else {
                self.by_source(statement, old, delivered, out);
                continue;
            };
            if matching.len() > 1 && !allows_many(statement, &matching) {
                out.refused = Some("ambiguous");
            }
            let fired = first.deletion || self.fire(statement, old, first, out);
            if first.deletion {
                out.deleted(self, old);
            }
            for (n, at) in at.iter().enumerate() {
                if fired && (n == 0 || matching.len() > 1) {
                    used[*at] = Used::Fired;
                } else if used[*at] == Used::No {
                    used[*at] = Used::Matched;
                }
            }
        }
        for (new, used) in delivered.iter().zip(used) {
            let clause = || statement.not_matched.iter().find(|(c, _)| passes(c.as_ref(), Some(&new.cells), None));
            match used {
                Used::Fired | Used::Inserted => {}
                Used::No if !new.deletion => match clause() {
                    Some((_, values)) => out.inserted(self, built(values, new)),
                    None => out.ignored(self, new),
                },
                Used::No | Used::Matched => out.ignored(self, new),
            }
        }
    }

    /// Whether a matched clause takes the pair.
    fn fire(&self, statement: &Statement, old: &Row, new: &Delivered, out: &mut Outcome) -> bool {
        let clause = statement.matched.iter().find(|(c, _)| passes(c.as_ref(), Some(&new.cells), Some(old)));
        match clause {
            None => {
                out.stays("kept", self, old);
                return false;
            }
            Some((_, Matched::Delete)) => out.deleted(self, old),
            Some((_, Matched::Update(Values::All))) => out.rewritten(self, old, new.row.clone()),
            Some((_, Matched::Update(Values::Set(set)))) => {
                out.rewritten(self, old, assigned(set, Some(&new.cells), old));
            }
        }
        true
    }

    fn by_source(&self, statement: &Statement, old: &Row, delivered: &[Delivered], out: &mut Outcome) {
        let in_slice = out.slice.contains(&self.tuple(old));
        let applies = |c: &&BySource| (in_slice || !c.within_slice) && passes(c.condition.as_ref(), None, Some(old));
        match statement.by_source.iter().find(applies) {
            Some(BySource { set: None, .. }) => out.deleted(self, old),
            Some(BySource { set: Some(set), .. }) => out.rewritten(self, old, assigned(set, None, old)),
            None => self.unmatched(old, delivered, out),
        }
    }

    /// A row of the table that nothing touches: a zombie where its partition was
    /// delivered and its key was not, NULLs being keys like any others.
    fn unmatched(&self, old: &Row, delivered: &[Delivered], out: &mut Outcome) {
        let absent = !delivered.iter().any(|new| self.same_key(old, new));
        let zombie = absent && out.slice.contains(&self.tuple(old));
        out.stays(if zombie { "zombies" } else { "" }, self, old);
    }

    pub(super) fn scd2(&self, scd2: &Scd2, delivered: &[Delivered], out: &mut Outcome) {
        let mut used = vec![Used::No; delivered.len()];
        let version = |new: &Delivered| {
            let mut row = new.row.clone();
            row[scd2.from] = new.cells[scd2.at].clone();
            row[scd2.to] = Value::Null;
            if let Some(current) = scd2.current {
                row[current] = Value::Boolean(true);
            }
            row
        };
        for old in self.target {
            let current = match scd2.current {
                Some(flag) => old[flag] == Value::Boolean(true),
                None => old[scd2.to] == Value::Null,
            };
            let at: Vec<usize> =
                (0..delivered.len()).filter(|at| current && self.matches(old, &delivered[*at])).collect();
            let Some(first) = at.first() else {
                self.unmatched(old, delivered, out);
                continue;
            };
            if at.len() > 1 {
                out.refused = Some("ambiguous");
            }
            let new = &delivered[*first];
            if scd2.track.iter().all(|c| old[*c] == new.row[*c]) {
                out.stays("kept", self, old);
                at.iter().filter(|at| used[**at] == Used::No).copied().collect::<Vec<_>>().iter().for_each(|at| {
                    used[*at] = Used::Matched;
                });
                continue;
            }
            let mut closed = old.clone();
            closed[scd2.to] = new.cells[scd2.at].clone();
            if let Some(flag) = scd2.current {
                closed[flag] = Value::Boolean(false);
            }
            out.rewritten(self, old, closed);
            if used[*first] != Used::Inserted {
                out.inserted(self, version(new));
            }
            used[*first] = Used::Inserted;
        }
        for (new, used) in delivered.iter().zip(used) {
            match used {
                Used::No => out.inserted(self, version(new)),
                Used::Matched => out.ignored(self, new),
                Used::Fired | Used::Inserted => {}
            }
        }
    }
}
