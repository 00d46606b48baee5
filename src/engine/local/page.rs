//! Paging through the rows of an effect: indexes are kept, rows are read again
//! where they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use uuid::Uuid;

use super::classify::{Fate, LocalClassified, RowPairs};
use super::fetch::collect_rows;
use super::pair::NONE;
use crate::engine::{Classified, EffectRow, Staged, Summary};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Effect;
use crate::progress::Progress;
use crate::table::Value;

type Place = (usize, u64);

impl LocalClassified {
    /// The rows of one effect, by partition, then by place.
    fn rows_of(&self, effect: Effect) -> RowPairs {
        let mut cache = self.pages.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(rows) = cache.get(&effect) {
            return rows.clone();
        }
        let fate = match effect {
            Effect::Inserted => None,
            Effect::Updated => Some(Fate::Updated),
            Effect::Unchanged => Some(Fate::Unchanged),
            Effect::Deleted => Some(Fate::Deleted),
            Effect::Zombies => Some(Fate::Zombie),
        };
        let mut rows: Vec<(u32, u32)> = match fate {
            None => {
                (0..self.sides.source.len()).filter(|s| self.pairs.times[*s] == 0).map(|s| (NONE, s as u32)).collect()
            }
            Some(fate) => (0..self.reach_rows)
                .filter(|t| self.fates[*t] == fate)
                .map(|t| {
                    (
                        t as u32,
                        if matches!(fate, Fate::Updated | Fate::Unchanged) { self.pairs.source_of[t] } else { NONE },
                    )
                })
                .collect(),
        };
        let mut order: Vec<usize> = (0..self.sides.partitions.tuples.len()).collect();
        order.sort_by(|a, b| self.sides.partitions.tuples[*a].cmp(&self.sides.partitions.tuples[*b]));
        let mut rank = vec![0usize; order.len()];
        order.iter().enumerate().for_each(|(at, number)| rank[*number] = at);
        rows.sort_by_key(|(t, s)| {
            let number = if *s == NONE {
                self.sides.target.partition[*t as usize]
            } else {
                self.sides.source.partition[*s as usize]
            };
            (rank[number as usize], *t, *s)
        });
        let rows = Arc::new(rows);
        cache.insert(effect, rows.clone());
        rows
    }

    async fn read(&self, effect: Effect, offset: u64, limit: usize) -> Result<Vec<EffectRow>> {
        let rows = self.rows_of(effect);
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(rows.len());
        let page = &rows[start..rows.len().min(start.saturating_add(limit))];
        let place = |side: &super::side::Side, row: u32| (row != NONE).then(|| side.place(row as usize));
        let old: Vec<Option<Place>> = page.iter().map(|(t, _)| place(&self.sides.target, *t)).collect();
        let new: Vec<Option<Place>> = page.iter().map(|(_, s)| place(&self.sides.source, *s)).collect();
        let all = self.sides.fetch.all_columns();
        let mut old_rows: HashMap<Place, Vec<Value>> = HashMap::new();
        for (file, positions) in by_file(&old) {
            let batches = self.sides.fetch.target(&self.sides.files[file], &all, Some(&positions)).await?;
            old_rows.extend(collect_rows(batches).await?.into_iter().map(|(at, values)| ((file, at), values)));
        }
        let mut new_rows: HashMap<Place, Vec<Value>> = HashMap::new();
        if new.iter().any(Option::is_some) {
            self.sides.fetch.job.source.check_unchanged().await?;
        }
        for (file, positions) in by_file(&new) {
            let batches = self.sides.fetch.source(file, &all, Some(&positions)).await?;
            new_rows.extend(collect_rows(batches).await?.into_iter().map(|(at, values)| ((file, at), values)));
        }
        let find = |rows: &HashMap<Place, Vec<Value>>, at: &Option<Place>| match at {
            None => Ok(None),
            Some(place) => rows.get(place).cloned().map(Some).ok_or_else(|| {
                Error::new(ErrorKind::SourceChanged, "a row is no longer where it was when the plan was made")
            }),
        };
        old.iter()
            .zip(&new)
            .map(|(old, new)| {
                Ok(EffectRow {
                    last_version: old.and_then(|(file, _)| self.sides.files[file].version),
                    old: find(&old_rows, old)?,
                    new: find(&new_rows, new)?,
                })
            })
            .collect()
    }
}

fn by_file(places: &[Option<Place>]) -> BTreeMap<usize, Vec<u64>> {
    let mut files: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for (file, position) in places.iter().flatten() {
        files.entry(*file).or_default().insert(*position);
    }
    files.into_iter().map(|(file, positions)| (file, positions.into_iter().collect())).collect()
}

impl Classified for LocalClassified {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn count(&self, effect: Effect) -> u64 {
        self.rows_of(effect).len() as u64
    }

    fn page(&self, effect: Effect, offset: u64, limit: usize) -> BoxFuture<'_, Result<Vec<EffectRow>>> {
        self.read(effect, offset, limit).boxed()
    }

    fn stage(&self, operation: Uuid, progress: Progress) -> BoxFuture<'_, Result<Staged>> {
        super::stage::stage(self, operation, progress).boxed()
    }
}
