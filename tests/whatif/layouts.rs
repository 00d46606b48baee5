//! Simulated layouts against a naive count of the rows.

use std::collections::BTreeMap;
use std::path::Path;

use partwise::config::{Config, TableConfig};
use partwise::error::ErrorKind;
use partwise::ops::{LayoutReport, LayoutRequest, Strategy, exact_layout, health, layouts};
use partwise::plan::layouts::{Candidate, LayoutBy, Origin};
use partwise::progress::Progress;
use partwise::table::Value;
use serde_json::json;

use crate::support::road::refused;
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

const REGIONS: [&str; 4] = ["APJ", "EMEA", "LATAM", "NA"];
/// 2024-01-01
const FIRST_DAY: i32 = 19_723;

fn shape(partition_by: &[&str]) -> Shape {
    let columns = [("dt", Kind::Date), ("region", Kind::String), ("id", Kind::Long), ("amount", Kind::Decimal(12, 2))];
    Shape::new(&columns, partition_by)
}

/// So many days of rows; regions are uneven, and some have none.
fn rows(days: i32, a_day: i64) -> Vec<Row> {
    let mut rows = Vec::new();
    for day in 0..days {
        for n in 0..a_day {
            let region = match (n * 7 + i64::from(day)) % 11 {
                0 => Value::Null,
                k => s(REGIONS[usize::try_from(k % 4).unwrap()]),
            };
            let id = i64::from(day) * a_day + n;
            rows.push(vec![
                Value::Date(FIRST_DAY + day),
                region,
                i(id),
                Value::Decimal { unscaled: i128::from(id * 13 % 997), scale: 2 },
            ]);
        }
    }
    rows
}

fn ask(bench: &Bench, table: &Path, request: &LayoutRequest) -> LayoutReport {
    let table = bench.open(table).unwrap();
    block_on(layouts(&bench.context, &table, request, &Progress::default()))
        .unwrap_or_else(|e| panic!("layouts: {}", e.full_message()))
}

fn by(text: &str) -> LayoutBy {
    LayoutBy::parse(text).unwrap()
}

fn find<'a>(report: &'a LayoutReport, argument: &str) -> &'a Candidate {
    let found = report.candidates.iter().find(|c| c.argument == argument);
    found.unwrap_or_else(|| {
        panic!("no candidate {argument} in {:?}", report.candidates.iter().map(|c| &c.argument).collect::<Vec<_>>())
    })
}

/// (partitions, smallest, median, largest) of rows that are grouped so.
fn naive<K: Ord>(rows: &[Row], key: impl Fn(&Row) -> K) -> (u64, u64, u64, u64) {
    let mut counts: BTreeMap<K, u64> = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(key(row)).or_insert(0) += 1);
    let mut sizes: Vec<u64> = counts.into_values().collect();
    sizes.sort_unstable();
    (sizes.len() as u64, sizes[0], sizes[sizes.len() / 2], *sizes.last().unwrap())
}

#[track_caller]
fn equals(candidate: &Candidate, wanted: (u64, u64, u64, u64)) {
    let n = candidate.numbers;
    let rows = n.rows.unwrap();
    assert!(n.exact, "{}", candidate.label);
    assert_eq!((n.partitions, rows.min, rows.median, rows.max), wanted, "{}", candidate.label);
}

fn month(row: &Row) -> (i32, u32) {
    let Value::Date(days) = row[0] else { panic!("no date") };
    let date = chrono::DateTime::from_timestamp(i64::from(days) * 86_400, 0).unwrap();
    use chrono::Datelike;
    (date.year(), date.month())
}

