//! From what was asked to plans: the part of a job that calls the road of
//! every write.

use super::asked::Asked;
use super::msg::{Changes, Compared};
use crate::error::Result;
use crate::ops::keys::{KeyReport, KeyRequest, diagnose_keys};
use crate::ops::prepare::EffectRows;
use crate::ops::{self, At, Context, DiffRequest, OpenTable, Prepared, SourceProfile, SourceRequest, Strategy};
use crate::plan::Spec;
use crate::progress::Progress;

/// Handles to the rows behind plans, by plan id.
pub type Handles = Vec<(String, EffectRows)>;

/// Plans what was asked at the table's newest version.
///
/// # Errors
/// `Usage` for a statement, a condition or a column that cannot be taken;
/// whatever keeps the source or the table from being read.
pub async fn compare(
    context: &Context,
    location: &str,
    asked: &Asked,
    progress: &Progress,
) -> Result<(Compared, Handles)> {
    let mut table = OpenTable::open(context, location, At::Latest).await?;
    // What the form says holds before what the config says, also where it is empty.
    let known = &mut table.settings.known;
    known.key = asked.key.clone();
    known.ignore = asked.ignore.clone();
    known.measures = asked.measures.clone();
    known.grain = asked.grain.clone();
    if asked.pasted.is_some() {
        return statement(context, &table, asked, progress).await;
    }
    let comparison = ops::compare(context, &table, &asked.request(), progress).await?;
    let mut compared = Compared::from(&comparison);
    let mut prepared: Vec<Prepared> = comparison.strategies.into_iter().map(|(_, prepared)| prepared).collect();
    if let Some(predicate) = &asked.replace {
        let strategy = Strategy::ReplaceWhere { predicate: predicate.clone() };
        let one = ops::prepare(context, &table, &asked.request(), strategy, progress).await?;
        let at = after_overwrite(&compared);
        if let Some(best) = compared.recommended.as_mut().filter(|best| **best >= at) {
            *best += 1;
        }
        compared.plans.insert(at, one.plan.clone());
        compared.evidence.insert(at, one.evidence());
        prepared.insert(at, one);
    }
    Ok((compared, handles(prepared)))
}

/// Compares two versions of a table, by the config's key for it.
///
/// # Errors
/// `MissingFiles` where files of an old version are gone; whatever keeps the
/// versions from being compared.
pub async fn changes(
    context: &Context,
    location: &str,
    from: u64,
    to: u64,
    progress: &Progress,
) -> Result<(Changes, EffectRows)> {
    let from = OpenTable::open(context, location, At::Version(from)).await?;
    let to = OpenTable::open(context, location, At::Version(to)).await?;
    let diff = ops::diff(context, &from, &to, &DiffRequest::default(), progress).await?;
    Ok((Changes::from(&diff), diff.effect_rows))
}

async fn statement(
    context: &Context,
    table: &OpenTable,
    asked: &Asked,
    progress: &Progress,
) -> Result<(Compared, Handles)> {
    let (sql, bindings, mode) = match &asked.pasted {
        Some(pasted) => (pasted.sql.as_str(), pasted.bindings.as_slice(), pasted.mode),
        None => ("", &[][..], None),
    };
    let (request, strategy) = ops::from_statement(table, sql, bindings, mode, asked.request()).await?;
    let prepared = ops::prepare(context, table, &request, strategy, progress).await?;
    let compared = Compared {
        because: prepared.plan.advice.first().cloned().unwrap_or_default(),
        plans: vec![prepared.plan.clone()],
        evidence: vec![prepared.evidence()],
        recommended: None,
        delivery: None,
        technical: None,
    };
    Ok((compared, handles(vec![prepared])))
}

/// Where a plan of one's own goes: behind the overwrites.
fn after_overwrite(compared: &Compared) -> usize {
    let is_overwrite = |spec: &Spec| matches!(spec, Spec::Overwrite(_) | Spec::ReplaceWhere(_));
    compared.plans.iter().rposition(|plan| is_overwrite(&plan.spec)).map_or(compared.plans.len(), |at| at + 1)
}

fn handles(prepared: Vec<Prepared>) -> Handles {
    prepared.into_iter().filter_map(|p| Some((p.plan.id, p.rows?))).collect()
}

/// What a source's own columns say about how it delivers.
///
/// # Errors
/// Whatever keeps the source from being read.
pub async fn profile(
    context: &Context,
    location: &str,
    source: String,
    key: Vec<String>,
    progress: &Progress,
) -> Result<SourceProfile> {
    let mut table = OpenTable::open(context, location, At::Latest).await?;
    table.settings.known.key = key.clone();
    let request = SourceRequest { source, key, ..SourceRequest::default() };
    ops::profile_source(&table, &request, progress).await
}

/// Groups that are shown of each finding about a key.
const GROUPS: usize = 5;

/// # Errors
/// `Usage` for a column that a side lacks; whatever keeps a side from being read.
pub async fn keys(
    context: &Context,
    location: &str,
    source: Option<String>,
    key: Vec<String>,
    progress: &Progress,
) -> Result<KeyReport> {
    let mut table = OpenTable::open(context, location, At::Latest).await?;
    // An empty field asks for candidates, whatever the config says.
    table.settings.known.key = key.clone();
    let request = KeyRequest { source, key, filter: None, limit: GROUPS };
    diagnose_keys(context, &table, &request, progress).await
}
