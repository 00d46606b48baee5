//! The gates screen: thresholds are tried on a plan, saved, or dropped.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::config::{Config, edit_gates};
use partwise::ops::{ConfigChange, SavedConfig};
use partwise::plan::{GateStatus, Verdict};
use partwise::tui::app::Screen;
use partwise::tui::msg::{Answer, Request};
use partwise::tui::overlays::Overlay;

use super::data;
use super::driver::Driver;
use super::screens::{compare, table};

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (120, 40);

/// The gates of the overwrite that loses one of three rows.
fn gates(size: (u16, u16)) -> Driver {
    let mut driver = compare(size, false);
    driver.keys("T");
    driver
}

/// No difference is exempt any more: one row of three is too many to lose.
fn exempt_nothing(driver: &mut Driver) {
    driver.keys("gjjjjj0");
    driver.enter();
}

fn heading(driver: &Driver) -> String {
    driver.screen().lines().nth(1).unwrap().to_owned()
}

/// Answers Ctrl-s as the operations do, for a config with this text.
fn show_change(driver: &mut Driver, before: &str) -> ConfigChange {
    let Some((_, Request::GatesChange { gates, table })) = driver.waiting.last() else {
        panic!("{:?}", driver.waiting)
    };
    assert_eq!((table.location.as_str(), table.version), (data::LOCATION, 14));
    let change = ConfigChange {
        file: "/home/ann/.config/partwise/config.toml".into(),
        location: data::LOCATION.into(),
        section: data::NAME.into(),
        before: Some(before.into()),
        after: edit_gates::set_gates(before, data::NAME, gates).unwrap(),
    };
    driver.answer(|r| matches!(r, Request::GatesChange { .. }), Answer::ConfigChange(Box::new(change.clone())));
    change
}

fn save(driver: &mut Driver, change: ConfigChange) {
    driver.press(KeyCode::Tab);
    driver.enter();
    let config = Config::parse(&change.after).unwrap();
    let ConfigChange { file, location, section, .. } = change;
    let saved = SavedConfig { file, location, section, config };
    driver.answer(|r| matches!(r, Request::SaveConfig(_)), Answer::ConfigSaved(Box::new(saved)));
}

fn row_count(driver: &Driver, strategy: usize) -> GateStatus {
    let Some(Screen::Compare(compare)) = driver.app.screens.iter().find(|s| matches!(s, Screen::Compare(_))) else {
        panic!("the comparison stays below")
    };
    let gates = &compare.plans()[strategy].gates;
    gates.iter().find(|g| g.name == "row-count").map(|g| g.status).unwrap()
}

#[test]
fn a_plan_is_judged_again_with_every_change() {
    for size in [SMALL, WIDE] {
        let mut driver = gates(size);
        assert!(heading(&driver).contains("ready · overwrite · fiscal_period=2026006"), "{}", driver.screen());
        assert_snapshot!(format!("thresholds_{}x{}", size.0, size.1), driver.screen());
        exempt_nothing(&mut driver);
        assert!(heading(&driver).contains("blocked by row-count (tried, not saved)"), "{}", driver.screen());
        assert!(driver.line_with("✘ row-count").contains("fail"), "{}", driver.screen());
        assert_snapshot!(format!("thresholds_tried_{}x{}", size.0, size.1), driver.screen());
        // From fail to off: the gate says nothing any more.
        driver.keys("kkkk ");
        assert!(heading(&driver).contains("ready (tried"), "{}", driver.screen());
        driver.press(KeyCode::Left);
        assert!(heading(&driver).contains("blocked by row-count"), "{}", driver.screen());
        // Without an own severity it is the gate's own again.
        assert!(driver.line_with("✘ row-count").contains("table"));
        driver.keys("r");
        assert!(driver.line_with("✘ row-count").contains("default"), "{}", driver.screen());
        assert_eq!(row_count(&driver, 2), GateStatus::Warn, "what is tried is not what holds");
    }
}

#[test]
fn what_is_tried_is_dropped_before_one_goes_back() {
    let mut driver = gates(SMALL);
    exempt_nothing(&mut driver);
    driver.press(KeyCode::Esc);
    assert!(driver.screen().contains("what was tried is dropped"), "{}", driver.screen());
    assert!(heading(&driver).contains("ready") && !heading(&driver).contains("tried"), "{}", driver.screen());
    driver.press(KeyCode::Esc);
    assert!(matches!(driver.app.top(), Screen::Compare(_)));
    assert_eq!(row_count(&driver, 2), GateStatus::Warn);
    assert!(driver.waiting.iter().all(|(_, r)| !matches!(r, Request::GatesChange { .. })), "nothing was saved");
}

