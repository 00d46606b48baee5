//! From two sides and a rule to the fate of every row.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::elsewhere::{self, Elsewhere, Search};
use super::fetch::{Fetch, collect_rows};
use super::hash::mix;
use super::pair::{HashIndex, NONE, Pairs, duplicates, pair};
use super::side::{Partitions, Roles, Side};
use super::{measure, roles};
use crate::engine::{PartitionSummary, RowJob, RowSet, Summary};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Evidence;
use crate::gate::evidence::GroupFacts;
use crate::plan::{Effect, Effects, KeyFacts, Reach, TargetOnly};
use crate::progress::{Phase, Progress};
use crate::table::{DataFile, PartitionTuple};

/// What becomes of a target row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Updated,
    Unchanged,
    Deleted,
    Zombie,
    /// Not matched, and not in a partition that the source delivers.
    Stays,
}

/// A grain column that nobody configured counts as one only where each of its
/// values has at least so many rows on average.
const ROWS_PER_GROUP: u64 = 10;
const EXAMPLES: usize = 3;

/// Target row and source row of each row of an effect.
pub type RowPairs = Arc<Vec<(u32, u32)>>;

/// The result, with the hashed sides kept for paging and staging.
pub struct LocalClassified {
    pub fetch: Fetch,
    pub roles: Roles,
    pub partitions: Partitions,
    pub source: Side,
    pub target: Side,
    /// The target's files, in the order of its spans.
    pub files: Vec<DataFile>,
    pub pairs: Pairs,
    pub fates: Vec<Fate>,
    /// Files that are rewritten, as indexes of `files`.
    pub rewritten: BTreeSet<usize>,
    pub replaces: bool,
    pub summary: Summary,
    /// Row lists of effects that were paged through.
    pub pages: Mutex<HashMap<Effect, RowPairs>>,
}

pub async fn classify(job: RowJob, progress: &Progress) -> Result<LocalClassified> {
    let fetch = Fetch::new(Arc::new(job))?;
    let job = fetch.job.clone();
    let roles = roles::resolve(&job, &fetch.layout)?;
    let all = fetch.all_columns();
    let live = job.snapshot.files(true).await?;

    progress.enter(
        Phase::Reading,
        job.source.files.len() as u64 + live.len() as u64,
        live.iter().map(|f| f.size).sum(),
    );
    let mut partitions = Partitions::default();
    let source =
        Side::read(job.source.files.len(), &roles, &mut partitions, progress, |i| fetch.source(i, &all, None)).await?;
    if u32::try_from(source.len()).is_err() {
        return Err(Error::new(ErrorKind::BadSource, "the source has more than 4,294,967,295 rows")
            .hint("Deliver it in several slices."));
    }
    let slice: Vec<PartitionTuple> = partitions.tuples.clone();
    let in_slice: HashSet<&PartitionTuple> = slice.iter().collect();

    let outside: Vec<(usize, &DataFile)> =
        live.iter().enumerate().filter(|(_, f)| !in_slice.contains(&f.partition)).collect();
    let (found, reached) = search_outside(&fetch, &roles, &slice, &outside, progress).await?;
    let files: Vec<DataFile> = live
        .iter()
        .enumerate()
        .filter(|(i, f)| in_slice.contains(&f.partition) || reached.contains(i))
        .map(|(_, f)| f.clone())
        .collect();
    let target =
        Side::read(files.len(), &roles, &mut partitions, progress, |i| fetch.target(&files[i], &all, None)).await?;
    if u32::try_from(target.len()).is_err() {
        return Err(Error::new(ErrorKind::BadDataFile, "the slice has more than 4,294,967,295 rows")
            .hint("Deliver it in several slices."));
    }

    progress.check()?;
    progress.enter(Phase::Joining, 0, 0);
    let keyed = !roles.key.is_empty();
    let pairs = pair(&source, &target, job.rule.pairing, keyed);
    let fates = fates(&source, &target, &pairs, job.rule.target_only, slice.len(), keyed);
    let replaces = job.rule.reach == Reach::Slice;
    let rewritten: BTreeSet<usize> = (0..files.len())
        .filter(|i| {
            let span = target.files[*i];
            replaces
                || fates[span.start..span.end]
                    .iter()
                    .any(|f| matches!(f, Fate::Updated | Fate::Unchanged | Fate::Deleted))
        })
        .collect();
    let mut classified = LocalClassified {
        summary: Summary::default(),
        pages: Mutex::default(),
        fetch,
        roles,
        partitions,
        source,
        target,
        files,
        pairs,
        fates,
        rewritten,
        replaces,
    };
    classified.summary = classified.summarise(&live, slice.len(), found).await?;
    Ok(classified)
}

