//! Whole screens, at the smallest size that has to be fully usable and at a wide one.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::error::ErrorKind;
use partwise::plan::Effect;
use partwise::progress::{Phase, ProgressState};
use partwise::table::Value;
use partwise::tui::msg::{Answer, Failure, Msg, Request};

use super::data;
use super::driver::Driver;

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (120, 40);

pub fn lake(size: (u16, u16), read_only: bool) -> Driver {
    let mut driver = Driver::new(size, read_only);
    for summary in data::summaries() {
        driver.answer(|r| matches!(r, Request::Target(_)), Answer::Table(Box::new(summary)));
    }
    driver.answer(|r| matches!(r, Request::Target(_)), Answer::TablesDone);
    driver
}

pub fn table(size: (u16, u16), read_only: bool) -> Driver {
    let mut driver = lake(size, read_only);
    driver.keys("G");
    driver.enter();
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    driver
        .answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows: data::periods(), complete: true });
    driver
}

pub fn compare(size: (u16, u16), read_only: bool) -> Driver {
    let mut driver = table(size, read_only);
    driver.keys("c");
    driver.answer(
        |r| matches!(r, Request::Candidates { .. }),
        Answer::Candidates(vec!["staging/2026006.parquet".into(), "staging/incomplete.parquet".into()]),
    );
    driver.press(KeyCode::Down);
    driver.enter();
    driver.answer(|r| matches!(r, Request::Compare { .. }), Answer::Compared(Box::new(data::compared())));
    rows(&mut driver);
    driver
}

/// Answers every open question for rows of an effect.
pub fn rows(driver: &mut Driver) {
    while let Some(effect) = driver.waiting.iter().find_map(|(_, r)| match r {
        Request::Diff { effect, .. } => Some(*effect),
        _ => None,
    }) {
        driver.answer(|r| matches!(r, Request::Diff { .. }), Answer::Diff { page: data::diff(effect), offset: 0 });
    }
}

#[test]
fn the_first_frame_needs_no_answer() {
    let driver = Driver::new(SMALL, false);
    assert_snapshot!("first_frame_80x24", driver.screen());
}

#[test]
fn lake_screen() {
    assert_snapshot!("lake_80x24", lake(SMALL, false).screen());
    assert_snapshot!("lake_120x40", lake(WIDE, false).screen());
}

#[test]
fn partitions_screen() {
    let mut driver = table(SMALL, false);
    driver.keys("jj ");
    assert!(driver.screen().contains("1 marked: 85 rows, 1 file"), "{}", driver.screen());
    assert_snapshot!("partitions_80x24", driver.screen());
    assert!(driver.line_with("∅").contains('4'));
    assert!(driver.line_with("\"\"").contains('2'));
}

#[test]
fn partitions_by_day_have_a_calendar_on_a_wide_screen() {
    let mut driver = lake(WIDE, false);
    driver.keys("G");
    driver.enter();
    let mut info = data::info();
    info.metadata.partition_columns = vec!["dt".into()];
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(info)));
    driver.answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows: data::days(), complete: true });
    let screen = driver.screen();
    assert!(screen.contains("gaps 2026-07-13, 2026-07-14"), "{screen}");
    assert!(screen.contains("low  2026-07-21 (9 rows"), "{screen}");
    assert_snapshot!("calendar_120x40", screen);
    driver.app.core.size = (99, 40);
    assert!(!driver.screen().contains("gaps"), "the calendar is the first to go");
}

