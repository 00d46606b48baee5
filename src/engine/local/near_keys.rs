//! Keys that differ only in blanks, case, leading zeros or Unicode composition,
//! within one side or between both.

use std::collections::BTreeMap;

use deltalake::arrow::array::{Array, AsArray, RecordBatch};
use deltalake::arrow::datatypes::DataType;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::key_scan::{Go, HashMap128, HashSet128, KeySide};
use crate::error::Result;
use crate::lake::data::value_at;
use crate::plan::near_keys::{Rule, difference, fold};
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::table::Value;

/// Groups whose members are looked at one by one.
const MOST_GROUPS: usize = 10_000;
/// Members of one group that are kept.
const MOST_MEMBERS: usize = 8;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NearKeys {
    /// Groups of two or more different keys that fold to one; an estimate where
    /// `one_of` is more than 1.
    pub groups: u64,
    /// One folded key of so many was looked at.
    pub one_of: u64,
    /// Groups by the rules that make their members equal, of those that were
    /// looked at one by one.
    pub by_rules: Vec<(Vec<Rule>, u64)>,
    /// In the order of their first row.
    pub examples: Vec<NearGroup>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NearGroup {
    pub rules: Vec<Rule>,
    /// In the order in which they were met.
    pub members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub key: Vec<Value>,
    /// Rows with this very key, per side.
    pub rows: Vec<u64>,
}

/// Key texts of one row; `None` is NULL.
type Texts = Vec<Option<String>>;

/// Looks at all sides together, in their order. For each side its key columns,
/// as indexes of its schema and in the same order, and its filter. Reads each
/// side once, and once more where there is something to show.
///
/// # Errors
/// Whatever reading gives.
pub async fn find(
    sides: &[(&KeySide, Vec<usize>, Option<&Predicate>)],
    most: usize,
    examples: usize,
    progress: &Progress,
) -> Result<NearKeys> {
    let mut folds = Folds { first: HashMap128::default(), several: HashSet128::default(), shift: 0, most };
    let mut hashes = Hashes::default();
    for (side, columns, filter) in sides {
        side.scan(columns, *filter, progress, &mut |scanned| {
            for row in 0..scanned.batch.num_rows() {
                let (folded, exact) = hashes.of(&scanned.batch, row);
                folds.add(folded, exact);
            }
            Ok(Go::On)
        })
        .await?;
    }
    let one_of = 1u64 << folds.shift.min(63);
    let groups = (folds.several.len() as u64).saturating_mul(one_of);
    if folds.several.is_empty() {
        return Ok(NearKeys { one_of, ..NearKeys::default() });
    }
    drop(std::mem::take(&mut folds.first));
    let mut place: HashMap128<usize> = HashMap128::default();
    let mut found: Vec<Vec<(Texts, Member)>> = Vec::new();
    for (number, (side, columns, filter)) in sides.iter().enumerate() {
        side.scan(columns, *filter, progress, &mut |scanned| {
            for row in 0..scanned.batch.num_rows() {
                let (folded, _) = hashes.of(&scanned.batch, row);
                if !folds.several.contains(&folded) {
                    continue;
                }
                let texts = texts(&scanned.batch, row);
                let at = match place.get(&folded) {
                    Some(at) => *at,
                    None if found.len() == MOST_GROUPS => continue,
                    None => {
                        place.insert(folded, found.len());
                        found.push(Vec::new());
                        found.len() - 1
                    }
                };
                let members = &mut found[at];
                if let Some((_, member)) = members.iter_mut().find(|(known, _)| *known == texts) {
                    member.rows[number] += 1;
                } else if members.len() < MOST_MEMBERS {
                    let key = scanned.batch.columns().iter().map(|c| value_at(c.as_ref(), row)).collect();
                    let mut rows = vec![0; sides.len()];
                    rows[number] = 1;
                    members.push((texts, Member { key, rows }));
                }
            }
            Ok(Go::On)
        })
        .await?;
    }
    let mut by_rules: BTreeMap<Vec<Rule>, u64> = BTreeMap::new();
    let mut shown = Vec::new();
    for members in found {
        let Some(((first, _), others)) = members.split_first() else { continue };
        let mut rules: Vec<Rule> = others.iter().filter_map(|(other, _)| difference(first, other)).flatten().collect();
        rules.sort_unstable();
        rules.dedup();
        *by_rules.entry(rules.clone()).or_default() += 1;
        if shown.len() < examples {
            shown.push(NearGroup { rules, members: members.into_iter().map(|(_, member)| member).collect() });
        }
    }
    let mut by_rules: Vec<(Vec<Rule>, u64)> = by_rules.into_iter().collect();
    by_rules.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(NearKeys { groups, one_of, by_rules, examples: shown })
}

/// Folded keys, and which of them stand for several keys; bounded as a
/// [`super::key_scan::KeyCounter`] is.
struct Folds {
    /// folded key → the first key that folded to it
    first: HashMap128<u128>,
    several: HashSet128,
    shift: u32,
    most: usize,
}

impl Folds {
    fn add(&mut self, folded: u128, exact: u128) {
        if folded & self.mask() != 0 {
            return;
        }
        if *self.first.entry(folded).or_insert(exact) != exact {
            self.several.insert(folded);
        }
        while self.first.len() > self.most && self.shift < 64 {
            self.shift += 1;
            let mask = self.mask();
            self.first.retain(|folded, _| folded & mask == 0);
            self.several.retain(|folded| folded & mask == 0);
        }
    }

    fn mask(&self) -> u128 {
        (1u128 << self.shift) - 1
    }
}

fn texts(batch: &RecordBatch, row: usize) -> Texts {
    let cell = |value: Value| (!value.is_null()).then(|| value.plain());
    batch.columns().iter().map(|column| cell(value_at(column.as_ref(), row))).collect()
}

/// Hashes of keys as they are and folded. The buffers are kept: most keys
/// fold to themselves, and no text is made for them.
#[derive(Default)]
struct Hashes {
    exact: Vec<u8>,
    folded: Vec<u8>,
}

impl Hashes {
    /// (folded, exact) hash of one row's key.
    fn of(&mut self, batch: &RecordBatch, row: usize) -> (u128, u128) {
        self.exact.clear();
        self.folded.clear();
        for column in batch.columns() {
            if column.is_null(row) {
                self.exact.push(0);
                self.folded.push(0);
                continue;
            }
            match column.data_type() {
                DataType::Utf8 => self.add(column.as_string::<i32>().value(row)),
                _ => self.add(&value_at(column.as_ref(), row).plain()),
            }
        }
        (xxh3_128_with_seed(&self.folded, 0), xxh3_128_with_seed(&self.exact, 0))
    }

    fn add(&mut self, text: &str) {
        push(&mut self.exact, text);
        if folds_to_itself(text) {
            push(&mut self.folded, text)
        } else {
            push(&mut self.folded, &fold(text, &Rule::ALL))
        }
    }
}

/// Lengths come before contents, so that no two keys share their bytes.
fn push(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(1);
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Says no where in doubt.
fn folds_to_itself(text: &str) -> bool {
    let bytes = text.as_bytes();
    let blank = |b: Option<&u8>| b.is_some_and(u8::is_ascii_whitespace);
    bytes.first() != Some(&b'0')
        && !blank(bytes.first())
        && !blank(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_graphic() && !b.is_ascii_uppercase() || *b == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_agrees_with_the_rules() {
        let texts =
            ["", "a", "A", " a", "a ", "a b", "0", "00", "007", "0x", "70", "é", "e\u{301}", "a\u{b}", "\u{b}a", "a.B"];
        for text in texts {
            assert!(!folds_to_itself(text) || fold(text, &Rule::ALL) == text, "{text:?}");
        }
        assert!(folds_to_itself("400123") && folds_to_itself("k-1 b") && !folds_to_itself("007"));
    }
}
