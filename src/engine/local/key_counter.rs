//! Counting keys by their hashes in bounded memory.
//!
//! A [`KeyCounter`] keeps at most a given number of keys;
//! when more come, it keeps one key of two, of four, of eight, chosen by bits
//! of the key's hash. What it says of the keys that it kept is exact then, and
//! a number for all keys is an estimate that is marked as one.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Keys that a counter keeps by default. A hash table of 2^22 places holds so
/// many without growing: 140 MB.
pub const MOST_KEYS: usize = 3_500_000;

/// Takes the upper half of a hash that is uniform already; the lower bits
/// choose what a counter keeps, and are all zero for what it kept.
#[derive(Default)]
pub struct UpperHalf(u64);

impl Hasher for UpperHalf {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, x: u128) {
        self.0 = (x >> 64) as u64;
    }
}

pub type HashMap128<V> = HashMap<u128, V, BuildHasherDefault<UpperHalf>>;
pub type HashSet128 = HashSet<u128, BuildHasherDefault<UpperHalf>>;

/// How often a key occurs, and whether in several partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub rows: u32,
    partition: u32,
    pub several_partitions: bool,
}

/// Counts keys in bounded memory.
#[derive(Debug)]
pub struct KeyCounter {
    keys: HashMap128<Tally>,
    /// One key of `2^shift` is kept.
    shift: u32,
    most: usize,
    pub rows: u64,
}

impl KeyCounter {
    pub fn new(most: usize) -> KeyCounter {
        KeyCounter { keys: HashMap128::default(), shift: 0, most: most.max(1), rows: 0 }
    }

    pub fn add(&mut self, hash: u128, partition: u32) {
        self.rows += 1;
        if !self.keeps(hash) {
            return;
        }
        let tally = self.keys.entry(hash).or_insert(Tally { rows: 0, partition, several_partitions: false });
        tally.rows = tally.rows.saturating_add(1);
        tally.several_partitions |= tally.partition != partition;
        while self.keys.len() > self.most && self.shift < 64 {
            self.shift += 1;
            let mask = self.mask();
            self.keys.retain(|hash, _| hash & mask == 0);
        }
    }

    fn mask(&self) -> u128 {
        (1u128 << self.shift) - 1
    }

    /// Whether the counter knows this key; always, while it is exact.
    pub fn keeps(&self, hash: u128) -> bool {
        hash & self.mask() == 0
    }

    pub fn get(&self, hash: u128) -> Option<Tally> {
        self.keys.get(&hash).copied()
    }

    pub fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// One key of so many was counted.
    pub fn one_of(&self) -> u64 {
        1 << self.shift.min(63)
    }

    pub fn distinct(&self) -> u64 {
        self.scaled(self.keys.len() as u64)
    }

    /// (keys that occur more than once, their rows beyond the first)
    pub fn duplicates(&self) -> (u64, u64) {
        let repeated = self.keys.values().filter(|t| t.rows > 1);
        let (keys, rows) = repeated.fold((0, 0), |(k, r), t| (k + 1, r + u64::from(t.rows) - 1));
        (self.scaled(keys), self.scaled(rows))
    }

    /// (keys that occur in several partitions, their rows)
    pub fn in_several_partitions(&self) -> (u64, u64) {
        let spread = self.keys.values().filter(|t| t.several_partitions);
        let (keys, rows) = spread.fold((0, 0), |(k, r), t| (k + 1, r + u64::from(t.rows)));
        (self.scaled(keys), self.scaled(rows))
    }

    /// Keys of this counter that the other one has too. Both must hash alike.
    pub fn shared_with(&self, other: &KeyCounter) -> u64 {
        let shift = self.shift.max(other.shift);
        let mask = (1u128 << shift) - 1;
        let both = self.keys.keys().filter(|hash| *hash & mask == 0 && other.keys.contains_key(hash)).count();
        (both as u64).saturating_mul(1 << shift.min(63))
    }

    fn scaled(&self, kept: u64) -> u64 {
        kept.saturating_mul(self.one_of())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(i: u64) -> u128 {
        xxhash_rust::xxh3::xxh3_128_with_seed(&i.to_le_bytes(), 1)
    }

    #[test]
    fn counts_are_exact_below_the_bound() {
        let mut counter = KeyCounter::new(1_000);
        for i in 0..900 {
            counter.add(hash(i), 0);
        }
        for i in 0..100 {
            counter.add(hash(i), u32::from(i < 40));
            counter.add(hash(i), 0);
        }
        assert!(counter.is_exact());
        assert_eq!((counter.rows, counter.distinct()), (1_100, 900));
        assert_eq!(counter.duplicates(), (100, 200));
        assert_eq!(counter.in_several_partitions(), (40, 120));
    }

    #[test]
    fn beyond_it_a_sample_of_keys_is_exact_and_the_whole_is_estimated() {
        let mut counter = KeyCounter::new(5_000);
        for i in 0..100_000u64 {
            counter.add(hash(i), 0);
            if i % 10 == 0 {
                counter.add(hash(i), 0);
            }
        }
        assert!(!counter.is_exact() && counter.keys.len() <= 5_000);
        let (distinct, (keys, rows)) = (counter.distinct(), counter.duplicates());
        assert!((90_000..110_000).contains(&distinct), "{distinct}");
        assert!((8_000..12_000).contains(&keys) && keys == rows, "{keys} {rows}");
        let repeated = (0..100_000).step_by(10).map(hash).filter(|h| counter.keeps(*h));
        assert!(repeated.map(|h| counter.get(h).map(|t| t.rows)).all(|rows| rows == Some(2)));
    }

    #[test]
    fn keys_that_two_sides_share() {
        let (mut a, mut b) = (KeyCounter::new(1_000), KeyCounter::new(200));
        (0..500).for_each(|i| a.add(hash(i), 0));
        (0..100).for_each(|i| b.add(hash(i + 450), 0));
        assert_eq!((a.shared_with(&b), b.shared_with(&a)), (50, 50));
    }
}
