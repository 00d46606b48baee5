//! How a source delivers, through the whole comparison: data on disk in, a
//! recommendation or none out.

use partwise::ops::profile::{profile_source, technical_columns};
use partwise::ops::{self, Comparison, SourceRequest};
use partwise::plan::Verdict;
use partwise::plan::advice::{DeliveryKind, Sign};
use partwise::plan::operations::MeaningRows;
use partwise::plan::view::{OperationColumn, RowMeaning, SourceView};
use partwise::progress::Progress;

use crate::support::deliveries::{Doc, KEY, deliver, docs, feed, feed_columns, ledger, new_docs, period, restated};
use crate::support::road::request;
use crate::support::{Bench, Fixture, block_on};

fn compare(bench: &Bench, table: &Fixture, request: &SourceRequest) -> Comparison {
    let table = bench.open(&table.path).expect("the table opens");
    let compared = block_on(ops::compare(&bench.context, &table, request, &Progress::default()));
    compared.unwrap_or_else(|e| panic!("compare: {}", e.full_message()))
}

/// Delivers documents and compares; the reason must fit.
fn judge(docs: impl IntoIterator<Item = Doc>, slice: Option<&str>) -> Comparison {
    let bench = Bench::default();
    let table = ledger(&bench);
    let source = deliver(&bench, "s", docs);
    let compared =
        compare(&bench, &table, &SourceRequest { slice: slice.map(str::to_owned), ..request(&source, &KEY) });
    assert!(compared.because.chars().count() <= 160, "{}", compared.because);
    compared
}

fn choice(compared: &Comparison) -> Option<&str> {
    compared.recommended.map(|i| compared.strategies[i].0)
}

#[track_caller]
fn is(compared: &Comparison, kind: DeliveryKind, chosen: Option<&str>) {
    let have = (compared.delivery.kind, choice(compared));
    assert_eq!(have, (kind, chosen), "{:?}: {}", compared.delivery, compared.because);
}

fn overwrite_verdict(compared: &Comparison) -> Verdict {
    compared.strategies[2].1.plan.verdict
}

#[test]
fn full_slices_are_overwritten() {
    let compared = judge(restated(3).chain(restated(4)), None);
    is(&compared, DeliveryKind::FullSlice, Some("overwrite"));
    assert_eq!(compared.delivery.key_coverage, 0.99);
    assert!(compared.because.contains("40 rows that no longer exist"), "{}", compared.because);
}

#[test]
fn a_feed_without_codes_is_merged() {
    let changes = |p| docs(p).filter(|d| d.number % 40 == 1).map(Doc::changed);
    let compared = judge(changes(3).chain(changes(4)).chain(new_docs(4, 5)), None);
    is(&compared, DeliveryKind::RowLevel, Some("MERGE"));
    assert_eq!(compared.delivery.sign, Some(Sign::OnlyChanges));
    assert_eq!(overwrite_verdict(&compared), Verdict::Blocked, "the overwrite would delete what did not change");
    // Only company 3000 had changes: the others are absent, and that is no gap.
    let compared = judge(docs(3).filter(|d| d.number % 100 == 10).map(Doc::changed), None);
    is(&compared, DeliveryKind::RowLevel, Some("MERGE"));
}

#[test]
fn late_rows_are_merged() {
    let compared = judge(new_docs(2, 60).chain(new_docs(3, 40)).chain(docs(3).take(2)), None);
    is(&compared, DeliveryKind::RowLevel, Some("MERGE"));
    assert_eq!(compared.delivery.sign, Some(Sign::OnlyInserts));
}

#[test]
fn a_slice_with_40_percent_missing_is_blocked() {
    let compared = judge(docs(3).filter(|d| d.number % 5 < 3), None);
    is(&compared, DeliveryKind::Unclear, None);
    assert_eq!((compared.delivery.key_coverage, overwrite_verdict(&compared)), (0.6, Verdict::Blocked));
    assert!(compared.because.contains("60 %"), "{}", compared.because);
}

#[test]
fn a_new_load_time_everywhere_makes_no_feed_of_a_part() {
    let part = docs(3).filter(|d| d.number % 5 < 2).map(|d| Doc { load: 1, ..d });
    let compared = judge(part, None);
    is(&compared, DeliveryKind::Unclear, None);
    let technical = compared.technical.expect("load_ts is proposed");
    assert_eq!((technical.columns.as_slice(), technical.explains_all()), (&["load_ts".to_owned()][..], true));
}

