//! MERGE by clauses: B08, B11, B14, B16, and what a plan must not get wrong
//! between ON and the partitions.

use std::sync::Arc;

use deltalake::arrow::array::{ArrayRef, Int32Array, RecordBatch, TimestampMicrosecondArray, TimestampNanosecondArray};
use partwise::error::ErrorKind;
use partwise::ops::{self, Scd2Columns, Strategy, merge_of_clauses};
use partwise::plan::clauses::{Clauses, KeyPair, On};
use partwise::plan::view::{OperationColumn, RowMeaning};
use partwise::plan::{GateStatus, Verdict};
use partwise::progress::Progress;
use partwise::table::Value;
use serde_json::json;

use crate::support::road::{MERGE, effects, gate, partition, refused, request};
use crate::support::writer::{columns, write_batch};
use crate::support::{Bench, Kind, Row, Shape, block_on, i, replay, rows_of, s, sorted};

fn by_day() -> Shape {
    Shape::new(&[("d", Kind::String), ("id", Kind::Integer), ("v", Kind::String)], &["d"])
}

fn row(d: &str, id: i64, v: &str) -> Row {
    vec![s(d), i(id), s(v)]
}

fn clauses(on: Option<&str>, key: &[&str], whens: &[&str]) -> Strategy {
    let key: Vec<String> = key.iter().map(|&k| k.to_owned()).collect();
    let whens: Vec<String> = whens.iter().map(|&w| w.to_owned()).collect();
    merge_of_clauses(on, &key, false, &whens).unwrap_or_else(|e| panic!("{}", e.full_message()))
}

const UPDATE: &str = "MATCHED THEN UPDATE SET *";
const INSERT: &str = "NOT MATCHED THEN INSERT *";

#[test]
fn b08_a_delete_without_its_own_condition_reaches_other_partitions() {
    let bench = Bench::default();
    let rows = [row("01-01", 1, "a"), row("01-01", 2, "b"), row("01-02", 3, "c")];
    let table = bench.table(by_day(), &rows);
    let source = bench.source("s", &by_day().columns, &[row("01-02", 3, "C")]);
    let plan = |delete: &str| {
        let strategy = clauses(Some("t.d = '01-02'"), &["id", "d"], &[UPDATE, INSERT, delete]);
        bench.plan(&table.path, &source, &[], strategy)
    };
    let unscoped = plan("NOT MATCHED BY SOURCE THEN DELETE");
    assert_eq!(effects(&unscoped), (0, Some(1), 0, 2, 0));
    assert_eq!(partition(&unscoped, &json!({"d": "01-01"})).deleted, 2);
    let found = gate(&unscoped, "deletes-outside-slice");
    assert_eq!((found.status, &found.observed), (GateStatus::Fail, &json!(2)));
    assert_eq!(json!(found.partitions), json!([{"d": "01-01"}]));
    assert_eq!(unscoped.verdict, Verdict::Blocked);
    assert_eq!(refused(bench.apply_with(&unscoped, &Default::default())).exit_code(), 3);
    assert_eq!(rows_of(&table.path), rows);

    let scoped = plan("NOT MATCHED BY SOURCE AND t.d = '01-02' THEN DELETE");
    assert_eq!(effects(&scoped), (0, Some(1), 0, 0, 0));
    assert_eq!(gate(&scoped, "deletes-outside-slice").status, GateStatus::Pass);
    bench.apply(&scoped).unwrap();
    assert_eq!(rows_of(&table.path), [row("01-01", 1, "a"), row("01-01", 2, "b"), row("01-02", 3, "C")]);
}

