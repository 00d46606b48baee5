//! VACUUM takes what nobody needs, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use partwise::error::{ErrorKind, Result};
use partwise::journal::{Entry, Journal, Outcome};
use partwise::ops::{At, VacuumRequest, prepare_undo, prepare_vacuum};
use partwise::plan::vacuum::{Vacuum, Why};
use partwise::plan::{Plan, Spec, Verdict};
use partwise::progress::Progress;
use serde_json::json;

use crate::support::replay::{actions, newest, replay};
use crate::support::road::{refused, text};
use crate::support::writer::{FIRST_COMMIT, FileOptions, set_time};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s};

pub const DAY: i64 = 86_400_000;

pub fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

pub fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Gives every data file below a folder the age of the first commit.
pub fn age(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() || path.ends_with("_delta_log") {
            continue;
        } else if path.is_dir() {
            age(&path);
        } else {
            set_time(&path, FIRST_COMMIT);
        }
    }
}

pub fn plan_with(bench: &Bench, table: &Path, request: &VacuumRequest) -> Result<Plan> {
    let table = bench.open(table)?;
    block_on(prepare_vacuum(&bench.context, &table, request, &Progress::default()))
}

fn plan(bench: &Bench, table: &Path) -> Plan {
    plan_with(bench, table, &VacuumRequest::default()).unwrap_or_else(|e| panic!("vacuum: {}", e.full_message()))
}

pub fn spec(plan: &Plan) -> &Vacuum {
    match &plan.spec {
        Spec::Vacuum(spec) => spec,
        other => panic!("no vacuum: {other:?}"),
    }
}

fn paths(plan: &Plan) -> Vec<&str> {
    spec(plan).files.iter().map(|f| f.path.as_str()).collect()
}

fn file_of(add: &serde_json::Value) -> String {
    add["add"]["path"].as_str().unwrap().to_owned()
}

/// v0: a and b; v1 replaces a. Both are old.
struct Replaced {
    table: PathBuf,
    old_a: String,
    fixture: Fixture,
}

fn replaced(bench: &Bench, shape: Shape) -> Replaced {
    let mut fixture = Fixture::new(bench.path("t"), shape);
    let a = fixture.add(&[row("a", 1)], &FileOptions::default());
    let b = fixture.add(&[row("b", 2)], &FileOptions::default());
    fixture.commit("WRITE", json!({"mode": "Append"}), vec![a.clone(), b]);
    let new = fixture.add(&[row("a", 10)], &FileOptions::default());
    let gone = fixture.remove(&a);
    fixture.commit("WRITE", json!({"mode": "Overwrite"}), vec![gone, new]);
    age(&fixture.path);
    Replaced { table: fixture.path.clone(), old_a: file_of(&a), fixture }
}

#[test]
fn what_nobody_needs_goes_and_the_rest_stays() {
    let bench = Bench::default();
    let r = replaced(&bench, shape());
    let put = |name: &str, old: bool| {
        let path = r.table.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        if old {
            set_time(&path, FIRST_COMMIT);
        }
    };
    for (name, old) in [
        ("d=a/left-over.parquet", true),
        ("left-over.parquet", true),
        ("_change_data/cdc-1.parquet", true),
        ("d=a/young.parquet", false),
        ("_spark_metadata/0", true),
        (".hidden", true),
        ("d=a/.part-0.parquet.crc", true),
    ] {
        put(name, old);
    }
    let outside = bench.path("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("precious.parquet"), "x").unwrap();
    set_time(&outside.join("precious.parquet"), FIRST_COMMIT);
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, r.table.join("d=link")).unwrap();

    let before = rows_of(&r.table);
    let plan = plan(&bench, &r.table);
    let mut wanted = vec!["_change_data/cdc-1.parquet", "d=a/left-over.parquet", "left-over.parquet", r.old_a.as_str()];
    wanted.sort_unstable();
    assert_eq!(paths(&plan), wanted);
    let why: Vec<Why> = spec(&plan).files.iter().map(|f| f.why).collect();
    assert_eq!(why.iter().filter(|w| **w == Why::Unknown).count(), 2);
    assert_eq!(why.iter().filter(|w| **w == Why::Removed).count(), 1);
    assert_eq!(spec(&plan).lost_versions, [0]);
    assert_eq!(plan.verdict, Verdict::Ready);
    assert!(plan.findings.iter().any(|f| f.contains("version 0 can no longer be restored")), "{:?}", plan.findings);
    assert_eq!(newest(&r.table), 1, "a plan writes nothing");

    let report = bench.apply(&plan).unwrap();
    assert_eq!((report.version_after, report.files_removed, report.undo), (Some(3), 4, None));
    for gone in &wanted {
        assert!(!r.table.join(gone).exists(), "{gone}");
    }
    for kept in ["d=a/young.parquet", "_spark_metadata/0", ".hidden", "d=a/.part-0.parquet.crc"] {
        assert!(r.table.join(kept).exists(), "{kept}");
    }
    assert!(outside.join("precious.parquet").exists());
    assert_eq!(rows_of(&r.table), before);
    let words = |version: u64| actions(&r.table, version)[0]["commitInfo"].clone();
    let (start, end) = (words(2), words(3));
    assert_eq!((start["operation"].as_str(), end["operation"].as_str()), (Some("VACUUM START"), Some("VACUUM END")));
    assert_eq!(start["operationParameters"]["defaultRetentionMillis"], json!((7 * DAY).to_string()));
    assert_eq!(start["operationMetrics"]["numFilesToDelete"], "4");
    assert_eq!(end["operationParameters"]["status"], "COMPLETED");
    assert_eq!(end["operationMetrics"]["numDeletedFiles"], "4");
    let entry = Journal::new(&bench.context.state_dir).find(&plan.id).unwrap().unwrap();
    assert_eq!((entry.outcome, entry.undo), (Outcome::Committed, None));

    // A second run finds nothing, and nothing can be taken back.
    let again = super::vacuum::plan(&bench, &r.table);
    assert_eq!((again.verdict, paths(&again).len()), (Verdict::NoOp, 0));
    let table = bench.open(&r.table).unwrap();
    let undo = block_on(prepare_undo(&bench.context, &table, Some(&plan.id), &Progress::default()));
    assert_eq!(refused(undo).kind, ErrorKind::NoSuchOperation);
}

