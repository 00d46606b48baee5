//! Every strategy for one source, side by side.

use serde::Serialize;

use super::browse::OpenTable;
use super::context::Context;
use super::prepare::{Prepared, SourceRequest};
use crate::error::Result;
use crate::plan::advice::Delivery;
use crate::progress::Progress;

/// The strategies in the order in which screens show them:
/// MERGE, MERGE with delete, overwrite.
#[derive(Clone)]
pub struct Comparison {
    pub strategies: Vec<(&'static str, Prepared)>,
    /// An index into `strategies`.
    pub recommended: Option<usize>,
    pub because: String,
    pub delivery: Delivery,
}

/// What `compare --json` prints.
#[derive(Debug, Serialize)]
pub struct ComparisonJson<'a> {
    pub strategies: Vec<&'a crate::plan::Plan>,
    pub recommended: Option<&'static str>,
    pub because: &'a str,
    pub delivery: &'a Delivery,
}

impl Comparison {
    pub fn to_json(&self) -> ComparisonJson<'_> {
        ComparisonJson {
            strategies: self.strategies.iter().map(|(_, p)| &p.plan).collect(),
            recommended: self.recommended.map(|i| self.strategies[i].1.plan.spec.operation()),
            because: &self.because,
            delivery: &self.delivery,
        }
    }
}

/// # Errors
/// Whatever keeps the source or the table from being read. Without a key only
/// the overwrite is planned.
pub async fn compare(
    _context: &Context,
    _table: &OpenTable,
    _request: &SourceRequest,
    _progress: &Progress,
) -> Result<Comparison> {
    todo!()
}
