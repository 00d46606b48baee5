//! What a rule makes of the rows of one bucket.
//!
//! All rows of one key are in one bucket, so nothing outside it has a say. A
//! [`Visitor`] is told what becomes of every row: one counts, another keeps it.

use super::compile::{BySource, Compiled, Insert, Matched, Set};
use super::outside::comparable;
use super::roles::Roles;
use super::rows::{BEYOND, DELETION, Rows};
use super::sides::Sides;
use super::sorted::{Sorted, pass};
use super::visitor::{Bucket, KeyGroup, Patch, Stay, Visitor};
use super::wire::Reader;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Pairing;
use crate::table::Value;

/// Judges one bucket by one rule.
pub struct Judge<'a> {
    pub sides: &'a Sides,
    pub roles: &'a Roles,
    pub rule: &'a Compiled,
    pub number: usize,
    pub bucket: Bucket<'a>,
    /// Keys outside the slice, for rules that only add.
    pub outside: Option<&'a super::keys::KeySet>,
}

impl Judge<'_> {
    /// # Errors
    /// What the visitor gives, and what expressions run into.
    pub fn run(&self, source: &Sorted, target: &Sorted, visitor: &mut impl Visitor) -> Result<()> {
        let (s_rows, t_rows) = (self.bucket.source, self.bucket.target);
        let mut targets = target.groups(t_rows).peekable();
        let key = |rows: &Rows, group: &[(u64, u32)]| rows.identity(group[0].1 as usize);
        for group in source.groups(s_rows) {
            let wanted = key(s_rows, group);
            while let Some(lonely) = targets.next_if(|t| key(t_rows, t) < wanted) {
                self.group(&[], lonely, visitor)?;
            }
            let partner = targets.next_if(|t| key(t_rows, t) == wanted);
            self.group(group, partner.unwrap_or_default(), visitor)?;
        }
        for lonely in targets {
            self.group(&[], lonely, visitor)?;
        }
        Ok(())
    }

    fn group(&self, s: &[(u64, u32)], t: &[(u64, u32)], visitor: &mut impl Visitor) -> Result<()> {
        if let ([(_, s)], [(_, t)]) = (s, t)
            && self.simple(*s as usize, *t as usize)
        {
            // One row on each side of a replaced key: what most groups are.
            let (s, t) = (*s as usize, *t as usize);
            self.replace(t, s, visitor)?;
            visitor.matched(&self.bucket, s)?;
            visitor.key(KeyGroup {
                existing: 1,
                source_nulls: self.nulls(self.bucket.source, &[s]),
                target_nulls: self.nulls(self.bucket.target, &[t]),
                ..KeyGroup::default()
            });
            return Ok(());
        }
        let mut facts = KeyGroup::default();
        let mut sources: Vec<usize> = s.iter().map(|(_, row)| *row as usize).collect();
        let mut targets: Vec<usize> = Vec::with_capacity(t.len());
        let mut beyond = None;
        for (_, row) in t {
            let row = *row as usize;
            let place = self.bucket.target.place[row];
            if !self.sides.reaches[self.number][place.file()] {
                continue;
            }
            if self.bucket.target.has(row, BEYOND) {
                visitor.stay(&self.bucket, row, Stay::Untouched)?;
                beyond = Some(place);
            } else {
                targets.push(row);
            }
        }
        if let Some(latest) = self.roles.latest {
            self.keep_latest(&mut sources, latest, visitor)?;
        }
        let keyed = !self.roles.key.is_empty();
        facts.source_nulls = self.nulls(self.bucket.source, &sources);
        facts.target_nulls = self.nulls(self.bucket.target, &targets);
        let comparable = match (sources.first(), targets.first()) {
            (Some(row), _) => comparable(self.rule.nulls, self.bucket.source, *row),
            (None, Some(row)) => comparable(self.rule.nulls, self.bucket.target, *row),
            (None, None) => return Ok(()),
        };
        if keyed && comparable {
            facts.source_duplicates = sources.len().saturating_sub(1) as u64;
            facts.target_duplicates = targets.len().saturating_sub(1) as u64;
            facts.repeated = sources.get(1).map(|row| self.bucket.source.place[*row]);
            let outside = || {
                sources
                    .first()
                    .is_some_and(|row| self.outside.is_some_and(|keys| keys.contains(&self.bucket.source.key[*row])))
            };
            if !targets.is_empty() || outside() {
                facts.existing = sources.len() as u64;
            }
            if beyond.is_some() && !sources.is_empty() {
                (facts.elsewhere, facts.elsewhere_example) = (sources.len() as u64, beyond);
            }
        }
        match &self.rule.rule.pairing {
            Pairing::Never => {
                for t in &targets {
                    visitor.stay(&self.bucket, *t, Stay::Untouched)?;
                }
                for s in sources {
                    if self.bucket.source.has(s, DELETION) {
                        visitor.ignore(&self.bucket, s)?;
                    } else {
                        visitor.insert(&self.bucket, s)?;
                    }
                }
            }
            Pairing::Multiset => self.multiset(sources, targets, visitor)?,
            Pairing::Join(_) => self.join(&sources, &targets, comparable, &mut facts, visitor)?,
        }
        visitor.key(facts);
        Ok(())
    }

    /// Whether two rows of one key pair without further ado.
    fn simple(&self, s: usize, t: usize) -> bool {
        self.rule.rule.pairing == Pairing::Multiset
            && !self.roles.key.is_empty()
            && self.bucket.source.flags[s] & DELETION == 0
            && self.bucket.target.flags[t] & BEYOND == 0
            && self.sides.reaches[self.number][self.bucket.target.place[t].file()]
    }

    fn nulls(&self, rows: &Rows, of: &[usize]) -> u64 {
        of.iter().filter(|row| rows.has(**row, super::rows::NULL_KEY)).count() as u64
    }

    /// Of the delivered rows of one key only the newest stays.
    fn keep_latest(&self, sources: &mut Vec<usize>, latest: usize, visitor: &mut impl Visitor) -> Result<()> {
        if sources.len() < 2 || self.roles.key.is_empty() {
            return Ok(());
        }
        let said = |s: usize| (self.bucket.source.row[s], self.bucket.source.has(s, DELETION));
        let mut newest: Option<Value> = None;
        let mut kept: Vec<usize> = Vec::new();
        for s in sources.iter() {
            let value = self.source_cells(*s)?.into_iter().nth(latest).unwrap_or(Value::Null);
            match &newest {
                Some(newest) if value < *newest => {}
                // Delivered twice: one of them is enough. Two rows of one time
                // that say different things stay two, and the key's gates say so.
                Some(newest) if value == *newest => {
                    if kept.iter().all(|k| said(*k) != said(*s)) {
                        kept.push(*s);
                    }
                }
                _ => {
                    newest = Some(value);
                    kept = vec![*s];
                }
            }
        }
        for s in sources.iter().filter(|s| !kept.contains(s)) {
            visitor.ignore(&self.bucket, *s)?;
        }
        *sources = kept;
        Ok(())
    }

    fn source_cells(&self, s: usize) -> Result<Vec<Value>> {
        cells(self.bucket.source, s, self.roles.cells.source.len())
    }

    fn target_cells(&self, t: usize) -> Result<Vec<Value>> {
        cells(self.bucket.target, t, self.roles.cells.target.len())
    }

    fn multiset(&self, mut sources: Vec<usize>, targets: Vec<usize>, visitor: &mut impl Visitor) -> Result<()> {
        for s in sources.iter().filter(|s| self.bucket.source.has(**s, DELETION)) {
            visitor.ignore(&self.bucket, *s)?;
        }
        sources.retain(|s| !self.bucket.source.has(*s, DELETION));
        let mut pairs = Vec::new();
        let (open_s, open_t) = self.pair(sources, targets, &mut pairs);
        for (t, s) in pairs {
            self.replace(t, s, visitor)?;
            visitor.matched(&self.bucket, s)?;
        }
        for t in open_t {
            visitor.delete(&self.bucket, t)?;
        }
        for s in open_s {
            visitor.insert(&self.bucket, s)?;
        }
        Ok(())
    }

    /// Identical rows first, then rows equal but for ignored columns, then rows
    /// of the same partition, then the rest. Each pass is linear, so a wrong key
    /// with a million rows of one value costs no more than a right one.
    fn pair(
        &self,
        mut open_s: Vec<usize>,
        mut open_t: Vec<usize>,
        pairs: &mut Vec<(usize, usize)>,
    ) -> (Vec<usize>, Vec<usize>) {
        let keyed = !self.roles.key.is_empty();
        if let ([s], [t]) = (open_s.as_slice(), open_t.as_slice())
            && keyed
        {
            pairs.push((*t, *s));
            return (Vec::new(), Vec::new());
        }
        let (source, target) = (self.bucket.source, self.bucket.target);
        pass(&mut open_s, &mut open_t, pairs, |s| source.row[s], |t| target.row[t]);
        if keyed {
            if !source.significant.is_empty() {
                pass(&mut open_s, &mut open_t, pairs, |s| source.significant(s), |t| target.significant(t));
            }
            pass(&mut open_s, &mut open_t, pairs, |s| source.partition[s].into(), |t| target.partition[t].into());
            pass(&mut open_s, &mut open_t, pairs, |_| 0, |_| 0);
        }
        (open_s, open_t)
    }

    /// A pair of rows with one hash is one row; where every cell is asked for,
    /// that is checked.
    fn replace(&self, t: usize, s: usize, visitor: &mut impl Visitor) -> Result<()> {
        if self.roles.exact_cells && self.bucket.source.row[s] == self.bucket.target.row[t] {
            let (source, target) = (self.source_cells(s)?, self.target_cells(t)?);
            for (column, from) in self.sides.fetch.job.matching.columns.iter().enumerate() {
                let Some(from) = from else { continue };
                let (old, new) = (self.roles.cells.target_cell(&target, column), source.get(*from));
                if new.is_some_and(|new| old != *new) {
                    return Err(Error::new(
                        ErrorKind::Internal,
                        format!("two different rows have one hash: {old} and {}", source[*from]),
                    )
                    .hint("Make the plan again: it will take another seed."));
                }
            }
        }
        visitor.replace(&self.bucket, t, s)
    }

    fn join(
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

fn cells(rows: &Rows, row: usize, count: usize) -> Result<Vec<Value>> {
    let mut reader = Reader::new(rows.payload.row(row));
    (0..count).map(|_| reader.value()).collect()
}
