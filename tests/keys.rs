//! `partwise keys` below the command line: each finding over small tables.

use partwise::engine::local::key_scan::KeySide;
use partwise::engine::local::{key_candidates, near_keys};
use partwise::error::{ErrorKind, Result};
use partwise::ops::keys::{KeyReport, KeyRequest, diagnose_keys};
use partwise::plan::near_keys::Rule;
use partwise::predicate::Predicate;
use partwise::progress::Progress;
use partwise::source::Source;
use partwise::table::Value;

use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

fn try_report(
    bench: &Bench,
    table: &Fixture,
    source: Option<&str>,
    key: &[&str],
    filter: Option<&str>,
) -> Result<KeyReport> {
    let request = KeyRequest {
        source: source.map(str::to_owned),
        key: key.iter().map(|&k| k.to_owned()).collect(),
        filter: filter.map(|f| Predicate::parse(f).expect("a predicate")),
        limit: 2,
    };
    let table = bench.open(&table.path)?;
    block_on(diagnose_keys(&bench.context, &table, &request, &Progress::default()))
}

fn report(bench: &Bench, table: &Fixture, source: Option<&str>, key: &[&str]) -> KeyReport {
    try_report(bench, table, source, key, None).unwrap_or_else(|e| panic!("keys: {}", e.full_message()))
}

fn found<'a>(report: &'a KeyReport, name: &str) -> &'a str {
    let found = report.findings.iter().find(|f| f.name == name);
    &found.unwrap_or_else(|| panic!("no {name} in {:?}", report.findings)).message
}

fn shape(id: Kind) -> Shape {
    Shape::new(&[("id", id), ("day", Kind::String), ("v", Kind::Integer)], &["day"])
}

fn row(id: Value, day: &str, v: i64) -> Row {
    vec![id, s(day), i(v)]
}

#[test]
fn repeated_keys_come_with_their_rows() {
    let bench = Bench::default();
    let rows = [
        row(i(1), "a", 1),
        row(i(2), "a", 2),
        row(i(2), "a", 3),
        row(i(3), "a", 4),
        row(i(3), "a", 5),
        row(i(3), "a", 6),
        row(i(4), "a", 7),
        row(i(4), "a", 8),
    ];
    let table = bench.table(shape(Kind::Long), &rows);
    let report = report(&bench, &table, None, &["ID"]);
    let side = report.table_keys.as_ref().expect("the table's keys");
    assert_eq!(report.key, ["id"]);
    assert_eq!((side.rows, side.distinct, side.duplicate_keys, side.duplicate_rows, side.exact), (8, 4, 3, 4, true));
    let groups: Vec<(Vec<Value>, u64, Vec<Value>)> = side
        .groups
        .iter()
        .map(|g| (g.key.clone(), g.rows, g.shown.iter().map(|r| r.values[2].clone()).collect()))
        .collect();
    assert_eq!(groups, [(vec![i(2)], 2, vec![i(2), i(3)]), (vec![i(3)], 3, vec![i(4), i(5), i(6)])]);
    assert_eq!(side.groups[0].shown[0].partition.as_deref(), Some("day=a"));
    assert!(found(&report, "duplicate-keys").starts_with("3 keys occur more than once in the table (4 rows"));
    // What could be the key instead.
    let best = &report.candidates[0];
    assert_eq!((best.columns.as_slice(), best.unique, best.rows, best.distinct), (&["v".to_owned()][..], true, 8, 8));
}

#[test]
fn a_sound_key_has_no_findings() {
    let bench = Bench::default();
    let rows: Vec<Row> = (0..50).map(|n| row(i(n), if n < 25 { "a" } else { "b" }, n)).collect();
    let table = bench.table(shape(Kind::Long), &rows);
    let source = bench.source("s", &shape(Kind::Long).columns, &rows[10..30]);
    let report = report(&bench, &table, Some(&source), &["id"]);
    assert_eq!(report.findings, []);
    assert_eq!((report.matched, report.candidates.len(), report.near), (Some(20), 0, None));
}

#[test]
fn null_keys_and_what_they_do() {
    let bench = Bench::default();
    let rows = [row(i(1), "a", 1), row(Value::Null, "a", 2)];
    let table = bench.table(shape(Kind::Long), &rows);
    let delivered = [row(i(1), "a", 1), row(Value::Null, "a", 2), row(Value::Null, "a", 3)];
    let source = bench.source("s", &shape(Kind::Long).columns, &delivered);
    let report = report(&bench, &table, Some(&source), &["id"]);
    let side = report.source_keys.as_ref().expect("the source's keys");
    assert_eq!((side.null_rows, side.nulls.as_slice()), (2, &[("id".to_owned(), 2)][..]));
    let said: Vec<&str> =
        report.findings.iter().filter(|f| f.name == "null-keys").map(|f| f.message.as_str()).collect();
    assert!(said[0].contains("1 row of the table has NULL") && said[0].contains("never updates"), "{said:?}");
    assert!(said[1].contains("2 rows of the source") && said[1].contains("again on every run"), "{said:?}");
}

