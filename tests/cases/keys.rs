//! When two rows are the same row: B11, B12, B14.

use partwise::error::ErrorKind;
use partwise::ops::{self, Strategy};
use partwise::plan::{GateStatus, Verdict};
use partwise::progress::Progress;
use partwise::table::Value;

use crate::support::road::{MERGE, MERGE_NULL_SAFE, effects, gate, refused, request};
use crate::support::writer::columns;
use crate::support::{Bench, Kind, Row, Shape, block_on, i, replay, rows_of, s};

fn keyed(kind: Kind) -> Shape {
    Shape::new(&[("id", kind), ("v", Kind::String)], &[])
}

#[test]
fn b11_null_keys_are_added_again_on_each_run() {
    let bench = Bench::default();
    let rows: Vec<Row> = vec![vec![i(1), s("a")], vec![Value::Null, s("b")]];
    let table = bench.table(keyed(Kind::Long), &rows);
    let source = bench.source("s", &keyed(Kind::Long).columns, &rows);

    let safe = bench.plan(&table.path, &source, &["id"], MERGE_NULL_SAFE);
    assert_eq!(effects(&safe), (0, Some(0), 2, 0, 0));
    assert_eq!((safe.verdict, gate(&safe, "null-keys").status), (Verdict::NoOp, GateStatus::Warn));

    for rows_after in [3, 4] {
        let (plan, _) = bench.run(&table.path, &source, &["id"], MERGE);
        assert_eq!(gate(&plan, "null-keys").status, GateStatus::Fail);
        assert_eq!((plan.rows.inserted, plan.rows.unchanged), (1, 1));
        assert_eq!((plan.keys.nulls.source, plan.rows.table_after), (1, Some(rows_after)));
        assert_eq!(rows_of(&table.path).len() as u64, rows_after);
    }
}

#[test]
fn b12_keys_of_different_types_are_refused() {
    let bench = Bench::default();
    let rows: Vec<Row> = vec![vec![s("006"), s("a")], vec![s("6"), s("b")], vec![s("007"), s("c")]];
    let table = bench.table(keyed(Kind::String), &rows);
    let numbers = bench.source("n", &keyed(Kind::Long).columns, &[vec![i(6), s("A")], vec![i(7), s("C")]]);
    for strategy in [MERGE, Strategy::Overwrite] {
        let plan = bench.plan(&table.path, &numbers, &["id"], strategy);
        let found = plan.refusals.iter().find(|r| r.kind == ErrorKind::KeyTypeMismatch);
        let message = &found.unwrap_or_else(|| panic!("not refused: {:?}", plan.refusals)).message;
        assert!(message.contains("string") && message.contains("long"), "{message}");
        assert_eq!(refused(bench.apply(&plan)).exit_code(), 5);
    }
    assert_eq!(replay::newest(&table.path), 0);
    let ids: Vec<Value> = rows_of(&table.path).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(ids, [s("006"), s("007"), s("6")]);
}

#[test]
fn b12_the_other_way_round() {
    let bench = Bench::default();
    let table = bench.table(keyed(Kind::Long), &[vec![i(6), s("a")]]);
    let texts = bench.source("t", &keyed(Kind::String).columns, &[vec![s("x"), s("A")]]);
    let plan = bench.plan(&table.path, &texts, &["id"], MERGE);
    assert!(plan.refusals.iter().any(|r| r.kind == ErrorKind::KeyTypeMismatch), "{:?}", plan.refusals);
}

#[test]
fn b12_with_an_explicit_cast() {
    let bench = Bench::default();
    let rows: Vec<Row> = vec![vec![s("006"), s("a")], vec![s("6"), s("b")], vec![s("007"), s("c")]];
    let table = bench.table(keyed(Kind::String), &rows);
    let source = bench.source("n", &keyed(Kind::Long).columns, &[vec![i(6), s("A")], vec![i(7), s("C")]]);
    let mut request = request(&source, &["id"]);
    request.view.columns = vec![("id".into(), "CAST(s.id AS STRING)".into())];
    let open = bench.open(&table.path).unwrap();
    let plan = block_on(ops::prepare(&bench.context, &open, &request, MERGE, &Progress::default())).unwrap().plan;
    assert_eq!((plan.rows.updated, plan.rows.inserted, plan.rows.table_after), (Some(1), 1, Some(4)));
    bench.apply(&plan).unwrap();
    let want: [Row; 4] = [vec![s("006"), s("a")], vec![s("007"), s("c")], vec![s("6"), s("A")], vec![s("7"), s("C")]];
    assert_eq!(rows_of(&table.path), want);
}