#[test]
fn b11_null_keys_in_clauses() {
    let bench = Bench::default();
    let shape = Shape::new(&[("id", Kind::Long), ("v", Kind::String)], &[]);
    let rows: Vec<Row> = vec![vec![i(1), s("a")], vec![Value::Null, s("b")]];
    let table = bench.table(shape.clone(), &rows);
    let source = bench.source("s", &shape.columns, &rows);
    let safe = clauses(Some("t.id <=> s.id"), &[], &[UPDATE, INSERT]);
    let plan = bench.plan(&table.path, &source, &[], safe);
    assert_eq!((plan.rows.unchanged, plan.rows.inserted, plan.verdict), (2, 0, Verdict::NoOp));
    let (plan, _) = bench.run(&table.path, &source, &[], clauses(None, &["id"], &[UPDATE, INSERT]));
    assert_eq!((plan.rows.unchanged, plan.rows.inserted, plan.rows.table_after), (1, 1, Some(3)));
    assert_eq!((plan.keys.nulls.source, plan.keys.nulls.target), (1, 1));
}

/// (a) and (b) with clauses that have conditions: which of two rows is meant is
/// open even where neither changes anything. An unconditional DELETE is none of that.
#[test]
fn b14_two_source_rows_for_one_target_row_by_clauses() {
    let bench = Bench::default();
    let shape = Shape::new(&[("id", Kind::Integer), ("v", Kind::String)], &[]);
    let table = bench.table(shape.clone(), &[vec![i(1), s("a")]]);
    for (name, second) in [("different", "c"), ("identical", "b")] {
        let source = bench.source(name, &shape.columns, &[vec![i(1), s("b")], vec![i(1), s(second)]]);
        for when in ["MATCHED AND s.v > t.v THEN UPDATE SET *", "MATCHED AND s.v > t.v THEN DELETE"] {
            let plan = bench.plan(&table.path, &source, &[], clauses(None, &["id"], &[when]));
            assert_eq!(plan.refusals[0].kind, ErrorKind::DuplicateSourceKeys, "{name} {when}");
        }
        let plan = bench.plan(&table.path, &source, &[], clauses(None, &["id"], &["MATCHED THEN DELETE"]));
        assert_eq!((plan.refusals.len(), plan.rows.deleted, plan.rows.ignored), (0, 1, 0));
    }
    assert_eq!(replay::newest(&table.path), 0);
}

/// Naive, zoned and finer times are one instant; the table's type and protocol stay.
#[test]
fn b16_a_timestamp_key_in_three_forms() {
    let shape = Shape::new(&[("ts", Kind::Timestamp), ("v", Kind::Integer)], &[]);
    let midnight = 1_704_067_200_000_000_i64;
    let naive = columns(&[("ts", Kind::TimestampNtz), ("v", Kind::Integer)]);
    for (name, list, cell) in
        [("naive", naive, Value::TimestampNtz(midnight)), ("zoned", shape.columns.clone(), Value::Timestamp(midnight))]
    {
        let bench = Bench::default();
        let table = bench.table(shape.clone(), &[vec![Value::Timestamp(midnight), i(1)]]);
        let before = replay::replay(&table.path).unwrap();
        let source = bench.source(name, &list, &[vec![cell, i(2)]]);
        let (plan, _) = bench.run(&table.path, &source, &["ts"], MERGE);
        assert_eq!(effects(&plan), (0, Some(1), 0, 0, 0), "{name}");
        assert_eq!(plan.findings.iter().any(|f| f.contains("AssumedUtc")), name == "naive", "{:?}", plan.findings);
        let after = replay::replay(&table.path).unwrap();
        assert_eq!((&after.protocol, &after.metadata), (&before.protocol, &before.metadata));
        assert_eq!(rows_of(&table.path), [vec![Value::Timestamp(midnight), i(2)]]);
    }
}