#[test]
fn never_below_the_tables_retention() {
    let bench = Bench::default();
    let mut shape = shape();
    shape.properties = vec![("delta.deletedFileRetentionDuration".into(), "interval 30 days".into())];
    let r = replaced(&bench, shape);
    let request = VacuumRequest { retain_ms: Some(7 * DAY), protect: Vec::new() };
    let error = refused(plan_with(&bench, &r.table, &request));
    assert_eq!(error.kind, ErrorKind::Refused);
    assert!(error.message.contains("7 d is below the table's retention of 30 d"), "{}", error.message);
    let longer = VacuumRequest { retain_ms: Some(10_000 * DAY), protect: Vec::new() };
    assert_eq!(plan_with(&bench, &r.table, &longer).unwrap().verdict, Verdict::NoOp);
    // A plan that was changed by hand is held to it too.
    let mut plan = plan(&bench, &r.table);
    assert_eq!(paths(&plan), [r.old_a.as_str()]);
    if let Spec::Vacuum(spec) = &mut plan.spec {
        spec.cutoff_ms = now();
    }
    assert_eq!(refused(bench.apply(&plan)).kind, ErrorKind::Refused);
    assert!(r.table.join(&r.old_a).exists());
    assert_eq!(newest(&r.table), 1);
}

#[test]
fn a_retention_that_is_not_understood_is_no_short_one() {
    let bench = Bench::default();
    let mut shape = shape();
    shape.properties = vec![("delta.deletedFileRetentionDuration".into(), "soon".into())];
    let r = replaced(&bench, shape);
    assert_eq!(refused(plan_with(&bench, &r.table, &VacuumRequest::default())).kind, ErrorKind::BadMetadata);
}

#[test]
fn a_protected_version_stays_whole() {
    let bench = Bench::default();
    let r = replaced(&bench, shape());
    let request = VacuumRequest { retain_ms: None, protect: vec![0] };
    assert_eq!(plan_with(&bench, &r.table, &request).unwrap().verdict, Verdict::NoOp);
    let missing = VacuumRequest { retain_ms: None, protect: vec![9] };
    assert_eq!(refused(plan_with(&bench, &r.table, &missing)).kind, ErrorKind::NoSuchVersion);
}

#[test]
fn staged_files_of_a_running_operation_stay() {
    let bench = Bench::default();
    let r = replaced(&bench, shape());
    let id = uuid::Uuid::new_v4().to_string();
    let staged = r.table.join(format!("d=a/part-00000-{id}-0000abcd.snappy.parquet"));
    fs::write(&staged, "x").unwrap();
    set_time(&staged, FIRST_COMMIT);
    let mut entry = Entry {
        id,
        operation: "overwrite".into(),
        table: text(&r.table),
        table_id: String::new(),
        user: String::new(),
        started_at: "2026-01-01T00:00:00Z".into(),
        finished_at: None,
        version_before: 1,
        version_after: None,
        slice: None,
        rows_written: None,
        overrides: Default::default(),
        outcome: Outcome::Intent,
        message: None,
        undo: None,
        process: Some(std::process::id()),
        interrupted: false,
    };
    let journal = Journal::new(&bench.context.state_dir);
    journal.write(&entry).unwrap();
    assert_eq!(paths(&plan(&bench, &r.table)), [r.old_a.as_str()]);
    entry.outcome = Outcome::Failed;
    journal.write(&entry).unwrap();
    assert_eq!(paths(&plan(&bench, &r.table)).len(), 2);
}

