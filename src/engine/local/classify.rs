//! From two sides and a rule to the fate of every row.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::elsewhere::{self, Elsewhere, KeySet};
use super::fetch::{Fetch, collect_rows};
use super::hash::mix;
use super::pair::{Comparison, NONE, Pairs, pair};
use super::searches::Searches;
use super::side::{Partitions, Roles, Side};
use super::{measure, roles};
use crate::engine::{PartitionSummary, RowJob, RowSet, Summary};
use crate::error::Result;
use crate::gate::Evidence;
use crate::gate::evidence::GroupFacts;
use crate::plan::{Effect, Effects, KeyFacts, Pairing, Reach, RowRule, SidePair, TargetOnly};
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

/// Both sides of a job, read once for all of its rules.
pub struct Sides {
    pub fetch: Fetch,
    pub roles: Arc<Roles>,
    pub partitions: Partitions,
    pub source: Side,
    /// First the rows of the slice, then those of other files that a rule reaches.
    pub target: Side,
    /// The target's files, in the order of its spans.
    pub files: Vec<DataFile>,
    /// How many of `files` are in the slice, and how many rows they hold.
    slice_files: usize,
    slice_rows: usize,
    /// The partition numbers below this are delivered by the source.
    slice: usize,
    live: Vec<DataFile>,
}

/// What one rule makes of the sides.
pub struct LocalClassified {
    pub sides: Arc<Sides>,
    pub rule: RowRule,
    /// The files and rows of the target that the rule reaches: a prefix.
    pub reach_files: usize,
    pub reach_rows: usize,
    pub pairs: Pairs,
    pub fates: Vec<Fate>,
    /// Files that are rewritten, as indexes of the target's files.
    pub rewritten: BTreeSet<usize>,
    pub summary: Summary,
    /// Row lists of effects that were paged through.
    pub pages: Mutex<HashMap<Effect, RowPairs>>,
}

/// Reads both sides once and judges every row by each rule.
///
/// # Errors
/// Whatever reading gives; `Cancelled`.
pub async fn classify(job: RowJob, progress: &Progress) -> Result<Vec<LocalClassified>> {
    let fetch = Fetch::new(Arc::new(job))?;
    let job = fetch.job.clone();
    let roles = Arc::new(roles::resolve(&job, &fetch.layout)?);
    let all = fetch.all_columns();
    let live = job.snapshot.files(true).await?;

    let files_total = job.source.files.len() as u64 + live.len() as u64;
    progress.enter(Phase::Reading, files_total, live.iter().map(|f| f.size).sum());
    let mut partitions = Partitions::default();
    let open_source = |i| {
        let (fetch, all) = (fetch.clone(), all.clone());
        async move { fetch.source(i, &all, None).await }
    };
    let source =
        Side::read(job.source.files.len(), job.source.files.len(), &roles, &mut partitions, progress, open_source)
            .await?;
    let slice: Vec<PartitionTuple> = partitions.tuples.clone();
    let in_slice: HashSet<&PartitionTuple> = slice.iter().collect();

    let (inside, outside): (Vec<_>, Vec<_>) =
        live.iter().enumerate().partition(|(_, f)| in_slice.contains(&f.partition));
    let searches = Searches::new(&job.rules, &roles);
    let found = elsewhere::find(&fetch, &roles, &searches.all, &slice, &outside, progress).await?;
    let mut reached: BTreeSet<usize> = searches.reached(&job.rules, &found);
    if job.rules.iter().any(|rule| rule.reach == Reach::Table) {
        reached.extend(outside.iter().map(|(i, _)| *i));
    }
    // What only adds need not read the table, unless keys are to be found there.
    let blind = roles.key.is_empty() && job.rules.iter().all(|rule| rule.pairing == Pairing::Never);
    let mut files: Vec<DataFile> = inside.iter().filter(|_| !blind).map(|(_, f)| (*f).clone()).collect();
    let slice_files = files.len();
    files.extend(reached.iter().map(|i| live[*i].clone()));
    // Rows that only a MERGE reaches are no part of the slice's groups.
    let whole = job.rules.iter().all(|rule| rule.reach == Reach::Table);
    let grouped = if whole { files.len() } else { slice_files };
    let open_target = |i: usize| {
        let (fetch, all, file) = (fetch.clone(), all.clone(), files[i].clone());
        async move { fetch.target(&file, &all, None).await }
    };
    let target = Side::read(files.len(), grouped, &roles, &mut partitions, progress, open_target).await?;

    progress.check()?;
    progress.enter(Phase::Joining, 0, 0);
    let sides = Arc::new(Sides {
        slice_rows: target.files[..slice_files].last().map_or(0, |span| span.end),
        slice: slice.len(),
        fetch,
        roles,
        partitions,
        source,
        target,
        files,
        slice_files,
        live,
    });
    let mut classified = Vec::new();
    for (index, rule) in job.rules.iter().enumerate() {
        progress.check()?;
        // Nothing is elsewhere where everything is within reach.
        let reported = match rule.reach {
            Reach::Table => (!sides.roles.key.is_empty()).then(Elsewhere::default),
            Reach::Slice | Reach::Key => searches.reported(index, &found),
        };
        classified.push(LocalClassified::new(sides.clone(), *rule, reported).await?);
    }
    Ok(classified)
}

