//! One case: plan against model, commit against plan, undo against before.

use std::collections::BTreeMap;

use partwise::error::ErrorKind;
use partwise::ops::{Prepared, Strategy};
use partwise::plan::{Effect, Plan, Verdict, arithmetic};
use partwise::table::Value;

use super::generate::Case;
use crate::model::{Counts, Input, Operation, Outcome};
use crate::support::kinds::parse_partition;
use crate::support::road::override_all;
use crate::support::{Bench, Fixture, Row, block_on, exact, replay, rows_of, sorted};

/// What is wrong, if anything is.
pub fn check(case: &Case, operation: Operation) -> Result<(), String> {
    if case.key.is_empty() && matches!(operation, Operation::Merge { .. }) {
        return Ok(());
    }
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), case.shape.clone());
    case.write(&mut table);
    let (columns, rows) = case.delivered();
    let source = bench.source("s", &columns, &rows);

    let target = case.target();
    let partition: Vec<usize> = case.shape.partition_by.iter().map(|c| case.shape.index(c)).collect();
    let key: Vec<usize> = case.key.iter().map(|c| case.shape.index(c)).collect();
    let model = Input { operation, partition: &partition, key: &key, target: &target, source: &case.source }.run();
    equal("the fixture's rows", &rows_of(&table.path), &sorted(target.clone()))?;

    let strategy = match operation {
        Operation::Overwrite => Strategy::Overwrite,
        Operation::OverwriteAll => Strategy::OverwriteAll,
        Operation::Append => Strategy::Append,
        Operation::Merge { null_safe, delete_missing } => Strategy::Merge { null_safe_keys: null_safe, delete_missing },
    };
    let names: Vec<&str> = case.key.iter().map(String::as_str).collect();
    let prepared = bench.prepare(&table.path, &source, &names, strategy);
    let prepared = prepared.map_err(|e| format!("prepare: {} {}", e.kind, e.full_message()))?;
    let plan = &prepared.plan;
    equal("rows after planning", &exact(&rows_of(&table.path)), &exact(&target))?;

    if model.refused {
        let kinds: Vec<ErrorKind> = plan.refusals.iter().map(|r| r.kind).collect();
        equal("refusals", &kinds, &vec![ErrorKind::DuplicateSourceKeys])?;
        equal("verdict", &plan.verdict, &Verdict::Blocked)?;
        if bench.apply_with(plan, &override_all(plan)).is_ok() {
            return Err("a refused plan was applied".into());
        }
        return equal("rows after a refusal", &exact(&rows_of(&table.path)), &exact(&target));
    }
    if let Some(refusal) = plan.refusals.first() {
        return Err(format!("refused: {} {}", refusal.kind, refusal.message));
    }
    equal("arithmetic", &arithmetic::violations(plan), &Vec::new())?;
    totals(case, plan, &model, target.len() as u64)?;
    keys(case, plan, &model)?;
    partitions(case, plan, &model)?;
    pages(case, &prepared, &target)?;
    carry_out(&bench, &table, plan, &model, &target)
}

