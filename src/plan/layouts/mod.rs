//! What a table would look like under another layout: partitions, files,
//! skew, and what saved queries would read. Arithmetic alone; the numbers come
//! from the log, from a sample, or from an exact pass.

pub mod advice;
pub mod breakers;
pub mod by;
pub mod limits;
pub mod numbers;
pub mod propose;

use serde::{Deserialize, Serialize};

pub use by::{ByColumn, LayoutBy};
pub use limits::Limits;
pub use numbers::{ByteRange, FileCost, Group, Numbers, Spread, distinct_estimate, simulate};

/// Where a candidate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Today,
    Given,
    Proposed,
}

/// One layout and what it would mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub label: String,
    /// What `--by` takes for it.
    pub argument: String,
    pub by: LayoutBy,
    pub origin: Origin,
    pub numbers: Numbers,
    /// What each saved query would read, in the order of the queries.
    pub queries: Vec<QueryRead>,
    /// Why it is a poor choice, in words; empty for a sound one.
    pub concerns: Vec<String>,
}

/// Files that a query has to read, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueryRead {
    pub files: u64,
    pub bytes: u64,
    /// From the log's own statistics, not from simulated files.
    pub exact: bool,
}

impl Candidate {
    pub fn new(by: LayoutBy, origin: Origin, numbers: Numbers, limits: &Limits) -> Candidate {
        let concerns = advice::concerns(&by, &numbers, limits);
        Candidate { label: by.label(), argument: by.argument(), by, origin, numbers, queries: Vec::new(), concerns }
    }

    /// All queries together: files and bytes.
    pub fn reads(&self) -> QueryRead {
        self.queries.iter().fold(QueryRead { exact: true, ..QueryRead::default() }, |sum, q| QueryRead {
            files: sum.files + q.files,
            bytes: sum.bytes + q.bytes,
            exact: sum.exact && q.exact,
        })
    }
}
