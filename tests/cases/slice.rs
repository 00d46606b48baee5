//! Which partitions were meant to be delivered: strays, gaps, new ones (B03).

use partwise::config::Config;
use partwise::error::ErrorKind;
use partwise::ops::{self, Prepared, SourceRequest, Strategy};
use partwise::plan::{GateStatus, Plan, Role, Verdict, arithmetic};
use partwise::progress::Progress;
use serde_json::json;

use crate::support::road::{MERGE, MERGE_DELETE, gate, partition, refused, request};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, replay, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("p", Kind::String), ("company", Kind::String), ("id", Kind::Integer), ("v", Kind::Integer)], &["p"])
}

/// `n` documents of a period, of the companies A and B in turn.
fn documents(p: &str, n: i64) -> Vec<Row> {
    (0..n).map(|id| vec![s(p), s(["A", "B"][(id % 2) as usize]), i(id), i(id * 10)]).collect()
}

/// Three periods of 300 documents.
fn ledger(bench: &Bench) -> Fixture {
    let rows = ["2026001", "2026002", "2026003"].into_iter().flat_map(|p| documents(p, 300)).collect::<Vec<_>>();
    bench.table(shape(), &rows)
}

fn prepare(bench: &Bench, table: &Fixture, source: &str, slice: Option<&str>, strategy: Strategy) -> Prepared {
    let request = SourceRequest { slice: slice.map(str::to_owned), ..request(source, &["p", "id"]) };
    let open = bench.open(&table.path).unwrap();
    block_on(ops::prepare(&bench.context, &open, &request, strategy, &Progress::default()))
        .unwrap_or_else(|e| panic!("prepare: {}", e.full_message()))
}

fn roles(plan: &Plan) -> Vec<(String, Role)> {
    plan.partitions.iter().map(|p| (p.label(), p.role)).collect()
}

fn failed(plan: &Plan) -> Vec<&str> {
    plan.gates.iter().filter(|g| g.status == GateStatus::Fail).map(|g| g.name.as_str()).collect()
}

/// The value of a SQL list: `p IN ('2026001', …)`.
fn asked(periods: &[&str]) -> String {
    format!("p IN ({})", periods.iter().map(|p| format!("'{p}'")).collect::<Vec<_>>().join(", "))
}

#[test]
fn two_slices_with_one_stray_row() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let mut rows = [documents("2026002", 300), documents("2026003", 301)].concat();
    rows.push(vec![s("2026001"), s("A"), i(4), i(41)]);
    let source = bench.source("s", &shape().columns, &rows);

    let plan = prepare(&bench, &table, &source, None, Strategy::Overwrite).plan;
    let unexpected = gate(&plan, "unexpected-partition");
    assert_eq!((unexpected.status, plan.verdict), (GateStatus::Fail, Verdict::Blocked));
    assert!(unexpected.message.contains("p=2026001: 1 row delivered in place of the 300"), "{}", unexpected.message);
    assert_eq!(json!(unexpected.partitions), json!([{"p": "2026001"}]));
    assert_eq!(partition(&plan, &json!({"p": "2026001"})).role, Role::Unexpected);
    assert_eq!(plan.untouched_partitions, 0);
    assert_eq!(json!(plan.partitions[0])["role"], "unexpected");

    // A MERGE changes one row there: nothing says that it is not meant.
    let merge = prepare(&bench, &table, &source, None, MERGE).plan;
    assert!(merge.partitions.iter().all(|p| p.role == Role::Intended), "{:?}", roles(&merge));
    // Where the slice is stated, it does.
    let slice = asked(&["2026002", "2026003"]);
    let merge = prepare(&bench, &table, &source, Some(&slice), MERGE).plan;
    assert_eq!(gate(&merge, "unexpected-partition").status, GateStatus::Warn);
    let plan = prepare(&bench, &table, &source, Some(&slice), Strategy::Overwrite).plan;
    assert_eq!(gate(&plan, "unexpected-partition").status, GateStatus::Fail);
    assert_eq!(gate(&plan, "missing-slice").status, GateStatus::Pass);
}

