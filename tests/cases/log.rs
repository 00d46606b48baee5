//! Logs that are damaged or short of something: B25, B30, B32.

use std::fs;
use std::path::Path;

use partwise::error::{ErrorKind, Result};
use partwise::ops::{At, Strategy};
use partwise::progress::Progress;
use partwise::table::Commit;
use partwise::table::history::Restorable;

use super::values::partitions;
use crate::support::road::{partition, refused};
use crate::support::writer::{FileOptions, log_file};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s};
use serde_json::json;

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Integer)], &["d"])
}

/// One row a commit.
fn commits(bench: &Bench, number: i64) -> Fixture {
    let mut table = Fixture::new(bench.path("t"), shape());
    for n in 0..number {
        table.append(&[vec![s("a"), i(n)]]);
    }
    table
}

fn history(bench: &Bench, table: &Path, check_files: bool) -> Result<Vec<Commit>> {
    let table = bench.open(table)?;
    block_on(table.history(None, check_files, &Progress::default()))
}

/// (version, live rows, versions in the history)
fn look(bench: &Bench, table: &Path) -> Result<(u64, u64, usize)> {
    let open = bench.open(table)?;
    let found = partitions(bench, table, true)?;
    let rows = found.iter().map(|p| p.rows.exact().expect("counted rows")).sum();
    Ok((open.version(), rows, history(bench, table, false)?.len()))
}

#[test]
fn b25_damaged_logs_are_named_and_never_half_read() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage, ErrorKind, &[&str]); 5] = [
        ("a commit is gone", |t| fs::remove_file(log_file(t, 3)).unwrap(), ErrorKind::LogGap, &["missing 3", "4"]),
        ("the first commit is gone", |t| fs::remove_file(log_file(t, 0)).unwrap(), ErrorKind::LogGap, &["missing 0"]),
        ("a commit is cut off", cut, ErrorKind::BadCommit, &["2.json", "line"]),
        ("a commit is empty", |t| fs::write(log_file(t, 5), "").unwrap(), ErrorKind::BadCommit, &["5.json", "empty"]),
        ("a byte order mark", mark, ErrorKind::BadCommit, &["4.json", "byte order mark"]),
    ];
    for (what, damage, kind, words) in damages {
        let bench = Bench::default();
        let table = commits(&bench, 6);
        damage(&table.path);
        let error = refused(look(&bench, &table.path));
        assert_eq!(error.kind, kind, "{what}: {}", error.full_message());
        for word in words {
            assert!(error.full_message().contains(word), "{what}: no {word} in: {}", error.full_message());
        }
        let source = bench.source("s", &shape().columns, &[vec![s("a"), i(1)]]);
        assert_eq!(refused(bench.prepare(&table.path, &source, &[], Strategy::Overwrite)).kind, kind, "{what}");
    }
}

fn cut(table: &Path) {
    let text = fs::read_to_string(log_file(table, 2)).unwrap();
    fs::write(log_file(table, 2), &text[..text.len() / 2]).unwrap();
}

fn mark(table: &Path) {
    let text = fs::read_to_string(log_file(table, 4)).unwrap();
    fs::write(log_file(table, 4), format!("\u{feff}{text}")).unwrap();
}

#[test]
fn b25_harmless_oddities_are_ignored() {
    let bench = Bench::default();
    let table = commits(&bench, 6);
    fs::write(table.path.join("_delta_log/_commit_x.json.tmp"), "{").unwrap();
    let text = fs::read_to_string(log_file(&table.path, 4)).unwrap();
    fs::write(log_file(&table.path, 4), format!("{text}{{\"somethingNew\":{{\"a\":1}}}}\n")).unwrap();
    let text = fs::read_to_string(log_file(&table.path, 3)).unwrap();
    fs::write(log_file(&table.path, 3), text.replace('\n', "\r\n")).unwrap();
    assert_eq!(look(&bench, &table.path).unwrap(), (5, 6, 6));
}