#[test]
fn one_company_missing_is_blocked() {
    let compared = judge(docs(3).chain(docs(4)).filter(|d| d.company() != "3000"), None);
    is(&compared, DeliveryKind::Unclear, None);
    assert_eq!(overwrite_verdict(&compared), Verdict::Blocked);
    // Also where all that came was changed.
    let compared = judge(docs(3).filter(|d| d.company() == "3000").map(Doc::changed), None);
    is(&compared, DeliveryKind::Unclear, None);
}

#[test]
fn two_slices_with_one_stray_row() {
    let stray = docs(1).take(1).map(Doc::changed);
    let compared = judge(restated(3).chain(restated(4)).chain(stray), None);
    is(&compared, DeliveryKind::FullSlice, None);
    assert_eq!(compared.delivery.key_coverage, 0.99, "one row does not dilute two slices");
    assert_eq!(compared.delivery.unexpected, [format!("fiscal_period={}", period(1))]);
    assert!(compared.because.contains(&period(1)), "{}", compared.because);
}

#[test]
fn a_stated_slice_names_what_is_beside_it() {
    let slice = format!("fiscal_period IN ('{}', '{}')", period(3), period(4));
    let compared = judge(restated(3).chain(restated(4)).chain(docs(1).take(1)), Some(&slice));
    is(&compared, DeliveryKind::FullSlice, None);
    assert_eq!(compared.delivery.unexpected, [format!("fiscal_period={}", period(1))]);
}

#[test]
fn a_whole_period_reversed_needs_the_slice_and_a_decision() {
    let rest = || docs(1).chain(docs(2)).chain(docs(4));
    // Nobody knows that the third period was meant.
    is(&judge(rest(), None), DeliveryKind::FullSlice, Some("overwrite"));
    let compared = judge(rest(), Some(&format!("fiscal_period >= '{}'", period(1))));
    is(&compared, DeliveryKind::FullSlice, None);
    assert_eq!(compared.delivery.absent, [format!("fiscal_period={}", period(3))]);
    assert_eq!(compared.delivery.key_coverage, 0.75);
}

#[test]
fn a_slice_that_was_loaded_twice_is_covered_whole() {
    let bench = Bench::default();
    let mut table = ledger(&bench);
    let again: Vec<_> = docs(3).map(|d| d.row()).collect();
    table.append(&again);
    let source = deliver(&bench, "s", docs(3));
    let delivery = compare(&bench, &table, &request(&source, &KEY)).delivery;
    assert_eq!((delivery.kind, delivery.key_coverage), (DeliveryKind::FullSlice, 1.0));
}

fn fed(bench: &Bench) -> (Fixture, String) {
    let table = ledger(bench);
    let source = bench.source("feed", &feed_columns(), &feed(3));
    (table, source)
}

#[test]
fn a_feed_with_codes_is_known_by_them() {
    let bench = Bench::default();
    let (table, source) = fed(&bench);
    let compared = compare(&bench, &table, &request(&source, &KEY));
    is(&compared, DeliveryKind::RowLevel, None);
    assert_eq!(compared.delivery.sign, Some(Sign::Operations));
    assert!(compared.because.contains("--operation-column op"), "{}", compared.because);

    let opened = bench.open(&table.path).expect("the table opens");
    let profile = block_on(profile_source(&opened, &request(&source, &KEY), &Progress::default())).expect("a profile");
    let operations = profile.operations.expect("op is understood");
    assert_eq!(operations.rows, MeaningRows { upserts: 100, deletes: 40, before_images: 80 });
    let codes: Vec<(&str, RowMeaning)> =
        operations.operations.codes.iter().map(|(code, m)| (code.as_deref().unwrap_or("∅"), *m)).collect();
    use RowMeaning::{BeforeImage, Delete, Upsert};
    assert_eq!(codes, [("b", BeforeImage), ("c", Upsert), ("d", Delete), ("u", Upsert)]);
    // Each of forty documents comes four times.
    assert_eq!(profile.repeated, Some(120));
    let latest: Vec<(&str, bool)> = profile.latest_by.iter().map(|l| (l.column.as_str(), l.proposed)).collect();
    assert_eq!(latest, [("change_seq", true), ("load_ts", false)]);
    assert_eq!(profile.not_understood, Vec::<String>::new());
}

#[test]
fn technical_columns_are_measured_over_the_updated_rows() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let touched = docs(3).map(|d| if d.number % 100 == 1 { d.changed() } else { d }).map(|d| Doc { load: 1, ..d });
    let source = deliver(&bench, "s", touched);
    let prepared = bench.prepare(&table.path, &source, &KEY, ops::Strategy::Overwrite).expect("a plan");
    let rows = prepared.rows.expect("rows were compared");
    let found = block_on(technical_columns(&rows, 200_000, &Progress::default())).expect("rows are read");
    let found = found.expect("load_ts is technical");
    assert_eq!((found.columns, found.only_these, found.updated), (vec!["load_ts".to_owned()], 1_980, 2_000));
}

