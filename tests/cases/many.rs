//! Thousands of partitions over two columns.

use partwise::ops::Strategy;
use partwise::plan::{Effect, arithmetic};
use serde_json::json;

use crate::support::replay::replay;
use crate::support::road::{MERGE, effects, partition};
use crate::support::{Bench, Kind, Row, Shape, block_on, i, rows_of, s};

const SIDE: i64 = 60;
const TOUCHED: usize = 3_000;

fn shape() -> Shape {
    Shape::new(&[("a", Kind::String), ("b", Kind::Integer), ("id", Kind::Long), ("v", Kind::Long)], &["a", "b"])
}

/// Every pair, in an order in which neighbours share no value.
fn pairs() -> Vec<(i64, i64)> {
    (0..SIDE * SIDE).map(|n| (n % SIDE, (n / SIDE + n) % SIDE)).collect()
}

fn row((a, b): (i64, i64), v: i64) -> Row {
    vec![s(&format!("a{a:02}")), i(b), i(a * SIDE + b), i(v)]
}

/// Pairs are pairs: of 3,600 partitions 3,000 are delivered, and each of the 600
/// others shares both of its values with some that are.
#[test]
fn three_thousand_partitions_over_two_columns_are_exact() {
    let bench = Bench::default();
    let all = pairs();
    let old: Vec<Row> = all.iter().map(|p| row(*p, 0)).collect();
    let table = bench.table(shape(), &old);
    // Half of the delivered rows are the same.
    let new: Vec<Row> = all[..TOUCHED].iter().enumerate().map(|(n, p)| row(*p, n as i64 % 2)).collect();
    let source = bench.source("s", &shape().columns, &new);
    let half = TOUCHED as u64 / 2;

    let merge = bench.plan(&table.path, &source, &["a", "b", "id"], MERGE);
    assert_eq!(effects(&merge), (0, Some(half), half, 0, 0));
    assert_eq!(merge.files.removed, TOUCHED as u64);

    let prepared = bench.prepare(&table.path, &source, &["id"], Strategy::Overwrite).unwrap();
    let plan = &prepared.plan;
    assert_eq!(effects(plan), (0, Some(half), half, 0, 0));
    assert_eq!((plan.partitions.len(), plan.untouched_partitions), (TOUCHED, 600));
    assert_eq!((plan.keys.elsewhere, plan.rows.slice_before), (Some(0), TOUCHED as u64));
    assert_eq!(arithmetic::violations(plan), Vec::<String>::new());
    assert!(plan.partitions.iter().all(|p| (p.before, p.source, p.after) == (1, 1, 1)));
    let (a, b) = all[1];
    assert_eq!(partition(plan, &json!({"a": format!("a{a:02}"), "b": b})).updated, Some(1));
    let page = block_on(prepared.rows.unwrap().page(Effect::Updated, half - 3, 10)).unwrap();
    assert_eq!((page.total, page.rows.len()), (half, 3));

    let before = replay(&table.path).unwrap().live;
    let report = bench.apply(plan).unwrap();
    assert_eq!((report.files_removed, report.files_added), (TOUCHED as u64, TOUCHED as u64));
    let mut want: Vec<Row> = new.iter().chain(&old[TOUCHED..]).cloned().collect();
    want.sort();
    assert_eq!(rows_of(&table.path), want);
    let after = replay(&table.path).unwrap().live;
    assert_eq!(after.keys().filter(|key| before.contains_key(*key)).count(), 600);
}
