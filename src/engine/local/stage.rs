//! The one stager: writes what a rule leads to, for every kind of plan.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use deltalake::arrow::compute::take_record_batch;
use futures::TryStreamExt;
use uuid::Uuid;

use super::classify::LocalClassified;
use super::compile::Insert;
use super::delivered::{Delivered, Wanted};
use super::feed::{Change, Feed};
use super::fetch::WHOLE;
use super::join::built;
use super::rows::Place;
use super::sides::Sides;
use super::tally::number_of;
use super::unstage::{discard_staged, left_behind};
use super::verdicts::{Fate, Verdicts, patched_partition};
use super::write::{Content, PartitionWriter, WriterOptions};
use crate::engine::Staged;
use crate::error::{Context, ErrorKind, Result};
use crate::lake::data::{LiveBatch, array_of, value_at};
use crate::progress::{Phase, Progress};
use crate::table::Value;

/// Stages the rule's files. On any error, and on cancel, what was written is
/// removed before the error is returned.
pub async fn stage(classified: &LocalClassified, operation: Uuid, progress: Progress) -> Result<Staged> {
    let sides = &classified.sides;
    let fetch = &sides.fetch;
    let total = fetch.job.source.files.iter().map(|f| f.size).sum();
    progress.enter(Phase::Staging, fetch.job.source.files.len() as u64, total);
    let verdicts = classified.verdicts(&progress)?;
    let options = WriterOptions {
        operation,
        seed: sides.roles.seed,
        spilling: sides.spilling.clone(),
        shape: fetch.job.output,
        content: Content::Data,
    };
    let mut feed = Feed::new(classified, operation)?;
    let mut writer = PartitionWriter::new(&fetch.job.snapshot, Arc::clone(&fetch.layout), options);
    let stager = Stager { classified, sides, verdicts: &verdicts, progress: &progress };
    let staged = match stager.write_all(&mut Out { writer: &mut writer, feed: feed.as_mut() }).await {
        Ok(()) => writer.finish().await,
        Err(error) => Err(left_behind(error, writer.discard().await)),
    };
    let Some(feed) = feed else { return staged };
    match staged {
        Ok(mut staged) => match feed.finish(&staged).await {
            Ok(changes) => {
                staged.changes = changes;
                Ok(staged)
            }
            Err(error) => Err(left_behind(error, discard_staged(fetch.job.snapshot.store(), &staged).await)),
        },
        Err(error) => Err(left_behind(error, feed.discard().await)),
    }
}

/// Where rows go.
struct Out<'a, 'f> {
    writer: &'a mut PartitionWriter,
    feed: Option<&'a mut Feed<'f>>,
}

struct Stager<'a> {
    classified: &'a LocalClassified,
    sides: &'a Sides,
    verdicts: &'a Verdicts,
    progress: &'a Progress,
}

