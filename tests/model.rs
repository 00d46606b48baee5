//! A naive model of what a write does to rows (contract, "What happens to rows").
//!
//! Nested loops over vectors, cell by cell: slow, plain, and without a line of
//! `src/plan` or `src/engine`. Property tests hold the product to it.

use std::collections::BTreeMap;

use partwise::table::Value;

use crate::support::Row;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Dynamic: the partitions of the source.
    Overwrite,
    /// Static: the whole table.
    OverwriteAll,
    Append,
    Merge {
        null_safe: bool,
        delete_missing: bool,
    },
}

#[derive(Debug)]
pub struct Input<'a> {
    pub operation: Operation,
    /// Indexes of the partition columns.
    pub partition: &'a [usize],
    /// Indexes of the key columns; empty for rows without identity.
    pub key: &'a [usize],
    pub target: &'a [Row],
    pub source: &'a [Row],
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
    pub moved_in: u64,
    pub moved_out: u64,
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub total: Counts,
    /// Every partition of the source and every other one in which a row changes.
    pub partitions: BTreeMap<Row, Counts>,
    /// Partitions of the source.
    pub slice: Vec<Row>,
    /// All rows of the table afterwards.
    pub after: Vec<Row>,
    /// A target row is matched by several source rows.
    pub refused: bool,
    /// Which of several equal keys moved where is left open: then only the sums
    /// `inserted + moved_in` and `deleted + moved_out` of a partition are fixed.
    pub open_moves: bool,
    /// Source rows whose key lives outside the slice.
    pub elsewhere: u64,
    /// Source rows whose key is in the reachable target.
    pub existing: u64,
    /// Source rows beyond the first of a key.
    pub duplicates: u64,
    /// Rows with a NULL in the key, source and reachable target.
    pub nulls: (u64, u64),
}

