//! A live data file of a snapshot.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::partition::PartitionTuple;
use super::value::{Value, lacks_zone, parse_timestamp};

/// Which rows of a data file are deleted (protocol, "Deletion Vectors").
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletionVector {
    /// `u`: a file named by a UUID, `i`: inline, `p`: an absolute path.
    pub storage_type: String,
    pub path_or_inline_dv: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    pub size_in_bytes: i64,
    pub cardinality: i64,
}

impl DeletionVector {
    /// The id that distinguishes logical files of the same path (protocol,
    /// "Action Reconciliation").
    pub fn unique_id(&self) -> String {
        match self.offset {
            Some(offset) => format!("{}{}@{offset}", self.storage_type, self.path_or_inline_dv),
            None => format!("{}{}", self.storage_type, self.path_or_inline_dv),
        }
    }
}

/// One `add` that is live in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// The path exactly as the log has it: still URL-encoded, never normalised,
    /// because a `remove` must repeat it byte for byte.
    pub path: String,
    pub partition: PartitionTuple,
    /// Partition values as the log has them, keyed by physical name.
    pub raw_partition_values: Vec<(String, Option<String>)>,
    pub size: u64,
    /// milliseconds since the epoch
    pub modified: i64,
    /// `numRecords`: rows in the file, before deletion vectors.
    pub num_records: Option<u64>,
    pub deletion_vector: Option<DeletionVector>,
    /// The commit that added it, where the log still tells.
    pub version: Option<u64>,
    /// Statistics and anything else of the action, kept where an operation
    /// may have to add the file again.
    pub rest: Option<Box<Map<String, Json>>>,
}

impl DataFile {
    /// Whether the log has a partition value of it without a zone: UTC is assumed.
    pub fn assumed_utc(&self) -> bool {
        let assumed = |at: i64| {
            let mut texts = self.raw_partition_values.iter().filter_map(|(_, text)| text.as_deref());
            texts.any(|text| lacks_zone(text) && parse_timestamp(text) == Some(at))
        };
        self.partition.0.iter().any(|value| matches!(value, Value::Timestamp(at) if assumed(*at)))
    }

    /// Rows that the deletion vector hides.
    pub fn deleted_rows(&self) -> u64 {
        self.deletion_vector.as_ref().map_or(0, |dv| u64::try_from(dv.cardinality).unwrap_or(0))
    }

    /// Rows that a reader sees; `None` where the log lacks `numRecords`.
    pub fn live_rows(&self) -> Option<u64> {
        self.num_records.map(|rows| rows.saturating_sub(self.deleted_rows()))
    }

    /// Path and deletion vector: the identity under which replay pairs adds and removes.
    pub fn id(&self) -> FileId {
        FileId {
            path: self.path.clone(),
            deletion_vector: self.deletion_vector.as_ref().map(DeletionVector::unique_id),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<String>,
}