fn fates(sides: &Sides, pairs: &Pairs, rule: RowRule) -> Vec<Fate> {
    let (source, target, slice) = (&sides.source, &sides.target, sides.slice);
    let lonely = |in_slice: bool| match rule.target_only {
        _ if rule.pairing == Pairing::Never => Fate::Stays,
        TargetOnly::Delete => Fate::Deleted,
        TargetOnly::DeleteInSlice if in_slice => Fate::Deleted,
        _ if in_slice => Fate::Zombie,
        _ => Fate::Stays,
    };
    let fate = |t: usize| match pairs.source_of[t] {
        NONE => lonely((target.partition[t] as usize) < slice),
        s if source.row[s as usize] == target.row[t] => Fate::Unchanged,
        _ => Fate::Updated,
    };
    let mut fates: Vec<Fate> = (0..pairs.source_of.len()).map(fate).collect();
    // "Its key is not in S" is meant null-safely, whatever the join does.
    for t in &pairs.delivered {
        let fate = &mut fates[*t as usize];
        if *fate == Fate::Zombie {
            *fate = Fate::Stays;
        }
    }
    fates
}

impl LocalClassified {
    async fn new(sides: Arc<Sides>, rule: RowRule, found: Option<Elsewhere>) -> Result<LocalClassified> {
        let replaces = rule.target_only == TargetOnly::Delete;
        let (reach_files, reach_rows) = match rule.reach {
            Reach::Slice => (sides.slice_files, sides.slice_rows),
            Reach::Key | Reach::Table => (sides.files.len(), sides.target.len()),
        };
        let keyed = !sides.roles.key.is_empty();
        let how = Comparison { pairing: rule.pairing, keyed, examples: EXAMPLES };
        let pairs = pair(&sides.source, &sides.target, reach_rows, how);
        let fates = fates(&sides, &pairs, rule);
        let rewrites = |fate: &Fate| matches!(fate, Fate::Updated | Fate::Unchanged | Fate::Deleted);
        let rewritten = (0..reach_files)
            .filter(|i| {
                let span = sides.target.files[*i];
                replaces || fates[span.start..span.end].iter().any(rewrites)
            })
            .collect();
        let mut classified = LocalClassified {
            sides,
            rule,
            reach_files,
            reach_rows,
            pairs,
            fates,
            rewritten,
            summary: Summary::default(),
            pages: Mutex::default(),
        };
        classified.summary = classified.summarise(found).await?;
        Ok(classified)
    }

    pub fn replaces(&self) -> bool {
        self.rule.target_only == TargetOnly::Delete
    }

