//! From two sides and a rule to a plan's numbers.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::breaks::Breaks;
use super::days;
use super::fetch::{WHOLE, collect_rows};
use super::groups;
use super::ordered::DeliveredOrder;
use super::rows::Place;
use super::sides::{EXAMPLES, Sides};
use super::tally::{PartitionTally, Tally};
use super::verdicts::Verdicts;
use super::walk::walk;
use crate::engine::{Broken, PartitionSummary, RowJob, RowSet, Summary};
use crate::error::Result;
use crate::gate::Evidence;
use crate::gate::evidence::GrainFacts;
use crate::plan::{Effects, KeyFacts, PlanPartition, Reach, SidePair};
use crate::progress::{Phase, Progress};
use crate::table::{DataFile, PartitionTuple};

/// What one rule makes of the sides.
pub struct LocalClassified {
    pub sides: Arc<Sides>,
    pub rule: usize,
    /// Files that are rewritten, as numbers of the target's files.
    pub rewritten: BTreeSet<usize>,
    pub summary: Summary,
    /// What becomes of every single row: made when a page or the stager asks.
    pub verdicts: Mutex<Option<Arc<Verdicts>>>,
    /// The order of delivered rows, as far as pages asked for it.
    pub delivered: Mutex<DeliveredOrder>,
}

/// Reads both sides once and judges every row by each rule.
///
/// # Errors
/// Whatever reading gives; `Cancelled`.
pub async fn classify(job: RowJob, progress: &Progress) -> Result<Vec<LocalClassified>> {
    let sides = Arc::new(Sides::read(job, progress).await?);
    progress.check()?;
    progress.enter(Phase::Joining, 0, 0);
    let rules: Vec<usize> = (0..sides.rules.len()).collect();
    let mut threads = walk(
        &sides,
        &rules,
        progress,
        |rule| Tally::new(&sides, rule),
        |tally: &mut Tally<'_>, bucket| tally.flush(bucket),
    )?
    .into_iter();
    let mut tallies: Vec<Tally<'_>> = threads.next().unwrap_or_default();
    for more in threads {
        tallies.iter_mut().zip(more).for_each(|(tally, more)| tally.merge(more));
    }
    let mut classified = Vec::new();
    for (rule, tally) in tallies.into_iter().enumerate() {
        progress.check()?;
        let (rewritten, summary) = summarise(&sides, rule, tally).await?;
        classified.push(LocalClassified {
            sides: sides.clone(),
            rule,
            rewritten,
            summary,
            verdicts: Mutex::default(),
            delivered: Mutex::default(),
        });
    }
    Ok(classified)
}

/// The files whose rows do not all stay, and the rows that move along with others.
fn rewrite(sides: &Sides, rule: usize, tally: &mut Tally<'_>) -> BTreeSet<usize> {
    let replaces = sides.rules[rule].rule.replaces();
    let by_row = matches!(sides.rules[rule].rule.reach, Reach::Where(_));
    let mut rewritten = BTreeSet::new();
    for file in 0..sides.files.len() {
        if !sides.reaches[rule][file] {
            continue;
        }
        let (facts, touched) = (&sides.target_facts.files[file], tally.files[file]);
        // An empty file of a replaced partition goes as well.
        let emptied = replaces && !by_row && facts.rows == 0;
        if touched.touched == 0 && !emptied {
            continue;
        }
        rewritten.insert(file);
        let copied = RowSet { rows: facts.rows - touched.touched, checksum: facts.sum.wrapping_sub(touched.sum) };
        let at = tally.at(sides.file_partition[file]);
        at.effects.copied += copied.rows;
        at.written.rows += copied.rows;
        at.written.checksum = at.written.checksum.wrapping_add(copied.checksum);
    }
    rewritten
}

