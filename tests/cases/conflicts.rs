//! Other writers between a plan and its commit (B35), and what a plan says of
//! rows that are written again as they were (B43).

use partwise::error::{Error, ErrorKind};
use partwise::ops::{At, DiffRequest, Strategy, diff};
use partwise::plan::Plan;
use partwise::progress::Progress;
use serde_json::{Value as Json, json};

use crate::support::replay::newest;
use crate::support::road::{MERGE, effects, partition, refused};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

/// (a,1),(b,2) at version 0.
fn two(bench: &Bench) -> Fixture {
    bench.table(shape(), &[row("a", 1), row("b", 2)])
}

fn plan(bench: &Bench, table: &Fixture, name: &str, rows: &[Row], strategy: Strategy) -> Plan {
    let source = bench.source(name, &shape().columns, rows);
    bench.plan(&table.path, &source, &["v"], strategy)
}

/// The loser is told which version came in between and what it touched, with
/// an exit code of its own.
#[track_caller]
fn lost(error: &Error, words: &[&str]) {
    assert_eq!(error.exit_code(), 4, "{}", error.full_message());
    assert!(matches!(error.kind, ErrorKind::StalePlan | ErrorKind::Conflict), "{:?}", error.kind);
    let said = format!("{} {}", error.full_message(), error.hint.clone().unwrap_or_default());
    for word in words {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
}

#[test]
fn b35_the_second_overwrite_of_a_partition_is_told_of_the_first() {
    let bench = Bench::default();
    let table = two(&bench);
    let first = plan(&bench, &table, "first", &[row("a", 10)], Strategy::Overwrite);
    let second = plan(&bench, &table, "second", &[row("a", 20)], Strategy::Overwrite);
    bench.apply(&first).unwrap();
    lost(&refused(bench.apply(&second)), &["version 1", "d=a"]);
    assert_eq!(newest(&table.path), 1);
    assert_eq!(rows_of(&table.path), [row("a", 10), row("b", 2)]);
    // Retrying is a new plan.
    bench.apply(&plan(&bench, &table, "second", &[row("a", 20)], Strategy::Overwrite)).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 20), row("b", 2)]);
}

#[test]
fn b35_overwrites_of_two_partitions_both_land() {
    let bench = Bench::default();
    let table = two(&bench);
    let first = plan(&bench, &table, "first", &[row("a", 10)], Strategy::Overwrite);
    let second = plan(&bench, &table, "second", &[row("b", 20)], Strategy::Overwrite);
    bench.apply(&first).unwrap();
    let report = bench.apply(&second).unwrap();
    assert_eq!((report.rebased_over, report.version_after), (vec![1], Some(2)));
    assert_eq!(rows_of(&table.path), [row("a", 10), row("b", 20)]);
}

/// Legal under weaker isolation, but not what was shown: exactly one row.
#[test]
fn b35_an_overwrite_of_everything_does_not_pass_an_append() {
    let bench = Bench::default();
    let mut table = two(&bench);
    let whole = plan(&bench, &table, "whole", &[row("z", 20)], Strategy::OverwriteAll);
    assert_eq!(whole.rows.table_after, Some(1));
    table.append(&[row("a", 5)]);
    lost(&refused(bench.apply(&whole)), &["version 1", "d=a"]);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("a", 5), row("b", 2)]);
}

/// A compaction of another engine: the same rows in other files.
fn compact(table: &mut Fixture, adds: &[Json], rows: &[Row]) {
    let mut actions: Vec<Json> = adds.iter().map(|add| table.remove(add)).collect();
    actions.push(table.add(rows, &FileOptions::default()));
    for action in &mut actions {
        for kind in ["add", "remove"] {
            if let Some(body) = action.get_mut(kind) {
                body["dataChange"] = json!(false);
            }
        }
    }
    table.commit("OPTIMIZE", json!({"predicate": "[]"}), actions);
}

#[test]
fn b35_rows_that_a_compaction_moved_do_not_come_back() {
    for (name, strategy) in [("overwrite", Strategy::Overwrite), ("merge", MERGE)] {
        let bench = Bench::default();
        let mut table = Fixture::new(bench.path("t"), shape());
        let adds: Vec<Json> = [1, 2].iter().map(|v| table.add(&[row("a", *v)], &FileOptions::default())).collect();
        table.commit("WRITE", json!({"mode": "Append"}), adds.clone());
        let planned = plan(&bench, &table, "s", &[row("a", 2), row("a", 3)], strategy);
        compact(&mut table, &adds, &[row("a", 1), row("a", 2)]);
        lost(&refused(bench.apply(&planned)), &["version 1"]);
        assert_eq!(rows_of(&table.path), [row("a", 1), row("a", 2)], "{name}");
    }
}

#[test]
fn b35_a_restore_names_the_version_that_came_in_between() {
    let bench = Bench::default();
    let mut table = two(&bench);
    table.append(&[row("b", 3)]);
    let back = bench.plan_restore(&table.path, 0).unwrap();
    table.append(&[row("a", 5)]);
    lost(&refused(bench.apply(&back)), &["version 2"]);
    assert_eq!(newest(&table.path), 2);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("a", 5), row("b", 2), row("b", 3)]);
}

/// The files are all new, the change feed would list two deletes and two inserts.
#[test]
fn b43_a_row_that_is_written_again_as_it_was_is_the_same_row() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1), row("a", 2), row("b", 3)]);
    let source = bench.source("s", &shape().columns, &[row("a", 1), row("a", 9)]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!(effects(&plan), (1, None, 1, 1, 0));
    let changed = partition(&plan, &json!({"d": "a"}));
    assert_eq!((changed.before, changed.after), (2, 2));

    let open = |version| bench.open_at(&table.path, At::Version(version)).unwrap();
    let request = DiffRequest::default();
    let found = block_on(diff(&bench.context, &open(0), &open(1), &request, &Progress::default())).unwrap();
    assert_eq!((found.rows.inserted, found.rows.deleted), (1, 1));
    assert_eq!(found.rows.unchanged_in_changed_files, 1);
    assert_eq!(found.unchanged_partitions, 1);
}
