//! The demo lake.

use std::path::{Path, PathBuf};

use crate::error::Result;

/// Where the demo's pieces are.
#[derive(Debug, Clone)]
pub struct DemoLake {
    pub root: PathBuf,
    /// The gold table of postings, partitioned by `fiscal_period`.
    pub gold: PathBuf,
    /// The full restatement of period 2026006.
    pub restatement: PathBuf,
    /// An incomplete extract that the gates stop.
    pub incomplete: PathBuf,
    /// The config with the tables' keys and grain columns.
    pub config: PathBuf,
}

/// Makes the lake in a folder that is empty or does not exist.
///
/// # Errors
/// `Refused` where the folder has something in it.
pub async fn make(_dir: &Path) -> Result<DemoLake> {
    todo!()
}
