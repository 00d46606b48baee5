//! What a table's protocol asks: checkpoints of the second kind and compacted
//! commits (B42), features that nobody here honours (B46).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use partwise::error::{ErrorKind, Result};
use partwise::ops::Strategy;
use partwise::plan::{Plan, Verdict};
use serde_json::{Value as Json, json};

use super::values::partitions;
use crate::support::replay::{actions, newest, replay};
use crate::support::road::{MERGE, refused};
use crate::support::writer::{FileOptions, log_file};
use crate::support::{Bench, Fixture, Kind, Row, Shape, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

/// (version, live rows)
fn look(bench: &Bench, table: &Path) -> Result<(u64, u64)> {
    let found = partitions(bench, table, true)?;
    Ok((bench.open(table)?.version(), found.iter().map(|p| p.rows.exact().expect("counted rows")).sum()))
}

/// Four commits of one row each, with this protocol.
fn four(bench: &Bench, protocol: &Json) -> Fixture {
    let mut table = Fixture::new(bench.path("t"), shape());
    for v in 0..4 {
        table.append(&[row(["a", "b"][v as usize % 2], v)]);
    }
    let log = log_file(&table.path, 0);
    let lines: Vec<String> =
        actions(&table.path, 0)
            .into_iter()
            .map(|line| {
                if line.get("protocol").is_some() {
                    json!({"protocol": protocol}).to_string()
                } else {
                    line.to_string()
                }
            })
            .collect();
    fs::write(log, lines.join("\n") + "\n").unwrap();
    table
}

fn v2() -> Json {
    json!({"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]})
}

/// The actions of some commits that a checkpoint at the last of them keeps.
fn kept(table: &Path, versions: std::ops::RangeInclusive<u64>) -> Vec<Json> {
    versions.flat_map(|v| actions(table, v)).filter(|line| line.get("commitInfo").is_none()).collect()
}

fn lines(actions: &[Json]) -> String {
    actions.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn b42_a_checkpoint_of_the_second_kind_as_json() {
    let bench = Bench::default();
    let mut table = four(&bench, &v2());
    let mut checkpoint = vec![json!({"checkpointMetadata": {"version": 2}})];
    checkpoint.extend(kept(&table.path, 0..=2));
    let name = format!("_delta_log/{:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", 2);
    fs::write(table.path.join(name), lines(&checkpoint)).unwrap();
    for version in 0..=2 {
        fs::remove_file(log_file(&table.path, version)).unwrap();
    }
    assert_eq!(look(&bench, &table.path).unwrap(), (3, 4));

    // And it is written on.
    let source = bench.source("s", &shape().columns, &[row("a", 9)]);
    let (plan, report) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!((plan.rows.deleted, report.version_after), (2, Some(4)));
    assert_eq!(look(&bench, &table.path).unwrap(), (4, 3));
    table.next = 5;
    table.append(&[row("b", 5)]);
    assert_eq!(look(&bench, &table.path).unwrap(), (5, 4));
}

#[test]
fn b42_compacted_commits_never_double_rows_and_are_no_log() {
    let bench = Bench::default();
    let table = four(&bench, &json!({"minReaderVersion": 1, "minWriterVersion": 2}));
    let name = format!("_delta_log/{:020}.{:020}.compacted.json", 1, 2);
    fs::write(table.path.join(name), lines(&kept(&table.path, 1..=2))).unwrap();
    assert_eq!(look(&bench, &table.path).unwrap(), (3, 4));
    for version in 1..=2 {
        fs::remove_file(log_file(&table.path, version)).unwrap();
    }
    let error = refused(look(&bench, &table.path));
    assert_eq!(error.kind, ErrorKind::LogGap, "{}", error.full_message());
}

/// Every file of a table's folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => {
                found.insert(path);
            }
        }
    }
    found
}

fn refusal_of<'a>(plan: &'a Plan, what: &str) -> &'a str {
    let found = plan.refusals.iter().find(|r| r.kind == ErrorKind::UnsupportedFeature);
    &found.unwrap_or_else(|| panic!("{what}: no refusal")).message
}