#[test]
fn proposals_have_the_numbers_of_the_rows() {
    let bench = Bench::default();
    let rows = rows(70, 30);
    let table = bench.table(shape(&["dt"]), &rows);
    let report = ask(&bench, &table.path, &LayoutRequest::default());
    assert_eq!((report.rows, report.files, report.version), (2_100, 70, 0));
    let today = &report.candidates[0];
    assert_eq!((today.origin, today.numbers.rewrite_bytes), (Origin::Today, 0));
    equals(today, naive(&rows, |r| r[0].clone()));
    equals(find(&report, "region"), naive(&rows, |r| r[1].clone()));
    equals(find(&report, "trunc(dt, 'MM') AS dt_month"), naive(&rows, month));
    equals(find(&report, "region, dt"), naive(&rows, |r| (r[1].clone(), r[0].clone())));
    equals(find(&report, "none"), (1, 2_100, 2_100, 2_100));
    assert_eq!(find(&report, "none").by.sort_by, ["dt"]);
    let nulls = rows.iter().filter(|r| r[1] == Value::Null).count() as u64;
    assert_eq!(find(&report, "region").numbers.nulls, nulls);
    assert_eq!(find(&report, "region").numbers.rewrite_bytes, report.bytes);
    // A key is no partition column, nor is an amount.
    assert!(report.candidates.iter().all(|c| !c.argument.contains("id") && !c.argument.contains("amount")));
    let best = &report.candidates[report.recommended.unwrap()];
    assert!(best.by.columns.is_empty(), "{}", best.label);
    assert_eq!(report.because, "none (sort by dt): ~1 file instead of 70, of which all are below 16.0 MB.");
    assert!(report.advice[0].contains("rarely pays"), "{}", report.advice[0]);
}

#[test]
fn a_sample_estimates_and_says_so() {
    let mut config = Config::default();
    config.layout.sample_rows = 500;
    let bench = Bench::with_config(config);
    let rows = rows(20, 1_000);
    let table = bench.table(shape(&["dt"]), &rows);
    let given = |exact| LayoutRequest { by: vec![by("region"), by("id")], queries: Vec::new(), exact };
    let report = ask(&bench, &table.path, &given(false));
    assert_eq!(report.sampled.of, 20_000);
    assert!(report.sampled.rows <= 600, "{}", report.sampled.rows);
    let region = find(&report, "region").numbers;
    assert!(!region.exact);
    assert_eq!(region.partitions, 5);
    let largest = naive(&rows, |r| r[1].clone()).3;
    let off = region.rows.unwrap().max.abs_diff(largest);
    assert!(off * 4 < largest, "{:?} beside {largest}", region.rows);
    let id = find(&report, "id");
    assert!(id.numbers.partitions > 10_000, "{}", id.numbers.partitions);
    assert!(id.concerns[0].contains("more than 10,000"), "{:?}", id.concerns);
    let exact = ask(&bench, &table.path, &given(true));
    equals(find(&exact, "region"), naive(&rows, |r| r[1].clone()));
    equals(find(&exact, "id"), (20_000, 1, 1, 1));
}

#[test]
fn measured_bytes_are_those_of_a_rewrite() {
    let bench = Bench::default();
    let rows = rows(40, 250);
    let table = bench.table(shape(&["dt"]), &rows);
    let opened = bench.open(&table.path).unwrap();
    let candidate = block_on(exact_layout(&bench.context, &opened, &by("region"), &[], &Progress::default())).unwrap();
    equals(&candidate, naive(&rows, |r| r[1].clone()));
    let after = candidate.numbers.bytes_after;
    assert!(after.measured && after.is_narrow(), "{after:?}");
    // The same rows, written by partwise into a table of that layout.
    let first: Vec<Row> = rows[..1].to_vec();
    let other = Fixture::with_rows(bench.path("other"), shape(&["region"]), &first);
    let source = bench.source("all", &other.shape.columns, &rows);
    bench.run(&other.path, &source, &[], Strategy::OverwriteAll);
    let real = ask(&bench, &other.path, &LayoutRequest::default()).bytes;
    let off = real.abs_diff(after.middle()) as f64 / real as f64;
    assert!(off < 0.15, "measured {after:?}, written {real}");
}

#[test]
fn a_measurement_of_a_part_holds_the_truth() {
    let mut config = Config::default();
    config.layout.sample_rows = 1_000;
    let bench = Bench::with_config(config);
    let rows = rows(10, 400);
    let table = bench.table(shape(&["dt"]), &rows);
    let request = LayoutRequest { by: vec![by("none")], queries: Vec::new(), exact: true };
    let report = ask(&bench, &table.path, &request);
    let none = find(&report, "none").numbers;
    assert!(none.exact && none.bytes_after.measured);
    assert!(none.bytes_after.low <= none.bytes_after.high && none.bytes_after.low > 0);
}

