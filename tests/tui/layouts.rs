//! The wizard for partition columns.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use partwise::error::ErrorKind;
use partwise::gate::{Evidence, Thresholds};
use partwise::ops::layouts::Sampled;
use partwise::ops::{ConfigChange, LayoutReport};
use partwise::plan::describe::DescribeRow;
use partwise::plan::layouts::breakers::{Breaker, BreakerKind};
use partwise::plan::layouts::{ByColumn, ByteRange, Candidate, LayoutBy, Limits, Numbers, Origin, QueryRead, Spread};
use partwise::plan::relayout::Order;
use partwise::plan::repartition::Repartition;
use partwise::plan::{Plan, Spec};
use partwise::tui::msg::{Answer, Failure, Request};
use partwise::tui::screens::layouts::Row;
use partwise::tui::wish::Wish;

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
    driver.answer(
        |r| matches!(r, Request::Layouts { .. }),
        Answer::Layouts { report: Box::new(report()), own: Vec::new() },
    );
    driver
}

fn dangers(n: u64) -> Vec<Breaker> {
    let one = |n: u64| Breaker {
        kind: BreakerKind::DynamicOverwrite,
        version: Some(13),
        timestamp: None,
        commits: 4,
        who: format!("etl job {n}"),
        effect: format!(
            "its 85 rows fall into 4 partitions of company_code: it would then delete {n},035 other rows there"
        ),
        collateral: None,
        danger: true,
    };
    (1..=n).map(one).collect()
}

fn counted(breakers: Vec<Breaker>) -> Row {
    let candidate = Candidate {
        origin: Origin::Given,
        numbers: numbers(4, (1_950, 2_310, 2_540), 4, true),
        ..report().candidates[2].clone()
    };
    Row { wish: Wish::of(&candidate.by), candidate, breakers: Some(breakers) }
}

/// Counts the layout under the cursor: by company_code.
fn count(driver: &mut Driver, row: Row) {
    driver.enter();
    driver.answer(|r| matches!(r, Request::TryLayout { exact: true, .. }), Answer::Layout(Box::new(row)));
}

#[test]
fn candidates_are_rows_and_the_proposal_is_chosen() {
    for size in [SMALL, WIDE] {
        let driver = wizard(size, false);
        let screen = driver.screen();
        assert!(driver.line_with("▸").contains("★ none (sort by dt)"), "{screen}");
        assert!(driver.line_with("dt_month").contains("~3"), "{screen}");
        assert!(screen.contains("by fiscal_period → none (sort by dt)"), "{screen}");
        assert!(screen.contains("until VACUUM"), "the cost is not cut off\n{screen}");
        // Partitions, spread, files, and what the queries read before and after.
        let row = driver.line_with("company_code ");
        for part in ["~4", "▆", "35.2 KB → ~908 KB"] {
            assert!(row.contains(part), "{part}\n{screen}");
        }
        assert!(screen.contains("before") && screen.contains("after") && screen.contains("queries"), "{screen}");
        assert_snapshot!(format!("wizard_{}x{}", size.0, size.1), screen);
    }
}

#[test]
fn sizes_are_sure_where_they_were_measured_and_rows_where_they_were_counted() {
    let mut driver = wizard(WIDE, false);
    // Partition values decide: rows are counted by the log, bytes are not measured.
    let mut row = counted(Vec::new());
    row.candidate.numbers.bytes_after.measured = false;
    driver.keys("k");
    count(&mut driver, row);
    let line = driver.line_with("▸");
    assert!(line.contains("1,950 / 2,310 / 2,540") && !line.contains("~1,950"), "{line}");
    assert!(line.contains("~4 "), "the number of files goes by bytes: {line}");
    let screen = driver.screen();
    assert!(screen.contains("~64.7 KB / 76.7 KB / 84.3 KB") && screen.contains("+~303 KB until VACUUM"), "{screen}");
}

