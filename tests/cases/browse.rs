//! Looking at tables: names, versions, times, pages, and what shows first.

use std::time::{Duration, SystemTime};

use partwise::config::Config;
use partwise::error::ErrorKind;
use partwise::ops::{At, OpenTable, find_tables};
use partwise::predicate::Predicate;
use partwise::progress::Progress;
use partwise::table::Value;
use serde_json::json;

use crate::support::road::refused;
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Integer)], &["d"])
}

fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

/// Three versions, one partition each, a day apart.
fn three_days(bench: &Bench) -> Fixture {
    let mut table = bench.table(shape(), &[row("a", 1)]);
    for (d, v) in [("b", 2), ("c", 3)] {
        let add = table.add(&[row(d, v)], &FileOptions::default());
        table.commit("WRITE", json!({"mode": "Append"}), vec![add]);
    }
    for version in 0..3u64 {
        let entry = table.path.join(format!("_delta_log/{version:020}.json"));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + version * 86_400);
        std::fs::File::options().write(true).open(entry).unwrap().set_modified(time).unwrap();
    }
    table
}

#[test]
fn the_newest_partitions_show_before_the_rest_of_the_log_is_read() {
    let bench = Bench::default();
    let table = bench.open(&three_days(&bench).path).unwrap();
    let mut shown: Vec<Vec<Value>> = Vec::new();
    let all = block_on(table.partitions(false, &Progress::default(), &mut |known| {
        shown.push(known.iter().map(|p| p.values.0[0].clone()).collect());
    }));
    assert_eq!(shown.first(), Some(&vec![s("c")]));
    assert_eq!(all.unwrap().len(), 3);
}

#[test]
fn a_table_is_opened_at_a_version_or_at_a_time() {
    let bench = Bench::default();
    let table = three_days(&bench);
    let version = |at| bench.open_at(&table.path, at).map(|t| t.version());
    let noon = |day: i64| At::Time((1_700_000_000 + day * 86_400 + 43_200) * 1000);
    assert_eq!(version(At::Version(1)).unwrap(), 1);
    assert_eq!([0, 1, 2, 300].map(|day| version(noon(day)).unwrap()), [0, 1, 2, 2]);
    assert_eq!(refused(version(noon(-1))).kind, ErrorKind::NoSuchVersion);
    assert_eq!(refused(version(At::Version(9))).kind, ErrorKind::NoSuchVersion);
}

#[test]
fn a_table_has_a_path_a_url_and_a_name() {
    let root = tempfile::tempdir().unwrap();
    let text = format!("[lakes]\ngold = {:?}\n", root.path().to_str().unwrap());
    let bench = Bench::with_config(Config::parse(&text).unwrap());
    let table = Fixture::with_rows(root.path().join("finance/postings"), shape(), &[row("a", 1)]);
    let path = table.path.to_string_lossy().into_owned();
    for reference in
        [path.clone(), format!("file://{path}"), "gold.finance.postings".into(), "gold.finance/postings".into()]
    {
        let opened = block_on(OpenTable::open(&bench.context, &reference, At::Latest)).unwrap();
        assert_eq!((opened.name.as_str(), opened.version()), ("gold.finance.postings", 0), "{reference}");
    }
    let error = refused(block_on(OpenTable::open(&bench.context, "gold.nothing", At::Latest)));
    assert_eq!(error.kind, ErrorKind::NotATable);
}

#[test]
fn rows_come_in_pages_by_partition_and_can_be_filtered() {
    let bench = Bench::default();
    let rows: Vec<Row> = (0..10).map(|n| row(if n < 4 { "a" } else { "b" }, n)).collect();
    let table = bench.open(&bench.table(shape(), &rows).path).unwrap();
    let page = |filter: Option<&str>, offset, limit| {
        let predicate = filter.map(|text| Predicate::parse(text).unwrap());
        let page =
            block_on(table.rows(predicate.as_ref(), &["v".into()], offset, limit, &Progress::default())).unwrap();
        (page.rows.into_iter().flatten().collect::<Vec<_>>(), page.more)
    };
    assert_eq!(page(None, 3, 2), (vec![i(3), i(4)], true));
    assert_eq!(page(None, 8, 5), (vec![i(8), i(9)], false));
    assert_eq!(page(Some("d = 'b' AND v > 6"), 1, 5), (vec![i(8), i(9)], false));
    assert_eq!(page(Some("d = 'a'"), 0, 2), (vec![i(0), i(1)], true));
}

#[test]
fn tables_are_found_below_a_root_the_broken_ones_with_the_reason() {
    let bench = Bench::default();
    let root = bench.path("lake");
    Fixture::with_rows(root.join("gold/sales"), shape(), &[row("a", 1), row("b", 2)]);
    let broken = Fixture::with_rows(root.join("raw"), shape(), &[row("a", 1)]);
    std::fs::write(broken.path.join("_delta_log/00000000000000000000.json"), "{\"metaData\":").unwrap();
    let found = block_on(async {
        let (send, mut receive) = tokio::sync::mpsc::channel(16);
        let place = root.to_string_lossy().into_owned();
        let (walked, found) = tokio::join!(find_tables(&bench.context, &place, send), async {
            let mut found = Vec::new();
            while let Some(table) = receive.recv().await {
                found.push(table);
            }
            found
        });
        walked.unwrap();
        found
    });
    let last = |name: &str| found.iter().rev().find(|t| t.name == name).unwrap().facts.clone();
    let sales = last("gold.sales").unwrap();
    assert_eq!((sales.rows.exact(), sales.files, sales.partitions.len()), (Some(2), 2, 2));
    assert!(last("raw").unwrap_err().contains("00000000000000000000.json"));
}
