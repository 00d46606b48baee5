//! Going back across a switch of partition columns while others write.

use partwise::error::ErrorKind;
use partwise::plan::Verdict;
use serde_json::{Value as Json, json};

use super::log::checkpoint;
use crate::support::replay::replay;
use crate::support::road::refused;
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Shape, i, rows_of, s};

/// What is undone was by the column that is no text, and the other way round.
#[test]
fn an_undo_across_a_switch_is_not_put_on_top_of_other_commits() {
    let bench = Bench::default();
    let columns = [("d", Kind::String), ("k", Kind::Long)];
    let rows = [vec![s("a"), i(1)], vec![s("b"), i(2)]];
    let mut table = bench.table(Shape::new(&columns, &["k"]), &rows);
    let old = replay(&table.path).unwrap().live;
    let mut lines: Vec<Json> = old.values().map(|add| table.remove(&json!({"add": add}))).collect();
    table.shape = Shape::new(&columns, &["d"]);
    lines.extend(table.add_each(&rows, &FileOptions::default()));
    table.alter(Shape::new(&columns, &["d"]), "WRITE", lines);
    bench.apply(&bench.plan_restore(&table.path, 0).unwrap()).unwrap();
    // Today the table is by a number, what comes back is by a text.
    let undo = bench.plan_undo(&table.path, None).unwrap();
    let again = bench.plan_undo(&table.path, None).unwrap();
    bench.apply(&undo).unwrap();
    assert_eq!(replay(&table.path).unwrap().metadata["partitionColumns"], json!(["d"]));
    assert_eq!(rows_of(&table.path), rows);
    assert_eq!(refused(bench.apply(&again)).kind, ErrorKind::StalePlan);

    bench.apply(&bench.plan_restore(&table.path, 0).unwrap()).unwrap();
    let undo = bench.plan_undo(&table.path, None).unwrap();
    let mut table = Fixture::resume(&table.path, Shape::new(&columns, &["k"]));
    let version = table.append(&[vec![s("c"), i(3)]]);
    assert_eq!(refused(bench.apply(&undo)).kind, ErrorKind::StalePlan, "a row of the other layout came since");
    // Nor is it planned any more, also where a checkpoint hides which version wrote the row.
    checkpoint(&table.path, version);
    assert_eq!(refused(bench.plan_undo(&table.path, None)).kind, ErrorKind::Conflict);
}

#[test]
fn a_restore_to_the_newest_version_changes_nothing() {
    let bench = Bench::default();
    let shape = Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"]);
    let table = bench.table(shape, &[vec![s("a"), i(1)]]);
    assert_eq!(bench.plan_restore(&table.path, 0).unwrap().verdict, Verdict::NoOp);
}
