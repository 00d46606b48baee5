//! The stated slice against the table: what role each partition of a plan has,
//! and what was asked for but is not in the source.

use std::collections::HashSet;

use super::browse::OpenTable;
use super::prepare::SourceRequest;
use super::rebase;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Evidence;
use crate::plan::slice::{StrayRule, assign, untouched};
use crate::plan::{Plan, PlanPartition};
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::table::schema::PrimitiveType;
use crate::table::{DataType, PartitionStats, PartitionTuple, Value};

/// One request's slice, for each of its plans. The table's partitions are read
/// once, and only where a plan needs them.
pub(super) struct Slices<'a> {
    table: &'a OpenTable,
    asked: Option<Predicate>,
    expected_rows: Option<u64>,
    known: Option<Vec<PartitionStats>>,
}

impl<'a> Slices<'a> {
    /// # Errors
    /// `Usage` for a predicate that cannot be read, or that names a column by
    /// which the table is not partitioned.
    pub fn new(table: &'a OpenTable, request: &SourceRequest) -> Result<Slices<'a>> {
        let asked = request.slice.as_deref().map(Predicate::parse).transpose()?;
        let columns = &table.metadata().partition_columns;
        for name in asked.iter().flat_map(Predicate::columns) {
            if columns.iter().any(|c| c.eq_ignore_ascii_case(&name)) {
                continue;
            }
            let error = Error::new(ErrorKind::Usage, format!("--slice names {name}, which is no partition column"));
            return Err(error.hint(match columns.is_empty() {
                true => "The table is not partitioned: leave --slice out.".to_owned(),
                false => format!("The table is partitioned by {}.", columns.join(", ")),
            }));
        }
        Ok(Slices { table, asked, expected_rows: request.expect_rows, known: None })
    }

    /// Fills in the plan's roles, lists what was asked for and not delivered,
    /// and adds what gates need to know of it. The plan's numbers are there.
    ///
    /// # Errors
    /// Whatever is wrong with the log; with a data file where a partition's
    /// rows have to be counted.
    pub async fn assign(&mut self, plan: &mut Plan, evidence: Evidence, progress: &Progress) -> Result<Evidence> {
        let mut tuples = rebase::partitions(plan, self.table.metadata())?;
        if self.asked.is_some() {
            for stats in self.missing(&tuples, progress).await? {
                let raw = stats.values.0.iter().map(Value::to_partition_text).collect();
                let values = stats.values.to_json(&plan.partition_columns);
                let rows = stats.rows.known;
                let left = PlanPartition::left(values, raw, rows, stats.files, stats.bytes);
                let updated = (!plan.key.is_empty()).then_some(0);
                plan.partitions.push(PlanPartition { updated, ..left });
                tuples.push(stats.values);
            }
            let mut paired: Vec<_> = tuples.into_iter().zip(std::mem::take(&mut plan.partitions)).collect();
            paired.sort_by(|a, b| a.0.cmp(&b.0));
            (tuples, plan.partitions) = paired.into_iter().unzip();
        }
        let asked: Option<Vec<bool>> = match &self.asked {
            None => None,
            Some(predicate) => Some(tuples.iter().map(|t| self.holds(predicate, t)).collect::<Result<_>>()?),
        };
        let thresholds = &self.table.settings.thresholds;
        let rule = StrayRule {
            percent_of_typical: thresholds.stray_max_percent_of_typical,
            percent_of_present: thresholds.stray_max_percent_of_present,
        };
        assign(plan, asked.as_deref(), rule);
        plan.untouched_partitions = untouched(plan);
        let planned = tuples.into_iter().zip(&plan.partitions);
        let new: Vec<PartitionTuple> =
            planned.filter(|(_, p)| p.files_before == 0 && p.source > 0).map(|(tuple, _)| tuple).collect();
        Ok(Evidence {
            known_partitions: if new.is_empty() { Vec::new() } else { self.known_tuples(progress).await? },
            new_partitions: new,
            expected_rows: self.expected_rows,
            float_keys: self.float_keys(&plan.key),
            ..evidence
        })
    }

    /// SQL's unknown is not asked for.
    fn holds(&self, predicate: &Predicate, tuple: &PartitionTuple) -> Result<bool> {
        Ok(self.table.matches_partition(predicate, tuple)? == Some(true))
    }

    /// Partitions of the table with rows in them that were asked for and are
    /// not in the plan.
    async fn missing(&mut self, planned: &[PartitionTuple], progress: &Progress) -> Result<Vec<PartitionStats>> {
        let Some(predicate) = self.asked.clone() else { return Ok(Vec::new()) };
        let planned: HashSet<&PartitionTuple> = planned.iter().collect();
        self.read(false, progress).await?;
        let mut missing = self.matching(&predicate, &planned)?;
        // Statistics may be absent, and a file of 0 rows is rare enough to look into it.
        if missing.iter().any(|p| p.rows.exact().unwrap_or(0) == 0) {
            self.read(true, progress).await?;
            missing = self.matching(&predicate, &planned)?;
        }
        missing.retain(|p| p.rows.known > 0);
        Ok(missing)
    }

    fn matching(&self, predicate: &Predicate, planned: &HashSet<&PartitionTuple>) -> Result<Vec<PartitionStats>> {
        let mut found = Vec::new();
        for stats in self.known.iter().flatten() {
            if !planned.contains(&stats.values) && self.holds(predicate, &stats.values)? {
                found.push(stats.clone());
            }
        }
        Ok(found)
    }

    async fn read(&mut self, count: bool, progress: &Progress) -> Result<()> {
        if count || self.known.is_none() {
            self.known = Some(self.table.partitions(count, progress, &mut |_| {}).await?);
        }
        Ok(())
    }

    async fn known_tuples(&mut self, progress: &Progress) -> Result<Vec<PartitionTuple>> {
        self.read(false, progress).await?;
        Ok(self.known.iter().flatten().map(|p| p.values.clone()).collect())
    }

    fn float_keys(&self, key: &[String]) -> Vec<String> {
        let schema = &self.table.metadata().schema;
        let is_float = |name: &&String| {
            schema.field(name).is_some_and(|f| {
                matches!(f.data_type, DataType::Primitive(PrimitiveType::Float | PrimitiveType::Double))
            })
        };
        key.iter().filter(is_float).cloned().collect()
    }
}
