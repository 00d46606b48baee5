//! The facts that gates go by, against tables whose past is known.

use std::collections::BTreeMap;

use partwise::gate::evidence::{PartitionHistory, VersionRows};
use partwise::ops::{Prepared, RepartitionRequest, Strategy, prepare_repartition};
use partwise::plan::GateStatus;
use partwise::plan::layouts::LayoutBy;
use partwise::progress::Progress;
use partwise::table::Value;
use serde_json::{Value as Json, json};

use crate::support::road::{gate, override_all};
use crate::support::writer::{FileOptions, log_file};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

fn shape() -> Shape {
    let shape = Shape::new(&[("d", Kind::String), ("v", Kind::Integer)], &["d"]);
    Shape { deletion_vectors: true, ..shape }
}

fn rows(day: &str, n: i64) -> Vec<Row> {
    (0..n).map(|v| vec![s(day), i(v)]).collect()
}

/// A small generator of numbers, the same on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A partition as the test knows it: its live files with the rows that the log
/// tells of, and what it had after each commit that changed its data.
#[derive(Default)]
struct Past {
    files: Vec<(Json, i64, Option<u64>)>,
    /// Oldest first; `None` where the log does not tell.
    versions: Vec<(u64, Option<u64>, Option<u64>)>,
}

impl Past {
    fn rows(&self) -> Option<u64> {
        self.files.iter().map(|(_, _, rows)| *rows).sum()
    }

    /// As the evidence has it, newest first.
    fn known(&self) -> Vec<VersionRows> {
        let known = self.versions.iter().rev();
        known
            .filter_map(|(version, rows, before)| {
                Some(VersionRows { version: *version, rows: (*rows)?, before: *before })
            })
            .collect()
    }
}

/// Commits something to one partition, as some engine would.
fn commit(table: &mut Fixture, past: &mut Past, day: &str, dice: &mut Dice) {
    let before = past.rows();
    let some = 1 + dice.below(9) as i64;
    let add = |table: &mut Fixture, n: i64, options: FileOptions| {
        let known = (!options.without_stats).then_some(n as u64 - options.deleted.len() as u64);
        (table.add(&rows(day, n), &options), n, known)
    };
    let quiet = |mut action: Json| {
        for kind in ["add", "remove"] {
            if let Some(inner) = action.get_mut(kind) {
                inner["dataChange"] = json!(false);
            }
        }
        action
    };
    let mut actions: Vec<Json> = Vec::new();
    let mut changes = true;
    match dice.below(8) {
        // An overwrite.
        0 | 1 => {
            actions.extend(past.files.drain(..).map(|(file, _, _)| table.remove(&file)));
            past.files.push(add(table, some, FileOptions::default()));
            actions.extend(past.files.iter().map(|f| f.0.clone()));
        }
        // A DELETE of everything.
        2 if !past.files.is_empty() => actions.extend(past.files.drain(..).map(|(file, _, _)| table.remove(&file))),
        // OPTIMIZE: the same rows in one file, where all are counted.
        3 if before.is_some_and(|n| n > 0) => {
            changes = false;
            let total = before.unwrap_or_default() as i64;
            actions.extend(past.files.drain(..).map(|(file, _, _)| quiet(table.remove(&file))));
            past.files.push(add(table, total, FileOptions::default()));
            actions.extend(past.files.iter().map(|f| quiet(f.0.clone())));
        }
        // Statistics that come later: the file is added once more.
        4 if past.files.iter().any(|(_, _, rows)| rows.is_none()) => {
            changes = false;
            for (file, n, rows) in past.files.iter_mut().filter(|(_, _, rows)| rows.is_none()) {
                *rows = Some(*n as u64);
                file["add"]["stats"] = json!(json!({"numRecords": *n}).to_string());
                actions.push(quiet(file.clone()));
            }
        }
        // A DELETE by a deletion vector.
        5 if past.files.iter().any(|(file, n, _)| *n > 1 && file["add"].get("deletionVector").is_none()) => {
            let at = past.files.iter().position(|(file, n, _)| *n > 1 && file["add"].get("deletionVector").is_none());
            let (file, n, rows) = past.files.remove(at.unwrap());
            let masked = table.mask(&file, &[0], n as u64);
            past.files.push((masked[1].clone(), n, rows.map(|rows| rows - 1)));
            actions.extend(masked);
        }
        6 => past.files.push(add(table, some, FileOptions { without_stats: true, ..FileOptions::default() })),
        _ => past.files.push(add(table, some, FileOptions::default())),
    }
    if actions.is_empty() {
        actions.extend(past.files.last().map(|f| f.0.clone()));
    }
    let version = table.commit("WRITE", json!({}), actions);
    if changes {
        past.versions.push((version, past.rows(), before));
    }
}

