//! Back and forth across switches of partition columns, and over files that
//! were only packed anew.

use partwise::error::ErrorKind;
use partwise::ops::{
    ApplyOptions, At, OptimizeRequest, RepartitionRequest, RestoreRequest, prepare_optimize, prepare_repartition,
};
use partwise::plan::layouts::LayoutBy;
use partwise::plan::{GateStatus, Plan, Spec, Verdict};
use partwise::predicate::Predicate;
use partwise::progress::Progress;
use serde_json::json;

use super::{row, shape};
use crate::support::replay::{actions, newest, replay};
use crate::support::road::{MERGE, gate, refused};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Row, Shape, block_on, rows_of, sorted};

fn rows() -> Vec<Row> {
    vec![row("a", 1, 1), row("a", 2, 2), row("b", 3, 3)]
}

fn plan(bench: &Bench, table: &Fixture, by: &str) -> Plan {
    let open = bench.open(&table.path).unwrap();
    let request = RepartitionRequest { by: LayoutBy::parse(by).unwrap(), ..RepartitionRequest::default() };
    block_on(prepare_repartition(&bench.context, &open, &request, &Progress::default())).unwrap()
}

fn switch(bench: &Bench, table: &Fixture, by: &str) -> Plan {
    let plan = plan(bench, table, by);
    bench.apply(&plan).unwrap();
    plan
}

fn columns(table: &Fixture) -> serde_json::Value {
    replay(&table.path).unwrap().metadata["partitionColumns"].clone()
}

#[test]
fn a_switch_that_was_redone_is_undone_again() {
    for by in ["k", "none", "k % 2 AS odd"] {
        let bench = Bench::default();
        let table = bench.table(shape(), &rows());
        switch(&bench, &table, by);
        let switched = (columns(&table), rows_of(&table.path));
        for _ in 0..3 {
            bench.undo(&table.path);
            assert_eq!((columns(&table), rows_of(&table.path)), (json!(["d"]), rows()), "{by}");
            bench.redo(&table.path);
            assert_eq!((columns(&table), rows_of(&table.path)), switched, "{by}");
        }
    }
}

#[test]
fn two_switches_are_undone_one_after_the_other() {
    let bench = Bench::default();
    let table = bench.table(shape(), &rows());
    switch(&bench, &table, "k");
    switch(&bench, &table, "v");
    bench.undo(&table.path);
    assert_eq!(columns(&table), json!(["k"]));
    bench.undo(&table.path);
    assert_eq!((columns(&table), rows_of(&table.path)), (json!(["d"]), rows()));
    bench.redo(&table.path);
    bench.redo(&table.path);
    assert_eq!((columns(&table), rows_of(&table.path)), (json!(["v"]), rows()));
}

/// What stands between is a reason, and named.
#[test]
fn a_later_switch_is_in_the_way_of_an_earlier_one() {
    let bench = Bench::default();
    let table = bench.table(shape(), &rows());
    let first = switch(&bench, &table, "k");
    switch(&bench, &table, "v");
    let error = refused(bench.plan_undo(&table.path, Some(&first.id)));
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(error.message.contains("version 2 changed it again"), "{}", error.message);
}

#[test]
fn the_way_back_moves_no_row() {
    let bench = Bench::default();
    let table = bench.table(shape(), &rows());
    switch(&bench, &table, "k");
    let undo = bench.plan_undo(&table.path, None).unwrap();
    assert_eq!((undo.rows.inserted, undo.rows.deleted, undo.rows.unchanged), (0, 0, 3));
    assert_eq!((undo.partitions.len(), undo.partitions[0].label().as_str()), (1, "(whole table)"));
    assert_eq!((undo.partitions[0].before, undo.partitions[0].after), (3, 3));
    assert_eq!(gate(&undo, "row-count").status, GateStatus::Pass);
    assert!(undo.metadata_changes.iter().any(|line| line.contains("partition columns")), "{:?}", undo.metadata_changes);
    bench.apply(&undo).unwrap();
    // Nor does it for a stream.
    for action in actions(&table.path, newest(&table.path)) {
        for kind in ["add", "remove"] {
            assert_ne!(action[kind]["dataChange"], true, "{action}");
        }
    }
    // A RESTORE to another layout compares the tables, not partitions of two layouts.
    switch(&bench, &table, "none");
    let restore = bench.plan_restore(&table.path, 0).unwrap();
    assert_eq!((restore.partitions.len(), restore.rows.table_before, restore.rows.table_after), (1, Some(3), Some(3)));
    assert_eq!(gate(&restore, "row-count").status, GateStatus::Pass);
    bench.apply(&restore).unwrap();
    assert_eq!((columns(&table), rows_of(&table.path)), (json!(["d"]), rows()));
}

