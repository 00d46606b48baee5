//! Random tables, sources and keys: the plan says what the naive model says,
//! the commit does what the plan says, and undo gives back every cell.

mod check;
mod generate;

use std::collections::BTreeMap;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::model::{Counts, Input, Operation};

/// 100 cases an operation, 1,000 with `PARTWISE_FULL=1`. The cases are the same
/// on every run, so that a red test stays red.
fn run(operation: Operation) {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let cases = if full { 1000 } else { 100 };
    let mut runner = runner(cases);
    let strategy = generate::seed().prop_map(generate::Case::new);
    let result = runner.run(&strategy, |case| check::check(&case, operation).map_err(TestCaseError::fail));
    if let Err(failure) = result {
        panic!("{operation:?}: {failure}");
    }
}

/// The same cases on every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

const MERGE: Operation = Operation::Merge { null_safe: false, delete_missing: false };

#[test]
fn overwrite() {
    run(Operation::Overwrite);
}

#[test]
fn overwrite_of_the_whole_table() {
    run(Operation::OverwriteAll);
}

#[test]
fn append() {
    run(Operation::Append);
}

#[test]
fn merge() {
    run(MERGE);
}

#[test]
fn merge_that_deletes_what_is_missing() {
    run(Operation::Merge { null_safe: false, delete_missing: true });
}

#[test]
fn merge_with_null_safe_keys() {
    run(Operation::Merge { null_safe: true, delete_missing: false });
}

#[test]
fn merge_with_null_safe_keys_that_deletes_what_is_missing() {
    run(Operation::Merge { null_safe: true, delete_missing: true });
}

/// Random cases prove little where none of them is awkward: each corner must
/// be met by some of the cases that the tests above run.
#[test]
fn the_cases_reach_every_corner() {
    let mut met: BTreeMap<&str, u32> = BTreeMap::new();
    let mut runner = runner(100);
    for _ in 0..100 {
        let tree = generate::seed().new_tree(&mut runner).expect("a case");
        let case = generate::Case::new(tree.current());
        for operation in [Operation::Overwrite, MERGE] {
            let target = case.target();
            let index = |names: &[String]| names.iter().map(|c| case.shape.index(c)).collect::<Vec<_>>();
            let (partition, key) = (index(&case.shape.partition_by), index(&case.key));
            let input = Input { operation, partition: &partition, key: &key, target: &target, source: &case.source };
            let out = input.run();
            let overwrite = operation == Operation::Overwrite;
            let corners = [
                ("a refusal", out.refused),
                ("a row that moves in an overwrite", overwrite && out.total.moved_in > 0),
                ("a row that moves in a MERGE", !overwrite && out.total.moved_in > 0),
                ("a move that is left open", out.open_moves),
                ("a zombie", out.total.zombies > 0),
                ("a deleted row", out.total.deleted > 0),
                ("an updated row", out.total.updated > 0),
                ("an unchanged row", out.total.unchanged > 0),
                ("an inserted row", out.total.inserted > 0),
                ("a key elsewhere", out.elsewhere > 0),
                ("a repeated key", out.duplicates > 0),
                ("a NULL key", out.nulls.0 > 0 && out.nulls.1 > 0),
                ("no key", case.key.is_empty()),
                ("no partition column", case.shape.partition_by.is_empty()),
                ("two partition columns", case.shape.partition_by.len() == 2),
                ("an empty table", target.is_empty()),
                ("an empty source", case.source.is_empty()),
                ("column mapping", case.shape.mapped),
                ("a deletion vector", case.files.iter().any(|(_, options)| !options.deleted.is_empty())),
                ("a file without statistics", !case.counted),
                ("a no-op", !case.source.is_empty() && out.total == only_unchanged(&out.total)),
            ];
            for (corner, found) in corners {
                *met.entry(corner).or_default() += u32::from(found);
            }
        }
    }
    let never: Vec<_> = met.iter().filter(|(_, times)| **times == 0).collect();
    assert!(never.is_empty(), "never met: {never:?} of {met:?}");
    println!("{met:?}");
}

fn only_unchanged(counts: &Counts) -> Counts {
    Counts { before: counts.before, source: counts.source, unchanged: counts.unchanged, ..Counts::default() }
}
