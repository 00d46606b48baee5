//! One candidate: its partitions from the log, a sample or an exact pass, its
//! bytes, and what the queries read.

use std::collections::HashMap;

use super::queries::{self, Rows};
use super::{Subject, index_of, live_partitions};
use crate::engine::local::whatif::{Counted, Grouping, Sample, count, encode, sample};
use crate::error::Result;
use crate::plan::layouts::{
    ByteRange, Candidate, Group, LayoutBy, Numbers, Origin, QueryRead, distinct_estimate, simulate,
};
use crate::progress::Progress;
use crate::table::PartitionTuple;

/// Stored bytes of whole rows that are encoded for a measurement.
const MEASURED_BYTES: u64 = 32 << 20;

impl Subject<'_> {
    pub(super) async fn evaluate(
        &self,
        by: &LayoutBy,
        origin: Origin,
        sample: &Sample,
        exact: bool,
        progress: &Progress,
    ) -> Result<Candidate> {
        if origin == Origin::Today {
            return self.today(by);
        }
        let metadata = self.table.metadata();
        let grouping = Grouping::new(by, &metadata.schema)?;
        let partitioned: Vec<usize> =
            metadata.partition_columns.iter().filter_map(|c| metadata.schema.index_of(c)).collect();
        // Partition values alone decide: the log is enough.
        let from_log = grouping.inputs().iter().all(|c| partitioned.contains(c));
        let cost = self.costs.under(metadata, &grouping).await?;
        let estimate = |rows: u64| cost.bytes(rows, self.limits.target_file_bytes);
        let (numbers, queries) = if exact || from_log {
            let counted = self.count(&grouping, progress).await?;
            let groups: Vec<(PartitionTuple, u64)> = sorted(counted.rows);
            let (bytes, total) = match exact {
                true => self.measure(&grouping, by, &groups, progress).await?,
                false => {
                    let bytes: Vec<u64> = groups.iter().map(|(_, rows)| estimate(*rows)).collect();
                    let total = ByteRange::exactly(bytes.iter().sum(), false);
                    (bytes, total)
                }
            };
            let of: HashMap<&PartitionTuple, u64> = groups.iter().map(|(t, _)| t).zip(bytes.iter().copied()).collect();
            let queries = self.queries_on(&grouping, by, sample, &|tuple, rows| {
                of.get(tuple).copied().unwrap_or_else(|| estimate(rows))
            })?;
            let groups: Vec<Group> = groups
                .iter()
                .zip(&bytes)
                .map(|((values, rows), bytes)| Group { values: values.clone(), rows: *rows, bytes: *bytes })
                .collect();
            let mut numbers = simulate(&groups, 0, (0, 0), &self.limits);
            numbers.at_least = counted.stopped;
            numbers.exact = !counted.stopped;
            numbers.bytes_after = total;
            (numbers, queries)
        } else {
            let (numbers, tuples) = self.estimated(&grouping, sample, &estimate)?;
            let queries = self.queries_on(&grouping, by, sample, &|tuple, rows| {
                tuples.get(tuple).copied().unwrap_or_else(|| estimate(rows))
            })?;
            (numbers, queries)
        };
        let numbers = Numbers { rewrite_bytes: self.bytes(), ..numbers };
        let mut candidate = Candidate::new(by.clone(), origin, numbers, &self.limits);
        candidate.queries = queries;
        Ok(candidate)
    }

    /// Today's layout, from the log: real files, real sizes.
    fn today(&self, by: &LayoutBy) -> Result<Candidate> {
        let metadata = self.table.metadata();
        let mut groups = Vec::new();
        let live = |at: &usize| self.rows[*at].saturating_sub(self.files[*at].deleted_rows());
        for (values, files) in live_partitions(&self.files) {
            let rows = files.iter().map(live).sum();
            let bytes = files.iter().map(|at| self.files[*at].size).sum();
            groups.push(Group { values: values.clone(), rows, bytes });
        }
        let small = self.files.iter().filter(|f| f.size < self.limits.small_file_bytes).count() as u64;
        let numbers = Numbers {
            files: self.files.len() as u64,
            small_files: small,
            bytes_after: ByteRange::exactly(self.bytes(), true),
            ..simulate(&groups, 0, (0, 0), &self.limits)
        };
        let mut candidate = Candidate::new(by.clone(), Origin::Today, numbers, &self.limits);
        candidate.queries = queries::today(&self.files, metadata, &self.queries)?;
        Ok(candidate)
    }

    async fn count(&self, grouping: &Grouping, progress: &Progress) -> Result<Counted> {
        let most = usize::try_from(self.limits.max_partitions.saturating_mul(10)).unwrap_or(usize::MAX);
        count(self.table.snapshot(), &self.files, grouping, most.max(100_000), progress).await
    }

    /// Partitions as the sample shows them; also each one's bytes.
    fn estimated(
        &self,
        grouping: &Grouping,
        sample: &Sample,
        estimate: &dyn Fn(u64) -> u64,
    ) -> Result<(Numbers, HashMap<PartitionTuple, u64>)> {
        let rows = Rows::new(sample, self.table.metadata());
        let (numbers, groups) = rows.grouped(grouping)?;
        let mut counts = vec![0_u64; groups.tuples.len()];
        numbers.iter().for_each(|number| counts[*number as usize] += 1);
        let weight = sample.weight();
        let once = counts.iter().filter(|n| **n == 1).count() as u64;
        let distinct = distinct_estimate(sample.total, sample.rows, counts.len() as u64, once);
        let found: Vec<Group> = groups
            .tuples
            .into_iter()
            .zip(counts)
            .map(|(values, n)| {
                let rows = (n as f64 * weight).round() as u64;
                Group { values, rows, bytes: estimate(rows) }
            })
            .collect();
        let unseen = distinct.saturating_sub(found.len() as u64);
        // A partition that the sample missed has fewer rows than one of its rows stands for.
        let rows = ((weight / 2.0) as u64).max(1);
        let other = (rows, estimate(rows));
        let mut numbers = simulate(&found, unseen, other, &self.limits);
        numbers.exact = sample.is_whole();
        Ok((numbers, found.into_iter().map(|g| (g.values, g.bytes)).collect()))
    }

    /// Encodes whole rows in the new order. Gives each partition's bytes.
    async fn measure(
        &self,
        grouping: &Grouping,
        by: &LayoutBy,
        groups: &[(PartitionTuple, u64)],
        progress: &Progress,
    ) -> Result<(Vec<u64>, ByteRange)> {
        let metadata = self.table.metadata();
        let columns: Vec<usize> = (0..metadata.schema.fields.len()).collect();
        let rows: u64 = self.rows.iter().sum();
        let wanted = match self.bytes() {
            bytes if bytes <= MEASURED_BYTES => rows,
            bytes => (u128::from(rows) * u128::from(MEASURED_BYTES) / u128::from(bytes)) as u64,
        };
        let snapshot = self.table.snapshot();
        let whole = sample(snapshot, &self.files, &self.rows, &columns, wanted.max(1), progress).await?;
        let sort = by.sort_by.iter().map(|c| index_of(metadata, c)).collect::<Result<Vec<_>>>()?;
        let encoded = encode(metadata, grouping, &sort, &whole, groups, progress).await?;
        Ok((encoded.bytes, encoded.total))
    }

    /// What the queries read under a layout; `bytes` gives a partition's size by
    /// its values and its rows in the sample's scale.
    fn queries_on(
        &self,
        grouping: &Grouping,
        by: &LayoutBy,
        sample: &Sample,
        bytes: &dyn Fn(&PartitionTuple, u64) -> u64,
    ) -> Result<Vec<QueryRead>> {
        if self.queries.is_empty() {
            return Ok(Vec::new());
        }
        let rows = Rows::new(sample, self.table.metadata());
        let (numbers, groups) = rows.grouped(grouping)?;
        let mut counts = vec![0_u64; groups.tuples.len()];
        numbers.iter().for_each(|number| counts[*number as usize] += 1);
        let sizes: Vec<u64> = groups
            .tuples
            .iter()
            .zip(&counts)
            .map(|(tuple, n)| bytes(tuple, (*n as f64 * sample.weight()).round() as u64))
            .collect();
        rows.simulated(&numbers, &sizes, &by.sort_by, &self.queries, &self.limits)
    }
}

fn sorted(rows: HashMap<PartitionTuple, u64>) -> Vec<(PartitionTuple, u64)> {
    let mut list: Vec<(PartitionTuple, u64)> = rows.into_iter().collect();
    list.sort();
    list
}