/// A partition of one row takes a whole file with its footer.
#[test]
fn tiny_partitions_are_not_said_to_take_nothing() {
    let bench = Bench::default();
    let rows = rows(4, 15);
    let table = bench.table(shape(&[]), &rows);
    let given = |exact| LayoutRequest { by: vec![by("id")], queries: Vec::new(), exact };
    let guess = find(&ask(&bench, &table.path, &given(false)), "id").numbers;
    let exact = find(&ask(&bench, &table.path, &given(true)), "id").numbers;
    let (guessed, real) = (guess.bytes.unwrap().median, exact.bytes.unwrap().median);
    assert!(real > 800 && guessed.abs_diff(real) * 3 < real, "guessed {guessed}, encoded {real}");
    assert!(guess.bytes_after.middle() > 60 * 800, "{:?}", guess.bytes_after);
    assert_eq!((guess.rows_mark(), guess.sizes_mark(), exact.sizes_mark()), ("", "~", ""));
}

#[test]
fn expressions_group_as_spark_does() {
    let bench = Bench::default();
    let rows = rows(400, 3);
    let table = bench.table(shape(&[]), &rows);
    let request = LayoutRequest {
        by: vec![by("date_trunc('month', dt) AS m, region"), by("year(dt) AS y")],
        queries: Vec::new(),
        exact: false,
    };
    let report = ask(&bench, &table.path, &request);
    equals(&report.candidates[1], naive(&rows, |r| (month(r), r[1].clone())));
    equals(&report.candidates[2], naive(&rows, |r| month(r).0));
}

#[test]
fn what_does_not_fit_is_told_before_anything_is_read() {
    let bench = Bench::default();
    let table = bench.table(shape(&["dt"]), &rows(2, 5));
    let opened = bench.open(&table.path).unwrap();
    for (text, said) in [
        ("nope", "no column nope"),
        ("year(dt) AS region", "has a column region already"),
        ("frobnicate(dt) AS x", "FROBNICATE is not supported"),
        ("1 + 1 AS x", "names no column"),
    ] {
        let request = LayoutRequest { by: vec![by(text)], ..LayoutRequest::default() };
        let error = refused(block_on(layouts(&bench.context, &opened, &request, &Progress::default())));
        assert_eq!(error.kind, ErrorKind::Usage, "{text}");
        assert!(error.message.contains(said), "{text}: {}", error.message);
    }
    let request = LayoutRequest { queries: vec!["colour = 'red'".into()], ..LayoutRequest::default() };
    let error = refused(block_on(layouts(&bench.context, &opened, &request, &Progress::default())));
    assert!(error.message.contains("names colour"), "{}", error.message);
    for (text, said) in
        [("dt = 'abc'", "cannot be read as a date"), ("id > 1 AND dt IN ('2024-01-01', 'x')", "as a date")]
    {
        let request = LayoutRequest { queries: vec![text.into()], ..LayoutRequest::default() };
        let error = refused(block_on(layouts(&bench.context, &opened, &request, &Progress::default())));
        assert_eq!(error.kind, ErrorKind::Usage, "{text}");
        assert!(error.message.contains(said) && error.message.contains(text), "{text}: {}", error.message);
    }
    let hint = refused(block_on(layouts(
        &bench.context,
        &opened,
        &LayoutRequest { by: vec![by("frobnicate(dt) AS x")], ..LayoutRequest::default() },
        &Progress::default(),
    )))
    .hint
    .unwrap();
    assert!(!hint.contains("source"), "{hint}");
}

#[test]
fn saved_queries_are_tried_on_every_layout() {
    let bench = |queries: Vec<String>| {
        let mut config = Config::default();
        config.tables.insert("t".into(), TableConfig { queries, ..TableConfig::default() });
        Bench::with_config(config)
    };
    let bench = bench(vec!["dt >= '2024-03-01'".into(), "region = 'EMEA'".into()]);
    let rows = rows(70, 30);
    let table = bench.table(shape(&["dt"]), &rows);
    let request = LayoutRequest { queries: vec!["id < 10".into()], ..LayoutRequest::default() };
    let report = ask(&bench, &table.path, &request);
    assert_eq!(report.queries, ["dt >= '2024-03-01'", "region = 'EMEA'", "id < 10"]);
    let today = &report.candidates[0].queries;
    // 2024-03-01 is day 60; every day has every region; ids ascend by day.
    assert_eq!(today.iter().map(|q| q.files).collect::<Vec<_>>(), [10, 70, 1]);
    assert!(today.iter().all(|q| q.exact));
    let region = &find(&report, "region").queries;
    assert_eq!(region.iter().map(|q| q.files).collect::<Vec<_>>(), [5, 1, 5]);
    assert!(!region[0].exact && region[1].bytes < report.bytes / 2);
    let month = &find(&report, "trunc(dt, 'MM') AS dt_month").queries;
    assert_eq!(month[0].files, 1);
}

