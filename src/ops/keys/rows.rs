//! The rows behind a finding: groups of repeated keys, and keys that live in
//! several partitions.

use std::collections::HashMap;

use super::report::{Elsewhere, ElsewhereKey, Group, GroupRow, SideKeys};
use super::{CountedKeys, ROWS_OF_GROUP, names};
use crate::engine::local::key_scan::{Go, HashMap128, KeySide, Place, key_hashes};
use crate::error::Result;
use crate::lake::data::value_at;
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::table::{PartitionTuple, Value};

/// Partition tuples, numbered as they are met.
#[derive(Default)]
pub(super) struct Numbers(HashMap<PartitionTuple, u32>);

impl Numbers {
    pub fn of(&mut self, tuple: &PartitionTuple) -> u32 {
        if let Some(number) = self.0.get(tuple) {
            return *number;
        }
        let number = self.0.len() as u32;
        self.0.insert(tuple.clone(), number);
        number
    }
}

/// One side's numbers, and the rows of its first repeated keys.
pub(super) async fn describe(
    side: &KeySide,
    key: &[usize],
    filter: Option<&Predicate>,
    limit: usize,
    counted: &CountedKeys,
    progress: &Progress,
) -> Result<SideKeys> {
    let counter = &counted.counter;
    let (duplicate_keys, duplicate_rows) = counter.duplicates();
    let columns = names(side.schema(), key);
    let mut found = SideKeys {
        rows: counter.rows,
        distinct: counter.distinct().min(counter.rows),
        exact: counter.is_exact(),
        one_of: counter.one_of(),
        duplicate_keys,
        duplicate_rows,
        null_rows: counted.null_rows,
        nulls: columns.into_iter().zip(counted.nulls.iter().copied()).filter(|(_, rows)| *rows > 0).collect(),
        columns: side.schema().names().map(str::to_owned).collect(),
        groups: Vec::new(),
    };
    if duplicate_keys == 0 || limit == 0 {
        return Ok(found);
    }
    let chosen = collect(side, key, filter, limit, ROWS_OF_GROUP, progress, &|hash| {
        counter.get(hash).is_some_and(|tally| tally.rows > 1)
    })
    .await?;
    let places: Vec<Place> = chosen.iter().flat_map(|c| c.rows.iter().map(|(place, _)| *place)).collect();
    let mut values = side.rows_at(&places).await?.into_iter();
    for group in chosen {
        let rows = values
            .by_ref()
            .take(group.rows.len())
            .zip(&group.rows)
            .map(|(values, ((_, position), partition))| GroupRow {
                partition: (!partition.0.is_empty()).then(|| partition.label(side.partition_columns())),
                position: *position,
                values,
            })
            .collect();
        found.groups.push(Group { key: group.key, rows: group.total, shown: rows });
    }
    Ok(found)
}

/// Keys of the table that occur in more than one partition. `None` for a table
/// without partitions and for a key that holds every partition column.
pub(super) async fn elsewhere(
    side: &KeySide,
    key: &[usize],
    filter: Option<&Predicate>,
    limit: usize,
    counted: &CountedKeys,
    progress: &Progress,
) -> Result<Option<Elsewhere>> {
    let columns = side.partition_columns();
    let in_key = |column: &String| side.schema().index_of(column).is_some_and(|c| key.contains(&c));
    if columns.is_empty() || columns.iter().all(in_key) {
        return Ok(None);
    }
    let (keys, rows) = counted.counter.in_several_partitions();
    let mut found = Elsewhere { keys, rows, exact: counted.counter.is_exact(), examples: Vec::new() };
    if keys == 0 || limit == 0 {
        return Ok(Some(found));
    }
    let several = |hash| counted.counter.get(hash).is_some_and(|tally| tally.several_partitions);
    // A key's partitions may be far apart, so more rows of it are looked at.
    for group in collect(side, key, filter, limit, 1_000, progress, &several).await? {
        let mut partitions: Vec<PartitionTuple> = group.rows.into_iter().map(|(_, tuple)| tuple).collect();
        partitions.sort();
        partitions.dedup();
        let partitions = partitions.iter().map(|tuple| tuple.label(columns)).collect();
        found.examples.push(ElsewhereKey { key: group.key, rows: group.total, partitions });
    }
    Ok(Some(found))
}

/// The places of one key's rows.
struct Found {
    key: Vec<Value>,
    total: u64,
    rows: Vec<(Place, PartitionTuple)>,
}

/// The first `groups` keys for which `wanted` holds, in the order of their
/// first rows, each with its first `rows` rows.
async fn collect(
    side: &KeySide,
    key: &[usize],
    filter: Option<&Predicate>,
    groups: usize,
    rows: usize,
    progress: &Progress,
    wanted: &(dyn Fn(u128) -> bool + Sync),
) -> Result<Vec<Found>> {
    let places: Vec<usize> = (0..key.len()).collect();
    let mut at: HashMap128<usize> = HashMap128::default();
    let mut found: Vec<Found> = Vec::new();
    side.scan(key, filter, progress, &mut |scanned| {
        for (row, hash) in key_hashes(&scanned.batch, &places)?.into_iter().enumerate() {
            if !wanted(hash) {
                continue;
            }
            let number = match at.get(&hash) {
                Some(number) => *number,
                None if found.len() == groups => continue,
                None => {
                    at.insert(hash, found.len());
                    let key = scanned.batch.columns().iter().map(|c| value_at(c.as_ref(), row)).collect();
                    found.push(Found { key, total: 0, rows: Vec::new() });
                    found.len() - 1
                }
            };
            let group = &mut found[number];
            group.total += 1;
            if group.rows.len() < rows {
                group.rows.push(((scanned.file, scanned.positions[row]), scanned.partition.clone()));
            }
        }
        Ok(Go::On)
    })
    .await?;
    Ok(found)
}