#[test]
fn b14_two_source_rows_for_one_target_row() {
    let bench = Bench::default();
    let table = bench.table(keyed(Kind::Integer), &[vec![i(1), s("a")]]);
    let shape = keyed(Kind::Integer);
    for (name, second) in [("different", "c"), ("identical", "b")] {
        let source = bench.source(name, &shape.columns, &[vec![i(1), s("b")], vec![i(1), s(second)]]);
        let plan = bench.plan(&table.path, &source, &["id"], MERGE);
        let found = plan.refusals.iter().find(|r| r.kind == ErrorKind::DuplicateSourceKeys);
        let found = found.unwrap_or_else(|| panic!("{name}: not refused: {:?}", plan.refusals));
        let said = format!("{} {}", found.message, plan.keys.examples.join(" "));
        assert!(said.contains('1'), "the key is not named: {said}");
        assert_eq!((plan.verdict, plan.keys.duplicates.source), (Verdict::Blocked, 1));
        assert_eq!(refused(bench.apply(&plan)).exit_code(), 5);
    }
    assert_eq!(replay::newest(&table.path), 0);
}

#[test]
fn b14_duplicates_among_the_inserts_are_gated() {
    let bench = Bench::default();
    let table = bench.table(keyed(Kind::Integer), &[vec![i(1), s("a")]]);
    let rows: [Row; 2] = [vec![i(9), s("x")], vec![i(9), s("y")]];
    let source = bench.source("s", &keyed(Kind::Integer).columns, &rows);
    let (plan, _) = bench.run(&table.path, &source, &["id"], MERGE);
    assert_eq!(gate(&plan, "duplicate-keys").status, GateStatus::Fail);
    assert_eq!((plan.rows.inserted, plan.keys.duplicates.source, plan.rows.table_after), (2, 1, Some(3)));
    assert_eq!(rows_of(&table.path).len(), 3);
}

#[test]
fn b14_no_false_alarm_among_many_unique_keys() {
    let bench = Bench::default();
    let shape = Shape::new(&[("id", Kind::Integer), ("v", Kind::Integer)], &[]);
    let old: Vec<Row> = (0..100_000).map(|n| vec![i(n), i(0)]).collect();
    // In another order: a stride that is coprime to the number of rows.
    let new: Vec<Row> = (0..100_000_i64).map(|n| vec![i(n * 7_919 % 100_000), i(1)]).collect();
    let table = bench.table(shape.clone(), &old);
    let source = bench.source("s", &shape.columns, &new);
    let plan = bench.plan(&table.path, &source, &["id"], MERGE);
    assert_eq!(effects(&plan), (0, Some(100_000), 0, 0, 0));
    assert!(plan.refusals.is_empty() && plan.blocking().is_empty());
}

#[test]
fn duplicates_within_a_key_are_paired_as_a_multiset() {
    let bench = Bench::default();
    let shape = Shape::new(&[("p", Kind::String), ("id", Kind::Integer), ("v", Kind::String)], &["p"]);
    let row = |v: &str| vec![s("p"), i(1), s(v)];
    let table = bench.table(shape.clone(), &[row("a"), row("a"), row("b"), row("c")]);
    let source = bench.source(
        "s",
        &columns(&[("p", Kind::String), ("id", Kind::Integer), ("v", Kind::String)]),
        &[row("c"), row("a"), row("z")],
    );
    let (plan, _) = bench.run(&table.path, &source, &["id"], Strategy::Overwrite);
    // c and a are there already; z pairs with one of the rest, and one is left.
    assert_eq!(effects(&plan), (0, Some(1), 2, 1, 0));
    assert_eq!((plan.keys.duplicates.source, plan.keys.duplicates.target), (2, 3));
    assert_eq!(rows_of(&table.path), [row("a"), row("c"), row("z")]);
}

/// Whatever stands for NULL inside the program, no text may be taken for it.
#[test]
fn no_text_is_taken_for_null() {
    let texts = ["\0NULL", "NULL", "\0", "", "∅", "__HIVE_DEFAULT_PARTITION__"];
    for text in texts {
        let bench = Bench::default();
        let table = bench.table(keyed(Kind::Integer), &[vec![i(1), Value::Null]]);
        let source = bench.source("s", &keyed(Kind::Integer).columns, &[vec![i(1), s(text)]]);
        for strategy in [MERGE, Strategy::Overwrite] {
            let plan = bench.plan(&table.path, &source, &["id"], strategy);
            assert_eq!((plan.rows.updated, plan.rows.unchanged), (Some(1), 0), "{text:?}");
        }
    }
}