#[test]
fn deleted_rows_and_unknown_counts_are_no_rows_and_no_zeros() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), Shape { deletion_vectors: true, ..shape(&["region"]) });
    let rows: Vec<Row> = rows(8, 4)
        .into_iter()
        .map(|mut r| {
            r[1] = s("NA");
            r
        })
        .collect();
    let masked = table.add(&rows, &FileOptions { without_stats: true, deleted: vec![0, 1, 2, 3, 9] });
    table.commit("WRITE", json!({}), vec![masked]);
    let kept: Vec<Row> =
        rows.iter().enumerate().filter(|(n, _)| ![0, 1, 2, 3, 9].contains(n)).map(|(_, r)| r.clone()).collect();
    let request = LayoutRequest { by: vec![by("dt")], queries: Vec::new(), exact: true };
    let report = ask(&bench, &table.path, &request);
    assert_eq!(report.rows, 27);
    equals(find(&report, "dt"), naive(&kept, |r| r[0].clone()));
}

#[test]
fn an_empty_table_has_no_numbers() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape(&["dt"]));
    table.commit("CREATE TABLE", json!({}), Vec::new());
    let report = ask(&bench, &table.path, &LayoutRequest { by: vec![by("region")], queries: Vec::new(), exact: true });
    let n = find(&report, "region").numbers;
    assert_eq!((n.partitions, n.rows, n.files), (0, None, 0));
}

#[test]
fn health_says_what_mending_costs() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), Shape { deletion_vectors: true, ..shape(&["dt"]) });
    let rows = rows(4, 6);
    let day = |n: usize| rows[n * 6..(n + 1) * 6].to_vec();
    let mut adds = Vec::new();
    for (n, deleted) in [(0, vec![]), (0, vec![]), (1, vec![0, 1]), (3, vec![])] {
        adds.push(table.add(&day(n), &FileOptions { deleted, ..FileOptions::default() }));
    }
    table.commit("WRITE", json!({}), adds.clone());
    let gone = table.remove(&adds[3]);
    let again = table.add(&day(3), &FileOptions::default());
    table.commit("WRITE", json!({}), vec![gone, again]);
    std::fs::write(table.path.join("left.parquet"), "x").unwrap();
    super::vacuum::age(&table.path);
    let opened = bench.open(&table.path).unwrap();
    let found = block_on(health(&bench.context, &opened, &Progress::default())).unwrap();
    assert_eq!((found.partitions, found.files, found.rows), (3, 4, Some(22)));
    assert_eq!((found.small_files, found.deletion_vector_rows, found.deletion_vector_files), (4, 2, 1));
    assert_eq!((found.tombstones, found.vacuum_files, found.left_over_files), (1, 2, 1));
    let frees: Vec<(&str, u64)> =
        found.findings.iter().filter_map(|f| Some((f.name.as_str(), f.frees_bytes?))).collect();
    let tombstone = adds[3]["add"]["size"].as_u64().unwrap();
    assert_eq!(frees, [("tombstones", tombstone), ("left-overs", 1)], "no byte is freed twice");
    assert_eq!(found.vacuum_bytes, tombstone + 1);
    assert_eq!(found.gaps, [json!("2024-01-03")]);
    let names: Vec<&str> = found.findings.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["small-files", "deletion-vectors", "tombstones", "left-overs", "gaps"]);
    let small = &found.findings[0];
    let twice: u64 = adds[..2].iter().map(|a| a["add"]["size"].as_u64().unwrap()).sum();
    assert_eq!(small.rewrite_bytes, Some(twice));
    assert_eq!(small.partitions[0]["dt"], json!("2024-01-01"));
    assert!(small.mend.as_ref().unwrap().starts_with("partwise plan optimize "), "{:?}", small.mend);
    assert!(found.findings[2].mend.as_ref().unwrap().starts_with("partwise plan vacuum "));
}