#[test]
fn files_that_came_back_since_the_plan_stay() {
    let bench = Bench::default();
    let r = replaced(&bench, shape());
    let plan = plan(&bench, &r.table);
    assert_eq!(paths(&plan), [r.old_a.as_str()]);
    let restore = bench.plan_restore(&r.table, 0).unwrap();
    bench.apply(&restore).unwrap();
    let report = bench.apply(&plan).unwrap();
    assert_eq!((report.files_removed, report.rebased_over), (0, vec![2]));
    assert!(r.table.join(&r.old_a).exists());
    let mut rows = rows_of(&r.table);
    rows.sort();
    assert_eq!(rows, [row("a", 1), row("b", 2)]);
}

#[test]
fn undos_that_stop_being_possible_are_named() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let source = bench.source("s", &table.shape.columns, &[row("a", 5)]);
    let (done, _) = bench.run(&table.path, &source, &["v"], partwise::ops::Strategy::Overwrite);
    // The commit is of today: its files are kept.
    age(&table.path);
    assert_eq!(plan(&bench, &table.path).verdict, Verdict::NoOp);
    for version in 0..=newest(&table.path) {
        back_date(&table.path, version);
    }
    let plan = plan(&bench, &table.path);
    assert_eq!(spec(&plan).files.len(), 1);
    let lost: Vec<&str> = spec(&plan).lost_undos.iter().map(|u| u.operation.as_str()).collect();
    assert_eq!(lost, [done.id.as_str()]);
    bench.apply(&plan).unwrap();
    assert_eq!(refused(bench.plan_undo(&table.path, None)).kind, ErrorKind::MissingFiles);
}

/// Makes a commit an old one, with the times in it.
fn back_date(table: &Path, version: u64) {
    let path = crate::support::writer::log_file(table, version);
    let lines: Vec<String> = actions(table, version)
        .into_iter()
        .map(|mut action| {
            if action.get("remove").is_some() {
                action["remove"]["deletionTimestamp"] = json!(FIRST_COMMIT);
            }
            action.to_string()
        })
        .collect();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    set_time(&path, FIRST_COMMIT + version * 60_000);
}

#[test]
fn files_of_deletion_vectors_go_with_their_data_files() {
    let bench = Bench::default();
    let shape = Shape { deletion_vectors: true, ..shape() };
    let mut table = Fixture::new(bench.path("t"), shape);
    let mut a = table.add(&[row("a", 1), row("a", 2)], &FileOptions::default());
    let mut b = table.add(&[row("b", 1), row("b", 2)], &FileOptions::default());
    let vector = |action: &mut serde_json::Value| {
        let id = uuid::Uuid::new_v4();
        let file = format!("deletion_vector_{id}.bin");
        fs::write(bench.path("t").join(&file), "x").unwrap();
        action["add"]["deletionVector"] = json!({"storageType": "u", "pathOrInlineDv": z85::encode(id.as_bytes()),
            "offset": 1, "sizeInBytes": 34, "cardinality": 1});
        file
    };
    let (gone, kept) = (vector(&mut a), vector(&mut b));
    table.commit("WRITE", json!({}), vec![a.clone(), b]);
    let remove = table.remove(&a);
    table.commit("DELETE", json!({}), vec![remove]);
    age(&table.path);
    let plan = plan(&bench, &table.path);
    let mut wanted = vec![gone, file_of(&a)];
    wanted.sort();
    assert_eq!(paths(&plan), wanted);
    bench.apply(&plan).unwrap();
    assert!(table.path.join(kept).exists());
}

#[test]
fn checkpoints_remember_what_was_removed() {
    let bench = Bench::default();
    let r = replaced(&bench, shape());
    // Young by its tombstone alone: the commits are gone, the checkpoint is there.
    let state = replay(&r.table).unwrap();
    let young = now() - DAY;
    let mut lines = vec![
        json!({"checkpointMetadata": {"version": 1}}),
        json!({"protocol": state.protocol}),
        json!({"metaData": state.metadata}),
        json!({"remove": {"path": r.old_a, "deletionTimestamp": young, "dataChange": true}}),
    ];
    lines.extend(state.live.values().map(|add| json!({"add": add})));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let name = format!("_delta_log/{:020}.checkpoint.{}.json", 1, uuid::Uuid::new_v4());
    fs::write(r.table.join(name), text).unwrap();
    fs::remove_file(crate::support::writer::log_file(&r.table, 0)).unwrap();
    fs::remove_file(crate::support::writer::log_file(&r.table, 1)).unwrap();
    assert_eq!(plan(&bench, &r.table).verdict, Verdict::NoOp);
    let _ = (r.fixture.next, Duration::ZERO, At::Latest);
}

#[test]
fn one_file_under_two_names_is_one_file() {
    let bench = Bench::default();
    let r = replaced(&bench, shape());
    let live = replay(&r.table).unwrap().live.into_keys().next().unwrap().0;
    let twin = r.table.join("d=a/twin.parquet");
    fs::hard_link(r.table.join(&live), &twin).unwrap();
    assert_eq!(paths(&plan(&bench, &r.table)), [r.old_a.as_str()]);
}
