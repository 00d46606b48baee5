//! From partitions to their rows and back.

use crossterm::event::KeyCode;
use partwise::ops::RowPage;
use partwise::table::Value;
use partwise::tui::app::Screen;
use partwise::tui::msg::{Answer, Request};
use partwise::tui::screens::table::Tab;

use super::data;
use super::driver::Driver;
use super::screens::{lake, table};

const SIZE: (u16, u16) = (80, 24);

fn tab(driver: &Driver) -> Tab {
    match driver.app.top() {
        Screen::Table(table) => table.tab,
        _ => panic!("no table is on the screen:\n{}", driver.screen()),
    }
}

/// The condition of the rows that are asked for.
fn rows_filter(driver: &Driver) -> Option<String> {
    let Some((_, Request::Rows { filter, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    filter.clone()
}

fn answer_rows(driver: &mut Driver) {
    let page = RowPage { columns: vec!["doc_number".into()], rows: vec![vec![Value::Int(7)]], more: false };
    driver.answer(|r| matches!(r, Request::Rows { .. }), Answer::Rows { page, offset: 0 });
}

#[test]
fn esc_goes_from_a_partitions_rows_back_to_the_partitions() {
    let mut driver = table(SIZE, false);
    driver.keys("jjjj");
    let before = driver.line_with("▸");
    driver.enter();
    answer_rows(&mut driver);
    assert_eq!(tab(&driver), Tab::Rows);
    driver.press(KeyCode::Esc);
    assert_eq!(tab(&driver), Tab::Partitions);
    assert_eq!(driver.line_with("▸"), before);
    // The Rows tab by itself has every row again, and Esc leaves the table.
    driver.keys("4");
    assert_eq!(rows_filter(&driver), None);
    driver.press(KeyCode::Esc);
    assert!(matches!(driver.app.top(), Screen::Lake(_)));
}

#[test]
fn a_filter_of_the_rows_tab_is_taken_away_where_it_was_set() {
    let mut driver = table(SIZE, false);
    driver.keys("4");
    answer_rows(&mut driver);
    driver.keys("/doc_number = 7");
    driver.enter();
    answer_rows(&mut driver);
    driver.press(KeyCode::Esc);
    assert_eq!(tab(&driver), Tab::Rows);
    assert_eq!(rows_filter(&driver), None);
}

#[test]
fn a_refresh_does_not_forget_where_the_rows_came_from() {
    let mut driver = table(SIZE, false);
    driver.keys("jjjj");
    driver.enter();
    answer_rows(&mut driver);
    driver.keys("r");
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    answer_rows(&mut driver);
    driver.press(KeyCode::Esc);
    assert_eq!(tab(&driver), Tab::Partitions);
}

#[test]
fn enter_shows_the_rows_of_all_marked_partitions() {
    let mut driver = table(SIZE, false);
    driver.keys(" jj ");
    driver.enter();
    assert_eq!(rows_filter(&driver).as_deref(), Some("(fiscal_period IS NULL) OR (fiscal_period = '2026002')"));
    // One mark is shown wherever the cursor is.
    let mut driver = table(SIZE, false);
    driver.keys("jjjj G");
    driver.enter();
    assert_eq!(rows_filter(&driver).as_deref(), Some("fiscal_period = '2026003'"));
}

#[test]
fn too_many_marks_show_the_rows_under_the_cursor() {
    let mut driver = lake(SIZE, false);
    driver.keys("G");
    driver.enter();
    driver.answer(|r| matches!(r, Request::Open { .. }), Answer::Opened(Box::new(data::info())));
    let rows: Vec<_> = (0..21).map(|n| data::partition(Value::String(format!("{n:02}")), n, 1)).collect();
    driver.answer(|r| matches!(r, Request::Partitions(_)), Answer::Partitions { rows, complete: true });
    driver.keys("aj");
    driver.enter();
    assert_eq!(rows_filter(&driver).as_deref(), Some("fiscal_period = '01'"));
    assert!(driver.screen().contains("more than 20 are marked"), "{}", driver.screen());
}

#[test]
fn totals_are_of_the_partitions_that_are_shown() {
    let mut driver = table(SIZE, false);
    driver.keys("/fiscal_period >= '2026011'");
    driver.enter();
    let heading = driver.line_with("filter:");
    assert!(heading.contains("2 of 14 partitions · 275 rows · "), "{heading}");
}
