//! Keys of the source that live outside what a rule reaches by itself.
//!
//! A filter over the source's keys lets few other rows through; those are kept
//! like any other rows and compared exactly, bucket by bucket.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use deltalake::arrow::array::RecordBatch;
use futures::FutureExt;

use super::compile::{Compiled, Nulls};
use super::fetch::{Fetch, collect_rows};
use super::hash;
use super::keys::{Bloom, KeySet};
use super::roles::Roles;
use super::rows::{NULL_KEY, NULL_NARROW, NULL_NARROW_STRICT, NULL_STRICT, Place, Rows};
use super::scan::{Part, each, read_all};
use super::sides::{EXAMPLES, into_sealed};
use super::store::{BUCKETS, RowStore, Sealed, Spilling};
use crate::error::Result;
use crate::progress::Progress;
use crate::table::{DataFile, PartitionTuple, Value};

/// What the search for one rule found.
#[derive(Debug, Clone, Default)]
pub struct Elsewhere {
    /// Source rows whose key lives outside.
    pub rows: u64,
    /// Rows outside with such keys, some of them; files are numbers of the live files.
    pub examples: Vec<Place>,
    /// Files with such a row.
    pub files: BTreeSet<usize>,
}

/// Which columns are compared, and which partitions can hold them at all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Search {
    /// The key without the partition columns: for rows that a partition column
    /// in a MERGE's ON keeps from being found, so that they are doubled.
    narrow: bool,
    nulls: Nulls,
}

/// What was found for each rule.
#[derive(Debug, Default)]
pub struct Outside {
    /// Rows outside whose key the source may have; where rules only add, they
    /// tell what is there already.
    pub rows: Option<Sealed>,
    pub found: Reached,
    /// Per rule what is reported; `None` where it was not searched for.
    pub reported: Vec<Option<Elsewhere>>,
}

/// Files outside the slice that rules reach by key.
#[derive(Debug, Default)]
pub struct Reached {
    pub by_key: BTreeSet<usize>,
}

/// What is to be found out.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub fetch: &'a Fetch,
    pub roles: &'a Arc<Roles>,
    pub rules: &'a [Compiled],
    pub slice: &'a [PartitionTuple],
    pub live: &'a [DataFile],
    /// The source lacks a partition column: its keys may live anywhere.
    pub placeless: bool,
    /// Per rule and live file: whether the rule reaches it by itself.
    pub reach: &'a [Vec<bool>],
}

impl Question<'_> {
    /// Places in the partition tuple that the key holds.
    fn bound(&self) -> Vec<usize> {
        let partition = &self.roles.partition;
        (0..partition.len()).filter(|at| self.roles.bound.contains(&partition[*at])).collect()
    }

    fn searches(&self, rule: usize) -> Vec<Search> {
        let compiled = &self.rules[rule];
        let everything = self.reach[rule].iter().all(|reached| *reached);
        if self.roles.key.is_empty() || everything {
            return Vec::new();
        }
        let full = Search { narrow: false, nulls: compiled.nulls };
        if compiled.rule.by_key() && self.roles.narrow.is_some() {
            vec![Search { narrow: true, ..full.clone() }, full]
        } else {
            vec![full]
        }
    }
}

