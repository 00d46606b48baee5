//! Which source row and which target row are the same row, and what else the
//! keys of both sides tell.
//!
//! Rows are dealt into buckets by the first bits of their key's hash; each
//! bucket is sorted and walked key by key. A bucket fits into the processor's
//! cache, buckets share nothing, and so they run in parallel.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::side::Side;
use crate::plan::Pairing;

/// No partner.
pub const NONE: u32 = u32::MAX;

const BUCKETS: usize = 256;
/// Below this, threads cost more than they bring.
const PARALLEL_FROM: usize = 50_000;

/// What comparing two sides by their keys gives.
#[derive(Debug, Default)]
pub struct Pairs {
    /// For each reachable target row its source row, or [`NONE`].
    pub source_of: Vec<u32>,
    /// For each source row how many target rows it pairs with.
    pub times: Vec<u32>,
    /// Target rows without a partner whose key the source has all the same,
    /// comparing null-safely.
    pub delivered: Vec<u32>,
    /// Source rows that match a target row which others match too, some of them.
    pub ambiguous: Vec<u32>,
    pub ambiguous_total: u64,
    /// Rows beyond the first of each key.
    pub source_duplicates: u64,
    pub target_duplicates: u64,
    /// Source rows that repeat a key, some of them, one a key.
    pub repeated: Vec<u32>,
    /// Source rows whose key the target has.
    pub existing: u64,
}

/// The keys are uniform hashes already.
#[derive(Default)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = self.0.rotate_left(5) ^ u64::from_le_bytes(word);
        }
    }

    fn write_u128(&mut self, x: u128) {
        self.0 = (x as u64) ^ (x >> 64) as u64;
    }
}

pub type HashIndex<V> = HashMap<u128, V, BuildHasherDefault<Identity>>;

/// How two sides are compared.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    pub pairing: Pairing,
    /// Whether a key was given; without one only identical rows pair.
    pub keyed: bool,
    /// How many examples to keep of each kind.
    pub examples: usize,
}

impl Comparison {
    fn null_safe(self) -> bool {
        !matches!(self.pairing, Pairing::Join { null_safe: false })
    }
}

/// Pairs the source's rows with the first `reach` rows of the target.
pub fn pair(source: &Side, target: &Side, reach: usize, how: Comparison) -> Pairs {
    // Without a key, rows are identified by all of their cells.
    let key_of = |side: &Side, row: usize| if how.keyed { side.key[row] } else { side.row[row] };
    let (deal_s, deal_t) = (Deal::new(source.len(), |s| key_of(source, s)), Deal::new(reach, |t| key_of(target, t)));
    let threads = match source.len() + reach {
        rows if rows < PARALLEL_FROM => 1,
        _ => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let work = |first: usize| {
        let mut part = Part::new(source, target, how);
        for bucket in (first..BUCKETS).step_by(threads) {
            let sorted = |rows: &[u32], side: &Side| {
                let mut keys: Vec<(u128, u32)> = rows.iter().map(|row| (key_of(side, *row as usize), *row)).collect();
                keys.sort_unstable();
                keys
            };
            part.bucket(&sorted(deal_s.bucket(bucket), source), &sorted(deal_t.bucket(bucket), target));
        }
        part
    };
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|first| scope.spawn(move || work(first))).collect();
        let mut parts = vec![work(0)];
        parts.extend(
            others.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        parts
    });
    let mut pairs = Pairs { source_of: vec![NONE; reach], times: vec![0; source.len()], ..Pairs::default() };
    for part in parts {
        part.add_to(&mut pairs, how.examples);
    }
    pairs
}

/// Rows of one side, dealt into buckets; within a bucket in their order.
struct Deal {
    rows: Vec<u32>,
    starts: [usize; BUCKETS + 1],
}

impl Deal {
    fn new(rows: usize, key: impl Fn(usize) -> u128) -> Deal {
        let bucket = |row: usize| (key(row) >> 120) as usize;
        let mut starts = [0usize; BUCKETS + 1];
        (0..rows).for_each(|row| starts[bucket(row) + 1] += 1);
        for i in 0..BUCKETS {
            starts[i + 1] += starts[i];
        }
        let mut next = starts;
        let mut dealt = vec![0u32; rows];
        for row in 0..rows {
            let at = &mut next[bucket(row)];
            dealt[*at] = row as u32;
            *at += 1;
        }
        Deal { rows: dealt, starts }
    }

    fn bucket(&self, bucket: usize) -> &[u32] {
        &self.rows[self.starts[bucket]..self.starts[bucket + 1]]
    }
}

/// What one thread found.
struct Part<'a> {
    source: &'a Side,
    target: &'a Side,
    how: Comparison,
    /// (target row, source row)
    found: Vec<(u32, u32)>,
    rest: Pairs,
}

