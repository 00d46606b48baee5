//! Plans: what an operation will do to one table at one pinned version.
//!
//! A [`Plan`] is a serialisable value. The command line prints it, the screens
//! draw it, gates judge it, the engine carries it out, the journal keeps it.
//! Pure: no storage, no engine, no terminal.

pub mod advice;
pub mod algebra;
pub mod append;
pub mod arithmetic;
pub mod clauses;
pub mod delivery;
pub mod describe;
pub mod effect;
pub mod key_candidates;
pub mod kinds;
pub mod layouts;
pub mod measures;
pub mod merge;
pub mod near_keys;
pub mod operations;
pub mod optimize;
pub mod output;
pub mod overwrite;
pub mod relayout;
pub mod repartition;
pub mod replace_where;
pub mod restore;
pub mod scd2;
pub mod script;
pub mod slice;
pub mod technical;
pub mod undo;
pub mod vacuum;
pub mod view;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub use algebra::{Change, Pairing, Reach, RowRule};
pub use clauses::{Clauses, On};
pub use effect::{Effect, Effects};
pub use kinds::{Kind, Spec};
pub use output::OutputShape;
pub use slice::Role;

use crate::error::ErrorKind;
use crate::table::partition::PartitionTuple;
use crate::table::schema::PrimitiveType;
use crate::table::value::Value;

/// The schema number of the JSON object below.
pub const PLAN_SCHEMA: u32 = 1;

