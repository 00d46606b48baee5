//! What an overwrite or a MERGE may touch: B02, B03, B05, B07, B08, B10.

use partwise::error::ErrorKind;
use partwise::ops::{ApplyOptions, Strategy};
use partwise::plan::{GateStatus, Verdict};
use partwise::table::Value;
use serde_json::json;

use crate::support::road::{MERGE, MERGE_DELETE, effects, gate, partition, refused};
use crate::support::writer::columns;
use crate::support::{Bench, Fixture, Kind, Row, Shape, i, replay, rows_of, s};

fn by_day() -> Shape {
    Shape::new(&[("d", Kind::String), ("id", Kind::Integer), ("v", Kind::String)], &["d"])
}

fn row(d: &str, id: i64, v: &str) -> Row {
    vec![s(d), i(id), s(v)]
}

/// The live `add` actions outside a partition, as text.
fn adds_elsewhere(table: &Fixture, d: &str) -> Vec<String> {
    let state = replay::replay(&table.path).unwrap();
    state.live.values().filter(|add| add["partitionValues"]["d"] != json!(d)).map(|add| add.to_string()).collect()
}

#[test]
fn b02_an_overwrite_of_one_day_keeps_the_others_byte_for_byte() {
    let bench = Bench::default();
    let shape = Shape::new(&[("d", Kind::Date), ("v", Kind::Integer)], &["d"]);
    let rows: Vec<Row> = (0..6).map(|n| vec![Value::Date(19_870 + n / 2), i(n.into())]).collect();
    let table = bench.table(shape.clone(), &rows);
    let kept = |state: &replay::Replayed| {
        let other = |add: &&serde_json::Value| add["partitionValues"]["d"] != json!("2024-05-28");
        state.live.values().filter(other).map(ToString::to_string).collect::<Vec<_>>()
    };
    let before = kept(&replay::replay(&table.path).unwrap());
    assert_eq!(before.len(), 2, "2024-05-28 is one of the three days");

    let new: Vec<Row> = vec![vec![Value::Date(19_871), i(70)], vec![Value::Date(19_871), i(71)]];
    let source = bench.source("s", &shape.columns, &new);
    let (plan, report) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!(plan.partitions.len(), 1);
    assert_eq!((plan.rows.table_before, plan.rows.table_after), (Some(6), Some(6)));
    assert_eq!(json!(plan.spec)["mode"], "dynamic");
    assert_eq!(report.files_removed, 1);
    let state = replay::replay(&table.path).unwrap();
    assert_eq!(kept(&state), before);
    assert_eq!(state.rows(&table.path).len(), 6);
}

/// Static is said and never guessed, and what it empties stops it.
#[test]
fn b02_a_static_overwrite_of_one_day_empties_the_others() {
    let bench = Bench::default();
    let shape = Shape::new(&[("d", Kind::Date), ("v", Kind::Integer)], &["d"]);
    let rows: Vec<Row> = (0..6).map(|n| vec![Value::Date(19_870 + n / 2), i(n.into())]).collect();
    let table = bench.table(shape.clone(), &rows);
    let source =
        bench.source("s", &shape.columns, &[vec![Value::Date(19_871), i(70)], vec![Value::Date(19_871), i(71)]]);
    let plan = bench.plan(&table.path, &source, &[], Strategy::OverwriteAll);
    assert_eq!(json!(plan.spec)["mode"], "static");
    assert_eq!((plan.rows.table_before, plan.rows.table_after, plan.rows.deleted), (Some(6), Some(2), 6));
    assert_eq!((plan.layout.before.partitions, plan.layout.after.partitions), (3, 1));
    assert_eq!((gate(&plan, "missing-slice").status, plan.verdict), (GateStatus::Fail, Verdict::Blocked));
    assert_eq!(refused(bench.apply_with(&plan, &ApplyOptions::default())).exit_code(), 3);
    assert_eq!(rows_of(&table.path), rows);
}

