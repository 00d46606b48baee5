//! Partition values and paths: B17, B18, B23, B49.

use std::fs;
use std::path::Path;

use partwise::error::ErrorKind;
use partwise::ops::{At, Strategy};
use partwise::plan::GateStatus;
use partwise::predicate::Predicate;
use partwise::progress::Progress;
use partwise::table::{PartitionStats, Value};
use serde_json::json;

use crate::support::peer::count_rows;
use crate::support::replay::{actions, newest};
use crate::support::road::{MERGE, copy_folder, effects, gate, refused, shared};
use crate::support::writer::{PathStyle, log_file};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, replay, rows_of, s, sorted};

const ODD: [&str; 24] = [
    "a/b", "a b", "a%2Fb", "R&D", "é", "日本", "a=b", "a:b", "..", ".", "\\", "a\nb", " lead", "trail ", "ID$", "#",
    "?", "*", "\"", "o'x", "null", "NULL", "a~b", "+",
];

fn groups(paths: PathStyle) -> Shape {
    Shape { paths, ..Shape::new(&[("g", Kind::String), ("v", Kind::Integer)], &["g"]) }
}

pub fn partitions(bench: &Bench, table: &Path, count: bool) -> partwise::error::Result<Vec<PartitionStats>> {
    let table = bench.open(table)?;
    block_on(table.partitions(count, &Progress::default(), &mut |_| {}))
}

#[test]
fn b17_values_that_need_escaping() {
    for style in [PathStyle::Spark, PathStyle::Ascii] {
        let bench = Bench::default();
        let rows = |v: i64| -> Vec<Row> { ODD.iter().map(|g| vec![s(g), i(v)]).collect() };
        let table = bench.table(groups(style), &rows(0));
        let listed: Vec<Value> =
            partitions(&bench, &table.path, false).unwrap().into_iter().map(|p| p.values.0[0].clone()).collect();
        let mut want: Vec<Value> = ODD.iter().map(|g| s(g)).collect();
        want.sort();
        assert_eq!(listed, want);

        let open = bench.open(&table.path).unwrap();
        for (at, value) in ODD.iter().enumerate() {
            let filter = Predicate::parse(&format!("g = '{}'", value.replace('\'', "''"))).unwrap();
            let page = block_on(open.rows(Some(&filter), &[], 0, 100, &Progress::default())).unwrap();
            assert_eq!(page.rows, [vec![s(value), i(0)]], "{value:?}");

            let source = bench.source(&format!("s{at}"), &groups(style).columns, &[vec![s(value), i(1)]]);
            let (plan, report) = bench.run(&table.path, &source, &["g"], Strategy::Overwrite);
            assert_eq!(effects(&plan), (0, Some(1), 0, 0, 0), "{value:?}");
            assert_eq!((report.files_removed, report.files_added), (1, 1), "{value:?}");
        }
        assert_eq!(rows_of(&table.path), sorted(rows(1)));

        for v in [2, 3] {
            let source = bench.source(&format!("m{v}"), &groups(style).columns, &rows(v));
            let (plan, report) = bench.run(&table.path, &source, &["g"], MERGE);
            assert_eq!(effects(&plan), (0, Some(24), 0, 0, 0));
            assert_eq!((report.files_removed, report.files_added), (24, 24));
            assert_eq!(rows_of(&table.path), sorted(rows(v)));
        }
    }
}

