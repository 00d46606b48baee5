//! Key by key: what a person can do by accident, and what not.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::ops::At;
use partwise::progress::{Phase, ProgressState};
use partwise::tui::app::Screen;
use partwise::tui::msg::{Answer, Command, Msg, Request};
use partwise::tui::overlays::Overlay;

use super::data;
use super::driver::Driver;
use super::screens::{compare, lake, table};

const SIZE: (u16, u16) = (80, 24);

fn confirm_is_open(driver: &Driver) -> bool {
    matches!(driver.app.overlay, Some(Overlay::Confirm(_)))
}

#[test]
fn enter_alone_never_applies() {
    let mut driver = compare(SIZE, false);
    driver.keys("A");
    assert!(confirm_is_open(&driver));
    driver.enter();
    assert!(!confirm_is_open(&driver), "Cancel has the focus");
    for _ in 0..20 {
        driver.enter();
    }
    driver.keys("A");
    // Onto the button without the name, then Enter again and again.
    for _ in 0..6 {
        driver.press(KeyCode::Tab);
        driver.enter();
        assert!(!driver.wants_to_apply());
        if !confirm_is_open(&driver) {
            driver.keys("A");
        }
    }
}

/// Rows that are kept for an undo by rows go with the plan.
#[test]
fn an_undo_that_is_given_up_is_forgotten() {
    for (plan, forgets) in [(data::undo_by_rows(), true), (data::undo(), false)] {
        let mut driver = table(SIZE, false);
        driver.keys("U");
        driver.answer(|r| matches!(r, Request::PlanUndo { .. }), Answer::Planned(Box::new(plan.clone())));
        assert!(confirm_is_open(&driver));
        driver.press(KeyCode::Esc);
        assert!(!confirm_is_open(&driver));
        let asked = driver.waiting.iter().any(|(_, r)| matches!(r, Request::Forget(p) if p.id == plan.id));
        assert_eq!(asked, forgets);
        if forgets {
            driver.answer(|r| matches!(r, Request::Forget(_)), Answer::Settled(Vec::new()));
        }
        assert!(driver.screen().contains("nothing was written"), "{}", driver.screen());
    }
}

#[test]
fn pasted_text_never_confirms() {
    let mut driver = compare(SIZE, false);
    driver.keys("A");
    driver.send(Msg::Paste(format!("{}\n\n\n", data::NAME)));
    driver.press(KeyCode::BackTab);
    driver.enter();
    assert!(!driver.wants_to_apply());
    assert!(confirm_is_open(&driver));
}

#[test]
fn a_wrong_name_does_not_apply() {
    let mut driver = compare(SIZE, false);
    driver.keys("A");
    driver.keys("gold.working_capita");
    driver.press(KeyCode::Tab);
    driver.enter();
    assert!(!driver.wants_to_apply());
    assert!(driver.screen().contains("type gold.working_capital to go on"));
}

#[test]
fn read_only_has_no_way_to_write() {
    let mut driver = compare(SIZE, true);
    driver.keys("A");
    assert!(!confirm_is_open(&driver));
    driver.keys(":apply");
    driver.enter();
    assert!(!confirm_is_open(&driver));
    let screen = driver.screen();
    assert!(screen.contains("read-only") && !screen.contains("apply…"), "{screen}");

    let mut driver = table(SIZE, true);
    driver.keys("6");
    driver
        .answer(|r| matches!(r, Request::History { .. }), Answer::History { commits: data::history(), checked: true });
    driver.keys("jRU");
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRestore { .. } | Request::PlanUndo { .. })));
}

