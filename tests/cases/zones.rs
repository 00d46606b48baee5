//! Times in partition values: B20. Nothing is shifted by anybody's zone.

use std::fs;

use partwise::ops::Strategy;
use partwise::predicate::Predicate;
use partwise::progress::Progress;
use partwise::table::Value;
use serde_json::json;

use super::values::partitions;
use crate::cli::partwise;
use crate::support::writer::{FileOptions, log_file};
use crate::support::{Bench, Fixture, Kind, Shape, block_on, i, rows_of};

const DAY: i64 = 86_400_000_000;
const HALF_HOUR: i64 = 1_800_000_000;

/// Input 1: three ways to write an instant. The log of the second has no zone.
#[test]
fn b20_timestamp_partitions_are_instants() {
    let bench = Bench::default();
    let shape = Shape::new(&[("p", Kind::Timestamp), ("v", Kind::Integer)], &["p"]);
    let tenth = 19_792 * DAY;
    let written = [
        ("2024-03-10T00:30:00.000000Z", tenth + HALF_HOUR, "2024-03-10T00:30:00Z"),
        ("2024-03-10 20:30:00", tenth + 41 * HALF_HOUR, "2024-03-10T20:30:00Z"),
        ("2024-03-12T00:30:00+02:00", tenth + 93 * HALF_HOUR, "2024-03-11T22:30:00Z"),
    ];
    let mut table = Fixture::new(bench.path("t"), shape.clone());
    let adds = written.iter().enumerate().map(|(n, (text, instant, _))| {
        let mut add = table.add(&[vec![Value::Timestamp(*instant), i(n as i64)]], &FileOptions::default());
        add["add"]["partitionValues"]["p"] = json!(text);
        add
    });
    let adds = adds.collect();
    table.commit("WRITE", json!({}), adds);
    let found = partitions(&bench, &table.path, false).unwrap();
    let mut want = written.map(|(_, instant, shown)| (Value::Timestamp(instant), shown.to_owned()));
    want.sort();
    let have: Vec<(Value, String)> = found.iter().map(|p| (p.values.0[0].clone(), p.values.to_string())).collect();
    assert_eq!(have, want);
    let assumed: Vec<bool> = found.iter().map(|p| p.assumed_utc).collect();
    assert_eq!(assumed, [false, true, false], "the log says the zone of the others");

    // Whoever looks, from wherever: the same text.
    let seen = |zone: &str, json: &[&str]| {
        let mut command = partwise(&bench.path("home"));
        let output = command.env("TZ", zone).arg("partitions").arg(&table.path).args(json).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for json in [&[][..], &["--json"]] {
        let utc = seen("UTC", json);
        written.iter().for_each(|(_, _, shown)| assert!(utc.contains(shown), "{shown}: {utc}"));
        for zone in ["America/New_York", "Australia/Melbourne"] {
            assert_eq!(seen(zone, json), utc, "{zone}");
        }
    }
    assert!(seen("UTC", &[]).contains("AssumedUtc"));

    // However the log writes it, it is the partition of the delivered instant.
    let instant = Value::Timestamp(written[2].1);
    let source = bench.source("s", &shape.columns, &[vec![instant.clone(), i(9)]]);
    let (plan, report) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!((plan.partitions.len(), plan.rows.deleted, report.files_removed), (1, 1, 1));
    assert!(rows_of(&table.path).contains(&vec![instant, i(9)]));
}

/// Input 2: the stored date decides, not the day of the instant somewhere else.
#[test]
fn b20_the_stored_date_decides() {
    let bench = Bench::default();
    let shape = Shape::new(&[("ts", Kind::Timestamp), ("d", Kind::Date), ("v", Kind::Integer)], &["d"]);
    let ninth = 19_731;
    let table = bench
        .table(shape, &[vec![Value::Timestamp(i64::from(ninth) * DAY + 26 * HALF_HOUR), Value::Date(ninth), i(1)]]);
    let open = bench.open(&table.path).unwrap();
    for (day, rows) in [("2024-01-10", 0), ("2024-01-09", 1)] {
        let predicate = Predicate::parse(&format!("d = '{day}'")).unwrap();
        let page = block_on(open.rows(Some(&predicate), &[], 0, 10, &Progress::default())).unwrap();
        assert_eq!(page.rows.len(), rows, "{day}");
    }
    let log = fs::read_to_string(log_file(&table.path, 0)).unwrap();
    assert!(log.contains(r#""partitionValues":{"d":"2024-01-09"}"#), "{log}");
}
