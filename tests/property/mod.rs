//! Random tables, sources and keys: the plan says what the naive model says,
//! the commit does what the plan says, and undo gives back every cell.

mod check;
mod generate;

use proptest::strategy::Strategy as _;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::model::Operation;

/// 100 cases an operation, 1,000 with `PARTWISE_FULL=1`. The cases are the same
/// on every run, so that a red test stays red.
fn run(operation: Operation) {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let cases = if full { 1000 } else { 100 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = generate::seed().prop_map(generate::Case::new);
    let result = runner.run(&strategy, |case| check::check(&case, operation).map_err(TestCaseError::fail));
    if let Err(failure) = result {
        panic!("{operation:?}: {failure}");
    }
}

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
    run(Operation::Merge { null_safe: false, delete_missing: false });
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
