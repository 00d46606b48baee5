//! Engines carry out the plan algebra: classify rows, page through them, stage
//! files, read them back.
//!
//! One engine is here, [`local`]: Parquet read directly, rows narrowed to
//! hashes. The trait is what another (Spark Connect) will implement.

pub mod local;

pub use local::Spilling;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::error::Result;
use crate::gate::Evidence;
use crate::lake::Snapshot;
use crate::lake::commit::StagedFile;
use crate::plan::clauses::KeyPair;
use crate::plan::view::SourceView;
use crate::plan::{Effect, Effects, KeyFacts, OutputShape, RowRule};
use crate::progress::Progress;
use crate::source::{Matching, Source};
use crate::table::number::Sum;
use crate::table::{DataFile, Metadata, PartitionTuple, Value};

/// Row rules over one source and one pinned table; both are read once.
#[derive(Clone)]
pub struct RowJob {
    pub snapshot: Snapshot,
    pub source: Source,
    /// Complete: a job is only made where every column was matched.
    pub matching: Matching,
    pub view: SourceView,
    pub rules: Vec<RowRule>,
    /// Empty: rows are identified by all of their cells.
    pub key: Vec<KeyPair>,
    /// The table's columns as they are compared, where they are not the
    /// snapshot's. Such a job is never staged.
    pub metadata: Option<Metadata>,
    /// Only these of the table's live files; `None`: all.
    pub files: Option<Vec<DataFile>>,
    pub exact_cells: bool,
    pub spilling: Spilling,
    /// How files are cut, where the job is staged.
    pub output: OutputShape,
    pub ignore: Vec<String>,
    pub measures: Vec<String>,
    /// (column, whether the config names it)
    pub grain: Vec<(String, bool)>,
    pub seed: u64,
}

impl RowJob {
    /// All rows of both, as they are: nothing is left out, computed or summed.
    /// `sides`: the table's snapshot and the source.
    pub fn of(
        sides: (Snapshot, Source),
        matching: Matching,
        key: Vec<KeyPair>,
        rules: Vec<RowRule>,
        spilling: Spilling,
        seed: u64,
    ) -> RowJob {
        RowJob {
            snapshot: sides.0,
            source: sides.1,
            matching,
            view: SourceView::default(),
            rules,
            key,
            metadata: None,
            files: None,
            exact_cells: false,
            spilling,
            output: OutputShape::default(),
            ignore: Vec::new(),
            measures: Vec::new(),
            grain: Vec::new(),
            seed,
        }
    }
}

/// What a rule does, in numbers, with the means to look at the rows and to
/// stage them.
pub trait Classified: Send + Sync {
    fn summary(&self) -> &Summary;

    /// How many rows have an effect.
    fn count(&self, effect: Effect) -> u64;

    /// Rows of one effect, by partition, then by place.
    fn page(&self, effect: Effect, offset: u64, limit: usize) -> BoxFuture<'_, Result<Vec<EffectRow>>>;

    /// Writes the data files that the rule leads to, named by the operation's
    /// id. Nothing is in the log yet; on any error what was written is removed.
    fn stage(&self, operation: uuid::Uuid, progress: Progress) -> BoxFuture<'_, Result<Staged>>;
}

pub trait Engine: Send + Sync {
    fn name(&self) -> &'static str;

    /// One result for each of the job's rules, in their order.
    fn classify(&self, job: RowJob, progress: Progress) -> BoxFuture<'_, Result<Vec<Arc<dyn Classified>>>>;
}

/// Everything that a plan says about rows.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Sorted by typed value; those that the source delivers and those that
    /// rows leave.
    pub partitions: Vec<PartitionSummary>,
    pub source_rows: u64,
    /// Delivered rows that mean nothing, such as before-images.
    pub excluded: u64,
    /// Delivered rows that nothing used and whose partition the source does not tell.
    pub unplaced: u64,
    /// Delivered rows for which the predicate of a replace-where is not true.
    pub outside: u64,
    pub outside_examples: Vec<String>,
    pub slice_before: u64,
    /// `None` where the log lacks `numRecords` outside the slice.
    pub table_before: Option<u64>,
    pub keys: KeyFacts,
    pub evidence: Evidence,
    /// Target rows that several source rows match.
    pub ambiguous: u64,
    pub ambiguous_examples: Vec<String>,
    /// NULLs among the delivered values of columns that must not be NULL.
    pub not_null: Vec<(String, u64)>,
    /// Rows that would be written against what the table demands of each row.
    pub broken: Vec<Broken>,
    pub removed: Vec<DataFile>,
    pub rows_rewritten_unchanged: u64,
    pub table_partitions: u64,
    pub table_files: u64,
    /// Partitions that the table will have.
    pub partitions_after: u64,
}

/// A demand of the table that rows of a plan break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Such as `CHECK constraint positive (v > 0)`.
    pub demand: String,
    /// Whether it is a NULL where none may be.
    pub is_null: bool,
    pub rows: u64,
    /// The cells of one of the rows that matter, for people.
    pub example: Option<String>,
}

#[derive(Debug, Clone)]
pub struct PartitionSummary {
    pub values: PartitionTuple,
    /// Whether the source delivers it.
    pub in_slice: bool,
    pub effects: Effects,
    pub files_before: u64,
    pub bytes_before: u64,
    /// (column, before, after)
    pub measures: Vec<(String, Sum, Sum)>,
    pub written: RowSet,
}

/// A multiset of rows: how many, and the wrapping sum of their mixed hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowSet {
    pub rows: u64,
    pub checksum: u128,
}

impl RowSet {
    pub fn add(&mut self, mixed: u128) {
        self.rows += 1;
        self.checksum = self.checksum.wrapping_add(mixed);
    }
}

#[derive(Debug, Clone)]
pub struct EffectRow {
    pub old: Option<Vec<Value>>,
    pub new: Option<Vec<Value>>,
    pub last_version: Option<u64>,
}

/// Files that were written but are not yet in the log.
#[derive(Debug, Clone, Default)]
pub struct Staged {
    pub files: Vec<StagedFile>,
    /// Files of the change data feed, where the commit needs them.
    pub changes: Vec<StagedFile>,
    pub partitions: BTreeMap<PartitionTuple, RowSet>,
    /// Wrapping sums of cell hashes, per column of the schema.
    pub columns: Vec<u128>,
}