/// B16, as other tools deliver it: nanoseconds, and an instant with the name of
/// another zone beside it. A rest of nanoseconds would be lost, and is refused.
#[test]
fn b16_a_timestamp_key_in_nanoseconds_and_another_zone() {
    let shape = Shape::new(&[("ts", Kind::Timestamp), ("v", Kind::Integer)], &[]);
    let midnight = 1_704_067_200_000_000_i64;
    let chicago = TimestampMicrosecondArray::from(vec![midnight]).with_timezone("America/Chicago");
    let nanos = TimestampNanosecondArray::from(vec![midnight * 1_000]).with_timezone("UTC");
    let rest = TimestampNanosecondArray::from(vec![midnight * 1_000 + 1]).with_timezone("UTC");
    let cases: [(&str, ArrayRef, bool); 3] =
        [("chicago", Arc::new(chicago), true), ("nanos", Arc::new(nanos), true), ("rest", Arc::new(rest), false)];
    for (name, times, fits) in cases {
        let bench = Bench::default();
        let table = bench.table(shape.clone(), &[vec![Value::Timestamp(midnight), i(1)]]);
        let path = bench.path(name).with_extension("parquet");
        let columns = [("ts", times), ("v", Arc::new(Int32Array::from(vec![2])) as ArrayRef)];
        write_batch(&path, &RecordBatch::try_from_iter(columns).unwrap());
        let source = path.to_string_lossy();
        if fits {
            let (plan, _) = bench.run(&table.path, &source, &["ts"], MERGE);
            assert_eq!(effects(&plan), (0, Some(1), 0, 0, 0), "{name}");
            assert_eq!(rows_of(&table.path), [vec![Value::Timestamp(midnight), i(2)]], "{name}");
        } else {
            let error = bench.prepare(&table.path, &source, &["ts"], MERGE).map(drop).unwrap_err();
            assert!(error.full_message().contains("ts"), "{}", error.full_message());
            assert_eq!(rows_of(&table.path), [vec![Value::Timestamp(midnight), i(1)]], "{name}");
        }
    }
}

/// ON compares the partition with another column of the source: the row to
/// match lies in a partition that the source does not deliver.
#[test]
fn a_partition_that_on_compares_with_another_column_is_searched() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[row("01-01", 1, "a"), row("01-03", 2, "b")]);
    let mut wide = by_day().columns;
    wide.extend(columns(&[("old_d", Kind::String)]));
    let source = bench.source("s", &wide, &[vec![s("01-02"), i(1), s("A"), s("01-01")]]);
    let on = Some("t.id = s.id AND t.d = s.old_d");
    let strategy = clauses(on, &[], &["MATCHED THEN UPDATE SET d = s.d, v = s.v", INSERT]);
    let (plan, _) = bench.run(&table.path, &source, &[], strategy);
    assert_eq!((plan.rows.inserted, plan.rows.updated, plan.rows.moved), (0, Some(1), 1));
    assert_eq!(gate(&plan, "keys-elsewhere").status, GateStatus::Warn);
    assert_eq!(rows_of(&table.path), [row("01-02", 1, "A"), row("01-03", 2, "b")]);
}

/// One column of the table in two equalities.
#[test]
fn a_column_that_on_compares_twice() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[row("01-01", 1, "a"), row("01-01", 2, "b")]);
    let mut wide = by_day().columns;
    wide.extend(columns(&[("other", Kind::Integer)]));
    let cells = |id: i64, v: &str, other: i64| vec![s("01-01"), i(id), s(v), i(other)];
    let source = bench.source("s", &wide, &[cells(1, "A", 1), cells(2, "B", 1)]);
    let pair = |source: &str, null_safe| KeyPair { target: "id".into(), source: source.into(), null_safe };
    for safe in [false, true] {
        let on = On { keys: vec![pair("id", safe), pair("other", false)], condition: None };
        let strategy = Strategy::Clauses { on, clauses: Clauses::upsert() };
        let plan = bench.plan(&table.path, &source, &[], strategy);
        assert_eq!((plan.rows.updated, plan.rows.inserted, plan.rows.zombies), (Some(1), 1, 1), "{safe}");
    }
}

/// A row that is kept in a partition without source rows is counted and shown there.
#[test]
fn a_kept_row_of_another_partition_is_counted() {
    let bench = Bench::default();
    let rows = [row("01-01", 1, "a"), row("01-02", 2, "b")];
    let table = bench.table(by_day(), &rows);
    let source = bench.source("s", &by_day().columns, &[row("01-02", 1, "A")]);
    let plan = bench.plan(&table.path, &source, &["id"], Strategy::InsertOnly { null_safe_keys: false });
    assert_eq!((plan.rows.kept, plan.rows.ignored, plan.rows.inserted), (1, 1, 0));
    assert_eq!(partition(&plan, &json!({"d": "01-01"})).kept, 1);
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), sorted(rows.to_vec()));
}

