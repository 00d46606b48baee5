//! The wizard for partition columns and the health tab.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::ops::layouts::Sampled;
use partwise::ops::{Health, LayoutReport, health};
use partwise::plan::layouts::breakers::{Breaker, BreakerKind};
use partwise::plan::layouts::{ByColumn, ByteRange, Candidate, LayoutBy, Limits, Numbers, Origin, QueryRead, Spread};
use partwise::plan::vacuum::{Vacuum, VacuumFile, Why};
use partwise::plan::{Plan, Spec};
use partwise::tui::msg::{Answer, Request};
use partwise::tui::screens::layouts::Looked;

use super::data;
use super::driver::Driver;
use super::screens::table;

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (120, 40);

fn numbers(partitions: u64, rows: (u64, u64, u64), files: u64, exact: bool) -> Numbers {
    let spread = |f: fn(u64) -> u64| Some(Spread { min: f(rows.0), median: f(rows.1), max: f(rows.2) });
    Numbers {
        exact,
        at_least: false,
        partitions,
        rows: spread(|n| n),
        bytes: spread(|n| n * 34),
        skew: Some(rows.2 as f64 / rows.1 as f64),
        nulls: 0,
        files,
        small_files: files,
        rewrite_bytes: 310_000,
        bytes_after: ByteRange::exactly(310_000, exact),
    }
}

fn candidate(by: LayoutBy, origin: Origin, n: Numbers, files: u64, bytes: u64) -> Candidate {
    let mut c = Candidate::new(by, origin, n, &Limits::default());
    c.queries = vec![QueryRead { files, bytes, exact: origin == Origin::Today }; 3];
    c
}

fn report() -> LayoutReport {
    let by = |name: &str| LayoutBy::of([ByColumn::plain(name)]);
    let today = Numbers { rewrite_bytes: 0, ..numbers(61, (9, 150, 151), 61, true) };
    let month = LayoutBy::of([ByColumn::computed("trunc(dt, 'MM')", "dt_month")]);
    LayoutReport {
        table: data::LOCATION.into(),
        version: 14,
        partition_columns: vec!["fiscal_period".into()],
        rows: 9_120,
        files: 61,
        bytes: 310_000,
        sampled: Sampled { rows: 1_000, of: 9_120 },
        queries: vec!["a = 1".into(), "b = 2".into(), "dt >= '2026-01-01'".into()],
        candidates: vec![
            candidate(by("fiscal_period"), Origin::Today, today, 3, 12_000),
            candidate(month, Origin::Proposed, numbers(3, (2_980, 3_050, 3_090), 3, false), 9, 155_000),
            candidate(by("company_code"), Origin::Proposed, numbers(4, (1_900, 2_300, 2_500), 4, false), 12, 310_000),
            candidate(
                LayoutBy::default().sorted(vec!["dt".into()]),
                Origin::Proposed,
                numbers(1, (9_120, 9_120, 9_120), 1, true),
                3,
                20_000,
            ),
        ],
        recommended: Some(3),
        because: "Under 1.0 TB, sorted files skip as well as partitions would, without the small files.".into(),
        advice: vec!["No partition should stay below 16.0 MB: a file costs every reader the same.".into()],
        breakers: Vec::new(),
    }
}

fn wizard(size: (u16, u16), read_only: bool) -> Driver {
    let mut driver = table(size, read_only);
    driver.keys("W");
    driver.answer(|r| matches!(r, Request::Layouts(_)), Answer::Layouts(Box::new(report())));
    driver
}

fn looked() -> Looked {
    let candidate = Candidate {
        origin: Origin::Given,
        numbers: numbers(4, (1_950, 2_310, 2_540), 4, true),
        ..report().candidates[2].clone()
    };
    let breaker = Breaker {
        kind: BreakerKind::DynamicOverwrite,
        version: Some(13),
        timestamp: None,
        commits: 4,
        who: "etl".into(),
        effect: "its 85 rows fall into 4 partitions of company_code: it would then delete 9,035 other rows there"
            .into(),
        collateral: None,
        danger: true,
    };
    Looked { candidate, breakers: vec![breaker] }
}

#[test]
fn candidates_are_rows_and_the_proposal_is_chosen() {
    for size in [SMALL, WIDE] {
        let driver = wizard(size, false);
        let screen = driver.screen();
        assert!(driver.line_with("▸").contains("★ none (sort by dt)"), "{screen}");
        assert!(driver.line_with("dt_month").contains("~3"), "{screen}");
        assert!(screen.contains("by fiscal_period → none (sort by dt)"), "{screen}");
        assert!(screen.contains("before") && screen.contains("after") && screen.contains("queries"), "{screen}");
        assert_snapshot!(format!("wizard_{}x{}", size.0, size.1), screen);
    }
}

