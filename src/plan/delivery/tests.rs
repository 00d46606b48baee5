//! Each shape of a delivery, by the numbers that the overwrite's plan has for it.

use serde_json::{Map, json};

use super::*;
use crate::error::ErrorKind;
use crate::plan::advice::recommend;
use crate::plan::kinds::RowSpec;
use crate::plan::merge::Merge;
use crate::plan::operations::MeaningRows;
use crate::plan::overwrite::{Mode, Overwrite};
use crate::plan::view::{OperationColumn, RowMeaning};
use crate::plan::{GateResult, GateStatus, Refusal, RowTotals, Spec, Verdict};

/// (period, rows now, inserted, updated, unchanged)
type Period = (&'static str, u64, u64, u64, u64);

/// The dynamic overwrite; what is not matched is deleted.
fn overwrite(periods: &[Period]) -> Plan {
    let partitions: Vec<PlanPartition> = periods.iter().map(partition).collect();
    let sum = |of: fn(&PlanPartition) -> u64| partitions.iter().map(of).sum::<u64>();
    let rows = RowTotals {
        source: sum(|p| p.source),
        slice_before: sum(|p| p.before),
        slice_after: sum(|p| p.source),
        inserted: sum(|p| p.inserted),
        updated: Some(sum(|p| p.updated.unwrap_or(0))),
        unchanged: sum(|p| p.unchanged),
        deleted: sum(|p| p.deleted),
        ..RowTotals::default()
    };
    let spec = Spec::Overwrite(Overwrite { mode: Mode::Dynamic, rows: RowSpec::default() });
    Plan { partitions, rows, ..blank(spec) }
}

fn partition((period, before, inserted, updated, unchanged): &Period) -> PlanPartition {
    let mut values = Map::new();
    values.insert("period".into(), json!(period));
    PlanPartition {
        values,
        raw: vec![Some((*period).to_owned())],
        before: *before,
        source: inserted + updated + unchanged,
        after: inserted + updated + unchanged,
        inserted: *inserted,
        updated: Some(*updated),
        unchanged: *unchanged,
        deleted: before - updated - unchanged,
        files_before: 1,
        bytes_before: 1,
        ..PlanPartition::default()
    }
}

fn blank(spec: Spec) -> Plan {
    Plan {
        key: vec!["doc".into()],
        partition_columns: vec!["period".into()],
        verdict: Verdict::Ready,
        ..Plan::blank(spec)
    }
}

/// The MERGE of the same source: what the overwrite deletes are its zombies.
fn merge_of(overwrite: &Plan) -> Plan {
    let mut plan = blank(Spec::Merge(Merge::upsert(RowSpec::default(), false, false)));
    plan.rows = RowTotals { deleted: 0, zombies: overwrite.rows.deleted, ..overwrite.rows };
    plan
}

fn failed(name: &str) -> GateResult {
    GateResult {
        name: name.into(),
        status: GateStatus::Fail,
        observed: json!(0),
        threshold: String::new(),
        message: "company=3000 has 235 rows in the slice and none in the source; this would delete them".into(),
        partitions: Vec::new(),
        overridden: None,
    }
}

fn operations(column: &str, upserts: u64, deletes: u64, before_images: u64, soft_delete: bool) -> OperationProposal {
    OperationProposal {
        delivered: column.into(),
        operations: OperationColumn { column: column.into(), codes: Vec::new() },
        columns: Vec::new(),
        rows: MeaningRows { upserts, deletes, before_images },
        because: String::new(),
        soft_delete,
    }
}

#[track_caller]
fn judge(plan: &Plan, facts: &DeliveryFacts) -> (Delivery, Option<&'static str>, String) {
    let delivery = delivery(plan, facts);
    let (choice, because) = recommend(&delivery, plan, &merge_of(plan));
    assert!(because.chars().count() <= 160, "{because}");
    (delivery, choice, because)
}

#[track_caller]
fn is(periods: &[Period], facts: &DeliveryFacts, kind: DeliveryKind, choice: Option<&'static str>) -> Delivery {
    let (delivery, chosen, because) = judge(&overwrite(periods), facts);
    assert_eq!((delivery.kind, chosen), (kind, choice), "{delivery:?}: {because}");
    delivery
}

fn plain() -> DeliveryFacts {
    DeliveryFacts::default()
}

#[test]
fn a_full_slice_is_overwritten() {
    let d =
        is(&[("p1", 1000, 20, 40, 940), ("p2", 1000, 0, 0, 990)], &plain(), DeliveryKind::FullSlice, Some("overwrite"));
    assert_eq!((d.key_coverage, d.changed_share), (0.985, 0.0203));
    // A new period, alone or with others.
    is(&[("p3", 0, 1000, 0, 0)], &plain(), DeliveryKind::FullSlice, Some("overwrite"));
    // Three rows, of which one was reversed.
    is(&[("p1", 3, 0, 1, 1)], &plain(), DeliveryKind::FullSlice, Some("overwrite"));
    let (_, _, because) = judge(&overwrite(&[("p1", 100, 0, 0, 99)]), &plain());
    assert!(because.contains("1 row that no longer exists"), "{because}");
}

#[test]
fn below_95_percent_nothing_is_recommended() {
    let d = is(&[("p1", 1000, 0, 100, 500)], &plain(), DeliveryKind::Unclear, None);
    assert_eq!(d.key_coverage, 0.6);
    is(&[("p1", 1000, 0, 9, 940)], &plain(), DeliveryKind::Unclear, None);
    is(&[("p1", 1000, 0, 10, 940)], &plain(), DeliveryKind::FullSlice, Some("overwrite"));
    // Half of it, with unchanged rows: no feed carries those.
    is(&[("p1", 1000, 0, 100, 200)], &plain(), DeliveryKind::Unclear, None);
    is(&[("p1", 25, 0, 0, 21)], &plain(), DeliveryKind::Unclear, None);
}

#[test]
fn forty_percent_missing_says_so_with_the_gate() {
    let mut plan = overwrite(&[("p1", 1000, 0, 100, 500)]);
    plan.gates.push(failed("row-count"));
    let (delivery, choice, because) = judge(&plan, &plain());
    assert_eq!((delivery.kind, choice), (DeliveryKind::Unclear, None));
    assert!(because.contains("60 %") && because.contains("row-count"), "{because}");
}

#[test]
fn a_complete_slice_whose_gate_fails_is_not_recommended() {
    // One company of thirty is missing: 97 % of the keys are there all the same.
    let mut plan = overwrite(&[("p1", 3000, 0, 0, 2910)]);
    plan.gates.push(failed("vanished-group"));
    let (delivery, choice, because) = judge(&plan, &plain());
    assert_eq!((delivery.kind, choice), (DeliveryKind::FullSlice, None));
    assert!(because.contains("vanished-group") && because.contains("company=3000"), "{because}");
    plan.gates[0].overridden = Some("it was sold".into());
    assert_eq!(judge(&plan, &plain()).1, Some("overwrite"));
}

#[test]
fn a_feed_with_operation_codes_is_merged_once_they_are_read() {
    let feed = DeliveryFacts { operations: Some(operations("op", 60, 5, 30, false)), ..plain() };
    let periods = [("p1", 1000, 10, 40, 0), ("p2", 1000, 5, 30, 10)];
    let plan = overwrite(&periods);
    let (delivery, choice, because) = judge(&plan, &feed);
    assert_eq!((delivery.kind, delivery.sign, choice), (DeliveryKind::RowLevel, Some(Sign::Operations), None));
    assert!(because.contains("--operation-column op") && because.contains("5 deletes"), "{because}");

    let mut merge = merge_of(&plan);
    if let Spec::Merge(merge) = &mut merge.spec {
        merge.rows.view.operations =
            Some(OperationColumn { column: "op".into(), codes: vec![(Some("D".into()), RowMeaning::Delete)] });
    }
    let (choice, because) = recommend(&delivery, &plan, &merge);
    assert_eq!(choice, Some("merge"));
    assert!(because.contains("op says what became of each row"), "{because}");
    merge.refusals.push(Refusal {
        kind: ErrorKind::DuplicateSourceKeys,
        message: "4 rows of the table are matched by several source rows".into(),
        hint: None,
    });
    assert_eq!(recommend(&delivery, &plan, &merge).0, None);
}

#[test]
fn codes_in_a_complete_extract() {
    // A mark of deletion in a full extract, and inserts only from a full load.
    for found in [operations("is_deleted", 990, 10, 0, true), operations("Op", 1000, 0, 0, false)] {
        let facts = DeliveryFacts { operations: Some(found), ..plain() };
        assert_eq!(delivery(&overwrite(&[("p1", 1000, 0, 10, 990)]), &facts).kind, DeliveryKind::FullSlice);
    }
    // Old images never come with a full extract.
    let facts = DeliveryFacts { operations: Some(operations("op", 990, 0, 10, false)), ..plain() };
    assert_eq!(delivery(&overwrite(&[("p1", 1000, 0, 10, 990)]), &facts).kind, DeliveryKind::RowLevel);
}

#[test]
fn a_feed_without_codes_is_known_by_what_it_lacks() {
    let d =
        is(&[("p1", 10_000, 20, 300, 2), ("p2", 10_000, 0, 100, 0)], &plain(), DeliveryKind::RowLevel, Some("merge"));
    assert_eq!(d.sign, Some(Sign::OnlyChanges));
    assert!(d.changed_share > 0.99);
    // It may have only one row for some partition.
    let d = is(&[("p1", 10_000, 0, 300, 0), ("p2", 900, 0, 1, 0)], &plain(), DeliveryKind::RowLevel, Some("merge"));
    assert!(d.unexpected.is_empty());
}

#[test]
fn the_overwrites_gates_do_not_speak_against_a_merge() {
    let mut plan = overwrite(&[("p1", 10_000, 20, 300, 0)]);
    plan.gates.push(failed("row-count"));
    let (delivery, choice, _) = judge(&plan, &plain());
    assert_eq!((delivery.kind, choice), (DeliveryKind::RowLevel, Some("merge")));
}

#[test]
fn a_load_time_in_every_row_makes_no_feed() {
    let facts = DeliveryFacts { technical_only: 400, ..plain() };
    is(&[("p1", 1000, 0, 400, 0)], &facts, DeliveryKind::Unclear, None);
    let mut plan = overwrite(&[("p1", 1000, 0, 400, 0)]);
    plan.rows.touched_only = 400;
    assert_eq!(delivery(&plan, &plain()).kind, DeliveryKind::Unclear);
}

#[test]
fn groups_that_are_missing_whole_make_no_feed() {
    let facts = DeliveryFacts { missing: Missing::of(600, 600, 1000), ..plain() };
    is(&[("p1", 1000, 0, 400, 0)], &facts, DeliveryKind::Unclear, None);
    let facts = DeliveryFacts { missing: Missing::of(30, 600, 1000), ..plain() };
    is(&[("p1", 1000, 0, 400, 0)], &facts, DeliveryKind::RowLevel, Some("merge"));
    // Two of twenty companies have changes.
    assert_eq!(Missing::of(900, 995, 1000), Some(Missing::Spread));
    assert_eq!(Missing::of(0, 600, 1000), None);
}

#[test]
fn late_rows_are_merged() {
    let d = is(&[("p1", 5000, 120, 0, 0), ("p2", 5000, 40, 0, 3)], &plain(), DeliveryKind::RowLevel, Some("merge"));
    assert_eq!(d.sign, Some(Sign::OnlyInserts));
    // As many new keys as old ones: the same rows under other keys.
    is(&[("p1", 5000, 5000, 0, 0)], &plain(), DeliveryKind::Unclear, None);
}

#[test]
fn a_stray_row_neither_dilutes_nor_hides() {
    let stray = [("p1", 1000, 0, 20, 980), ("p2", 1000, 0, 0, 1000), ("p7", 1000, 0, 1, 0)];
    let (delivery, choice, because) = judge(&overwrite(&stray), &plain());
    assert_eq!((delivery.kind, choice, delivery.key_coverage), (DeliveryKind::FullSlice, None, 1.0));
    assert_eq!(delivery.unexpected, ["period=p7"]);
    assert!(because.contains("period=p7"), "{because}");
    // It is 1 of 100,001 rows of the slice here.
    let d = is(&[("p1", 100_000, 0, 0, 100_000), ("p7", 50, 1, 0, 0)], &plain(), DeliveryKind::FullSlice, None);
    assert_eq!(d.unexpected, ["period=p7"]);
    // A new partition with one row: a date in the wrong century.
    let d = is(&[("p1", 1000, 0, 0, 1000), ("2062", 0, 1, 0, 0)], &plain(), DeliveryKind::FullSlice, None);
    assert_eq!(d.unexpected, ["period=2062"]);
    // A decision was made.
    let mut plan = overwrite(&stray);
    plan.gates.push(GateResult { overridden: Some("it was corrected".into()), ..failed("unexpected-partition") });
    assert_eq!(judge(&plan, &plain()).1, Some("overwrite"));
}

#[test]
fn one_thin_partition_among_whole_ones_is_unclear() {
    let mut periods = vec![("p0", 10_000, 0, 0, 4_000)];
    periods.extend([("p1", 100_000, 0, 0, 100_000), ("p2", 100_000, 0, 0, 100_000)]);
    let d = is(&periods, &plain(), DeliveryKind::Unclear, None);
    assert!(d.key_coverage > 0.95, "the sum alone would say that all is there: {d:?}");
}

#[test]
fn a_stated_slice_decides_what_was_not_asked_for() {
    let periods = [("p1", 1000, 0, 20, 980), ("p7", 1000, 0, 1, 0)];
    let facts = DeliveryFacts { unexpected: Some(vec!["period=p7".into()]), ..plain() };
    let d = is(&periods, &facts, DeliveryKind::FullSlice, None);
    assert_eq!((d.key_coverage, d.unexpected), (1.0, vec!["period=p7".to_owned()]));
    // Asked for, and one row of a thousand was delivered: that is no stray.
    let facts = DeliveryFacts { unexpected: Some(Vec::new()), ..plain() };
    is(&periods, &facts, DeliveryKind::Unclear, None);
}

#[test]
fn a_whole_period_reversed_needs_a_decision() {
    let facts = DeliveryFacts { unexpected: Some(Vec::new()), absent: vec![("period=p3".into(), 500)], ..plain() };
    let periods = [("p1", 1000, 0, 20, 980), ("p2", 500, 0, 0, 500)];
    let (delivery, choice, because) = judge(&overwrite(&periods), &facts);
    assert_eq!((delivery.kind, choice, delivery.key_coverage), (DeliveryKind::FullSlice, None, 0.75));
    assert!(because.contains("period=p3") && because.contains("reversed"), "{because}");
    let mut plan = overwrite(&periods);
    plan.gates.push(GateResult { overridden: Some("reversed on the 3rd".into()), ..failed("missing-slice") });
    assert_eq!(judge(&plan, &facts).1, Some("overwrite"));
    // The plan itself may list the emptied partition.
    let d = is(&[("p1", 1000, 0, 0, 1000), ("p3", 500, 0, 0, 0)], &plain(), DeliveryKind::FullSlice, None);
    assert_eq!(d.absent, ["period=p3"]);
}

#[test]
fn repeated_keys_of_the_table_are_no_missing_keys() {
    // The slice was loaded twice: half its rows go, no key does.
    let mut plan = overwrite(&[("p1", 2000, 0, 0, 1000)]);
    plan.keys.duplicates.target = 1000;
    plan.keys.existing = 1000;
    let (delivery, choice, _) = judge(&plan, &plain());
    assert_eq!((delivery.kind, choice, delivery.key_coverage), (DeliveryKind::FullSlice, Some("overwrite"), 1.0));
    plan.keys.existing = 999;
    assert_eq!(judge(&plan, &plain()).1, None);
}

#[test]
fn an_empty_source_recommends_nothing() {
    let (delivery, choice, because) = judge(&overwrite(&[]), &plain());
    assert_eq!((delivery.kind, choice), (DeliveryKind::Unclear, None));
    assert_eq!(because, "The source has no rows.");
}

#[test]
fn a_refusal_is_the_reason() {
    let mut plan = overwrite(&[("p1", 1000, 0, 0, 1000)]);
    let message = format!("the source lacks the column {}", "very_long_name_".repeat(20));
    plan.refusals.push(Refusal { kind: ErrorKind::ColumnMissing, message, hint: None });
    let (_, choice, because) = judge(&plan, &plain());
    assert!(choice.is_none() && because.starts_with("the source lacks the column"), "{because}");
}