#[test]
fn b30_a_commit_without_commit_info_keeps_its_number() {
    let bench = Bench::default();
    let mut table = Fixture::with_rows(bench.path("t"), shape(), &[vec![s("a"), i(0)]]);
    table.append(&[vec![s("b"), i(1)]]);
    let add = table.add(&[vec![s("c"), i(2)]], &FileOptions::default());
    table.commit_lines(&[add]);
    table.append(&[vec![s("d"), i(3)]]);

    let found = history(&bench, &table.path, false).unwrap();
    let labels: Vec<(u64, String)> = found.iter().map(|c| (c.version, c.label())).collect();
    let own = |v, text: &str| (v, text.to_owned());
    assert_eq!(labels, [own(3, "append"), own(2, "(no commit info)"), own(1, "append"), own(0, "append")]);

    let before: Vec<Row> = rows_of(&table.path);
    bench.apply(&bench.plan_restore(&table.path, 2).unwrap()).unwrap();
    assert_eq!(rows_of(&table.path), before[..3]);
}

#[test]
fn b30_versions_before_the_oldest_checkpoint_are_gone() {
    let bench = Bench::default();
    let table = commits(&bench, 12);
    checkpoint(&table.path, 7);
    for version in 0..=5 {
        fs::remove_file(log_file(&table.path, version)).unwrap();
    }
    let found = history(&bench, &table.path, true).unwrap();
    let versions: Vec<u64> = found.iter().map(|c| c.version).collect();
    assert_eq!(versions, [11, 10, 9, 8, 7, 6]);
    for commit in &found {
        let want = if commit.version >= 7 { Restorable::Yes } else { Restorable::LogGone };
        assert_eq!(commit.restorable, Some(want), "v{}", commit.version);
    }
    let said = |error: &partwise::error::Error| format!("{} {}", error.message, error.hint.clone().unwrap_or_default());
    let gone = refused(bench.plan_restore(&table.path, 3));
    assert_eq!(gone.kind, ErrorKind::VersionGone);
    assert!(said(&gone).contains('7'), "{}", said(&gone));
    let never = refused(bench.plan_restore(&table.path, 12));
    assert_eq!(never.kind, ErrorKind::NoSuchVersion);
    assert!(said(&never).contains("11"), "{}", said(&never));
    assert_eq!(refused(bench.open_at(&table.path, At::Version(3))).kind, ErrorKind::VersionGone);

    bench.apply(&bench.plan_restore(&table.path, 8).unwrap()).unwrap();
    let rows: u64 = partitions(&bench, &table.path, true).unwrap().iter().map(|p| p.rows.known).sum();
    assert_eq!(rows, 9);
}

/// A checkpoint by another engine.
pub fn checkpoint(table: &Path, version: u64) {
    let url = url::Url::from_directory_path(table).unwrap();
    block_on(async {
        let table = deltalake::DeltaTableBuilder::from_url(url).unwrap().with_version(version).load().await.unwrap();
        deltalake::checkpoints::create_checkpoint(&table, None).await.unwrap();
    });
    let file = table.join(format!("_delta_log/{version:020}.checkpoint.parquet"));
    assert!(file.exists(), "no {}", file.display());
}

#[test]
fn b32_rows_are_unknown_where_the_log_does_not_tell() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape());
    let unknown = FileOptions { without_stats: true, ..FileOptions::default() };
    let mut adds = table.add_each(&[vec![s("a"), i(1)], vec![s("a"), i(2)]], &unknown);
    adds.extend(table.add_each(&[vec![s("b"), i(3)]], &FileOptions::default()));
    table.commit("WRITE", json!({"mode": "Append"}), adds);

    let found = partitions(&bench, &table.path, false).unwrap();
    let shown: Vec<String> = found.iter().map(|p| p.rows.to_string()).collect();
    assert_eq!(shown, ["?", "1"]);
    let mut sum = found[0].rows;
    sum.merge(found[1].rows);
    assert_eq!((sum.exact(), sum.to_string()), (None, "≥ 1".to_owned()));
    let counted: Vec<Option<u64>> =
        partitions(&bench, &table.path, true).unwrap().iter().map(|p| p.rows.exact()).collect();
    assert_eq!(counted, [Some(2), Some(1)]);

    // A gate never judges an unknown: the plan has counted.
    let source = bench.source("s", &shape().columns, &[vec![s("a"), i(9)]]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    assert_eq!(partition(&plan, &json!({"d": "a"})).before, 2);
    assert_eq!(rows_of(&table.path), [vec![s("a"), i(9)], vec![s("b"), i(3)]]);
}