/// The rows behind the numbers: as many as the plan says, and rows that are
/// in the table and in the source.
fn pages(case: &Case, prepared: &Prepared, target: &[Row]) -> Result<(), String> {
    let rows = prepared.rows.as_ref().ok_or("a plan without rows to look at")?;
    // The text of a nested value is for people; its form is not compared.
    let plain = |row: &Row| -> Row { row.iter().filter(|v| !matches!(v, Value::Nested(_))).cloned().collect() };
    let [old_rows, new_rows] = [target, &case.source[..]].map(|rows| rows.iter().map(plain).collect::<Vec<_>>());
    let r = &prepared.plan.rows;
    for effect in Effect::ALL {
        let count = match effect {
            Effect::Inserted => r.inserted,
            Effect::Updated => r.updated.unwrap_or(0),
            Effect::Unchanged => r.unchanged,
            Effect::Deleted => r.deleted,
            Effect::Zombies => r.zombies,
            Effect::Kept => r.kept,
            Effect::Ignored => r.ignored,
        };
        let mut seen = 0;
        while seen < count {
            let page = block_on(rows.page(effect, seen, 25)).map_err(|e| format!("page: {}", e.full_message()))?;
            equal("a page's total", &page.total, &count)?;
            equal("a page's rows", &(page.rows.len() as u64), &(count - seen).min(25))?;
            for row in &page.rows {
                let sides = match effect {
                    Effect::Inserted | Effect::Ignored => (false, true),
                    Effect::Deleted | Effect::Zombies | Effect::Kept => (true, false),
                    Effect::Updated | Effect::Unchanged => (true, true),
                };
                equal(effect.name(), &(row.old.is_some(), row.new.is_some()), &sides)?;
                equal("cells changed", &!row.changed.is_empty(), &(effect == Effect::Updated))?;
                let known = |side: &Option<Row>, all: &[Row]| side.as_ref().is_none_or(|r| all.contains(&plain(r)));
                equal("rows that exist", &(known(&row.old, &old_rows), known(&row.new, &new_rows)), &(true, true))?;
            }
            seen += page.rows.len() as u64;
        }
        let past = block_on(rows.page(effect, count, 25)).map_err(|e| format!("page: {}", e.full_message()))?;
        equal("rows past the end", &past.rows.len(), &0)?;
    }
    Ok(())
}

fn carry_out(bench: &Bench, table: &Fixture, plan: &Plan, model: &Outcome, target: &[Row]) -> Result<(), String> {
    let report =
        bench.apply_with(plan, &override_all(plan)).map_err(|e| format!("apply: {} {}", e.kind, e.full_message()))?;
    equal("mismatches", &report.mismatches, &Vec::new())?;
    equal("rows after apply", &rows_of(&table.path), &sorted(model.after.clone()))?;
    let changes = plan.changes_something();
    equal("a commit was made", &report.version_after.is_some(), &changes)?;
    equal("the newest version", &replay::newest(&table.path), &(plan.version + u64::from(changes)))?;
    if !changes {
        return equal("rows of a no-op", &exact(&rows_of(&table.path)), &exact(target));
    }
    equal("verified", &report.verified, &true)?;
    let undo = bench.plan_undo(&table.path, None).map_err(|e| format!("undo's plan: {}", e.full_message()))?;
    bench.apply_with(&undo, &override_all(&undo)).map_err(|e| format!("undo: {}", e.full_message()))?;
    equal("rows after undo", &exact(&rows_of(&table.path)), &exact(target))
}

fn totals(case: &Case, plan: &Plan, model: &Outcome, before: u64) -> Result<(), String> {
    let (r, m) = (&plan.rows, &model.total);
    equal("source", &r.source, &(case.source.len() as u64))?;
    equal("inserted", &r.inserted, &m.inserted)?;
    let identified = !case.key.is_empty();
    equal("updated", &r.updated, &identified.then_some(m.updated))?;
    equal("unchanged", &r.unchanged, &m.unchanged)?;
    equal("deleted", &r.deleted, &m.deleted)?;
    equal("zombies", &r.zombies, &m.zombies)?;
    equal("moved", &r.moved, &m.moved_in)?;
    equal("kept, ignored, touched_only", &(r.kept, r.ignored, r.touched_only), &(0, 0, 0))?;
    if case.counted {
        equal("table_before", &r.table_before, &Some(before))?;
    }
    if let Some(rows) = r.table_after {
        equal("table_after", &rows, &(model.after.len() as u64))?;
    }
    if model.total.moved_in == 0 {
        let slice: u64 = model.slice.iter().map(|tuple| model.partitions[tuple].before).sum();
        equal("slice_before", &r.slice_before, &slice)?;
        equal("slice_after", &r.slice_after, &(slice + m.inserted - m.deleted))?;
    }
    Ok(())
}

fn keys(case: &Case, plan: &Plan, model: &Outcome) -> Result<(), String> {
    if case.key.is_empty() {
        return equal("elsewhere without a key", &plan.keys.elsewhere, &None);
    }
    if let Some(rows) = plan.keys.elsewhere {
        equal("keys.elsewhere", &rows, &model.elsewhere)?;
    }
    equal("keys.existing", &plan.keys.existing, &model.existing)?;
    equal("keys.nulls.source", &plan.keys.nulls.source, &model.nulls.0)?;
    if matches!(plan.spec, partwise::plan::Spec::Overwrite(_)) {
        equal("keys.nulls.target", &plan.keys.nulls.target, &model.nulls.1)?;
    }
    equal("keys.duplicates.source", &plan.keys.duplicates.source, &model.duplicates)
}

