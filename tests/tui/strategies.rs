//! Any number of strategies side by side, the form before them, and the box for
//! a statement.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::error::ErrorKind;
use partwise::ops::keys::{Candidate, Finding, Group, GroupRow, KeyReport, SideKeys};
use partwise::ops::{ConfigChange, OverwriteMode, SavedConfig};
use partwise::table::Value;
use partwise::tui::app::Screen;
use partwise::tui::msg::{Answer, Failure, Msg, Request};
use partwise::tui::overlays::Overlay;

use super::data;
use super::driver::Driver;
use super::screens::{compare, rows, table};

const SMALL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (200, 50);

fn compared(driver: &mut Driver, compared: partwise::tui::msg::Compared) {
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Compare { .. }), Answer::Compared(Box::new(compared)));
    rows(driver);
}

#[test]
fn of_six_strategies_the_chosen_one_is_always_seen() {
    let mut driver = compare(SMALL, false);
    compared(&mut driver, data::six());
    let titles = ["MERGE ", "MERGE+delete", "overwrite ★", "replace where", "insert only", "append"];
    for (n, title) in titles.iter().enumerate() {
        driver.keys(&(n + 1).to_string());
        rows(&mut driver);
        let header = driver.screen().lines().nth(2).unwrap().to_owned() + " ";
        assert!(header.contains(title), "{title}\n{header}");
        assert_eq!(header.contains('‹'), !header.contains("MERGE "), "{header}");
        assert_eq!(header.contains('›'), !header.contains("append"), "{header}");
    }
    driver.press(KeyCode::Left);
    rows(&mut driver);
    assert_snapshot!("six_80x24", driver.screen());
    driver.send(Msg::Resize(WIDE.0, WIDE.1));
    assert_snapshot!("six_200x50", driver.screen());
    let cells =
        |label: &str| driver.line_with(label)[label.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells("   kept"), ["0", "0", "0", "0", "2", "0"]);
    assert_eq!(cells("   written per change"), ["3.0", "×", "1.0", "×", "1.0", "×", "1.0", "×", "–", "3.0", "×"]);
    assert_eq!(cells("   verdict"), ["ready", "ready", "ready", "ready", "no-op", "ready"]);
    driver.send(Msg::Resize(60, 15));
    let screen = driver.screen();
    assert!(screen.contains("insert only") && screen.contains("+8 if taller"), "{screen}");
}

#[test]
fn kept_rows_are_pages_like_any_other() {
    let mut driver = compare(SMALL, false);
    compared(&mut driver, data::six());
    driver.keys("5");
    rows(&mut driver);
    for _ in 0..2 {
        driver.keys("]");
        rows(&mut driver);
        let screen = driver.screen();
        assert!(
            screen.contains("[kept 2]") || screen.contains("[ZOMBIE 1]"),
            "effects without rows are left out\n{screen}"
        );
    }
}

#[test]
fn partitions_that_need_a_look_come_first() {
    let mut driver = compare(SMALL, false);
    compared(&mut driver, data::alarming());
    driver.press(KeyCode::BackTab);
    let screen = driver.screen();
    let at = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text}\n{screen}"));
    assert!(at("! UNEXPECTED") < at("✘ EMPTIED") && at("✘ EMPTIED") < at("· LEFT"), "{screen}");
    assert!(at("· LEFT") < at("✔ intended"), "{screen}");
    assert!(driver.line_with("! UNEXPECTED").contains("2026099"));
    assert!(screen.contains("11 partitions stay as they are"), "{screen}");
    assert_snapshot!("plan_partitions_80x24", screen);
}

#[test]
fn proposed_technical_columns_are_taken_by_one_key() {
    let mut driver = compare(SMALL, false);
    driver.keys("i");
    assert!(driver.screen().contains("no technical columns are proposed"), "{}", driver.screen());
    compared(&mut driver, data::alarming());
    assert!(driver.screen().contains("i ignores company_code and compares again"), "{}", driver.screen());
    driver.keys("i");
    let asked = driver.waiting.iter().find_map(|(_, r)| match r {
        Request::Compare { asked, .. } => Some(asked.ignore.clone()),
        _ => None,
    });
    assert_eq!(asked.as_deref(), Some(&["company_code".to_owned()][..]));
    driver.press(KeyCode::Esc);
    assert!(driver.line_with("ignore").contains("company_code"), "the form knows it too");
}

