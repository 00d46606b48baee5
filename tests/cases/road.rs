//! The road itself: tables that moved (B01), gates and overrides, looking
//! without touching.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use partwise::error::ErrorKind;
use partwise::ops::{self, ApplyOptions, JournalOutcome, Strategy};
use partwise::plan::{GateStatus, Plan, Verdict};
use partwise::progress::Progress;
use serde_json::json;

use crate::support::replay::{newest, replay};
use crate::support::road::{MERGE, gate, override_all, refused, request};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, exact, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

/// A table (a,1),(b,2), and the saved plan to overwrite `d=a` with 101.
fn previewed(bench: &Bench) -> (Fixture, Plan) {
    let table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let source = bench.source("s", &shape().columns, &[row("a", 101)]);
    let plan = bench.plan(&table.path, &source, &[], Strategy::Overwrite);
    let saved = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&saved).unwrap();
    assert_eq!(read, plan, "a plan is read back as it was written");
    (table, read)
}

#[test]
fn b01_an_append_to_the_same_slice_makes_the_plan_stale() {
    let bench = Bench::default();
    let (mut table, plan) = previewed(&bench);
    table.append(&[row("a", 5)]);
    let error = refused(bench.apply(&plan));
    assert_eq!((error.kind, error.exit_code()), (ErrorKind::StalePlan, 4));
    let said = error.full_message();
    for part in ["version 0", "1", "d=a"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    let details = error.details.expect("the commits in between");
    assert_eq!(details["rebase_safe"], false);
    assert_eq!(details["commits"][0]["partitions"], serde_json::json!([{"d": "a"}]));
    assert_eq!(newest(&table.path), 1);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("a", 5), row("b", 2)]);
}

#[test]
fn b01_every_commit_in_between_is_listed_also_those_that_are_no_conflict() {
    let bench = Bench::default();
    let (mut table, plan) = previewed(&bench);
    table.append(&[row("b", 6)]);
    table.append(&[row("a", 5)]);
    let error = refused(bench.apply(&plan));
    let said = error.full_message();
    for part in ["v2 WRITE touched d=a (+1 rows)", "No conflict: v1 WRITE touched d=b (+1 rows)"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    let details = error.details.expect("the commits in between");
    let conflicts: Vec<bool> =
        details["commits"].as_array().unwrap().iter().map(|c| !c["conflict"].is_null()).collect();
    assert_eq!(conflicts, [false, true]);
}

#[test]
fn b01_a_commit_to_another_slice_is_rebased_over() {
    let bench = Bench::default();
    let (mut table, plan) = previewed(&bench);
    table.append(&[row("b", 7)]);
    let strict = ApplyOptions { strict: true, ..override_all(&plan) };
    let error = refused(bench.apply_with(&plan, &strict));
    assert_eq!((error.kind, error.exit_code()), (ErrorKind::StalePlan, 4));
    let said = format!("{} {}", error.message, error.hint.as_deref().unwrap_or_default());
    for part in ["v1 WRITE touched d=b (+1 rows)", "A rebase would have been safe"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    assert_eq!(error.details.expect("the commits in between")["rebase_safe"], true);

    let report = bench.apply(&plan).unwrap();
    assert_eq!((report.rebased_over, report.version_after), (vec![1], Some(2)));
    assert_eq!(rows_of(&table.path), [row("a", 101), row("b", 2), row("b", 7)]);
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("b", 2), row("b", 7)]);
}

#[test]
fn b01_a_merge_that_could_see_every_partition_never_rebases() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let source = bench.source("s", &shape().columns, &[row("a", 3)]);
    let plan = bench.plan(&table.path, &source, &["v"], MERGE);
    // The new row has the key that the plan inserts.
    table.append(&[row("b", 3)]);
    assert_eq!(refused(bench.apply(&plan)).kind, ErrorKind::StalePlan);
    assert_eq!(rows_of(&table.path), [row("a", 1), row("b", 2), row("b", 3)]);
}

#[test]
fn b01_a_change_of_the_metadata_is_never_rebased_over() {
    let bench = Bench::default();
    let (mut table, plan) = previewed(&bench);
    let mut metadata = replay(&table.path).unwrap().metadata;
    metadata["configuration"] = json!({"delta.appendOnly": "true"});
    table.commit("SET TBLPROPERTIES", json!({}), vec![json!({"metaData": metadata})]);
    assert_eq!(refused(bench.apply(&plan)).exit_code(), 4);
    assert_eq!(newest(&table.path), 1);
}

#[test]
fn a_source_that_changed_after_the_plan() {
    let bench = Bench::default();
    let (table, plan) = previewed(&bench);
    bench.source("s", &shape().columns, &[row("a", 102), row("a", 103)]);
    let error = refused(bench.apply(&plan));
    assert_eq!((error.kind, error.exit_code()), (ErrorKind::SourceChanged, 4));
    assert_eq!(newest(&table.path), 0);
}

fn postings() -> Shape {
    let columns =
        [("company", Kind::String), ("period", Kind::String), ("doc", Kind::Long), ("amount", Kind::Decimal(12, 2))];
    Shape::new(&columns, &["period"])
}

fn posting(company: &str, doc: i64) -> Row {
    let amount = partwise::table::Value::Decimal { unscaled: i128::from(doc) * 100, scale: 2 };
    vec![s(company), s("2026005"), i(doc), amount]
}

/// 300 postings of two companies, and an extract without one company and half of the other's.
fn incomplete(bench: &Bench) -> (Fixture, String) {
    let all: Vec<Row> = (0..300).map(|n| posting(if n % 3 == 0 { "2000" } else { "1000" }, n)).collect();
    let table = bench.table(postings(), &all);
    let some: Vec<Row> = all.into_iter().filter(|r| r[0] == s("1000")).step_by(2).collect();
    let source = bench.source("incomplete", &postings().columns, &some);
    (table, source)
}