    async fn summarise(&self, found: Option<Elsewhere>) -> Result<Summary> {
        let (effects, written) = self.count();
        let sides = &self.sides;
        let (source, slice, live) = (&sides.source, sides.slice, &sides.live);
        let whole = self.rule.reach == Reach::Table;
        let blind = self.rule.pairing == Pairing::Never && sides.roles.key.is_empty();
        let leaves = |e: &Effects| e.moved_out > 0 || e.deleted > 0;
        let left: HashSet<usize> = (0..effects.len()).filter(|p| *p < slice || leaves(&effects[*p])).collect();
        let mut files_of: BTreeMap<&PartitionTuple, (u64, u64)> = BTreeMap::new();
        for file in live {
            let entry = files_of.entry(&file.partition).or_default();
            *entry = (entry.0 + 1, entry.1 + file.size);
        }
        let sums: Vec<Vec<_>> = (0..sides.roles.measures.len())
            .map(|m| {
                let leaves = |t: usize| matches!(self.fates[t], Fate::Updated | Fate::Unchanged | Fate::Deleted);
                measure::sums(m, source, &sides.target, &self.pairs, effects.len(), leaves)
            })
            .collect();
        let mut partitions = Vec::new();
        for number in left {
            let values = sides.partitions.tuples[number].clone();
            let (files_before, bytes_before) = files_of.get(&values).copied().unwrap_or_default();
            let mut effects = effects[number];
            let mut measures: Vec<_> = sides
                .fetch
                .job
                .measures
                .iter()
                .cloned()
                .zip(&sums)
                .map(|(name, per)| (name, per[number].0, per[number].1))
                .collect();
            if blind || number >= slice && !whole {
                // Only some of its files were read: count the rest, and say
                // nothing of sums that were not taken.
                effects.before = self.rows_of_partition(&values, effects.before).await?;
                measures.clear();
            }
            partitions.push(PartitionSummary {
                in_slice: whole || number < slice,
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
            groups: self.groups(),
            ..Evidence::default()
        };
        let appends = self.rule.pairing == Pairing::Never;
        let known = found.as_ref().filter(|_| appends).map_or(0, |f| self.known(f));
        let elsewhere = found.map(|f| {
            evidence.elsewhere_examples = f.examples;
            f.rows
        });
        let keys = if sides.roles.key.is_empty() {
            KeyFacts::default()
        } else {
            let pairs = &self.pairs;
            evidence.duplicate_examples = self.key_texts(&pairs.repeated).await?;
            KeyFacts {
                duplicates: SidePair { source: pairs.source_duplicates, target: pairs.target_duplicates },
                nulls: SidePair { source: nulls(source, source.len()), target: nulls(&sides.target, self.reach_rows) },
                elsewhere,
                existing: if appends { known } else { pairs.existing },
                examples: evidence.duplicate_examples.clone(),
            }
        };
        let in_slice_rows = match (blind, whole) {
            (true, _) => partitions.iter().map(|p| p.effects.before).sum(),
            (_, true) => self.reach_rows as u64,
            _ => sides.slice_rows as u64,
        };
        let slice_tuples: HashSet<&PartitionTuple> = sides.partitions.tuples[..slice].iter().collect();
        let elsewhere_rows: Option<u64> =
            live.iter().filter(|f| !whole && !slice_tuples.contains(&f.partition)).map(DataFile::live_rows).sum();
        let gone = partitions.iter().filter(|p| p.files_before > 0 && p.effects.after() == 0).count() as u64;
        let new = partitions.iter().filter(|p| p.files_before == 0 && p.effects.after() > 0).count() as u64;
        let not_null =
            sides.fetch.layout.schema.fields.iter().zip(&source.nulls).filter(|(f, n)| !f.nullable && **n > 0);
        Ok(Summary {
            source_rows: source.len() as u64,
            slice_before: in_slice_rows,
            table_before: elsewhere_rows.map(|rows| rows + in_slice_rows),
            keys,
            evidence,
            ambiguous: self.pairs.ambiguous_total,
            ambiguous_examples: self.key_texts(&self.pairs.ambiguous).await?,
            not_null: not_null.map(|(f, n)| (f.name.clone(), *n)).collect(),
            removed: self.rewritten.iter().map(|i| sides.files[*i].clone()).collect(),
            rows_rewritten_unchanged: effects.iter().map(|e| e.unchanged + e.copied).sum(),
            table_partitions: files_of.len() as u64,
            table_files: live.len() as u64,
            partitions_after: files_of.len() as u64 + new - gone,
            partitions,
        })
    }

    /// Effects and written rows per partition number.
    fn count(&self) -> (Vec<Effects>, Vec<RowSet>) {
        let (source, target) = (&self.sides.source, &self.sides.target);
        let mut effects = vec![Effects::default(); self.sides.partitions.tuples.len()];
        let mut written = vec![RowSet::default(); effects.len()];
        for s in 0..source.len() {
            let at = source.partition[s] as usize;
            effects[at].source += 1;
            if self.pairs.times[s] == 0 {
                effects[at].inserted += 1;
                written[at].add(mix(source.row[s]));
            }
        }
        for (file, span) in target.files[..self.reach_files].iter().enumerate() {
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

    async fn rows_of_partition(&self, values: &PartitionTuple, read: u64) -> Result<u64> {
        let was_read: HashSet<&str> = self.sides.files.iter().map(|f| f.path.as_str()).collect();
        let mut rows = read;
        for file in self.sides.live.iter().filter(|f| f.partition == *values && !was_read.contains(f.path.as_str())) {
            rows += match file.live_rows() {
                Some(rows) => rows,
                None => self.sides.fetch.count(file).await?,
            };
        }
        Ok(rows)
    }

    /// Source rows whose key is anywhere in the table; `found` tells of the
    /// partitions outside the slice.
    fn known(&self, found: &Elsewhere) -> u64 {
        let sides = &self.sides;
        let inside: KeySet = sides.target.key[..self.reach_rows].iter().copied().collect();
        let keys = sides.source.key.iter();
        keys.filter(|key| inside.contains(key) || found.keys.contains(key)).count() as u64
    }

    fn groups(&self) -> Vec<GroupFacts> {
        let sides = &self.sides;
        let mut facts = Vec::new();
        for (i, (column, configured)) in sides.fetch.job.grain.iter().enumerate() {
            let (Some(now), Some(delivered)) = (sides.target.groups.get(i), sides.source.groups.get(i)) else {
                continue;
            };
            let overflow = now.overflow || delivered.overflow;
            let repeats = now.values.len() as u64 * ROWS_PER_GROUP <= sides.slice_rows as u64;
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
    async fn key_texts(&self, rows: &[u32]) -> Result<Vec<String>> {
        let sides = &self.sides;
        let mut texts = Vec::new();
        for row in rows.iter().take(EXAMPLES) {
            let (file, position) = sides.source.place(*row as usize);
            let batches = sides.fetch.source(file, &sides.roles.key, Some(&[position])).await?;
            for (_, values) in collect_rows(batches).await? {
                let parts: Vec<String> =
                    sides.fetch.job.key.iter().zip(values).map(|(c, v)| format!("{c}={v}")).collect();
                texts.push(parts.join(", "));
            }
        }
        Ok(texts)
    }
}

fn nulls(side: &Side, rows: usize) -> u64 {
    side.null_key[..rows].iter().filter(|n| **n).count() as u64
}
