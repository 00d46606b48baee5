//! Very long logs (B26): what is listed is exact, without any data file.
//! A tenth of the size by default, whole with `PARTWISE_FULL=1`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use partwise::progress::Progress;
use serde_json::{Value as Json, json};

use super::values::partitions;
use crate::support::writer::log_file;
use crate::support::{Bench, Fixture, Kind, Shape, block_on};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

fn size(whole: u64) -> u64 {
    if std::env::var_os("PARTWISE_FULL").is_some() { whole } else { whole / 10 }
}

/// An `add` of a file that is not there.
fn add(number: u64, partition: u64) -> Json {
    json!({"add": {"path": format!("d={partition:04}/part-{number:06}.parquet"), "partitionValues": {"d": format!("{partition:04}")},
                   "size": 1000, "modificationTime": 1_700_000_000_000_u64, "dataChange": true,
                   "stats": "{\"numRecords\":3}"}})
}

/// (version, files, partitions, rows)
fn listed(bench: &Bench, table: &Path) -> (u64, u64, u64, Option<u64>) {
    let found = partitions(bench, table, false).unwrap();
    let rows = found.iter().map(|p| p.rows.exact()).sum();
    let open = bench.open(table).unwrap();
    let files = block_on(open.files(&Progress::default())).unwrap();
    let distinct: BTreeSet<String> = files.iter().map(|f| f.partition.label(&["d".to_owned()])).collect();
    assert_eq!(distinct.len(), found.len(), "partitions by files and as listed");
    (open.version(), files.len() as u64, found.len() as u64, rows)
}

#[test]
fn b26_ten_thousand_commits_without_a_checkpoint() {
    let bench = Bench::default();
    let commits = size(10_000);
    let mut table = Fixture::new(bench.path("t"), shape());
    table.commit("WRITE", json!({"mode": "Append"}), vec![add(0, 0)]);
    for number in 1..=commits {
        fs::write(log_file(&table.path, number), add(number, number % 366).to_string() + "\n").unwrap();
    }
    assert_eq!(listed(&bench, &table.path), (commits, commits + 1, 366, Some(3 * (commits + 1))));

    // Every version once in the history, newest first, also without commitInfo.
    let open = bench.open(&table.path).unwrap();
    let history = block_on(open.history(None, false, &Progress::default())).unwrap();
    let versions: Vec<u64> = history.iter().map(|c| c.version).collect();
    assert_eq!(versions, (0..=commits).rev().collect::<Vec<_>>());
}

#[test]
fn b26_a_commit_of_two_hundred_thousand_files() {
    let bench = Bench::default();
    let (files, groups) = (size(200_000), size(2_000));
    let mut table = Fixture::new(bench.path("t"), shape());
    table.commit("WRITE", json!({"mode": "Append"}), vec![add(0, 0)]);
    let adds = (1..=files).map(|number| add(number, 1 + number % groups)).collect();
    table.commit("WRITE", json!({"mode": "Append"}), adds);
    assert_eq!(listed(&bench, &table.path), (1, files + 1, groups + 1, Some(3 * (files + 1))));
}