#[test]
fn an_incomplete_extract_is_blocked() {
    let bench = Bench::default();
    let (table, source) = incomplete(&bench);
    let before = exact(&rows_of(&table.path));
    let plan = bench.plan(&table.path, &source, &["company", "doc"], Strategy::Overwrite);
    assert_eq!(plan.verdict, Verdict::Blocked);
    for (name, word) in [("row-count", "2026005"), ("vanished-group", "2000")] {
        let found = gate(&plan, name);
        assert_eq!(found.status, GateStatus::Fail, "{name}");
        assert!(found.message.contains(word), "{}", found.message);
    }
    let one = ApplyOptions { overrides: [("row-count".into(), "known".into())].into(), strict: false };
    for options in [ApplyOptions::default(), one] {
        let error = refused(bench.apply_with(&plan, &options));
        assert_eq!((error.kind, error.exit_code()), (ErrorKind::GateFailed, 3));
        assert!(error.full_message().contains("vanished-group"), "{}", error.full_message());
    }
    assert_eq!(newest(&table.path), 0);
    assert_eq!(exact(&rows_of(&table.path)), before);
}

#[test]
fn overrides_stand_in_the_commit_and_in_the_journal() {
    let bench = Bench::default();
    let (table, source) = incomplete(&bench);
    let before = exact(&rows_of(&table.path));
    let plan = bench.plan(&table.path, &source, &["company", "doc"], Strategy::Overwrite);
    let overrides: BTreeMap<String, String> = [
        ("row-count".to_owned(), "company 2000 left the group".to_owned()),
        ("vanished-group".to_owned(), "ticket FIN-7".to_owned()),
    ]
    .into();
    let report = bench.apply_with(&plan, &ApplyOptions { overrides: overrides.clone(), strict: false }).unwrap();
    assert!(report.verified, "{:?}", report.mismatches);
    assert_eq!(rows_of(&table.path).len(), 100);

    let info = &replay(&table.path).unwrap().infos[1];
    assert_eq!(info["partwise"]["id"], json!(plan.id));
    assert_eq!(info["partwise"]["overrides"], json!(overrides));
    assert_eq!(info["operation"], "WRITE");
    let journal = ops::journal(&bench.context).unwrap();
    assert_eq!((journal[0].id.as_str(), journal[0].outcome), (plan.id.as_str(), JournalOutcome::Committed));
    assert_eq!(journal[0].overrides, overrides);

    bench.undo(&table.path);
    assert_eq!(exact(&rows_of(&table.path)), before);
}

#[test]
fn an_override_without_a_reason_or_for_no_gate_is_refused() {
    let bench = Bench::default();
    let (table, source) = incomplete(&bench);
    let plan = bench.plan(&table.path, &source, &["company", "doc"], Strategy::Overwrite);
    let mut blank = override_all(&plan);
    blank.overrides.insert("row-count".into(), " ".into());
    let mut unknown = override_all(&plan);
    unknown.overrides.insert("no-such-gate".into(), "why".into());
    for options in [blank, unknown] {
        refused(bench.apply_with(&plan, &options));
        assert_eq!(newest(&table.path), 0);
    }
}

#[test]
fn read_only_runs_apply_nothing() {
    let mut bench = Bench::default();
    let (table, plan) = previewed(&bench);
    bench.context.read_only = true;
    let error = refused(bench.apply(&plan));
    assert_eq!((error.kind, error.exit_code()), (ErrorKind::Refused, 5));
    assert_eq!(newest(&table.path), 0);
}

/// Every entry below a folder with its size and times.
fn listing(root: &Path) -> BTreeMap<PathBuf, (u64, SystemTime, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let facts = entry.metadata().unwrap();
            if facts.is_dir() {
                folders.push(entry.path());
            }
            found.insert(entry.path(), (facts.len(), facts.modified().unwrap(), facts.permissions().mode()));
        }
    }
    found
}

fn allow(root: &Path, folder: u32, file: u32) {
    for (path, _) in listing(root) {
        let mode = if path.is_dir() { folder } else { file };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(root, fs::Permissions::from_mode(folder)).unwrap();
}

/// Root may write anywhere, so the listing decides, not the permissions alone.
#[test]
fn browsing_planning_and_gating_write_nothing_to_the_table() {
    let bench = Bench::default();
    let (mut table, source) = incomplete(&bench);
    table.append(&[posting("3000", 1000)]);
    allow(&table.path, 0o555, 0o444);
    let before = listing(&table.path);

    let open = bench.open(&table.path).unwrap();
    let progress = Progress::default();
    block_on(async {
        open.partitions(true, &progress, &mut |_| {}).await.unwrap();
        open.files(&progress).await.unwrap();
        open.history(None, true, &progress).await.unwrap();
        assert_eq!(open.rows(None, &[], 0, 1000, &progress).await.unwrap().rows.len(), 301);
        let request = request(&source, &["company", "doc"]);
        let compared = ops::compare(&bench.context, &open, &request, &progress).await.unwrap();
        assert_eq!(compared.strategies.len(), 5);
        let (_, prepared) = &compared.strategies[2];
        let pages = prepared.rows.as_ref().unwrap();
        let page = pages.page(partwise::plan::Effect::Deleted, 0, 500).await.unwrap();
        assert_eq!((page.total, page.rows.len()), (201, 201));
    });
    bench.plan_restore(&table.path, 0).unwrap();
    let after = listing(&table.path);
    allow(&table.path, 0o755, 0o644);
    assert_eq!(after, before);
}
