//! Undo where later commits rewrote the operation's files.

use std::fs;

use partwise::error::ErrorKind;
use partwise::ops::{ApplyOptions, Strategy, UndoRequest};
use partwise::plan::{GateStatus, Plan, Spec, Verdict};
use partwise::table::Value;
use serde_json::{Value as Json, json};

use super::{row, shape};
use crate::support::replay::{newest, replay};
use crate::support::road::{MERGE, MERGE_DELETE, gate, refused};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, i, rows_of, s, sorted};

/// Plans the undo of an operation, which must be one by rows.
fn by_rows(bench: &Bench, table: &Fixture, operation: &Plan) -> Plan {
    let plan = bench.plan_undo(&table.path, Some(&operation.id)).unwrap_or_else(|e| panic!("{}", e.full_message()));
    assert!(matches!(&plan.spec, Spec::UndoRows(u) if u.undoes == operation.id), "{:?}", plan.spec);
    plan
}

/// v1 is a MERGE that changes key 1, inserts key 5; v2 one of the same files
/// that changes key 2.
fn two_merges(bench: &Bench) -> (Fixture, Plan) {
    let table = bench.table(shape(), &[row("a", 1, 1), row("a", 2, 2), row("a", 3, 3), row("b", 4, 4)]);
    let source = bench.source("one", &shape().columns, &[row("a", 1, 10), row("a", 5, 50)]);
    let (first, _) = bench.run(&table.path, &source, &["k"], MERGE);
    let source = bench.source("two", &shape().columns, &[row("a", 2, 20)]);
    bench.run(&table.path, &source, &["k"], MERGE);
    (table, first)
}

#[test]
fn later_changes_to_other_rows_stay() {
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let plan = by_rows(&bench, &table, &first);
    assert_eq!(plan.key, ["k"], "the operation's own key, from its commit");
    assert_eq!((plan.rows.updated, plan.rows.deleted, plan.rows.inserted), (Some(1), 1, 0));
    assert_eq!(gate(&plan, "later-changes").status, GateStatus::Pass);
    assert!(
        plan.findings[0].contains("taken back by rows: later commits removed 1 of the 1 files"),
        "{:?}",
        plan.findings
    );
    assert_eq!(bench.spools().len(), 1);
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1, 1), row("a", 2, 20), row("a", 3, 3), row("b", 4, 4)]);
    assert!(bench.spools().is_empty(), "{:?}", bench.spools());
    let info = &replay(&table.path).unwrap().infos[3];
    assert_eq!((&info["operation"], &info["partwise"]["undoes"]), (&json!("MERGE"), &json!(first.id)));
    // It is an operation of its own: the way forth is open.
    bench.redo(&table.path);
    assert_eq!(
        rows_of(&table.path),
        [row("a", 1, 10), row("a", 2, 20), row("a", 3, 3), row("a", 5, 50), row("b", 4, 4)]
    );
}

#[test]
fn it_is_planned_from_the_tables_history_on_another_machine() {
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let elsewhere = Bench::default();
    let plan = by_rows(&elsewhere, &table, &first);
    elsewhere.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1, 1), row("a", 2, 20), row("a", 3, 3), row("b", 4, 4)]);
}

#[test]
fn a_plan_without_its_rows_is_refused() {
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let plan = by_rows(&bench, &table, &first);
    for spool in bench.spools() {
        fs::remove_file(spool).unwrap();
    }
    let error = refused(bench.apply(&plan));
    assert_eq!(error.kind, ErrorKind::SourceChanged);
    assert!(error.message.contains("no longer kept on this machine"), "{}", error.message);
    assert_eq!(newest(&table.path), 2);
}