fn history<'a>(prepared: &'a [PartitionHistory], label: &str) -> Option<&'a PartitionHistory> {
    prepared.iter().find(|h| h.label == label)
}

#[test]
fn the_rows_of_the_past_are_those_that_the_log_tells_of() {
    let (mut looked_at, mut unknown) = (0, 0);
    for seed in 1..=40_u64 {
        let bench = Bench::default();
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut table = Fixture::new(bench.path("t"), shape());
        let mut past: BTreeMap<&str, Past> = BTreeMap::new();
        for _ in 0..4 + dice.below(24) {
            let day = ["a", "b", "c"][dice.below(3) as usize];
            commit(&mut table, past.entry(day).or_default(), day, &mut dice);
        }
        let delivered = [rows("a", 3), rows("b", 3)].concat();
        let source = bench.source("s", &table.shape.columns, &delivered);
        let prepared: Prepared = bench.prepare(&table.path, &source, &[], Strategy::Overwrite).unwrap();
        let evidence = prepared.evidence();
        for day in ["a", "b"] {
            let model = past.remove(day).unwrap_or_default();
            let expected = model.known();
            let found = history(&evidence.row_history, &format!("d={day}"));
            let versions = found.map_or(&[][..], |h| &h.versions);
            assert!(expected.starts_with(versions), "seed {seed}, {day}: {versions:?} is no start of {expected:?}");
            let last = model.versions.iter().rev().take(7).filter(|(_, rows, _)| rows.is_some()).count();
            assert!(versions.len() >= last, "seed {seed}, {day}: {versions:?} of {expected:?}");
            if let Some(found) = found {
                assert_eq!(found.now, model.rows(), "seed {seed}, {day}");
            }
            looked_at += versions.len();
            unknown += model.versions.len() - expected.len();
        }
        assert!(history(&evidence.row_history, "d=c").is_none(), "no plan touches it");
    }
    assert!(looked_at > 100 && unknown > 30, "{looked_at} versions, {unknown} unknown");
}

#[test]
fn a_partition_that_lost_its_rows_slowly_is_noted() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape());
    let mut live: Option<Json> = None;
    for n in [500, 480, 490, 300] {
        let removed: Vec<Json> = live.iter().map(|add| table.remove(add)).collect();
        let add = table.add(&rows("a", n), &FileOptions::default());
        table.commit("WRITE", json!({"mode": "Overwrite"}), [removed, vec![add.clone()]].concat());
        live = Some(add);
    }
    let plan = |n: i64| {
        let source = bench.source(&format!("s{n}"), &table.shape.columns, &rows("a", n));
        bench.plan(&table.path, &source, &[], Strategy::Overwrite)
    };
    let less = plan(285);
    assert_eq!(gate(&less, "row-count").status, GateStatus::Warn, "little less than now");
    let history = gate(&less, "row-count-history");
    assert_eq!(history.status, GateStatus::Warn);
    assert_eq!(history.message, "d=a: 285 rows, the last 4 versions had 485 in the middle");
    assert_eq!(gate(&plan(480), "row-count-history").status, GateStatus::Pass);
}