/// The form of the demo's table, with a source.
fn form(size: (u16, u16)) -> Driver {
    let mut driver = table(size, false);
    driver.keys("c");
    driver.answer(
        |r| matches!(r, Request::Candidates { .. }),
        Answer::Candidates(vec!["staging/2026006.parquet".into()]),
    );
    driver.keys("s.parquet");
    driver
}

#[test]
fn the_form_asks_for_slice_where_and_operation_column() {
    let mut driver = form(SMALL);
    for text in ["", "", "fiscal_period = '2026006'", "amount >", "changed_at", "op=D:delete,U:upsert"] {
        driver.press(KeyCode::Tab);
        driver.keys(text);
    }
    // The source is looked at once it is no longer being typed.
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::Profile { source, .. } if source == "s.parquet")));
    driver.enter();
    assert!(driver.screen().contains("▸ where"), "{}", driver.screen());
    assert!(driver.line_with("✘").contains("line 1"), "{}", driver.screen());
    driver.keys(" 5");
    driver.enter();
    let Some((_, Request::Compare { asked, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(asked.slice.as_deref(), Some("fiscal_period = '2026006'"));
    assert_eq!(asked.replace.as_deref(), Some("amount > 5"));
    assert_eq!(asked.latest_by.as_deref(), Some("changed_at"));
    assert_eq!(asked.operations.as_ref().unwrap().codes.len(), 2);
    assert_eq!(asked.key, ["doc_number"]);
}

#[test]
fn what_the_form_says_is_saved_after_a_look_at_the_file() {
    let mut driver = form(SMALL);
    driver.control('s');
    assert!(driver.screen().contains("the config says so already"), "{}", driver.screen());
    driver.press(KeyCode::Tab);
    driver.press(KeyCode::Tab);
    driver.press(KeyCode::Down);
    driver.enter();
    driver.keys(", am");
    driver.press(KeyCode::Down);
    driver.enter();
    driver.control('s');
    let Some((_, Request::ConfigChange { known, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(known.ignore, ["fiscal_period", "amount"]);
    let before = "# mine\n\n[tables.\"gold.working_capital\"]\nkey = [\"doc_number\"] # the number\n";
    let after = partwise::config::edit::set_table(before, data::NAME, known).unwrap();
    let known = known.clone();
    let change = ConfigChange {
        file: "/home/ann/.config/partwise/config.toml".into(),
        location: data::LOCATION.into(),
        section: data::NAME.into(),
        before: Some(before.into()),
        after: after.clone(),
    };
    driver.answer(|r| matches!(r, Request::ConfigChange { .. }), Answer::ConfigChange(Box::new(change.clone())));
    assert_snapshot!("save_config_80x24", driver.screen());
    driver.send(Msg::Paste("\n\n".into()));
    driver.enter();
    let saves = |driver: &Driver| driver.waiting.iter().any(|(_, r)| matches!(r, Request::SaveConfig(_)));
    assert!(!saves(&driver) && driver.app.overlay.is_none(), "Cancel has the focus");
    driver.control('s');
    driver.answer(|r| matches!(r, Request::ConfigChange { .. }), Answer::ConfigChange(Box::new(change.clone())));
    driver.press(KeyCode::Tab);
    driver.enter();
    assert!(saves(&driver));
    let config = partwise::config::Config::parse(&after).unwrap();
    let saved = SavedConfig { file: change.file, location: change.location, section: change.section, config };
    driver.answer(|r| matches!(r, Request::SaveConfig(_)), Answer::ConfigSaved(Box::new(saved)));
    assert!(driver.screen().contains("✔ saved to /home/ann/"), "{}", driver.screen());
    driver.control('s');
    assert!(driver.screen().contains("the config says so already"), "{}", driver.screen());
    let Screen::Form(form) = driver.app.top() else { panic!("the form stays") };
    assert_eq!(form.info.settings.known, known);
}

#[test]
fn a_config_that_could_not_be_saved_is_an_error_on_the_screen() {
    let mut driver = form(SMALL);
    driver.press(KeyCode::Tab);
    driver.keys(", amount");
    driver.control('s');
    let change = ConfigChange {
        file: "c.toml".into(),
        location: data::LOCATION.into(),
        section: data::NAME.into(),
        before: None,
        after: "[tables.x]\n".into(),
    };
    driver.answer(|r| matches!(r, Request::ConfigChange { .. }), Answer::ConfigChange(Box::new(change)));
    driver.press(KeyCode::Tab);
    driver.enter();
    let failure = Failure { kind: ErrorKind::Conflict, message: "c.toml has changed meanwhile".into(), hint: None };
    driver.answer(|r| matches!(r, Request::SaveConfig(_)), Answer::Failed(failure));
    assert!(driver.screen().contains("c.toml has changed meanwhile"), "{}", driver.screen());
}

const MERGE: &str = "MERGE INTO gold.working_capital t\r\nUSING updates s\r\nON t.doc_number = s.doc_number\r\n\
                     WHEN MATCHED THEN UPDATE SET *\r\nWHEN NOT MATCHED THEN FROB *\r\n";

#[test]
fn a_pasted_statement_is_mended_bound_and_planned() {
    let mut driver = table(SMALL, false);
    driver.keys("m");
    driver.send(Msg::Paste(MERGE.into()));
    driver.press(KeyCode::Tab);
    let screen = driver.screen();
    assert!(driver.line_with("✘  5").contains("FROB"), "{screen}");
    assert!(screen.contains("line 5, column 23"), "{screen}");
    assert_snapshot!("statement_refused_80x24", screen);
    // The cursor stands where the mistake is.
    (0..4).for_each(|_| driver.press(KeyCode::Delete));
    driver.keys("INSERT");
    assert!(!driver.screen().contains('✘'), "{}", driver.screen());
    driver.press(KeyCode::Tab);
    driver.enter();
    assert!(driver.screen().contains("updates is not bound to a source yet"), "{}", driver.screen());
    driver.press(KeyCode::Down);
    driver.answer(
        |r| matches!(r, Request::Candidates { .. }),
        Answer::Candidates(vec!["staging/2026006.parquet".into()]),
    );
    driver.keys("s");
    driver.press(KeyCode::Backspace);
    driver.answer(
        |r| matches!(r, Request::Candidates { typed, .. } if typed.is_empty()),
        Answer::Candidates(vec!["staging/2026006.parquet".into()]),
    );
    assert_snapshot!("statement_80x24", driver.screen());
    driver.press(KeyCode::Down);
    driver.enter();
    let Some((_, Request::Compare { asked, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    let pasted = asked.pasted.clone().unwrap();
    assert_eq!((pasted.bindings[0].source.as_str(), pasted.mode), ("staging/2026006.parquet", None));
    assert!(pasted.sql.contains("THEN INSERT *") && !pasted.sql.contains('\r'));

    // What the table says of it comes back to the text.
    let failure = Failure {
        kind: ErrorKind::Usage,
        message: "the source has no column doc_number (line 3, column 19)".into(),
        hint: Some("It has nothing.".into()),
    };
    driver.answer(|r| matches!(r, Request::Compare { .. }), Answer::Failed(failure));
    assert!(matches!(driver.app.top(), Screen::Paste(_)), "{}", driver.screen());
    assert!(driver.line_with("✘  3").contains("ON t.doc_number"), "{}", driver.screen());
    driver.press(KeyCode::Tab);
    driver.enter();
    let mut one = data::compared();
    one.plans.truncate(1);
    (one.recommended, one.delivery, one.because) = (None, None, String::new());
    driver.answer(|r| matches!(r, Request::Compare { .. }), Answer::Compared(Box::new(one)));
    rows(&mut driver);
    let screen = driver.screen();
    assert!(screen.contains("MERGE as given") && !screen.contains("1–6 strategy"), "{screen}");
    driver.keys("A");
    assert!(matches!(driver.app.overlay, Some(Overlay::Confirm(_))), "a plan like any other");
}

#[test]
fn an_overwrite_that_leaves_its_mode_open_is_asked_for_it() {
    let mut driver = table(SMALL, false);
    driver.keys("m");
    driver.send(Msg::Paste("INSERT OVERWRITE gold.working_capital BY NAME SELECT * FROM u".into()));
    driver.press(KeyCode::Tab);
    driver.keys("u.parquet");
    driver.enter();
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::Compare { .. })), "no mode is assumed");
    assert!(driver.screen().contains("( ) static: THE WHOLE TABLE"), "{}", driver.screen());
    driver.enter();
    assert!(!driver.waiting.iter().any(|(_, r)| matches!(r, Request::Compare { .. })), "nor by Enter");
    driver.press(KeyCode::Down);
    assert_snapshot!("statement_mode_80x24", driver.screen());
    driver.enter();
    let Some((_, Request::Compare { asked, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(asked.pasted.as_ref().unwrap().mode, Some(OverwriteMode::Static));
}

#[test]
fn a_text_that_was_left_is_there_again() {
    let mut driver = table(SMALL, false);
    driver.keys("mMERGE?q");
    assert!(matches!(driver.app.top(), Screen::Paste(_)), "letters are text");
    driver.press(KeyCode::Esc);
    assert!(matches!(driver.app.top(), Screen::Table(_)));
    driver.keys("m");
    assert!(driver.screen().contains("MERGE?q"), "{}", driver.screen());
    driver.control('x');
    assert!(driver.screen().contains("paste or type"), "{}", driver.screen());
}

/// A key that repeats, with a better one to take.
fn keys_report() -> KeyReport {
    let candidate = |columns: &[&str], distinct: u64| Candidate {
        side: "table".into(),
        columns: columns.iter().map(ToString::to_string).collect(),
        unique: distinct == 100,
        rows: 100,
        distinct,
        exact: true,
        null_rows: 0,
    };
    let group = Group {
        key: vec![Value::Int(7)],
        rows: 2,
        shown: vec![GroupRow {
            partition: Some("fiscal_period=2026006".into()),
            position: 0,
            values: vec![Value::String("1000\x1b".into())],
        }],
    };
    let message = "1 key occurs more than once in the table (1 rows too many): a MERGE updates every one of them.";
    KeyReport {
        table: data::LOCATION.into(),
        version: 14,
        source: Some("s.parquet".into()),
        key: vec!["doc_number".into()],
        filter: None,
        table_keys: Some(SideKeys {
            rows: 100,
            distinct: 99,
            exact: true,
            one_of: 1,
            duplicate_keys: 1,
            duplicate_rows: 1,
            null_rows: 0,
            nulls: vec![("doc_number".into(), 0)],
            columns: vec!["company_code".into()],
            groups: vec![group],
        }),
        source_keys: None,
        matched: Some(3),
        types: Vec::new(),
        floats: Vec::new(),
        near: None,
        elsewhere: None,
        candidates: vec![candidate(&["doc_number"], 99), candidate(&["company_code", "doc_number"], 100)],
        findings: vec![Finding { name: "duplicate-keys", message: message.into() }],
    }
}

#[test]
fn a_proposed_key_is_taken_into_the_form() {
    let mut driver = form(SMALL);
    driver.control('k');
    let Some((_, Request::Keys { source, key, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!((source.as_deref(), key.as_slice()), (Some("s.parquet"), &["doc_number".to_owned()][..]));
    driver.answer(|r| matches!(r, Request::Keys { .. }), Answer::Keys(Box::new(keys_report())));
    let screen = driver.screen();
    assert!(driver.line_with("▸").contains("· doc_number"), "the first proposal has the cursor\n{screen}");
    assert!(!screen.contains('\x1b'), "{screen}");
    assert_snapshot!("keys_80x24", screen);
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Keys { .. }), Answer::Keys(Box::new(keys_report())));
    driver.keys("G");
    driver.enter();
    assert!(driver.screen().contains("no proposal is selected"), "{}", driver.screen());
    // Back to the proposals, and to the second of them.
    while !driver.line_with("▸").contains("★ company_code, doc_number") {
        driver.keys("k");
    }
    driver.enter();
    assert!(driver.line_with("▸ key").contains("company_code, doc_number"), "{}", driver.screen());
}

#[test]
fn an_effect_is_exported_under_a_name_that_can_be_changed() {
    let mut driver = compare(SMALL, false);
    driver.keys("x");
    assert!(driver.screen().contains(".parquet, .csv or .md"), "{}", driver.screen());
    let asked = |driver: &Driver| driver.waiting.iter().any(|(_, r)| matches!(r, Request::Export { .. }));
    // An ending that says no format is said, and the name stays.
    driver.keys("x");
    driver.enter();
    assert!(!asked(&driver) && matches!(driver.app.overlay, Some(Overlay::Export(_))));
    driver.press(KeyCode::Backspace);
    driver.enter();
    assert!(asked(&driver) && driver.app.overlay.is_none());
    let exported = Answer::Exported { path: "rows.csv".into(), rows: 1_200 };
    driver.answer(|r| matches!(r, Request::Export { .. }), exported);
    assert!(driver.screen().contains("1,200 rows were exported to rows.csv"), "{}", driver.screen());
    driver.keys("x");
    driver.press(KeyCode::Esc);
    assert!(driver.screen().contains("nothing was exported"), "{}", driver.screen());
}