#[test]
fn a_slice_that_was_asked_for_and_did_not_come_is_left() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let source = bench.source("s", &shape().columns, &documents("2026002", 301));
    let slice = asked(&["2026002", "2026003", "2026009"]);
    for strategy in [Strategy::Overwrite, MERGE, MERGE_DELETE, Strategy::Append] {
        let plan = prepare(&bench, &table, &source, Some(&slice), strategy.clone()).plan;
        let expected = [("p=2026002", Role::Intended), ("p=2026003", Role::Left)].map(|(p, r)| (p.to_owned(), r));
        assert_eq!(roles(&plan), expected, "{strategy:?}: 2026009 is not in the table either");
        let left = partition(&plan, &json!({"p": "2026003"}));
        assert_eq!((left.before, left.source, left.after, left.files_before), (300, 0, 300, 1));
        assert!(left.bytes_before > 0 && left.measures.is_empty());
        assert_eq!(plan.untouched_partitions, 2);
        assert_eq!(arithmetic::violations(&plan), Vec::<String>::new());
    }
    let status = |strategy: Strategy| {
        let plan = prepare(&bench, &table, &source, Some(&slice), strategy.clone()).plan;
        plan.gates.iter().find(|g| g.name == "missing-slice").map(|g| g.status)
    };
    assert_eq!(status(Strategy::Overwrite), Some(GateStatus::Fail));
    assert_eq!(status(MERGE), Some(GateStatus::Warn));
    assert_eq!(status(Strategy::Append), None);

    // Overridden, the plan goes on and leaves the other partition alone.
    let before = rows_of(&table.path).into_iter().filter(|r| r[0] != s("2026002")).collect::<Vec<_>>();
    let plan = prepare(&bench, &table, &source, Some(&slice), Strategy::Overwrite).plan;
    assert_eq!(failed(&plan), ["missing-slice"]);
    bench.apply(&plan).unwrap();
    let after = rows_of(&table.path);
    assert_eq!(after.len(), 901);
    assert_eq!(after.into_iter().filter(|r| r[0] != s("2026002")).collect::<Vec<_>>(), before);
}

#[test]
fn b03_an_empty_source_leaves_all_that_was_asked_for() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let source = bench.source("s", &shape().columns, &[]);
    let plan = prepare(&bench, &table, &source, Some("p >= '2026002'"), Strategy::Overwrite).plan;
    assert_eq!(failed(&plan), ["empty-source", "missing-slice"]);
    assert_eq!((plan.rows.deleted, plan.untouched_partitions), (0, 3));
    assert!(plan.partitions.iter().all(|p| p.role == Role::Left && p.after == 300));
    assert_eq!(bench.apply(&plan).unwrap().version_after, None);
    assert_eq!(replay::newest(&table.path), 0);

    // The whole table is replaced only where that is asked for, and said.
    let plan = prepare(&bench, &table, &source, None, Strategy::OverwriteAll).plan;
    assert_eq!(plan.partitions.iter().filter(|p| p.role == Role::Emptied).count(), 3);
    let missing = gate(&plan, "missing-slice");
    assert_eq!(missing.status, GateStatus::Fail);
    assert!(missing.message.contains("this deletes 300 rows (and 2 more)"), "{}", missing.message);
}

#[test]
fn a_missing_company_is_no_missing_slice() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let rows: Vec<Row> = documents("2026002", 300).into_iter().filter(|r| r[1] == s("A")).collect();
    let source = bench.source("s", &shape().columns, &rows);
    let slice = asked(&["2026002"]);
    let request = SourceRequest { slice: Some(slice), ..request(&source, &["p", "company", "id"]) };
    let open = bench.open(&table.path).unwrap();
    let prepared = block_on(ops::prepare(&bench.context, &open, &request, Strategy::Overwrite, &Progress::default()));
    let plan = prepared.unwrap().plan;
    assert_eq!(failed(&plan), ["row-count", "vanished-group"]);
    assert_eq!(gate(&plan, "missing-slice").status, GateStatus::Pass);
    // A MERGE would leave the company's rows: the slice was asked for whole.
    let merge = block_on(ops::prepare(&bench.context, &open, &request, MERGE, &Progress::default())).unwrap().plan;
    let zombies = gate(&merge, "zombies");
    assert_eq!((zombies.status, &zombies.observed), (GateStatus::Fail, &json!(150)));
    let merge = bench.plan(&table.path, &source, &["p", "company", "id"], MERGE);
    assert_eq!(gate(&merge, "zombies").status, GateStatus::Pass);
}

/// B08: the delete reaches the delivered partitions only, and a gate says so.
#[test]
fn b08_a_merge_that_deletes_stays_in_the_slice() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let source = bench.source("s", &shape().columns, &documents("2026002", 290));
    let plan = prepare(&bench, &table, &source, None, MERGE_DELETE).plan;
    assert_eq!((plan.rows.deleted, gate(&plan, "deletes-outside-slice").status), (10, GateStatus::Pass));
    assert_eq!(plan.untouched_partitions, 2);
}

#[test]
fn null_and_the_empty_string_are_asked_for_apart() {
    let bench = Bench::default();
    let null = partwise::table::Value::Null;
    let row = |p: partwise::table::Value| vec![p, s("A"), i(1), i(1)];
    let table = bench.table(shape(), &[row(null.clone()), row(s("")), row(s("x"))]);
    let source = bench.source("s", &shape().columns, &[row(s("x")), row(null)]);
    let plan = prepare(&bench, &table, &source, Some("p IN ('x', '')"), Strategy::Overwrite).plan;
    let expected = [("p=∅", Role::Unexpected), ("p=\"\"", Role::Left), ("p=x", Role::Intended)];
    assert_eq!(roles(&plan), expected.map(|(p, r)| (p.to_owned(), r)));
    assert_eq!(gate(&plan, "null-partition").status, GateStatus::Warn);
}

