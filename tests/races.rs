//! Writers that race: no row is lost, none is doubled, and each loser is told
//! what happened.
//!
//! Both sides plan at the same version and start together. The log then says
//! who committed in which order, and a model that applies them in that order
//! says which rows there must be. 20 races by default, 210 with
//! `PARTWISE_FULL=1`: every pair of writers on the same and on other partitions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;

use deltalake::arrow::array::RecordBatch;
use deltalake::arrow::datatypes::{Field, Schema};
use partwise::error::{Error, ErrorKind};
use partwise::ops::{self, ApplyReport, Context, Strategy, plan_file};
use partwise::plan::{GateStatus, Plan};
use partwise::progress::Progress;
use serde_json::{Value as Json, json};

use crate::support::replay::replay;
use crate::support::road::{MERGE, override_all};
use crate::support::writer::{Column, FileOptions};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s, sorted};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Overwrite,
    Merge,
    Append,
    Undo,
    Restore,
    OtherAppend,
    OtherOptimize,
}

use Writer::*;

const OURS: [Writer; 5] = [Overwrite, Merge, Append, Undo, Restore];
const ALL: [Writer; 7] = [Overwrite, Merge, Append, Undo, Restore, OtherAppend, OtherOptimize];

fn shape() -> Shape {
    Shape::new(&[("id", Kind::Long), ("p", Kind::String), ("v", Kind::Long)], &["p"])
}

fn row(id: i64, p: &str, v: i64) -> Row {
    vec![i(id), s(p), i(v)]
}

/// One side of a race.
struct Side {
    writer: Writer,
    partition: &'static str,
    delivered: Vec<Row>,
    /// `None` for another program.
    plan: Option<Plan>,
    context: Context,
}

/// How one of our sides ended; another program's error is its own matter.
type End = Option<Result<ApplyReport, Error>>;

/// Two files in each of four partitions, and an overwrite of `a` by partwise.
fn table(bench: &Bench) -> PathBuf {
    let mut table = Fixture::new(bench.path("t"), shape());
    let mut adds = Vec::new();
    for (n, p) in ["a", "b", "c", "d"].iter().enumerate() {
        let id = n as i64 * 10;
        adds.push(table.add(&[row(id, p, 0), row(id + 1, p, 0)], &FileOptions::default()));
        adds.push(table.add(&[row(id + 2, p, 0)], &FileOptions::default()));
    }
    table.commit("WRITE", json!({"mode": "Append"}), adds);
    let first: Vec<Row> = (0..3).map(|id| row(id, "a", 1)).collect();
    let source = bench.source("first", &shape().columns, &first);
    bench.run(&table.path, &source, &["id", "p"], Strategy::Overwrite);
    table.path
}

impl Side {
    fn new(bench: &Bench, table: &Path, writer: Writer, partition: &'static str, n: i64) -> Side {
        let base = match partition {
            "a" => 0,
            _ => 10,
        };
        let own = 100 * (n + 1);
        let delivered = match writer {
            Overwrite => vec![row(base, partition, own), row(base + 1, partition, own), row(own, partition, own)],
            // One that is there, one that is new.
            Merge => vec![row(base + 1, partition, own), row(own, partition, own)],
            Append | OtherAppend => vec![row(own, partition, own), row(own + 1, partition, own)],
            Undo | Restore | OtherOptimize => Vec::new(),
        };
        let plan = |strategy| {
            let source = bench.source(&format!("s{n}"), &shape().columns, &delivered);
            bench.plan(table, &source, &["id", "p"], strategy)
        };
        let plan = match writer {
            Overwrite => Some(plan(Strategy::Overwrite)),
            Merge => Some(plan(MERGE)),
            Append => Some(plan(Strategy::Append)),
            Undo => Some(bench.plan_undo(table, None).expect("an undo's plan")),
            Restore => Some(bench.plan_restore(table, 0).expect("a restore's plan")),
            OtherAppend | OtherOptimize => None,
        };
        let context = Context { state_dir: bench.path(&format!("state{n}")), ..bench.context.clone() };
        Side { writer, partition, delivered, plan, context }
    }

    fn run(&self, table: &Path) -> End {
        match &self.plan {
            Some(plan) => Some(block_on(ops::apply(&self.context, plan, &override_all(plan), &Progress::default()))),
            None => {
                let done = if self.writer == OtherAppend { append(table, &self.delivered) } else { optimize(table) };
                // Its commit is in the log, or it is not.
                drop(done);
                None
            }
        }
    }

    /// What a commit of this side makes of the rows before it.
    fn model(&self, rows: &mut Vec<Row>, base: &[Vec<Row>]) {
        let of = |p: &'static str| move |row: &Row| row[1] == s(p);
        match self.writer {
            Overwrite => {
                rows.retain(|r| !of(self.partition)(r));
                rows.extend(self.delivered.clone());
            }
            Merge => {
                rows.retain(|r| !self.delivered.iter().any(|d| d[..2] == r[..2]));
                rows.extend(self.delivered.clone());
            }
            Append | OtherAppend => rows.extend(self.delivered.clone()),
            // Both go back to version 0; only `a` was written since.
            Undo => {
                rows.retain(|r| !(of("a")(r) && base[1].contains(r)));
                rows.extend(base[0].iter().filter(|r| of("a")(r)).cloned());
            }
            Restore => rows.clone_from(&base[0]),
            OtherOptimize => {}
        }
    }
}

