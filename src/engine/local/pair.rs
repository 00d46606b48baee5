//! Which source row and which target row are the same row.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::side::Side;
use crate::plan::Pairing;

/// No partner.
pub const NONE: u32 = u32::MAX;

/// The partners that a rule gives, per row of each side.
#[derive(Debug, Default)]
pub struct Pairs {
    /// For each target row its source row, or [`NONE`].
    pub source_of: Vec<u32>,
    /// For each source row how many target rows it pairs with.
    pub times: Vec<u32>,
    /// Target rows that several source rows match, some of them, with one of those.
    pub ambiguous: Vec<(u32, u32)>,
    pub ambiguous_total: u64,
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

/// Pairs the source's rows with the first `reach` rows of the target. `keyed`
/// is false where no key was given.
pub fn pair(source: &Side, target: &Side, reach: usize, pairing: Pairing, keyed: bool) -> Pairs {
    match pairing {
        Pairing::Multiset => multiset(source, target, reach, keyed),
        Pairing::Join { null_safe } => join(source, target, reach, null_safe),
        Pairing::Never => Pairs { source_of: vec![NONE; reach], times: vec![0; source.len()], ..Pairs::default() },
    }
}

/// Within a key, identical rows first, then rows equal but for ignored columns,
/// then rows of the same partition, then the rest. Each pass is linear, so a
/// wrong key with a million rows of one value costs no more than a right one.
fn multiset(source: &Side, target: &Side, reach: usize, keyed: bool) -> Pairs {
    let mut pairs = Pairs { source_of: vec![NONE; reach], times: vec![0; source.len()], ..Pairs::default() };
    let in_partition = |hash: u128, partition: u32| {
        hash ^ u128::from(partition + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    };
    pass(&mut pairs, |s| source.row[s], |t| target.row[t]);
    if keyed && (!source.significant.is_empty() || !target.significant.is_empty()) {
        pass(&mut pairs, |s| source.significant(s), |t| target.significant(t));
    }
    if keyed {
        pass(
            &mut pairs,
            |s| in_partition(source.key[s], source.partition[s]),
            |t| in_partition(target.key[t], target.partition[t]),
        );
        pass(&mut pairs, |s| source.key[s], |t| target.key[t]);
    }
    pairs
}

fn pass(pairs: &mut Pairs, of_source: impl Fn(usize) -> u128, of_target: impl Fn(usize) -> u128) {
    let mut heads: HashIndex<u32> = HashIndex::default();
    let mut next = vec![NONE; pairs.times.len()];
    for s in (0..pairs.times.len()).rev().filter(|s| pairs.times[*s] == 0) {
        if let Some(old) = heads.insert(of_source(s), s as u32) {
            next[s] = old;
        }
    }
    for t in 0..pairs.source_of.len() {
        if pairs.source_of[t] != NONE {
            continue;
        }
        let hash = of_target(t);
        if let Some(head) = heads.get(&hash).copied() {
            pairs.source_of[t] = head;
            pairs.times[head as usize] = 1;
            match next[head as usize] {
                NONE => heads.remove(&hash),
                following => heads.insert(hash, following),
            };
        }
    }
}

fn join(source: &Side, target: &Side, reach: usize, null_safe: bool) -> Pairs {
    const EXAMPLES: usize = 5;
    let mut pairs = Pairs { source_of: vec![NONE; reach], times: vec![0; source.len()], ..Pairs::default() };
    // key → (first source row, how many)
    let mut index: HashIndex<(u32, u32)> = HashIndex::default();
    for s in (0..source.len()).filter(|s| null_safe || !source.null_key[*s]) {
        index.entry(source.key[s]).and_modify(|(_, n)| *n += 1).or_insert((s as u32, 1));
    }
    for t in (0..reach).filter(|t| null_safe || !target.null_key[*t]) {
        if let Some((s, n)) = index.get(&target.key[t]) {
            pairs.source_of[t] = *s;
            pairs.times[*s as usize] += 1;
            if *n > 1 {
                pairs.ambiguous_total += 1;
                if pairs.ambiguous.len() < EXAMPLES {
                    pairs.ambiguous.push((t as u32, *s));
                }
            }
        }
    }
    pairs
}

/// Of the first `rows`, those beyond the first of each key, and some rows that repeat one. Keys with
/// a NULL repeat only where NULL equals NULL.
pub fn duplicates(side: &Side, rows: usize, null_safe: bool, examples: usize) -> (u64, Vec<usize>) {
    let mut seen: HashIndex<bool> = HashIndex::default();
    let (mut count, mut found) = (0, Vec::new());
    for row in (0..rows).filter(|row| null_safe || !side.null_key[*row]) {
        match seen.get_mut(&side.key[row]) {
            None => {
                seen.insert(side.key[row], false);
            }
            Some(told) => {
                count += 1;
                if !*told && found.len() < examples {
                    found.push(row);
                    *told = true;
                }
            }
        }
    }
    (count, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(rows: &[(u128, u128, u32)]) -> Side {
        Side {
            key: rows.iter().map(|r| r.0).collect(),
            row: rows.iter().map(|r| r.1).collect(),
            partition: rows.iter().map(|r| r.2).collect(),
            null_key: vec![false; rows.len()],
            ..Side::default()
        }
    }

    #[test]
    fn identical_rows_pair_before_rows_that_share_a_key() {
        let source = side(&[(1, 10, 0), (1, 11, 0)]);
        let target = side(&[(1, 99, 0), (1, 10, 0)]);
        let pairs = pair(&source, &target, target.len(), Pairing::Multiset, true);
        assert_eq!(pairs.source_of, [1, 0]);
    }

    #[test]
    fn rows_of_the_same_partition_pair_before_others() {
        let source = side(&[(1, 10, 0), (1, 11, 1)]);
        let target = side(&[(1, 20, 1)]);
        assert_eq!(pair(&source, &target, target.len(), Pairing::Multiset, true).source_of, [1]);
    }

    #[test]
    fn a_join_counts_target_rows_with_several_matches() {
        let source = side(&[(1, 10, 0), (1, 11, 0), (2, 12, 0)]);
        let target = side(&[(1, 20, 0), (2, 21, 0), (2, 22, 0), (3, 23, 0)]);
        let pairs = pair(&source, &target, target.len(), Pairing::Join { null_safe: false }, true);
        assert_eq!((pairs.ambiguous_total, pairs.source_of[3]), (1, NONE));
        assert_eq!(pairs.times, [1, 0, 2]);
    }

    #[test]
    fn one_key_for_all_rows_stays_linear() {
        let rows: Vec<_> = (0..200_000u32).map(|i| (7u128, u128::from(i), 0)).collect();
        let changed: Vec<_> = (0..200_000u32).map(|i| (7u128, u128::from(i) + 1_000_000, 0)).collect();
        let pairs = pair(&side(&rows), &side(&changed), rows.len(), Pairing::Multiset, true);
        assert!(pairs.source_of.iter().all(|s| *s != NONE));
        assert_eq!(duplicates(&side(&rows), rows.len(), false, 3).0, 199_999);
    }
}
