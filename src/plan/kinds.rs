//! The registry of plan kinds: one file and one line each.

use serde::{Deserialize, Serialize};

use super::algebra::Change;
use super::layouts::breakers::Breaker;
use super::output::OutputShape;
use super::view::SourceView;
use super::{
    KeyFacts, RowTotals, append, merge, optimize, overwrite, repartition, replace_where, restore, scd2, undo, vacuum,
};
use crate::table::features::WriteKind;

/// What a kind of plan says about itself. Everything else goes by the
/// [`Change`] that it lowers to.
pub trait Kind {
    /// The contract's word, also in the commit and the journal.
    fn operation(&self) -> &'static str;

    /// What screens call it, where that says more.
    fn title(&self) -> &'static str {
        self.operation()
    }

    fn lower(&self) -> Change;

    /// The column of the gate table that it falls in.
    fn class(&self) -> Class;

    fn write_kind(&self) -> WriteKind;

    /// Source, key and measures, for kinds that take delivered rows.
    fn rows(&self) -> Option<&RowSpec> {
        None
    }

    /// The older version whose files come back, and whether its metaData does too.
    fn brings_back(&self) -> Option<(u64, bool)> {
        None
    }

    /// Whether a second run with the same source would change the table again.
    fn repeats(&self, _keys: &KeyFacts) -> bool {
        false
    }

    /// The operation that it takes back.
    fn undoes(&self) -> Option<&str> {
        None
    }

    /// Whether the same rows only lie in other files: streams and change feeds
    /// then pass over its commit.
    fn keeps_rows(&self) -> bool {
        matches!(self.lower(), Change::Layout(_))
    }

    /// What would break on other partition columns; `None` where they stay.
    fn breakers(&self) -> Option<&[Breaker]> {
        None
    }

    /// The operation and parameters under Spark's names, for the commit.
    fn commit_words(&self, partition_columns: &[String]) -> (&'static str, Vec<(String, String)>);

    /// Metrics under Spark's names.
    fn metrics(&self, rows: &RowTotals, io: &Io) -> Vec<(&'static str, u64)>;
}

/// Which gates judge a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Delivered rows replace what is there: overwrite.
    Replace,
    Append,
    Merge,
    /// A MERGE that deletes what the source lacks: as dangerous as an overwrite
    /// where the extract is incomplete.
    MergeDelete,
    /// The same rows in other files: repartition, optimize.
    Layout,
    /// Files that the log knew before come back: restore, undo.
    Inverse,
}

impl Class {
    pub const ALL: [(Class, &'static str); 6] = [
        (Class::Replace, "overwrite, replace-where"),
        (Class::Append, "append"),
        (Class::Merge, "merge"),
        (Class::MergeDelete, "merge with delete"),
        (Class::Layout, "repartition, optimize"),
        (Class::Inverse, "restore, undo"),
    ];
}

/// What a commit read and wrote, for its metrics; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Io {
    pub written_files: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
    pub removed_files: u64,
    pub removed_bytes: u64,
    pub restored_files: u64,
    pub restored_bytes: u64,
    /// Rows that only share a file with a changed one.
    pub copied_rows: u64,
    /// Files of the change data feed.
    pub change_files: u64,
}

/// Makes the tagged enum of kinds and its dispatch from one list.
macro_rules! kinds {
    ($($variant:ident => $kind:ty,)*) => {
        /// What is enough, with the plan's table and version, to carry the plan out.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Spec {
            $($variant($kind),)*
        }

        impl Spec {
            pub fn kind(&self) -> &dyn Kind {
                match self {
                    $(Spec::$variant(kind) => kind,)*
                }
            }
        }
    };
}

kinds! {
    Overwrite => overwrite::Overwrite,
    ReplaceWhere => replace_where::ReplaceWhere,
    Append => append::Append,
    Merge => merge::Merge,
    Scd2 => scd2::Scd2,
    Repartition => repartition::Repartition,
    Optimize => optimize::Optimize,
    Restore => restore::Restore,
    RestoreRows => restore::RestoreRows,
    Undo => undo::Undo,
    UndoRows => undo::UndoRows,
    Vacuum => vacuum::Vacuum,
}

impl Spec {
    pub fn operation(&self) -> &'static str {
        self.kind().operation()
    }

    pub fn lower(&self) -> Change {
        self.kind().lower()
    }

    pub fn rows(&self) -> Option<&RowSpec> {
        self.kind().rows()
    }
}

/// What every kind with a row rule needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowSpec {
    /// Paths or a table that open the source again.
    pub source: String,
    pub key: Vec<String>,
    /// Technical columns: rows that differ only there count as unchanged for gates.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Columns that are summed.
    #[serde(default)]
    pub measures: Vec<String>,
    /// Which partitions were meant to be delivered: a predicate over the
    /// partition columns. `None`: those that occur in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// How the source's rows are looked at.
    #[serde(default, skip_serializing_if = "SourceView::is_plain")]
    pub view: SourceView,
    /// Into how many files the rows go.
    #[serde(default, skip_serializing_if = "OutputShape::is_default")]
    pub output: OutputShape,
    /// Compare every cell, not only its hash.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact_cells: bool,
    /// Seeds every hash of the plan, so that no data can be made to collide. A
    /// text in JSON: it is beyond 2^53.
    #[serde(with = "as_text")]
    pub hash_seed: u64,
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