#[test]
fn b18_empty_null_and_the_literal_default_stay_apart() {
    let bench = Bench::default();
    let literal = "__HIVE_DEFAULT_PARTITION__";
    let rows: Vec<Row> = vec![vec![s(""), i(1)], vec![Value::Null, i(2)], vec![s("x"), i(3)], vec![s(literal), i(4)]];
    let table = bench.table(groups(PathStyle::Spark), &rows);
    let labels: Vec<String> =
        partitions(&bench, &table.path, false).unwrap().iter().map(|p| p.values.to_string()).collect();
    assert_eq!(labels, ["∅", "\"\"", literal, "x"]);

    let source = bench.source("null", &groups(PathStyle::Spark).columns, &[vec![Value::Null, i(20)]]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!((plan.partitions.len(), gate(&plan, "null-partition").status), (1, GateStatus::Warn));
    let source = bench.source("empty", &groups(PathStyle::Spark).columns, &[vec![s(""), i(10)]]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!((plan.partitions.len(), gate(&plan, "null-partition").status), (1, GateStatus::Warn));
    let source = bench.source("literal", &groups(PathStyle::Spark).columns, &[vec![s(literal), i(40)]]);
    bench.run(&table.path, &source, &[], Strategy::Overwrite);
    let want = vec![vec![s(""), i(10)], vec![Value::Null, i(20)], vec![s("x"), i(3)], vec![s(literal), i(40)]];
    assert_eq!(rows_of(&table.path), sorted(want));
}

fn dated() -> Shape {
    Shape::new(&[("d", Kind::Date), ("e", Kind::String), ("v", Kind::Integer)], &["d", "e"])
}

/// A table of two rows whose only commit was edited.
fn edited(bench: &Bench, edit: impl Fn(&str) -> String) -> Fixture {
    let rows: Vec<Row> = vec![vec![Value::Date(19_723), s("x"), i(1)], vec![Value::Date(19_724), s("y"), i(2)]];
    let table = bench.table(dated(), &rows);
    let log = log_file(&table.path, 0);
    let before = fs::read_to_string(&log).unwrap();
    let after = edit(&before);
    assert_ne!(before, after, "the edit found nothing");
    fs::write(&log, after).unwrap();
    table
}

#[test]
fn b23_a_partition_column_that_the_schema_lacks() {
    let bench = Bench::default();
    let table = edited(&bench, |log| log.replace(r#""partitionColumns":["d","e"]"#, r#""partitionColumns":["nope"]"#));
    let error = refused(bench.open(&table.path));
    assert_eq!(error.kind, ErrorKind::BadPartitionColumn);
    assert!(error.message.contains("nope"), "{}", error.message);
}

#[test]
fn b23_a_missing_partition_value_reads_as_null() {
    let bench = Bench::default();
    let table = edited(&bench, |log| log.replace(r#","e":"x""#, ""));
    let found = partitions(&bench, &table.path, true).unwrap();
    let tuples: Vec<&Vec<Value>> = found.iter().map(|p| &p.values.0).collect();
    assert_eq!(tuples, [&vec![Value::Date(19_723), Value::Null], &vec![Value::Date(19_724), s("y")]]);
    assert_eq!(found[0].rows.exact(), Some(1));
}

#[test]
fn b23_a_partition_value_that_its_type_cannot_hold() {
    let bench = Bench::default();
    let table = edited(&bench, |log| log.replace(r#""d":"2024-01-01""#, r#""d":"20240101""#));
    let error = refused(partitions(&bench, &table.path, false));
    assert_eq!(error.kind, ErrorKind::BadPartitionValue);
    let said = error.full_message();
    for part in ["20240101", "date", "'d'", "part-00001"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    let source = bench.source("s", &dated().columns, &[vec![Value::Date(19_724), s("y"), i(3)]]);
    assert_eq!(refused(bench.prepare(&table.path, &source, &["v"], MERGE)).kind, ErrorKind::BadPartitionValue);
}

#[test]
fn b23_one_and_a_half_is_one_partition_however_it_is_written() {
    let bench = Bench::default();
    let shape = Shape::new(&[("p", Kind::Decimal(6, 2)), ("v", Kind::Integer)], &["p"]);
    let half = Value::Decimal { unscaled: 150, scale: 2 };
    let mut table = bench.table(shape.clone(), &[vec![half.clone(), i(1)]]);
    table.append(&[vec![half.clone(), i(2)]]);
    let log = log_file(&table.path, 1);
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace(r#""p":"1.50""#, r#""p":"1.5""#)).unwrap();

    let found = partitions(&bench, &table.path, false).unwrap();
    assert_eq!((found.len(), found[0].rows.exact(), found[0].values.to_string().as_str()), (1, Some(2), "1.50"));
    let source = bench.source("s", &shape.columns, &[vec![half.clone(), i(9)]]);
    let (_, report) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!(report.files_removed, 2);
    assert_eq!(rows_of(&table.path), [vec![half, i(9)]]);
}

/// Overwrite, MERGE, undo and restore on a table as Spark writes it. Strict
/// replay fails where a `remove` is not byte for byte the path of its `add`.
fn spark_table(bench: &Bench, table: &Path, shape: &Shape) {
    let before = rows_of(table);
    let row = |region: &str, id: i64, v: i64| vec![s(region), i(id), i(v)];
    let slice = |rows: &[Row]| rows.iter().filter(|r| r[0] == s("München 1")).cloned().collect::<Vec<_>>();
    let others = |rows: &[Row]| rows.iter().filter(|r| r[0] != s("München 1")).cloned().collect::<Vec<_>>();
    assert_eq!((before.len(), slice(&before).len()), (7, 2));

    let one = bench.source("one", &shape.columns, &[row("München 1", 1, 2)]);
    let (plan, report) = bench.run(table, &one, &["id"], Strategy::Overwrite);
    assert_eq!(effects(&plan), (0, Some(1), 0, 1, 0));
    let after = rows_of(table);
    assert_eq!(slice(&after), [row("München 1", 1, 2)]);
    assert_eq!(others(&after), others(&before));
    let version = report.version_after.unwrap();
    let removed: Vec<String> = actions(table, version)
        .iter()
        .filter_map(|action| action["remove"]["path"].as_str().map(str::to_owned))
        .collect();
    assert!(removed.len() == 1 && removed[0].starts_with("region=München%201/"), "{removed:?}");

    // The number of rows that another engine sees; seven where paths were re-encoded.
    assert_eq!(count_rows(table), Ok(6));

    bench.undo(table);
    assert_eq!(rows_of(table), before);

    let merged: Vec<Row> =
        vec![row("München 1", 1, 11), row("東京", 3, 33), row("50%", 6, 66), row("München 1", 8, 80)];
    let many = bench.source("many", &shape.columns, &merged);
    let (plan, _) = bench.run(table, &many, &["region", "id"], MERGE);
    assert_eq!((plan.rows.inserted, plan.rows.updated, plan.rows.zombies), (1, Some(3), 1));
    let after = rows_of(table);
    assert_eq!(after.len(), 8);
    assert!(merged.iter().all(|row| after.iter().filter(|r| *r == row).count() == 1), "{after:?}");

    let plan = bench.plan_restore(table, 0).unwrap();
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(table), before);
    bench.undo(table);
    assert_eq!(rows_of(table), after);
    let open = bench.open_at(table, At::Version(0)).unwrap();
    let page = block_on(open.rows(None, &[], 0, 100, &Progress::default())).unwrap();
    assert_eq!(sorted(page.rows), before);
}

fn regions() -> Shape {
    let columns = [("region", Kind::String), ("id", Kind::Integer), ("v", Kind::Integer)];
    Shape { paths: PathStyle::Spark, ..Shape::new(&columns, &["region"]) }
}

#[test]
fn b49_a_spark_written_path_with_letters_outside_ascii() {
    let bench = Bench::default();
    let names = ["München 1", "München 1", "東京", "a b", "x/y", "50%", "q?r#s"];
    let rows: Vec<Row> = (1..).zip(names).map(|(n, name)| vec![s(name), i(n), i(10 * n)]).collect();
    let table = bench.table(regions(), &rows);
    let paths: Vec<String> = replay::replay(&table.path).unwrap().live.into_keys().map(|(path, _)| path).collect();
    assert!(paths.iter().any(|p| p.starts_with("region=München%201/")), "{paths:?}");
    spark_table(&bench, &table.path, &regions());
}

#[test]
fn b49_on_the_table_that_spark_wrote() {
    let Some(original) = shared("tables/spark-nonascii-partition") else { return };
    let bench = Bench::default();
    let table = bench.path("copy");
    copy_folder(&original, &table);
    spark_table(&bench, &table, &regions());
    assert_eq!(newest(&table), 5);
    assert_eq!(json!(replay::replay(&table).unwrap().protocol["minReaderVersion"]), 1);
}