#[test]
fn a_failed_gate_wants_a_reason() {
    let mut driver = table(SIZE, false);
    driver.keys("U");
    driver.answer(|r| matches!(r, Request::PlanUndo { .. }), Answer::Planned(Box::new(data::blocked())));
    let screen = driver.screen();
    assert!(screen.contains("✘ row-count: 2026006: 2 rows where there are 300"), "{screen}");
    // The name alone is not enough.
    driver.press(KeyCode::Tab);
    driver.press(KeyCode::Tab);
    driver.keys(data::NAME);
    driver.press(KeyCode::Tab);
    driver.enter();
    assert!(!driver.wants_to_apply(), "the reason is missing");
    assert!(driver.screen().contains("the gate row-count failed: say why"), "{}", driver.screen());
    // Enter went to the reason's field.
    driver.keys("reversals agreed with finance");
    driver.press(KeyCode::Tab);
    driver.press(KeyCode::Tab);
    driver.enter();
    let Some((_, Request::Apply { overrides, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(overrides, &[("row-count".to_owned(), "reversals agreed with finance".to_owned())]);
}

#[test]
fn many_failed_gates_scroll_on_the_smallest_screen() {
    let mut driver = table(SIZE, false);
    let mut plan = data::blocked();
    plan.gates =
        (0..7).map(|n| partwise::plan::GateResult { name: format!("gate-{n}"), ..plan.gates[1].clone() }).collect();
    plan.settle();
    driver.keys("U");
    driver.answer(|r| matches!(r, Request::PlanUndo { .. }), Answer::Planned(Box::new(plan)));
    driver.send(Msg::Resize(60, 15));
    for n in 0..7 {
        driver.press(KeyCode::Tab);
        driver.keys("because");
        assert!(driver.screen().contains(&format!("✘ gate-{n}:")), "{}", driver.screen());
    }
    driver.press(KeyCode::Tab);
    assert!(driver.screen().contains("type gold.working_capital to go on"), "{}", driver.screen());
    assert!(driver.screen().contains("[ Cancel ]"), "{}", driver.screen());
}

#[test]
fn a_commit_cannot_be_cancelled_and_staging_can() {
    let mut driver = compare(SIZE, false);
    driver.keys("A");
    driver.keys(data::NAME);
    driver.press(KeyCode::Tab);
    driver.enter();
    let at = |phase| Answer::Progress(ProgressState { phase, ..ProgressState::default() });
    driver.answer(|r| matches!(r, Request::Apply { .. }), at(Phase::Staging));
    driver.keys("q");
    assert_eq!(driver.quit_code(), None, "q does not leave a running write");
    driver.control('c');
    assert!(driver.commands.iter().any(|c| matches!(c, Command::Cancel(_))));
    assert!(driver.screen().contains("cancelling"), "{}", driver.screen());
    driver.commands.clear();
    driver.answer(|r| matches!(r, Request::Apply { .. }), at(Phase::Committing));
    driver.control('c');
    assert!(driver.commands.is_empty());
    assert!(driver.screen().contains("Committing cannot be cancelled"), "{}", driver.screen());
}

#[test]
fn control_c_quits_with_130_when_nothing_runs() {
    let mut driver = lake(SIZE, false);
    driver.control('c');
    assert_eq!(driver.quit_code(), Some(130));
}

#[test]
fn esc_goes_back_and_never_quits() {
    let mut driver = compare(SIZE, false);
    for _ in 0..10 {
        driver.press(KeyCode::Esc);
    }
    assert_eq!(driver.quit_code(), None);
    assert!(matches!(driver.app.top(), Screen::Lake(_)));
    driver.keys("q");
    assert_eq!(driver.quit_code(), Some(0));
}

#[test]
fn the_result_leads_to_the_undo_and_the_table_is_read_again() {
    let mut driver = compare(SIZE, false);
    driver.keys("A");
    driver.keys(data::NAME);
    driver.press(KeyCode::Tab);
    driver.enter();
    driver.answer(|r| matches!(r, Request::Apply { .. }), Answer::Applied(Box::new(data::report())));
    driver.keys("u");
    assert!(
        driver
            .waiting
            .iter()
            .any(|(_, r)| matches!(r, Request::PlanUndo { operation: Some(id), .. } if id == "plan-o"))
    );
    driver.press(KeyCode::Esc);
    assert!(matches!(driver.app.top(), Screen::Table(_)), "the used plan is not offered again");
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::Open { at: At::Latest, .. })));
}

