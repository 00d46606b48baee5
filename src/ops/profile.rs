//! What a source's own columns say about how it delivers: an operation column,
//! an order among rows of one key, technical columns.

use std::collections::HashMap;

use serde::Serialize;

use super::browse::OpenTable;
use super::prepare::{EffectRows, SourceRequest};
use crate::engine::local::key_scan::{Go, HashSet128, KeyCounter, KeySide, MOST_KEYS, column_hashes, key_hashes};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::value_at;
use crate::plan::operations::{
    MOST_CODES, Observed, OperationProposal, Recognised, companion, is_candidate, only_nullness, recognise,
};
use crate::plan::technical::{self, TechnicalProposal};
use crate::plan::view::OperationColumn;
use crate::progress::Progress;
use crate::source::Source;
use crate::table::{DataType, Field, PrimitiveType, Schema, Value};

/// What `profile_source` found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SourceProfile {
    /// The operation column to read, where one is understood. Columns that the
    /// table has too are data, not news about it, and are not proposed.
    pub operations: Option<OperationProposal>,
    /// Columns that look like operation columns and were not proposed: why not.
    pub not_understood: Vec<String>,
    /// Source rows beyond the first of each key; `None` without a key.
    pub repeated: Option<u64>,
    /// Columns that could say which row of a key is the latest, best first.
    pub latest_by: Vec<LatestBy>,
    /// Columns of the source that the table lacks and whose names are technical.
    pub technical: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatestBy {
    pub column: String,
    /// Rows of repeated keys that another row of their key ties with.
    pub ties: u64,
    /// To be taken: keys repeat, and no two rows of a key tie.
    pub proposed: bool,
}

/// Names in the flags that stand for "the one that the data shows".
pub const AUTO: &str = "auto";

/// Reads the candidate columns of a source, and its key where one is known.
///
/// # Errors
/// Whatever keeps the source from being read.
pub async fn profile_source(table: &OpenTable, request: &SourceRequest, progress: &Progress) -> Result<SourceProfile> {
    let source = Source::open(&request.source).await?;
    profile(table, &source, request, progress).await
}

pub(super) async fn profile(
    table: &OpenTable,
    source: &Source,
    request: &SourceRequest,
    progress: &Progress,
) -> Result<SourceProfile> {
    let side = KeySide::of_source(source);
    let schema = side.schema();
    let mut profile = SourceProfile::default();
    (profile.operations, profile.not_understood) = operation_columns(table, &side, progress).await?;
    let lacks = |field: &&Field| table.metadata().schema.find(&field.name).is_none();
    let technical = schema.fields.iter().filter(lacks).filter(|f| technical::is_technical_name(&f.name));
    profile.technical = technical.map(|f| f.name.clone()).collect();
    let key = if request.key.is_empty() { &table.settings.known.key } else { &request.key };
    let key: Option<Vec<usize>> = key.iter().map(|name| index(schema, name)).collect();
    // A key column that the source lacks is refused with its own words later.
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        order(&side, &key, &mut profile, progress).await?;
    }
    Ok(profile)
}

/// The source's operation column, where it has one that is understood.
pub(super) async fn operations(
    table: &OpenTable,
    source: &Source,
    progress: &Progress,
) -> Result<Option<OperationProposal>> {
    Ok(operation_columns(table, &KeySide::of_source(source), progress).await?.0)
}

/// The first column that is understood, and why the other candidates are not taken.
async fn operation_columns(
    table: &OpenTable,
    side: &KeySide,
    progress: &Progress,
) -> Result<(Option<OperationProposal>, Vec<String>)> {
    let (mut taken, mut others): (Option<OperationProposal>, Vec<String>) = (None, Vec::new());
    let lacks = |field: &&Field| table.metadata().schema.find(&field.name).is_none();
    for field in side.schema().fields.iter().filter(lacks).filter(|f| is_candidate(f)) {
        match (look(side, field, progress).await?, &taken) {
            (Some(Recognised::Proposal(found)), None) => taken = Some(found),
            // Codes say more than a mark of deletion beside them.
            (Some(Recognised::Proposal(found)), Some(first)) if first.soft_delete && !found.soft_delete => {
                others.push(format!("{} could be read too: {}", first.delivered, first.because));
                taken = Some(found);
            }
            (Some(Recognised::Proposal(found)), Some(_)) => {
                others.push(format!("{} could be read too: {}", found.delivered, found.because));
            }
            (Some(Recognised::NotUnderstood { because }), _) => others.push(because),
            (None, _) => {}
        }
    }
    Ok((taken, others))
}