#[test]
fn a_partition_column_switch_ends_the_look_back() {
    let bench = Bench::default();
    let columns = [("d", Kind::String), ("v", Kind::String)];
    let row = |d: Value, v: &str| vec![d, s(v)];
    let of = |d: Value, n: usize| vec![row(d, "x"); n];
    let mut table = Fixture::with_rows(bench.path("t"), Shape::new(&columns, &["v"]), &of(s("a"), 2));
    table.append(&of(s("a"), 2));
    table.append(&of(s("a"), 2));
    let lines = |version: u64| {
        let text = std::fs::read_to_string(log_file(&table.path, version)).unwrap();
        text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()).collect::<Vec<_>>()
    };
    let adds = (0..3).flat_map(lines).filter(|line| line.get("add").is_some());
    let removed: Vec<Json> = adds.map(|add| table.remove(&add)).collect();
    // The whole table once more, by the other column.
    let mut metadata = lines(0).into_iter().find(|line| line.get("metaData").is_some()).unwrap();
    metadata["metaData"]["partitionColumns"] = json!(["d"]);
    table.shape = Shape::new(&columns, &["d"]);
    let written = table.add_each(&[of(s("a"), 20), of(Value::Null, 3)].concat(), &FileOptions::default());
    table.commit("WRITE", json!({}), [vec![metadata], removed, written].concat());
    table.append(&of(s("a"), 5));
    let source = bench.source("s", &table.shape.columns, &[of(s("a"), 25), of(Value::Null, 4)].concat());
    let evidence = bench.prepare(&table.path, &source, &[], Strategy::Overwrite).unwrap().evidence();
    let had = |version, rows, before| VersionRows { version, rows, before: Some(before) };
    let found = history(&evidence.row_history, "d=a").unwrap();
    assert_eq!((found.now, found.versions.as_slice()), (Some(25), &[had(4, 25, 20), had(3, 20, 0)][..]));
    // The files of before have no value of the new column, which is not NULL.
    let found = history(&evidence.row_history, "d=∅").unwrap();
    assert_eq!((found.now, found.versions.as_slice()), (Some(3), &[had(3, 3, 0)][..]));
}

#[test]
fn a_disk_without_room_is_told_before_anything_is_staged() {
    let mut config = partwise::config::Config::default();
    // More than any disk has.
    config.gates.space_min_free_after_bytes = i64::MAX as u64;
    let bench = Bench::with_config(config);
    let table = bench.table(shape(), &rows("a", 20));
    let source = bench.source("s", &table.shape.columns, &rows("a", 21));
    let plan = bench.plan(&table.path, &source, &[], Strategy::Overwrite);
    let space = gate(&plan, "space");
    assert_eq!(space.status, GateStatus::Fail);
    assert!(space.message.contains("make room first"), "{}", space.message);
    assert_eq!(plan.blocking().len(), 1, "{:?}", plan.blocking());
    // Whoever knows better says why.
    bench.apply_with(&plan, &override_all(&plan)).unwrap();
    // A rewrite takes the room of what it replaces, until VACUUM.
    let request = RepartitionRequest { by: LayoutBy::parse("none").unwrap(), ..RepartitionRequest::default() };
    let open = bench.open(&table.path).unwrap();
    let plan = block_on(prepare_repartition(&bench.context, &open, &request, &Progress::default())).unwrap();
    let space = gate(&plan, "space");
    assert_eq!((space.status, &space.observed), (GateStatus::Fail, &json!(plan.files.removed_bytes)));

    let bench = Bench::default();
    let table = bench.table(shape(), &rows("a", 20));
    let source = bench.source("s", &table.shape.columns, &rows("a", 21));
    let prepared = bench.prepare(&table.path, &source, &[], Strategy::Overwrite).unwrap();
    let facts = prepared.evidence().space.expect("a local disk tells");
    assert!((21..10_000).contains(&facts.staged_bytes) && facts.free_bytes > 0, "{facts:?}");
    // Files that come back are not staged.
    bench.apply(&prepared.plan).unwrap();
    let undo = bench.plan_undo(&table.path, None).unwrap();
    assert!(undo.gates.iter().all(|g| g.name != "space"));
}