fn batch(columns: &[Column], rows: &[Row]) -> RecordBatch {
    let arrays = columns.iter().enumerate().map(|(at, column)| {
        let cells: Vec<_> = rows.iter().map(|row| &row[at]).collect();
        let array = column.kind.array(&cells, false);
        (Field::new(&column.name, array.data_type().clone(), true), array)
    });
    let (fields, arrays): (Vec<_>, Vec<_>) = arrays.unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

async fn opened(table: &Path) -> Result<deltalake::DeltaTable, String> {
    let folder = table.canonicalize().map_err(|e| e.to_string())?;
    let url = url::Url::from_directory_path(folder).map_err(|()| "no URL")?;
    deltalake::open_table(url).await.map_err(|e| e.to_string())
}

fn append(table: &Path, rows: &[Row]) -> Result<(), String> {
    let batch = batch(&shape().columns, rows);
    block_on(async { opened(table).await?.write([batch]).await.map(drop).map_err(|e| e.to_string()) })
}

fn optimize(table: &Path) -> Result<(), String> {
    block_on(async { opened(table).await?.optimize().await.map(drop).map_err(|e| e.to_string()) })
}

/// Both at once.
fn race(table: &Path, sides: &[Side]) -> Vec<End> {
    let barrier = Barrier::new(sides.len());
    thread::scope(|scope| {
        let start = |side| {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                Side::run(side, table)
            })
        };
        let running: Vec<_> = sides.iter().map(start).collect();
        running.into_iter().map(|r| r.join().expect("a writer does not panic")).collect()
    })
}

/// Which side committed each version after `from`.
fn order(table: &Path, sides: &[Side], from: u64) -> Vec<(u64, usize)> {
    let state = replay(table).unwrap_or_else(|e| panic!("the log is broken: {e}"));
    (from + 1..=state.version)
        .map(|version| {
            let info = &state.infos[version as usize];
            let id = info["partwise"]["id"].as_str();
            let own = sides.iter().position(|side| side.plan.as_ref().map(|p| p.id.as_str()) == id);
            (version, own.unwrap_or_else(|| panic!("version {version} is of nobody: {info}")))
        })
        .collect()
}

/// What must hold after every race; gives a word for the outcome.
fn judge(table: &Path, sides: &[Side], ends: &[End], base: &[Vec<Row>]) -> String {
    const PLANNED: u64 = 1;
    let order = order(table, sides, PLANNED);
    let names: Vec<String> = sides.iter().map(|s| format!("{:?} of {}", s.writer, s.partition)).collect();
    let mut rows = base[1].clone();
    order.iter().for_each(|(_, side)| sides[*side].model(&mut rows, base));
    assert_eq!(rows_of(table), sorted(rows), "{names:?}: committed in the order {order:?}");
    let mut lost = 0;
    for (n, end) in ends.iter().enumerate() {
        let version = order.iter().find(|(_, side)| *side == n).map(|(v, _)| *v);
        let Some(end) = end else {
            lost += u64::from(version.is_none() && sides[n].writer == OtherAppend);
            continue;
        };
        match end {
            Ok(report) => {
                assert_eq!(report.version_after, version, "{names:?}");
                assert!(report.verified && report.mismatches.is_empty(), "{names:?}: {:?}", report.mismatches);
                let over: Vec<u64> = (PLANNED + 1..version.expect("a commit")).collect();
                assert_eq!(report.rebased_over, over, "{names:?}");
            }
            Err(error) => {
                lost += 1;
                let said = error.full_message();
                assert_eq!((error.kind, version), (ErrorKind::StalePlan, None), "{names:?}: {said}");
                let (winner, other) = order.first().unwrap_or_else(|| panic!("{names:?}: nobody won, but: {said}"));
                assert!(said.contains(&format!("v{winner}")), "{names:?}: {said}");
                if sides[*other].writer != OtherOptimize {
                    assert!(said.contains(&format!("p={}", sides[*other].touched())), "{names:?}: {said}");
                }
            }
        }
        assert!(sides[n].left_over(table).is_empty() || end.is_ok(), "{names:?}: staged files were left");
    }
    match (lost, ends.iter().flatten().filter_map(|e| e.as_ref().ok()).any(|r| !r.rebased_over.is_empty())) {
        (0, true) => "both, one rebased".into(),
        (0, false) => "both, without a rebase".into(),
        (n, _) => format!("{n} lost"),
    }
}

impl Side {
    /// The partition that it writes to.
    fn touched(&self) -> &'static str {
        if matches!(self.writer, Undo | Restore) { "a" } else { self.partition }
    }

    /// Data files with its operation's id.
    fn left_over(&self, table: &Path) -> Vec<PathBuf> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let pattern = format!("{}/**/*{}*", table.display(), plan.id);
        glob::glob(&pattern).expect("a pattern").filter_map(Result::ok).collect()
    }
}