fn index(schema: &Schema, name: &str) -> Option<usize> {
    schema.find(name).and_then(|f| schema.index_of(&f.name))
}

/// Counts the values of one candidate, at most [`MOST_CODES`] of them.
async fn look(side: &KeySide, field: &Field, progress: &Progress) -> Result<Option<Recognised>> {
    let schema = side.schema();
    let Some(column) = schema.index_of(&field.name) else { return Ok(None) };
    let beside = companion(&field.name, schema.names()).and_then(|name| schema.index_of(name));
    let columns: Vec<usize> = std::iter::once(column).chain(beside).collect();
    let nullness = only_nullness(&field.name);
    let mut seen: HashMap<(Value, Option<Value>), u64> = HashMap::new();
    let mut complete = true;
    side.scan(&columns, None, progress, &mut |scanned| {
        let batch = &scanned.batch;
        for row in 0..batch.num_rows() {
            let mut value = value_at(batch.column(0).as_ref(), row);
            if nullness && !value.is_null() {
                value = Value::Boolean(true);
            }
            let other = beside.map(|_| value_at(batch.column(1).as_ref(), row));
            let code = (value, other);
            if seen.len() == MOST_CODES && !seen.contains_key(&code) {
                complete = false;
                return Ok(Go::Stop);
            }
            *seen.entry(code).or_default() += 1;
        }
        Ok(Go::On)
    })
    .await?;
    let mut observed: Vec<Observed> =
        seen.into_iter().map(|((value, companion), rows)| Observed { value, companion, rows }).collect();
    observed.sort_by(|a, b| (&a.value, &a.companion).cmp(&(&b.value, &b.companion)));
    Ok(recognise(field, &observed, complete))
}

/// Whether keys repeat, and which columns tell the repeated rows apart.
async fn order(side: &KeySide, key: &[usize], profile: &mut SourceProfile, progress: &Progress) -> Result<()> {
    let places: Vec<usize> = (0..key.len()).collect();
    let mut counter = KeyCounter::new(MOST_KEYS);
    side.scan(key, None, progress, &mut |scanned| {
        key_hashes(&scanned.batch, &places)?.into_iter().for_each(|hash| counter.add(hash, 0));
        Ok(Go::On)
    })
    .await?;
    profile.repeated = Some(counter.duplicates().1);
    let mut candidates: Vec<(u8, usize)> = side
        .schema()
        .fields
        .iter()
        .enumerate()
        .filter(|(i, _)| !key.contains(i))
        .filter_map(|(i, field)| Some((order_rank(field)?, i)))
        .collect();
    candidates.sort_unstable();
    if candidates.is_empty() {
        return Ok(());
    }
    let mut columns = key.to_vec();
    columns.extend(candidates.iter().map(|(_, i)| *i));
    // Each repeated key with each value of a candidate; bounded like the keys.
    let mut pairs: Vec<HashSet128> = vec![HashSet128::default(); candidates.len()];
    let most = MOST_KEYS / candidates.len();
    let mut looked_at = 0u64;
    if counter.duplicates().0 > 0 {
        side.scan(&columns, None, progress, &mut |scanned| {
            let keys = key_hashes(&scanned.batch, &places)?;
            let repeated: Vec<usize> =
                (0..keys.len()).filter(|row| counter.get(keys[*row]).is_some_and(|tally| tally.rows > 1)).collect();
            looked_at += repeated.len() as u64;
            for (place, pairs) in pairs.iter_mut().enumerate() {
                let values = column_hashes(&scanned.batch, key.len() + place)?;
                pairs.extend(repeated.iter().map(|row| keys[*row].rotate_left(1).wrapping_add(values[*row])));
            }
            Ok(if looked_at as usize >= most { Go::Stop } else { Go::On })
        })
        .await?;
    }
    let ties = |pairs: &HashSet128| looked_at.saturating_sub(pairs.len() as u64);
    let mut found: Vec<LatestBy> = candidates
        .iter()
        .zip(&pairs)
        .map(|((_, i), pairs)| LatestBy {
            column: side.schema().fields[*i].name.clone(),
            ties: ties(pairs),
            proposed: false,
        })
        .collect();
    found.sort_by_key(|candidate| candidate.ties);
    if looked_at > 0
        && let Some(first) = found.first_mut()
    {
        first.proposed = first.ties == 0;
    }
    profile.latest_by = found;
    Ok(())
}