#[test]
fn b32_statistics_that_lie_do_not_reach_a_plan() {
    let bench = Bench::default();
    let table = bench.table(shape(), &[vec![s("a"), i(1)], vec![s("a"), i(2)], vec![s("b"), i(3)]]);
    let log = log_file(&table.path, 0);
    let text = fs::read_to_string(&log).unwrap();
    let lie = text.replacen(r#"\"numRecords\":2"#, r#"\"numRecords\":0"#, 1);
    assert_ne!(lie, text, "the edit found nothing");
    fs::write(&log, lie).unwrap();
    let source = bench.source("s", &shape().columns, &[vec![s("a"), i(9)]]);
    let plan = bench.plan(&table.path, &source, &["v"], Strategy::Overwrite);
    assert_eq!(partition(&plan, &json!({"d": "a"})).before, 2);
    assert_eq!(plan.rows.deleted, 2);
}

#[test]
fn a_plan_is_carried_out_once_even_where_the_log_forgot_its_commit() {
    let bench = Bench::default();
    let table = commits(&bench, 1);
    let source = bench.source("s", &shape().columns, &[vec![s("b"), i(2)]]);
    let plan = bench.plan(&table.path, &source, &[], Strategy::Append);
    let other = bench.plan(&table.path, &source, &[], Strategy::Append);
    bench.apply(&plan).unwrap();
    Fixture::resume(&table.path, shape()).append(&[vec![s("c"), i(3)]]);
    checkpoint(&table.path, 2);
    for version in 0..=1 {
        fs::remove_file(log_file(&table.path, version)).unwrap();
    }
    let error = refused(bench.apply(&plan));
    assert_eq!(error.kind, ErrorKind::StalePlan, "{}", error.full_message());
    assert!(error.message.contains("already carried out: the table's checkpoint knows"), "{}", error.message);
    // What another plan would be put on top of cannot be told any more.
    let error = refused(bench.apply(&other));
    assert_eq!(error.kind, ErrorKind::StalePlan, "{}", error.full_message());
    let counts: Vec<_> =
        partitions(&bench, &table.path, true).unwrap().iter().map(|p| (p.values.to_string(), p.rows.exact())).collect();
    assert_eq!(counts, [("a".into(), Some(1)), ("b".into(), Some(1)), ("c".into(), Some(1))]);
}

#[test]
fn after_a_crash_what_the_log_forgot_is_known_by_its_transaction_or_stays_unknown() {
    use partwise::journal::{Entry, Outcome};
    let bench = Bench::default();
    let table = commits(&bench, 1);
    let source = bench.source("s", &shape().columns, &[vec![s("b"), i(2)]]);
    let plan = bench.plan(&table.path, &source, &[], Strategy::Append);
    bench.apply(&plan).unwrap();
    Fixture::resume(&table.path, shape()).append(&[vec![s("c"), i(3)]]);
    checkpoint(&table.path, 2);
    for version in 0..=1 {
        fs::remove_file(log_file(&table.path, version)).unwrap();
    }
    let journal = bench.context.journal();
    let done = journal.find(&plan.id).unwrap().unwrap();
    let open = Entry { outcome: Outcome::Committing, finished_at: None, version_after: None, ..done };
    journal.write(&open).unwrap();
    let other = Entry { id: uuid::Uuid::from_u128(1).to_string(), ..open };
    journal.write(&other).unwrap();
    let settle = || crate::support::block_on(partwise::ops::recover(&bench.context)).unwrap().len();
    assert_eq!((settle(), settle()), (2, 0), "each is told once");
    let found = journal.find(&plan.id).unwrap().unwrap();
    assert_eq!((found.outcome, found.version_after), (Outcome::Committed, None));
    let lost = journal.find(&other.id).unwrap().unwrap();
    assert_eq!(lost.outcome, Outcome::Unknown);
    assert!(lost.message.unwrap().contains("no longer reaches back"));
}
