//! Replace where: B03, B05, B34 and the rest of K1, by a predicate.

use partwise::error::ErrorKind;
use partwise::ops::Strategy;
use partwise::plan::{GateStatus, Verdict};
use partwise::table::Value;
use serde_json::json;

use crate::support::replay::{actions, newest, replay};
use crate::support::road::{effects, gate, refused};
use crate::support::{Bench, Kind, Row, Shape, exact, i, rows_of, s, sorted};

fn where_(predicate: &str) -> Strategy {
    Strategy::ReplaceWhere { predicate: predicate.to_owned() }
}

fn by_day() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

/// Input 1: the row with NULL is not chosen and stays.
#[test]
fn b05_a_row_with_null_in_the_predicate_column_stays() {
    let bench = Bench::default();
    let shape = Shape::new(&[("k", Kind::String), ("v", Kind::Long)], &[]);
    let table = bench.table(shape.clone(), &[vec![s("a"), i(1)], vec![s("b"), Value::Null], vec![s("c"), i(9)]]);
    let before = exact(&rows_of(&table.path));
    let source = bench.source("s", &shape.columns, &[vec![s("z"), i(10)]]);
    let (plan, _) = bench.run(&table.path, &source, &[], where_("v > 5"));
    assert_eq!((plan.rows.deleted, plan.rows.inserted, plan.rows.table_after), (1, 1, Some(3)));
    assert_eq!(plan.partitions[0].before - plan.rows.deleted, 2, "two rows are kept");
    assert_eq!(rows_of(&table.path), [vec![s("a"), i(1)], vec![s("b"), Value::Null], vec![s("z"), i(10)]]);
    bench.undo(&table.path);
    assert_eq!(exact(&rows_of(&table.path)), before);
}

/// Input 2, with the partitions named by a predicate; NULL has to be asked for.
#[test]
fn b05_the_null_partition_by_a_predicate() {
    let rows: [Row; 2] = [vec![s("a"), i(1)], vec![Value::Null, i(2)]];
    let new: [Row; 2] = [vec![s("a"), i(10)], vec![Value::Null, i(20)]];
    let bench = Bench::default();
    let table = bench.table(by_day(), &rows);
    let source = bench.source("s", &by_day().columns, &new);
    for predicate in ["d = 'a'", "d IN ('a', NULL)"] {
        let plan = bench.plan(&table.path, &source, &[], where_(predicate));
        assert_eq!(plan.refusals[0].kind, ErrorKind::RowsOutsidePredicate, "{predicate}");
        assert_eq!(refused(bench.apply(&plan)).exit_code(), 5);
    }
    assert_eq!(rows_of(&table.path), sorted(rows.to_vec()));
    let (plan, _) = bench.run(&table.path, &source, &[], where_("d = 'a' OR d IS NULL"));
    let labels: Vec<String> = plan.partitions.iter().map(|p| p.label()).collect();
    assert_eq!(labels, ["d=∅", "d=a"]);
    assert_eq!(rows_of(&table.path), sorted(new.to_vec()));
}

/// Run (b): the row that would go is counted, and the gate stops it. Run (d): a
/// table without files takes its first row.
#[test]
fn b03_an_empty_source_by_a_predicate() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[vec![s("2024-01-01"), i(1)], vec![s("2024-01-02"), i(2)]]);
    let source = bench.source("s", &by_day().columns, &[]);
    let plan = bench.plan(&table.path, &source, &[], where_("d = '2024-01-02'"));
    assert_eq!((plan.rows.deleted, plan.rows.source, plan.verdict), (1, 0, Verdict::Blocked));
    assert_eq!(gate(&plan, "empty-source").status, GateStatus::Fail);
    // Overridden with a reason, it is what was asked for.
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [vec![s("2024-01-01"), i(1)]]);

    let bench = Bench::default();
    let empty = bench.table(by_day(), &[]);
    let one = bench.source("one", &by_day().columns, &[vec![s("2024-01-02"), i(1)]]);
    let (plan, _) = bench.run(&empty.path, &one, &[], where_("d = '2024-01-02'"));
    assert_eq!((plan.rows.inserted, plan.rows.table_before), (1, Some(0)));
    assert_eq!(rows_of(&empty.path), [vec![s("2024-01-02"), i(1)]]);
}