#[test]
fn types_that_differ_are_both_named() {
    let bench = Bench::default();
    let table = bench.table(shape(Kind::String), &[row(s("006"), "a", 1), row(s("6"), "a", 2), row(s("007"), "a", 3)]);
    let source = bench.source("s", &shape(Kind::Long).columns, &[row(i(6), "a", 1), row(i(7), "a", 2)]);
    let report = report(&bench, &table, Some(&source), &["id"]);
    let message = found(&report, "key-types");
    assert!(message.contains("string") && message.contains("long"), "{message}");
    assert_eq!(report.matched, None);
    // 6 and '6' are one key in text; '006' and 7 with '007' are nearly the same.
    let near = report.near.as_ref().expect("texts were looked at");
    assert_eq!((near.groups, near.by_rules[0].rules.as_slice()), (2, &[Rule::LeadingZeros][..]));
    let rows: Vec<(u64, u64)> = near.examples[0].members.iter().map(|m| (m.table_rows, m.source_rows)).collect();
    assert_eq!(rows, [(1, 0), (1, 1)]);
}

#[test]
fn a_type_that_widens_is_said_and_is_no_finding() {
    let bench = Bench::default();
    let table = bench.table(shape(Kind::Long), &[row(i(-6), "a", 1), row(i(7), "a", 2)]);
    let source = bench.source("s", &shape(Kind::Integer).columns, &[row(i(-6), "a", 1), row(i(8), "a", 2)]);
    let report = report(&bench, &table, Some(&source), &["id"]);
    assert_eq!((report.types[0].refused, report.types[0].source.as_str()), (false, "integer"));
    assert_eq!((report.matched, report.findings.len()), (Some(1), 0));
}

#[test]
fn nearly_the_same_keys_say_in_what_they_differ() {
    let bench = Bench::default();
    let texts = ["DE01", "de01", "x", "x ", "Mu\u{308}ller", "Müller", "0042", "42", "alone", "a b", "ab"];
    let rows: Vec<Row> = texts.iter().enumerate().map(|(n, text)| row(s(text), "a", n as i64)).collect();
    let table = bench.table(shape(Kind::String), &rows);
    let report = report(&bench, &table, None, &["id"]);
    let near = report.near.as_ref().expect("texts were looked at");
    assert_eq!((near.groups, near.exact, near.examples.len()), (4, true, 2));
    let mut kinds: Vec<Rule> = near.by_rules.iter().flat_map(|kind| kind.rules.clone()).collect();
    kinds.sort();
    assert_eq!(kinds, Rule::ALL);
    assert!(found(&report, "near-duplicates").starts_with("4 groups"));
}

#[test]
fn float_keys_are_warned_of() {
    let bench = Bench::default();
    let table = bench.table(shape(Kind::Double), &[row(Value::Double(0.5), "a", 1), row(Value::Double(-0.0), "a", 2)]);
    let report = report(&bench, &table, None, &["id"]);
    assert!(found(&report, "float-keys").contains("double"));
    assert!(report.candidates.is_empty(), "the key is unique");
}

#[test]
fn keys_in_several_partitions() {
    let bench = Bench::default();
    let rows = [row(i(1), "a", 1), row(i(1), "b", 2), row(i(1), "c", 3), row(i(2), "a", 4), row(i(2), "a", 5)];
    let table = bench.table(shape(Kind::Long), &rows);
    let of_id = report(&bench, &table, None, &["id"]);
    let elsewhere = of_id.elsewhere.as_ref().expect("the key may be in two partitions");
    assert_eq!((elsewhere.keys, elsewhere.rows), (1, 3));
    assert_eq!(elsewhere.examples[0].partitions, ["day=a", "day=b", "day=c"]);
    assert!(found(&of_id, "keys-elsewhere").starts_with("1 key is"));
    // With the partition column in it a key lives in one partition.
    assert_eq!(report(&bench, &table, None, &["id", "day"]).elsewhere, None);
    let only_a = try_report(&bench, &table, None, &["id"], Some("day = 'a'")).expect("a report");
    assert_eq!(only_a.elsewhere.map(|e| e.keys), Some(0));
    assert_eq!(only_a.table_keys.map(|k| (k.rows, k.duplicate_keys)), Some((3, 1)));
    let by_row = try_report(&bench, &table, None, &["id"], Some("v > 3")).expect("a report");
    assert_eq!(by_row.table_keys.map(|k| k.rows), Some(2));
}