#[test]
fn stale_answers_are_dropped() {
    let mut driver = table(SIZE, false);
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    // Two loads of partitions are out; the older one answers with other rows.
    assert_eq!(driver.waiting.iter().filter(|(_, r)| matches!(r, Request::Partitions(_))).count(), 2);
    driver.answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows: data::days(), complete: true });
    assert!(driver.screen().contains("14 partitions"), "{}", driver.screen());
}

#[test]
fn jobs_that_nobody_waits_for_are_cancelled() {
    let mut driver = table(SIZE, false);
    driver.keys("3");
    let files = driver.waiting.last().unwrap().0;
    assert!(driver.commands.is_empty());
    driver.press(KeyCode::Esc);
    assert_eq!(driver.commands, [Command::Cancel(files)]);
}

#[test]
fn partitions_appear_while_they_are_read() {
    let mut driver = lake(SIZE, false);
    driver.keys("G");
    driver.enter();
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    assert!(!driver.screen().contains('⣾') && !driver.screen().contains("reading partitions"), "not before 250 ms");
    driver.tick(250);
    assert!(driver.screen().contains("reading partitions"), "{}", driver.screen());
    let mut some = data::periods();
    some.truncate(5);
    driver.answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows: some, complete: false });
    assert!(driver.line_with("5 partitions").contains("so far …"));
    driver.keys("jj");
    let before = driver.line_with("▸");
    driver
        .answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows: data::periods(), complete: true });
    assert!(!driver.line_with("14 partitions").contains("so far"));
    assert_eq!(driver.line_with("▸").split_whitespace().nth(1), before.split_whitespace().nth(1));
    // A refresh keeps what is known, and says how old it is.
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    driver.tick(40_000);
    assert!(driver.line_with("14 partitions").contains("as of v14, 40 s ago"));
}

#[test]
fn a_refresh_of_the_lake_drops_tables_that_are_gone() {
    let mut driver = lake(SIZE, false);
    driver.keys("r");
    for summary in data::summaries().into_iter().take(2) {
        driver.answer(|r| matches!(r, Request::Discover(_)), Answer::Table(Box::new(summary)));
    }
    assert!(driver.screen().contains("bronze.events"));
    driver.answer(|r| matches!(r, Request::Discover(_)), Answer::TablesDone);
    assert!(!driver.screen().contains("bronze.events"), "{}", driver.screen());
}

#[test]
fn selection_survives_a_refresh_by_key() {
    let mut driver = table(SIZE, false);
    driver.keys("jjjjj");
    let before = driver.line_with("▸");
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    let fewer = data::periods().split_off(3);
    driver.answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows: fewer, complete: true });
    assert_eq!(driver.line_with("▸"), before);
}

#[test]
fn a_restore_is_planned_and_confirmed() {
    let mut driver = table(SIZE, false);
    driver.keys("6");
    driver
        .answer(|r| matches!(r, Request::History { .. }), Answer::History { commits: data::history(), checked: true });
    driver.keys("R");
    assert!(driver.screen().contains("at this version already"), "{}", driver.screen());
    driver.keys("jjjR");
    assert!(driver.screen().contains("files or log entries of this version are gone"), "{}", driver.screen());
    driver.keys("kkR");
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRestore { to: 9, .. })));
    driver.answer(|r| matches!(r, Request::PlanRestore { .. }), Answer::Planned(Box::new(data::overwrite())));
    assert!(confirm_is_open(&driver));
}

