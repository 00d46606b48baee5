//! Undo: the inverse of one operation. It removes exactly the files that the
//! operation added and adds those that it removed; later commits elsewhere stay.

use serde::{Deserialize, Serialize};

use super::algebra::{Change, FileExchange};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The id of the operation that is taken back.
    pub undoes: String,
    /// The version that it committed.
    pub undoes_version: u64,
    pub files: FileExchange,
    /// Whether the metaData from before the operation is put back too.
    pub metadata: bool,
}

impl Undo {
    pub fn lower(&self) -> Change {
        Change::Files(self.files.clone())
    }

    pub fn commit_words(&self) -> (&'static str, Vec<(String, String)>) {
        // Spark has no word for it; RESTORE is what its history readers know
        // for "files come back", and our own object says which operation.
        (
            "RESTORE",
            vec![
                ("version".into(), self.undoes_version.saturating_sub(1).to_string()),
                ("undoes".into(), self.undoes.clone()),
            ],
        )
    }
}
