//! Rows that would come back while others wrote their keys since.

use partwise::ops::{At, RestoreRequest, Strategy, UndoRequest};
use partwise::plan::{GateStatus, Plan, Spec, Verdict};
use serde_json::json;

use super::{row, shape};
use crate::support::road::{MERGE, gate};
use crate::support::{Bench, Fixture, rows_of};

fn says(plan: &Plan, words: &str) -> bool {
    plan.findings.iter().any(|line| line.contains(words))
}

/// v1 overwrites a, whose key 1 goes; v2 writes key 1 into b.
fn moved(bench: &Bench, key: &[&str], strategy: Strategy) -> (Fixture, Plan) {
    let table = bench.table(shape(), &[row("a", 1, 1), row("a", 2, 2), row("b", 3, 3)]);
    let source = bench.source("one", &shape().columns, &[row("a", 2, 20)]);
    let (first, _) = bench.run(&table.path, &source, key, Strategy::Overwrite);
    let source = bench.source("two", &shape().columns, &[row("b", 1, 100)]);
    bench.run(&table.path, &source, key, strategy);
    (table, first)
}

#[test]
fn a_key_that_is_in_another_partition_now_is_not_doubled_by_an_undo() {
    for strategy in [MERGE, Strategy::Append] {
        let bench = Bench::default();
        let (table, first) = moved(&bench, &["k"], strategy);
        let plan = bench.plan_undo(&table.path, Some(&first.id)).unwrap();
        assert!(matches!(plan.spec, Spec::UndoRows(_)), "{:?}", plan.spec);
        assert!(says(&plan, "a later commit wrote the key of 1 row that would come back"), "{:?}", plan.findings);
        let later = gate(&plan, "later-changes");
        assert_eq!((later.status, &later.observed), (GateStatus::Fail, &json!(1)));
        assert!(later.message.contains("k=1"), "{}", later.message);
        assert_eq!(plan.verdict, Verdict::Blocked);
        bench.apply(&plan).unwrap();
        assert_eq!(rows_of(&table.path), [row("a", 2, 2), row("b", 1, 100), row("b", 3, 3)]);
    }
}

#[test]
fn a_key_with_its_partition_in_it_has_no_twin() {
    let bench = Bench::default();
    let (table, first) = moved(&bench, &["d", "k"], MERGE);
    let plan = bench.plan_undo(&table.path, Some(&first.id)).unwrap();
    assert!(matches!(plan.spec, Spec::Undo(_)), "{:?}", plan.spec);
    assert_eq!(plan.keys.elsewhere, Some(0));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1, 1), row("a", 2, 2), row("b", 1, 100), row("b", 3, 3)]);
}

#[test]
fn without_a_key_the_plan_says_that_none_was_compared() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1), row("b", 3, 3)]);
    let source = bench.source("one", &shape().columns, &[row("a", 2, 20)]);
    let (first, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    // Nothing came after it: nothing is to be said.
    let plan = bench.plan_undo(&table.path, None).unwrap();
    assert!(plan.keys.elsewhere == Some(0) && !says(&plan, "keys were not compared"), "{:?}", plan.findings);
    Fixture::resume(&table.path, shape()).append(&[row("b", 1, 100)]);
    let plan = bench.plan_undo(&table.path, None).unwrap();
    assert!(matches!(plan.spec, Spec::Undo(_)), "{:?}", plan.spec);
    assert!(plan.keys.elsewhere.is_none() && says(&plan, "keys were not compared"), "{:?}", plan.findings);
    // With one it is found.
    let request = UndoRequest { operation: Some(first.id), key: vec!["K".into()] };
    let plan = bench.undo_with(&table.path, &request).unwrap().plan;
    assert!(matches!(plan.spec, Spec::UndoRows(_)), "{:?}", plan.spec);
}

#[test]
fn a_partition_that_goes_back_beside_its_moved_rows_says_so() {
    let bench = Bench::default();
    let (table, _) = moved(&bench, &["k"], MERGE);
    let request = |key: &[&str]| RestoreRequest {
        partitions: vec!["d=a".into()],
        key: key.iter().map(|&k| k.to_owned()).collect(),
        ..RestoreRequest::whole(At::Version(0))
    };
    let plan = bench.restore_with(&table.path, &request(&["k"])).unwrap().plan;
    assert_eq!(plan.keys.elsewhere, Some(1));
    assert!(says(&plan, "1 row that comes back has a key that is elsewhere in the table"), "{:?}", plan.findings);
    let plan = bench.restore_with(&table.path, &request(&["d", "k"])).unwrap().plan;
    assert_eq!((plan.keys.elsewhere, plan.findings.len()), (Some(0), 0), "{:?}", plan.findings);
    let plan = bench.restore_with(&table.path, &request(&[])).unwrap().plan;
    assert!(plan.keys.elsewhere.is_none() && says(&plan, "keys were not compared"), "{:?}", plan.findings);
    // With both partitions the key is where it was.
    let both = RestoreRequest { partitions: vec!["d=a".into(), "d=b".into()], ..request(&["k"]) };
    let plan = bench.restore_with(&table.path, &both).unwrap().plan;
    assert_eq!((plan.keys.elsewhere, plan.findings.len()), (Some(0), 0), "{:?}", plan.findings);
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1, 1), row("a", 2, 2), row("b", 3, 3)]);
}