#[test]
fn codes_that_are_left_to_the_data_are_filled_in_or_refused() {
    let bench = Bench::default();
    let (table, source) = fed(&bench);
    let with = |column: &str| SourceRequest {
        view: SourceView {
            operations: Some(OperationColumn { column: column.into(), codes: Vec::new() }),
            ..SourceView::default()
        },
        ..request(&source, &KEY)
    };
    let codes = |column: &str| {
        let opened = bench.open(&table.path).expect("the table opens");
        let prepared = block_on(ops::prepare(
            &bench.context,
            &opened,
            &with(column),
            ops::Strategy::Overwrite,
            &Progress::default(),
        ));
        prepared.map(|p| p.plan.spec.rows().and_then(|r| r.view.operations.clone()).map_or(0, |o| o.codes.len()))
    };
    assert_eq!((codes("op").ok(), codes("auto").ok(), codes("OP").ok()), (Some(4), Some(4), Some(4)));
    let error = codes("status").expect_err("status is no operation column");
    assert!(error.message.contains("status") && error.hint.is_some(), "{error:?}");
    assert!(codes("nowhere").expect_err("there is no such column").message.contains("nowhere"));
}

#[test]
fn a_stated_operation_column_makes_a_feed() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let source = deliver(&bench, "s", docs(3).filter(|d| d.number % 5 < 2));
    is(&compare(&bench, &table, &request(&source, &KEY)), DeliveryKind::Unclear, None);
    let codes = [("open", RowMeaning::Upsert), ("cleared", RowMeaning::Upsert)];
    let codes = codes.map(|(code, meaning)| (Some(code.to_owned()), meaning)).to_vec();
    let operations = Some(OperationColumn { column: "status".into(), codes });
    let view = SourceView { operations, ..SourceView::default() };
    let compared = compare(&bench, &table, &SourceRequest { view, ..request(&source, &KEY) });
    is(&compared, DeliveryKind::RowLevel, Some("MERGE"));
}

/// A feed looked at through its view: the newest image of each document, by
/// its code.
#[test]
fn a_feed_with_codes_is_merged_through_its_view() {
    let bench = Bench::default();
    let (table, source) = fed(&bench);
    let repeated = compare(&bench, &table, &request(&source, &KEY));
    assert!(!repeated.strategies[0].1.plan.refusals.is_empty(), "without a view the repeated keys are refused");
    let operations = OperationColumn { column: "op".into(), codes: Vec::new() };
    let view = SourceView { latest_by: Some("change_seq".into()), ..SourceView::default() };
    let with_codes = SourceView { operations: Some(operations), ..view.clone() };
    let compared = compare(&bench, &table, &SourceRequest { view: with_codes, ..request(&source, &KEY) });
    is(&compared, DeliveryKind::RowLevel, Some("MERGE"));
    let plan = &compared.strategies[0].1.plan;
    let r = &plan.rows;
    assert_eq!((r.updated, r.deleted, r.inserted, r.ignored), (Some(40), 40, 20, 120));
    assert_eq!(r.source, 220, "every delivered row is counted");
    bench.apply(plan).expect("the feed is applied");

    // Without the codes the deletes bring unchanged rows back.
    let other = Bench::default();
    let (table, source) = fed(&other);
    let compared = compare(&other, &table, &SourceRequest { view, ..request(&source, &KEY) });
    assert_eq!(choice(&compared), None, "{}", compared.because);
}

#[test]
fn an_extract_that_was_written_twice_is_one_extract() {
    let bench = Bench::default();
    let table = ledger(&bench);
    let twice = docs(3).flat_map(|d| [Doc { load: 1, ..d }, Doc { load: 2, ..d }]);
    let source = deliver(&bench, "twice", twice);
    let view = SourceView { latest_by: Some("load_ts".into()), ..SourceView::default() };
    let opened = bench.open(&table.path).expect("the table opens");
    let keyless = SourceRequest { view: view.clone(), ..request(&source, &[]) };
    let progress = Progress::default();
    let plan = ops::prepare(&bench.context, &opened, &keyless, ops::Strategy::Overwrite, &progress);
    assert!(block_on(plan).is_err_and(|e| e.message.contains("no key is known")));
    let compared = compare(&bench, &table, &SourceRequest { view, ..request(&source, &KEY) });
    assert_eq!(compared.delivery.kind, DeliveryKind::FullSlice);
    let plan = &compared.strategies[2].1.plan;
    assert_eq!((plan.rows.ignored, plan.rows.slice_after), (2_000, 2_000));
    bench.apply(plan).expect("the newer half is applied");
}
