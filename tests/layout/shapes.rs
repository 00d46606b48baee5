//! How many files, in which order, of which size; compaction.

use partwise::ops::{OptimizeRequest, RepartitionRequest};
use partwise::plan::Verdict;
use partwise::plan::relayout::Order;
use partwise::predicate::Predicate;
use partwise::table::Value;
use serde_json::{Value as Json, json};

use super::{by, check, metadata, optimize, switch};
use crate::support::replay::replay;
use crate::support::road::refused;
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s};

fn columns() -> Shape {
    Shape::new(&[("g", Kind::String), ("x", Kind::Integer), ("y", Kind::Integer)], &[])
}

/// 4,096 rows: every pair of two numbers below 64, in no order.
fn grid() -> Vec<Row> {
    (0..4096_i64).map(|n| n * 1231 % 4096).map(|n| vec![s(["a", "b"][n as usize % 2]), i(n % 64), i(n / 64)]).collect()
}

/// Per live file: rows, and the bounds of `x` and `y` by the log's statistics.
fn files(table: &std::path::Path) -> Vec<(u64, [i64; 4])> {
    let live = replay(table).unwrap().live;
    let of = |add: &Json| {
        let stats: Json = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        let bound = |which: &str, column: &str| stats[which][column].as_i64().unwrap();
        let bounds =
            [bound("minValues", "x"), bound("maxValues", "x"), bound("minValues", "y"), bound("maxValues", "y")];
        (stats["numRecords"].as_u64().unwrap(), bounds)
    };
    live.values().map(of).collect()
}

#[test]
fn files_per_partition_are_equally_large() {
    let bench = Bench::default();
    let mut rows = grid();
    rows.push(vec![s("one"), i(0), i(0)]);
    let table = bench.table(columns(), &rows);
    let request = RepartitionRequest { files_per_partition: Some(3), ..by(&["g"]) };
    let (plan, report) = switch(&bench, &table.path, &request);
    assert_eq!((plan.layout.after.files, report.files_added), (Some(7), 7), "one row makes one file");
    let mut sizes: Vec<u64> = files(&table.path).iter().map(|f| f.0).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 682, 682, 683, 683, 683, 683]);
    let rest: Vec<u64> = plan.partitions.iter().map(|p| p.after).collect();
    assert_eq!(rest, [2048, 2048, 1]);
}

#[test]
fn a_target_size_closes_files() {
    let bench = Bench::default();
    let noise = |n: i64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)) >> 33;
    let rows: Vec<Row> = (0..100_000).map(|n| vec![s("a"), i(noise(n)), i(noise(n + 1_000_000))]).collect();
    let table = bench.table(columns(), &rows);
    let request = RepartitionRequest { target_file_size: Some(200_000), ..by(&["g"]) };
    let (_, report) = switch(&bench, &table.path, &request);
    assert!((3..=8).contains(&report.files_added), "{} files", report.files_added);
    let live = replay(&table.path).unwrap().live;
    let sizes: Vec<u64> = live.values().map(|add| add["size"].as_u64().unwrap()).collect();
    assert!(sizes.iter().all(|size| *size < 500_000), "{sizes:?}");
    assert_eq!(rows_of(&table.path).len(), rows.len());
}

#[test]
fn rows_are_sorted_within_partitions() {
    let bench = Bench::default();
    let table = bench.table(columns(), &grid());
    let order = Order::Columns(vec!["Y".into(), "x".into()]);
    let request = RepartitionRequest { files_per_partition: Some(4), order, ..by(&["g"]) };
    let (plan, _) = switch(&bench, &table.path, &request);
    for (_, [_, _, low, high]) in files(&table.path) {
        assert!(high - low <= 16, "y from {low} to {high}");
    }
    let open = bench.open(&table.path).unwrap();
    let filter = Predicate::parse("g = 'a'").unwrap();
    let page = block_on(open.rows(Some(&filter), &["x".into(), "y".into()], 0, 512, &Default::default())).unwrap();
    let keys: Vec<(Value, Value)> = page.rows.iter().map(|r| (r[1].clone(), r[0].clone())).collect();
    assert!(keys.is_sorted(), "the first file of a partition holds its first rows in order");
    assert_eq!(plan.rows.unchanged, 4096);
    assert_eq!(rows_of(&table.path), crate::support::sorted(grid()));
}