/// Looks for the source's keys outside the slice, as far as the rule and the
/// warning about doubled keys need it. Gives what to report and the files that
/// the rule itself reaches.
async fn search_outside(
    fetch: &Fetch,
    roles: &Roles,
    slice: &[PartitionTuple],
    outside: &[(usize, &DataFile)],
    progress: &Progress,
) -> Result<(Option<Elsewhere>, BTreeSet<usize>)> {
    if roles.key.is_empty() {
        return Ok((None, BTreeSet::new()));
    }
    let rule = fetch.job.rule;
    let by_key = elsewhere::find(fetch, roles, &Search::by_key(roles, rule.pairing), slice, outside, progress).await?;
    if rule.reach == Reach::Slice {
        return Ok((Some(by_key), BTreeSet::new()));
    }
    let reached = by_key.files.clone();
    let bound = roles.partition.iter().any(|c| roles.key.contains(c));
    if !bound {
        return Ok((Some(by_key), reached));
    }
    let stripped =
        elsewhere::find(fetch, roles, &Search::by_stripped_key(roles, rule.pairing), slice, outside, progress).await?;
    Ok((Some(stripped), reached))
}

fn fates(source: &Side, target: &Side, pairs: &Pairs, rule: TargetOnly, slice: usize, keyed: bool) -> Vec<Fate> {
    // "Its key is not in S" is meant null-safely, whatever the join does.
    let mut delivered: HashIndex<()> = HashIndex::default();
    if keyed && rule != TargetOnly::Delete {
        delivered.extend(source.key.iter().map(|k| (*k, ())));
    }
    let fate = |t: usize| match pairs.source_of[t] {
        NONE => {
            let in_slice = (target.partition[t] as usize) < slice;
            match rule {
                TargetOnly::Delete => Fate::Deleted,
                TargetOnly::DeleteInSlice if in_slice => Fate::Deleted,
                _ if in_slice && !delivered.contains_key(&target.key[t]) => Fate::Zombie,
                _ => Fate::Stays,
            }
        }
        s if source.row[s as usize] == target.row[t] => Fate::Unchanged,
        _ => Fate::Updated,
    };
    (0..target.len()).map(fate).collect()
}

