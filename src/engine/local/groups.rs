//! Counts of the values of columns of which no value may vanish.

use std::collections::HashMap;

use deltalake::arrow::array::ArrayRef;

use super::keys::HashIndex;
use crate::gate::evidence::GroupFacts;
use crate::lake::data::value_at;

/// More distinct values than this are no group of rows.
const MAX_GROUP_VALUES: usize = 10_000;
/// A grain column that nobody configured counts as one only where each of its
/// values has at least so many rows on average.
const ROWS_PER_GROUP: u64 = 10;

/// Counts of the values of one column.
#[derive(Debug, Clone, Default)]
pub struct GroupCounts {
    /// cell hash → (text, rows)
    pub values: HashIndex<(String, u64)>,
    pub overflow: bool,
}

impl GroupCounts {
    /// `cells` are the hashes of the array's cells.
    pub fn add(&mut self, array: &ArrayRef, cells: &[u128]) {
        if self.overflow {
            return;
        }
        for (row, cell) in cells.iter().enumerate() {
            let entry = self.values.entry(*cell).or_insert_with(|| (value_at(array.as_ref(), row).to_string(), 0));
            entry.1 += 1;
        }
        self.cap();
    }

    pub fn merge(&mut self, more: GroupCounts) {
        self.overflow |= more.overflow;
        for (cell, (text, rows)) in more.values {
            self.values.entry(cell).or_insert((text, 0)).1 += rows;
        }
        self.cap();
    }

    fn cap(&mut self) {
        if self.overflow || self.values.len() > MAX_GROUP_VALUES {
            *self = GroupCounts { overflow: true, ..GroupCounts::default() };
        }
    }
}

/// How often each value occurs on both sides; `grain` names the columns and
/// says whether the config does.
pub fn facts(
    grain: &[(String, bool)],
    now: &[GroupCounts],
    delivered: &[GroupCounts],
    slice_rows: u64,
) -> Vec<GroupFacts> {
    let none: HashMap<_, _, _> = HashIndex::default();
    let empty = GroupCounts { values: none, overflow: false };
    let mut facts = Vec::new();
    for (i, (column, configured)) in grain.iter().enumerate() {
        let (now, delivered) = (now.get(i).unwrap_or(&empty), delivered.get(i).unwrap_or(&empty));
        let overflow = now.overflow || delivered.overflow;
        let repeats = now.values.len() as u64 * ROWS_PER_GROUP <= slice_rows;
        if !configured && (overflow || !repeats) {
            continue;
        }
        let mut values: Vec<(String, u64, u64)> = now
            .values
            .iter()
            .map(|(hash, (text, rows))| (text.clone(), *rows, delivered.values.get(hash).map_or(0, |(_, n)| *n)))
            .collect();
        values.sort();
        facts.push(GroupFacts { column: column.clone(), configured: *configured, values, overflow });
    }
    facts
}
