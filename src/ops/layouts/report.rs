//! The what-if's result, as both faces show it.

use serde::Serialize;

use crate::plan::layouts::Candidate;
use crate::plan::layouts::breakers::Breaker;

/// Rows that were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sampled {
    pub rows: u64,
    pub of: u64,
}

impl Sampled {
    pub fn is_whole(self) -> bool {
        self.rows >= self.of
    }
}

/// Layouts of a table, side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayoutReport {
    pub table: String,
    pub version: u64,
    pub partition_columns: Vec<String>,
    pub rows: u64,
    pub files: u64,
    pub bytes: u64,
    pub sampled: Sampled,
    /// The queries, in the order of each candidate's `queries`.
    pub queries: Vec<String>,
    /// Today's layout first.
    pub candidates: Vec<Candidate>,
    /// An index into `candidates`; `None`: leave the table as it is.
    pub recommended: Option<usize>,
    pub because: String,
    pub advice: Vec<String>,
    /// What a switch to the given layout would break; of several, for the first.
    pub breakers: Vec<Breaker>,
}
