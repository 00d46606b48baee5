//! What a switch of partition columns would break, searched for in the table's
//! history and computed on its rows.

use std::collections::{BTreeMap, HashSet};

use super::browse::OpenTable;
use crate::engine::local::whatif::{Grouping, count};
use crate::error::{ErrorKind, Result};
use crate::lake::log::history;
use crate::lake::log::ledger::Ledger;
use crate::plan::layouts::breakers::{Breaker, BreakerKind, Collateral, WriterUse, judge, standing, writers};
use crate::plan::layouts::{ByColumn, LayoutBy};
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::table::{Commit, DataFile, Metadata, PartitionTuple};

/// Partitions that are followed; beyond, nothing is computed for a writer.
const MOST_PARTITIONS: usize = 1_000_000;
/// Applications that are named.
const MOST_APPLICATIONS: usize = 20;

/// Every writer of the table's history that the layout would break, streams,
/// and the change data feed; the newest first. Empty where the layout has
/// today's partition columns.
///
/// # Errors
/// `Usage` for a layout that does not fit the table; whatever is wrong with the
/// log or a data file.
pub async fn breakers(table: &OpenTable, by: &LayoutBy, progress: &Progress) -> Result<Vec<Breaker>> {
    let metadata = table.metadata();
    if by.columns.iter().map(|c| &c.name).eq(&metadata.partition_columns) {
        return Ok(Vec::new());
    }
    Grouping::new(by, &metadata.schema)?;
    let commits = history::read(table.snapshot(), false, progress).await?;
    let mut found = Vec::new();
    for mut writer in writers(&commits) {
        let collateral = match writer.kind {
            BreakerKind::DynamicOverwrite => {
                writer.wrote_on = wrote_on(table, writer.version).await?;
                collateral(table, by, &commits, &writer, progress).await?
            }
            _ => None,
        };
        writer.predicate_columns =
            writer.predicate.as_deref().and_then(|p| Predicate::parse(p).ok()).map(|p| p.columns());
        found.extend(judge(&writer, &metadata.partition_columns, by, collateral));
    }
    let applications = applications(table, progress).await?;
    found.extend(standing(&applications, metadata.flag("delta.enableChangeDataFeed")));
    Ok(found)
}

/// What coming back of another version's partition columns would break. Empty
/// where they are today's, and where they cannot be computed today.
///
/// # Errors
/// As [`breakers`].
pub(super) async fn breakers_back(table: &OpenTable, then: &Metadata, progress: &Progress) -> Result<Vec<Breaker>> {
    match layout_back(table.metadata(), then) {
        Some(by) => breakers(table, &by, progress).await,
        None => Ok(Vec::new()),
    }
}

/// Another version's partition columns over today's columns; `None` where one
/// of them is gone and cannot be computed.
pub(super) fn layout_back(now: &Metadata, then: &Metadata) -> Option<LayoutBy> {
    let column = |name: &String| {
        let expression = then.schema.field(name).and_then(|f| f.text("delta.generationExpression"));
        match (now.schema.field(name), expression) {
            (Some(_), _) => Some(ByColumn::plain(name)),
            (None, Some(expression)) => Some(ByColumn::computed(expression, name)),
            (None, None) => None,
        }
    };
    let columns = then.partition_columns.iter().map(column).collect::<Option<Vec<_>>>()?;
    Some(LayoutBy::of(columns))
}

/// The table's partition columns at a version, where they were others than
/// today's. Where the log does not reach back so far, they are taken for today's.
async fn wrote_on(table: &OpenTable, version: u64) -> Result<Option<Vec<String>>> {
    let then = match table.snapshot().at(version).await {
        Ok(then) => then.metadata().partition_columns.clone(),
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        Err(error) => {
            tracing::warn!(version, %error, "the partition columns of an old version cannot be read any more");
            return Ok(None);
        }
    };
    Ok((then != table.metadata().partition_columns).then_some(then))
}

/// Application transactions of other programs, each with its last version.
async fn applications(table: &OpenTable, progress: &Progress) -> Result<Vec<(String, u64)>> {
    let ledger = Ledger::read(table.snapshot(), progress).await?;
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for step in &ledger.steps {
        for application in step.applications.iter().filter(|a| !a.starts_with("partwise/")) {
            last.insert(application, step.version);
        }
    }
    let mut list: Vec<(String, u64)> = last.into_iter().map(|(a, v)| (a.to_owned(), v)).collect();
    list.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    list.truncate(MOST_APPLICATIONS);
    Ok(list)
}

