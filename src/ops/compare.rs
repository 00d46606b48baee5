//! Every strategy for one source, side by side.

use serde::Serialize;

use super::browse::OpenTable;
use super::context::Context;
use super::delivery;
use super::prepare::{Prepared, SourceRequest, prepare_all};
use super::profile;
use super::strategy::Strategy;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::advice::{self, Delivery};
use crate::plan::technical::TechnicalProposal;
use crate::progress::Progress;
use crate::source::Source;

/// The strategies in the order in which screens show them:
/// MERGE, MERGE with delete, overwrite.
#[derive(Clone)]
pub struct Comparison {
    pub strategies: Vec<(&'static str, Prepared)>,
    /// An index into `strategies`.
    pub recommended: Option<usize>,
    pub because: String,
    pub delivery: Delivery,
    /// Columns that hide which rows really changed; for `--ignore`.
    pub technical: Option<TechnicalProposal>,
}

/// What `compare --json` prints.
#[derive(Debug, Serialize)]
pub struct ComparisonJson<'a> {
    pub strategies: Vec<&'a crate::plan::Plan>,
    pub recommended: Option<&'static str>,
    pub because: &'a str,
    pub delivery: &'a Delivery,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub technical: Option<&'a TechnicalProposal>,
}

impl Comparison {
    pub fn to_json(&self) -> ComparisonJson<'_> {
        ComparisonJson {
            strategies: self.strategies.iter().map(|(_, p)| &p.plan).collect(),
            recommended: self.recommended.map(|i| self.strategies[i].1.plan.spec.operation()),
            because: &self.because,
            delivery: &self.delivery,
            technical: self.technical.as_ref(),
        }
    }
}

/// # Errors
/// Whatever keeps the source or the table from being read. Without a key only
/// the overwrite is planned.
pub async fn compare(
    _context: &Context,
    table: &OpenTable,
    request: &SourceRequest,
    progress: &Progress,
) -> Result<Comparison> {
    const MERGE: Strategy = Strategy::Merge { null_safe_keys: false, delete_missing: false };
    const MERGE_DELETE: Strategy = Strategy::Merge { null_safe_keys: false, delete_missing: true };
    let source = Source::open(&request.source).await?;
    let request = &profile::resolve(table, &source, request, progress).await?;
    let keyed = !request.key.is_empty() || !table.settings.known.key.is_empty();
    if !keyed {
        let overwrite = one(prepare_all(table, &source, request, &[Strategy::Overwrite], progress).await?)?;
        let because = "Without a key rows can only be counted as a multiset; give one to compare with a MERGE.".into();
        let (facts, technical) = delivery::facts(table, &source, request, &overwrite, progress).await?;
        let delivery = advice::delivery(&overwrite.plan, &facts);
        let strategies = vec![("overwrite", overwrite)];
        return Ok(Comparison { strategies, recommended: None, because, delivery, technical });
    }
    let plans = prepare_all(table, &source, request, &[MERGE, MERGE_DELETE, Strategy::Overwrite], progress).await?;
    let strategies: Vec<(&'static str, Prepared)> =
        ["MERGE", "MERGE+delete", "overwrite"].into_iter().zip(plans).collect();
    let (merge, overwrite) = (&strategies[0].1, &strategies[2].1);
    let (facts, technical) = delivery::facts(table, &source, request, overwrite, progress).await?;
    let delivery = advice::delivery(&overwrite.plan, &facts);
    let (recommended, because) = advice::recommend(&delivery, &overwrite.plan, &merge.plan);
    let recommended = recommended.and_then(|name| strategies.iter().position(|(_, p)| p.plan.operation == name));
    Ok(Comparison { strategies, recommended, because, delivery, technical })
}

fn one(plans: Vec<Prepared>) -> Result<Prepared> {
    plans.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Internal, "one strategy gave no plan"))
}