#[test]
fn b46_features_that_nobody_here_honours_leave_a_table_read_only() {
    let bench = Bench::default();
    let protocol = json!({"minReaderVersion": 1, "minWriterVersion": 7,
                          "writerFeatures": ["appendOnly", "invariants", "rowTracking", "clustering", "domainMetadata"]});
    let table = four(&bench, &protocol);
    assert_eq!(look(&bench, &table.path).unwrap(), (3, 4));
    let before = files(&table.path);
    let source = bench.source("s", &shape().columns, &[row("a", 9)]);
    for (what, strategy) in [
        ("overwrite", Strategy::Overwrite),
        ("overwrite all", Strategy::OverwriteAll),
        ("append", Strategy::Append),
        ("merge", MERGE),
        ("replace where", Strategy::ReplaceWhere { predicate: "d = 'a'".into() }),
    ] {
        let plan = bench.plan(&table.path, &source, &["v"], strategy);
        assert_eq!(plan.verdict, Verdict::Blocked, "{what}");
        let said = refusal_of(&plan, what);
        assert!(said.contains("rowTracking") && said.contains("clustering"), "{what}: {said}");
        // The numbers hold all the same.
        assert!(plan.compared && plan.rows.source == 1 && plan.rows.inserted == 1, "{what}: {:?}", plan.rows);
        let error = refused(bench.apply(&plan));
        assert_eq!(error.kind, ErrorKind::UnsupportedFeature, "{what}: {}", error.full_message());
    }
    assert_eq!(files(&table.path), before, "a file was left in the table's folder");
}

#[test]
fn b46_a_reader_version_of_the_future_is_named() {
    let bench = Bench::default();
    let table = four(&bench, &json!({"minReaderVersion": 99, "minWriterVersion": 99}));
    let error = refused(look(&bench, &table.path));
    assert_eq!(error.kind, ErrorKind::UnsupportedReader);
    assert!(error.message.contains("99"), "{}", error.message);
}

#[test]
fn b46_rows_of_an_append_only_table_are_only_added() {
    let bench = Bench::default();
    let shape = Shape { properties: vec![("delta.appendOnly".into(), "true".into())], ..shape() };
    let mut table = Fixture::with_rows(bench.path("t"), shape.clone(), &[row("a", 1)]);
    table.append(&[row("b", 2)]);
    let before = files(&table.path);
    let source = bench.source("s", &shape.columns, &[row("a", 1)]);
    for (what, strategy) in [("overwrite", Strategy::Overwrite), ("all", Strategy::OverwriteAll), ("merge", MERGE)] {
        let plan = bench.plan(&table.path, &source, &["v"], strategy);
        assert!(refusal_of(&plan, what).contains("appendOnly"), "{what}: {:?}", plan.refusals);
        assert_eq!(refused(bench.apply(&plan)).kind, ErrorKind::UnsupportedFeature, "{what}");
    }
    assert_eq!(files(&table.path), before);
    bench.run(&table.path, &source, &[], Strategy::Append);
    assert_eq!(newest(&table.path), 2);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("a", 1), row("b", 2)]);
    assert_eq!(replay(&table.path).unwrap().metadata["configuration"]["delta.appendOnly"], "true");
}

/// A file that only the checkpoint names, and one that a later commit removes.
#[test]
fn b42_what_a_commit_after_the_checkpoint_removes_is_gone() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape());
    let adds: Vec<Json> = (0..3).map(|v| table.add(&[row("a", v)], &FileOptions::default())).collect();
    table.commit("WRITE", json!({"mode": "Append"}), adds.clone());
    let head = actions(&table.path, 0).into_iter().filter(|l| l.get("metaData").is_some());
    let mut checkpoint = vec![json!({"checkpointMetadata": {"version": 0}}), json!({"protocol": v2()})];
    checkpoint.extend(head.chain(adds.clone()));
    let name = format!("_delta_log/{:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a12.json", 0);
    fs::write(table.path.join(name), lines(&checkpoint)).unwrap();
    let remove = table.remove(&adds[1]);
    table.commit("DELETE", json!({}), vec![remove]);
    fs::remove_file(log_file(&table.path, 0)).unwrap();
    assert_eq!(look(&bench, &table.path).unwrap(), (1, 2));
}
