//! Maps and filters of keys that are uniform hashes already.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

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

    fn write_u32(&mut self, x: u32) {
        self.write_u64(x.into());
    }

    /// Small numbers are no hashes yet: one multiplication spreads them.
    fn write_u64(&mut self, x: u64) {
        let mixed = (self.0.rotate_left(5) ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write_u128(&mut self, x: u128) {
        self.0 = (x as u64) ^ (x >> 64) as u64;
    }
}

pub type HashIndex<V> = HashMap<u128, V, BuildHasherDefault<Identity>>;
/// A map of small numbers.
pub type SmallMap<K, V> = HashMap<K, V, BuildHasherDefault<Identity>>;
pub type KeySet = HashSet<u128, BuildHasherDefault<Identity>>;

/// Tells most keys that are not in a set, in about two bytes a key: a Bloom
/// filter whose bits for one key share a word (Putze, Sanders, Singler 2007).
#[derive(Debug)]
pub struct Bloom {
    words: Vec<u64>,
}

/// With 16 bits a key and 4 of them set, about one stranger in 200 passes.
const KEYS_PER_WORD: u64 = 4;
const MAX_WORDS: u64 = 1 << 24;

impl Bloom {
    pub fn new(keys: u64) -> Bloom {
        let words = (keys / KEYS_PER_WORD + 1).next_power_of_two().min(MAX_WORDS);
        Bloom { words: vec![0; words as usize] }
    }

    fn place(&self, key: u128) -> (usize, u64) {
        let (low, high) = (key as u64, (key >> 64) as u64);
        let bits = (0..4).fold(0u64, |bits, i| bits | 1 << ((high >> (6 * i)) & 63));
        (low as usize & (self.words.len() - 1), bits)
    }

    pub fn insert(&mut self, key: u128) {
        let (word, bits) = self.place(key);
        self.words[word] |= bits;
    }

    pub fn may_have(&self, key: u128) -> bool {
        let (word, bits) = self.place(key);
        self.words[word] & bits == bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_forgets_no_key_and_passes_few_strangers() {
        let spread = |i: u128| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835) ^ (i << 77);
        let mut bloom = Bloom::new(20_000);
        (0..20_000).for_each(|i| bloom.insert(spread(i)));
        assert!((0..20_000).all(|i| bloom.may_have(spread(i))));
        let strangers = (20_000..120_000).filter(|i| bloom.may_have(spread(*i))).count();
        assert!(strangers < 5_000, "{strangers}");
    }
}