#[test]
fn the_chosen_layout_is_counted_before_it_is_planned() {
    let mut driver = wizard(WIDE, false);
    driver.keys("kA");
    assert!(driver.screen().contains("counts the layout first"), "{}", driver.screen());
    driver.enter();
    assert!(driver.waiting.iter().any(
        |(_, r)| matches!(r, Request::TryLayout { wish, exact: true, .. } if wish.by.names() == ["company_code"])
    ));
    driver.answer(|r| matches!(r, Request::TryLayout { .. }), Answer::Layout(Box::new(counted(dangers(1)))));
    let screen = driver.screen();
    let row = driver.line_with("▸");
    assert!(row.contains("1,950 / 2,310 / 2,540") && !row.contains("~4"), "{screen}");
    assert!(screen.contains("delete 1,035 other rows"), "{screen}");
    assert_snapshot!("wizard_counted_120x40", screen);
    // It stays counted while others are looked at.
    driver.keys("kj");
    driver.enter();
    assert!(driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRepartition { .. })));
    let mut driver = wizard(WIDE, true);
    driver.keys("k");
    count(&mut driver, counted(Vec::new()));
    assert!(driver.screen().contains("no writer of the history would break"), "{}", driver.screen());
    driver.enter();
    assert!(
        !driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRepartition { .. })),
        "read-only plans nothing"
    );
}

#[test]
fn every_danger_can_be_read_on_a_small_screen() {
    let mut driver = wizard(SMALL, false);
    driver.keys("k");
    count(&mut driver, counted(dangers(6)));
    assert!(!driver.screen().contains("etl job 6"), "{}", driver.screen());
    driver.press(KeyCode::Tab);
    assert_snapshot!("wizard_dangers_80x24", driver.screen());
    for n in 1..=6 {
        let mut left = 40;
        while !driver.screen().contains(&format!("delete {n},035 other rows")) && left > 0 {
            driver.keys("j");
            left -= 1;
        }
        assert!(left > 0, "danger {n}\n{}", driver.screen());
    }
    driver.keys("G");
    let last = driver.screen();
    driver.keys("j");
    assert_eq!(last, driver.screen(), "it ends with its last line");
    // The keys of the list are back.
    driver.press(KeyCode::Tab);
    driver.keys("k");
    assert!(driver.line_with("▸").contains("dt_month"), "{}", driver.screen());
}

fn switch(breakers: Vec<Breaker>) -> Plan {
    let spec: Repartition = serde_json::from_value(serde_json::json!({
        "from": ["fiscal_period"],
        "by": ["company_code"],
        "shape": { "target-bytes": 256 << 20 },
        "breakers": breakers,
    }))
    .unwrap();
    let spec = Spec::Repartition(spec);
    let mut plan = Plan { table: data::LOCATION.into(), version: 14, ..Plan::blank(spec) };
    (plan.rows.slice_before, plan.rows.slice_after, plan.rows.unchanged) = (9_120, 9_120, 9_120);
    (plan.files.removed, plan.operation) = (61, "repartition".into());
    plan.metadata_changes = vec!["partition columns: fiscal_period → company_code".into()];
    plan.gates = partwise::gate::judge(&plan, &Evidence::default(), &Thresholds::default());
    plan.settle();
    plan
}

