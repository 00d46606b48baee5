//! The numbers of a plan against the model's.

use std::collections::{BTreeMap, BTreeSet};

use partwise::plan::kinds::Class;
use partwise::plan::{Plan, PlanPartition, Role};
use partwise::table::Value;
use serde_json::Value as Json;

use super::check::equal;
use super::generate::Case;
use super::statement::Run;
use crate::model::{Counts, Outcome, Rule};
use crate::support::kinds::parse_partition;
use crate::support::{Row, Shape};

#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub case: &'a Case,
    pub run: &'a Run,
    pub plan: &'a Plan,
    pub model: &'a Outcome,
    pub target: &'a [Row],
}

impl Seen<'_> {
    pub fn all(&self) -> Result<(), String> {
        self.totals()?;
        self.keys()?;
        self.partitions()
    }

    fn totals(&self) -> Result<(), String> {
        let (r, m) = (&self.plan.rows, &self.model.total);
        equal("source", &r.source, &m.source)?;
        equal("inserted", &r.inserted, &m.inserted)?;
        let identified = !self.run.pairs.is_empty();
        equal("updated", &r.updated, &identified.then_some(m.updated))?;
        equal("unchanged", &r.unchanged, &m.unchanged)?;
        equal("deleted", &r.deleted, &m.deleted)?;
        equal("zombies", &r.zombies, &m.zombies)?;
        equal("moved", &r.moved, &m.moved_in)?;
        equal("kept", &r.kept, &m.kept)?;
        equal("ignored", &r.ignored, &m.ignored)?;
        equal("touched_only", &r.touched_only, &self.model.touched_only)?;
        if self.case.counted {
            equal("table_before", &r.table_before, &Some(self.target.len() as u64))?;
        }
        if let Some(rows) = r.table_after {
            equal("table_after", &rows, &(self.model.after.len() as u64))?;
        }
        if !matches!(self.run.rule, Rule::Where(_)) {
            let counts = || self.model.slice.iter().filter_map(|tuple| self.model.partitions.get(tuple));
            equal("slice_before", &r.slice_before, &counts().map(|c| c.before).sum())?;
            if !self.model.open_moves {
                equal("slice_after", &r.slice_after, &counts().map(Counts::after).sum())?;
            }
        }
        Ok(())
    }

    fn keys(&self) -> Result<(), String> {
        let (keys, model) = (&self.plan.keys, self.model);
        if self.run.pairs.is_empty() {
            return equal("elsewhere without a key", &keys.elsewhere, &None);
        }
        // Where the source tells no partition, every row is outside of it.
        if let Some(rows) = keys.elsewhere.filter(|_| self.places()) {
            equal("keys.elsewhere", &rows, &model.elsewhere)?;
        }
        equal("keys.existing", &keys.existing, &model.existing)?;
        equal("keys.nulls.source", &keys.nulls.source, &model.nulls.0)?;
        equal("keys.duplicates.source", &keys.duplicates.source, &model.duplicates.0)?;
        // A MERGE need not read rows that it cannot match.
        if matches!(self.run.rule, Rule::Overwrite | Rule::OverwriteAll | Rule::Where(_)) {
            equal("keys.nulls.target", &keys.nulls.target, &model.nulls.1)?;
            equal("keys.duplicates.target", &keys.duplicates.target, &model.duplicates.1)?;
        }
        Ok(())
    }

    fn places(&self) -> bool {
        let shape = &self.case.shape;
        shape.partition_by.iter().all(|c| self.run.feed.columns[shape.index(c)].is_some())
    }

    fn partitions(&self) -> Result<(), String> {
        let shape = &self.case.shape;
        let kinds = shape.partition_by.iter().map(|c| shape.columns[shape.index(c)].kind.delta_type(None));
        let types: Vec<String> = kinds.map(|t| t.as_str().expect("a primitive partition column").to_owned()).collect();
        let mut seen: BTreeMap<Row, Counts> = BTreeMap::new();
        let mut last: Option<Row> = None;
        for p in &self.plan.partitions {
            let tuple: Row = p.raw.iter().zip(&types).map(|(raw, t)| parse_partition(raw.as_deref(), t)).collect();
            if last.as_ref().is_some_and(|last| *last >= tuple) {
                return Err(format!("partitions are not sorted at {}", p.label()));
            }
            last = Some(tuple.clone());
            equal("values' names", &p.values.keys().cloned().collect(), &shape.partition_by)?;
            let counts = Counts {
                before: p.before,
                source: p.source,
                inserted: p.inserted,
                updated: p.updated.unwrap_or(0),
                unchanged: p.unchanged,
                deleted: p.deleted,
                zombies: p.zombies,
                kept: p.kept,
                ignored: p.ignored,
                moved_in: p.moved_in,
                moved_out: p.moved_out,
            };
            equal(&format!("after in {tuple:?}"), &p.after, &counts.after())?;
            equal(&format!("role of {tuple:?}"), &p.role, &self.role(&tuple, &counts))?;
            if !p.is_only_listed() {
                self.measures(p, &tuple)?;
            }
            seen.insert(tuple, counts);
        }
        self.asked_for(&seen)?;
        for (tuple, want) in &self.model.partitions {
            let have = seen.remove(tuple).ok_or_else(|| format!("partition {tuple:?} is not in the plan"))?;
            let settled = |c: &Counts| {
                if !self.model.open_moves {
                    return *c;
                }
                let (arrived, left) = (c.inserted + c.moved_in, c.deleted + c.moved_out);
                Counts { inserted: arrived, moved_in: 0, deleted: left, moved_out: 0, updated: 0, ..*c }
            };
            equal(&format!("partition {tuple:?}"), &settled(&have), &settled(want))?;
        }
        for (tuple, rest) in seen {
            let idle = Counts { before: self.rows_in(&tuple), ..Counts::default() };
            equal(&format!("partition {tuple:?}, which nothing touches"), &rest, &idle)?;
        }
        Ok(())
    }

    fn rows_in(&self, tuple: &Row) -> u64 {
        self.target.iter().filter(|row| self.case.shape.partition_of(row) == *tuple).count() as u64
    }

    fn is_asked(&self, tuple: &Row) -> Option<bool> {
        self.run.asked.as_ref().map(|values| values.contains(&tuple[0]))
    }

    fn role(&self, tuple: &Row, counts: &Counts) -> Role {
        let replaces = self.plan.spec.kind().class() == Class::Replace;
        match (counts.source > 0, self.is_asked(tuple)) {
            (true, Some(false)) => Role::Unexpected,
            (true, _) => Role::Intended,
            (false, _) if replaces && counts.deleted > 0 => Role::Emptied,
            (false, Some(true)) => Role::Left,
            (false, _) => Role::Touched,
        }
    }

    /// Every partition that was asked for and has rows is in the plan.
    fn asked_for(&self, seen: &BTreeMap<Row, Counts>) -> Result<(), String> {
        let here: BTreeSet<Row> = self.target.iter().map(|row| self.case.shape.partition_of(row)).collect();
        match here.iter().find(|tuple| self.is_asked(tuple) == Some(true) && !seen.contains_key(*tuple)) {
            Some(tuple) => Err(format!("partition {tuple:?} was asked for and is not in the plan")),
            None => Ok(()),
        }
    }

    /// Sums of decimal columns are exact; those of floats depend on the order of rows.
    fn measures(&self, p: &PlanPartition, tuple: &Row) -> Result<(), String> {
        for (name, sums) in &p.measures {
            let at = self.case.shape.index(name);
            let sum = |rows: &[Row]| -> Option<(i128, u8)> {
                let mut total = 0_i128;
                let mut scale = None;
                for row in rows.iter().filter(|row| self.case.shape.partition_of(row) == *tuple) {
                    if let Value::Decimal { unscaled, scale: s } = row[at] {
                        total = total.checked_add(unscaled)?;
                        scale = Some(s);
                    }
                }
                Some((total, scale?))
            };
            for (when, rows) in [("before", self.target), ("after", &self.model.after)] {
                let Some((total, scale)) = sum(rows) else { continue };
                let text = sums[when].as_str().ok_or_else(|| format!("measure {name} {when}: {sums}"))?;
                let want = Value::Decimal { unscaled: total, scale };
                let have = parse_decimal(text).ok_or_else(|| format!("measure {name} {when}: {text} is no decimal"))?;
                equal(&format!("measure {name} {when} in {tuple:?}"), &have, &want)?;
            }
        }
        Ok(())
    }
}

/// The partition of an `add`, by its typed values.
pub fn tuple_of(shape: &Shape, add: &Json) -> Row {
    let value = |name: &String| {
        let t = shape.columns[shape.index(name)].kind.delta_type(None);
        let text = add["partitionValues"][shape.physical(name)].as_str();
        parse_partition(text, t.as_str().expect("a primitive partition column"))
    };
    shape.partition_by.iter().map(value).collect()
}

fn parse_decimal(text: &str) -> Option<Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unscaled = format!("{whole}{fraction}").parse().ok()?;
    Some(Value::Decimal { unscaled, scale: fraction.len().try_into().ok()? })
}