/// The contract's plan object. Counts are rows unless a name says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub schema: u32,
    /// A UUID; the commit, the staged files' names and the journal carry it.
    pub id: String,
    pub operation: String,
    pub spec: Spec,
    /// Where the table is, as a URL or path that opens it again.
    pub table: String,
    pub table_id: String,
    /// The version that every number below was computed at.
    pub version: u64,
    pub engine: String,
    /// RFC 3339, UTC
    pub created_at: String,
    pub partition_columns: Vec<String>,
    pub source: Option<SourceFacts>,
    #[serde(default)]
    pub key: Vec<String>,
    /// The partitions that the operation may touch, in words.
    pub slice: Option<String>,
    pub rows: RowTotals,
    pub keys: KeyFacts,
    /// What the plan touches or was asked for, sorted by typed value.
    pub partitions: Vec<PlanPartition>,
    /// Partitions of the table that stay as they are, also those of the role
    /// `left`.
    #[serde(default)]
    pub untouched_partitions: u64,
    pub files: FileTotals,
    pub layout: LayoutChange,
    #[serde(default)]
    pub gates: Vec<GateResult>,
    pub verdict: Verdict,
    #[serde(default)]
    pub advice: Vec<String>,
    /// Whether rows were compared; where not, the numbers of rows say nothing.
    #[serde(default = "yes")]
    pub compared: bool,
    /// What was said about the source's columns before anything else.
    #[serde(default)]
    pub findings: Vec<String>,
    /// Refusals: what cannot be overridden, with the kind of the error.
    #[serde(default)]
    pub refusals: Vec<Refusal>,
    /// What changes besides rows: schema, properties, partition columns.
    #[serde(default)]
    pub metadata_changes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Ready,
    Blocked,
    NoOp,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Ready => "ready",
            Verdict::Blocked => "blocked",
            Verdict::NoOp => "no-op",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub kind: ErrorKind,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What was delivered, pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFacts {
    pub uri: String,
    /// `parquet` or `delta`
    pub format: String,
    pub files: u64,
    /// Changes whenever the source's bytes may have changed.
    pub fingerprint: String,
    /// A digest of the bytes alone, where a second run must not repeat them: a
    /// file that was copied or touched is still the same delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowTotals {
    pub source: u64,
    pub slice_before: u64,
    pub slice_after: u64,
    /// `None` where the log lacks `numRecords` for files outside the slice.
    pub table_before: Option<u64>,
    pub table_after: Option<u64>,
    pub inserted: u64,
    /// `None` for an overwrite without a key: rows are then a multiset.
    pub updated: Option<u64>,
    pub unchanged: u64,
    pub deleted: u64,
    pub zombies: u64,
    pub kept: u64,
    pub ignored: u64,
    pub moved: u64,
    pub touched_only: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SidePair {
    pub source: u64,
    pub target: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyFacts {
    /// Rows beyond the first of each key.
    pub duplicates: SidePair,
    /// Rows with a NULL in the key.
    pub nulls: SidePair,
    /// Source rows whose key lives in a partition outside the slice; `None`
    /// where no key was given or the scan was skipped.
    pub elsewhere: Option<u64>,
    /// Source rows whose key is in the reachable target.
    pub existing: u64,
    /// Some duplicated keys, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanPartition {
    pub values: Map<String, Json>,
    /// Whether it was meant to be delivered, and was.
    #[serde(default)]
    pub role: Role,
    /// The same values as the log would write them: what `apply` goes by.
    pub raw: Vec<Option<String>>,
    pub before: u64,
    pub source: u64,
    pub after: u64,
    pub inserted: u64,
    pub updated: Option<u64>,
    pub unchanged: u64,
    pub deleted: u64,
    pub zombies: u64,
    #[serde(default)]
    pub kept: u64,
    #[serde(default)]
    pub ignored: u64,
    pub moved_in: u64,
    pub moved_out: u64,
    pub files_before: u64,
    pub bytes_before: u64,
    #[serde(default)]
    pub measures: Map<String, Json>,
    /// Rows that apply will write into this partition, and their checksum:
    /// what staging and verification are held to.
    #[serde(default)]
    pub written: Written,
}

/// Rows and an order-independent checksum of them (sum over rows of a mixed
/// 128-bit row hash, seeded per plan), as hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Written {
    pub rows: u64,
    pub checksum: String,
}

fn yes() -> bool {
    true
}

impl PlanPartition {
    /// The typed values, given the partition columns' types.
    pub fn tuple(&self, types: &[PrimitiveType]) -> Option<PartitionTuple> {
        let values: Option<Vec<Value>> =
            self.raw.iter().zip(types).map(|(text, t)| Value::parse_partition(text.as_deref(), t)).collect();
        values.map(PartitionTuple)
    }

    /// `fiscal_period=2026006`, for lists.
    pub fn label(&self) -> String {
        if self.values.is_empty() {
            return "(whole table)".into();
        }
        let parts: Vec<String> = self
            .values
            .iter()
            .map(|(column, value)| {
                let shown = match value {
                    Json::Null => "∅".to_owned(),
                    Json::String(s) if s.is_empty() => "\"\"".to_owned(),
                    Json::String(s) => crate::table::value::escape_controls(s),
                    other => other.to_string(),
                };
                format!("{column}={shown}")
            })
            .collect();
        parts.join("/")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileTotals {
    pub removed: u64,
    pub removed_bytes: u64,
    /// Files that come back (undo and restore).
    #[serde(default)]
    pub restored: u64,
    /// Rows written although they stay as they are: unchanged matches, and
    /// rows that only share a file with a changed one.
    pub rows_rewritten_unchanged: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LayoutChange {
    pub before: Layout,
    pub after: Layout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Layout {
    pub partitions: u64,
    /// `None` where it is only known once the files are staged.
    pub files: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateStatus {
    Pass,
    Warn,
    Fail,
}

impl GateStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            GateStatus::Pass => "pass",
            GateStatus::Warn => "warn",
            GateStatus::Fail => "fail",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    pub name: String,
    pub status: GateStatus,
    pub observed: Json,
    pub threshold: String,
    pub message: String,
    pub partitions: Vec<Map<String, Json>>,
    /// The reason with which a failure was overridden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overridden: Option<String>,
}

impl Plan {
    /// A plan with nothing in it yet, not even its table.
    pub fn blank(spec: Spec) -> Plan {
        Plan {
            schema: PLAN_SCHEMA,
            id: String::new(),
            operation: spec.operation().into(),
            key: spec.rows().map(|r| r.key.clone()).unwrap_or_default(),
            spec,
            table: String::new(),
            table_id: String::new(),
            version: 0,
            engine: String::new(),
            created_at: String::new(),
            partition_columns: Vec::new(),
            source: None,
            slice: None,
            rows: RowTotals::default(),
            keys: KeyFacts::default(),
            partitions: Vec::new(),
            untouched_partitions: 0,
            files: FileTotals::default(),
            layout: LayoutChange::default(),
            gates: Vec::new(),
            verdict: Verdict::Blocked,
            advice: Vec::new(),
            findings: Vec::new(),
            refusals: Vec::new(),
            metadata_changes: Vec::new(),
            compared: true,
        }
    }

    /// Gates that failed and were not overridden.
    pub fn blocking(&self) -> Vec<&GateResult> {
        self.gates.iter().filter(|g| g.status == GateStatus::Fail && g.overridden.is_none()).collect()
    }

    /// Whether the plan would change a row, a file or the metadata. Rows that
    /// differ only in ignored columns do not count.
    pub fn changes_something(&self) -> bool {
        let r = &self.rows;
        let updated = r.updated.unwrap_or(0).saturating_sub(r.touched_only);
        let exchanges = match self.spec.lower() {
            Change::Files(files) => !files.remove.is_empty() || !files.add.is_empty(),
            Change::Layout(_) => self.files.removed > 0,
            Change::Vacuum(files) => !files.is_empty(),
            Change::Rows(_) => false,
        };
        [r.inserted, updated, r.deleted].iter().any(|n| *n > 0) || exchanges || !self.metadata_changes.is_empty()
    }

    /// Rows written for each row that is inserted, updated or deleted; `None`
    /// where none is.
    pub fn write_amplification(&self) -> Option<f64> {
        let r = &self.rows;
        let changed = u128::from(r.inserted) + u128::from(r.updated.unwrap_or(0)) + u128::from(r.deleted);
        let written: u128 = self.partitions.iter().map(|p| u128::from(p.written.rows)).sum();
        (changed > 0).then(|| written as f64 / changed as f64)
    }

    /// Whether a second run with the same source would change the table again.
    pub fn repeats(&self) -> bool {
        self.spec.kind().repeats(&self.keys)
    }

    /// Recomputes the verdict from refusals, gates and effects.
    pub fn settle(&mut self) {
        self.verdict = if !self.refusals.is_empty() || !self.blocking().is_empty() {
            Verdict::Blocked
        } else if self.changes_something() {
            Verdict::Ready
        } else {
            Verdict::NoOp
        };
    }
}