#[test]
fn rows_that_were_changed_again_stop_it_and_keep_their_values() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1), row("a", 2, 2), row("a", 3, 3), row("a", 4, 4)]);
    // Changes 1 and 2, inserts 5 and 6, deletes 4.
    let source = bench.source(
        "one",
        &shape().columns,
        &[row("a", 1, 10), row("a", 2, 20), row("a", 3, 3), row("a", 5, 50), row("a", 6, 60)],
    );
    let (first, _) = bench.run(&table.path, &source, &["k"], MERGE_DELETE);
    // Changes 1 again, deletes 6, brings 4 back with another value.
    let source = bench.source(
        "two",
        &shape().columns,
        &[row("a", 1, 100), row("a", 2, 20), row("a", 3, 3), row("a", 5, 50), row("a", 4, 44)],
    );
    bench.run(&table.path, &source, &["k"], MERGE_DELETE);
    let plan = by_rows(&bench, &table, &first);
    let later = gate(&plan, "later-changes");
    assert_eq!((later.status, &later.observed), (GateStatus::Fail, &json!(2)));
    assert!(later.message.contains("k=1") && later.message.contains("k=4"), "{}", later.message);
    assert_eq!(plan.verdict, Verdict::Blocked);
    assert_eq!(refused(bench.apply_with(&plan, &ApplyOptions::default())).kind, ErrorKind::GateFailed);
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1, 100), row("a", 2, 2), row("a", 3, 3), row("a", 4, 44)]);
    let info = &replay(&table.path).unwrap().infos[3];
    assert_eq!(info["partwise"]["overrides"]["later-changes"], "a test");
}

/// Another writer packs small files together: nothing else changed.
fn compact(table: &mut Fixture) {
    let state = replay(&table.path).unwrap();
    let rows = state.rows(&table.path);
    let mut lines: Vec<Json> = state.live.values().map(|add| table.remove(&json!({"add": add}))).collect();
    lines.extend(table.add_each(&rows, &FileOptions::default()));
    table.commit("OPTIMIZE", json!({}), lines);
}

#[test]
fn an_operation_without_a_key_is_taken_back_by_whole_rows() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1, 1), row("a", 2, 2), row("b", 3, 3)]);
    let before = rows_of(&table.path);
    let source = bench.source("one", &shape().columns, &[row("a", 2, 2), row("a", 7, 7)]);
    let (first, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    table = Fixture::resume(&table.path, shape());
    table.append(&[row("a", 8, 8)]);
    compact(&mut table);
    let plan = by_rows(&bench, &table, &first);
    assert_eq!(plan.key, ["d", "k", "v"]);
    bench.apply(&plan).unwrap();
    let mut want = before;
    want.push(row("a", 8, 8));
    assert_eq!(rows_of(&table.path), sorted(want));
}

#[test]
fn rows_that_cannot_be_told_apart_are_refused_by_name() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1, 1), row("a", 1, 1), row("b", 3, 3)]);
    let source = bench.source("one", &shape().columns, &[row("a", 1, 1)]);
    let (first, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    table = Fixture::resume(&table.path, shape());
    compact(&mut table);
    let error = refused(bench.plan_undo(&table.path, Some(&first.id)));
    assert_eq!(error.kind, ErrorKind::DuplicateSourceKeys);
    assert!(error.message.contains("version 1 cannot be taken back by rows"), "{}", error.message);
    assert!(bench.spools().is_empty());
}

/// A key that a later append doubled: which row is the operation's?
#[test]
fn a_key_that_was_doubled_since_is_refused() {
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let mut table = Fixture::resume(&table.path, shape());
    table.append(&[row("a", 1, 10)]);
    let error = refused(bench.plan_undo(&table.path, Some(&first.id)));
    assert_eq!(error.kind, ErrorKind::DuplicateSourceKeys);
    assert!(error.message.contains("more than once today"), "{}", error.message);
    // Keys that the operation did not touch may be doubled.
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let mut table = Fixture::resume(&table.path, shape());
    table.append(&[row("b", 4, 4)]);
    bench.apply(&by_rows(&bench, &table, &first)).unwrap();
    assert_eq!(rows_of(&table.path).len(), 5);
}

#[test]
fn a_named_key_wins() {
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let key = |key: &str| UndoRequest { operation: Some(first.id.clone()), key: vec![key.to_owned()] };
    assert_eq!(refused(bench.undo_with(&table.path, &key("nope"))).kind, ErrorKind::Usage);
    // A column that identifies no row is found out.
    assert_eq!(refused(bench.undo_with(&table.path, &key("d"))).kind, ErrorKind::DuplicateSourceKeys);
    assert_eq!(bench.undo_with(&table.path, &key("k")).unwrap().plan.key, ["k"]);
}

