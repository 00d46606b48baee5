//! Random tables, sources, keys and statements: the plan says what the naive
//! model says, with rows in memory and on disk, the commit does what the plan
//! says, and undo gives back every cell.

mod check;
mod clauses;
pub mod generate;
mod numbers;
mod pages;
mod statement;

use std::cell::Cell;
use std::collections::BTreeMap;

use partwise::ops::Strategy;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::model::{Model, Outcome, Rule, Statement};
use generate::{Case, Payload};
use statement::{Dice, Run};

type Make = fn(&Case) -> Run;

/// 100 cases an operation, 1,000 with `PARTWISE_FULL=1`. The cases are the same
/// on every run, so that a red test stays red.
fn run(payload: Payload, make: Make) {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let cases = if full { 1000 } else { 100 };
    let (all, compared) = (Cell::new(0_u32), Cell::new(0_u32));
    let strategy = generate::seed().prop_map(|seed| Case::new(seed, payload));
    let result = runner(cases).run(&strategy, |case| {
        let run = make(&case);
        let on_disk = check::check(&case, &run)
            .map_err(|said| TestCaseError::fail(format!("{said}\n{:?}\n{:?}", run.strategy, run.request)))?;
        all.set(all.get() + 1);
        compared.set(compared.get() + u32::from(on_disk));
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    // The rows of a few keys do not fit where there is hardly any memory.
    assert!(compared.get() * 10 >= all.get() * 9, "{} of {} on disk", compared.get(), all.get());
}

/// The same cases on every run.
pub fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn overwrite_of(case: &Case) -> Run {
    let mut run = Run::simple(case, Rule::Overwrite, Strategy::Overwrite, true);
    run.options(case, &Dice::new(case));
    run
}

fn overwrite_all_of(case: &Case) -> Run {
    let mut run = Run::simple(case, Rule::OverwriteAll, Strategy::OverwriteAll, true);
    run.options(case, &Dice::new(case));
    run
}

fn append_of(case: &Case) -> Run {
    let mut run = Run::simple(case, Rule::Append, Strategy::Append, true);
    run.options(case, &Dice::new(case));
    run
}

/// A MERGE needs a key: where a case has none, all of its key columns are one.
fn keyed(case: &Case) -> Case {
    let mut case = case.clone();
    if case.key.is_empty() {
        case.key = case.shape.columns.iter().map(|c| c.name.clone()).filter(|c| c.starts_with('k')).collect();
    }
    case
}

fn upsert(case: &Case, null_safe_keys: bool, delete_missing: bool) -> Run {
    let case = keyed(case);
    let rule = Rule::Merge(Statement::upsert(delete_missing));
    let mut run = Run::simple(&case, rule, Strategy::Merge { null_safe_keys, delete_missing }, null_safe_keys);
    run.options(&case, &Dice::new(&case));
    run
}

fn insert_only_of(case: &Case) -> Run {
    let (case, dice) = (keyed(case), Dice::new(case));
    let null_safe_keys = dice.one_in(2);
    let rule = Rule::Merge(Statement::insert_only());
    let mut run = Run::simple(&case, rule, Strategy::InsertOnly { null_safe_keys }, null_safe_keys);
    run.options(&case, &dice);
    run
}

fn merge_of(case: &Case) -> Run {
    Run::merge(case, &Dice::new(case))
}

fn replace_where_of(case: &Case) -> Run {
    Run::replace_where(case, &Dice::new(case))
}

fn scd2_of(case: &Case) -> Run {
    let case = keyed(case);
    Run::scd2(&case, &Dice::new(&case))
}

/// A change feed into any strategy that takes rows.
fn feed_of(case: &Case) -> Run {
    let dice = Dice::new(case);
    let mut run = match dice.below(8) {
        0 => overwrite_of(case),
        1 => append_of(case),
        2 => insert_only_of(case),
        3 | 4 => merge_of(case),
        n => upsert(case, n == 5, n == 6),
    };
    run.view(case, &dice);
    run
}

#[test]
fn overwrite() {
    run(Payload::Any, overwrite_of);
}

#[test]
fn overwrite_of_the_whole_table() {
    run(Payload::Any, overwrite_all_of);
}

#[test]
fn append() {
    run(Payload::Any, append_of);
}

#[test]
fn merge() {
    run(Payload::Any, |case| upsert(case, false, false));
}

#[test]
fn merge_that_deletes_what_is_missing() {
    run(Payload::Any, |case| upsert(case, false, true));
}

#[test]
fn merge_with_null_safe_keys() {
    run(Payload::Any, |case| upsert(case, true, false));
}

#[test]
fn merge_with_null_safe_keys_that_deletes_what_is_missing() {
    run(Payload::Any, |case| upsert(case, true, true));
}

#[test]
fn insert_only() {
    run(Payload::Any, insert_only_of);
}

#[test]
fn merge_with_any_clauses() {
    run(Payload::Clauses, merge_of);
}

#[test]
fn replace_where() {
    run(Payload::Clauses, replace_where_of);
}

#[test]
fn slowly_changing_dimension() {
    run(Payload::Versions, scd2_of);
}

#[test]
fn change_feeds() {
    run(Payload::Clauses, feed_of);
}

fn corners(case: &Case, run: &Run, out: &Outcome) -> Vec<(&'static str, bool)> {
    let (t, joins) = (&out.total, matches!(run.rule, Rule::Merge(_) | Rule::Scd2(_)));
    let only_unchanged = t.inserted + t.updated + t.deleted == 0 && t.unchanged > 0;
    vec![
        ("a refusal", out.refused.is_some()),
        ("a row outside a predicate", out.refused == Some("outside")),
        ("a row that moves in an overwrite", !joins && t.moved_in > 0),
        ("a row that moves in a MERGE", joins && t.moved_in > 0),
        ("a move that is left open", out.open_moves),
        ("a zombie", t.zombies > 0),
        ("a deleted row", t.deleted > 0),
        ("an updated row", t.updated > 0),
        ("an unchanged row", t.unchanged > 0),
        ("an inserted row", t.inserted > 0),
        ("a kept row", t.kept > 0),
        (
            "a kept row in a partition that was not delivered",
            out.partitions.values().any(|c| c.kept > 0 && c.source == 0),
        ),
        ("an ignored row", t.ignored > 0),
        ("an ignored row without a partition", out.unplaced > 0),
        ("a before-image", out.before_images > 0),
        ("a row that differs in ignored columns only", out.touched_only > 0),
        ("a stated slice", run.asked.is_some()),
        ("a key by another column", run.pairs.iter().any(|p| run.feed.columns[p.target] != Some(p.source))),
        ("a key elsewhere", out.elsewhere > 0),
        ("a repeated key", out.duplicates.0 > 0 && out.duplicates.1 > 0),
        ("a NULL key", out.nulls.0 > 0 && out.nulls.1 > 0),
        ("no key", run.pairs.is_empty()),
        ("no partition column", case.shape.partition_by.is_empty()),
        ("two partition columns", case.shape.partition_by.len() == 2),
        ("an empty table", case.target().is_empty()),
        ("an empty source", case.source.is_empty()),
        ("column mapping", case.shape.mapped),
        ("a deletion vector", case.files.iter().any(|(_, options)| !options.deleted.is_empty())),
        ("a file without statistics", !case.counted),
        ("a no-op", only_unchanged),
    ]
}

/// Random cases prove little where none of them is awkward: each corner must
/// be met by some of the cases that the tests above run.
#[test]
fn the_cases_reach_every_corner() {
    let mut met: BTreeMap<&str, u32> = BTreeMap::new();
    let makes: [(Payload, Make); 6] = [
        (Payload::Any, overwrite_of),
        (Payload::Any, insert_only_of),
        (Payload::Clauses, merge_of),
        (Payload::Clauses, replace_where_of),
        (Payload::Versions, scd2_of),
        (Payload::Clauses, feed_of),
    ];
    for (payload, make) in makes {
        let mut runner = runner(100);
        for _ in 0..100 {
            let tree = generate::seed().new_tree(&mut runner).expect("a case");
            let case = Case::new(tree.current(), payload);
            let (run, target) = (make(&case), case.target());
            let partition: Vec<usize> = case.shape.partition_by.iter().map(|c| case.shape.index(c)).collect();
            let (rule, ignore, pairs, feed) = (&run.rule, &run.ignore, &run.pairs, &run.feed);
            let out = Model { rule, partition: &partition, ignore, pairs, target: &target, feed }.run();
            for (corner, found) in corners(&case, &run, &out) {
                *met.entry(corner).or_default() += u32::from(found);
            }
        }
    }
    let never: Vec<_> = met.iter().filter(|(_, times)| **times == 0).collect();
    assert!(never.is_empty(), "never met: {never:?} of {met:?}");
    println!("{met:?}");
}
