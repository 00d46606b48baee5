//! The health tab, and what mends what it finds.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::ops::{Health, health};
use partwise::plan::layouts::Spread;
use partwise::plan::optimize::Optimize;
use partwise::plan::vacuum::{Vacuum, VacuumFile, Why};
use partwise::plan::{Plan, Spec, Verdict};
use partwise::tui::msg::{Answer, Request};

use super::data;
use super::driver::Driver;
use super::screens::table;

const SMALL: (u16, u16) = (80, 24);

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

fn show_health(driver: &mut Driver, health: Health) {
    driver.keys("7");
    driver.answer(|r| matches!(r, Request::Health(_)), Answer::Health(Box::new(health)));
}

fn compaction() -> Plan {
    let spec = Spec::Optimize(Optimize {
        by: vec!["fiscal_period".into()],
        filter: None,
        target_file_size: 256 << 20,
        min_file_size: 192 << 20,
        files: Vec::new(),
    });
    let mut plan = Plan { table: data::LOCATION.into(), version: 14, ..Plan::blank(spec) };
    plan.operation = "optimize".into();
    plan.findings = vec!["about 12 files will be left of 40".into()];
    plan
}

#[test]
fn enter_mends_the_finding_under_the_cursor() {
    let mut driver = table(SMALL, false);
    show_health(&mut driver, well());
    driver.enter();
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanOptimize { filter: None, .. })));
    let mut plan = compaction();
    (plan.files.removed, plan.verdict) = (38, Verdict::Ready);
    driver.answer(|r| matches!(r, Request::PlanOptimize { .. }), Answer::Planned(Box::new(plan)));
    let screen = driver.screen();
    assert!(screen.contains("about 12 files will be left of 40") && screen.contains("[ Cancel ]"), "{screen}");
    assert_snapshot!("optimize_80x24", screen);
    driver.press(KeyCode::Esc);
    driver.keys("j");
    driver.enter();
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanVacuum { .. })));

    let mut skewed = well();
    skewed.findings[0].name = "skew".into();
    let mut driver = table(SMALL, true);
    show_health(&mut driver, skewed);
    driver.keys("j");
    driver.enter();
    assert!(driver.screen().contains("would write to the table"), "{}", driver.screen());
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanVacuum { .. })));
    driver.keys("k");
    driver.enter();
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::Layouts { .. })), "looking is no writing");
}

#[test]
fn small_files_that_are_alone_lead_to_the_wizard() {
    let mut lonely = well();
    lonely.findings.clear();
    let mut driver = table(SMALL, false);
    show_health(&mut driver, lonely.clone());
    assert!(driver.screen().contains("W tries other layouts"), "{}", driver.screen());
    assert_snapshot!("health_lonely_80x24", driver.screen());
    lonely.small_files = 3;
    let mut driver = table(SMALL, false);
    show_health(&mut driver, lonely);
    assert!(driver.screen().contains("nothing needs mending"), "{}", driver.screen());
}

#[test]
fn nothing_to_do_is_said_without_a_dialog() {
    let mut driver = table(SMALL, false);
    show_health(&mut driver, well());
    let mut empty = vacuum();
    empty.spec = Spec::Vacuum(Vacuum { retain_ms: 7 * 86_400_000, ..Vacuum::default() });
    empty.settle();
    driver.keys("V");
    driver.answer(|r| matches!(r, Request::PlanVacuum { .. }), Answer::Planned(Box::new(empty)));
    assert!(driver.app.overlay.is_none());
    assert!(driver.screen().contains("nothing to do; no file is older than 7 d"), "{}", driver.screen());
    let mut nothing = compaction();
    nothing.findings = vec!["no file of 12 partitions is worth rewriting; nothing is to be done".into()];
    nothing.settle();
    driver.keys("O");
    driver.answer(|r| matches!(r, Request::PlanOptimize { .. }), Answer::Planned(Box::new(nothing)));
    assert!(driver.app.overlay.is_none());
    assert!(driver.screen().contains("no files here could be joined"), "{}", driver.screen());
}

#[test]
fn partitions_are_optimized_as_they_are_chosen() {
    let filter = |keys: &str| {
        let mut driver = table(SMALL, false);
        driver.keys(keys);
        match driver.waiting.last() {
            Some((_, Request::PlanOptimize { filter, .. })) => filter.clone(),
            other => panic!("{other:?}"),
        }
    };
    let one = filter("jO").unwrap();
    assert!(one.starts_with("fiscal_period = '") && !one.contains("OR"), "{one}");
    let two = filter("j  O").unwrap();
    assert_eq!(two.matches(" OR ").count(), 1, "{two}");
    assert_eq!(filter("O").as_deref(), Some("fiscal_period IS NULL"));
    assert_eq!(filter("aO"), None, "all of them are the table");
    let mut driver = table(SMALL, true);
    driver.keys("O");
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanOptimize { .. })));
}