/// One race on a fresh table.
fn run(writers: [Writer; 2], partitions: [&'static str; 2]) -> String {
    let bench = Bench::default();
    let table = table(&bench);
    let first = replay(&table).expect("a sound log");
    let base = [old_rows(&bench, &table), rows_of(&table)];
    assert_eq!(first.version, 1);
    let sides: Vec<Side> = (0..2).map(|n| Side::new(&bench, &table, writers[n], partitions[n], n as i64)).collect();
    let ends = race(&table, &sides);
    judge(&table, &sides, &ends, &base)
}

/// The rows of version 0, from a copy of the table that ends there.
fn old_rows(bench: &Bench, table: &Path) -> Vec<Row> {
    let copy = bench.path("v0");
    crate::support::road::copy_folder(table, &copy);
    std::fs::remove_file(crate::support::writer::log_file(&copy, 1)).expect("the second commit");
    rows_of(&copy)
}

#[test]
fn two_writers_race_and_every_row_is_accounted_for() {
    let mut all: Vec<([Writer; 2], [&'static str; 2])> = Vec::new();
    for ours in OURS {
        for other in ALL {
            all.push(([ours, other], ["a", "a"]));
            all.push(([ours, other], ["a", "b"]));
        }
    }
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    // 17 and 70 have no common divisor: the default takes a few of everything.
    let races: Vec<usize> = (0..if full { 210 } else { 20 }).map(|n| n * 17 % all.len()).collect();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for at in races {
        let (writers, partitions) = all[at];
        let word = run(writers, partitions);
        let place = if partitions[0] == partitions[1] { "same" } else { "other" };
        *outcomes.entry(format!("{place} partition: {word}")).or_default() += 1;
    }
    println!("races: {outcomes:?}");
    let some = |word: &str| outcomes.keys().any(|k| k.contains(word));
    assert!(some("lost") && some("rebased"), "the races were no races: {outcomes:?}");
}

#[test]
fn overwrites_of_one_partition_have_one_winner_and_of_two_have_two() {
    assert_eq!(run([Overwrite, Overwrite], ["a", "a"]), "1 lost");
    assert_eq!(run([Overwrite, Overwrite], ["a", "b"]), "both, one rebased");
}

#[test]
fn four_appends_at_once_all_land() {
    let bench = Bench::default();
    let table = table(&bench);
    let base = [Vec::new(), rows_of(&table)];
    let sides: Vec<Side> = (0..4).map(|n| Side::new(&bench, &table, Append, "a", n)).collect();
    let ends = race(&table, &sides);
    assert_eq!(judge(&table, &sides, &ends, &base), "both, one rebased");
    assert_eq!(replay(&table).expect("a sound log").version, 5);
}

/// Two processes with their own state folders; the exit code tells the loser.
fn processes(partitions: [&'static str; 2]) -> Vec<i32> {
    let bench = Bench::default();
    let table = table(&bench);
    let base = [old_rows(&bench, &table), rows_of(&table)];
    let sides: Vec<Side> = (0..2).map(|n| Side::new(&bench, &table, Overwrite, partitions[n], n as i64)).collect();
    let children: Vec<_> = sides
        .iter()
        .enumerate()
        .map(|(n, side)| {
            let file = bench.path(&format!("plan{n}.json"));
            let mut plan = side.plan.clone().expect("a plan of ours");
            // Gates are not what is raced about.
            let failed = plan.gates.iter_mut().filter(|gate| gate.status == GateStatus::Fail);
            failed.for_each(|gate| gate.overridden = Some("a race".into()));
            plan.settle();
            plan_file::write(&plan, &file, false).expect("the plan's file");
            Command::new(assert_cmd::cargo::cargo_bin("partwise"))
                .args(["apply", "--yes", "--json"])
                .arg(&file)
                .env("PARTWISE_STATE", &side.context.state_dir)
                .env("HOME", bench.dir.path())
                .env("XDG_CONFIG_HOME", bench.path("config"))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the program starts")
        })
        .collect();
    let mut codes = Vec::new();
    for child in children {
        let output = child.wait_with_output().expect("the program ends");
        let code = output.status.code().unwrap_or(-1);
        let said: Json = serde_json::from_slice(&output.stdout).unwrap_or(Json::Null);
        if code == 4 {
            assert_eq!(said["error"]["kind"], json!("StalePlan"), "{said}");
        } else {
            assert_eq!(code, 0, "{said} {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(said["verified"], json!(true), "{said}");
        }
        codes.push(code);
    }
    let order = order(&table, &sides, 1);
    let mut rows = base[1].clone();
    order.iter().for_each(|(_, side)| sides[*side].model(&mut rows, &base));
    assert_eq!(rows_of(&table), sorted(rows));
    codes.sort_unstable();
    codes
}

#[test]
fn two_processes_race_too() {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    for _ in 0..if full { 20 } else { 1 } {
        assert_eq!(processes(["a", "a"]), [0, 4]);
        assert_eq!(processes(["a", "b"]), [0, 0]);
    }
}