/// # Errors
/// Whatever reading gives.
pub async fn find(
    question: Question<'_>,
    source: &Sealed,
    source_rows: u64,
    spilling: &Spilling,
    progress: &Progress,
) -> Result<Outside> {
    let rules = question.rules;
    let mut outside = Outside { reported: vec![None; rules.len()], ..Outside::default() };
    for reported in &mut outside.reported {
        // Rows that a predicate leaves out of files that are read are counted
        // while the rows are judged; elsewhere, nothing is found so far.
        *reported = (!question.roles.key.is_empty()).then(Elsewhere::default);
    }
    let bound = question.bound();
    let values = |tuple: &PartitionTuple| -> Vec<Value> { bound.iter().map(|at| tuple.0[*at].clone()).collect() };
    let reachable: HashSet<Vec<Value>> = question.slice.iter().map(values).collect();
    // Per live file: whether some search has to look into it, by the whole key
    // and by the narrow one.
    let all_bound = !question.roles.partition.is_empty() && bound.len() == question.roles.partition.len();
    let mut asked: Vec<(bool, bool)> = vec![(false, false); question.live.len()];
    for rule in 0..rules.len() {
        for search in question.searches(rule) {
            for (file, asked) in asked.iter_mut().enumerate().filter(|(file, _)| !question.reach[rule][*file]) {
                if search.narrow {
                    asked.1 = true;
                } else if !all_bound
                    && (question.placeless || reachable.contains(&values(&question.live[file].partition)))
                {
                    asked.0 = true;
                }
            }
        }
    }
    let files: Vec<usize> = (0..asked.len()).filter(|file| asked[*file].0 || asked[*file].1).collect();
    if files.is_empty() || source_rows == 0 {
        return Ok(outside);
    }
    let mut bloom = Bloom::new(source_rows);
    let narrow = question.roles.narrow.is_some();
    for bucket in 0..BUCKETS {
        let rows = source.bucket(bucket)?;
        (0..rows.len()).for_each(|row| bloom.insert(if narrow { rows.narrow[row] } else { rows.key[row] }));
    }
    let store = Arc::new(RowStore::new(Spilling { limit: spilling.limit / 4, ..spilling.clone() }, Vec::new()));
    scan(question, &files, bloom, &store, progress).await?;
    let rows = into_sealed(store)?;
    for (rule, compiled) in rules.iter().enumerate() {
        for search in question.searches(rule) {
            let serves = |place: Place| {
                let (file, asked) = (place.file(), asked[place.file()]);
                !question.reach[rule][file] && if search.narrow { asked.1 } else { asked.0 }
            };
            let found = resolve(source, &rows, &search, serves)?;
            if compiled.rule.by_key() && !search.narrow {
                outside.found.by_key.extend(&found.files);
            }
            let reports = search.narrow || !(compiled.rule.by_key() && narrow);
            if reports {
                outside.reported[rule] = Some(found);
            }
        }
    }
    outside.rows = Some(rows);
    Ok(outside)
}

/// Keeps the rows of some files whose key the source may have.
async fn scan(
    question: Question<'_>,
    files: &[usize],
    bloom: Bloom,
    store: &Arc<RowStore>,
    progress: &Progress,
) -> Result<()> {
    let mut parts = Vec::new();
    for file in files {
        let data = &question.live[*file];
        parts.extend(question.fetch.target_parts(data).await?.into_iter().map(|rows| Part { file: *file, rows }));
    }
    let shared = Arc::new((bloom, question.live.to_vec()));
    let (fetch, roles) = (question.fetch.clone(), question.roles.clone());
    read_all(store.clone(), parts, progress, move |part, local| {
        let (fetch, roles, shared) = (fetch.clone(), roles.clone(), shared.clone());
        async move {
            let (bloom, live) = &*shared;
            let batches = fetch.target_part(&live[part.file], &roles.key, None, &part.rows).await?;
            let progress = local.progress.clone();
            each(batches, &progress, |batch| {
                let rows = key_rows(&roles, &batch.batch, &batch.positions, part.file)?;
                let passed: Vec<u32> =
                    (0..rows.len() as u32).filter(|row| bloom.may_have(rows.dealt_by(*row as usize))).collect();
                let mut kept = Rows::default();
                kept.take(&rows, &passed);
                local.dealer.deal(&kept)?;
                Ok(batch.positions.len() as u64)
            })
            .await
        }
        .boxed()
    })
    .await
    .map(drop)
}