/// Rows that came while the switch was taken back are carried over forth too,
/// also where the column has to be computed again.
#[test]
fn a_redo_carries_over_what_came_in_between() {
    for by in ["k", "k % 2 AS odd"] {
        let bench = Bench::default();
        let table = bench.table(shape(), &rows());
        switch(&bench, &table, by);
        bench.undo(&table.path);
        Fixture::resume(&table.path, shape()).append(&[row("c", 9, 9)]);
        bench.redo(&table.path);
        assert_ne!(columns(&table), json!(["d"]), "{by}");
        let have: Vec<Row> = rows_of(&table.path).into_iter().map(|row| row[..3].to_vec()).collect();
        assert_eq!(have, sorted([rows(), vec![row("c", 9, 9)]].concat()), "{by}");
    }
}

#[test]
fn partitions_keep_the_names_that_they_had() {
    let bench = Bench::default();
    let table = bench.table(shape(), &rows());
    let planned = plan(&bench, &table, "k");
    Fixture::resume(&table.path, shape()).append(&[row("b", 4, 4)]);
    // The switch is planned by k; what came in between lies under d.
    let strict = ApplyOptions { strict: true, ..ApplyOptions::default() };
    let error = refused(bench.apply_with(&planned, &strict));
    assert!(error.message.contains("touched d=b (+1 rows)"), "{}", error.message);
    assert_eq!(error.details.unwrap()["commits"][0]["partitions"], json!([{"d": "b"}]));
    bench.apply(&planned).unwrap();

    let open = bench.open(&table.path).unwrap();
    let history = |filter: Option<&str>| -> Vec<(u64, Vec<String>)> {
        let filter = filter.map(|text| Predicate::parse(text).unwrap());
        let commits = block_on(open.history(filter.as_ref(), false, &Progress::default())).unwrap();
        let labels = |c: &partwise::table::Commit| c.partitions().map(|(names, p)| p.label(names)).collect();
        commits.iter().map(|c| (c.version, labels(c))).collect()
    };
    let label = |text: &str| text.to_owned();
    assert_eq!(history(None), [(2, vec![]), (1, vec![label("d=b")]), (0, vec![label("d=a"), label("d=b")])]);
    // Of what was before the switch nobody can say that it has no row of k = 2.
    let versions = |filter| history(Some(filter)).into_iter().map(|(version, _)| version).collect::<Vec<_>>();
    assert_eq!(versions("k = 2"), [2, 1, 0]);
    assert_eq!(versions("d = 'a'"), [2, 0]);
    assert_eq!(versions("d = 'b'"), [2, 1, 0]);
    let nobody = Predicate::parse("v = 1").unwrap();
    assert_eq!(refused(block_on(open.history(Some(&nobody), false, &Progress::default()))).kind, ErrorKind::Usage);
    let rename = std::fs::read_dir(&table.path).unwrap().map(|e| e.unwrap().path());
    for folder in rename.filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("d=")) {
        std::fs::remove_dir_all(folder).unwrap();
    }
    let error = refused(bench.plan_restore(&table.path, 0));
    assert!(error.message.contains("in d=a, d=b"), "{}", error.message);
}

/// A writer that names the columns of before works again after an undo, and no
/// longer after a redo, which says so without being stopped by it.
#[test]
fn the_way_forth_says_what_it_breaks() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape());
    let adds = table.add_each(&rows(), &FileOptions::default());
    table.commit("WRITE", json!({"mode": "Append", "partitionBy": "[\"d\"]"}), adds);
    switch(&bench, &table, "k");
    bench.undo(&table.path);
    let redo = bench.plan_redo(&table.path).unwrap();
    let found = gate(&redo, "breaking-writers");
    assert_eq!((found.status, redo.verdict), (GateStatus::Warn, Verdict::Ready));
    assert!(found.message.contains("partitionBy(d)"), "{}", found.message);
    bench.apply_with(&redo, &ApplyOptions::default()).unwrap();
    // Restores across the switch are judged alike, those within a layout are not.
    bench.undo(&table.path);
    let restore = bench.plan_restore(&table.path, 1).unwrap();
    assert!(matches!(&restore.spec, Spec::Restore(r) if r.switches && !r.breakers.is_empty()), "{:?}", restore.spec);
    assert_eq!(gate(&restore, "breaking-writers").status, GateStatus::Warn);
    let within = bench.plan_restore(&table.path, 0).unwrap();
    assert!(within.gates.iter().all(|g| g.name != "breaking-writers"), "{:?}", within.gates);
}