/// B08: the predicate is the scope, whatever the source lacks elsewhere.
#[test]
fn b08_what_is_missing_goes_within_the_predicate_only() {
    let bench = Bench::default();
    let shape = Shape::new(&[("d", Kind::String), ("id", Kind::Integer), ("v", Kind::String)], &["d"]);
    let row = |d: &str, id: i64, v: &str| vec![s(d), i(id), s(v)];
    let table = bench.table(shape.clone(), &[row("01-01", 1, "a"), row("01-01", 2, "b"), row("01-02", 3, "c")]);
    let source = bench.source("s", &shape.columns, &[row("01-02", 3, "C")]);
    let (plan, _) = bench.run(&table.path, &source, &["id"], where_("d = '01-02'"));
    assert_eq!(effects(&plan), (0, Some(1), 0, 0, 0));
    assert_eq!(rows_of(&table.path), [row("01-01", 1, "a"), row("01-01", 2, "b"), row("01-02", 3, "C")]);
}

/// Column mapping: the predicate has the logical names, files and log the physical ones.
#[test]
fn b34_a_column_mapped_table_by_a_predicate() {
    for predicate in ["day = 'a'", "amount < 2"] {
        let bench = Bench::default();
        let shape = Shape { mapped: true, ..Shape::new(&[("day", Kind::String), ("amount", Kind::Long)], &["day"]) };
        let table = bench.table(shape.clone(), &[vec![s("a"), i(1)], vec![s("b"), i(2)]]);
        let new = if predicate.starts_with("day") { 99 } else { -99 };
        let source = bench.source("s", &shape.columns, &[vec![s("a"), i(new)]]);
        let (plan, _) = bench.run(&table.path, &source, &[], where_(predicate));
        assert_eq!((plan.rows.deleted, plan.rows.inserted), (1, 1), "{predicate}");
        assert_eq!(json!(plan.partitions[0].values), json!({"day": "a"}));
        assert_eq!(rows_of(&table.path), [vec![s("a"), i(new)], vec![s("b"), i(2)]]);
        let adds: Vec<_> = actions(&table.path, 1).into_iter().filter_map(|a| a.get("add").cloned()).collect();
        assert_eq!(adds.len(), 1);
        assert_eq!(adds[0]["partitionValues"], json!({"col-day": "a"}));
        assert!(adds[0]["stats"].as_str().unwrap().contains("col-amount"), "{}", adds[0]["stats"]);
        bench.undo(&table.path);
        assert_eq!(rows_of(&table.path), [vec![s("a"), i(1)], vec![s("b"), i(2)]]);
    }
}

/// Overwriting one partition of a mapped table, as the case has it.
#[test]
fn b34_a_column_mapped_table_by_overwrite_and_merge() {
    let bench = Bench::default();
    let shape = Shape { mapped: true, ..Shape::new(&[("day", Kind::String), ("amount", Kind::Long)], &["day"]) };
    let table = bench.table(shape.clone(), &[vec![s("a"), i(1)], vec![s("b"), i(2)]]);
    let source = bench.source("s", &shape.columns, &[vec![s("a"), i(99)]]);
    let merge = bench.plan(&table.path, &source, &["day"], crate::support::road::MERGE);
    assert_eq!(effects(&merge), (0, Some(1), 0, 0, 0));
    bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!(rows_of(&table.path), [vec![s("a"), i(99)], vec![s("b"), i(2)]]);
    assert_eq!(newest(&table.path), 1);
    let live = replay(&table.path).unwrap().live;
    assert!(live.values().all(|add| add["partitionValues"].get("day").is_none()));
}