/// Rows that are nothing but their keys; the batch has the key's columns. Seeds
/// go by the table's columns, so that hashes equal those of whole rows.
pub fn key_rows(roles: &Roles, batch: &RecordBatch, positions: &[u64], file: usize) -> Result<Rows> {
    let count = batch.num_rows();
    let mut rows = Rows { key: vec![0; count], flags: vec![0; count], ..Rows::default() };
    if roles.narrow.is_some() {
        rows.narrow = vec![0; count];
    }
    for (array, column) in batch.columns().iter().zip(&roles.key) {
        let seed = hash::column_seed(roles.seed, *column);
        hash::add_column(array, seed, &mut rows.key)?;
        if roles.narrow.as_ref().is_some_and(|narrow| narrow.contains(column)) {
            hash::add_column(array, seed, &mut rows.narrow)?;
        }
        if array.null_count() > 0 {
            let flag = roles.null_flags(*column);
            (0..count).filter(|row| array.is_null(*row)).for_each(|row| rows.flags[row] |= flag);
        }
    }
    rows.place = positions.iter().map(|at| Place::new(file, *at)).collect::<Result<_>>()?;
    Ok(rows)
}

/// Whether a row's key can match anything.
pub fn comparable(nulls: Nulls, rows: &Rows, row: usize) -> bool {
    match nulls {
        Nulls::Equal => true,
        Nulls::Never => !rows.has(row, NULL_KEY),
        Nulls::NeverInSome => !rows.has(row, NULL_STRICT),
    }
}

impl Search {
    fn comparable(&self, rows: &Rows, row: usize) -> bool {
        match (self.nulls, self.narrow) {
            (Nulls::Never, true) => !rows.has(row, NULL_NARROW),
            (Nulls::NeverInSome, true) => !rows.has(row, NULL_NARROW_STRICT),
            (nulls, _) => comparable(nulls, rows, row),
        }
    }
}

fn resolve(source: &Sealed, outside: &Sealed, search: &Search, serves: impl Fn(Place) -> bool) -> Result<Elsewhere> {
    let mut found = Elsewhere::default();
    let key = |rows: &Rows, row: usize| if search.narrow { rows.narrow[row] } else { rows.key[row] };
    for bucket in 0..BUCKETS {
        let candidates = outside.bucket(bucket)?;
        if candidates.is_empty() {
            continue;
        }
        let source = source.bucket(bucket)?;
        let delivered: KeySet =
            (0..source.len()).filter(|s| search.comparable(&source, *s)).map(|s| key(&source, s)).collect();
        let mut lives: KeySet = KeySet::default();
        for row in 0..candidates.len() {
            let place = candidates.place[row];
            let hash = key(&candidates, row);
            if !serves(place) || !search.comparable(&candidates, row) || !delivered.contains(&hash) {
                continue;
            }
            found.files.insert(place.file());
            if lives.insert(hash) {
                found.examples.push(place);
            }
        }
        found.examples.sort_unstable();
        found.examples.truncate(EXAMPLES);
        let counted = (0..source.len()).filter(|s| search.comparable(&source, *s));
        found.rows += counted.filter(|s| lives.contains(&key(&source, *s))).count() as u64;
    }
    Ok(found)
}

impl Elsewhere {
    /// The examples as `key in partition`.
    ///
    /// # Errors
    /// Whatever reading gives.
    pub async fn texts(&self, fetch: &Fetch, roles: &Roles, live: &[DataFile], narrow: bool) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        for place in &self.examples {
            let file = &live[place.file()];
            let batches = fetch.target(file, &roles.key, Some(&[place.position()])).await?;
            for (_, values) in collect_rows(batches).await? {
                let shown = roles.key.iter().zip(values).filter(|(c, _)| !narrow || !roles.bound.contains(c));
                let parts: Vec<String> =
                    shown.map(|(c, v)| format!("{}={v}", fetch.layout.schema.fields[*c].name)).collect();
                texts.push(format!(
                    "{} in {}",
                    parts.join(", "),
                    file.partition.label(&fetch.layout.partition_columns)
                ));
            }
        }
        Ok(texts)
    }
}
