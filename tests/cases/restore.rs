//! Going back: B27, B28, and undo with other commits in between.

use std::fs;
use std::path::Path;

use partwise::error::ErrorKind;
use partwise::ops::{ApplyOptions, Strategy};
use partwise::plan::{GateStatus, Plan};
use partwise::progress::Progress;
use partwise::table::history::Restorable;
use serde_json::json;

use super::values::partitions;
use crate::support::replay::{newest, replay};
use crate::support::road::{MERGE, gate, partition, refused};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, exact, i, rows_of, s, sorted};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

#[test]
fn b27_files_that_were_vacuumed_are_found_before_anything_is_written() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape());
    let options = FileOptions::default();
    let (old, b) = (table.add(&[row("a", 1)], &options), table.add(&[row("b", 2)], &options));
    table.commit("WRITE", json!({"mode": "Append"}), vec![old.clone(), b]);
    let new = table.add(&[row("a", 10)], &options);
    let remove = table.remove(&old);
    table.commit("WRITE", json!({"mode": "Overwrite", "predicate": "d = 'a'"}), vec![remove, new]);
    let path = old["add"]["path"].as_str().unwrap();
    fs::remove_file(table.path.join(path)).unwrap();

    let error = refused(bench.plan_restore(&table.path, 0));
    assert_eq!(error.kind, ErrorKind::MissingFiles);
    assert!(error.full_message().contains(path), "{}", error.full_message());
    assert_eq!(newest(&table.path), 1);
    assert_eq!(rows_of(&table.path), [row("a", 10), row("b", 2)]);

    let open = bench.open(&table.path).unwrap();
    let history = block_on(open.history(None, true, &Progress::default())).unwrap();
    let restorable: Vec<_> = history.iter().map(|c| (c.version, c.restorable.clone())).collect();
    assert_eq!(restorable, [(1, Some(Restorable::Yes)), (0, Some(Restorable::FilesGone(1)))]);
}

/// Four rows of which a hand-written inline vector hides two.
fn with_deletion_vector(bench: &Bench) -> Fixture {
    let shape = Shape { deletion_vectors: true, ..shape() };
    let mut table = Fixture::new(bench.path("t"), shape);
    let options = FileOptions::default();
    let a = table.add(&[row("a", 10), row("a", 11), row("a", 12), row("a", 13)], &options);
    let b = table.add(&[row("b", 20)], &options);
    table.commit("WRITE", json!({"mode": "Append"}), vec![a.clone(), b]);
    let remove = table.remove(&a);
    let mut masked = a;
    masked["add"]["deletionVector"] = json!({"storageType": "i",
        "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg00062", "sizeInBytes": 36, "cardinality": 2});
    table.commit("DELETE", json!({"predicate": "[\"v IN (10, 12)\"]"}), vec![remove, masked]);
    table
}

#[test]
fn b28_restore_across_a_deletion_vector() {
    let bench = Bench::default();
    let table = with_deletion_vector(&bench);
    assert_eq!(rows_of(&table.path), [row("a", 11), row("a", 13), row("b", 20)]);
    let counts: Vec<Option<u64>> =
        partitions(&bench, &table.path, false).unwrap().iter().map(|p| p.rows.exact()).collect();
    assert_eq!(counts, [Some(2), Some(1)]);
    let page = block_on(bench.open(&table.path).unwrap().rows(None, &[], 0, 100, &Progress::default())).unwrap();
    assert_eq!(sorted(page.rows), rows_of(&table.path));

    let plan = bench.plan_restore(&table.path, 0).unwrap();
    assert_eq!((plan.rows.table_before, plan.rows.table_after), (Some(3), Some(5)));
    assert_eq!((plan.files.removed, plan.files.restored), (1, 1));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 10), row("a", 11), row("a", 12), row("a", 13), row("b", 20)]);
    assert!(replay(&table.path).unwrap().live.values().all(|add| add.get("deletionVector").is_none()));
    // And back to the masked file.
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), [row("a", 11), row("a", 13), row("b", 20)]);
}

#[test]
fn b28_writes_see_only_live_rows_and_undo_brings_the_vector_back() {
    for strategy in [Strategy::Overwrite, MERGE] {
        let bench = Bench::default();
        let table = with_deletion_vector(&bench);
        let before = replay(&table.path).unwrap().live;
        let source = bench.source("s", &shape().columns, &[row("a", 11), row("a", 12)]);
        let (plan, _) = bench.run(&table.path, &source, &["v"], strategy);
        let a = partition(&plan, &json!({"d": "a"}));
        assert_eq!((a.before, a.inserted, a.unchanged), (2, 1, 1));
        bench.undo(&table.path);
        let after = replay(&table.path).unwrap().live;
        assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
        assert_eq!(rows_of(&table.path), [row("a", 11), row("a", 13), row("b", 20)]);
    }
}