#[test]
fn a_switch_of_partition_columns_since_is_no_hindrance() {
    let bench = Bench::default();
    let columns = [("d", Kind::String), ("k", Kind::Long), ("v", Kind::Long)];
    let mut table = bench.table(Shape::new(&columns, &["d"]), &[row("a", 1, 1), row("a", 2, 2), row("b", 3, 3)]);
    let before = rows_of(&table.path);
    let source = bench.source("one", &shape().columns, &[row("b", 1, 10), row("a", 9, 9)]);
    // Key 1 moves to another partition.
    let (first, _) = bench.run(&table.path, &source, &["k"], MERGE);
    table = Fixture::resume(&table.path, Shape::new(&columns, &["d"]));
    let state = replay(&table.path).unwrap();
    let rows = state.rows(&table.path);
    let mut lines: Vec<Json> = state.live.values().map(|add| table.remove(&json!({"add": add}))).collect();
    table.shape = Shape::new(&columns, &["k"]);
    lines.extend(table.add_each(&rows, &FileOptions::default()));
    table.alter(Shape::new(&columns, &["k"]), "WRITE", lines);
    let plan = by_rows(&bench, &table, &first);
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), before);
    assert_eq!(replay(&table.path).unwrap().metadata["partitionColumns"], json!(["k"]));
}

#[test]
fn columns_that_were_changed_since_and_nested_ones_are_refused() {
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let mut table = Fixture::resume(&table.path, shape());
    let wide = Shape::new(&[("d", Kind::String), ("k", Kind::Long), ("v", Kind::Long), ("x", Kind::Long)], &["d"]);
    table.alter(wide, "ADD COLUMNS", Vec::new());
    let error = refused(bench.plan_undo(&table.path, Some(&first.id)));
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(error.message.contains("columns were changed since"), "{}", error.message);

    // Another column under the name and type of an old one.
    let bench = Bench::default();
    let (table, first) = two_merges(&bench);
    let mut table = Fixture::resume(&table.path, shape());
    let other = ("v".to_owned(), "delta.columnMapping.physicalName".to_owned(), "col-other".to_owned());
    let properties = vec![("delta.columnMapping.mode".to_owned(), "name".to_owned())];
    table.alter(Shape { marks: vec![other], properties, ..shape() }, "REPLACE COLUMNS", Vec::new());
    let error = refused(bench.plan_undo(&table.path, Some(&first.id)));
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(error.message.contains("columns were changed since"), "{}", error.message);

    let bench = Bench::default();
    let nested = Shape::new(&[("d", Kind::String), ("k", Kind::Long), ("n", Kind::List)], &["d"]);
    let row = |k: i64, n: &str| -> Row { vec![s("a"), i(k), Value::Nested(n.into())] };
    let mut table = bench.table(nested.clone(), &[row(1, "[1]"), row(2, "[2]")]);
    let source = bench.source("one", &nested.columns, &[row(1, "[7]")]);
    let (first, _) = bench.run(&table.path, &source, &["k"], MERGE);
    table = Fixture::resume(&table.path, nested);
    compact(&mut table);
    assert_eq!(refused(bench.plan_undo(&table.path, Some(&first.id))).kind, ErrorKind::UnsupportedType);
}

#[test]
fn files_that_the_undo_must_read_are_looked_for() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1), row("a", 2, 2)]);
    let source = bench.source("one", &shape().columns, &[row("a", 1, 10)]);
    let (first, _) = bench.run(&table.path, &source, &["k"], MERGE);
    let written = replay(&table.path).unwrap().live;
    let source = bench.source("two", &shape().columns, &[row("a", 2, 20)]);
    bench.run(&table.path, &source, &["k"], MERGE);
    let (path, _) = written.keys().next().unwrap();
    fs::remove_file(table.path.join(path)).unwrap();
    let error = refused(bench.plan_undo(&table.path, Some(&first.id)));
    assert_eq!(error.kind, ErrorKind::MissingFiles);
    assert!(error.message.contains(path.as_str()), "{}", error.message);
}