async fn summarise(sides: &Sides, rule: usize, mut tally: Tally<'_>) -> Result<(BTreeSet<usize>, Summary)> {
    let rewritten = rewrite(sides, rule, &mut tally);
    let compiled = &sides.rules[rule];
    let tuples = sides.tuples();
    let slice = sides.slice;
    let whole = compiled.rule.reach == Reach::Table;
    let keyed = !sides.roles.key.is_empty();
    tally.at(tuples.len().saturating_sub(1) as u32);
    let files_of = sides.table_partitions();
    let read = read_rows(sides);
    let mut live_of: HashMap<&PartitionTuple, Vec<&DataFile>> = HashMap::new();
    sides.live.iter().for_each(|file| live_of.entry(&file.partition).or_default().push(file));
    let chosen = matches!(compiled.rule.reach, Reach::Where(_));
    let mut partitions = Vec::new();
    let mut unplaced = 0;
    for (number, PartitionTally { mut effects, written, sums }) in tally.partitions.drain(..).enumerate() {
        let Some(values) = tuples.get(number).cloned() else { continue };
        let in_slice = number < slice;
        if sides.placeless {
            effects.source = 0;
            unplaced += std::mem::take(&mut effects.ignored);
        }
        if !in_slice && !concerned(&effects) && !whole {
            continue;
        }
        let (files_before, bytes_before) = files_of.get(&values).copied().unwrap_or_default();
        let files = live_of.get(&values).map_or(&[][..], Vec::as_slice);
        let (before, complete) = rows_of_partition(sides, files, &read).await?;
        effects.before = before;
        // Nothing is said of sums that were not taken over all rows.
        let measures = if complete {
            let names = sides.fetch.job.measures.iter().cloned();
            names.zip(sums).map(|(name, (before, after))| (name, before, after)).collect()
        } else {
            Vec::new()
        };
        partitions.push(PartitionSummary {
            in_slice: whole || chosen || in_slice,
            effects,
            files_before,
            bytes_before,
            measures,
            written,
            values,
        });
    }
    partitions.sort_by(|a, b| a.values.cmp(&b.values));
    let source = &sides.source_facts;
    let in_slice_rows: u64 = partitions.iter().filter(|p| p.in_slice).map(|p| p.effects.before).sum();
    let mut evidence = Evidence {
        null_partition_rows: source.null_partitions,
        empty_partition_rows: source.empty_partitions,
        elsewhere_searched: keyed,
        groups: groups::facts(&sides.fetch.job.grain, &sides.target_facts.groups, &source.groups, in_slice_rows),
        grain: grain(sides, &tuples),
        ..Evidence::default()
    };
    let keys = if keyed { key_facts(sides, rule, &tally, &mut evidence).await? } else { KeyFacts::default() };
    let known: HashSet<&PartitionTuple> = partitions.iter().filter(|p| p.in_slice).map(|p| &p.values).collect();
    let elsewhere_rows: Option<u64> =
        sides.live.iter().filter(|f| !known.contains(&f.partition)).map(DataFile::live_rows).sum();
    // A file without a live row may stay where no row of its partition does.
    let mut removed: HashMap<&PartitionTuple, u64> = HashMap::new();
    rewritten.iter().for_each(|file| *removed.entry(&sides.files[*file].partition).or_default() += 1);
    let emptied = |p: &&PartitionSummary| {
        p.files_before > 0 && p.effects.after() == 0 && removed.get(&p.values) == Some(&p.files_before)
    };
    let gone = partitions.iter().filter(emptied).count() as u64;
    let new = partitions.iter().filter(|p| p.files_before == 0 && p.effects.after() > 0).count() as u64;
    let mut nulls = std::mem::take(&mut tally.nulls);
    if compiled.rule.writes_whole_rows() {
        nulls.iter_mut().zip(&source.nulls).for_each(|(all, more)| *all += more);
    }
    let fields = &sides.fetch.layout.schema.fields;
    let not_null = fields.iter().zip(&nulls).filter(|(f, n)| !f.nullable && **n > 0);
    let broken = broken(sides, &tally.breaks).await?;
    let summary = Summary {
        source_rows: source.rows(),
        excluded: source.excluded,
        unplaced,
        outside: source.outside,
        outside_examples: row_texts(sides, &source.outside_examples, &sides.fetch.all_columns()).await?,
        slice_before: in_slice_rows,
        table_before: elsewhere_rows.map(|rows| rows + in_slice_rows),
        keys,
        evidence,
        ambiguous: tally.keys.ambiguous,
        ambiguous_examples: row_texts(sides, &tally.ambiguous, &sides.roles.key).await?,
        not_null: not_null.map(|(f, n)| (f.name.clone(), *n)).collect(),
        broken,
        removed: rewritten.iter().map(|i| sides.files[*i].clone()).collect(),
        rows_rewritten_unchanged: partitions.iter().map(|p| p.effects.unchanged + p.effects.copied).sum(),
        table_partitions: files_of.len() as u64,
        table_files: sides.live.len() as u64,
        partitions_after: files_of.len() as u64 + new - gone,
        partitions,
    };
    Ok((rewritten, summary))
}

/// What rows break, with an example each.
async fn broken(sides: &Sides, breaks: &Breaks) -> Result<Vec<Broken>> {
    let checks = &sides.roles.checks;
    let mut all = Vec::new();
    for (number, found) in breaks.found() {
        let (demand, is_null) = checks.demand(number);
        let mut places = found.places.clone();
        places.sort_unstable();
        places.truncate(1);
        let mut columns = checks.columns_of(number);
        let key = sides.roles.key.iter().filter(|c| !columns.contains(c));
        columns = key.copied().chain(columns.iter().copied()).collect();
        let delivered = row_texts(sides, &places, &columns).await?.pop();
        all.push(Broken { demand, is_null, rows: found.rows, example: delivered.or_else(|| found.cells.clone()) });
    }
    Ok(all)
}

