//! Paging through the rows of an effect: verdicts are kept, rows are read again
//! where they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::FutureExt;
use futures::TryStreamExt;
use futures::future::BoxFuture;
use uuid::Uuid;

use super::classify::LocalClassified;
use super::compile::Insert;
use super::delivered::Wanted;
use super::fetch::{WHOLE, collect_rows};
use super::join::built;
use super::rows::Place;
use super::sides::lock;
use super::verdicts::Verdicts;
use crate::engine::{Classified, EffectRow, Staged, Summary};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::value_at;
use crate::plan::Effect;
use crate::progress::Progress;
use crate::table::Value;

impl LocalClassified {
    /// What becomes of every row; made once.
    ///
    /// # Errors
    /// `Storage`; `Cancelled`.
    pub fn verdicts(&self, progress: &Progress) -> Result<Arc<Verdicts>> {
        let mut kept = lock(&self.verdicts);
        if let Some(verdicts) = &*kept {
            return Ok(verdicts.clone());
        }
        let verdicts = Arc::new(Verdicts::new(&self.sides, self.rule, progress)?);
        *kept = Some(verdicts.clone());
        Ok(verdicts)
    }

    async fn read(&self, effect: Effect, offset: u64, limit: usize) -> Result<Vec<EffectRow>> {
        let verdicts = self.verdicts(&Progress::default())?;
        match effect {
            Effect::Inserted | Effect::Ignored => self.read_delivered(&verdicts, effect, offset, limit).await,
            _ => self.read_table(&verdicts, effect, offset, limit).await,
        }
    }

