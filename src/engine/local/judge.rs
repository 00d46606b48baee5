//! What a rule makes of the rows of one bucket.
//!
//! All rows of one key are in one bucket, so nothing outside it has a say. A
//! [`Visitor`] is told what becomes of every row: one counts, another keeps it.

use super::compile::Compiled;
use super::outside::comparable;
use super::roles::Roles;
use super::rows::{BEYOND, DELETION, Rows};
use super::sides::Sides;
use super::sorted::{Sorted, pass};
use super::visitor::{Bucket, KeyGroup, Stay, Visitor};
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

    pub(super) fn source_cells(&self, s: usize) -> Result<Vec<Value>> {
        cells(self.bucket.source, s, self.roles.cells.source.len())
    }

    pub(super) fn target_cells(&self, t: usize) -> Result<Vec<Value>> {
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
    pub(super) fn replace(&self, t: usize, s: usize, visitor: &mut impl Visitor) -> Result<()> {
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
}

fn cells(rows: &Rows, row: usize, count: usize) -> Result<Vec<Value>> {
    let mut reader = Reader::new(rows.payload.row(row));
    (0..count).map(|_| reader.value()).collect()
}
