//! From a source and a table to a plan: match columns, classify rows, judge.

use super::browse::OpenTable;
use super::context::Context;
use crate::error::Result;
use crate::plan::{Effect, Plan};
use crate::progress::Progress;
use crate::table::Value;

/// What was delivered, and how its rows are identified.
#[derive(Debug, Clone, Default)]
pub struct SourceRequest {
    /// A Parquet file, folder or glob, or a Delta table.
    pub source: String,
    /// Empty: the config's key for the table, if it has one.
    pub key: Vec<String>,
    /// Technical columns; empty: the config's.
    pub ignore: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    Overwrite,
    Merge { null_safe_keys: bool, delete_missing: bool },
}

/// A plan and the rows behind its numbers. Cheap to clone.
#[derive(Clone)]
pub struct Prepared {
    pub plan: Plan,
    /// `None` where the plan was refused before rows were compared.
    pub rows: Option<EffectRows>,
}

/// Pages through the rows of an effect by reading them again where they are.
#[derive(Clone)]
pub struct EffectRows {}

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

impl EffectRows {
    /// Rows `offset..offset + limit` of one effect, ordered by partition, then
    /// by their place in the table or the source.
    ///
    /// # Errors
    /// `SourceChanged` where the source is no longer what was planned.
    pub async fn page(&self, _effect: Effect, _offset: u64, _limit: usize) -> Result<DiffPage> {
        todo!()
    }
}

/// Makes a plan. A refusal (missing column, duplicate matches, a feature that
/// cannot be written) is a blocked plan that names it, not an error.
///
/// # Errors
/// Whatever keeps the source or the table from being read.
pub async fn prepare(
    _context: &Context,
    _table: &OpenTable,
    _request: &SourceRequest,
    _strategy: Strategy,
    _progress: &Progress,
) -> Result<Prepared> {
    todo!()
}