impl<'a> Part<'a> {
    fn new(source: &'a Side, target: &'a Side, how: Comparison) -> Part<'a> {
        Part { source, target, how, found: Vec::new(), rest: Pairs::default() }
    }

    /// Walks two sorted buckets key by key.
    fn bucket(&mut self, s: &[(u128, u32)], t: &[(u128, u32)]) {
        let mut targets = t.chunk_by(|a, b| a.0 == b.0).peekable();
        for group in s.chunk_by(|a, b| a.0 == b.0) {
            while let Some(lonely) = targets.next_if(|t| t[0].0 < group[0].0) {
                self.group(&[], lonely);
            }
            let partner = targets.next_if(|t| t[0].0 == group[0].0);
            self.group(group, partner.unwrap_or_default());
        }
        targets.for_each(|lonely| self.group(&[], lonely));
    }

    /// All rows of one key.
    fn group(&mut self, s: &[(u128, u32)], t: &[(u128, u32)]) {
        let null = match (s.first(), t.first()) {
            (Some((_, row)), _) => self.source.null_key[*row as usize],
            (None, Some((_, row))) => self.target.null_key[*row as usize],
            (None, None) => return,
        };
        let comparable = self.how.null_safe() || !null;
        if self.how.keyed && comparable {
            self.rest.source_duplicates += s.len().saturating_sub(1) as u64;
            self.rest.target_duplicates += t.len().saturating_sub(1) as u64;
            if s.len() > 1 && self.rest.repeated.len() < self.how.examples {
                self.rest.repeated.push(s[1].1);
            }
            if !t.is_empty() {
                self.rest.existing += s.len() as u64;
            }
        }
        let before = self.found.len();
        match self.how.pairing {
            Pairing::Multiset => self.multiset(s, t),
            Pairing::Join { .. } if comparable => self.join(s, t),
            Pairing::Join { .. } | Pairing::Never => {}
        }
        if !s.is_empty() && self.found.len() - before < t.len() {
            self.rest.delivered.extend(t.iter().map(|(_, row)| *row));
        }
    }

    fn join(&mut self, s: &[(u128, u32)], t: &[(u128, u32)]) {
        let Some((_, first)) = s.first() else { return };
        self.found.extend(t.iter().map(|(_, row)| (*row, *first)));
        if s.len() > 1 && !t.is_empty() {
            self.rest.ambiguous_total += t.len() as u64;
            if self.rest.ambiguous.len() < self.how.examples {
                self.rest.ambiguous.push(*first);
            }
        }
    }

    /// Identical rows first, then rows equal but for ignored columns, then rows
    /// of the same partition, then the rest. Each pass is linear, so a wrong key
    /// with a million rows of one value costs no more than a right one.
    fn multiset(&mut self, s: &[(u128, u32)], t: &[(u128, u32)]) {
        if let ([(_, s)], [(_, t)]) = (s, t) {
            self.found.push((*t, *s));
            return;
        }
        let (source, target) = (self.source, self.target);
        let mut open_s: Vec<u32> = s.iter().map(|(_, row)| *row).collect();
        let mut open_t: Vec<u32> = t.iter().map(|(_, row)| *row).collect();
        self.pass(&mut open_s, &mut open_t, |s| source.row[s], |t| target.row[t]);
        if !self.how.keyed {
            return;
        }
        if !source.significant.is_empty() {
            self.pass(&mut open_s, &mut open_t, |s| source.significant(s), |t| target.significant(t));
        }
        self.pass(&mut open_s, &mut open_t, |s| source.partition[s].into(), |t| target.partition[t].into());
        self.pass(&mut open_s, &mut open_t, |_| 0, |_| 0);
    }

    /// Pairs rows for which both functions agree, in their order; what stays
    /// open is left in the lists.
    fn pass(
        &mut self,
        open_s: &mut Vec<u32>,
        open_t: &mut Vec<u32>,
        of_source: impl Fn(usize) -> u128,
        of_target: impl Fn(usize) -> u128,
    ) {
        if open_s.is_empty() || open_t.is_empty() {
            return;
        }
        // value → places in `open_s`, the first one last
        let mut places: HashIndex<Vec<usize>> = HashIndex::default();
        for (at, s) in open_s.iter().enumerate().rev() {
            places.entry(of_source(*s as usize)).or_default().push(at);
        }
        let mut used = vec![false; open_s.len()];
        open_t.retain(|t| match places.get_mut(&of_target(*t as usize)).and_then(Vec::pop) {
            Some(at) => {
                used[at] = true;
                self.found.push((*t, open_s[at]));
                false
            }
            None => true,
        });
        let mut used = used.into_iter();
        open_s.retain(|_| !used.next().unwrap_or(false));
    }

    fn add_to(self, pairs: &mut Pairs, examples: usize) {
        for (t, s) in self.found {
            pairs.source_of[t as usize] = s;
            pairs.times[s as usize] += 1;
        }
        let rest = self.rest;
        pairs.delivered.extend(rest.delivered);
        pairs.ambiguous_total += rest.ambiguous_total;
        pairs.source_duplicates += rest.source_duplicates;
        pairs.target_duplicates += rest.target_duplicates;
        pairs.existing += rest.existing;
        for (all, more) in [(&mut pairs.ambiguous, rest.ambiguous), (&mut pairs.repeated, rest.repeated)] {
            all.extend(more.into_iter().take(examples.saturating_sub(all.len())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYED: Comparison = Comparison { pairing: Pairing::Multiset, keyed: true, examples: 3 };
    const JOIN: Comparison = Comparison { pairing: Pairing::Join { null_safe: false }, ..KEYED };

    fn side(rows: &[(u128, u128, u32)]) -> Side {
        Side {
            key: rows.iter().map(|r| r.0).collect(),
            row: rows.iter().map(|r| r.1).collect(),
            partition: rows.iter().map(|r| r.2).collect(),
            null_key: vec![false; rows.len()],
            ..Side::default()
        }
    }

    fn compare(source: &Side, target: &Side, how: Comparison) -> Pairs {
        pair(source, target, target.len(), how)
    }

    #[test]
    fn identical_rows_pair_before_rows_that_share_a_key() {
        let source = side(&[(1, 10, 0), (1, 11, 0)]);
        let target = side(&[(1, 99, 0), (1, 10, 0)]);
        assert_eq!(compare(&source, &target, KEYED).source_of, [1, 0]);
    }

    #[test]
    fn rows_of_the_same_partition_pair_before_others() {
        let source = side(&[(1, 10, 0), (1, 11, 1)]);
        let target = side(&[(1, 20, 1)]);
        assert_eq!(compare(&source, &target, KEYED).source_of, [1]);
    }

    #[test]
    fn a_join_counts_target_rows_with_several_matches() {
        let source = side(&[(1, 10, 0), (1, 11, 0), (2, 12, 0)]);
        let target = side(&[(1, 20, 0), (2, 21, 0), (2, 22, 0), (3, 23, 0)]);
        let pairs = compare(&source, &target, JOIN);
        assert_eq!((pairs.ambiguous_total, pairs.source_of[3]), (1, NONE));
        assert_eq!(pairs.times, [1, 0, 2]);
        assert_eq!((pairs.source_duplicates, pairs.target_duplicates, pairs.existing), (1, 1, 3));
    }

    #[test]
    fn null_keys_join_nothing_but_are_delivered() {
        let mut source = side(&[(1, 10, 0)]);
        let mut target = side(&[(1, 20, 0)]);
        (source.null_key, target.null_key) = (vec![true], vec![true]);
        let pairs = compare(&source, &target, JOIN);
        assert_eq!((pairs.source_of, pairs.delivered, pairs.existing), (vec![NONE], vec![0], 0));
    }

    #[test]
    fn one_key_for_all_rows_stays_linear() {
        let rows: Vec<_> = (0..200_000u32).map(|i| (7u128, u128::from(i), 0)).collect();
        let changed: Vec<_> = (0..200_000u32).map(|i| (7u128, u128::from(i) + 1_000_000, 0)).collect();
        let pairs = compare(&side(&rows), &side(&changed), KEYED);
        assert!(pairs.source_of.iter().all(|s| *s != NONE));
        assert_eq!(pairs.source_duplicates, 199_999);
    }

    /// Many buckets on several threads give what one walk over plain maps gives.
    #[test]
    fn buckets_and_threads_change_nothing() {
        let spread = |i: u128| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let rows = |from: u128, step: u128| -> Vec<(u128, u128, u32)> {
            (from..from + 60_000).map(|i| (spread(i), spread(i / step + 5), (i % 7) as u32)).collect()
        };
        let (source, target) = (side(&rows(0, 1)), side(&rows(20_000, 2)));
        let pairs = compare(&source, &target, KEYED);
        for (t, s) in pairs.source_of.iter().enumerate() {
            let expected = if t < 40_000 { (t + 20_000) as u32 } else { NONE };
            assert_eq!(*s, expected, "target row {t}");
        }
        assert_eq!((pairs.existing, pairs.source_duplicates), (40_000, 0));
        let unkeyed = compare(&source, &target, Comparison { keyed: false, ..KEYED });
        assert_eq!(unkeyed.source_of.iter().filter(|s| **s != NONE).count(), 30_000);
    }
}
