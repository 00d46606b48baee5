//! What writers of the past would do on another layout, computed on the rows.

use partwise::error::ErrorKind;
use partwise::ops::{ApplyOptions, RepartitionRequest, breakers, prepare_repartition};
use partwise::plan::layouts::LayoutBy;
use partwise::plan::layouts::breakers::{Breaker, BreakerKind};
use partwise::plan::{GateStatus, Spec, Verdict};
use partwise::progress::Progress;
use serde_json::json;

use crate::support::replay::{newest, replay};
use crate::support::road::{gate, refused};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

fn shape() -> Shape {
    let mut shape = Shape::new(&[("period", Kind::String), ("company", Kind::String), ("v", Kind::Long)], &["period"]);
    shape.properties = vec![("delta.enableChangeDataFeed".into(), "true".into())];
    shape
}

/// Twelve periods of four companies; the last period is delivered for two.
fn rows(period: u32) -> Vec<Row> {
    let companies = if period == 12 { 2 } else { 4 };
    (0..companies)
        .flat_map(|c| (0..5).map(move |n| vec![s(&format!("{period:02}")), s(&format!("C{c}")), i(n)]))
        .collect()
}

/// An append that names its partition columns, then a dynamic overwrite of the
/// last period.
fn nightly(bench: &Bench, shape: Shape) -> Fixture {
    let mut table = Fixture::new(bench.path("t"), shape);
    let all: Vec<Row> = (1..=12).flat_map(rows).collect();
    let adds = table.add_each(&all, &FileOptions::default());
    let last = adds.last().unwrap().clone();
    table.commit("WRITE", json!({"mode": "Append", "partitionBy": "[\"period\"]"}), adds);
    let again = table.add(&rows(12), &FileOptions::default());
    let gone = table.remove(&last);
    table.commit(
        "WRITE",
        json!({"mode": "Overwrite", "partitionBy": "[]", "isDynamicPartitionOverwrite": "true"}),
        vec![gone, again],
    );
    table
}

fn table(bench: &Bench) -> Fixture {
    let mut table = nightly(bench, shape());
    table.commit_lines(&[
        json!({"commitInfo": {"operation": "STREAMING UPDATE", "operationParameters": {"queryId": "q-1", "epochId": "4"}}}),
        json!({"txn": {"appId": "q-1", "version": 4}}),
    ]);
    table
}

fn ask(bench: &Bench, table: &Fixture, by: &str) -> Vec<Breaker> {
    let opened = bench.open(&table.path).unwrap();
    block_on(breakers(&opened, &LayoutBy::parse(by).unwrap(), &Progress::default())).unwrap()
}

fn of(found: &[Breaker], kind: BreakerKind) -> &Breaker {
    found.iter().find(|b| b.kind == kind).unwrap_or_else(|| panic!("no {kind:?} in {found:?}"))
}

#[test]
fn a_dynamic_overwrite_of_one_period_would_delete_the_others() {
    let bench = Bench::default();
    let table = table(&bench);
    let found = ask(&bench, &table, "company");
    let dynamic = of(&found, BreakerKind::DynamicOverwrite);
    let c = dynamic.collateral.unwrap();
    // Two companies, each with five rows in eleven other periods.
    assert_eq!((c.rows, c.partitions, c.lost, c.lost_partitions), (10, 2, 110, 11));
    assert!(dynamic.danger && dynamic.version == Some(1));
    assert!(dynamic.effect.contains("delete 110 other rows"), "{}", dynamic.effect);
    assert!(of(&found, BreakerKind::PartitionBy).effect.contains("partitionBy(period)"));
    assert!(found.iter().any(|b| b.kind == BreakerKind::Stream && b.who.contains("q-1")));
    assert!(!of(&found, BreakerKind::ChangeFeed).danger);
}

#[test]
fn without_partitions_it_would_delete_everything_else() {
    let bench = Bench::default();
    let table = table(&bench);
    let c = of(&ask(&bench, &table, "none"), BreakerKind::DynamicOverwrite).collateral.unwrap();
    assert_eq!((c.partitions, c.lost, c.lost_partitions), (1, 220, 11));
}

#[test]
fn finer_partitions_keep_what_is_not_delivered() {
    let bench = Bench::default();
    let table = table(&bench);
    let found = ask(&bench, &table, "period, company");
    let dynamic = of(&found, BreakerKind::DynamicOverwrite);
    assert_eq!(dynamic.collateral.unwrap().lost, 0);
    assert!(dynamic.effect.contains("would keep the old rows"), "{}", dynamic.effect);
    assert!(ask(&bench, &table, "period").is_empty(), "the same columns break nothing");
}