#[test]
fn undo_keeps_what_others_committed_elsewhere() {
    for strategy in [Strategy::Overwrite, MERGE] {
        let bench = Bench::default();
        let table = bench.table(shape(), &[row("a", 1), row("a", 2), row("b", 3)]);
        let before = exact(&rows_of(&table.path));
        let source = bench.source("s", &shape().columns, &[row("a", 1), row("a", 5)]);
        bench.run(&table.path, &source, &["v"], strategy);
        let mut other = Fixture::resume(&table.path, shape());
        other.append(&[row("b", 7), row("c", 8)]);
        bench.undo(&table.path);
        let mut want = before;
        want.extend(exact(&[row("b", 7), row("c", 8)]));
        want.sort();
        assert_eq!(exact(&rows_of(&table.path)), want);
    }
}

#[test]
fn undo_works_from_the_tables_history_on_another_machine() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1), row("b", 3)]);
    let source = bench.source("s", &shape().columns, &[row("a", 9)]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    let elsewhere = Bench::default();
    let undo = elsewhere.plan_undo(&table.path, Some(&plan.id)).unwrap();
    elsewhere.apply(&undo).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1), row("b", 3)]);
    assert_eq!(refused(elsewhere.plan_undo(&table.path, None)).kind, ErrorKind::NoSuchOperation);
    // The undo is an operation of its own, and can be taken back by its id.
    let redo = elsewhere.plan_undo(&table.path, Some(&undo.id)).unwrap();
    elsewhere.apply(&redo).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 9), row("b", 3)]);
}

#[test]
fn undo_is_stopped_where_a_later_commit_changed_the_same_rows() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1), row("b", 3)]);
    let source = bench.source("s", &shape().columns, &[row("a", 9)]);
    bench.run(&table.path, &source, &[], Strategy::Overwrite);
    let mut other = Fixture::resume(&table.path, shape());
    let live = replay(&table.path).unwrap().live;
    let ours = live.values().find(|add| add["partitionValues"]["d"] == "a").unwrap();
    let new = other.add(&[row("a", 77)], &FileOptions::default());
    let remove = other.remove(&json!({"add": ours}));
    other.commit("WRITE", json!({"mode": "Overwrite"}), vec![remove, new]);
    let plan = bench.plan_undo(&table.path, None).unwrap();
    assert_eq!(gate(&plan, "later-changes").status, GateStatus::Fail);
    let stopped = refused(bench.apply_with(&plan, &ApplyOptions::default()));
    assert_eq!(stopped.kind, ErrorKind::GateFailed);
    assert_eq!(rows_of(&table.path), [row("a", 77), row("b", 3)]);
}

#[test]
fn undo_needs_an_operation_of_ours() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1)]);
    assert_eq!(refused(bench.plan_undo(&table.path, None)).kind, ErrorKind::NoSuchOperation);
    assert_eq!(refused(bench.plan_undo(&table.path, Some("nope"))).kind, ErrorKind::NoSuchOperation);
}

#[test]
fn an_undo_that_lost_its_files_says_so() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1), row("b", 3)]);
    let old = replay(&table.path).unwrap().live;
    let source = bench.source("s", &shape().columns, &[row("a", 9)]);
    bench.run(&table.path, &source, &[], Strategy::Overwrite);
    let (path, _) = old.keys().find(|(path, _)| path.starts_with("d=a/")).unwrap();
    fs::remove_file(Path::new(&table.path).join(path)).unwrap();
    let error = refused(bench.plan_undo(&table.path, None));
    assert_eq!(error.kind, ErrorKind::MissingFiles);
    assert!(error.full_message().contains(path.as_str()), "{}", error.full_message());
}

/// A restore and its undo travel through a file like every other plan.
#[test]
fn a_restore_is_carried_out_from_its_json() {
    let bench = Bench::default();
    let columns = [("d", Kind::String), ("v", Kind::Long)];
    let shape = Shape::new(&columns, &["d"]);
    let mut table = bench.table(shape, &[vec![s("a"), i(1)]]);
    let before = rows_of(&table.path);
    table.append(&[vec![s("b"), i(2)]]);
    let through_json = |plan: &Plan| -> Plan {
        let read = serde_json::from_str(&serde_json::to_string(plan).unwrap()).unwrap();
        assert_eq!(&read, plan);
        read
    };
    let restore = bench.plan_restore(&table.path, 0).unwrap();
    bench.apply(&through_json(&restore)).unwrap();
    assert_eq!(rows_of(&table.path), before);
    let undo = bench.plan_undo(&table.path, None).unwrap();
    bench.apply(&through_json(&undo)).unwrap();
    assert_eq!(rows_of(&table.path).len(), 2);
}
