//! Commits, as the log tells them.

use serde_json::{Map, Value as Json};

use super::partition::PartitionTuple;

/// One version of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub version: u64,
    /// milliseconds since the epoch: the in-commit timestamp where the table
    /// has them, else the log entry's modification time
    pub timestamp: i64,
    /// `commitInfo` as it stands, where the commit has one.
    pub info: Option<Map<String, Json>>,
    /// Partitions that data-changing actions of this commit touched. Of one
    /// layout, but of two where the commit changed the partition columns.
    pub touched: Vec<Touched>,
    /// Whether its partition columns are others than those before it.
    pub switches: bool,
    pub added: FileChange,
    pub removed: FileChange,
    pub changes_metadata: bool,
    pub changes_protocol: bool,
    /// Whether the version can still be read; `None` where that was not asked.
    pub restorable: Option<Restorable>,
    /// Milliseconds since the epoch: from then on VACUUM may take a file that
    /// the version needs, or its own entry may leave the log. `None` where
    /// neither happens, where the version is gone already, and where nobody
    /// asked.
    pub restorable_until: Option<i64>,
}

/// Some partitions of one layout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Touched {
    /// The partition columns, in partitioning order.
    pub columns: Vec<String>,
    /// Sorted; values of `columns`.
    pub partitions: Vec<PartitionTuple>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileChange {
    pub files: u64,
    pub bytes: u64,
    /// `None` where a file has no `numRecords`.
    pub rows: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restorable {
    Yes,
    /// So many of its data files are gone.
    FilesGone(u64),
    /// Its log entries are gone.
    LogGone,
}

impl Commit {
    /// The partitions that it touched, by names that they had then.
    pub fn partitions(&self) -> impl Iterator<Item = (&[String], &PartitionTuple)> {
        self.touched.iter().flat_map(|t| t.partitions.iter().map(move |tuple| (t.columns.as_slice(), tuple)))
    }

    /// Those of a layout with these partition columns.
    pub fn partitions_of(&self, columns: &[String]) -> impl Iterator<Item = &PartitionTuple> {
        self.touched.iter().filter(move |t| t.columns == columns).flat_map(|t| &t.partitions)
    }

    /// The log's own word for the operation (WRITE, MERGE, RESTORE).
    pub fn operation(&self) -> Option<&str> {
        self.info.as_ref()?.get("operation")?.as_str()
    }

    pub fn info_text(&self, key: &str) -> Option<&str> {
        self.info.as_ref()?.get(key)?.as_str()
    }

    pub fn info_object(&self, key: &str) -> Option<&Map<String, Json>> {
        self.info.as_ref()?.get(key)?.as_object()
    }

    /// The id of the partwise operation that made this commit.
    pub fn operation_id(&self) -> Option<&str> {
        self.info_object("partwise")?.get("id")?.as_str()
    }

    /// A parameter's text; Spark stores every parameter as a string.
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.info_object("operationParameters")?.get(key)?.as_str()
    }

    /// Our word for what the commit was, for people.
    pub fn label(&self) -> String {
        if let Some(own) = self.info_object("partwise").and_then(|p| p.get("operation")).and_then(Json::as_str) {
            return own.to_owned();
        }
        let Some(operation) = self.operation() else {
            return "(no commit info)".into();
        };
        match (operation, self.parameter("mode")) {
            ("WRITE", Some("Overwrite")) if self.parameter("predicate").is_some_and(|p| !p.is_empty() && p != "[]") => {
                "replace where".into()
            }
            ("WRITE", Some("Overwrite")) if self.parameter("isDynamicPartitionOverwrite") == Some("true") => {
                "overwrite (dynamic)".into()
            }
            ("WRITE", Some("Overwrite")) => "overwrite".into(),
            ("WRITE", Some("Append")) | ("STREAMING UPDATE", _) => "append".into(),
            ("CREATE TABLE" | "CREATE TABLE AS SELECT" | "CREATE OR REPLACE TABLE", _) => "create".into(),
            _ => operation.to_lowercase(),
        }
    }

    /// Rows added less rows removed; `None` where the log does not tell.
    pub fn row_change(&self) -> Option<i64> {
        let added = i64::try_from(self.added.rows?).ok()?;
        Some(added - i64::try_from(self.removed.rows?).ok()?)
    }
}