/// How likely a column orders the rows of a key, best first; `None`: it does not.
fn order_rank(field: &Field) -> Option<u8> {
    let DataType::Primitive(data_type) = &field.data_type else { return None };
    let lower = field.name.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let sequence = has(&["seq", "sequence", "lsn", "scn", "offset", "position", "pos", "seqval", "version", "ordinal"]);
    let change = has(&["updated", "changed", "modified", "commit", "change", "ts", "timestamp", "extracted", "event"]);
    use PrimitiveType::*;
    match data_type {
        Timestamp | TimestampNtz => Some(if sequence || change { 1 } else { 2 }),
        Long | Integer | Decimal { .. } if sequence => Some(0),
        // Milliseconds since the epoch.
        Long if change => Some(1),
        String | Binary if sequence => Some(1),
        Date if change => Some(3),
        _ => None,
    }
}

/// Fills in what a person left to the data: the column `auto`, and codes that
/// were not given.
///
/// # Errors
/// `Usage` where there is no such column, `BadSource` where a value of it is
/// not understood.
pub(super) async fn resolve(
    table: &OpenTable,
    source: &Source,
    request: &SourceRequest,
    progress: &Progress,
) -> Result<SourceRequest> {
    let mut request = request.clone();
    let Some(asked) = request.view.operations.clone().filter(|o| o.codes.is_empty()) else { return Ok(request) };
    let proposal = if asked.column == AUTO && index(source.schema(), AUTO).is_none() {
        let found = profile(table, source, &SourceRequest { key: Vec::new(), ..request.clone() }, progress).await?;
        found.operations.ok_or_else(|| {
            let why = found.not_understood.first().cloned();
            let columns: Vec<&str> = source.schema().names().collect();
            Error::new(ErrorKind::BadSource, why.unwrap_or_else(|| "the source has no operation column".into())).hint(
                format!("Name it with its codes: --operation-column COLUMN=D:delete,… It has {}.", columns.join(", ")),
            )
        })?
    } else {
        named(source, &asked, progress).await?
    };
    proposal.apply(&mut request.view);
    Ok(request)
}

/// The codes of a column that a person named.
async fn named(source: &Source, asked: &OperationColumn, progress: &Progress) -> Result<OperationProposal> {
    let side = KeySide::of_source(source);
    let schema = side.schema();
    let field = schema.find(&asked.column).ok_or_else(|| {
        let names: Vec<&str> = schema.names().collect();
        Error::new(ErrorKind::Usage, format!("the source has no column {}", asked.column))
            .hint(format!("It has {}.", names.join(", ")))
    })?;
    let codes = format!("Say what its codes mean: --operation-column {}=D:delete,U:upsert.", field.name);
    match look(&side, field, progress).await? {
        Some(Recognised::Proposal(proposal)) => Ok(proposal),
        Some(Recognised::NotUnderstood { because }) => Err(Error::new(ErrorKind::BadSource, because).hint(codes)),
        None => {
            Err(Error::new(ErrorKind::BadSource, format!("{} is no known operation column", field.name)).hint(codes))
        }
    }
}

/// Technical columns among those that updated rows differ in, from the first
/// `sample` updated rows. `None` where nothing was updated, or for a good reason.
///
/// # Errors
/// Whatever reading the rows again gives.
pub async fn technical_columns(
    rows: &EffectRows,
    sample: u64,
    progress: &Progress,
) -> Result<Option<TechnicalProposal>> {
    let changes = rows.changes(sample, progress).await?;
    Ok(technical::propose(&changes.columns, changes.looked_at, |these| changes.only(these)))
}
