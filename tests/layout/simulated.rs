//! What the exact pass said of a layout, against the rewrite that came after.

use std::collections::BTreeMap;

use partwise::config::Config;
use partwise::ops::exact_layout;
use partwise::plan::layouts::{LayoutBy, Spread};
use partwise::progress::Progress;
use partwise::table::Value;

use super::{RepartitionRequest, switch};
use crate::support::replay::replay;
use crate::support::{Bench, Kind, Row, Shape, block_on, i, s};

/// 2024-01-01
const FIRST_DAY: i32 = 19_723;

/// Rows of very unequal regions over some months; texts of all lengths.
fn rows(days: i32, a_day: i64) -> Vec<Row> {
    let mut rows = Vec::new();
    for n in 0..i64::from(days) * a_day {
        let noise = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed())).cast_unsigned() >> 20;
        let region = match noise % 40 {
            0 => Value::Null,
            k @ 1..=3 => s(&format!("r{k}")),
            _ => s("large"),
        };
        let day = FIRST_DAY + i32::try_from(n / a_day).unwrap();
        let text = "x".repeat(usize::try_from(noise / 40 % 9).unwrap());
        rows.push(vec![
            Value::Date(day),
            region,
            i(n),
            Value::Decimal { unscaled: i128::from(noise % 1_000_003), scale: 2 },
            s(&format!("{text}{}", noise % 5_003)),
        ]);
    }
    rows
}

fn shape() -> Shape {
    let columns = [
        ("dt", Kind::Date),
        ("region", Kind::String),
        ("id", Kind::Long),
        ("amount", Kind::Decimal(12, 2)),
        ("text", Kind::String),
    ];
    Shape::new(&columns, &["dt"])
}

#[test]
fn simulated_numbers_are_those_of_the_rewrite() {
    let rows = rows(70, 400);
    let expressions = [
        "region",
        "region,dt",
        "none",
        "date_trunc('month', dt) AS month",
        "id",
        "region,cast(id / 4000 as int) AS part",
    ];
    for text in expressions {
        // Once a sample of all rows, once of a part of them.
        for sample in [1_000_000, 3_000] {
            let mut config = Config::default();
            config.layout.sample_rows = sample;
            let bench = Bench::with_config(config);
            // A partition each row is a case for itself, and slow.
            let all = if text == "id" { &rows[..1_500] } else { &rows[..] };
            let table = bench.table(shape(), all);
            let by = LayoutBy::parse(text).unwrap();
            let opened = bench.open(&table.path).unwrap();
            let simulated = block_on(exact_layout(&bench.context, &opened, &by, &[], &Progress::default())).unwrap();
            let n = simulated.numbers;
            assert!(n.exact && !n.at_least && n.bytes_after.measured, "{text}: {n:?}");

            let request = RepartitionRequest { by, ..RepartitionRequest::default() };
            let (plan, _) = switch(&bench, &table.path, &request);
            let live = replay(&table.path).unwrap().live;
            let mut real: BTreeMap<String, u64> = BTreeMap::new();
            let mut nulls = 0;
            for add in live.values() {
                let stats: serde_json::Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
                let rows = stats["numRecords"].as_u64().unwrap();
                *real.entry(add["partitionValues"].to_string()).or_default() += rows;
                let null = add["partitionValues"].as_object().unwrap().values().any(serde_json::Value::is_null);
                nulls += if null { rows } else { 0 };
            }
            assert_eq!((n.partitions, n.nulls), (real.len() as u64, nulls), "{text}");
            assert_eq!(n.partitions, plan.layout.after.partitions, "{text}");
            assert_eq!(n.rows, Spread::of(real.into_values().collect()), "{text}");
            assert_eq!(n.files, live.len() as u64, "{text}");
            assert_eq!(n.rewrite_bytes, plan.files.removed_bytes, "{text}");

            let bytes: u64 = live.values().map(|add| add["size"].as_u64().unwrap()).sum();
            let said = n.bytes_after;
            if said.is_narrow() {
                let off = bytes.abs_diff(said.middle()) as f64 / bytes as f64;
                assert!(off <= 0.15, "{text}, sample {sample}: said {said:?}, written {bytes}");
            } else {
                assert!(
                    (said.low..=said.high).contains(&bytes),
                    "{text}, sample {sample}: said {said:?}, written {bytes}"
                );
            }
            println!("{text}, sample {sample}: said {said:?}, written {bytes}");
        }
    }
}

/// A switch's own estimate counts footers too.
#[test]
fn tiny_files_are_estimated_with_their_footers() {
    let bench = Bench::default();
    let columns = [("g", Kind::String), ("v", Kind::Integer), ("w", Kind::Long)];
    let rows: Vec<_> = (0..60).map(|n| vec![s("a"), i(n), i(n * 7)]).collect();
    let table = bench.table(Shape::new(&columns, &["g"]), &rows);
    let (plan, report) = switch(&bench, &table.path, &super::by(&["v"]));
    let partwise::plan::Spec::Repartition(spec) = &plan.spec else { panic!("{:?}", plan.spec) };
    let estimate = spec.estimate.unwrap();
    assert_eq!((estimate.files, report.files_added), (60, 60));
    let live = crate::support::replay::replay(&table.path).unwrap().live;
    let real: u64 = live.values().map(|add| add["size"].as_u64().unwrap()).sum();
    assert!(estimate.bytes.abs_diff(real) * 3 < real, "estimated {}, written {real}", estimate.bytes);
    let gate = plan.gates.iter().find(|g| g.name == "small-files").unwrap();
    assert_eq!(gate.observed, serde_json::json!(estimate.bytes / 60));
    let many = plan.gates.iter().find(|g| g.name == "too-many-partitions").unwrap();
    assert!(many.message.contains("60 partitions, all of them new"), "{}", many.message);
}