#[test]
fn the_chosen_layout_is_counted_before_it_is_planned() {
    let mut driver = wizard(WIDE, false);
    driver.keys("kA");
    assert!(driver.screen().contains("counts the layout first"), "{}", driver.screen());
    driver.enter();
    assert!(
        driver
            .waiting
            .iter()
            .any(|(_, r)| matches!(r, Request::ExactLayout { by, .. } if by.names() == ["company_code"]))
    );
    driver.answer(|r| matches!(r, Request::ExactLayout { .. }), Answer::ExactLayout(Box::new(looked())));
    let screen = driver.screen();
    let row = driver.line_with("▸");
    assert!(row.contains("1,950 / 2,310 / 2,540") && !row.contains("~4"), "{screen}");
    assert!(screen.contains("delete 9,035 other rows"), "{screen}");
    assert_snapshot!("wizard_counted_120x40", screen);
    driver.enter();
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRepartition { .. })));
    // Another row has to be counted itself.
    let mut driver = wizard(WIDE, true);
    driver.keys("k");
    driver.enter();
    driver.answer(|r| matches!(r, Request::ExactLayout { .. }), Answer::ExactLayout(Box::new(looked())));
    driver.enter();
    assert!(
        !driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRepartition { .. })),
        "read-only plans nothing"
    );
}

#[test]
fn todays_layout_is_nothing_to_choose() {
    let mut driver = wizard(SMALL, false);
    driver.keys("g");
    driver.enter();
    assert!(driver.screen().contains("how the table lies today"), "{}", driver.screen());
    assert!(driver.waiting.iter().all(|(_, r)| !matches!(r, Request::ExactLayout { .. })));
}

fn well() -> Health {
    let finding = |name: &str, message: &str, rewrite, frees, mend: Option<&str>| health::Finding {
        name: name.into(),
        message: message.into(),
        rewrite_bytes: rewrite,
        frees_bytes: frees,
        mend: mend.map(str::to_owned),
        partitions: Vec::new(),
    };
    Health {
        table: data::LOCATION.into(),
        version: 14,
        partitions: 12,
        files: 40,
        bytes: 1_000_000,
        rows: Some(1_204),
        small_files: 38,
        small_bytes: 600_000,
        small_file_bytes: 16 << 20,
        partition_rows: Some(Spread { min: 3, median: 105, max: 140 }),
        partition_bytes: Some(Spread { min: 810, median: 8_000, max: 10_400 }),
        skew: Some(1.3),
        deletion_vector_files: 2,
        deletion_vector_rows: 17,
        tombstones: 9,
        tombstone_bytes: 400_000,
        retention_ms: 7 * 86_400_000,
        vacuum_files: 5,
        vacuum_bytes: 200_000,
        left_over_files: 1,
        gaps: Vec::new(),
        findings: vec![
            finding(
                "small-files",
                "38 files below 16.0 MB in 12 partitions could be put together",
                Some(600_000),
                None,
                Some("partwise plan optimize /lake/gold.working_capital"),
            ),
            finding(
                "tombstones",
                "9 removed files are still there (391 KB), 5 of them older than the retention of 7 d",
                None,
                Some(200_000),
                Some("partwise plan vacuum /lake/gold.working_capital"),
            ),
        ],
    }
}

#[test]
fn the_health_tab_has_numbers_findings_and_commands() {
    let mut driver = table(SMALL, false);
    driver.keys("7");
    driver.answer(|r| matches!(r, Request::Health(_)), Answer::Health(Box::new(well())));
    driver.keys("j");
    let screen = driver.screen();
    assert!(screen.contains("38 of 40 below 16.0 MB"), "{screen}");
    assert!(driver.line_with("▸").contains("tombstones"), "{screen}");
    assert!(screen.contains("5 of them older than the retention"), "{screen}");
    assert_snapshot!("health_80x24", screen);
}

fn vacuum() -> Plan {
    let files = vec![
        VacuumFile { path: "a.parquet".into(), size: 2_048, why: Why::Removed },
        VacuumFile { path: "b.parquet".into(), size: 1_024, why: Why::Unknown },
    ];
    let spec = Vacuum { retain_ms: 7 * 86_400_000, files, lost_versions: vec![3, 4], ..Vacuum::default() };
    let mut plan = Plan { table: data::LOCATION.into(), version: 14, ..Plan::blank(Spec::Vacuum(spec)) };
    plan.findings = vec!["versions 3–4 can no longer be restored or read".into(), "VACUUM has no undo".into()];
    plan.settle();
    plan
}

#[test]
fn a_vacuum_is_confirmed_by_the_name_and_has_no_undo() {
    let mut driver = table(SMALL, false);
    driver.keys("7");
    driver.answer(|r| matches!(r, Request::Health(_)), Answer::Health(Box::new(well())));
    driver.keys("V");
    driver.answer(|r| matches!(r, Request::PlanVacuum { .. }), Answer::Planned(Box::new(vacuum())));
    let screen = driver.screen();
    assert!(screen.contains("2 files would go (3.0 KB)") && screen.contains("VACUUM has no undo"), "{screen}");
    assert!(!screen.contains("Take it back"), "{screen}");
    driver.enter();
    assert!(!driver.wants_to_apply());
    driver.keys("V");
    driver.answer(|r| matches!(r, Request::PlanVacuum { .. }), Answer::Planned(Box::new(vacuum())));
    driver.keys(data::NAME);
    driver.press(KeyCode::Tab);
    driver.enter();
    assert!(driver.wants_to_apply());
    let report = partwise::ops::ApplyReport { undo: None, files_removed: 2, ..data::report() };
    driver.answer(|r| matches!(r, Request::Apply { .. }), Answer::Applied(Box::new(report)));
    let screen = driver.screen();
    assert!(screen.contains("2 files removed") && !screen.contains("undo"), "{screen}");
    let mut driver = table(SMALL, true);
    driver.keys("7V");
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanVacuum { .. })));
}