#[test]
fn a_partition_is_restored_by_its_own_history() {
    use partwise::table::{PartitionTuple, Value};
    let mut driver = table(SIZE, false);
    driver.keys("jjo");
    let Some((_, Request::History { filter, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(filter.as_deref(), Some("fiscal_period = '2026001'"));
    driver
        .answer(|r| matches!(r, Request::History { .. }), Answer::History { commits: data::history(), checked: true });
    assert_snapshot!("history_of_a_partition_80x24", driver.screen());
    driver.keys("jP");
    let one = PartitionTuple(vec![Value::String("2026001".into())]);
    assert!(
        driver
            .waiting
            .iter()
            .any(|(_, r)| matches!(r, Request::PlanRestore { to: 9, partitions, .. } if *partitions == [one.clone()]))
    );
    driver.answer(|r| matches!(r, Request::PlanRestore { .. }), Answer::Planned(Box::new(data::overwrite())));
    assert!(confirm_is_open(&driver));
    driver.press(KeyCode::Esc);
    // Back to where it was opened from.
    driver.press(KeyCode::Esc);
    assert!(driver.line_with("▸").contains("2026001"), "{}", driver.screen());
    driver.keys("6");
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::History { filter: None, .. })));
    driver
        .answer(|r| matches!(r, Request::History { .. }), Answer::History { commits: data::history(), checked: true });
    driver.keys("jP");
    assert!(driver.screen().contains("no partitions are chosen"), "{}", driver.screen());
}

#[test]
fn a_redo_is_planned_and_confirmed() {
    let mut driver = table(SIZE, false);
    driver.keys("Z");
    driver.answer(|r| matches!(r, Request::PlanRedo { .. }), Answer::Planned(Box::new(data::undo())));
    assert!(confirm_is_open(&driver));
    let mut reader = table(SIZE, true);
    reader.keys("Z");
    assert!(!reader.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRedo { .. })));
}

#[test]
fn what_does_not_go_back_is_said_before_it_is_confirmed() {
    let mut driver = table(SIZE, false);
    driver.keys("U");
    let mut plan = data::undo();
    plan.findings = vec!["the stream mark of s1 stays at 7".into()];
    driver.answer(|r| matches!(r, Request::PlanUndo { .. }), Answer::Planned(Box::new(plan)));
    assert!(driver.screen().contains("· the stream mark of s1 stays at 7"), "{}", driver.screen());
}

#[test]
fn the_history_of_marked_partitions() {
    let mut driver = table(SIZE, false);
    driver.keys(" jj 6");
    driver
        .answer(|r| matches!(r, Request::History { .. }), Answer::History { commits: data::history(), checked: true });
    driver.keys("p");
    let Some((_, Request::History { filter, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(filter.as_deref(), Some("(fiscal_period IS NULL) OR (fiscal_period = '2026002')"));
}

#[test]
fn copying_goes_through_the_terminal() {
    let mut driver = table(SIZE, false);
    driver.keys("jjjy");
    assert_eq!(driver.commands, [Command::Copy("2026002".into())]);
}

#[test]
fn a_toast_is_gone_after_three_seconds() {
    let mut driver = table(SIZE, false);
    driver.keys("jy");
    assert!(driver.screen().contains("the cell was copied"));
    driver.tick(2_999);
    assert!(driver.screen().contains("the cell was copied"));
    driver.tick(1);
    assert!(!driver.screen().contains("the cell was copied"));
}

#[test]
fn a_hundred_thousand_partitions_scroll() {
    use partwise::table::Value;
    let mut driver = lake(SIZE, false);
    driver.keys("G");
    driver.enter();
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    let rows = (0..100_000).map(|n| data::partition(Value::String(format!("{n:06}")), n, 1)).collect();
    driver.answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows, complete: true });
    driver.keys("G");
    assert!(driver.line_with("▸").contains("099999"), "{}", driver.screen());
    assert!(driver.screen().contains("of 100,000"), "{}", driver.screen());
}

#[test]
fn the_start_tells_what_was_in_flight() {
    let mut driver = Driver::new(SIZE, false);
    driver.send(Msg::Start);
    let said = "overwrite 6f2c on t: interrupted before its commit".to_owned();
    driver.answer(|r| matches!(r, Request::Settle), Answer::Settled(vec![said]));
    assert!(driver.screen().contains("interrupted before its commit"), "{}", driver.screen());
    let driver = Driver::new(SIZE, true);
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::Settle)), "a read-only run settles nothing");
}
