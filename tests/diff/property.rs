//! Random histories: a diff says what a naive comparison of the rows of both
//! versions says.

use std::cell::RefCell;
use std::collections::BTreeMap;

use partwise::ops::DiffRequest;
use partwise::plan::Effect;
use partwise::table::Value;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value as Json, json};

use super::{compare, key};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s};

/// What one commit does: to which partition, with which rows.
type Step = (u8, u8, Vec<(u8, u8)>);

fn shape() -> Shape {
    let columns = [("p", Kind::String), ("k", Kind::Long), ("v", Kind::Double)];
    Shape { deletion_vectors: true, ..Shape::new(&columns, &["p"]) }
}

/// Few keys and values, so that they meet; awkward ones among them.
fn row(p: u8, (k, v): (u8, u8)) -> Row {
    let key = if k % 6 == 0 { Value::Null } else { i(i64::from(k % 6)) };
    let value = [Value::Null, Value::Double(f64::NAN), Value::Double(-0.0), Value::Double(0.0), Value::Double(1.5)];
    let partition = if p % 4 == 3 { Value::Null } else { s(["a", "b", ""][usize::from(p % 4)]) };
    vec![partition, key, value[usize::from(v) % value.len()].clone()]
}

struct History {
    table: Fixture,
    /// Live files: the action, its physical rows, which of them are deleted.
    live: Vec<(Json, Vec<Row>, Vec<u64>)>,
}

impl History {
    fn file(&mut self, rows: &[Row]) -> Json {
        let add = self.table.add(rows, &FileOptions::default());
        self.live.push((add.clone(), rows.to_vec(), Vec::new()));
        add
    }

