//! What lies between the commit and its verification is found: files that
//! changed, went or never came into the log. Each is an alarm with an undo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use partwise::calls::{Call, Calls, Moment, Op, Watcher};
use partwise::journal::Outcome;
use partwise::ops::{self, ApplyReport, Context, Strategy};
use partwise::plan::Plan;
use partwise::progress::Progress;
use serde_json::Value as Json;

use crate::support::replay::actions;
use crate::support::road::{MERGE, override_all};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("k", Kind::Long), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, k: i64, v: i64) -> Row {
    vec![s(d), i(k), i(v)]
}

/// What happens to the table's folder, and to the files that the commit added.
type Meddling = fn(&Path, &[PathBuf]);

/// Lays hands on the table as soon as the commit has its name.
struct Meddler {
    table: PathBuf,
    version: u64,
    meddle: Meddling,
}

impl std::fmt::Debug for Meddler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meddler")
    }
}

impl Watcher for Meddler {
    fn at(&self, moment: Moment, call: &Call<'_>) -> io::Result<()> {
        if (moment, call.op) == (Moment::After, Op::DraftLink) {
            let added = actions(&self.table, self.version);
            let paths = added.iter().filter_map(|a| a["add"]["path"].as_str());
            (self.meddle)(&self.table, &paths.map(|p| self.table.join(p)).collect::<Vec<_>>());
        }
        Ok(())
    }
}

fn apply(bench: &Bench, table: &Fixture, plan: &Plan, meddle: Meddling) -> ApplyReport {
    let watcher = Meddler { table: table.path.clone(), version: plan.version + 1, meddle };
    let context = Context { calls: Calls::watched_by(Arc::new(watcher)), ..bench.context.clone() };
    block_on(ops::apply(&context, plan, &override_all(plan), &Progress::default()))
        .unwrap_or_else(|e| panic!("the commit stands: {}", e.full_message()))
}

fn swapped(_: &Path, files: &[PathBuf]) {
    let aside = files[0].with_extension("aside");
    fs::rename(&files[0], &aside).unwrap();
    fs::rename(&files[1], &files[0]).unwrap();
    fs::rename(aside, &files[1]).unwrap();
}

fn cut(_: &Path, files: &[PathBuf]) {
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &bytes[..bytes.len() / 2]).unwrap();
}

fn gone(_: &Path, files: &[PathBuf]) {
    fs::remove_file(&files[0]).unwrap();
}

/// The commit as it would be had it lost one of its files.
fn forgotten(table: &Path, files: &[PathBuf]) {
    let commit = fs::read_dir(table.join("_delta_log")).unwrap().map(|e| e.unwrap().path()).max().unwrap();
    let name = files[0].file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(&commit).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains(name)).collect();
    assert!(kept.len() < text.lines().count());
    fs::write(commit, kept.join("\n")).unwrap();
}

/// One more row than was planned: the log's own count is not what is gone by.
fn grown(table: &Path, files: &[PathBuf]) {
    let mut other = Fixture::resume(table, shape());
    let more = other.add(&[row("a", 1, 10), row("a", 9, 9)], &crate::support::writer::FileOptions::default());
    fs::rename(table.join(more["add"]["path"].as_str().unwrap()), &files[0]).unwrap();
}

#[test]
fn what_changed_after_the_commit_is_found_and_can_be_taken_back() {
    let cases: [(&str, Meddling, &str); 5] = [
        ("swapped", swapped, "d=a"),
        ("cut", cut, "could not be read back"),
        ("gone", gone, "could not be read back"),
        ("forgotten", forgotten, "should be live and is not"),
        ("grown", grown, "d=a"),
    ];
    for strategy in [Strategy::Overwrite, MERGE] {
        for (name, meddle, words) in cases {
            let bench = Bench::default();
            let table = bench.table(shape(), &[row("a", 1, 1), row("b", 2, 2), row("c", 3, 3)]);
            let before = rows_of(&table.path);
            let source = bench.source("s", &shape().columns, &[row("a", 1, 10), row("b", 2, 20)]);
            let plan = bench.plan(&table.path, &source, &["k"], strategy.clone());
            let report = apply(&bench, &table, &plan, meddle);
            assert_eq!((report.version_after, report.verified), (Some(1), false), "{name}");
            let said = report.mismatches.join("; ");
            assert!(said.contains(words), "{name}: {said}");
            assert!(report.undo.as_ref().is_some_and(|undo| undo.contains(&plan.id)), "{name}: {:?}", report.undo);
            let entry = bench.context.journal().find(&plan.id).unwrap().expect("an entry");
            assert_eq!(entry.outcome, Outcome::Mismatch, "{name}");
            assert!(entry.message.is_some_and(|m| m.contains(words)), "{name}");
            // The alarm's way out.
            if name != "forgotten" {
                bench.undo(&table.path);
                assert_eq!(rows_of(&table.path), before, "{name}");
            }
        }
    }
}

/// Files that come back are looked for again, since nothing of them is written.
#[test]
fn a_file_that_went_while_it_was_restored_is_found() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1), row("b", 2, 2)]);
    let source = bench.source("s", &shape().columns, &[row("a", 1, 10)]);
    bench.run(&table.path, &source, &["k"], Strategy::Overwrite);
    let plan = bench.plan_undo(&table.path, None).unwrap();
    let report = apply(&bench, &table, &plan, gone);
    assert!(!report.verified, "{report:?}");
    assert!(report.mismatches.join("; ").contains("came back into the log, but it is gone"), "{:?}", report.mismatches);
}

#[test]
fn a_report_says_in_json_what_is_wrong() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1, 1), row("b", 2, 2)]);
    let source = bench.source("s", &shape().columns, &[row("a", 1, 10), row("b", 2, 20)]);
    let plan = bench.plan(&table.path, &source, &["k"], Strategy::Overwrite);
    let report: Json = serde_json::to_value(apply(&bench, &table, &plan, swapped)).unwrap();
    assert_eq!((&report["verified"], &report["version_after"]), (&Json::Bool(false), &Json::from(1)));
    assert!(report["mismatches"].as_array().is_some_and(|m| !m.is_empty()), "{report}");
}