#[test]
fn compare_screen_has_the_numbers_of_every_strategy() {
    for size in [SMALL, WIDE] {
        let driver = compare(size, false);
        let cells = |label: &str| {
            driver.line_with(label)[label.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(cells(" z ZOMBIE"), ["1", "0", "0"]);
        assert_eq!(cells("   update"), ["1", "1", "1"]);
        assert_eq!(cells("   delete"), ["0", "1", "1"]);
        assert_eq!(cells("   rows in slice after"), ["3", "2", "2"]);
        assert_eq!(cells("   Σ amount  1,400 →"), ["1,450", "750", "750"]);
        let screen = driver.screen();
        assert!(driver.line_with("MERGE+delete").contains("overwrite ★"), "{screen}");
        assert!(screen.contains("a MERGE would keep 1 row that no"), "{screen}");
        assert!(driver.line_with("~ UPDATE").contains("450.00 → 500.00"), "{screen}");
        assert_snapshot!(format!("compare_{}x{}", size.0, size.1), screen);
    }
}

#[test]
fn zombies_are_shown_for_the_strategy_that_leaves_them() {
    let mut driver = compare(SMALL, false);
    driver.keys("z");
    rows(&mut driver);
    let screen = driver.screen();
    assert!(screen.contains("MERGE · slice fiscal_period=2026006 · [ZOMBIE 1]"), "{screen}");
    let row = driver.line_with("▸  z ZOMBIE");
    assert!(row.contains(" 102 ") && row.contains("700.00") && row.contains("v3"), "{row}");
}

#[test]
fn every_effect_shows_its_row() {
    let mut driver = compare(WIDE, false);
    for (effect, text) in [(Effect::Deleted, "- DELETE"), (Effect::Unchanged, "= same")] {
        for _ in 0..Effect::ALL.len() {
            if !driver.screen().contains(text) {
                driver.keys("]");
                rows(&mut driver);
            }
        }
        assert!(driver.screen().contains(text), "{effect:?}\n{}", driver.screen());
    }
}

#[test]
fn gates_of_the_chosen_strategy() {
    let mut driver = compare(SMALL, false);
    driver.press(KeyCode::Tab);
    let screen = driver.screen();
    assert!(screen.contains("✔ empty-source") && screen.contains("! row-count"), "{screen}");
    assert_snapshot!("gates_80x24", screen);
}

#[test]
fn confirm_and_result() {
    let mut driver = compare(SMALL, false);
    driver.keys("A");
    let screen = driver.screen();
    assert_eq!(screen.matches("to go on").count(), 1, "{screen}");
    assert!(screen.lines().any(|l| l.contains("│ ▏ ")), "the field for the name is seen\n{screen}");
    assert_snapshot!("confirm_80x24", screen);
    driver.keys(data::NAME);
    driver.press(KeyCode::Tab);
    driver.enter();
    assert!(driver.wants_to_apply());
    let progress = ProgressState {
        phase: Phase::Staging,
        files_done: 1,
        files_total: 2,
        rows_done: 1200,
        bytes_done: 512,
        bytes_total: 1024,
    };
    driver.tick(300);
    driver.answer(|r| matches!(r, Request::Apply { .. }), Answer::Progress(progress));
    assert_snapshot!("progress_80x24", driver.screen());
    driver.answer(|r| matches!(r, Request::Apply { .. }), Answer::Applied(Box::new(data::report())));
    let screen = driver.screen();
    assert!(screen.contains("✔ v15 committed and verified: 2 rows in fiscal_period=2026006, as planned"), "{screen}");
    assert_snapshot!("result_80x24", screen);
}

/// What the result says of a plan's rows where so many were written.
fn result_of(plan: partwise::plan::Plan, rows_written: u64) -> String {
    let mut driver = table(WIDE, false);
    driver.keys("U");
    driver.answer(|r| matches!(r, Request::PlanUndo { .. }), Answer::Planned(Box::new(plan)));
    driver.keys(data::NAME);
    assert!(driver.screen().contains("Apply carries it out"), "{}", driver.screen());
    driver.press(KeyCode::Tab);
    driver.enter();
    let report = partwise::ops::ApplyReport { rows_written, ..data::report() };
    driver.answer(|r| matches!(r, Request::Apply { .. }), Answer::Applied(Box::new(report)));
    driver.line_with("as planned")
}

#[test]
fn the_result_has_the_rows_that_are_there_now() {
    let line = result_of(data::undo(), 0);
    assert!(line.contains("verified: 3 rows in fiscal_period=2026006, as planned"), "{line}");
    let line = result_of(data::merge(false), 1);
    assert!(line.contains("verified: 3 rows in fiscal_period=2026006, as planned"), "{line}");
    let line = result_of(data::append(), 2);
    assert!(line.contains("verified: +2 rows in fiscal_period=2026006, as planned"), "{line}");
}

#[test]
fn refused_strategies_have_no_numbers() {
    let mut driver = compare(SMALL, false);
    driver.keys("r");
    rows(&mut driver);
    let mut compared = data::refused();
    driver.answer(|r| matches!(r, Request::Compare { .. }), Answer::Compared(Box::new(compared.clone())));
    let screen = driver.screen();
    assert!(screen.contains("(? rows, key doc_number) · refused"), "{screen}");
    assert!(!screen.contains("full slice") && !screen.contains("(0 rows"), "{screen}");
    assert!(driver.line_with("MERGE · slice ?").contains("[UPDATE –]"), "{screen}");
    assert!(screen.contains("refused: the source lacks the column amount"), "{screen}");
    assert!(driver.line_with("  update").split_whitespace().skip(1).all(|cell| cell == "–"), "{screen}");
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::Diff { .. })), "{:?}", driver.waiting);

    // One strategy that can be had is enough to know the source.
    compared.plans[2] = data::overwrite();
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Compare { .. }), Answer::Compared(Box::new(compared)));
    assert!(driver.screen().contains("(2 rows, key doc_number) · full slice ✔"), "{}", driver.screen());
}