impl Input<'_> {
    fn tuple(&self, row: &Row) -> Row {
        self.partition.iter().map(|&c| row[c].clone()).collect()
    }

    fn null_key(&self, row: &Row) -> bool {
        self.key.iter().any(|&c| row[c] == Value::Null)
    }

    /// Null-safe equality of keys.
    fn same_key(&self, a: &Row, b: &Row) -> bool {
        self.key.iter().all(|&c| a[c] == b[c])
    }

    /// Equality of keys as the operation sees it.
    fn matches(&self, a: &Row, b: &Row) -> bool {
        let null_safe = !matches!(self.operation, Operation::Merge { null_safe: false, .. });
        self.same_key(a, b) && (null_safe || !self.null_key(a))
    }

    fn slice(&self) -> Vec<Row> {
        let mut slice = Vec::new();
        for row in self.source {
            let tuple = self.tuple(row);
            if !slice.contains(&tuple) {
                slice.push(tuple);
            }
        }
        if self.operation == Operation::OverwriteAll {
            for row in self.target {
                let tuple = self.tuple(row);
                if !slice.contains(&tuple) {
                    slice.push(tuple);
                }
            }
        }
        slice
    }

    pub fn run(&self) -> Outcome {
        let mut out = Outcome { slice: self.slice(), ..Outcome::default() };
        match self.operation {
            Operation::Overwrite | Operation::OverwriteAll => self.overwrite(&mut out),
            Operation::Append => self.append(&mut out),
            Operation::Merge { delete_missing, .. } => self.merge(delete_missing, &mut out),
        }
        self.count_keys(&mut out);
        for row in self.source {
            out.at(self.tuple(row)).source += 1;
        }
        for row in self.target {
            if let Some(counts) = out.partitions.get_mut(&self.tuple(row)) {
                counts.before += 1;
            }
        }
        let mut total = Counts::default();
        for c in out.partitions.values() {
            total.before += c.before;
            total.source += c.source;
            total.inserted += c.inserted;
            total.updated += c.updated;
            total.unchanged += c.unchanged;
            total.deleted += c.deleted;
            total.zombies += c.zombies;
            total.moved_in += c.moved_in;
            total.moved_out += c.moved_out;
        }
        out.total = total;
        out
    }

    fn append(&self, out: &mut Outcome) {
        out.after = self.target.iter().chain(self.source).cloned().collect();
        for row in self.source {
            out.at(self.tuple(row)).inserted += 1;
        }
    }

    /// Every partition of the slice becomes what was delivered for it.
    fn overwrite(&self, out: &mut Outcome) {
        let (reach, rest): (Vec<&Row>, Vec<&Row>) =
            self.target.iter().partition(|row| out.slice.contains(&self.tuple(row)));
        out.after = rest.into_iter().chain(self.source).cloned().collect();

        let mut target: Vec<Option<&Row>> = reach.into_iter().map(Some).collect();
        let mut source: Vec<Option<&Row>> = self.source.iter().map(Some).collect();
        // Identical rows first, then rows of one key in one partition, then of one key.
        for (old, new) in pair(&mut target, &mut source, |t, s| t == s) {
            debug_assert_eq!(old, new);
            out.at(self.tuple(new)).unchanged += 1;
        }
        if !self.key.is_empty() {
            let here = |t: &Row, s: &Row| self.same_key(t, s) && self.tuple(t) == self.tuple(s);
            for (_, new) in pair(&mut target, &mut source, here) {
                out.at(self.tuple(new)).updated += 1;
            }
            out.open_moves = self.moves_are_open(&target, &source);
            for (old, new) in pair(&mut target, &mut source, |t, s| self.same_key(t, s)) {
                let to = out.at(self.tuple(new));
                to.updated += 1;
                to.moved_in += 1;
                out.at(self.tuple(old)).moved_out += 1;
            }
        }
        for row in source.into_iter().flatten() {
            out.at(self.tuple(row)).inserted += 1;
        }
        for row in target.into_iter().flatten() {
            out.at(self.tuple(row)).deleted += 1;
        }
    }

    fn moves_are_open(&self, target: &[Option<&Row>], source: &[Option<&Row>]) -> bool {
        let of_key = |rows: &[Option<&Row>], key: &Row| {
            rows.iter().flatten().filter(|row| self.same_key(row, key)).map(|row| self.tuple(row)).collect::<Vec<_>>()
        };
        source.iter().flatten().any(|key| {
            let (from, to) = (of_key(target, key), of_key(source, key));
            let spread = |tuples: &[Row]| tuples.iter().any(|t| *t != tuples[0]);
            !from.is_empty() && (spread(&from) || spread(&to))
        })
    }

    /// Every target row is judged by itself.
    fn merge(&self, delete_missing: bool, out: &mut Outcome) {
        let mut used = vec![false; self.source.len()];
        for old in self.target {
            let matching: Vec<usize> =
                (0..self.source.len()).filter(|&at| self.matches(old, &self.source[at])).collect();
            let from = self.tuple(old);
            match matching.as_slice() {
                [] if delete_missing && out.slice.contains(&from) => out.at(from).deleted += 1,
                [] => {
                    let delivered = self.source.iter().any(|new| self.same_key(old, new));
                    if out.slice.contains(&from) && !delivered {
                        out.at(from).zombies += 1;
                    }
                    out.after.push(old.clone());
                }
                [one] => {
                    let new = &self.source[*one];
                    used[*one] = true;
                    let to = self.tuple(new);
                    if old == new {
                        out.at(to).unchanged += 1;
                    } else {
                        out.at(to.clone()).updated += 1;
                        if from != to {
                            out.at(to).moved_in += 1;
                            out.at(from).moved_out += 1;
                        }
                    }
                    out.after.push(new.clone());
                }
                _ => out.refused = true,
            }
        }
        for (new, _) in self.source.iter().zip(&used).filter(|(_, used)| !**used) {
            out.at(self.tuple(new)).inserted += 1;
            out.after.push(new.clone());
        }
    }

    fn count_keys(&self, out: &mut Outcome) {
        if self.key.is_empty() {
            return;
        }
        let everywhere = matches!(self.operation, Operation::Merge { .. } | Operation::Append);
        let reachable = |row: &&Row| everywhere || out.slice.contains(&self.tuple(row));
        let reach: Vec<&Row> = self.target.iter().filter(reachable).collect();
        out.nulls.1 = reach.iter().filter(|row| self.null_key(row)).count() as u64;
        // A MERGE with a partition column in ON cannot see the row that it doubles:
        // there, the rest of the key is what identifies a row.
        let seen: Vec<usize> = match self.operation {
            Operation::Overwrite | Operation::OverwriteAll | Operation::Append => self.key.to_vec(),
            Operation::Merge { .. } => self.key.iter().copied().filter(|c| !self.partition.contains(c)).collect(),
        };
        let rest = Input { key: &seen, ..*self };
        for (at, new) in self.source.iter().enumerate() {
            out.nulls.0 += u64::from(self.null_key(new));
            out.duplicates += u64::from(self.source[..at].iter().any(|earlier| self.matches(earlier, new)));
            out.existing += u64::from(reach.iter().any(|old| self.matches(old, new)));
            let mut outside = self.target.iter().filter(|old| !out.slice.contains(&self.tuple(old)));
            out.elsewhere += u64::from(!seen.is_empty() && outside.any(|old| rest.matches(old, new)));
        }
    }
}