#[test]
fn packing_files_leaves_nothing_to_take_back_once_they_were_rewritten() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &rows());
    table.append(&[row("a", 5, 5)]);
    let open = bench.open(&table.path).unwrap();
    let packed = block_on(prepare_optimize(&bench.context, &open, &OptimizeRequest::default(), &Progress::default()));
    let packed = packed.unwrap();
    bench.apply(&packed).unwrap();
    let undo = bench.plan_undo(&table.path, None).unwrap();
    assert_eq!((undo.rows.inserted, undo.rows.deleted, undo.rows.unchanged), (0, 0, 3), "{:?}", undo.partitions);
    // Another writer takes a row of the packed file out.
    let mut table = Fixture::resume(&table.path, shape());
    let state = replay(&table.path).unwrap();
    let file = state.live.values().find(|add| add["partitionValues"]["d"] == "a").unwrap().clone();
    let remove = table.remove(&json!({ "add": file }));
    let rest = table.add(&[row("a", 2, 2), row("a", 5, 5)], &FileOptions::default());
    table.commit("DELETE", json!({}), vec![remove, rest]);
    let undo = bench.plan_undo(&table.path, None).unwrap();
    assert_eq!(undo.verdict, Verdict::NoOp);
    assert!(undo.findings[0].contains("only moved rows between files"), "{:?}", undo.findings);
    assert_eq!(bench.apply(&undo).unwrap().version_after, None);
    assert_eq!(bench.open_at(&table.path, At::Latest).unwrap().version(), newest(&table.path));
    assert_eq!(rows_of(&table.path), [row("a", 2, 2), row("a", 5, 5), row("b", 3, 3)]);
}

/// A column that partitions the table and that the version does not have: NULL
/// would move every row.
#[test]
fn rows_do_not_come_back_without_a_value_for_a_partition_column() {
    let bench = Bench::default();
    let table = bench.table(shape(), &rows());
    let open = bench.open(&table.path).unwrap();
    let by = LayoutBy::parse("k % 2 AS odd").unwrap();
    let request = RepartitionRequest { by, plain_column: true, ..RepartitionRequest::default() };
    let plan = block_on(prepare_repartition(&bench.context, &open, &request, &Progress::default())).unwrap();
    bench.apply(&plan).unwrap();
    let some = RestoreRequest { filter: Some("d = 'a'".into()), ..RestoreRequest::whole(At::Version(0)) };
    let all = RestoreRequest { data_only: true, ..RestoreRequest::whole(At::Version(0)) };
    for request in [some, all] {
        let error = refused(bench.restore_with(&table.path, &request));
        assert_eq!(error.kind, ErrorKind::Refused);
        assert!(error.message.contains("no value for odd, which partitions the table"), "{}", error.message);
    }
    // With its metadata the version comes back whole.
    bench.apply(&bench.plan_restore(&table.path, 0).unwrap()).unwrap();
    assert_eq!((columns(&table), rows_of(&table.path)), (json!(["d"]), rows()));
}

/// Across a switch rows are written again, and their keys may live beside them.
#[test]
fn rows_that_come_back_beside_their_keys_are_said() {
    let bench = Bench::default();
    let table = bench.table(shape(), &rows());
    switch(&bench, &table, "v");
    // Key 1 moves from d = a to d = b, and to another partition.
    let source = bench.source("s", &shape().columns, &[row("b", 1, 9)]);
    bench.run(&table.path, &source, &["k"], MERGE);
    let request = |key: &[&str]| RestoreRequest {
        partitions: vec!["d=a".into()],
        key: key.iter().map(|&k| k.to_owned()).collect(),
        ..RestoreRequest::whole(At::Version(0))
    };
    let plan = bench.restore_with(&table.path, &request(&["k"])).unwrap().plan;
    assert!(matches!(plan.spec, Spec::RestoreRows(_)), "{:?}", plan.spec);
    assert_eq!(plan.keys.elsewhere, Some(1));
    assert!(plan.findings.iter().any(|f| f.contains("1 row that comes back has a key")), "{:?}", plan.findings);
    let plan = bench.restore_with(&table.path, &request(&["d", "k"])).unwrap().plan;
    assert_eq!(plan.keys.elsewhere, Some(0), "{:?}", plan.findings);
    let plan = bench.restore_with(&table.path, &request(&[])).unwrap().plan;
    assert!(plan.keys.elsewhere.is_none(), "{:?}", plan.findings);
    assert!(plan.findings.iter().any(|f| f.contains("keys were not compared")), "{:?}", plan.findings);
}

#[test]
fn a_rewrite_that_takes_a_switch_back_is_an_undo_in_the_history() {
    let bench = Bench::default();
    let table = bench.table(shape(), &rows());
    let first = switch(&bench, &table, "v");
    let mut other = Fixture::resume(&table.path, Shape { partition_by: vec!["v".into()], ..shape() });
    other.append(&[row("c", 9, 9)]);
    let undo = bench.plan_undo(&table.path, None).unwrap();
    assert_eq!(undo.spec.kind().title(), "undo by a rewrite");
    bench.apply(&undo).unwrap();
    let info = replay(&table.path).unwrap().infos.pop().unwrap();
    assert_eq!(info["operationParameters"]["undoes"], json!(first.id));
}
