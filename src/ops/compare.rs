//! Every strategy for one source, side by side.

use serde::Serialize;

use super::browse::OpenTable;
use super::context::Context;
use super::prepare::{Judged, Prepared, SourceRequest, prepare_all};
use super::profile;
use super::strategy::Strategy;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::advice::{self, Delivery};
use crate::plan::delivery::DeliveryFacts;
use crate::plan::technical::TechnicalProposal;
use crate::progress::Progress;
use crate::source::Source;

/// The strategies in the order in which screens show them: MERGE, MERGE with
/// delete, overwrite, replace where (for a stated slice), insert only, append.
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
    let source = Source::open(&request.source).await?;
    let request = &profile::resolve(table, &source, request, progress).await?;
    let keyed = !request.key.is_empty() || !table.settings.known.key.is_empty();
    let strategies = strategies(keyed, request.slice.as_deref());
    let plans = prepare_all(table, &source, request, &strategies, Judged::WithTechnical, progress).await?;
    let strategies: Vec<(&'static str, Prepared)> =
        strategies.iter().map(Strategy::title).zip(plans.prepared).collect();
    let named = |name: &str| strategies.iter().find(|(title, _)| *title == name).map(|(_, prepared)| &prepared.plan);
    let overwrite = named(OVERWRITE).ok_or_else(|| Error::new(ErrorKind::Internal, "no overwrite was planned"))?;
    let (delivery, technical) = match plans.delivery {
        Some(known) => known,
        // Refused before rows were compared.
        None => (advice::delivery(overwrite, &DeliveryFacts::default()), None),
    };
    let (recommended, because) = match named(MERGE) {
        Some(merge) => advice::recommend(&delivery, overwrite, merge),
        None => {
            (None, "Without a key rows can only be counted as a multiset; give one to compare with a MERGE.".to_owned())
        }
    };
    let recommended = recommended.and_then(|name| strategies.iter().position(|(_, p)| p.plan.operation == name));
    Ok(Comparison { strategies, recommended, because, delivery, technical })
}

const MERGE: &str = "MERGE";
const OVERWRITE: &str = "overwrite";

/// The strategies that are compared. Without a key only the overwrite can be
/// told from the others.
fn strategies(keyed: bool, slice: Option<&str>) -> Vec<Strategy> {
    if !keyed {
        return vec![Strategy::Overwrite];
    }
    let merge = |delete_missing| Strategy::Merge { null_safe_keys: false, delete_missing };
    let mut all = vec![merge(false), merge(true), Strategy::Overwrite];
    all.extend(slice.map(|predicate| Strategy::ReplaceWhere { predicate: predicate.to_owned() }));
    all.extend([Strategy::InsertOnly { null_safe_keys: false }, Strategy::Append]);
    all
}
