//! Random operations, one on top of the other: what taking the first back
//! leaves is what three states of each key say.

use std::collections::{BTreeMap, BTreeSet};

use partwise::ops::Strategy;
use partwise::plan::{Plan, Spec};
use partwise::table::Value;
use serde_json::json;

use crate::support::road::{MERGE_NULL_SAFE, gate};
use crate::support::{Bench, Fixture, Kind, Row, Shape, exact, i, rows_of, s};

/// The same numbers for a seed on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

fn shape() -> Shape {
    let columns = [
        ("d", Kind::String),
        ("k", Kind::Long),
        ("x", Kind::Double),
        ("y", Kind::Decimal(12, 2)),
        ("z", Kind::Timestamp),
        ("w", Kind::String),
    ];
    Shape::new(&columns, &["d"])
}

/// Cells are few, so that changes meet; `moves`: a key may change its partition.
fn row(dice: &mut Dice, k: u64, moves: bool) -> Row {
    let group = if moves { dice.below(3) } else { k % 3 };
    let key = if k == 0 { Value::Null } else { i(k as i64) };
    let partition = if group == 0 { Value::Null } else { s(&format!("p{group}")) };
    let x = [f64::NAN, 0.0, 1.5][dice.below(3) as usize];
    let y = Value::Decimal { unscaled: i128::from(dice.below(3)) - 1, scale: 2 };
    let z = if dice.below(4) == 0 { Value::Null } else { Value::Timestamp(dice.below(2) as i64) };
    let w = [Value::Null, s(""), s("w")][dice.below(3) as usize].clone();
    vec![partition, key, Value::Double(x), y, z, w]
}

fn some(dice: &mut Dice, most: u64, moves: bool) -> Vec<Row> {
    let keys: BTreeSet<u64> = (0..=dice.below(most)).map(|_| dice.below(14)).collect();
    keys.into_iter().map(|k| row(dice, k, moves)).collect()
}

type State = BTreeMap<Value, String>;

/// Rows by key, with every bit of their cells.
fn state(table: &Fixture) -> State {
    let rows = rows_of(&table.path);
    let by_key: State = rows.iter().map(|row| (row[1].clone(), exact(std::slice::from_ref(row)).remove(0))).collect();
    assert_eq!(by_key.len(), rows.len(), "a key twice");
    by_key
}

fn operation(bench: &Bench, table: &Fixture, dice: &mut Dice, name: &str, moves: bool, most: u64) -> Plan {
    let strategy = match dice.below(if most < 4 { 12 } else { 4 }) {
        0 if !moves => Strategy::Overwrite,
        1 if !moves => Strategy::Merge { null_safe_keys: true, delete_missing: true },
        _ => MERGE_NULL_SAFE,
    };
    let source = bench.source(name, &shape().columns, &some(dice, most, moves));
    bench.run(&table.path, &source, &["k"], strategy).0
}

/// Whether it went by rows, and how many rows kept their later values.
fn check(seed: u64) -> (bool, u64) {
    let mut dice = Dice(seed);
    let moves = dice.below(2) == 0;
    let bench = Bench::default();
    let table = bench.table(shape(), &some(&mut dice, 12, moves));
    let a0 = state(&table);
    let first = operation(&bench, &table, &mut dice, "one", moves, 8);
    let a1 = state(&table);
    // Later operations are small, so that some leave the first one's rows alone.
    for n in 0..1 + dice.below(2) {
        operation(&bench, &table, &mut dice, &format!("later{n}"), moves, 2);
    }
    let b = state(&table);
    if first.verdict == partwise::plan::Verdict::NoOp {
        return (false, 0);
    }
    let plan = bench.plan_undo(&table.path, Some(&first.id)).unwrap_or_else(|e| panic!("{seed}: {}", e.full_message()));
    let by_rows = matches!(plan.spec, Spec::UndoRows(_));

    let keys: BTreeSet<&Value> = a0.keys().chain(a1.keys()).chain(b.keys()).collect();
    let (mut want, mut later) = (State::new(), 0u64);
    for key in keys {
        let (before, after, now) = (a0.get(key), a1.get(key), b.get(key));
        let result = if now == after { before } else { now };
        want.extend(result.map(|row| (key.clone(), row.clone())));
        let back_already = now == before && (after.is_none() || before.is_none());
        later += u64::from(before != after && now != after && !back_already);
    }
    if by_rows {
        assert_eq!(gate(&plan, "later-changes").observed, json!(later), "{seed}");
    } else {
        assert_eq!(later, 0, "{seed}: an exchange of files loses later changes");
    }
    bench.apply(&plan).unwrap_or_else(|e| panic!("{seed}: {}", e.full_message()));
    assert_eq!(state(&table), want, "{seed}");
    assert!(bench.spools().is_empty(), "{seed}");
    // And forth again: by files or by rows, the table is as it was.
    if plan.verdict != partwise::plan::Verdict::NoOp && newest_is(&table, &plan) {
        let redo =
            bench.plan_undo(&table.path, Some(&plan.id)).unwrap_or_else(|e| panic!("{seed}: {}", e.full_message()));
        bench.apply(&redo).unwrap();
        assert_eq!(state(&table), b, "{seed}");
    }
    (by_rows, later)
}

fn newest_is(table: &Fixture, plan: &Plan) -> bool {
    let infos = crate::support::replay::replay(&table.path).unwrap().infos;
    infos.last().is_some_and(|info| info["partwise"]["id"] == json!(plan.id))
}

/// 30 cases, 600 with `PARTWISE_FULL=1`.
#[test]
fn undo_takes_back_what_later_operations_left() {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let cases = if full { 600 } else { 30 };
    let found: Vec<(bool, u64)> = (0..cases).map(check).collect();
    let by_rows = found.iter().filter(|(rows, _)| *rows).count();
    let conflicts = found.iter().filter(|(_, later)| *later > 0).count();
    println!("{cases} undos, {by_rows} by rows, {conflicts} with rows that were changed again");
    // Else the cases do not reach what is tested here.
    let said = format!("{cases} undos, {by_rows} by rows, {conflicts} of them with later changes");
    assert!(by_rows * 4 >= cases as usize && conflicts > 0 && conflicts < by_rows, "{said}");
}