impl Stager<'_> {
    async fn write_all(&self, out: &mut Out<'_, '_>) -> Result<()> {
        self.write_delivered(out).await?;
        if self.classified.replaces() && !self.by_row() {
            return Ok(());
        }
        for file in &self.classified.rewritten {
            self.write_carried(*file, out).await?;
        }
        Ok(())
    }

    fn by_row(&self) -> bool {
        matches!(self.sides.rules[self.classified.rule].rule.reach, crate::plan::Reach::Where(_))
    }

    async fn write_delivered(&self, out: &mut Out<'_, '_>) -> Result<()> {
        let fetch = &self.sides.fetch;
        let builds = self.sides.rules[self.classified.rule].inserts().any(|i| matches!(i, Insert::Built(_)));
        let cells = if builds { self.sides.roles.cells.source.clone() } else { Vec::new() };
        let wanted = Wanted { columns: fetch.all_columns(), keys: false, cells };
        for file in 0..fetch.job.source.files.len() {
            let mut batches = fetch.delivered(file, &wanted, None, &WHOLE).await?;
            while let Some(delivered) = batches.try_next().await? {
                self.progress.check()?;
                self.write_batch(file, &delivered, out).await?;
            }
            self.progress.advance(1, 0, fetch.job.source.files[file].size);
        }
        Ok(())
    }

    async fn write_batch(&self, file: usize, delivered: &Delivered, out: &mut Out<'_, '_>) -> Result<()> {
        let inserts: Vec<&Insert> = self.sides.rules[self.classified.rule].inserts().collect();
        let mut picked = Vec::new();
        let (mut inserted, mut updates) = (Vec::new(), Vec::new());
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for (local, position) in delivered.positions.iter().enumerate() {
            let verdict = self.verdicts.of_source(Place::new(file, *position)?);
            // A source row that updates several target rows is written for each.
            picked.extend(std::iter::repeat_n(local as u64, verdict.times as usize));
            if out.feed.is_some() {
                updates.extend(std::iter::repeat_n(local as u64, verdict.updates as usize));
                if verdict.inserted && verdict.build.is_none() {
                    inserted.push(local as u64);
                }
            }
            if let Some(Insert::Built(columns)) = verdict.build.and_then(|n| inserts.get(usize::from(n))) {
                let cells: Vec<Value> = delivered.cells.iter().map(|c| value_at(c.as_ref(), local)).collect();
                rows.push(built(columns, &self.sides.roles, &cells)?);
            }
        }
        if !picked.is_empty() {
            let batch = pick(&delivered.batch, picked)?;
            self.send(batch, None, out).await?;
        }
        if out.feed.is_some() {
            for (change, times) in [(Change::Insert, &inserted), (Change::Postimage, &updates)] {
                let batch = pick(&delivered.batch, times.clone())?;
                self.tell(change, batch, None, out).await?;
            }
        }
        if !rows.is_empty() {
            let schema = delivered.batch.schema();
            let columns: Vec<ArrayRef> = schema
                .fields()
                .iter()
                .enumerate()
                .map(|(column, field)| {
                    let values: Vec<Value> = rows.iter().map(|row| row[column].clone()).collect();
                    array_of(&values, field.data_type())
                })
                .collect::<Result<_>>()?;
            let batch = RecordBatch::try_new(schema, columns)
                .context(ErrorKind::Internal, || "built rows do not line up with the table".into())?;
            self.tell(Change::Insert, batch.clone(), None, out).await?;
            self.send(batch, None, out).await?;
        }
        Ok(())
    }

    /// Rows that only share a file with a changed one move on unchanged, and so
    /// do those that get new values in some columns.
    async fn write_carried(&self, file: usize, out: &mut Out<'_, '_>) -> Result<()> {
        let fetch = &self.sides.fetch;
        let rule = &self.sides.rules[self.classified.rule];
        let patches =
            if rule.patched.is_empty() { HashMap::new() } else { self.verdicts.patches(file, rule.patched.len())? };
        let home = self.sides.file_partition[file];
        let mut batches = fetch.target(&self.sides.files[file], &fetch.all_columns(), None).await?;
        while let Some(live) = batches.try_next().await? {
            self.progress.check()?;
            let fates: Vec<Fate> = live.positions.iter().map(|at| self.verdicts.fate(file, *at)).collect();
            let of = |wanted: &dyn Fn(Fate) -> bool| -> Vec<u64> {
                (0..fates.len()).filter(|row| wanted(fates[*row])).map(|row| row as u64).collect()
            };
            if out.feed.is_some() {
                let replaced = |fate| matches!(fate, Fate::Replaced | Fate::Patched);
                for (change, gone) in
                    [(Change::Delete, of(&|fate| fate == Fate::Deleted)), (Change::Preimage, of(&replaced))]
                {
                    let numbers = vec![home; gone.len()];
                    self.tell(change, pick(&live.batch, gone)?, Some(numbers), out).await?;
                }
            }
            let picked = of(&Fate::is_carried);
            if picked.is_empty() {
                continue;
            }
            let mut numbers: Vec<u32> = vec![home; picked.len()];
            let mut batch = pick(&live.batch, picked.clone())?;
            if !patches.is_empty() {
                batch = self.patch(&live, batch, &picked, &patches, file, &mut numbers)?;
                if out.feed.is_some() {
                    let at = |row: &usize| fates[picked[*row] as usize] == Fate::Patched;
                    let changed: Vec<usize> = (0..picked.len()).filter(at).collect();
                    let homes = changed.iter().map(|row| numbers[*row]).collect();
                    let rows = pick(&batch, changed.into_iter().map(|row| row as u64).collect())?;
                    self.tell(Change::Postimage, rows, Some(homes), out).await?;
                }
            }
            self.send(batch, Some(numbers), out).await?;
        }
        Ok(())
    }

    /// Puts new values into the columns that clauses assign.
    fn patch(
        &self,
        live: &LiveBatch,
        batch: RecordBatch,
        picked: &[u64],
        patches: &HashMap<u64, Vec<Value>>,
        file: usize,
        numbers: &mut [u32],
    ) -> Result<RecordBatch> {
        let rule = &self.sides.rules[self.classified.rule];
        let of: Vec<Option<&Vec<Value>>> =
            picked.iter().map(|row| patches.get(&live.positions[*row as usize])).collect();
        if of.iter().all(Option::is_none) {
            return Ok(batch);
        }
        for (number, values) in numbers.iter_mut().zip(&of) {
            if let Some(values) = values {
                *number = patched_partition(self.sides, self.classified.rule, file, values);
            }
        }
        let mut columns = batch.columns().to_vec();
        for (place, column) in rule.patched.iter().enumerate() {
            let array = &columns[*column];
            let values: Vec<Value> = of
                .iter()
                .enumerate()
                .map(|(row, values)| match values {
                    Some(values) => values[place].clone(),
                    None => value_at(array.as_ref(), row),
                })
                .collect();
            columns[*column] = array_of(&values, array.data_type())?;
        }
        RecordBatch::try_new(batch.schema(), columns)
            .context(ErrorKind::Internal, || "assigned values do not line up with the table".into())
    }

    async fn send(&self, batch: RecordBatch, numbers: Option<Vec<u32>>, out: &mut Out<'_, '_>) -> Result<()> {
        let numbers = match numbers {
            Some(numbers) => numbers,
            None => self.numbers(&batch)?,
        };
        self.progress.advance(0, batch.num_rows() as u64, 0);
        self.sides.roles.checks.hold(&batch, &self.sides.fetch.layout.schema)?;
        if numbers.iter().any(|number| *number as usize >= out.writer.known()) {
            out.writer.know(self.sides.tuples());
        }
        out.writer.write(batch, numbers).await
    }

    /// Rows for the change feed, where there is one.
    async fn tell(
        &self,
        change: Change,
        batch: RecordBatch,
        numbers: Option<Vec<u32>>,
        out: &mut Out<'_, '_>,
    ) -> Result<()> {
        let Some(feed) = out.feed.as_mut() else { return Ok(()) };
        let numbers = match numbers {
            Some(numbers) => numbers,
            None => self.numbers(&batch)?,
        };
        feed.take(change, &batch, numbers).await
    }

    /// The partition of each row, by its values.
    fn numbers(&self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let roles = &self.sides.roles;
        let mut hashes = vec![0u128; batch.num_rows()];
        for column in &roles.partition {
            super::hash::add_column(batch.column(*column), super::hash::column_seed(roles.seed, *column), &mut hashes)?;
        }
        let mut known: HashMap<u128, u32> = HashMap::new();
        Ok(hashes
            .into_iter()
            .enumerate()
            .map(|(row, hash)| {
                *known.entry(hash).or_insert_with(|| {
                    let mut values = vec![Value::Null; roles.columns];
                    for column in &roles.partition {
                        values[*column] = value_at(batch.column(*column).as_ref(), row);
                    }
                    number_of(self.sides, &values)
                })
            })
            .collect())
    }
}

fn pick(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() && rows.iter().enumerate().all(|(i, row)| *row == i as u64) {
        return Ok(batch.clone());
    }
    take_record_batch(batch, &UInt64Array::from(rows))
        .context(ErrorKind::Internal, || "rows of a batch could not be picked".into())
}
