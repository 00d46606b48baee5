//! Whether commits that came in between leave a plan valid.

use std::collections::{BTreeSet, HashSet};

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
    partition_columns: Vec<String>,
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
    plan: String,
    version: u64,
}

impl Footprint {
    /// # Errors
    /// `BadPlan` for partition values that the table's types cannot hold.
    pub fn of(plan: &Plan, metadata: &Metadata, removes: HashSet<FileId>) -> Result<Footprint> {
        let partitions = match plan.spec.lower() {
            Change::Files(_) if matches!(&plan.spec, Spec::Restore(r) if r.partitions.is_none()) => None,
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
            plan: plan.operation.clone(),
            version: plan.version,
        })
    }

    /// Checks the commits after the plan's version, up to `newest`.
    ///
    /// # Errors
    /// `StalePlan`, naming the commits and the partitions that they touched.
    pub async fn check(&self, newest: &Snapshot) -> Result<Vec<u64>> {
        let mut passed = Vec::new();
        let mut conflicts = Vec::new();
        for version in self.version + 1..=newest.version() {
            let lines = read_commit(newest.store(), version).await?;
            match self.conflict(&lines)? {
                None => passed.push(version),
                Some(why) => conflicts.push(format!("v{version} {why}")),
            }
        }
        if conflicts.is_empty() {
            return Ok(passed);
        }
        Err(Error::new(
            ErrorKind::StalePlan,
            format!(
                "the {} was planned at version {}, the table is at version {}: {}",
                self.plan,
                self.version,
                newest.version(),
                conflicts.join("; ")
            ),
        )
        .hint("Nothing was written. Make a new plan: its numbers will differ."))
    }

    fn conflict(&self, lines: &[Line]) -> Result<Option<String>> {
        if lines.iter().any(|l| l.meta_data.is_some()) {
            return Ok(Some("changed the table's metadata".into()));
        }
        if lines.iter().any(|l| l.protocol.is_some()) {
            return Ok(Some("changed the protocol".into()));
        }
        if self.once.is_some() && lines.iter().any(|l| own_source(l) == self.once) {
            return Ok(Some("committed the same source by the same operation".into()));
        }
        let mut touched: BTreeSet<PartitionTuple> = BTreeSet::new();
        let mut rows: i64 = 0;
        let mut rows_known = true;
        let mut unknown = false;
        let mut took = 0;
        for line in lines {
            if let Some(add) = line.add.clone().filter(|a| a.data_change) {
                let file = self.parser.file(add, None)?;
                if self.sees(&file.partition) {
                    match file.live_rows().and_then(|r| i64::try_from(r).ok()) {
                        Some(more) => rows += more,
                        None => rows_known = false,
                    }
                    touched.insert(file.partition);
                }
            }
            if let Some(remove) = &line.remove {
                if self.removes.contains(&remove.id()) {
                    took += 1;
                }
                match &remove.partition_values {
                    _ if !remove.data_change => {}
                    Some(values) => {
                        let tuple = self.parser.partition(&remove.path, values)?;
                        if self.sees(&tuple) {
                            rows_known = false;
                            touched.insert(tuple);
                        }
                    }
                    None => unknown |= self.partitions.as_ref().is_none_or(|p| !p.is_empty()),
                }
            }
        }
        if took > 0 {
            return Ok(Some(format!("removed {took} of the files that the plan replaces{}", self.list(&touched))));
        }
        if !touched.is_empty() {
            let change = if rows_known { format!(" ({rows:+} rows)") } else { String::new() };
            return Ok(Some(format!("touched{}{change}", self.list(&touched))));
        }
        Ok(unknown.then(|| "removed files of unknown partitions".into()))
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

    fn list(&self, touched: &BTreeSet<PartitionTuple>) -> String {
        const NAMED: usize = 5;
        let named: Vec<String> = touched.iter().take(NAMED).map(|t| t.label(&self.partition_columns)).collect();
        let more = touched.len().saturating_sub(NAMED);
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        if named.is_empty() { String::new() } else { format!(" {}{tail}", named.join(", ")) }
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
