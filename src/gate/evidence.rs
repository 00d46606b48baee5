//! Facts that gates need beside the plan's own numbers.

use crate::table::PartitionTuple;

/// Gathered by the engine while it classifies rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Values of grain columns, per column.
    pub groups: Vec<GroupFacts>,
    /// Source rows with NULL in a partition column.
    pub null_partition_rows: u64,
    /// Source rows with the empty string in a partition column.
    pub empty_partition_rows: u64,
    /// Whether the search for keys outside the slice ran.
    pub elsewhere_searched: bool,
    /// Some keys that live elsewhere, with the partition, for people.
    pub elsewhere_examples: Vec<String>,
    pub applied_before: AppliedBefore,
    /// Keys that the source has more than once, some of them.
    pub duplicate_examples: Vec<String>,
    /// Delivered partitions that the table does not have.
    pub new_partitions: Vec<PartitionTuple>,
    /// The table's partitions; only where there are new ones.
    pub known_partitions: Vec<PartitionTuple>,
    /// The control total that was given: rows that the source must have.
    pub expected_rows: Option<u64>,
    /// Key columns of a floating-point type.
    pub float_keys: Vec<String>,
    /// `None` where nobody looked for keys that only look different.
    pub near_duplicates: Option<NearDuplicates>,
    /// Days of date columns on both sides, per column; empty where they were
    /// not counted.
    pub grain: Vec<GrainFacts>,
    /// Whether the source delivers its partitions whole, judged from the data;
    /// `None` where that is unknown.
    pub delivery_full_slice: Option<bool>,
    /// A column of the source that says what became of each row, as change
    /// feeds and delta extracts have one.
    pub operation_column: Option<String>,
    /// Per partition of the plan; empty where nobody looked.
    pub row_history: Vec<PartitionHistory>,
    /// `None` where nothing is staged, and where the store does not tell.
    pub space: Option<Space>,
    /// `None` for anything but an undo by rows.
    pub later_changes: Option<LaterChanges>,
}

/// A partition's rows after the last commits that changed its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionHistory {
    /// As [`crate::plan::PlanPartition::label`] says it.
    pub label: String,
    /// Rows of the whole partition now; `None` where the log does not count them.
    pub now: Option<u64>,
    /// Newest first. Versions after which the rows are unknown are left out.
    pub versions: Vec<VersionRows>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VersionRows {
    pub version: u64,
    /// Live rows of the partition after it.
    pub rows: u64,
    /// Live rows before it, where the log counts them.
    pub before: Option<u64>,
}

/// Bytes on the file system of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// What staging takes, estimated.
    pub staged_bytes: u64,
    /// What a person without special rights can still write.
    pub free_bytes: u64,
}

/// Rows of an operation that later commits changed again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaterChanges {
    pub rows: u64,
    /// Some of them by their key, for people.
    pub examples: Vec<String>,
}

/// Source rows whose key has no equal in the slice, but one that reads the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NearDuplicates {
    /// Source rows with such a key.
    pub rows: u64,
    /// Some pairs with what tells them apart, for people: `"A1" and "a1 " (case, blanks)`.
    pub examples: Vec<String>,
}

/// How many days of one date or timestamp column each partition has on both
/// sides. Only partitions that are in the table and in the source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrainFacts {
    pub column: String,
    pub partitions: Vec<GrainPartition>,
    /// Partitions with more days than are counted, which are not listed.
    pub uncounted: u64,
}

/// NULL is no day. Counts are exact; a partition with more days than are
/// counted is not listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrainPartition {
    /// As [`crate::plan::PlanPartition::label`] says it.
    pub label: String,
    /// Days with rows in the source.
    pub source_days: u64,
    /// Days with rows in the table.
    pub target_days: u64,
    /// Days with rows in the table and none in the source.
    pub days_only_in_target: u64,
    /// Over all days, the rows that the table has more than the source.
    pub rows_lost: u64,
    /// Of them, those on days that the source does not hold at all.
    pub rows_lost_on_absent_days: u64,
}

/// Whether the same operation already committed this source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AppliedBefore {
    /// Not in any commit since the table was made.
    #[default]
    No,
    /// By this version, and it was not taken back since.
    Yes(u64),
    /// The log goes back to this version only; not in any commit since.
    NotSince(u64),
}

/// How often each value of one grain column occurs in the slice.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupFacts {
    pub column: String,
    /// Named in the config; otherwise a key column that repeats by itself.
    pub configured: bool,
    /// (value, rows in the slice now, rows in the source)
    pub values: Vec<(String, u64, u64)>,
    /// Too many values to be a group; `values` is then empty.
    pub overflow: bool,
}
