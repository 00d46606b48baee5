//! Both sides of a job, read once for all of its rules.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use futures::FutureExt;

use super::chosen::Chosen;
use super::compile::Compiled;
use super::delivered::Wanted;
use super::fetch::Fetch;
use super::hash;
use super::outside::{self, Outside};
use super::roles::{self, Roles};
use super::scan::{Batch, Part, PartitionOf, Partitions, SideFacts, each, narrow, read_all};
use super::store::{RowStore, Sealed, Spilling};
use crate::engine::RowJob;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::{arrow_type, repeated};
use crate::plan::{Pairing, Reach};
use crate::progress::{Phase, Progress};
use crate::table::{DataFile, PartitionTuple, Value};

pub struct Sides {
    pub fetch: Fetch,
    pub roles: Arc<Roles>,
    pub rules: Vec<Compiled>,
    pub partitions: Mutex<Partitions>,
    pub source: Sealed,
    pub source_facts: SideFacts,
    /// The rows of `files` that some rule reaches.
    pub target: Sealed,
    pub target_facts: SideFacts,
    /// The target's files that were read, by the number in a row's place.
    pub files: Vec<DataFile>,
    /// The partition number of each of them.
    pub file_partition: Vec<u32>,
    /// Per rule, whether it reaches each of them.
    pub reaches: Vec<Vec<bool>>,
    /// The partition numbers below this are delivered by the source.
    pub slice: usize,
    /// The source lacks a partition column, so its rows are in no partition.
    pub placeless: bool,
    pub live: Vec<DataFile>,
    pub outside: Outside,
    pub spilling: Spilling,
}

impl Sides {
    /// Reads the source, then whatever of the table some rule reaches.
    ///
    /// # Errors
    /// Whatever reading gives; `Cancelled`.
    pub async fn read(job: RowJob, progress: &Progress) -> Result<Sides> {
        let fetch = Fetch::new(Arc::new(job))?;
        let job = fetch.job.clone();
        let (roles, rules) = roles::resolve(&job, &fetch.layout)?;
        let roles = Arc::new(roles);
        let live = match &job.files {
            Some(files) => files.clone(),
            None => job.snapshot.files(true).await?,
        };
        let chosen = job.rules.iter().find_map(|rule| match &rule.reach {
            Reach::Where(text) => Some(Chosen::new(text, &roles, &fetch.layout)),
            Reach::Slice | Reach::Key | Reach::Table => None,
        });
        let chosen = chosen.transpose()?;

        let files_total = job.source.files.len() as u64 + live.len() as u64;
        progress.enter(Phase::Reading, files_total, live.iter().map(|f| f.size).sum());
        let partitions = Arc::new(Mutex::new(Partitions::default()));
        let half = Spilling { limit: job.spilling.limit / 2, ..job.spilling.clone() };
        let source = Arc::new(RowStore::new(half, roles.measure_kinds.clone()));
        let by_row = chosen.clone().filter(|c| !c.whole_partitions);
        let source_facts = read_source(&fetch, &roles, &source, &partitions, by_row.clone(), progress).await?;
        let placeless = roles.partition.iter().any(|column| job.matching.columns[*column].is_none());
        let slice_tuples: Vec<PartitionTuple> =
            if placeless { Vec::new() } else { lock(&partitions).tuples().to_vec() };
        let slice = slice_tuples.len();
        let rest = Spilling {
            limit: job.spilling.limit.saturating_sub(source.bytes()).max(job.spilling.limit / 4),
            ..job.spilling.clone()
        };
        let source = into_sealed(source)?;

        // What of the table each rule reaches by itself.
        let in_slice: std::collections::HashSet<&PartitionTuple> = slice_tuples.iter().collect();
        let mut reach: Vec<Vec<bool>> = Vec::new();
        for rule in &job.rules {
            let mut reached = Vec::with_capacity(live.len());
            for file in &live {
                reached.push(match (&rule.reach, &chosen) {
                    (Reach::Table, _) => true,
                    (Reach::Slice | Reach::Key, _) => in_slice.contains(&file.partition),
                    (Reach::Where(_), Some(chosen)) if chosen.whole_partitions => {
                        chosen.partition(&file.partition, &roles)?
                    }
                    (Reach::Where(_), _) => true,
                });
            }
            reach.push(reached);
        }
        let outside = outside::find(
            outside::Question {
                fetch: &fetch,
                roles: &roles,
                rules: &rules,
                slice: &slice_tuples,
                placeless,
                live: &live,
                reach: &reach,
            },
            &source,
            source_facts.rows(),
            &rest,
            progress,
        )
        .await?;
        for (rule, reached) in job.rules.iter().zip(&mut reach) {
            // A clause for rows that the source lacks looks at every row.
            let everything = rule.by_key() && rule.clauses.by_source.iter().any(|clause| !clause.within_slice);
            if rule.by_key() {
                reached.iter_mut().enumerate().for_each(|(i, r)| *r |= everything || outside.found.by_key.contains(&i));
            }
        }
        // What only adds need not read the table, unless keys are to be found there.
        let blind = roles.key.is_empty() && job.rules.iter().all(|rule| rule.pairing == Pairing::Never);
        let read: Vec<usize> = (0..live.len()).filter(|i| !blind && reach.iter().any(|r| r[*i])).collect();
        let files: Vec<DataFile> = read.iter().map(|i| live[*i].clone()).collect();
        let reaches: Vec<Vec<bool>> = reach.iter().map(|r| read.iter().map(|i| r[*i]).collect()).collect();
        let file_partition: Vec<u32> = {
            let mut partitions = lock(&partitions);
            files.iter().map(|file| partitions.number(&file.partition)).collect()
        };
        // Rows that only a MERGE reaches are no part of the slice's groups.
        let whole = job.rules.iter().all(|rule| matches!(rule.reach, Reach::Table | Reach::Where(_)));
        let grouped: Vec<bool> = file_partition.iter().map(|number| whole || (*number as usize) < slice).collect();
        let target = Arc::new(RowStore::new(rest.clone(), roles.measure_kinds.clone()));
        let scan = TargetScan { files: files.clone(), file_partition: file_partition.clone(), grouped, by_row };
        let target_facts = read_target(&fetch, &roles, &target, scan, progress).await?;
        let target = into_sealed(target)?;
        let partitions = Arc::into_inner(partitions).unwrap_or_default();
        let mut sides = Sides {
            fetch,
            roles,
            rules,
            partitions,
            source,
            source_facts,
            target,
            target_facts,
            files,
            file_partition,
            reaches,
            slice,
            placeless,
            live,
            outside,
            spilling: job.spilling.clone(),
        };
        sides.target_facts.files.resize(sides.files.len(), Default::default());
        sides.source_facts.files.resize(sides.fetch.job.source.files.len(), Default::default());
        if let Some(chosen) = chosen.filter(|c| c.whole_partitions) {
            sides.count_outside(&chosen, &slice_tuples)?;
        }
        Ok(sides)
    }

