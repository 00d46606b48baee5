//! Keys of the source that live in partitions outside the slice.

use std::collections::{BTreeSet, HashSet};

use deltalake::arrow::array::RecordBatch;
use futures::TryStreamExt;

use super::fetch::Fetch;
use super::hash;
use super::pair::{HashIndex, Identity};
use super::side::Roles;
use crate::error::Result;
use crate::lake::data::value_at;
use crate::plan::Pairing;
use crate::progress::Progress;
use crate::table::{DataFile, PartitionTuple, Value};

type KeySet = HashSet<u128, std::hash::BuildHasherDefault<Identity>>;

/// What the search found.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// Source rows whose key lives outside the slice.
    pub rows: u64,
    pub examples: Vec<String>,
    /// Files outside the slice with a key of the source, by their index.
    pub files: BTreeSet<usize>,
}

/// Which columns are compared, and which partitions can hold them at all.
pub struct Search {
    pub columns: Vec<usize>,
    pub null_safe: bool,
    /// Places in the partition tuple whose values must occur in the slice.
    pub bound: Vec<usize>,
}

impl Search {
    /// For rows that the rule itself can reach: the whole key.
    pub fn by_key(roles: &Roles, pairing: Pairing) -> Search {
        let bound = (0..roles.partition.len()).filter(|i| roles.key.contains(&roles.partition[*i])).collect();
        Search { columns: roles.key.clone(), null_safe: null_safe(pairing), bound }
    }

    /// For rows that a partition column in a MERGE's ON keeps from being
    /// found, so that they are doubled: the key without those columns.
    pub fn by_stripped_key(roles: &Roles, pairing: Pairing) -> Search {
        let columns = roles.key.iter().copied().filter(|c| !roles.partition.contains(c)).collect();
        Search { columns, null_safe: null_safe(pairing), bound: Vec::new() }
    }

    /// Nothing outside the slice can match: the key holds every partition column.
    pub fn is_empty(&self, roles: &Roles) -> bool {
        self.columns.is_empty() || self.bound.len() == roles.partition.len()
    }

    fn bound_values(&self, tuple: &PartitionTuple) -> Vec<Value> {
        self.bound.iter().map(|i| tuple.0[*i].clone()).collect()
    }
}

/// Whether NULL equals NULL in a key: only SQL's plain join says no.
pub fn null_safe(pairing: Pairing) -> bool {
    !matches!(pairing, Pairing::Join { null_safe: false })
}

/// Scans key columns of the files outside the slice.
///
/// # Errors
/// Whatever reading gives.
pub async fn find(
    fetch: &Fetch,
    roles: &Roles,
    search: &Search,
    slice: &[PartitionTuple],
    outside: &[(usize, &DataFile)],
    progress: &Progress,
) -> Result<Elsewhere> {
    const EXAMPLES: usize = 3;
    let mut found = Elsewhere::default();
    if search.is_empty(roles) {
        return Ok(found);
    }
    // key → source rows that have it
    let mut wanted: HashIndex<u64> = HashIndex::default();
    for file in 0..fetch.job.source.files.len() {
        let mut batches = fetch.source(file, &search.columns, None).await?;
        while let Some(live) = batches.try_next().await? {
            let (hashes, nulls) = keys(&live.batch, search, roles.seed)?;
            for (hash, _) in hashes.into_iter().zip(nulls).filter(|(_, null)| search.null_safe || !null) {
                *wanted.entry(hash).or_default() += 1;
            }
        }
    }
    let columns: &[String] = &fetch.layout.partition_columns;
    let mut seen = KeySet::default();
    let reachable: HashSet<Vec<Value>> = slice.iter().map(|tuple| search.bound_values(tuple)).collect();
    for (index, file) in outside.iter().filter(|(_, f)| reachable.contains(&search.bound_values(&f.partition))) {
        progress.check()?;
        let mut batches = fetch.target(file, &search.columns, None).await?;
        while let Some(live) = batches.try_next().await? {
            let (hashes, nulls) = keys(&live.batch, search, roles.seed)?;
            for (row, hash) in hashes.into_iter().enumerate() {
                if (nulls[row] && !search.null_safe) || !wanted.contains_key(&hash) {
                    continue;
                }
                found.files.insert(*index);
                if seen.insert(hash) {
                    found.rows += wanted[&hash];
                    if found.examples.len() < EXAMPLES {
                        let names = search.columns.iter().map(|c| &fetch.layout.schema.fields[*c].name);
                        let key: Vec<String> = names
                            .zip(live.batch.columns())
                            .map(|(name, column)| format!("{name}={}", value_at(column.as_ref(), row)))
                            .collect();
                        found.examples.push(format!("{} in {}", key.join(", "), file.partition.label(columns)));
                    }
                }
            }
        }
        progress.advance(1, 0, file.size);
    }
    Ok(found)
}

/// Hashes of projected key columns; seeds go by the schema's indexes, so that
/// they equal those of full-width batches.
fn keys(batch: &RecordBatch, search: &Search, seed: u64) -> Result<(Vec<u128>, Vec<bool>)> {
    let mut hashes = vec![0u128; batch.num_rows()];
    let mut nulls = vec![false; batch.num_rows()];
    for (array, column) in batch.columns().iter().zip(&search.columns) {
        hash::add_column(array, hash::column_seed(seed, *column), &mut hashes)?;
        if array.null_count() > 0 {
            nulls.iter_mut().enumerate().for_each(|(row, null)| *null |= array.is_null(row));
        }
    }
    Ok((hashes, nulls))
}