#[test]
fn b03_an_empty_source_never_deletes() {
    let bench = Bench::default();
    let rows = [row("2024-01-01", 1, "a"), row("2024-01-02", 2, "b")];
    let table = bench.table(by_day(), &rows);
    let source = bench.source("s", &by_day().columns, &[]);

    let plan = bench.plan(&table.path, &source, &["id"], Strategy::Overwrite);
    assert!(plan.partitions.is_empty());
    assert_eq!(plan.rows.deleted, 0);
    assert_eq!((gate(&plan, "empty-source").status, plan.verdict), (GateStatus::Fail, Verdict::Blocked));
    let error = refused(bench.apply_with(&plan, &ApplyOptions::default()));
    assert_eq!((error.kind, error.exit_code()), (ErrorKind::GateFailed, 3));
    // Overridden, it still has nothing to do.
    assert_eq!(bench.apply(&plan).unwrap().version_after, None);

    let merge = bench.plan(&table.path, &source, &["id"], MERGE_DELETE);
    assert_eq!((merge.verdict, merge.rows.deleted), (Verdict::NoOp, 0));
    assert_eq!(rows_of(&table.path), rows);
    assert_eq!(replay::newest(&table.path), 0);
}

#[test]
fn b03_a_table_without_files_takes_its_first_row() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[]);
    let source = bench.source("s", &by_day().columns, &[row("2024-01-01", 1, "a")]);
    for strategy in [Strategy::Overwrite, MERGE] {
        let plan = bench.plan(&table.path, &source, &["id"], strategy);
        assert_eq!((plan.rows.inserted, plan.rows.table_before), (1, Some(0)));
    }
    bench.run(&table.path, &source, &["id"], Strategy::Overwrite);
    assert_eq!(rows_of(&table.path), [row("2024-01-01", 1, "a")]);
}

#[test]
fn b05_the_null_partition_is_a_partition_like_any_other() {
    let bench = Bench::default();
    let shape = Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"]);
    let table = bench.table(shape.clone(), &[vec![s("a"), i(1)], vec![Value::Null, i(2)], vec![s("null"), i(3)]]);
    let source = bench.source("s", &shape.columns, &[vec![s("a"), i(10)], vec![Value::Null, i(20)]]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!(plan.partitions.len(), 2);
    let null = partition(&plan, &json!({"d": null}));
    assert_eq!((null.before, null.deleted, null.inserted, null.label()), (1, 1, 1, "d=∅".to_owned()));
    assert_eq!(rows_of(&table.path), [vec![Value::Null, i(20)], vec![s("a"), i(10)], vec![s("null"), i(3)]]);
}

#[test]
fn b07_a_row_whose_partition_changed() {
    let bench = Bench::default();
    let rows = [row("01-01", 1, "a"), row("01-01", 2, "b"), row("01-02", 3, "c")];
    let table = bench.table(by_day(), &rows);
    let source = bench.source("s", &by_day().columns, &[row("01-02", 3, "c"), row("01-02", 1, "a2")]);

    let overwrite = bench.plan(&table.path, &source, &["id"], Strategy::Overwrite);
    assert_eq!(overwrite.keys.elsewhere, Some(1));
    let found = gate(&overwrite, "keys-elsewhere");
    assert_eq!((found.status, &found.observed), (GateStatus::Fail, &json!(1)));
    assert_eq!(overwrite.rows.table_after, Some(4));

    let doubling = bench.plan(&table.path, &source, &["id", "d"], MERGE);
    assert_eq!(gate(&doubling, "keys-elsewhere").status, GateStatus::Fail);
    assert_eq!(doubling.rows.table_after, Some(4));

    let (moving, _) = bench.run(&table.path, &source, &["id"], MERGE);
    assert_eq!((moving.rows.moved, moving.rows.zombies, moving.rows.table_after), (1, 0, Some(3)));
    assert_eq!(partition(&moving, &json!({"d": "01-01"})).moved_out, 1);
    assert_eq!(partition(&moving, &json!({"d": "01-02"})).moved_in, 1);
    assert_eq!(rows_of(&table.path), [row("01-01", 2, "b"), row("01-02", 1, "a2"), row("01-02", 3, "c")]);
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), rows);
}