    /// Delivered partitions that a predicate does not choose: every row of
    /// theirs is outside.
    fn count_outside(&mut self, chosen: &Chosen, slice: &[PartitionTuple]) -> Result<()> {
        let mut stray = Vec::with_capacity(slice.len());
        for tuple in slice {
            stray.push(!chosen.partition(tuple, &self.roles)?);
        }
        if stray.iter().any(|s| *s) {
            for bucket in 0..super::store::BUCKETS {
                let rows = self.source.bucket(bucket)?;
                for (partition, place) in rows.partition.iter().zip(&rows.place) {
                    if stray.get(*partition as usize).is_some_and(|s| *s) {
                        self.source_facts.outside += 1;
                        self.source_facts.outside_examples.push(*place);
                    }
                }
                self.source_facts.outside_examples.sort_unstable();
                self.source_facts.outside_examples.truncate(EXAMPLES);
            }
        }
        Ok(())
    }

    /// The tuple behind a partition's number.
    pub fn tuples(&self) -> Vec<PartitionTuple> {
        lock(&self.partitions).tuples().to_vec()
    }

    pub fn number(&self, tuple: &PartitionTuple) -> u32 {
        lock(&self.partitions).number(tuple)
    }

    /// Live rows of each partition of the table as it is, with its files and bytes.
    pub fn table_partitions(&self) -> BTreeMap<&PartitionTuple, (u64, u64)> {
        let mut files_of: BTreeMap<&PartitionTuple, (u64, u64)> = BTreeMap::new();
        for file in &self.live {
            let entry = files_of.entry(&file.partition).or_default();
            *entry = (entry.0 + 1, entry.1 + file.size);
        }
        files_of
    }
}

/// How many examples of each kind are kept for people.
pub const EXAMPLES: usize = 3;

pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// # Errors
/// `Internal` while somebody still writes into the store.
pub fn into_sealed(store: Arc<RowStore>) -> Result<Sealed> {
    Arc::try_unwrap(store)
        .map(RowStore::sealed)
        .map_err(|_| Error::new(ErrorKind::Internal, "rows are still being read where they should all be there"))
}

