//! A restatement whose differences are known by construction.

use std::fs;
use std::path::Path;
use std::process::Command;

use partwise::ops::Strategy;
use partwise::plan::{Plan, arithmetic};
use partwise::table::Value;
use serde_json::{Value as Json, json};

use crate::support::road::{MERGE, MERGE_DELETE, shared, text};
use crate::support::{Bench, Fixture, Kind, Row, Shape, i, replay, rows_of, s};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Truth {
    before: u64,
    source: u64,
    inserted: u64,
    updated: u64,
    unchanged: u64,
    deleted: u64,
}

impl Truth {
    fn from_json(json: &Json) -> Self {
        let number = |name: &str| json[name].as_u64().unwrap_or_else(|| panic!("no {name} in {json}"));
        Self {
            before: number("before"),
            source: number("source"),
            inserted: number("inserted"),
            updated: number("updated"),
            unchanged: number("unchanged"),
            deleted: number("deleted"),
        }
    }
}

/// The plan's numbers; what a MERGE leaves as a zombie is what an overwrite deletes.
fn check(plan: &Plan, periods: &[(String, Truth)], total: Truth, deletes: bool) {
    assert_eq!(arithmetic::violations(plan), Vec::<String>::new());
    assert_eq!(plan.partitions.len(), periods.len());
    for (period, truth) in periods {
        let p = plan.partitions.iter().find(|p| p.values["fiscal_period"] == json!(period)).expect("the period");
        let (deleted, zombies) = if deletes { (p.deleted, p.zombies) } else { (p.zombies, p.deleted) };
        let have = Truth {
            before: p.before,
            source: p.source,
            inserted: p.inserted,
            updated: p.updated.expect("a key was given"),
            unchanged: p.unchanged,
            deleted,
        };
        assert_eq!((have, zombies), (*truth, 0), "period {period}");
    }
    let r = &plan.rows;
    let (deleted, zombies) = if deletes { (r.deleted, r.zombies) } else { (r.zombies, r.deleted) };
    let have = Truth {
        before: r.slice_before,
        source: r.source,
        inserted: r.inserted,
        updated: r.updated.expect("a key was given"),
        unchanged: r.unchanged,
        deleted,
    };
    assert_eq!((have, zombies), (total, 0), "in total");
}

fn shape() -> Shape {
    Shape::new(
        &[
            ("company_code", Kind::String),
            ("fiscal_period", Kind::String),
            ("doc_number", Kind::Long),
            ("gl_account", Kind::String),
            ("amount", Kind::Decimal(15, 2)),
            ("quantity", Kind::Double),
            ("posting_date", Kind::Date),
            ("status", Kind::String),
            ("updated_at", Kind::Timestamp),
        ],
        &["fiscal_period"],
    )
}

/// A posting whose every cell follows from its document number.
fn posting(period: &str, doc: i64, surcharge: i128) -> Row {
    let mixed = doc.wrapping_mul(2_654_435_761) % 10_000_000;
    let status = ["open", "cleared"].get(doc.rem_euclid(3) as usize).map_or(Value::Null, |&t| s(t));
    vec![
        s(["1000", "1010", "2000", "3000", "DE01"][doc.rem_euclid(5) as usize]),
        s(period),
        i(doc),
        s(&format!("0000{}", 400_000 + doc % 997)),
        Value::Decimal { unscaled: i128::from(mixed) - 5_000_000 + surcharge, scale: 2 },
        Value::Double((mixed % 1000) as f64 / 1000.0),
        Value::Date(20_454 + (doc % 28) as i32),
        status,
        Value::Timestamp(1_767_225_600_000_000 + doc * 1_000_003),
    ]
}