    fn step(&mut self, (how, p, rows): &Step) {
        let rows: Vec<Row> = rows.iter().map(|r| row(*p, *r)).collect();
        let at = usize::from(*p) % self.live.len().max(1);
        let mut actions = Vec::new();
        match (how % 5, self.live.is_empty()) {
            // DELETE with a deletion vector.
            (1, false) => {
                let (add, rows, deleted) = self.live.remove(at);
                let next = (0..rows.len() as u64).find(|n| !deleted.contains(n)).expect("a live row");
                let deleted: Vec<u64> = deleted.into_iter().chain([next]).collect();
                actions = self.table.mask(&add, &deleted, rows.len() as u64);
                if let Some(masked) = actions.get(1) {
                    self.live.push((masked.clone(), rows, deleted));
                }
            }
            // The same rows in another file.
            (2, false) => {
                let (add, rows, deleted) = self.live.remove(at);
                actions.push(self.table.remove(&add));
                let kept: Vec<Row> = (0..rows.len())
                    .rev()
                    .filter(|n| !deleted.contains(&(*n as u64)))
                    .map(|n| rows[n].clone())
                    .collect();
                actions.push(self.file(&kept));
            }
            // Other rows for a file.
            (3, false) => {
                let (add, old, _) = self.live.remove(at);
                actions.push(self.table.remove(&add));
                // Mostly in its own partition.
                let home = |row: Row| if how % 3 == 0 { row } else { [&old[0][..1], &row[1..]].concat() };
                let rows: Vec<Row> = rows.into_iter().map(home).collect();
                if !rows.is_empty() {
                    actions.push(self.file(&rows));
                }
            }
            _ if !rows.is_empty() => actions.push(self.file(&rows)),
            _ => {}
        }
        self.table.commit("WRITE", json!({}), actions);
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Naive {
    inserted: u64,
    updated: u64,
    deleted: u64,
    same: u64,
    moved: u64,
}

impl Naive {
    fn add(&mut self, more: &Naive) {
        self.inserted += more.inserted;
        self.updated += more.updated;
        self.deleted += more.deleted;
        self.same += more.same;
        self.moved += more.moved;
    }
}

/// Identical rows pair first, then rows of one key, within the partition first.
fn naive(before: &[Row], after: &[Row], keyed: bool) -> Naive {
    let mut rest: BTreeMap<Row, (Vec<Row>, Vec<Row>)> = BTreeMap::new();
    let mut out = Naive::default();
    let mut unpaired: Vec<&Row> = after.iter().collect();
    for row in before {
        let key = if keyed { vec![row[1].clone()] } else { row.clone() };
        match unpaired.iter().position(|other| *other == row) {
            Some(at) => {
                unpaired.swap_remove(at);
                out.same += 1;
            }
            None => rest.entry(key).or_default().0.push(row.clone()),
        }
    }
    for row in unpaired {
        let key = if keyed { vec![row[1].clone()] } else { row.clone() };
        rest.entry(key).or_default().1.push(row.clone());
    }
    for (old, new) in rest.into_values() {
        let pairs = if keyed { old.len().min(new.len()) } else { 0 };
        let mut within: BTreeMap<Value, (usize, usize)> = BTreeMap::new();
        old.iter().for_each(|r| within.entry(r[0].clone()).or_default().0 += 1);
        new.iter().for_each(|r| within.entry(r[0].clone()).or_default().1 += 1);
        let stay: usize = within.values().map(|(a, b)| a.min(b)).sum();
        out.updated += pairs as u64;
        out.moved += pairs.saturating_sub(stay) as u64;
        out.deleted += (old.len() - pairs) as u64;
        out.inserted += (new.len() - pairs) as u64;
    }
    out
}

fn check(steps: &[Step], met: &RefCell<Naive>) -> Result<(), TestCaseError> {
    let bench = Bench::default();
    let mut history = History { table: Fixture::new(bench.path("t"), shape()), live: Vec::new() };
    history.table.commit("CREATE TABLE", json!({}), Vec::new());
    let mut versions = vec![Vec::new()];
    for step in steps {
        history.step(step);
        versions.push(rows_of(&history.table.path));
    }
    let last = versions.len() - 1;
    for (from, to) in [(0, last), (last / 2, last), (last, last / 3)] {
        for keyed in [true, false] {
            let request = if keyed { key(&["k"]) } else { DiffRequest::default() };
            let diff = compare(&bench, &history.table, from as u64, to as u64, &request)
                .map_err(|e| TestCaseError::fail(e.full_message()))?;
            let (before, after) = (&versions[from], &versions[to]);
            let wanted = naive(before, after, keyed);
            let r = &diff.rows;
            let updated = r.updated.unwrap_or(0);
            let same = before.len() as u64 - updated - r.deleted;
            let got = Naive { inserted: r.inserted, updated, deleted: r.deleted, same, moved: r.moved };
            met.borrow_mut().add(&wanted);
            prop_assert_eq!(got, wanted, "{} → {} keyed {}", from, to, keyed);
            prop_assert_eq!((r.before, r.after), (Some(before.len() as u64), Some(after.len() as u64)));
            for p in &diff.partitions {
                let value = p.values["p"].as_str().map_or(Value::Null, s);
                let of = |rows: &[Row]| rows.iter().filter(|r| r[0] == value).count() as u64;
                prop_assert_eq!((p.before, p.after), (of(before), of(after)), "{}", &p.label);
            }
            for (effect, count, side) in [
                (Effect::Deleted, r.deleted, before),
                (Effect::Inserted, r.inserted, after),
                (Effect::Updated, updated, before),
            ] {
                let page = block_on(diff.effect_rows.page(effect, 0, 10_000)).expect("a page");
                prop_assert_eq!(page.rows.len() as u64, count);
                for row in page.rows {
                    prop_assert!(side.contains(&row.old.or(row.new).expect("a side")));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_diff_is_the_naive_comparison() {
    let cases = if std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1") { 400 } else { 40 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let steps = vec((any::<u8>(), any::<u8>(), vec(any::<(u8, u8)>(), 0..8)), 1..12);
    let met = RefCell::new(Naive::default());
    runner.run(&steps, |steps| check(&steps, &met)).unwrap_or_else(|failure| panic!("{failure}"));
    let met = met.into_inner();
    let all = [met.inserted, met.updated - met.moved, met.moved, met.deleted, met.same];
    assert!(all.iter().all(|rows| *rows >= 20), "the histories reach every effect: {met:?}");
}