#[test]
fn b08_deleting_what_is_missing_stays_in_the_delivered_slice() {
    let bench = Bench::default();
    let rows = [row("01-01", 1, "a"), row("01-01", 2, "b"), row("01-02", 3, "c"), row("01-02", 4, "d")];
    let table = bench.table(by_day(), &rows);
    let others = adds_elsewhere(&table, "01-02");
    let source = bench.source("s", &by_day().columns, &[row("01-02", 3, "C")]);
    let (plan, _) = bench.run(&table.path, &source, &["id", "d"], MERGE_DELETE);
    assert_eq!(effects(&plan), (0, Some(1), 0, 1, 0));
    assert_eq!(rows_of(&table.path), [row("01-01", 1, "a"), row("01-01", 2, "b"), row("01-02", 3, "C")]);
    assert_eq!(adds_elsewhere(&table, "01-02"), others);
}

#[test]
fn b10_columns_are_matched_by_name() {
    let bench = Bench::default();
    let shape = Shape::new(&[("foo", Kind::String), ("bar", Kind::String), ("v", Kind::Integer)], &["bar", "foo"]);
    let table = bench.table(shape, &[vec![s("f"), s("b"), i(1)]]);
    let other_order = columns(&[("v", Kind::Integer), ("bar", Kind::String), ("foo", Kind::String)]);
    let source = bench.source("s", &other_order, &[vec![i(2), s("b"), s("f")]]);
    let (plan, _) = bench.run(&table.path, &source, &["foo", "bar"], Strategy::Overwrite);
    assert_eq!(plan.partition_columns, ["bar", "foo"]);
    let names: Vec<&str> = plan.partitions[0].values.keys().map(String::as_str).collect();
    assert_eq!((names, plan.rows.updated), (vec!["bar", "foo"], Some(1)));
    assert_eq!(rows_of(&table.path), [vec![s("f"), s("b"), i(2)]]);
}

#[test]
fn b10_a_missing_column_is_refused_by_name() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[row("a", 1, "x")]);
    let short = bench.source("short", &columns(&[("d", Kind::String), ("id", Kind::Integer)]), &[vec![s("a"), i(1)]]);
    for strategy in [Strategy::Overwrite, MERGE] {
        let plan = bench.plan(&table.path, &short, &["id"], strategy);
        let found = plan.refusals.iter().find(|r| r.kind == ErrorKind::ColumnMissing);
        let found = found.unwrap_or_else(|| panic!("no ColumnMissing among {:?}", plan.refusals));
        assert!(found.message.contains("column v"), "{}", found.message);
        assert_eq!(plan.verdict, Verdict::Blocked);
        assert_eq!(refused(bench.apply(&plan)).exit_code(), 5);
    }
    assert_eq!(rows_of(&table.path), [row("a", 1, "x")]);
}

#[test]
fn b10_a_surplus_column_is_said_and_left_out() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[row("a", 1, "x")]);
    let wide = columns(&[("zz", Kind::String), ("d", Kind::String), ("id", Kind::Integer), ("v", Kind::String)]);
    let wide = bench.source("wide", &wide, &[vec![s("?"), s("a"), i(1), s("y")]]);
    let (plan, _) = bench.run(&table.path, &wide, &["id"], Strategy::Overwrite);
    assert!(plan.findings.iter().any(|f| f.contains("zz")), "{:?}", plan.findings);
    assert_eq!(rows_of(&table.path), [row("a", 1, "y")]);
}

#[test]
fn a_type_that_would_lose_something_is_refused() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[row("a", 1, "x")]);
    let wider = columns(&[("d", Kind::String), ("id", Kind::Double), ("v", Kind::String)]);
    let source = bench.source("s", &wider, &[vec![s("a"), Value::Double(1.5), s("y")]]);
    let plan = bench.plan(&table.path, &source, &[], Strategy::Overwrite);
    assert!(
        plan.refusals.iter().any(|r| r.kind == ErrorKind::LossyType && r.message.contains("id")),
        "{:?}",
        plan.refusals
    );
    assert_eq!(refused(bench.apply(&plan)).exit_code(), 5);
    assert_eq!(replay::newest(&table.path), 0);
}
