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

pub type KeySet = HashSet<u128, std::hash::BuildHasherDefault<Identity>>;

/// What the search found.
#[derive(Debug, Clone, Default)]
pub struct Elsewhere {
    /// Source rows whose key lives outside the slice.
    pub rows: u64,
    pub examples: Vec<String>,
    /// Hashes of the keys that were found.
    pub keys: KeySet,
    /// Files outside the slice with a key of the source, by their index.
    pub files: BTreeSet<usize>,
}

/// Which columns are compared, and which partitions can hold them at all.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Scans the key columns of the files outside the slice once for all searches.
///
/// # Errors
/// Whatever reading gives.
pub async fn find(
    fetch: &Fetch,
    roles: &Roles,
    searches: &[Search],
    slice: &[PartitionTuple],
    outside: &[(usize, &DataFile)],
    progress: &Progress,
) -> Result<Vec<Elsewhere>> {
    let mut running: Vec<Running> = searches.iter().map(|search| Running::new(search, roles, slice)).collect();
    if outside.is_empty() || running.iter().all(|r| r.idle) {
        return Ok(running.into_iter().map(|r| r.found).collect());
    }
    for file in 0..fetch.job.source.files.len() {
        let mut batches = fetch.source(file, &roles.key, None).await?;
        while let Some(live) = batches.try_next().await? {
            for search in running.iter_mut().filter(|r| !r.idle) {
                search.want(&live.batch, roles)?;
            }
        }
    }
    for (index, file) in outside {
        if !running.iter().any(|r| r.can_hold(&file.partition)) {
            continue;
        }
        progress.check()?;
        let mut batches = fetch.target(file, &roles.key, None).await?;
        while let Some(live) = batches.try_next().await? {
            for search in running.iter_mut().filter(|r| r.can_hold(&file.partition)) {
                search.look(&live.batch, *index, file, fetch, roles)?;
            }
        }
        progress.advance(1, 0, file.size);
    }
    Ok(running.into_iter().map(|r| r.found).collect())
}

/// One search on its way.
struct Running<'a> {
    search: &'a Search,
    /// Nothing outside can match.
    idle: bool,
    reachable: HashSet<Vec<Value>>,
    /// key → source rows that have it
    wanted: HashIndex<u64>,
    found: Elsewhere,
}

impl<'a> Running<'a> {
    fn new(search: &'a Search, roles: &Roles, slice: &[PartitionTuple]) -> Running<'a> {
        Running {
            search,
            idle: search.is_empty(roles),
            reachable: slice.iter().map(|tuple| search.bound_values(tuple)).collect(),
            wanted: HashIndex::default(),
            found: Elsewhere::default(),
        }
    }

    fn can_hold(&self, tuple: &PartitionTuple) -> bool {
        !self.idle && self.reachable.contains(&self.search.bound_values(tuple))
    }

    fn want(&mut self, batch: &RecordBatch, roles: &Roles) -> Result<()> {
        let (hashes, nulls) = self.keys(batch, roles)?;
        for (hash, _) in hashes.into_iter().zip(nulls).filter(|(_, null)| self.search.null_safe || !null) {
            *self.wanted.entry(hash).or_default() += 1;
        }
        Ok(())
    }

    fn look(&mut self, batch: &RecordBatch, index: usize, file: &DataFile, fetch: &Fetch, roles: &Roles) -> Result<()> {
        const EXAMPLES: usize = 3;
        let (hashes, nulls) = self.keys(batch, roles)?;
        for (row, hash) in hashes.into_iter().enumerate() {
            let Some(rows) = self.wanted.get(&hash).filter(|_| self.search.null_safe || !nulls[row]) else { continue };
            self.found.files.insert(index);
            if self.found.keys.insert(hash) {
                self.found.rows += rows;
                if self.found.examples.len() < EXAMPLES {
                    let text = |column: &usize| {
                        let name = &fetch.layout.schema.fields[*column].name;
                        let at = roles.key.iter().position(|c| c == column)?;
                        Some(format!("{name}={}", value_at(batch.column(at).as_ref(), row)))
                    };
                    let key: Vec<String> = self.search.columns.iter().filter_map(text).collect();
                    let place = file.partition.label(&fetch.layout.partition_columns);
                    self.found.examples.push(format!("{} in {place}", key.join(", ")));
                }
            }
        }
        Ok(())
    }

    /// Key hashes of a batch of the key's columns; seeds go by the schema's
    /// indexes, so that they equal those of full-width batches.
    fn keys(&self, batch: &RecordBatch, roles: &Roles) -> Result<(Vec<u128>, Vec<bool>)> {
        let mut hashes = vec![0u128; batch.num_rows()];
        let mut nulls = vec![false; batch.num_rows()];
        for (array, column) in batch.columns().iter().zip(&roles.key) {
            if !self.search.columns.contains(column) {
                continue;
            }
            hash::add_column(array, hash::column_seed(roles.seed, *column), &mut hashes)?;
            if array.null_count() > 0 {
                nulls.iter_mut().enumerate().for_each(|(row, null)| *null |= array.is_null(row));
            }
        }
        Ok((hashes, nulls))
    }
}