/// Days of date columns on both sides.
fn grain(sides: &Sides, tuples: &[PartitionTuple]) -> Vec<GrainFacts> {
    let names = sides.fetch.layout.partition_columns.as_slice();
    let label = |number: u32| {
        let values = tuples.get(number as usize).map(|tuple| tuple.to_json(names)).unwrap_or_default();
        PlanPartition { values, ..PlanPartition::default() }.label()
    };
    let fields = &sides.fetch.layout.schema.fields;
    let counts = sides.source_facts.days.iter().zip(&sides.target_facts.days).zip(&sides.roles.days);
    counts.map(|((source, target), column)| days::facts(&fields[*column].name, source, target, label)).collect()
}

/// Whether a partition outside the slice is in the plan at all.
fn concerned(e: &Effects) -> bool {
    e.inserted + e.updated + e.unchanged + e.deleted + e.moved_in + e.moved_out + e.source + e.kept > 0
}

async fn key_facts(sides: &Sides, rule: usize, tally: &Tally<'_>, evidence: &mut Evidence) -> Result<KeyFacts> {
    let keys = &tally.keys;
    let compiled = &sides.rules[rule];
    let narrow = compiled.rule.by_key() && sides.roles.narrow.is_some();
    let mut elsewhere = None;
    if let Some(found) = &sides.outside.reported[rule] {
        elsewhere = Some(found.rows + keys.elsewhere);
        evidence.elsewhere_examples = found.texts(&sides.fetch, &sides.roles, &sides.live, narrow).await?;
    }
    for place in &tally.elsewhere {
        let file = &sides.files[place.file()];
        let batches = sides.fetch.target(file, &sides.roles.key, Some(&[place.position()])).await?;
        for (_, values) in collect_rows(batches).await? {
            evidence.elsewhere_examples.push(format!("{} beyond the predicate", key_text(sides, &values)));
        }
    }
    evidence.elsewhere_examples.truncate(EXAMPLES);
    evidence.duplicate_examples = row_texts(sides, &tally.repeated, &sides.roles.key).await?;
    Ok(KeyFacts {
        duplicates: SidePair { source: keys.source_duplicates, target: keys.target_duplicates },
        nulls: SidePair { source: keys.source_nulls, target: keys.target_nulls },
        elsewhere,
        existing: keys.existing,
        examples: evidence.duplicate_examples.clone(),
    })
}

/// Live rows per file that was read, by its path.
fn read_rows(sides: &Sides) -> HashMap<&str, u64> {
    let facts = sides.target_facts.files.iter().map(|facts| facts.rows);
    sides.files.iter().map(|file| file.path.as_str()).zip(facts).collect()
}

/// Live rows of a partition, and whether all of its files were read.
async fn rows_of_partition(sides: &Sides, files: &[&DataFile], read: &HashMap<&str, u64>) -> Result<(u64, bool)> {
    let (mut rows, mut complete) = (0, true);
    for file in files {
        rows += match (read.get(file.path.as_str()), file.live_rows()) {
            (Some(rows), _) => *rows,
            (None, known) => {
                complete = false;
                match known {
                    Some(rows) => rows,
                    None => sides.fetch.count(file).await?,
                }
            }
        };
    }
    Ok((rows, complete))
}

fn key_text(sides: &Sides, values: &[crate::table::Value]) -> String {
    let names = sides.roles.key.iter().map(|c| &sides.fetch.layout.schema.fields[*c].name);
    names.zip(values).map(|(c, v)| format!("{c}={v}")).collect::<Vec<_>>().join(", ")
}

/// Some columns of some source rows, for people.
async fn row_texts(sides: &Sides, rows: &[Place], columns: &[usize]) -> Result<Vec<String>> {
    const SHOWN: usize = 6;
    let mut texts = Vec::new();
    for place in rows.iter().take(EXAMPLES) {
        let wanted = super::delivered::Wanted { columns: columns.to_vec(), ..Default::default() };
        let batches = sides.fetch.delivered(place.file(), &wanted, Some(&[place.position()]), &WHOLE).await?;
        let mut batches = std::pin::pin!(batches);
        while let Some(delivered) = futures::TryStreamExt::try_next(&mut batches).await? {
            for row in 0..delivered.positions.len() {
                let parts: Vec<String> = columns
                    .iter()
                    .zip(delivered.batch.columns())
                    .take(SHOWN)
                    .map(|(column, array)| {
                        let name = &sides.fetch.layout.schema.fields[*column].name;
                        format!("{name}={}", crate::lake::data::value_at(array.as_ref(), row))
                    })
                    .collect();
                texts.push(parts.join(", "));
            }
        }
    }
    Ok(texts)
}

impl LocalClassified {
    pub fn replaces(&self) -> bool {
        self.sides.rules[self.rule].rule.replaces()
    }
}
