//! From a layout that is wished for to its numbers: the part of a job that asks
//! the simulation.

use super::screens::layouts::Row;
use super::wish::Wish;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{self, Context, LayoutReport, LayoutRequest, OpenTable};
use crate::plan::layouts::{Candidate, Group, Limits, Numbers, Origin, simulate};
use crate::progress::Progress;

/// The proposed layouts of a table, and a person's own.
///
/// # Errors
/// `Usage` for a query or an expression that does not fit the table; whatever
/// keeps it from being read.
pub async fn layouts(
    context: &Context,
    table: &OpenTable,
    queries: &[String],
    own: &[Wish],
    progress: &Progress,
) -> Result<(LayoutReport, Vec<Row>)> {
    let request = LayoutRequest { queries: queries.to_vec(), ..LayoutRequest::default() };
    let report = ops::layouts(context, table, &request, progress).await?;
    let mut rows = Vec::with_capacity(own.len());
    for wish in own {
        progress.check()?;
        rows.push(one(context, table, wish, queries, false, progress).await?);
    }
    Ok((report, rows))
}

/// One layout: estimated, or counted exactly together with the writers of the
/// history that it would break.
///
/// # Errors
/// As [`layouts`].
pub async fn one(
    context: &Context,
    table: &OpenTable,
    wish: &Wish,
    queries: &[String],
    exact: bool,
    progress: &Progress,
) -> Result<Row> {
    let mut table = table.clone();
    let limits = wish.limits(&table.settings.layout);
    table.settings.layout = limits.clone();
    let by = wish.simulated();
    let candidate = if by == ops::layouts::today(table.metadata()) {
        same_columns(&table, wish, &limits, progress).await?
    } else if exact {
        ops::exact_layout(context, &table, &by, queries, progress).await?
    } else {
        let request = LayoutRequest { by: vec![by.clone()], queries: queries.to_vec(), exact: false };
        let report = ops::layouts(context, &table, &request, progress).await?;
        let given = report.candidates.into_iter().find(|c| c.origin == Origin::Given);
        given.ok_or_else(|| Error::new(ErrorKind::Internal, "the layout was not among those that were tried"))?
    };
    let breakers = match exact {
        true => Some(ops::breakers(&table, &by, progress).await?),
        false => None,
    };
    Ok(Row { candidate: wish.settle(candidate, &limits), wish: wish.clone(), breakers })
}

/// Today's partitions with other files in them: the log knows all but the bytes
/// of the new files, for which today's stand.
async fn same_columns(table: &OpenTable, wish: &Wish, limits: &Limits, progress: &Progress) -> Result<Candidate> {
    let partitions = table.partitions(false, progress, &mut |_| {}).await?;
    let known = partitions.iter().all(|p| p.rows.exact().is_some());
    let groups: Vec<Group> =
        partitions.into_iter().map(|p| Group { values: p.values, rows: p.rows.known, bytes: p.bytes }).collect();
    let simulated = simulate(&groups, 0, (0, 0), limits);
    let numbers = Numbers { exact: known, rewrite_bytes: groups.iter().map(|g| g.bytes).sum(), ..simulated };
    Ok(Candidate::new(wish.simulated(), Origin::Given, numbers, limits))
}