/// What the writer's last overwrite would have deleted on the new layout.
/// `None` where that cannot be told any more.
async fn collateral(
    table: &OpenTable,
    by: &LayoutBy,
    commits: &[Commit],
    writer: &WriterUse,
    progress: &Progress,
) -> Result<Option<Collateral>> {
    let Some(commit) = commits.iter().find(|c| c.version == writer.version) else { return Ok(None) };
    let slice: HashSet<PartitionTuple> = commit.partitions_of(&table.metadata().partition_columns).cloned().collect();
    let known = match written(table, by, writer.version, &slice, progress).await {
        Ok(known) => known,
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        Err(error) => {
            tracing::warn!(version = writer.version, %error, "what an overwrite wrote cannot be read any more");
            None
        }
    };
    let Some((rows, targets)) = known else { return Ok(None) };
    let live = table.files(progress).await?;
    let metadata = table.metadata();
    let columns = writer.wrote_on.as_ref().unwrap_or(&metadata.partition_columns);
    if columns.iter().any(|c| metadata.schema.find(c).is_none()) {
        return Ok(None);
    }
    // What it replaced is no loss. On today's layout whole files say so.
    let others: Vec<DataFile> = match writer.wrote_on {
        None => live.into_iter().filter(|f| !slice.contains(&f.partition)).collect(),
        Some(_) => live,
    };
    let (both, at) = with_columns(by, columns);
    let grouping = Grouping::new(&both, &metadata.schema)?;
    let counted = count(table.snapshot(), &others, &grouping, MOST_PARTITIONS, progress).await?;
    if counted.stopped {
        return Ok(None);
    }
    let (mut lost, mut from) = (0, HashSet::new());
    for (tuple, rows) in counted.rows {
        let new = PartitionTuple(tuple.0[..by.columns.len()].to_vec());
        let old = PartitionTuple(at.iter().map(|i| tuple.0[*i].clone()).collect());
        if targets.contains(&new) && !slice.contains(&old) {
            lost += rows;
            from.insert(old);
        }
    }
    Ok(Some(Collateral { rows, partitions: targets.len() as u64, lost, lost_partitions: from.len() as u64 }))
}

/// Rows that a version wrote, and the partitions of the new layout that they
/// fall into. Where its files are gone: the rows that are in its slice today.
async fn written(
    table: &OpenTable,
    by: &LayoutBy,
    version: u64,
    slice: &HashSet<PartitionTuple>,
    progress: &Progress,
) -> Result<Option<(u64, HashSet<PartitionTuple>)>> {
    let then = table.snapshot().at(version).await?;
    let own: Vec<DataFile> = then.files(false).await?.into_iter().filter(|f| f.version == Some(version)).collect();
    let grouping = Grouping::new(by, &then.metadata().schema)?;
    let counted = match count(&then, &own, &grouping, MOST_PARTITIONS, progress).await {
        Err(error) if error.kind == ErrorKind::MissingFiles => {
            let live = table.files(progress).await?;
            // Under other partition columns than today's, nothing tells them apart.
            if then.metadata().partition_columns != table.metadata().partition_columns {
                return Ok(None);
            }
            let now: Vec<DataFile> = live.into_iter().filter(|f| slice.contains(&f.partition)).collect();
            let grouping = Grouping::new(by, &table.metadata().schema)?;
            count(table.snapshot(), &now, &grouping, MOST_PARTITIONS, progress).await?
        }
        other => other?,
    };
    if counted.stopped {
        return Ok(None);
    }
    Ok(Some((counted.rows.values().sum(), counted.rows.into_keys().collect())))
}

/// The new partition columns and others beside them, and where the others stand.
fn with_columns(by: &LayoutBy, others: &[String]) -> (LayoutBy, Vec<usize>) {
    let mut both = LayoutBy { columns: by.columns.clone(), sort_by: Vec::new() };
    let mut at = Vec::new();
    for name in others {
        match both.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)) {
            Some(there) => at.push(there),
            None => {
                at.push(both.columns.len());
                both.columns.push(ByColumn::plain(name.clone()));
            }
        }
    }
    (both, at)
}