#[test]
fn a_z_order_keeps_files_narrow_in_both_columns() {
    let bench = Bench::default();
    let table = bench.table(columns(), &grid());
    let order = Order::ZOrder(vec!["x".into(), "y".into()]);
    let request = RepartitionRequest { files_per_partition: Some(16), order, ..by(&[]) };
    switch(&bench, &table.path, &request);
    let of = files(&table.path);
    assert_eq!(of.len(), 16);
    for (rows, [x0, x1, y0, y1]) in of {
        assert!(x1 - x0 < 20 && y1 - y0 < 20, "{rows} rows: x {x0}..{x1}, y {y0}..{y1}");
    }
    let wrong = RepartitionRequest { order: Order::ZOrder(vec!["nope".into()]), ..by(&["g"]) };
    assert!(refused(super::plan(&bench, &table.path, &wrong)).message.contains("no column nope"));
    let twice = RepartitionRequest { order: Order::Columns(vec!["g".into()]), ..by(&["g"]) };
    let plan = super::plan(&bench, &table.path, &twice).unwrap();
    assert!(plan.refusals[0].message.contains("g is a partition column"), "{:?}", plan.refusals);
}

#[test]
fn the_same_columns_in_another_order_are_a_rewrite() {
    let bench = Bench::default();
    let shape = Shape { partition_by: vec!["g".into()], ..columns() };
    let table = bench.table(shape, &grid());
    let before = metadata(&table.path);
    let request = RepartitionRequest { order: Order::Columns(vec!["x".into()]), ..by(&["g"]) };
    let (plan, report) = switch(&bench, &table.path, &request);
    assert!(plan.metadata_changes.is_empty() && report.version_after == Some(1));
    let commit = crate::support::replay::actions(&table.path, 1);
    assert!(commit.iter().all(|action| action.get("metaData").is_none()));
    assert_eq!((metadata(&table.path), rows_of(&table.path)), (before, crate::support::sorted(grid())));
}

#[test]
fn an_optimize_joins_small_files_and_drops_deleted_rows() {
    let bench = Bench::default();
    let shape = Shape { deletion_vectors: true, partition_by: vec!["g".into()], ..columns() };
    let mut table = Fixture::new(bench.path("t"), shape);
    for n in 0..4 {
        let a = table.add(&[vec![s("a"), i(n), i(0)], vec![s("a"), i(n + 100), i(0)]], &FileOptions::default());
        table.commit("WRITE", json!({}), vec![a]);
    }
    let masked = FileOptions { deleted: vec![0], ..FileOptions::default() };
    let b = table.add(&[vec![s("b"), i(1), i(1)], vec![s("b"), i(2), i(1)]], &masked);
    let c = table.add(&[vec![s("c"), i(1), i(1)]], &FileOptions::default());
    table.commit("WRITE", json!({}), vec![b, c]);
    let rows = rows_of(&table.path);

    let only = OptimizeRequest { filter: Some(Predicate::parse("g <> 'a'").unwrap()), ..Default::default() };
    let plan = optimize(&bench, &table.path, &only);
    assert_eq!((plan.files.removed, plan.rows.unchanged, plan.untouched_partitions), (1, 1, 2));
    let plan = optimize(&bench, &table.path, &OptimizeRequest::default());
    assert_eq!((plan.files.removed, plan.rows.unchanged, plan.rows.table_after), (5, 9, Some(10)));
    let report = bench.apply(&plan).unwrap();
    check(&bench, &table.path, &plan, &report);
    assert_eq!((report.files_added, report.files_removed), (2, 5));
    let after = replay(&table.path).unwrap();
    assert_eq!(after.live.len(), 3);
    assert!(after.live.values().all(|add| add.get("deletionVector").is_none()));
    assert_eq!(after.infos.last().unwrap()["operation"], "OPTIMIZE");
    assert_eq!(rows_of(&table.path), rows);
    let again = optimize(&bench, &table.path, &OptimizeRequest::default());
    assert_eq!(again.verdict, Verdict::NoOp, "{:?}", again.findings);
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), rows);
    assert_eq!(replay(&table.path).unwrap().live.len(), 6);
}
