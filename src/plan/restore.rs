//! RESTORE: the whole table as it was at an earlier version, by the log alone.

use serde::{Deserialize, Serialize};

use super::algebra::{Change, FileExchange};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub to: u64,
    pub files: FileExchange,
    /// Whether the version's metaData is put back too.
    pub metadata: bool,
}

impl Restore {
    pub fn lower(&self) -> Change {
        Change::Files(self.files.clone())
    }

    pub fn commit_words(&self) -> (&'static str, Vec<(String, String)>) {
        ("RESTORE", vec![("version".into(), self.to.to_string()), ("timestamp".into(), String::new())])
    }
}
