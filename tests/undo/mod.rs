//! Undo and redo: back and forth, by files and by rows.

mod property;
mod rows;
mod switch;
mod twins;

use partwise::error::ErrorKind;
use partwise::ops::Strategy;

use crate::support::road::{MERGE, refused};
use crate::support::{Bench, Kind, Row, Shape, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("k", Kind::Long), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, k: i64, v: i64) -> Row {
    vec![s(d), i(k), i(v)]
}

#[test]
fn undo_and_redo_walk_back_and_forth_like_an_editor() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1), row("b", 2, 2)]);
    let mut states = vec![rows_of(&table.path)];
    for (name, rows, strategy) in [
        ("one", vec![row("a", 1, 10)], Strategy::Overwrite),
        ("two", vec![row("a", 1, 20), row("b", 3, 3)], MERGE),
        ("three", vec![row("c", 9, 9)], Strategy::Append),
    ] {
        let source = bench.source(name, &shape().columns, &rows);
        bench.run(&table.path, &source, &["k"], strategy);
        states.push(rows_of(&table.path));
    }
    assert_eq!(refused(bench.plan_redo(&table.path)).kind, ErrorKind::NoSuchOperation);
    // Twice all the way back and forth.
    for _ in 0..2 {
        for at in (0..3).rev() {
            bench.undo(&table.path);
            assert_eq!(rows_of(&table.path), states[at], "back to {at}");
        }
        assert_eq!(refused(bench.plan_undo(&table.path, None)).kind, ErrorKind::NoSuchOperation);
        for (at, state) in states.iter().enumerate().skip(1) {
            bench.redo(&table.path);
            assert_eq!(rows_of(&table.path), *state, "forth to {at}");
        }
        assert_eq!(refused(bench.plan_redo(&table.path)).kind, ErrorKind::NoSuchOperation);
    }
    bench.undo(&table.path);
    bench.undo(&table.path);
    bench.redo(&table.path);
    assert_eq!(rows_of(&table.path), states[2]);
    // A new operation ends the way forth.
    bench.undo(&table.path);
    let source = bench.source("four", &shape().columns, &[row("b", 2, 22)]);
    bench.run(&table.path, &source, &["k"], MERGE);
    assert_eq!(refused(bench.plan_redo(&table.path)).kind, ErrorKind::Conflict);
}

#[test]
fn redo_works_on_another_machine() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1)]);
    let source = bench.source("s", &shape().columns, &[row("a", 1, 10)]);
    bench.run(&table.path, &source, &["k"], MERGE);
    Bench::default().undo(&table.path);
    assert_eq!(rows_of(&table.path), [row("a", 1, 1)]);
    Bench::default().redo(&table.path);
    assert_eq!(rows_of(&table.path), [row("a", 1, 10)]);
}

#[test]
fn what_was_taken_back_is_not_taken_back_again() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1)]);
    let source = bench.source("s", &shape().columns, &[row("a", 1, 10)]);
    let (plan, _) = bench.run(&table.path, &source, &["k"], MERGE);
    bench.undo(&table.path);
    let error = refused(bench.plan_undo(&table.path, Some(&plan.id)));
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(error.message.contains("taken back already, by version 2"), "{}", error.message);
}
