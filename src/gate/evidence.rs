//! Facts that gates need beside the plan's own numbers.

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
