//! Overwrite and replace-where: what is within reach becomes what was delivered.

use super::{Delivered, Model, Outcome, Rule};
use crate::support::Row;

impl Model<'_> {
    pub(super) fn replace(&self, delivered: &[Delivered], out: &mut Outcome) {
        let (reach, rest): (Vec<&Row>, Vec<&Row>) = self.target.iter().partition(|row| self.reachable(row, out));
        out.after = rest.into_iter().cloned().collect();
        for new in delivered.iter().filter(|new| new.deletion) {
            out.ignored(self, new);
        }
        if let Rule::Where(predicate) = self.rule
            && delivered.iter().any(|new| !predicate.holds(None, Some(&new.row)))
        {
            out.refused = Some("outside");
        }
        let mut target: Vec<Option<&Row>> = reach.into_iter().map(Some).collect();
        let mut source: Vec<Option<&Delivered>> = delivered.iter().filter(|new| !new.deletion).map(Some).collect();
        // Identical rows first, then rows that differ in ignored columns only, then
        // rows of one key in one partition, then of one key.
        let same_key = |t: &Row, s: &Delivered| self.same_key(t, s);
        let identical = |t: &Row, s: &Delivered| *t == s.row && same_key(t, s);
        let alike = |t: &Row, s: &Delivered| {
            same_key(t, s) && (0..t.len()).all(|c| t[c] == s.row[c] || self.ignore.contains(&c))
        };
        let here = |t: &Row, s: &Delivered| same_key(t, s) && self.tuple(t) == self.tuple(&s.row);
        self.pair(&mut target, &mut source, identical, out);
        if !self.pairs.is_empty() {
            let keys: Vec<&Delivered> = source.iter().flatten().copied().collect();
            out.open_pairs = keys.iter().any(|key| {
                let olds = target.iter().flatten().filter(|old| same_key(old, key)).count();
                let news =
                    keys.iter().filter(|other| self.pairs.iter().all(|p| other.cells[p.source] == key.cells[p.source]));
                olds > 0 && (olds > 1 || news.count() > 1)
            });
            if !self.ignore.is_empty() {
                self.pair(&mut target, &mut source, alike, out);
            }
            self.pair(&mut target, &mut source, here, out);
            out.open_moves = self.moves_are_open(&target, &source);
            self.pair(&mut target, &mut source, same_key, out);
        }
        for new in source.into_iter().flatten() {
            out.inserted(self, new.row.clone());
        }
        for old in target.into_iter().flatten() {
            out.deleted(self, old);
        }
    }

    fn moves_are_open(&self, target: &[Option<&Row>], source: &[Option<&Delivered>]) -> bool {
        source.iter().flatten().any(|key| {
            let from: Vec<Row> =
                target.iter().flatten().filter(|row| self.same_key(row, key)).map(|row| self.tuple(row)).collect();
            let alike = |s: &&&Delivered| self.pairs.iter().all(|p| s.cells[p.source] == key.cells[p.source]);
            let to: Vec<Row> = source.iter().flatten().filter(alike).map(|s| self.tuple(&s.row)).collect();
            let spread = |tuples: &[Row]| tuples.iter().any(|t| *t != tuples[0]);
            !from.is_empty() && (spread(&from) || spread(&to))
        })
    }

    /// Takes pairs that fulfil a test out of both lists.
    fn pair(
        &self,
        target: &mut [Option<&Row>],
        source: &mut [Option<&Delivered>],
        test: impl Fn(&Row, &Delivered) -> bool,
        out: &mut Outcome,
    ) {
        for old in target.iter_mut() {
            for new in source.iter_mut() {
                if let (Some(t), Some(s)) = (*old, *new)
                    && test(t, s)
                {
                    out.rewritten(self, t, s.row.clone());
                    (*old, *new) = (None, None);
                }
            }
        }
    }
}