#[test]
fn history_screen() {
    let mut driver = table(SMALL, false);
    driver.keys("6");
    let unchecked = data::history().into_iter().map(|c| partwise::table::Commit { restorable: None, ..c }).collect();
    driver.answer(|r| matches!(r, Request::History { .. }), Answer::History { commits: unchecked, checked: false });
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::History { check_files: true, .. })));
    driver
        .answer(|r| matches!(r, Request::History { .. }), Answer::History { commits: data::history(), checked: true });
    assert_snapshot!("history_80x24", driver.screen());
}

#[test]
fn schema_overview_files_and_rows() {
    let mut driver = table(SMALL, false);
    driver.keys("1");
    assert_snapshot!("overview_80x24", driver.screen());
    driver.keys("5");
    assert_snapshot!("schema_80x24", driver.screen());
    driver.keys("2jjjj");
    driver.enter();
    let Some((_, Request::Rows { filter, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(filter.as_deref(), Some("fiscal_period = '2026003'"));
    let page = partwise::ops::RowPage {
        columns: vec!["doc_number".into(), "text".into()],
        rows: vec![
            vec![Value::Int(7), Value::Null],
            vec![Value::Int(8), Value::String("a\x1b[31m\nb".into())],
            vec![Value::Int(9), Value::String("日本語".repeat(20))],
        ],
        more: false,
    };
    driver.answer(|r| matches!(r, Request::Rows { .. }), Answer::Rows { page, offset: 0 });
    let screen = driver.screen();
    assert!(screen.contains("a\\x1b[31m\\nb") && !screen.contains('\x1b'), "{screen}");
    assert_snapshot!("rows_80x24", screen);
}

#[test]
fn help_and_palette_come_from_the_registry() {
    let mut driver = compare(SMALL, false);
    driver.keys("?");
    assert_snapshot!("help_80x24", driver.screen());
    driver.press(KeyCode::Esc);
    driver.control('p');
    driver.keys("save");
    assert!(driver.screen().contains("Save the plan to a file"), "{}", driver.screen());
    driver.enter();
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::SavePlan { .. })));
    driver.keys("X");
    let script = driver.waiting.iter().find_map(|(_, r)| match r {
        Request::SaveScript { path, .. } => Some(path.clone()),
        _ => None,
    });
    assert!(script.is_some_and(|path| path.contains("spark-sql") && path.ends_with(".sql")));
}

#[test]
fn errors_stay_until_they_are_dismissed() {
    let mut driver = table(SMALL, false);
    driver.keys("U");
    let failure = Failure {
        kind: ErrorKind::NoSuchOperation,
        message: "the table's history has no operation of partwise".into(),
        hint: Some("history lists what was done.".into()),
    };
    driver.answer(|r| matches!(r, Request::PlanUndo { .. }), Answer::Failed(failure));
    driver.tick(60_000);
    assert_snapshot!("error_80x24", driver.screen());
    driver.press(KeyCode::Esc);
    assert!(!driver.screen().contains("NoSuchOperation"), "{}", driver.screen());
    driver.keys("!");
    assert!(driver.screen().contains("NoSuchOperation"), "{}", driver.screen());
}

#[test]
fn a_small_window_says_so_and_a_window_without_size_is_80_by_24() {
    let mut driver = table(SMALL, false);
    driver.send(Msg::Resize(59, 24));
    assert_eq!(driver.screen().trim(), "window too small (59x24); q quits");
    driver.keys("q");
    assert_eq!(driver.quit_code(), Some(0));
    let driver = Driver::new((0, 0), false);
    assert_eq!(driver.app.core.size, (80, 24));
    for (columns, rows) in [(60, 15), (61, 16), (200, 60)] {
        let mut driver = compare(SMALL, false);
        driver.send(Msg::Resize(columns, rows));
        let screen = driver.screen();
        assert!(screen.contains("ZOMBIE"), "{screen}");
    }
}