impl LocalClassified {
    async fn summarise(&self, live: &[DataFile], slice: usize, found: Option<Elsewhere>) -> Result<Summary> {
        let (effects, written) = self.count();
        let (source, target) = (&self.source, &self.target);
        let left: HashSet<usize> = (0..effects.len()).filter(|p| *p < slice || effects[*p].moved_out > 0).collect();
        let mut files_of: BTreeMap<&PartitionTuple, (u64, u64)> = BTreeMap::new();
        for file in live {
            let entry = files_of.entry(&file.partition).or_default();
            *entry = (entry.0 + 1, entry.1 + file.size);
        }
        let sums: Vec<Vec<_>> = (0..self.roles.measures.len())
            .map(|m| {
                let leaves = |t: usize| matches!(self.fates[t], Fate::Updated | Fate::Unchanged | Fate::Deleted);
                measure::sums(m, source, target, &self.pairs, effects.len(), leaves)
            })
            .collect();
        let mut partitions = Vec::new();
        for number in left {
            let values = self.partitions.tuples[number].clone();
            let (files_before, bytes_before) = files_of.get(&values).copied().unwrap_or_default();
            let mut effects = effects[number];
            let mut measures: Vec<_> = self
                .fetch
                .job
                .measures
                .iter()
                .cloned()
                .zip(&sums)
                .map(|(name, per)| (name, per[number].0, per[number].1))
                .collect();
            if number >= slice {
                // Only some of its files were read: count the rest, and say
                // nothing of sums that were not taken.
                effects.before = self.rows_of_partition(live, &values, effects.before).await?;
                measures.clear();
            }
            partitions.push(PartitionSummary {
                in_slice: number < slice,
                effects,
                files_before,
                bytes_before,
                measures,
                written: written[number],
                values,
            });
        }
        partitions.sort_by(|a, b| a.values.cmp(&b.values));

        let mut evidence = Evidence {
            null_partition_rows: source.null_partitions,
            empty_partition_rows: source.empty_partitions,
            elsewhere_searched: found.is_some(),
            groups: self.groups(slice),
            ..Evidence::default()
        };
        let null_safe = elsewhere::null_safe(self.fetch.job.rule.pairing);
        let (source_duplicates, repeated) = duplicates(source, null_safe, EXAMPLES);
        let (target_duplicates, _) = duplicates(target, null_safe, 0);
        evidence.duplicate_examples = self.key_texts(&repeated).await?;
        let elsewhere = found.map(|f| {
            evidence.elsewhere_examples = f.examples;
            f.rows
        });
        let keys = if self.roles.key.is_empty() {
            KeyFacts::default()
        } else {
            KeyFacts {
                duplicates: crate::plan::SidePair { source: source_duplicates, target: target_duplicates },
                nulls: crate::plan::SidePair { source: nulls(source), target: nulls(target) },
                elsewhere,
                existing: self.existing(),
                examples: evidence.duplicate_examples.clone(),
            }
        };
        let ambiguous: Vec<usize> = self.pairs.ambiguous.iter().map(|(_, s)| *s as usize).collect();
        let in_slice_rows = target.partition.iter().filter(|p| (**p as usize) < slice).count() as u64;
        let slice_tuples: HashSet<&PartitionTuple> = self.partitions.tuples[..slice].iter().collect();
        let elsewhere_rows: Option<u64> =
            live.iter().filter(|f| !slice_tuples.contains(&f.partition)).map(DataFile::live_rows).sum();
        let gone = partitions.iter().filter(|p| p.files_before > 0 && p.effects.after() == 0).count() as u64;
        let new = partitions.iter().filter(|p| p.files_before == 0 && p.effects.after() > 0).count() as u64;
        let not_null =
            self.fetch.layout.schema.fields.iter().zip(&source.nulls).filter(|(f, n)| !f.nullable && **n > 0);
        Ok(Summary {
            source_rows: source.len() as u64,
            slice_before: in_slice_rows,
            table_before: elsewhere_rows.map(|rows| rows + in_slice_rows),
            keys,
            evidence,
            ambiguous: self.pairs.ambiguous_total,
            ambiguous_examples: self.key_texts(&ambiguous).await?,
            not_null: not_null.map(|(f, n)| (f.name.clone(), *n)).collect(),
            removed: self.rewritten.iter().map(|i| self.files[*i].clone()).collect(),
            rows_rewritten_unchanged: effects.iter().map(|e| e.unchanged + e.copied).sum(),
            table_partitions: files_of.len() as u64,
            table_files: live.len() as u64,
            partitions_after: files_of.len() as u64 + new - gone,
            partitions,
        })
    }