impl Outcome {
    fn at(&mut self, tuple: Row) -> &mut Counts {
        self.partitions.entry(tuple).or_default()
    }
}

/// Takes pairs that fulfil a test out of both lists.
fn pair<'a>(
    target: &mut [Option<&'a Row>],
    source: &mut [Option<&'a Row>],
    test: impl Fn(&Row, &Row) -> bool,
) -> Vec<(&'a Row, &'a Row)> {
    let mut pairs = Vec::new();
    for old in target.iter_mut() {
        for new in source.iter_mut() {
            if let (Some(t), Some(s)) = (*old, *new)
                && test(t, s)
            {
                pairs.push((t, s));
                (*old, *new) = (None, None);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{i, s};

    fn run(operation: Operation, key: &[usize], target: &[Row], source: &[Row]) -> Outcome {
        Input { operation, partition: &[0], key, target, source }.run()
    }

    const MERGE: Operation = Operation::Merge { null_safe: false, delete_missing: false };

    /// The model itself must give the known answer of the contract's example.
    #[test]
    fn the_restatement_of_three_documents() {
        let target = [vec![s("6"), i(100), i(450)], vec![s("6"), i(101), i(250)], vec![s("6"), i(102), i(700)]];
        let source = [vec![s("6"), i(100), i(500)], vec![s("6"), i(101), i(250)]];
        let overwrite = run(Operation::Overwrite, &[1], &target, &source).total;
        assert_eq!((overwrite.updated, overwrite.unchanged, overwrite.deleted, overwrite.zombies), (1, 1, 1, 0));
        let merge = run(MERGE, &[1], &target, &source).total;
        assert_eq!((merge.updated, merge.unchanged, merge.deleted, merge.zombies), (1, 1, 0, 1));
    }

    #[test]
    fn a_key_in_another_partition_moves_or_doubles() {
        let target = [vec![s("01-01"), i(1), s("a")], vec![s("01-01"), i(2), s("b")], vec![s("01-02"), i(3), s("c")]];
        let source = [vec![s("01-02"), i(3), s("c")], vec![s("01-02"), i(1), s("a2")]];
        let overwrite = run(Operation::Overwrite, &[1], &target, &source);
        assert_eq!((overwrite.after.len(), overwrite.elsewhere), (4, 1));
        let merge = run(MERGE, &[1], &target, &source);
        assert_eq!((merge.after.len(), merge.total.moved_in, merge.total.moved_out), (3, 1, 1));
        let with_partition = run(MERGE, &[1, 0], &target, &source);
        assert_eq!((with_partition.after.len(), with_partition.elsewhere), (4, 1));
    }

    #[test]
    fn null_keys_and_double_matches() {
        let rows = [vec![s("p"), i(1), s("a")], vec![s("p"), Value::Null, s("b")]];
        let plain = run(MERGE, &[1], &rows, &rows);
        assert_eq!((plain.total.inserted, plain.total.unchanged, plain.after.len()), (1, 1, 3));
        let safe = run(Operation::Merge { null_safe: true, delete_missing: false }, &[1], &rows, &rows);
        assert_eq!((safe.total.inserted, safe.total.unchanged), (0, 2));
        let twice = [vec![s("p"), i(1), s("b")], vec![s("p"), i(1), s("c")]];
        assert!(run(MERGE, &[1], &rows, &twice).refused);
    }
}