async fn read_source(
    fetch: &Fetch,
    roles: &Arc<Roles>,
    store: &Arc<RowStore>,
    partitions: &Arc<Mutex<Partitions>>,
    chosen: Option<Chosen>,
    progress: &Progress,
) -> Result<SideFacts> {
    let mut parts = Vec::new();
    for file in 0..fetch.job.source.files.len() {
        parts.extend(fetch.source_parts(file).await?.into_iter().map(|rows| Part { file, rows }));
    }
    let columns = fetch.all_columns();
    let wanted =
        Wanted { columns: columns.clone(), keys: !fetch.keys_are_columns(), cells: roles.cells.source.clone() };
    let (fetch, roles, shared) = (fetch.clone(), roles.clone(), partitions.clone());
    let facts = read_all(store.clone(), parts, progress, move |part, local| {
        let (fetch, roles, shared, wanted, chosen) =
            (fetch.clone(), roles.clone(), shared.clone(), wanted.clone(), chosen.clone());
        async move {
            let batches = fetch.delivered(part.file, &wanted, None, &part.rows).await?;
            let progress = local.progress.clone();
            each(batches, &progress, |delivered| {
                local.facts.excluded += delivered.excluded;
                if let Some(chosen) = &chosen {
                    let stray = chosen.beyond(&delivered.batch, &wanted.columns)?;
                    for (_, position) in stray.iter().zip(&delivered.positions).filter(|(stray, _)| **stray) {
                        local.facts.outside += 1;
                        if local.facts.outside_examples.len() < EXAMPLES {
                            local.facts.outside_examples.push(super::rows::Place::new(part.file, *position)?);
                        }
                    }
                }
                let batch = Batch {
                    batch: &delivered.batch,
                    columns: &wanted.columns,
                    constants: &[],
                    keys: wanted.keys.then_some(delivered.keys.as_slice()),
                    cells: &delivered.cells,
                    positions: &delivered.positions,
                    deletions: &delivered.deletions,
                    beyond: &[],
                    broken: roles.checks.broken(&delivered.batch, &wanted.columns),
                    file: part.file,
                    partition: PartitionOf::Rows { known: &mut local.known, shared: &shared },
                    grouped: true,
                };
                let rows = narrow(&roles, batch, &mut local.facts)?;
                local.dealer.deal(&rows)?;
                Ok(rows.len() as u64)
            })
            .await
        }
        .boxed()
    })
    .await?;
    Ok(facts)
}

struct TargetScan {
    files: Vec<DataFile>,
    file_partition: Vec<u32>,
    grouped: Vec<bool>,
    by_row: Option<Chosen>,
}

async fn read_target(
    fetch: &Fetch,
    roles: &Arc<Roles>,
    store: &Arc<RowStore>,
    scan: TargetScan,
    progress: &Progress,
) -> Result<SideFacts> {
    let mut parts = Vec::new();
    for (file, data) in scan.files.iter().enumerate() {
        parts.extend(fetch.target_parts(data).await?.into_iter().map(|rows| Part { file, rows }));
    }
    // Partition columns have one value in a file: their cells are hashed once.
    let needed = |column: &usize| {
        !roles.partition.contains(column)
            || roles.groups.contains(column)
            || roles.measures.contains(column)
            || roles.cells.target.contains(column)
            || scan.by_row.as_ref().is_some_and(|c| c.names(*column))
    };
    let columns: Vec<usize> = fetch.all_columns().into_iter().filter(needed).collect();
    let mut constants: HashMap<PartitionTuple, Vec<(usize, u128, Value)>> = HashMap::new();
    for file in &scan.files {
        if !constants.contains_key(&file.partition) {
            constants.insert(file.partition.clone(), constant_cells(fetch, roles, &file.partition, &columns)?);
        }
    }
    let (fetch, roles) = (fetch.clone(), roles.clone());
    let shared = Arc::new((scan, columns, constants));
    read_all(store.clone(), parts, progress, move |part, local| {
        let (fetch, roles, shared) = (fetch.clone(), roles.clone(), shared.clone());
        async move {
            let (scan, columns, constants) = &*shared;
            let file = &scan.files[part.file];
            let batches = fetch.target_part(file, columns, None, &part.rows).await?;
            let progress = local.progress.clone();
            let constants = constants.get(&file.partition).map_or(&[][..], Vec::as_slice);
            each(batches, &progress, |live| {
                let cells: Vec<_> = roles
                    .cells
                    .target
                    .iter()
                    .map(|column| live.batch.column(columns.partition_point(|c| c < column)).clone())
                    .collect();
                let beyond = match &scan.by_row {
                    Some(chosen) => chosen.beyond(&live.batch, columns)?,
                    None => Vec::new(),
                };
                let batch = Batch {
                    batch: &live.batch,
                    columns,
                    constants,
                    keys: None,
                    cells: &cells,
                    positions: &live.positions,
                    deletions: &[],
                    beyond: &beyond,
                    broken: Vec::new(),
                    file: part.file,
                    partition: PartitionOf::File(scan.file_partition[part.file]),
                    grouped: scan.grouped[part.file],
                };
                let rows = narrow(&roles, batch, &mut local.facts)?;
                local.dealer.deal(&rows)?;
                Ok(live.positions.len() as u64)
            })
            .await?;
            local.progress.advance(0, 0, file.size);
            Ok(())
        }
        .boxed()
    })
    .await
}

fn constant_cells(
    fetch: &Fetch,
    roles: &Roles,
    tuple: &PartitionTuple,
    read: &[usize],
) -> Result<Vec<(usize, u128, Value)>> {
    let schema = &fetch.layout.schema;
    let apart = roles.partition.iter().zip(&tuple.0).filter(|(column, _)| !read.contains(column));
    apart
        .map(|(column, value)| {
            let one = repeated(value, &arrow_type(&schema.fields[*column].data_type), 1)?;
            let mut cell = [0u128];
            hash::add_column(&one, hash::column_seed(roles.seed, *column), &mut cell)?;
            Ok((*column, cell[0], value.clone()))
        })
        .collect()
}