#[test]
fn a_new_partition_out_of_range_is_said() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let status = |p: &str| {
        let source = bench.source(p, &shape().columns, &documents(p, 5));
        let plan = prepare(&bench, &table, &source, None, Strategy::Overwrite).plan;
        gate(&plan, "new-partition").status
    };
    assert_eq!(status("2062001"), GateStatus::Warn);
    assert_eq!(status("2026004"), GateStatus::Pass);
}

#[test]
fn the_control_total_must_be_met() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let source = bench.source("s", &shape().columns, &documents("2026002", 299));
    let open = bench.open(&table.path).unwrap();
    for (expected, status) in [(299, GateStatus::Pass), (300, GateStatus::Fail)] {
        for strategy in [Strategy::Overwrite, Strategy::Append, MERGE] {
            let request = SourceRequest { expect_rows: Some(expected), ..request(&source, &["p", "id"]) };
            let plan = block_on(ops::prepare(&bench.context, &open, &request, strategy, &Progress::default()));
            assert_eq!(gate(&plan.unwrap().plan, "expected-rows").status, status);
        }
    }
}

#[test]
fn a_slice_is_over_partition_columns() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let source = bench.source("s", &shape().columns, &documents("2026002", 1));
    for (slice, words) in [("company = 'A'", "company"), ("p = '1' AND nope = 1", "nope"), ("p = ", "")] {
        let request = SourceRequest { slice: Some(slice.into()), ..request(&source, &["id"]) };
        let open = bench.open(&table.path).unwrap();
        let progress = Progress::default();
        let plan = block_on(ops::prepare(&bench.context, &open, &request, Strategy::Overwrite, &progress));
        let error = refused(plan);
        assert_eq!((error.kind, error.exit_code()), (ErrorKind::Usage, 2), "{slice}");
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[test]
fn what_counts_as_stray_is_configured() {
    let config = Config::parse("[gates]\nstray_max_percent_of_typical = 0.0\n").unwrap();
    let bench = Bench::with_config(config);
    let table = ledger(&bench);
    let rows = [documents("2026002", 300), documents("2026001", 1)].concat();
    let source = bench.source("s", &shape().columns, &rows);
    let plan = prepare(&bench, &table, &source, None, Strategy::Overwrite).plan;
    assert_eq!(gate(&plan, "unexpected-partition").status, GateStatus::Pass);
}

/// Rows that the log does not count are counted before they are called 0.
#[test]
fn a_left_partition_without_statistics_is_counted() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let log = table.path.join("_delta_log/00000000000000000000.json");
    let text = std::fs::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| {
        let mut action: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(add) = action.get_mut("add").filter(|add| add["partitionValues"]["p"] == "2026003") {
            add.as_object_mut().unwrap().remove("stats");
        }
        action.to_string() + "\n"
    });
    let stripped: String = lines.collect();
    std::fs::write(&log, stripped).unwrap();
    let source = bench.source("s", &shape().columns, &documents("2026002", 300));
    let plan = prepare(&bench, &table, &source, Some("p >= '2026002'"), Strategy::Overwrite).plan;
    let left = partition(&plan, &json!({"p": "2026003"}));
    assert_eq!((left.role, left.before), (Role::Left, 300));
}

/// A daily extract that is taken for the month that it belongs to.
#[test]
fn one_day_of_a_month_is_no_overwrite() {
    let bench = Bench::default();
    let columns = [("p", Kind::String), ("id", Kind::Integer), ("posted", Kind::Date), ("loaded", Kind::Timestamp)];
    let shape = Shape::new(&columns, &["p"]);
    let day = |id: i64| 20_600 + (id % 30) as i32;
    let row = |id: i64, load: i64| {
        let loaded = partwise::table::Value::Timestamp((20_600 + load) * 86_400_000_000);
        vec![s("2026006"), i(id), partwise::table::Value::Date(day(id)), loaded]
    };
    let table = bench.table(shape.clone(), &(0..600).map(|id| row(id, id % 30)).collect::<Vec<_>>());
    let plan = |name: &str, rows: Vec<Row>, strategy| {
        let source = bench.source(name, &shape.columns, &rows);
        bench.plan(&table.path, &source, &["id"], strategy)
    };
    let late = || (0..600).filter(|id| day(*id) == 20_604).map(|id| row(id, 40)).collect::<Vec<_>>();
    let overwrite = plan("late", late(), Strategy::Overwrite);
    let found = gate(&overwrite, "grain");
    assert_eq!(found.status, GateStatus::Fail);
    assert!(found.message.contains("1 of 30 days of posted in p=2026006"), "{}", found.message);
    assert!(plan("merge", late(), MERGE).gates.iter().all(|g| g.name != "grain"));
    // The whole month, loaded again on one day, with one document gone.
    let whole = (0..599).map(|id| row(id, 40)).collect();
    assert_eq!(gate(&plan("whole", whole, Strategy::Overwrite), "grain").status, GateStatus::Pass);
}