/// Four periods of which the last two are restated: of each 50 documents one
/// was reversed, two have another amount, and for each 50 one is new.
fn generate(bench: &Bench, rows: i64) -> (Fixture, String, Vec<(String, Truth)>, Truth) {
    let mut table = Fixture::new(bench.path("t"), shape());
    let (mut delivered, mut periods, mut total) = (Vec::new(), Vec::new(), Truth::default());
    for n in 0..4 {
        let (period, first) = (format!("2026{:03}", n + 1), n * 10 * rows);
        // A stride that is coprime to the number of rows shuffles them.
        let old: Vec<Row> = (0..rows).map(|d| posting(&period, first + d * 7_919 % rows, 0)).collect();
        table.append(&old);
        if n < 2 {
            continue;
        }
        let mut truth = Truth { before: rows as u64, ..Truth::default() };
        for doc in first..first + rows {
            match doc % 50 {
                0 => truth.deleted += 1,
                1 | 2 => {
                    truth.updated += 1;
                    delivered.push(posting(&period, doc, 125));
                }
                _ => {
                    truth.unchanged += 1;
                    delivered.push(posting(&period, doc, 0));
                }
            }
        }
        for doc in first + rows..first + rows + rows / 50 {
            truth.inserted += 1;
            delivered.push(posting(&period, doc, 0));
        }
        truth.source = truth.inserted + truth.updated + truth.unchanged;
        total.before += truth.before;
        total.source += truth.source;
        total.inserted += truth.inserted;
        total.updated += truth.updated;
        total.unchanged += truth.unchanged;
        total.deleted += truth.deleted;
        periods.push((period, truth));
    }
    delivered.reverse();
    let source = bench.source("staging", &shape().columns, &delivered);
    (table, source, periods, total)
}

#[test]
fn a_restatement_of_known_differences() {
    let bench = Bench::default();
    let (table, source, periods, total) = generate(&bench, 20_000);
    let key = ["company_code", "doc_number"];
    check(&bench.plan(&table.path, &source, &key, MERGE), &periods, total, false);
    check(&bench.plan(&table.path, &source, &key, MERGE_DELETE), &periods, total, true);
    let before = rows_of(&table.path);
    let (plan, report) = bench.run(&table.path, &source, &key, Strategy::Overwrite);
    check(&plan, &periods, total, true);
    assert_eq!(report.rows_written, total.source);
    let after = rows_of(&table.path);
    assert_eq!(after.len() as u64, 80_000 + total.inserted - total.deleted);
    bench.undo(&table.path);
    assert!(rows_of(&table.path) == before, "undo brought other rows back");
    assert_eq!(replay::newest(&table.path), 5);
}

/// The generator of the bench, where Python has what it needs.
#[test]
fn the_benchs_restatement() {
    let Some(script) = shared("bench/make_restatement.py") else { return };
    let has = Command::new("python3").args(["-c", "import deltalake, numpy, pyarrow"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 with deltalake, numpy and pyarrow is not there");
        return;
    }
    let bench = Bench::default();
    let dir = bench.path("bench");
    let made = Command::new("python3")
        .arg(&script)
        .arg(&dir)
        .args(["--periods", "4", "--rows", "100000", "--restated", "2", "--shuffle"])
        .output()
        .expect("python3 runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let truth = read_truth(&dir);
    let periods: Vec<(String, Truth)> = truth["periods"]
        .as_object()
        .expect("periods")
        .iter()
        .map(|(period, json)| (period.clone(), Truth::from_json(json)))
        .collect();
    let total = Truth::from_json(&truth["total"]);
    let (table, source) = (dir.join("target"), text(&dir.join("staging")));
    let key = ["company_code", "doc_number"];
    check(&bench.plan(&table, &source, &key, MERGE), &periods, total, false);
    check(&bench.plan(&table, &source, &key, Strategy::Overwrite), &periods, total, true);
}

fn read_truth(dir: &Path) -> Json {
    let file = fs::read_to_string(dir.join("truth.json")).expect("truth.json");
    serde_json::from_str(&file).expect("truth.json is JSON")
}