/// A source without the partition column: its ignored rows are in no partition,
/// and counted all the same.
#[test]
fn an_ignored_row_without_a_partition_is_counted() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[row("01-01", 1, "a")]);
    let narrow = columns(&[("id", Kind::Integer), ("v", Kind::String)]);
    let source = bench.source("s", &narrow, &[vec![i(1), s("A")], vec![i(9), s("Z")]]);
    let strategy = clauses(None, &["id"], &["MATCHED THEN UPDATE SET v = s.v"]);
    let (plan, _) = bench.run(&table.path, &source, &[], strategy);
    assert_eq!((plan.rows.updated, plan.rows.ignored, plan.rows.source), (Some(1), 1, 2));
    assert_eq!(rows_of(&table.path), [row("01-01", 1, "A")]);
}

/// Two open versions of one key: both are closed, one new version begins.
#[test]
fn two_open_versions_are_closed_by_one_new_one() {
    let bench = Bench::default();
    let list = [("id", Kind::Long), ("v", Kind::String), ("from", Kind::Long), ("to", Kind::Long)];
    let shape = Shape::new(&list, &[]);
    let version = |v: &str, from: i64, to: Value| vec![i(1), s(v), i(from), to];
    let table = bench.table(shape, &[version("a", 1, Value::Null), version("b", 2, Value::Null)]);
    let delivered = columns(&[("id", Kind::Long), ("v", Kind::String), ("at", Kind::Long)]);
    let source = bench.source("s", &delivered, &[vec![i(1), s("c"), i(9)]]);
    let scd2 = Strategy::Scd2(Scd2Columns {
        effective_from: "from".into(),
        effective_to: "to".into(),
        effective_at: "s.at".into(),
        ..Scd2Columns::default()
    });
    let (plan, _) = bench.run(&table.path, &source, &["id"], scd2);
    assert_eq!((plan.rows.source, plan.rows.updated, plan.rows.inserted), (1, Some(2), 1));
    let want = [version("a", 1, i(9)), version("b", 2, i(9)), version("c", 9, Value::Null)];
    assert_eq!(rows_of(&table.path), sorted(want.to_vec()));
}

/// Of one time: the same row twice is one, a row and its deletion are two, and
/// which of them is meant cannot be told, whatever the clauses do.
#[test]
fn a_row_and_its_deletion_of_one_time_are_refused() {
    let bench = Bench::default();
    let table = bench.table(by_day(), &[row("01-01", 1, "a")]);
    let mut wide = by_day().columns;
    wide.extend(columns(&[("op", Kind::String), ("seq", Kind::Long)]));
    let said = |v: &str, op: &str| vec![s("01-01"), i(1), s(v), s(op), i(5)];
    let plan = |name: &str, rows: &[Row], strategy: Strategy| {
        let source = bench.source(name, &wide, rows);
        let mut request = request(&source, &["id"]);
        let codes = [("U", RowMeaning::Upsert), ("D", RowMeaning::Delete)];
        let codes = codes.map(|(code, meaning)| (Some(code.to_owned()), meaning)).to_vec();
        request.view.operations = Some(OperationColumn { column: "op".into(), codes });
        request.view.latest_by = Some("seq".into());
        let open = bench.open(&table.path).unwrap();
        block_on(ops::prepare(&bench.context, &open, &request, strategy, &Progress::default())).unwrap().plan
    };
    let late = Strategy::InsertOnly { null_safe_keys: false };
    for strategy in [MERGE, late] {
        for (name, rows) in [("ud", ["U", "D"]), ("du", ["D", "U"])] {
            let rows = rows.map(|op| said("b", op));
            let refusals = plan(name, &rows, strategy.clone()).refusals;
            assert_eq!(refusals.first().map(|r| r.kind), Some(ErrorKind::DuplicateSourceKeys), "{strategy:?} {name}");
        }
    }
    let three = ["b", "c", "c"].map(|v| said(v, "U"));
    let three = plan("three", &three, MERGE);
    assert_eq!((three.keys.duplicates.source, three.rows.ignored), (1, 1));
}
