//! Append and static overwrite: what they touch, and why a source is not
//! appended twice.

use partwise::error::ErrorKind;
use partwise::ops::{ApplyOptions, Strategy};
use partwise::plan::{GateStatus, Verdict};

use crate::support::road::{gate, refused};
use crate::support::{Bench, Kind, Row, Shape, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("id", Kind::Integer)], &["d"])
}

fn row(d: &str, id: i64) -> Row {
    vec![s(d), i(id)]
}

#[test]
fn the_same_source_is_not_appended_twice_until_it_was_taken_back() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let source = bench.source("s", &shape().columns, &[row("a", 3), row("c", 4)]);
    let (plan, report) = bench.run(&table.path, &source, &["id"], Strategy::Append);
    assert_eq!((plan.rows.inserted, plan.rows.deleted, plan.rows.zombies), (2, 0, 0));
    assert_eq!((report.files_added, report.files_removed), (2, 0));
    let appended = [row("a", 1), row("a", 3), row("b", 2), row("c", 4)];
    assert_eq!(rows_of(&table.path), appended);

    let again = bench.plan(&table.path, &source, &["id"], Strategy::Append);
    assert_eq!(again.verdict, Verdict::Blocked);
    assert_eq!(gate(&again, "already-applied").status, GateStatus::Fail);
    assert_eq!(again.keys.existing, 2);
    assert_eq!(refused(bench.apply_with(&again, &ApplyOptions::default())).kind, ErrorKind::GateFailed);
    assert_eq!(rows_of(&table.path), appended);

    // A copy of the file is the same delivery.
    let copy = bench.path("copy.parquet");
    std::fs::copy(&source, &copy).unwrap();
    let copied = bench.plan(&table.path, &copy.to_string_lossy(), &["id"], Strategy::Append);
    assert_eq!(gate(&copied, "already-applied").status, GateStatus::Fail);
    assert_eq!(gate(&copied, "duplicate-keys").status, GateStatus::Warn);

    bench.undo(&table.path);
    let after_undo = bench.plan(&table.path, &source, &["id"], Strategy::Append);
    assert_eq!(gate(&after_undo, "already-applied").status, GateStatus::Pass);
}

#[test]
fn an_append_lands_beside_an_append_to_the_same_partition() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1)]);
    let (first, second) =
        (bench.source("s", &shape().columns, &[row("a", 2)]), bench.source("t", &shape().columns, &[row("a", 3)]));
    let plan = bench.plan(&table.path, &first, &["id"], Strategy::Append);
    bench.run(&table.path, &second, &["id"], Strategy::Append);
    let report = bench.apply(&plan).unwrap();
    assert_eq!(report.rebased_over, [1]);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("a", 2), row("a", 3)]);
}

#[test]
fn a_static_overwrite_says_which_partitions_it_empties() {
    let bench = Bench::default();
    let rows: Vec<Row> = (0..60).map(|n| row(if n < 30 { "a" } else { "b" }, n)).collect();
    let table = bench.table(shape(), &rows);
    let source = bench.source("s", &shape().columns, &rows[..30]);
    let plan = bench.plan(&table.path, &source, &["id"], Strategy::OverwriteAll);
    assert_eq!((plan.rows.deleted, plan.rows.unchanged), (30, 30));
    assert_eq!((plan.layout.before.partitions, plan.layout.after.partitions), (2, 1));
    assert_eq!(plan.verdict, Verdict::Blocked);
    assert_eq!(gate(&plan, "row-count").status, GateStatus::Fail);
    assert_eq!(gate(&plan, "missing-slice").status, GateStatus::Fail);
    let overrides = ["row-count", "missing-slice"].map(|name| (name.into(), "b was closed".into()));
    let known = ApplyOptions { overrides: overrides.into(), strict: false };
    bench.apply_with(&plan, &known).unwrap();
    assert_eq!(rows_of(&table.path), rows[..30]);
}

/// Two people, one extract: the second plan was made before the first commit.
#[test]
fn two_plans_of_one_source_append_it_once() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1)]);
    let source = bench.source("s", &shape().columns, &[row("b", 2)]);
    let first = bench.plan(&table.path, &source, &["id"], Strategy::Append);
    let second = bench.plan(&table.path, &source, &["id"], Strategy::Append);
    bench.apply(&first).unwrap();
    assert_eq!(refused(bench.apply_with(&second, &ApplyOptions::default())).kind, ErrorKind::StalePlan);
    // Nor does the same plan run twice, and the live files are untouched by the attempt.
    assert_eq!(refused(bench.apply_with(&first, &ApplyOptions::default())).kind, ErrorKind::StalePlan);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("b", 2)]);
}

#[test]
fn a_plan_that_would_have_changed_nothing_is_stale_too() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let source = bench.source("s", &shape().columns, &[row("a", 1)]);
    let plan = bench.plan(&table.path, &source, &["id"], Strategy::Overwrite);
    assert_eq!(plan.verdict, Verdict::NoOp);
    let other = bench.source("t", &shape().columns, &[row("a", 3)]);
    bench.run(&table.path, &other, &["id"], Strategy::Append);
    assert_eq!(refused(bench.apply_with(&plan, &ApplyOptions::default())).kind, ErrorKind::StalePlan);
}
