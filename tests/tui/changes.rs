//! Two versions of a table: from the history to what changed between them.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::ops::diff::{DiffPartition, DiffTotals, FileCounts};
use partwise::plan::Effect;
use partwise::tui::msg::{Answer, Changes, Request};
use serde_json::json;

use super::data;
use super::driver::Driver;
use super::screens::{rows, table};

fn changed() -> Changes {
    let mut partition = DiffPartition {
        values: serde_json::Map::from_iter([("fiscal_period".to_owned(), json!("2026006"))]),
        before: 3,
        after: 2,
        inserted: 0,
        updated: Some(1),
        unchanged_in_changed_files: 1,
        deleted: 1,
        moved_in: 0,
        moved_out: 0,
        touched_only: 0,
        files: FileCounts::default(),
        measure_changes: serde_json::Map::from_iter([("amount".to_owned(), json!("-650"))]),
        label: "fiscal_period=2026006".into(),
    };
    let first = partition.clone();
    partition.label = "fiscal_period=2026007".into();
    (partition.deleted, partition.updated, partition.before) = (0, Some(0), 2);
    partition.measure_changes.clear();
    Changes {
        handle: "v9..v14".into(),
        key: vec!["doc_number".into()],
        ignore: Vec::new(),
        schema: vec!["note added: – → string; not compared".into()],
        notes: Vec::new(),
        rows: DiffTotals {
            before: Some(1204),
            after: Some(1203),
            inserted: 0,
            updated: Some(1),
            unchanged_in_changed_files: 1,
            deleted: 1,
            moved: 0,
            touched_only: 0,
        },
        partitions: vec![first, partition],
        unchanged_partitions: 10,
        files: FileCounts { shared: 12, only_from: 1, only_to: 1 },
    }
}

fn history(size: (u16, u16)) -> Driver {
    let mut driver = table(size, false);
    driver.keys("6");
    let commits = data::history();
    driver.answer(|r| matches!(r, Request::History { .. }), Answer::History { commits, checked: true });
    driver
}

fn asked(driver: &Driver) -> (u64, u64) {
    let found = driver.waiting.iter().find_map(|(_, r)| match r {
        Request::Changes { from, to, .. } => Some((*from, *to)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no versions were compared: {:?}", driver.waiting))
}

#[test]
fn the_marked_version_and_the_one_under_the_cursor_are_compared() {
    let mut driver = history((80, 24));
    driver.keys(" j");
    assert!(driver.screen().contains("● 14"), "{}", driver.screen());
    driver.keys("D");
    assert_eq!(asked(&driver), (9, 14), "from the older to the newer one");
    driver.answer(|r| matches!(r, Request::Changes { .. }), Answer::Changes(Box::new(changed())));
    assert_snapshot!("changes_partitions_80x24", driver.screen());
    driver.press(KeyCode::Tab);
    rows(&mut driver);
    assert_snapshot!("changes_rows_80x24", driver.screen());
    driver.keys("]");
    let effect = driver.waiting.iter().find_map(|(_, r)| match r {
        Request::Diff { effect, plan, .. } => Some((*effect, plan.clone())),
        _ => None,
    });
    assert_eq!(effect, Some((Effect::Deleted, "v9..v14".into())), "effects without rows are passed over");
    rows(&mut driver);
    assert!(driver.screen().contains("[DELETE 1]"), "{}", driver.screen());
    driver.keys("x");
    driver.enter();
    let exports = |r: &Request| matches!(r, Request::Export { effect: Effect::Deleted, plan, .. } if plan == "v9..v14");
    assert!(driver.waiting.iter().any(|(_, r)| exports(r)), "{:?}", driver.waiting);
    driver.press(KeyCode::Esc);
    assert!(driver.screen().contains("restorable"), "back in the history: {}", driver.screen());
}

#[test]
fn without_a_mark_the_version_before_is_compared() {
    let mut driver = history((120, 40));
    driver.keys("jD");
    assert_eq!(asked(&driver), (8, 9));
    driver.answer(|r| matches!(r, Request::Changes { .. }), Answer::Changes(Box::new(changed())));
    assert_snapshot!("changes_partitions_120x40", driver.screen());
}