#[test]
fn files_that_are_gone_leave_the_slice_to_judge_by() {
    let bench = Bench::default();
    let table = table(&bench);
    // The overwrite's own file was compacted and vacuumed.
    let state = crate::support::replay::replay(&table.path).unwrap();
    let (path, _) = state.live.keys().find(|(p, _)| p.starts_with("period=12")).unwrap().clone();
    let mut table = table;
    let old = json!({"add": state.live[&(path.clone(), String::new())]});
    let compacted = table.add(&rows(12), &FileOptions::default());
    let gone = table.remove(&old);
    table.commit("OPTIMIZE", json!({}), vec![gone, compacted]);
    std::fs::remove_file(table.path.join(&path)).unwrap();
    let c = of(&ask(&bench, &table, "company"), BreakerKind::DynamicOverwrite).collateral.unwrap();
    assert_eq!((c.rows, c.lost), (10, 110));
}

/// A switch under such writers needs a reason that is typed, and keeps it.
#[test]
fn a_switch_that_breaks_writers_needs_a_reason() {
    let bench = Bench::default();
    let table = table(&bench);
    let opened = bench.open(&table.path).unwrap();
    let request = |by: &str| RepartitionRequest { by: LayoutBy::parse(by).unwrap(), ..RepartitionRequest::default() };
    let plan =
        block_on(prepare_repartition(&bench.context, &opened, &request("company"), &Progress::default())).unwrap();
    let gate = gate(&plan, "breaking-writers");
    assert_eq!((gate.status, plan.verdict), (GateStatus::Fail, Verdict::Blocked));
    assert!(gate.message.contains("delete 110 other rows"), "{}", gate.message);
    assert!(gate.message.contains("partitionBy(period)"), "{}", gate.message);
    let Spec::Repartition(spec) = &plan.spec else { panic!("{:?}", plan.spec) };
    assert_eq!(spec.breakers, ask(&bench, &table, "company"), "all of them are in the plan");
    let before = newest(&table.path);
    assert_eq!(refused(bench.apply_with(&plan, &ApplyOptions::default())).kind, ErrorKind::GateFailed);
    assert_eq!(newest(&table.path), before);
    bench.apply(&plan).unwrap();
    let info = replay(&table.path).unwrap().infos.pop().unwrap();
    assert_eq!(info["partwise"]["overrides"]["breaking-writers"], "a test");

    // Nothing breaks where the columns stay, and nothing is said of a table without writers.
    let opened = bench.open(&table.path).unwrap();
    let same = RepartitionRequest { files_per_partition: Some(1), ..request("company") };
    let plan = block_on(prepare_repartition(&bench.context, &opened, &same, &Progress::default())).unwrap();
    assert!(plan.gates.iter().all(|g| g.name != "breaking-writers"), "{:?}", plan.gates);
}

/// There and back: who wrote before the first switch works again after the second.
#[test]
fn the_way_back_is_not_blocked_by_those_who_wrote_before() {
    let bench = Bench::default();
    let mut plain = shape();
    plain.properties.clear();
    let table = nightly(&bench, plain);
    let go = |by: &str| {
        let opened = bench.open(&table.path).unwrap();
        let request = RepartitionRequest { by: LayoutBy::parse(by).unwrap(), ..RepartitionRequest::default() };
        block_on(prepare_repartition(&bench.context, &opened, &request, &Progress::default())).unwrap()
    };
    let there = go("company");
    assert_eq!(gate(&there, "breaking-writers").status, GateStatus::Fail);
    bench.apply(&there).unwrap();
    // To a third layout: the nightly job would still delete; what it replaced is no loss.
    let found = ask(&bench, &table, "none");
    let c = of(&found, BreakerKind::DynamicOverwrite).collateral.unwrap();
    assert_eq!((c.rows, c.lost, c.lost_partitions), (10, 220, 11));
    assert!(of(&found, BreakerKind::DynamicOverwrite).effect.contains("other partitions of period"));
    assert!(found.iter().all(|b| b.kind != BreakerKind::PartitionBy), "it fails already: {found:?}");
    let back = go("period");
    assert_eq!(gate(&back, "breaking-writers").status, GateStatus::Pass, "{:?}", back.findings);
    assert_eq!(back.verdict, Verdict::Ready);
    let found = ask(&bench, &table, "period");
    assert!(of(&found, BreakerKind::PartitionBy).effect.contains("would work again"));
    assert!(of(&found, BreakerKind::DynamicOverwrite).effect.contains("whole partitions of it again"));
    assert_eq!(bench.apply(&back).unwrap().version_after, Some(3));
}
