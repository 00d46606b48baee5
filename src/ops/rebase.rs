//! Whether commits that came in between leave a plan valid.

use std::collections::{BTreeSet, HashSet};

use super::between::{Between, change, listed, operation, stale};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::action::{FileParser, Line};
use crate::lake::log::snapshot::read_commit;
use crate::plan::{Change, Pairing, Plan, Reach, RowRule, Spec};
use crate::predicate::{Bound, RowExpr, Scope, Side};
use crate::table::file::FileId;
use crate::table::schema::PrimitiveType;
use crate::table::{Metadata, PartitionTuple, Schema, Value};

/// What a plan could see; another writer's commit may not touch it.
pub struct Footprint {
    parser: FileParser,
    /// Of the table at the plan's version, which a switch does not have yet.
    pub partition_columns: Vec<String>,
    /// `None`: the plan saw every partition.
    partitions: Option<HashSet<PartitionTuple>>,
    /// Chooses partitions by their values, those too that the plan did not meet.
    chosen: Option<Bound>,
    /// The partition columns' places in the schema.
    partition_indexes: Vec<Option<usize>>,
    /// Files that the plan removes; they must still be there.
    removes: HashSet<FileId>,
    /// Operation and source that must not come in twice.
    once: Option<(String, String)>,
}

impl Footprint {
    /// # Errors
    /// `BadPlan` for partition values that the table's types cannot hold.
    pub fn of(plan: &Plan, metadata: &Metadata, removes: HashSet<FileId>) -> Result<Footprint> {
        let partitions = match plan.spec.lower() {
            // It sees files only; those that came since are carried over.
            Change::Layout(_) => Some(HashSet::new()),
            Change::Files(_) if matches!(&plan.spec, Spec::Restore(r) if r.partitions.is_none()) => None,
            // Partitions of two layouts mean nothing beside each other.
            Change::Files(_) if plan.spec.kind().brings_back().is_some_and(|(_, metadata)| metadata) => None,
            // It changes nothing that a version is made of.
            Change::Vacuum(_) => Some(HashSet::new()),
            Change::Files(_) => Some(partitions(plan, metadata)?.into_iter().collect()),
            // What only adds sees nothing of the table.
            Change::Rows(rule) if rule.pairing == Pairing::Never => Some(HashSet::new()),
            Change::Rows(rule) => {
                let partitioned = !metadata.partition_columns.is_empty();
                // Only a column that is compared with its namesake keeps a row in its partition.
                let own = |c: &String| match &rule.pairing {
                    Pairing::Join(on) => on.keys.iter().any(|p| p.target == *c && p.source.eq_ignore_ascii_case(c)),
                    Pairing::Multiset | Pairing::Never => plan.key.contains(c),
                };
                let pinned = partitioned && metadata.partition_columns.iter().all(own);
                let whole = match rule.reach {
                    Reach::Slice | Reach::Where(_) => false,
                    Reach::Key => !pinned || rule.clauses.by_source.iter().any(|clause| !clause.within_slice),
                    Reach::Table => true,
                };
                if whole { None } else { Some(partitions(plan, metadata)?.into_iter().collect()) }
            }
        };
        let chosen = match (&plan.spec, plan.spec.lower()) {
            (_, Change::Rows(RowRule { reach: Reach::Where(text), .. })) => Some(text),
            (Spec::Restore(restore), _) => restore.partitions.clone(),
            _ => None,
        };
        let none = Schema { fields: Vec::new() };
        let scope = Scope { source: &none, target: &metadata.schema };
        let chosen = chosen.map(|text| RowExpr::parse(&text)?.bind(&scope)).transpose()?;
        let partition_indexes: Vec<Option<usize>> =
            metadata.partition_columns.iter().map(|c| metadata.schema.index_of(c)).collect();
        // Which rows of other columns a commit brought cannot be told from the log.
        let by_row =
            chosen.as_ref().is_some_and(|p| p.columns().iter().any(|(_, c)| !partition_indexes.contains(&Some(*c))));
        let partitions = if by_row { None } else { partitions };
        Ok(Footprint {
            chosen,
            partition_indexes,
            parser: FileParser::new(metadata, false),
            partition_columns: metadata.partition_columns.clone(),
            partitions,
            removes,
            once: once(plan),
        })
    }

    /// Checks the commits after the plan's version, up to `newest`; gives them
    /// where the plan stays valid on top of them.
    ///
    /// # Errors
    /// `StalePlan`, naming the commits and the partitions that they touched.
    pub async fn check(&self, plan: &Plan, newest: &Snapshot) -> Result<Vec<Between>> {
        let mut between = Vec::new();
        for version in plan.version.saturating_add(1)..=newest.version() {
            let lines = match read_commit(newest.store(), version).await {
                Ok(lines) => lines,
                Err(error) if error.kind == ErrorKind::MissingFiles => {
                    return Err(Error::new(
                        ErrorKind::StalePlan,
                        format!(
                            "the {} was planned at version {}; version {version} came since and is gone from the log",
                            plan.operation, plan.version
                        ),
                    )
                    .hint("Nothing was written: what it changed cannot be told. Make a new plan.")
                    .because(error));
                }
                Err(error) => return Err(error),
            };
            between.push(self.judge(version, &lines)?);
        }
        match between.iter().any(|b| b.conflict.is_some()) {
            true => Err(stale(plan, &self.partition_columns, &between)),
            false => Ok(between),
        }
    }