    /// Rows of the table: by partition, then by file and place.
    async fn read_table(
        &self,
        verdicts: &Verdicts,
        effect: Effect,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<EffectRow>> {
        let sides = &self.sides;
        let mut order: Vec<usize> = (0..sides.files.len()).collect();
        order.sort_by(|a, b| (&sides.files[*a].partition, *a).cmp(&(&sides.files[*b].partition, *b)));
        let mut skip = offset;
        let mut rows = Vec::new();
        for file in order {
            if rows.len() >= limit {
                break;
            }
            let count = verdicts.count(file, effect);
            if count <= skip {
                skip -= count;
                continue;
            }
            let pass = usize::try_from(std::mem::take(&mut skip)).unwrap_or(usize::MAX);
            let positions: Vec<u64> = verdicts.of_file(file, effect).skip(pass).take(limit - rows.len()).collect();
            rows.extend(self.table_rows(verdicts, effect, file, &positions).await?);
        }
        Ok(rows)
    }

    async fn table_rows(
        &self,
        verdicts: &Verdicts,
        effect: Effect,
        file: usize,
        positions: &[u64],
    ) -> Result<Vec<EffectRow>> {
        let sides = &self.sides;
        let data = &sides.files[file];
        let all = sides.fetch.all_columns();
        let old: HashMap<u64, Vec<Value>> =
            collect_rows(sides.fetch.target(data, &all, Some(positions)).await?).await?.into_iter().collect();
        let patched = &sides.rules[self.rule].patched;
        let updates = effect == Effect::Updated;
        let pairs = if updates { verdicts.pairs(file)? } else { Arc::default() };
        let pair = |at: &u64| Some(pairs[pairs.binary_search_by_key(at, |(position, _)| *position).ok()?].1);
        let patches =
            if updates && !patched.is_empty() { verdicts.patches(file, patched.len())? } else { HashMap::new() };
        let places: Vec<Place> = positions.iter().filter_map(pair).collect();
        let new = self.delivered_rows(&places).await?;
        positions
            .iter()
            .map(|at| {
                let old_row = old.get(at).cloned().ok_or_else(moved)?;
                let new_row = match (pair(at), patches.get(at)) {
                    (Some(place), _) => Some(new.get(&place).map(|(row, _)| row.clone()).ok_or_else(moved)?),
                    (None, Some(values)) => {
                        let mut row = old_row.clone();
                        patched.iter().zip(values).for_each(|(column, value)| row[*column] = value.clone());
                        Some(row)
                    }
                    // Equal in every cell.
                    (None, None) => (effect == Effect::Unchanged).then(|| old_row.clone()),
                };
                Ok(EffectRow { old: Some(old_row), new: new_row, last_version: data.version })
            })
            .collect()
    }

    /// Delivered rows in the table's columns, with the cells that clauses read.
    async fn delivered_rows(&self, places: &[Place]) -> Result<HashMap<Place, (Vec<Value>, Vec<Value>)>> {
        let mut rows = HashMap::new();
        if places.is_empty() {
            return Ok(rows);
        }
        let sides = &self.sides;
        sides.fetch.job.source.check_unchanged().await?;
        let wanted =
            Wanted { columns: sides.fetch.all_columns(), keys: false, cells: sides.roles.cells.source.clone() };
        let mut by_file: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        places.iter().for_each(|place| {
            by_file.entry(place.file()).or_default().insert(place.position());
        });
        for (file, positions) in by_file {
            let positions: Vec<u64> = positions.into_iter().collect();
            let mut batches = sides.fetch.delivered(file, &wanted, Some(&positions), &WHOLE).await?;
            while let Some(delivered) = batches.try_next().await? {
                for (row, position) in delivered.positions.iter().enumerate() {
                    let values = delivered.batch.columns().iter().map(|c| value_at(c.as_ref(), row)).collect();
                    let cells = delivered.cells.iter().map(|c| value_at(c.as_ref(), row)).collect();
                    rows.insert(Place::new(file, *position)?, (values, cells));
                }
            }
        }
        Ok(rows)
    }

    /// Delivered rows: by partition, then by file and place.
    async fn read_delivered(
        &self,
        verdicts: &Verdicts,
        effect: Effect,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<EffectRow>> {
        let sides = &self.sides;
        let places = lock(&self.delivered).page(sides, verdicts, effect, offset, limit)?;
        let rows = self.delivered_rows(&places).await?;
        let inserts: Vec<&Insert> = sides.rules[self.rule].inserts().collect();
        places
            .iter()
            .map(|place| {
                let (values, cells) = rows.get(place).ok_or_else(moved)?;
                let build = verdicts.of_source(*place).build.filter(|_| effect == Effect::Inserted);
                let new = match build.and_then(|number| inserts.get(usize::from(number))) {
                    Some(Insert::Built(columns)) => built(columns, &sides.roles, cells)?,
                    Some(Insert::Delivered) | None => values.clone(),
                };
                Ok(EffectRow { old: None, new: Some(new), last_version: None })
            })
            .collect()
    }

    fn total(&self, effect: Effect) -> u64 {
        let pick = |e: &crate::plan::Effects| match effect {
            Effect::Inserted => e.inserted,
            Effect::Updated => e.updated,
            Effect::Unchanged => e.unchanged,
            Effect::Deleted => e.deleted,
            Effect::Zombies => e.zombies,
            Effect::Kept => e.kept,
            Effect::Ignored => e.ignored,
        };
        let unplaced = if effect == Effect::Ignored { self.summary.unplaced } else { 0 };
        unplaced + self.summary.partitions.iter().map(|p| pick(&p.effects)).sum::<u64>()
    }
}

fn moved() -> Error {
    Error::new(ErrorKind::SourceChanged, "a row is no longer where it was when the plan was made")
        .hint("Make a new plan.")
}

impl Classified for LocalClassified {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn count(&self, effect: Effect) -> u64 {
        self.total(effect)
    }

    fn page(&self, effect: Effect, offset: u64, limit: usize) -> BoxFuture<'_, Result<Vec<EffectRow>>> {
        self.read(effect, offset, limit).boxed()
    }

    fn stage(&self, operation: Uuid, progress: Progress) -> BoxFuture<'_, Result<Staged>> {
        super::stage::stage(self, operation, progress).boxed()
    }
}