#[test]
fn a_key_is_proposed_from_the_rows() {
    let bench = Bench::default();
    let shape = Shape::new(
        &[
            ("company", Kind::String),
            ("doc_number", Kind::Long),
            ("line", Kind::Integer),
            ("amount", Kind::Double),
            ("load_ts", Kind::Long),
        ],
        &[],
    );
    // Documents are numbered per company and have five lines.
    let rows: Vec<Row> = (0..1_000)
        .map(|n| vec![s(["A", "B"][n as usize % 2]), i(n / 10), i(n / 2 % 5), Value::Double(n as f64), i(n)])
        .collect();
    let table = bench.table(shape, &rows);
    let report = report(&bench, &table, None, &[]);
    let best = &report.candidates[0];
    assert_eq!(best.columns, ["company", "doc_number", "line"]);
    assert_eq!((best.unique, best.exact, best.rows, best.distinct), (true, true, 1_000, 1_000));
    assert!(report.candidates.iter().all(|c| !c.columns.iter().any(|n| n == "amount" || n == "load_ts")));
    assert_eq!((report.table_keys, report.findings), (None, vec![]));
}

#[test]
fn a_set_that_is_unique_in_the_sample_only_is_found_out() {
    let bench = Bench::default();
    // Each file begins with rows of its own; the last one repeats an early key.
    let shape = Shape::new(&[("id", Kind::Long), ("v", Kind::Integer)], &[]);
    let mut rows: Vec<Row> = (0..60_000).map(|n| vec![i(n), i(n % 7)]).collect();
    rows.push(vec![i(5), i(1)]);
    let table = bench.table(shape, &rows);
    let report = report(&bench, &table, None, &[]);
    let id = report.candidates.iter().find(|c| c.columns == ["id"]).expect("id is counted");
    assert_eq!((id.unique, id.rows, id.distinct), (false, 60_001, 60_000));
}

/// A side of `rows` rows (id, folded id in two spellings), and its keys.
fn many(bench: &Bench, rows: i64) -> KeySide {
    let columns = Shape::new(&[("id", Kind::Long), ("text", Kind::String)], &[]).columns;
    let spelled = |n: i64| if n % 2 == 0 { format!("k{}", n / 2) } else { format!("K{}", n / 2) };
    let all: Vec<Row> = (0..rows).map(|n| vec![i(n), s(&spelled(n))]).collect();
    let source = bench.source("many", &columns, &all);
    KeySide::of_source(&block_on(Source::open(&source)).expect("the source opens"))
}

#[test]
fn more_keys_than_fit_are_counted_part_by_part() {
    let propose = |side: &KeySide| {
        block_on(key_candidates::propose(side, None, 1_000, &Progress::default())).expect("candidates")
    };
    let bench = Bench::default();
    let unique = propose(&many(&bench, 5_000));
    let id = unique.iter().find(|c| c.columns == [0]).expect("id is counted");
    assert_eq!((id.exact, id.is_unique(), id.rows, id.distinct), (true, true, 5_000, 5_000));
}

#[test]
fn nearly_the_same_keys_are_sampled_beyond_the_bound() {
    let bench = Bench::default();
    let side = many(&bench, 8_000);
    let find = |most: usize| {
        block_on(near_keys::find(&[(&side, vec![1], None)], most, 3, &Progress::default())).expect("near keys")
    };
    let (all, sample) = (find(10_000), find(500));
    assert_eq!((all.groups, all.one_of, all.examples.len()), (4_000, 1, 3));
    assert!(sample.one_of > 1 && (3_000..5_000).contains(&sample.groups), "{sample:?}");
}

#[test]
fn what_cannot_be_a_key_is_refused() {
    let bench = Bench::default();
    let table = bench.table(Shape::new(&[("id", Kind::Long), ("l", Kind::List)], &[]), &[vec![i(1), Value::Null]]);
    let kind = |key: &str| try_report(&bench, &table, None, &[key], None).expect_err("it is refused").kind;
    assert_eq!((kind("nope"), kind("l")), (ErrorKind::Usage, ErrorKind::UnsupportedType));
    let error = try_report(&bench, &table, None, &["id"], Some("nope = 1")).expect_err("no such column");
    assert_eq!(error.kind, ErrorKind::Usage);
}
