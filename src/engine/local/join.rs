//! What the clauses of a join make of the rows of one key.

use super::compile::{BySource, Insert, Matched, Set};
use super::judge::Judge;
use super::roles::Roles;
use super::rows::DELETION;
use super::visitor::{KeyGroup, Patch, Stay, Visitor};
use crate::error::Result;
use crate::table::Value;

impl Judge<'_> {
    pub(super) fn join(
        &self,
        sources: &[usize],
        targets: &[usize],
        comparable: bool,
        facts: &mut KeyGroup,
        visitor: &mut impl Visitor,
    ) -> Result<()> {
        let slice = self.sides.slice;
        let reads_cells = !self.bucket.source.is_empty() && !self.roles.cells.source.is_empty();
        let s_cells: Vec<Vec<Value>> = if reads_cells {
            sources.iter().map(|s| self.source_cells(*s)).collect::<Result<_>>()?
        } else {
            Vec::new()
        };
        let cells_of = |at: usize| s_cells.get(at).map_or(&[][..], Vec::as_slice);
        let mut used = vec![Used::No; sources.len()];
        let clauses = &self.rule.rule.clauses;
        for t in targets {
            let t = *t;
            let t_cells = if self.roles.cells.target.is_empty() { Vec::new() } else { self.target_cells(t)? };
            let mut first = None;
            let (mut matches, mut deletions) = (0u64, 0u64);
            if comparable {
                for (at, used) in used.iter_mut().enumerate() {
                    if self.roles.cells.holds(self.rule.on.as_ref(), cells_of(at), &t_cells)? {
                        matches += 1;
                        deletions += u64::from(self.bucket.source.has(sources[at], DELETION));
                        first.get_or_insert(at);
                        *used = (*used).max(Used::Matched);
                    }
                }
            }
            let Some(at) = first else {
                let in_slice = (self.bucket.target.partition[t] as usize) < slice;
                self.by_source(t, &t_cells, in_slice, sources.is_empty(), visitor)?;
                continue;
            };
            // A row that says that it is gone, beside one that says nothing is to be done.
            let mixed = clauses.matched.is_empty() && deletions > 0 && deletions < matches;
            if matches > 1 && (mixed || !clauses.allows_many()) {
                facts.ambiguous += 1;
                facts.ambiguous_example = Some(self.bucket.source.place[sources[at]]);
            }
            let fired = self.matched(t, (sources[at], used[at]), cells_of(at), &t_cells, visitor)?;
            used[at] = used[at].max(fired);
            if fired == Used::Fired && matches > 1 {
                // An unconditional DELETE takes every match.
                used.iter_mut().filter(|u| **u == Used::Matched).for_each(|u| *u = Used::Fired);
            }
        }
        for (at, s) in sources.iter().enumerate() {
            match used[at] {
                Used::Fired => visitor.matched(&self.bucket, *s)?,
                Used::Inserted => {}
                Used::Matched => visitor.ignore(&self.bucket, *s)?,
                Used::No => self.not_matched(*s, cells_of(at), visitor)?,
            }
        }
        Ok(())
    }

    fn matched(
        &self,
        t: usize,
        (s, used): (usize, Used),
        s_cells: &[Value],
        t_cells: &[Value],
        visitor: &mut impl Visitor,
    ) -> Result<Used> {
        if self.bucket.source.has(s, DELETION) {
            visitor.delete(&self.bucket, t)?;
            return Ok(Used::Fired);
        }
        for (number, (condition, action)) in self.rule.matched.iter().enumerate() {
            if !self.roles.cells.holds(condition.as_ref(), s_cells, t_cells)? {
                continue;
            }
            match action {
                Matched::Delete => visitor.delete(&self.bucket, t)?,
                Matched::Replace => self.replace(t, s, visitor)?,
                Matched::Patch(set) => visitor.patch(&self.bucket, t, self.patched(set, s_cells, t_cells)?)?,
                Matched::Close(set, insert) => {
                    visitor.patch(&self.bucket, t, self.patched(set, s_cells, t_cells)?)?;
                    // It may close several rows, and is one version all the same.
                    if used != Used::Inserted {
                        self.insert(s, self.rule.closing_insert(number), insert, s_cells, visitor)?;
                    }
                    return Ok(Used::Inserted);
                }
            }
            return Ok(Used::Fired);
        }
        visitor.stay(&self.bucket, t, Stay::Kept)?;
        Ok(Used::Matched)
    }

    fn not_matched(&self, s: usize, s_cells: &[Value], visitor: &mut impl Visitor) -> Result<()> {
        if !self.bucket.source.has(s, DELETION) {
            for (number, (condition, insert)) in self.rule.not_matched.iter().enumerate() {
                if self.roles.cells.holds(condition.as_ref(), s_cells, &[])? {
                    return self.insert(s, number, insert, s_cells, visitor);
                }
            }
        }
        visitor.ignore(&self.bucket, s)
    }

    fn insert(
        &self,
        s: usize,
        number: usize,
        insert: &Insert,
        s_cells: &[Value],
        visitor: &mut impl Visitor,
    ) -> Result<()> {
        match insert {
            Insert::Delivered => visitor.insert(&self.bucket, s),
            Insert::Built(columns) => {
                let values = built(columns, self.roles, s_cells)?;
                visitor.build(&self.bucket, s, number, values)
            }
        }
    }

    fn by_source(
        &self,
        t: usize,
        t_cells: &[Value],
        in_slice: bool,
        absent: bool,
        visitor: &mut impl Visitor,
    ) -> Result<()> {
        for BySource { condition, within_slice, set } in &self.rule.by_source {
            if *within_slice && !in_slice || !self.roles.cells.holds(condition.as_ref(), &[], t_cells)? {
                continue;
            }
            return match set {
                None => visitor.delete(&self.bucket, t),
                Some(set) => visitor.patch(&self.bucket, t, self.patched(set, &[], t_cells)?),
            };
        }
        // "Its key is not in S" is meant null-safely, whatever the join does.
        visitor.stay(&self.bucket, t, if in_slice && absent { Stay::Zombie } else { Stay::Untouched })
    }

    fn patched(&self, set: &Set, s_cells: &[Value], t_cells: &[Value]) -> Result<Patch> {
        let cells = &self.roles.cells;
        let mut patch = Patch {
            values: Vec::with_capacity(self.rule.patched.len()),
            changed: false,
            touched_only: true,
            broken: 0,
            cells: Vec::new(),
        };
        for column in &self.rule.patched {
            let old = cells.target_cell(t_cells, *column);
            let new = match set.iter().find(|(assigned, _)| assigned == column) {
                Some((_, bound)) => cells.evaluate(bound, s_cells, t_cells)?,
                None => old.clone(),
            };
            if old != new {
                patch.changed = true;
                patch.touched_only &= self.roles.ignore.contains(column);
            }
            patch.values.push(new);
        }
        patch.touched_only &= patch.changed;
        let checks = &self.roles.checks.rows;
        if !checks.is_empty() {
            let assigned = |column: usize| self.rule.patched.iter().position(|c| *c == column);
            let cell = |column: usize| match assigned(column) {
                Some(at) => patch.values[at].clone(),
                None => cells.target_cell(t_cells, column),
            };
            let broken = checks.broken(&cell);
            let shown = if broken == 0 { Vec::new() } else { checks.columns() };
            patch.cells = shown.into_iter().map(|column| (column, cell(column))).collect();
            patch.broken = broken;
        }
        Ok(patch)
    }
}

/// What became of a delivered row so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Used {
    No,
    /// It matches, but no clause fired.
    Matched,
    Fired,
    /// It closed a row and was inserted beside it.
    Inserted,
}

/// The values of a built row.
///
/// # Errors
/// What expressions run into.
pub fn built(columns: &[Option<crate::predicate::Bound>], roles: &Roles, s_cells: &[Value]) -> Result<Vec<Value>> {
    let value = |bound: &Option<crate::predicate::Bound>| match bound {
        None => Ok(Value::Null),
        Some(bound) => roles.cells.evaluate(bound, s_cells, &[]),
    };
    columns.iter().map(value).collect()
}
