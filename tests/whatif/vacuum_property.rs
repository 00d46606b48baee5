//! After a VACUUM every retained and every protected version reads whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use partwise::ops::{At, VacuumRequest};
use partwise::plan::Verdict;
use partwise::progress::Progress;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value as Json, json};

use super::vacuum::{DAY, now, plan_with, row, shape, spec};
use crate::support::writer::{FileOptions, log_file, set_time};
use crate::support::{Bench, Fixture, Row, block_on};

/// What one commit does, and how many hours passed before it.
#[derive(Debug, Clone)]
struct Step {
    hours: u16,
    /// Which of the live files go, by their number modulo their count.
    removes: Vec<u8>,
    adds: Vec<u8>,
    /// Adds a file back that an earlier commit removed.
    brings_back: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (0_u16..120, prop::collection::vec(any::<u8>(), 0..3), prop::collection::vec(0_u8..3, 0..3), any::<bool>())
        .prop_map(|(hours, removes, adds, brings_back)| Step { hours, removes, adds, brings_back })
}

struct Made {
    table: Fixture,
    /// The rows of each version.
    rows: Vec<Vec<Row>>,
    /// When each version was committed, in milliseconds.
    times: Vec<i64>,
}

fn make(bench: &Bench, steps: &[Step]) -> Made {
    let mut table = Fixture::new(bench.path("t"), shape());
    let hours: i64 = steps.iter().map(|s| i64::from(s.hours)).sum();
    let mut at = now() - hours * 3_600_000 - DAY;
    let mut live: BTreeMap<String, (Json, Row)> = BTreeMap::new();
    let mut gone: Vec<(Json, Row)> = Vec::new();
    let mut made = Made { table: Fixture::new(bench.path("unused"), shape()), rows: Vec::new(), times: Vec::new() };
    let mut next = 0;
    for (number, step) in steps.iter().enumerate() {
        at += i64::from(step.hours) * 3_600_000;
        let mut actions = Vec::new();
        let mut taken = Vec::new();
        for pick in &step.removes {
            let Some(path) = live.keys().nth(usize::from(*pick) % live.len().max(1)).cloned() else { continue };
            if let Some((add, row)) = live.remove(&path) {
                let mut remove = table.remove(&add);
                remove["remove"]["deletionTimestamp"] = json!(at);
                actions.push(remove);
                taken.push((add, row));
            }
        }
        if step.brings_back
            && let Some((add, row)) = gone.pop()
        {
            live.insert(add["add"]["path"].as_str().unwrap().to_owned(), (add.clone(), row));
            actions.push(add);
        }
        gone.extend(taken);
        for partition in &step.adds {
            next += 1;
            let row = row(["a", "b", "c"][usize::from(*partition)], next);
            let add = table.add(std::slice::from_ref(&row), &FileOptions::default());
            let path = add["add"]["path"].as_str().unwrap().to_owned();
            set_time(&table.path.join(&path), u64::try_from(at).unwrap());
            live.insert(path, (add.clone(), row));
            actions.push(add);
        }
        let version = table.commit("WRITE", json!({"mode": "Append"}), actions);
        assert_eq!(version, number as u64);
        set_time(&log_file(&table.path, version), u64::try_from(at).unwrap());
        let mut rows: Vec<Row> = live.values().map(|(_, row)| row.clone()).collect();
        rows.sort();
        made.rows.push(rows);
        made.times.push(at);
    }
    made.table = table;
    made
}

fn read(bench: &Bench, table: &Path, version: u64) -> Result<Vec<Row>, String> {
    let table = bench.open_at(table, At::Version(version)).map_err(|e| e.full_message())?;
    let page = block_on(table.rows(None, &[], 0, 10_000, &Progress::default())).map_err(|e| e.full_message())?;
    let mut rows = page.rows;
    rows.sort();
    Ok(rows)
}

fn check(steps: &[Step], protect: &BTreeSet<u64>) -> Result<(), String> {
    let bench = Bench::default();
    let made = make(&bench, steps);
    let table = &made.table.path;
    let newest = made.rows.len() as u64 - 1;
    let protect: Vec<u64> = protect.iter().copied().filter(|v| *v <= newest).collect();
    let readable = |version: u64| read(&bench, table, version).as_ref() == Ok(&made.rows[version as usize]);
    let before: BTreeSet<u64> = (0..=newest).filter(|v| readable(*v)).collect();
    let request = VacuumRequest { retain_ms: None, protect: protect.clone() };
    let plan = plan_with(&bench, table, &request).map_err(|e| e.full_message())?;
    let report = bench.apply(&plan).map_err(|e| e.full_message())?;
    if plan.verdict == Verdict::Ready && report.files_removed != spec(&plan).files.len() as u64 {
        return Err(format!("{} removed of {}", report.files_removed, spec(&plan).files.len()));
    }
    let cutoff = now() - 7 * DAY;
    for version in 0..=newest {
        // It was the newest until the next commit came.
        let retained = made.times.get(version as usize + 1).is_none_or(|next| *next >= cutoff);
        let lost = spec(&plan).lost_versions.contains(&version);
        if (retained || protect.contains(&version)) && !readable(version) {
            return Err(format!("version {version} is retained and does not read whole"));
        }
        if before.contains(&version) && readable(version) == lost {
            return Err(format!("version {version}: the plan said {}lost", if lost { "" } else { "not " }));
        }
    }
    Ok(())
}

#[test]
fn retained_and_protected_versions_read_whole() {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let config = Config {
        cases: if full { 400 } else { 40 },
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let cases = (prop::collection::vec(step(), 1..9), prop::collection::btree_set(0_u64..9, 0..3));
    let result = runner.run(&cases, |(steps, protect)| check(&steps, &protect).map_err(TestCaseError::fail));
    if let Err(failure) = result {
        panic!("{failure}");
    }
}
