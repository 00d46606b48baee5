//! Finding tables below a root.

use tokio::sync::mpsc;

use super::context::Context;
use crate::error::Result;
use crate::table::partition::{PartitionStats, RowCount};

/// One table, as the lake screen lists it.
#[derive(Debug, Clone)]
pub struct TableSummary {
    /// The path below the root, or the table's own name.
    pub name: String,
    /// What opens it again.
    pub location: String,
    pub facts: std::result::Result<SummaryFacts, String>,
}

#[derive(Debug, Clone)]
pub struct SummaryFacts {
    pub version: u64,
    pub rows: RowCount,
    pub bytes: u64,
    pub files: u64,
    pub partition_columns: Vec<String>,
    pub partitions: Vec<PartitionStats>,
    /// milliseconds since the epoch
    pub last_commit: i64,
    /// The log's word for the newest commit.
    pub last_operation: Option<String>,
    /// Dates between the first and the last partition that have none.
    pub gaps: Vec<String>,
}

/// Walks a folder and sends each table that it finds; first by name alone
/// (`facts` = `Err("")` while they are read), then with its facts.
///
/// # Errors
/// `NotATable` where the root does not exist.
pub async fn find_tables(_context: &Context, _root: &str, _found: mpsc::Sender<TableSummary>) -> Result<()> {
    todo!()
}