fn partitions(case: &Case, plan: &Plan, model: &Outcome) -> Result<(), String> {
    let types: Vec<String> = case
        .shape
        .partition_by
        .iter()
        .map(|c| case.shape.columns[case.shape.index(c)].kind.delta_type(None))
        .map(|t| t.as_str().expect("a primitive partition column").to_owned())
        .collect();
    let mut seen: BTreeMap<Row, Counts> = BTreeMap::new();
    let mut last: Option<Row> = None;
    for p in &plan.partitions {
        let tuple: Row = p.raw.iter().zip(&types).map(|(raw, t)| parse_partition(raw.as_deref(), t)).collect();
        if last.as_ref().is_some_and(|last| *last >= tuple) {
            return Err(format!("partitions are not sorted at {}", p.label()));
        }
        last = Some(tuple.clone());
        equal("values' names", &p.values.keys().cloned().collect(), &case.shape.partition_by)?;
        let counts = Counts {
            before: p.before,
            source: p.source,
            inserted: p.inserted,
            updated: p.updated.unwrap_or(0),
            unchanged: p.unchanged,
            deleted: p.deleted,
            zombies: p.zombies,
            moved_in: p.moved_in,
            moved_out: p.moved_out,
        };
        measures(case, p, &tuple, model)?;
        seen.insert(tuple, counts);
    }
    for (tuple, want) in &model.partitions {
        let have = seen.remove(tuple).ok_or_else(|| format!("partition {tuple:?} is not in the plan"))?;
        let settled = |c: &Counts| {
            if !model.open_moves {
                return *c;
            }
            let (arrived, left) = (c.inserted + c.moved_in, c.deleted + c.moved_out);
            Counts { inserted: arrived, moved_in: 0, deleted: left, moved_out: 0, updated: 0, ..*c }
        };
        equal(&format!("partition {tuple:?}"), &settled(&have), &settled(want))?;
    }
    for (tuple, rest) in seen {
        let idle = Counts { before: rest.before, ..Counts::default() };
        equal(&format!("partition {tuple:?}, which nothing touches"), &rest, &idle)?;
    }
    Ok(())
}

/// Sums of decimal columns are exact; those of floats depend on the order of rows.
fn measures(case: &Case, p: &partwise::plan::PlanPartition, tuple: &Row, model: &Outcome) -> Result<(), String> {
    for (name, sums) in &p.measures {
        let at = case.shape.index(name);
        let sum = |rows: &[Row]| -> Option<(i128, u8)> {
            let mut total = 0_i128;
            let mut scale = None;
            for row in rows.iter().filter(|row| case.shape.partition_of(row) == *tuple) {
                if let Value::Decimal { unscaled, scale: s } = row[at] {
                    total = total.checked_add(unscaled)?;
                    scale = Some(s);
                }
            }
            Some((total, scale?))
        };
        for (when, rows) in [("before", case.target()), ("after", model.after.clone())] {
            let Some((total, scale)) = sum(&rows) else { continue };
            let text = sums[when].as_str().ok_or_else(|| format!("measure {name} {when}: {sums}"))?;
            let want = Value::Decimal { unscaled: total, scale };
            let have = parse_decimal(text).ok_or_else(|| format!("measure {name} {when}: {text} is no decimal"))?;
            equal(&format!("measure {name} {when} in {tuple:?}"), &have, &want)?;
        }
    }
    Ok(())
}

fn parse_decimal(text: &str) -> Option<Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unscaled = format!("{whole}{fraction}").parse().ok()?;
    Some(Value::Decimal { unscaled, scale: fraction.len().try_into().ok()? })
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, have: &T, want: &T) -> Result<(), String> {
    if have == want { Ok(()) } else { Err(format!("{what}: {have:?}, where the model says {want:?}")) }
}