#[test]
fn a_number_that_makes_no_sense_is_not_taken() {
    let mut driver = gates(SMALL);
    driver.keys("gjj");
    driver.enter();
    assert!(driver.line_with("row_count_min_percent").contains("= 90▏"), "{}", driver.screen());
    driver.keys("0");
    driver.enter();
    let said = driver.line_with("✘ row_count_min_percent");
    assert!(said.contains("(900) is above row_count_max_percent (150)"), "{said}");
    driver.keys("q");
    driver.enter();
    assert!(driver.line_with("✘ row_count_min_percent is a number").contains("900q"), "{}", driver.screen());
    // Esc leaves the number, not the screen.
    driver.press(KeyCode::Esc);
    assert!(driver.line_with("row_count_min_percent =").contains("= 90 %"), "{}", driver.screen());
    assert!(matches!(driver.app.top(), Screen::Gates(_)));
    driver.control('s');
    assert!(driver.screen().contains("nothing was tried that is not saved"), "{}", driver.screen());
}

#[test]
fn what_is_saved_holds_for_the_plan_and_its_dialog() {
    let mut driver = gates(SMALL);
    exempt_nothing(&mut driver);
    driver.control('s');
    let before = "# mine\n[tables.\"gold.working_capital\"]\nkey = [\"doc_number\"]\n";
    let change = show_change(&mut driver, before);
    assert_snapshot!("thresholds_save_80x24", driver.screen());
    // Cancel has the focus, and nothing was written yet.
    driver.enter();
    assert!(driver.waiting.iter().all(|(_, r)| !matches!(r, Request::SaveConfig(_))));
    assert_eq!(row_count(&driver, 2), GateStatus::Warn);
    driver.control('s');
    let again = show_change(&mut driver, before);
    assert_eq!(again, change);
    save(&mut driver, again);
    assert!(heading(&driver).contains("blocked by row-count"), "{}", driver.screen());
    assert!(!heading(&driver).contains("tried"), "{}", driver.screen());

    driver.press(KeyCode::Esc);
    let Screen::Compare(screen) = driver.app.top() else { panic!("back at the comparison") };
    assert_eq!(screen.plan().map(|p| p.verdict), Some(Verdict::Blocked));
    assert_eq!(screen.load.value.as_ref().unwrap().recommended, None, "a blocked plan is not recommended");
    driver.keys("A");
    assert!(matches!(driver.app.overlay, Some(Overlay::Confirm(_))));
    driver.keys("the period was reversed");
    driver.press(KeyCode::Tab);
    driver.keys(data::NAME);
    driver.press(KeyCode::Tab);
    driver.enter();
    let Some((_, Request::Apply { plan, overrides })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(plan.id, "plan-o");
    assert_eq!(overrides, &[("row-count".to_owned(), "the period was reversed".to_owned())]);
}

#[test]
fn a_milder_severity_unblocks_the_plan_only_once_it_is_saved() {
    let mut driver = gates(SMALL);
    exempt_nothing(&mut driver);
    driver.control('s');
    let change = show_change(&mut driver, "");
    let text = change.after.clone();
    save(&mut driver, change);
    driver.keys("kkkk");
    driver.press(KeyCode::Left);
    assert!(heading(&driver).contains("ready (tried"), "{}", driver.screen());
    assert_eq!(row_count(&driver, 2), GateStatus::Fail, "trying lifts no block");
    driver.control('s');
    let change = show_change(&mut driver, &text);
    save(&mut driver, change);
    assert_eq!(row_count(&driver, 2), GateStatus::Warn);
    assert_eq!(row_count(&driver, 1), GateStatus::Warn, "every plan is judged again");
}

#[test]
fn a_table_shows_its_gates_for_every_kind_of_write() {
    for size in [SMALL, WIDE] {
        let mut driver = table(size, true);
        driver.keys("T");
        assert_snapshot!(format!("gates_of_table_{}x{}", size.0, size.1), driver.screen());
        // Settings are no table: they may be changed where tables may not.
        driver.keys("j ");
        let words: Vec<String> = driver.line_with("· row-count ").split_whitespace().map(str::to_owned).collect();
        // On a small screen the last kind is a step to the side.
        let shown = if size == SMALL { 5 } else { 6 };
        assert_eq!(words.iter().filter(|w| *w == "off").count(), shown, "{words:?}");
        driver.control('s');
        let Some((_, Request::GatesChange { gates, .. })) = driver.waiting.last() else {
            panic!("{:?}", driver.waiting)
        };
        assert_eq!(gates.to_string(), "[severity]\nrow-count = \"off\"\n");
        driver.keys("q");
        assert!(matches!(driver.app.top(), Screen::Table(_)));
    }
}
