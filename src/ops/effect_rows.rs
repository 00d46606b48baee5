//! The rows behind a plan's numbers: pages of them, and which columns differ.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::Classified;
use crate::error::Result;
use crate::gate;
use crate::plan::Effect;
use crate::progress::Progress;
use crate::table::{Field, Schema, Value};

/// Pages through the rows of an effect by reading them again where they are.
#[derive(Clone)]
pub struct EffectRows {
    classified: Arc<dyn Classified>,
    /// The columns that rows have, in their order.
    schema: Arc<Schema>,
    /// What the plan was judged by, once it was.
    judged_by: Option<Arc<gate::Evidence>>,
}

#[derive(Debug, Clone, Default)]
pub struct DiffPage {
    pub columns: Vec<String>,
    pub rows: Vec<DiffRow>,
    /// Rows of this effect in all.
    pub total: u64,
}

#[derive(Debug, Clone)]
pub struct DiffRow {
    pub effect: Effect,
    /// Values of `columns` in the table now; `None` for an insert.
    pub old: Option<Vec<Value>>,
    /// Values as delivered; `None` for a delete or a zombie.
    pub new: Option<Vec<Value>>,
    /// Columns whose values differ.
    pub changed: Vec<usize>,
    /// The commit that last wrote the old row's file, where the log tells.
    pub last_version: Option<u64>,
}

/// In how many updated rows each column differs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnChanges {
    pub updated: u64,
    /// The first so many updated rows, in page order, were counted; where that
    /// is all of them the counts are exact.
    pub looked_at: u64,
    /// Columns that differ in some row, with the number of those rows, in the
    /// table's order.
    pub columns: Vec<(String, u64)>,
    /// Rows by the set of their columns that differ.
    sets: HashMap<Vec<usize>, u64>,
    names: Vec<String>,
}

impl ColumnChanges {
    /// More sets than this are not told apart.
    const MOST_SETS: usize = 4096;

    pub fn is_exact(&self) -> bool {
        self.looked_at == self.updated
    }

    /// Rows, of those that were looked at, that differ in nothing but these
    /// columns; rather too few where rows differ in very many ways.
    pub fn only(&self, these: &[String]) -> u64 {
        let within = |set: &[usize]| set.iter().all(|i| self.names.get(*i).is_some_and(|name| these.contains(name)));
        self.sets.iter().filter(|(set, _)| within(set)).map(|(_, rows)| rows).sum()
    }

    fn add(&mut self, changed: Vec<usize>, counts: &mut [u64]) {
        self.looked_at += 1;
        changed.iter().for_each(|column| counts[*column] += 1);
        if let Some(rows) = self.sets.get_mut(&changed) {
            *rows += 1;
        } else if self.sets.len() < Self::MOST_SETS {
            self.sets.insert(changed, 1);
        }
    }
}

/// Rows that are read at a time where all are gone through; what bounds memory.
pub(super) const CHUNK: usize = 8192;

impl EffectRows {
    pub(super) fn new(classified: Arc<dyn Classified>, schema: Schema) -> Self {
        Self { classified, schema: Arc::new(schema), judged_by: None }
    }

    /// What the engine found, and once the plan was judged everything that it
    /// was judged by.
    pub fn evidence(&self) -> &gate::Evidence {
        self.judged_by.as_deref().unwrap_or_else(|| &self.classified.summary().evidence)
    }

    pub(super) fn judge_by(&mut self, evidence: gate::Evidence) {
        self.judged_by = Some(Arc::new(evidence));
    }

    pub(super) fn fields(&self) -> &[Field] {
        &self.schema.fields
    }

    /// How often each value of a grain column occurs in the slice and the source.
    pub(super) fn groups(&self) -> &[gate::evidence::GroupFacts] {
        &self.classified.summary().evidence.groups
    }

    /// Rows of an effect in all.
    pub fn count(&self, effect: Effect) -> u64 {
        self.classified.count(effect)
    }

    /// Rows `offset..offset + limit` of one effect, ordered by partition, then
    /// by their place in the table or the source.
    ///
    /// # Errors
    /// `SourceChanged` where the source is no longer what was planned.
    pub async fn page(&self, effect: Effect, offset: u64, limit: usize) -> Result<DiffPage> {
        let rows = self.classified.page(effect, offset, limit).await?;
        let rows = rows.into_iter().map(|row| DiffRow {
            effect,
            changed: match (&row.old, &row.new) {
                (Some(old), Some(new)) => (0..old.len()).filter(|i| old[*i] != new[*i]).collect(),
                _ => Vec::new(),
            },
            old: row.old,
            new: row.new,
            last_version: row.last_version,
        });
        let columns = self.schema.names().map(str::to_owned).collect();
        Ok(DiffPage { columns, rows: rows.collect(), total: self.count(effect) })
    }

    /// In how many of the first `limit` updated rows each column differs.
    ///
    /// # Errors
    /// As [`EffectRows::page`]; `Cancelled`.
    pub async fn changes(&self, limit: u64, progress: &Progress) -> Result<ColumnChanges> {
        let names: Vec<String> = self.schema.names().map(str::to_owned).collect();
        let mut counts = vec![0u64; names.len()];
        let mut changes = ColumnChanges { updated: self.count(Effect::Updated), names, ..ColumnChanges::default() };
        while changes.looked_at < limit.min(changes.updated) {
            progress.check()?;
            let rest = usize::try_from(limit - changes.looked_at).unwrap_or(usize::MAX);
            let page = self.page(Effect::Updated, changes.looked_at, rest.min(CHUNK)).await?;
            if page.rows.is_empty() {
                break;
            }
            page.rows.into_iter().for_each(|row| changes.add(row.changed, &mut counts));
        }
        let named = changes.names.iter().cloned().zip(counts);
        changes.columns = named.filter(|(_, rows)| *rows > 0).collect();
        Ok(changes)
    }
}