    /// Effects and written rows per partition number.
    fn count(&self) -> (Vec<Effects>, Vec<RowSet>) {
        let (source, target) = (&self.source, &self.target);
        let mut effects = vec![Effects::default(); self.partitions.tuples.len()];
        let mut written = vec![RowSet::default(); effects.len()];
        for s in 0..source.len() {
            let at = source.partition[s] as usize;
            effects[at].source += 1;
            if self.pairs.times[s] == 0 {
                effects[at].inserted += 1;
                written[at].add(mix(source.row[s]));
            }
        }
        for (file, span) in target.files.iter().enumerate() {
            let rewritten = self.rewritten.contains(&file);
            for t in span.start..span.end {
                let from = target.partition[t] as usize;
                effects[from].before += 1;
                match self.fates[t] {
                    Fate::Deleted => effects[from].deleted += 1,
                    Fate::Zombie => effects[from].zombies += 1,
                    Fate::Stays => {}
                    fate @ (Fate::Updated | Fate::Unchanged) => {
                        let s = self.pairs.source_of[t] as usize;
                        let to = source.partition[s] as usize;
                        written[to].add(mix(source.row[s]));
                        if fate == Fate::Unchanged {
                            effects[to].unchanged += 1;
                        } else {
                            effects[to].updated += 1;
                            if from != to {
                                effects[from].moved_out += 1;
                                effects[to].moved_in += 1;
                            }
                            if !source.significant.is_empty() && source.significant[s] == target.significant[t] {
                                effects[to].touched_only += 1;
                            }
                        }
                    }
                }
                if rewritten && matches!(self.fates[t], Fate::Zombie | Fate::Stays) {
                    effects[from].copied += 1;
                    written[from].add(mix(target.row[t]));
                }
            }
        }
        (effects, written)
    }

    async fn rows_of_partition(&self, live: &[DataFile], values: &PartitionTuple, read: u64) -> Result<u64> {
        let was_read: HashSet<&str> = self.files.iter().map(|f| f.path.as_str()).collect();
        let mut rows = read;
        for file in live.iter().filter(|f| f.partition == *values && !was_read.contains(f.path.as_str())) {
            rows += match file.live_rows() {
                Some(rows) => rows,
                None => self.fetch.count(file).await?,
            };
        }
        Ok(rows)
    }

    /// Source rows whose key the rule finds in the reachable table.
    fn existing(&self) -> u64 {
        let null_safe = elsewhere::null_safe(self.fetch.job.rule.pairing);
        let usable = |side: &Side, row: usize| null_safe || !side.null_key[row];
        let mut keys: HashIndex<()> = HashIndex::default();
        keys.extend((0..self.target.len()).filter(|t| usable(&self.target, *t)).map(|t| (self.target.key[t], ())));
        (0..self.source.len()).filter(|s| usable(&self.source, *s) && keys.contains_key(&self.source.key[*s])).count()
            as u64
    }

    fn groups(&self, slice: usize) -> Vec<GroupFacts> {
        let rows = self.target.partition.iter().filter(|p| (**p as usize) < slice).count() as u64;
        let mut facts = Vec::new();
        for (i, (column, configured)) in self.fetch.job.grain.iter().enumerate() {
            let (Some(now), Some(delivered)) = (self.target.groups.get(i), self.source.groups.get(i)) else { continue };
            let overflow = now.overflow || delivered.overflow;
            let repeats = now.values.len() as u64 * ROWS_PER_GROUP <= rows;
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

    /// The keys of some source rows, for people.
    async fn key_texts(&self, rows: &[usize]) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        for row in rows.iter().take(EXAMPLES) {
            let (file, position) = self.source.place(*row);
            let batches = self.fetch.source(file, &self.roles.key, Some(&[position])).await?;
            for (_, values) in collect_rows(batches).await? {
                let parts: Vec<String> =
                    self.fetch.job.key.iter().zip(values).map(|(c, v)| format!("{c}={v}")).collect();
                texts.push(parts.join(", "));
            }
        }
        Ok(texts)
    }
}

fn nulls(side: &Side) -> u64 {
    side.null_key.iter().filter(|n| **n).count() as u64
}