#[test]
fn dangers_are_listed_where_the_reason_is_typed() {
    for (size, n) in [(SMALL, 6), ((200, 50), 6)] {
        let mut driver = wizard(size, false);
        driver.keys("k");
        count(&mut driver, counted(dangers(n)));
        driver.keys("A");
        let plan = switch(dangers(n));
        driver.answer(|r| matches!(r, Request::PlanRepartition { .. }), Answer::Planned(Box::new(plan)));
        let first = driver.screen();
        assert!(first.contains("change 6 jobs before the switch") && first.contains("why all the same"), "{first}");
        if size == SMALL {
            assert!(first.contains("PgDn") && !first.contains("etl job 6"), "{first}");
            assert_snapshot!("wizard_confirm_80x24", first);
        }
        let mut seen = first;
        for _ in 0..5 {
            driver.press(KeyCode::PageDown);
            seen += &driver.screen();
        }
        for n in 1..=n {
            assert!(seen.contains(&format!("etl job {n}")), "{n}\n{seen}");
        }
        assert!(seen.contains("Take it back with u"), "{seen}");
        // The reason is one, and covers what is listed.
        driver.keys("all six jobs are changed");
        driver.press(KeyCode::Tab);
        driver.keys(data::NAME);
        driver.press(KeyCode::Tab);
        driver.enter();
        let Some((_, Request::Apply { overrides, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
        assert_eq!(overrides, &[("breaking-writers".to_owned(), "all six jobs are changed".to_owned())]);
    }
}

/// What a switch leaves and what it changes of DESCRIBE EXTENDED.
#[test]
fn both_descriptions_are_in_the_dialog() {
    let mut driver = wizard((200, 50), false);
    driver.keys("k");
    count(&mut driver, counted(Vec::new()));
    driver.keys("A");
    let row = |name: &str, before: &str, after: &str| DescribeRow {
        name: name.into(),
        before: Some(before.into()),
        after: Some(after.into()),
    };
    let described = vec![
        row("column amount", "decimal(12,2)", "decimal(12,2)"),
        row("partition columns", "fiscal_period", "company_code"),
        DescribeRow { before: None, ..row("property delta.x", "", "1") },
    ];
    let plan = Box::new(switch(Vec::new()));
    driver.answer(|r| matches!(r, Request::PlanRepartition { .. }), Answer::PlannedSwitch { plan, described });
    let screen = driver.screen();
    let lines = [
        "DESCRIBE EXTENDED, before → after",
        "≠ partition columns: fiscal_period → company_code",
        "≠ property delta.x: – → 1",
        "= column amount: decimal(12,2)",
    ];
    let places: Vec<usize> =
        lines.iter().map(|line| screen.find(line).unwrap_or_else(|| panic!("{line}\n{screen}"))).collect();
    assert!(places.is_sorted(), "{screen}");
}

#[test]
fn a_layout_of_ones_own_is_added_and_planned_with_its_options() {
    let mut driver = wizard(SMALL, false);
    driver.keys("a");
    driver.keys("fiscal_perio");
    driver.enter();
    assert!(driver.screen().contains("no column fiscal_perio"), "{}", driver.screen());
    assert_snapshot!("wizard_own_80x24", driver.screen());
    driver.keys("d");
    for text in ["", "doc_number, amount", "2"] {
        driver.press(KeyCode::Tab);
        driver.keys(text);
    }
    driver.enter();
    let Some((_, Request::TryLayout { wish, exact: false, .. })) = driver.waiting.last() else {
        panic!("{:?}", driver.waiting)
    };
    let wish = wish.as_ref().clone();
    assert_eq!(wish.order, Order::ZOrder(vec!["doc_number".into(), "amount".into()]));
    assert_eq!(wish.files_per_partition, Some(2));
    let simulated = candidate(wish.simulated(), Origin::Given, numbers(61, (9, 150, 151), 61, true), 3, 1_000);
    let row = Row { candidate: wish.settle(simulated, &Limits::default()), wish: wish.clone(), breakers: None };
    driver.answer(|r| matches!(r, Request::TryLayout { .. }), Answer::Layout(Box::new(row.clone())));
    let line = driver.line_with("▸");
    assert!(line.contains("fiscal_period (Z-order") && line.contains("122") && line.contains("→ ?"), "{line}");
    count(&mut driver, Row { breakers: Some(Vec::new()), ..row });
    driver.keys("A");
    let Some((_, Request::PlanRepartition { wish: planned, .. })) = driver.waiting.last() else {
        panic!("{:?}", driver.waiting)
    };
    assert_eq!(**planned, wish);
}

#[test]
fn a_layout_that_cannot_be_tried_is_there_to_be_changed() {
    let mut driver = wizard(SMALL, false);
    driver.keys("anone");
    driver.press(KeyCode::Tab);
    driver.keys("amount");
    driver.enter();
    let failure = Failure { kind: ErrorKind::Storage, message: "the disk is gone".into(), hint: None };
    driver.answer(|r| matches!(r, Request::TryLayout { .. }), Answer::Failed(failure));
    assert!(driver.screen().contains("the disk is gone"), "{}", driver.screen());
    driver.press(KeyCode::Esc);
    driver.keys("a");
    assert!(driver.line_with("sort by  ").contains("amount"), "{}", driver.screen());
}

#[test]
fn a_query_is_tried_on_every_layout() {
    let mut driver = wizard(SMALL, false);
    driver.keys("k");
    count(&mut driver, counted(Vec::new()));
    driver.keys("p");
    driver.keys("land = 'DE'");
    driver.enter();
    assert!(driver.screen().contains("no column land"), "{}", driver.screen());
    driver.control('u');
    driver.keys("company_code = '1000'");
    driver.enter();
    let Some((_, Request::Layouts { queries, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert_eq!(queries, &["company_code = '1000'"]);
    let mut again = report();
    again.queries.push("company_code = '1000'".into());
    for c in &mut again.candidates {
        c.queries.push(QueryRead { files: 2, bytes: 2_048, exact: false });
    }
    driver
        .answer(|r| matches!(r, Request::Layouts { .. }), Answer::Layouts { report: Box::new(again), own: Vec::new() });
    driver.press(KeyCode::Tab);
    driver.keys("G");
    let screen = driver.screen();
    assert!(screen.contains("company_code = '1000'") && screen.contains("→ ~2 files, ~2.0 KB"), "{screen}");
    driver.control('s');
    let change = ConfigChange {
        file: "/home/me/.config/partwise/config.toml".into(),
        location: data::LOCATION.into(),
        section: data::NAME.into(),
        before: None,
        after: format!("[tables.\"{}\"]\nqueries = [\"company_code = '1000'\"]\n", data::NAME),
    };
    let wants =
        |r: &Request| matches!(r, Request::QueriesChange { queries, .. } if queries == &["company_code = '1000'"]);
    driver.answer(wants, Answer::ConfigChange(Box::new(change)));
    assert!(driver.screen().contains("+ queries = ["), "{}", driver.screen());
    driver.press(KeyCode::Esc);
    driver.press(KeyCode::Tab);
    driver.keys("A");
    assert!(
        driver.waiting.iter().any(|(_, r)| matches!(r, Request::PlanRepartition { .. })),
        "what was counted stays counted"
    );
}

#[test]
fn a_query_that_cannot_be_tried_goes_back_into_its_dialog() {
    let mut driver = wizard(SMALL, false);
    driver.keys("pcompany_code = '1000'");
    driver.enter();
    let failure = Failure { kind: ErrorKind::Usage, message: "it cannot be compared".into(), hint: None };
    driver.answer(|r| matches!(r, Request::Layouts { .. }), Answer::Failed(failure));
    let screen = driver.screen();
    assert!(screen.contains("it cannot be compared") && screen.contains("company_code  "), "{screen}");
    driver.press(KeyCode::Esc);
    driver.keys("p");
    assert!(driver.line_with("WHERE").contains("company_code = '1000'"), "{}", driver.screen());
    driver.press(KeyCode::Esc);
    driver.keys("r");
    let Some((_, Request::Layouts { queries, .. })) = driver.waiting.last() else { panic!("{:?}", driver.waiting) };
    assert!(queries.is_empty(), "it is not tried again by itself");
}

#[test]
fn todays_layout_is_nothing_to_choose() {
    let mut driver = wizard(SMALL, false);
    driver.keys("g");
    driver.enter();
    assert!(driver.screen().contains("how the table lies today"), "{}", driver.screen());
    assert!(driver.waiting.iter().all(|(_, r)| !matches!(r, Request::TryLayout { .. })));
}

#[test]
fn words_of_the_trade_find_their_commands() {
    let driver = table(SMALL, false);
    for (words, key) in [
        ("repartition", "W"),
        ("partition by", "W"),
        ("optimize", "O"),
        ("compact", "O"),
        ("small files", "O"),
        ("vacuum", "V"),
        ("health", "7"),
    ] {
        let palette =
            partwise::tui::overlays::palette::Palette { input: partwise::tui::input::TextInput::new(words), cursor: 0 };
        let found = partwise::tui::overlays::palette::matches(&palette, &driver.app);
        let first = found.first().unwrap_or_else(|| panic!("{words} finds nothing"));
        assert!(first.keys_text().contains(key), "{words}: {}", first.words);
    }
}