    fn judge(&self, version: u64, lines: &[Line]) -> Result<Between> {
        let mut found =
            Between { version, operation: operation(lines), touched: BTreeSet::new(), rows: Some(0), conflict: None };
        // Partition values of another layout mean nothing to the plan.
        let why = if lines.iter().any(|l| l.meta_data.is_some()) {
            "changed the table's metadata"
        } else if lines.iter().any(|l| l.protocol.is_some()) {
            "changed the protocol"
        } else {
            self.judge_rows(lines, &mut found)?;
            return Ok(found);
        };
        found.conflict = Some(why.into());
        Ok(found)
    }

    fn judge_rows(&self, lines: &[Line], found: &mut Between) -> Result<()> {
        let mut seen: BTreeSet<PartitionTuple> = BTreeSet::new();
        let mut unknown = false;
        let mut took = 0;
        for line in lines {
            if let Some(add) = line.add.clone().filter(|a| a.data_change) {
                let file = self.parser.file(add, None)?;
                let rows = file.live_rows().and_then(|r| i64::try_from(r).ok());
                found.rows = found.rows.zip(rows).map(|(a, b)| a + b);
                if self.sees(&file.partition) {
                    seen.insert(file.partition.clone());
                }
                found.touched.insert(file.partition);
            }
            if let Some(remove) = &line.remove {
                if self.removes.contains(&remove.id()) {
                    took += 1;
                }
                if !remove.data_change {
                    continue;
                }
                // A remove does not say how many rows it takes.
                found.rows = None;
                match &remove.partition_values {
                    Some(values) => {
                        let tuple = self.parser.partition(&remove.path, values)?;
                        if self.sees(&tuple) {
                            seen.insert(tuple.clone());
                        }
                        found.touched.insert(tuple);
                    }
                    None => unknown |= self.partitions.as_ref().is_none_or(|p| !p.is_empty()),
                }
            }
        }
        let at = |tuples: &BTreeSet<PartitionTuple>| match tuples.is_empty() {
            true => String::new(),
            false => format!(" {}", listed(tuples, &self.partition_columns)),
        };
        found.conflict = if self.once.is_some() && lines.iter().any(|l| own_source(l) == self.once) {
            Some("committed the same source by the same operation".into())
        } else if took > 0 {
            Some(format!("removed {took} of the files that the plan replaces{}", at(&seen)))
        } else if !seen.is_empty() {
            let rows = if seen == found.touched { change(found.rows) } else { String::new() };
            Some(format!("touched{}{rows}", at(&seen)))
        } else {
            unknown.then(|| "removed files of unknown partitions".into())
        };
        Ok(())
    }

    fn sees(&self, tuple: &PartitionTuple) -> bool {
        let chosen = self.chosen.as_ref().is_some_and(|predicate| {
            let value = |_: Side, column: usize| {
                let place = self.partition_indexes.iter().position(|c| *c == Some(column));
                place.and_then(|at| tuple.0.get(at).cloned()).unwrap_or(Value::Null)
            };
            // What cannot be judged is taken for a conflict.
            predicate.holds(&value).unwrap_or(true)
        });
        chosen || self.partitions.as_ref().is_none_or(|p| p.contains(tuple))
    }
}

/// Operation and source of a plan that must not be carried out twice.
fn once(plan: &Plan) -> Option<(String, String)> {
    let source = plan.source.as_ref().filter(|_| plan.repeats())?;
    Some((plan.operation.clone(), source.content.clone().unwrap_or_else(|| source.fingerprint.clone())))
}

fn own_source(line: &Line) -> Option<(String, String)> {
    let own = line.commit_info.as_ref()?.get("partwise")?;
    let source = own.get("content").and_then(|c| c.as_str()).or_else(|| own.get("source")?.as_str())?;
    Some((own.get("operation")?.as_str()?.to_owned(), source.to_owned()))
}

/// The typed partitions of a plan.
///
/// # Errors
/// `BadPlan`.
pub fn partitions(plan: &Plan, metadata: &Metadata) -> Result<Vec<PartitionTuple>> {
    let types: Vec<PrimitiveType> = metadata.partition_fields().iter().filter_map(|f| f.primitive().cloned()).collect();
    let typed = plan.partitions.iter().map(|p| {
        p.tuple(&types).ok_or_else(|| {
            Error::new(
                ErrorKind::BadPlan,
                format!("the plan's partition {} does not fit the table's columns", p.label()),
            )
            .hint("The plan file was changed, or the table was; make a new plan.")
        })
    });
    typed.collect()
}
