//! `partwise clean`: what operations left, and who may remove it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deltalake::arrow::array::{ArrayRef, RecordBatch, StringArray, StructArray};
use deltalake::arrow::datatypes::{DataType, Field};
use partwise::calls::{Calls, Moment, Op};
use partwise::error::ErrorKind;
use partwise::journal::Entry;
use partwise::ops::left_overs::{Cleaned, State, left_overs};
use partwise::ops::{JournalOutcome, Strategy};
use partwise::plan::Plan;
use uuid::Uuid;

use super::watch::{Fault, Once, Point};
use crate::support::road::{refused, text};
use crate::support::writer::write_batch;
use crate::support::{Bench, Fixture, Kind, Shape, block_on, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

/// A table with one operation of ours in its history.
fn table(bench: &Bench) -> (Fixture, Plan) {
    let table = bench.table(shape(), &[vec![s("a"), i(1)]]);
    let source = bench.source("s", &shape().columns, &[vec![s("a"), i(2)]]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);
    (table, plan)
}

/// A file that the operation could have staged in that folder.
fn leave(folder: &Path, id: &str, age: Duration) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(format!("part-00000-{id}-0a1b2c3d.snappy.parquet"));
    fs::write(&path, "no longer needed").unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
    path
}

const MINUTES: Duration = Duration::from_secs(600);
const DAYS: Duration = Duration::from_secs(3 * 24 * 3600);

fn clean(bench: &Bench, table: &Path, of: Option<&str>, remove: bool) -> Cleaned {
    block_on(left_overs(&bench.context, &text(table), of, remove)).unwrap_or_else(|e| panic!("{}", e.full_message()))
}

fn states(cleaned: &Cleaned) -> Vec<(&str, State, bool)> {
    let mut states: Vec<_> = cleaned.operations.iter().map(|o| (o.id.as_str(), o.state, o.removable)).collect();
    states.sort_by_key(|(id, ..)| *id);
    states
}

#[test]
fn only_what_ended_operations_left_is_removed() {
    let bench = Bench::default();
    let (table, plan) = table(&bench);
    let ids: Vec<String> = (1..=5).map(|n| Uuid::from_u128(n).to_string()).collect();
    let [running, unknown, young, old, open] = &ids[..] else { panic!("five ids") };
    let journal = bench.context.journal();
    let done = journal.find(&plan.id).unwrap().unwrap();
    let entry = |id: &str, outcome| Entry { id: id.to_owned(), outcome, finished_at: None, ..done.clone() };
    journal.write(&entry(running, JournalOutcome::Intent)).unwrap();
    let lock = journal.hold(running).unwrap();
    // Another table lies where this one's was: nobody can say how it ended.
    let elsewhere = Entry { table_id: "another".into(), ..entry(unknown, JournalOutcome::Committing) };
    journal.write(&elsewhere).unwrap();
    // Its process is gone; that it ended without a commit is found out first.
    journal.write(&entry(open, JournalOutcome::Intent)).unwrap();

    let folder = table.path.join("d=a");
    let finished = leave(&folder, &plan.id, MINUTES);
    let dead = leave(&folder, open, MINUTES);
    let kept: Vec<PathBuf> = [running, unknown, young].map(|id| leave(&folder, id, MINUTES)).into();
    let foreign = leave(&table.path.join("_change_data"), old, DAYS);
    let mut want = vec![
        (running.as_str(), State::Running, false),
        (unknown.as_str(), State::Unknown, false),
        (young.as_str(), State::Elsewhere, false),
        (old.as_str(), State::Elsewhere, false),
        (open.as_str(), State::Dead, true),
        (plan.id.as_str(), State::Finished, true),
    ];
    want.sort_by_key(|(id, ..)| *id);
    // The operation's live file, and the one that it removed, are none.
    assert_eq!(states(&clean(&bench, &table.path, None, false)), want);
    assert!(finished.exists() && dead.exists());

    let cleaned = clean(&bench, &table.path, None, true);
    assert_eq!((cleaned.removed.len(), cleaned.failed.as_slice()), (2, &[][..]));
    assert!(!finished.exists() && !dead.exists() && foreign.exists());
    assert!(kept.iter().all(|path| path.exists()));
    for id in [young, running, unknown] {
        assert_eq!(clean(&bench, &table.path, Some(id), true).removed.len(), 0, "{id}");
    }
    assert_eq!(clean(&bench, &table.path, Some(old), true).removed.len(), 1);
    assert!(!foreign.exists() && kept.iter().all(|path| path.exists()));
    assert_eq!(rows_of(&table.path), [vec![s("a"), i(2)]]);

    drop(lock);
    assert_eq!(clean(&bench, &table.path, Some(running), true).removed.len(), 1);
    let nothing = refused(block_on(left_overs(&bench.context, &text(&table.path), Some(running), true)));
    assert_eq!(nothing.kind, ErrorKind::NoSuchOperation);
}

#[test]
fn files_of_another_run_of_a_plan_that_failed_here_are_left_alone() {
    let bench = Bench::default();
    let (table, plan) = table(&bench);
    let journal = bench.context.journal();
    let done = journal.find(&plan.id).unwrap().unwrap();
    let id = Uuid::from_u128(9).to_string();
    let hour_ago = chrono::Utc::now() - chrono::Duration::hours(1);
    let failed =
        Entry { id: id.clone(), outcome: JournalOutcome::Failed, finished_at: Some(hour_ago.to_rfc3339()), ..done };
    journal.write(&failed).unwrap();
    let theirs = leave(&table.path, &id, MINUTES);
    let cleaned = clean(&bench, &table.path, None, true);
    assert_eq!((states(&cleaned), cleaned.removed.len()), (vec![(id.as_str(), State::Elsewhere, false)], 0));
    assert!(theirs.exists());
}

#[test]
fn links_and_tables_below_are_never_entered() {
    let bench = Bench::default();
    let (table, plan) = table(&bench);
    let outside = bench.path("outside");
    let precious = leave(&outside, &plan.id, MINUTES);
    std::os::unix::fs::symlink(&outside, table.path.join("d=b")).unwrap();
    std::os::unix::fs::symlink(&precious, table.path.join(precious.file_name().unwrap())).unwrap();
    let below = Fixture::with_rows(table.path.join("other"), shape(), &[vec![s("a"), i(1)]]);
    let of_other = leave(&below.path, &plan.id, MINUTES);
    let cleaned = clean(&bench, &table.path, None, true);
    assert_eq!((cleaned.operations, cleaned.removed), (Vec::new(), Vec::new()));
    assert!(precious.exists() && of_other.exists());
}

#[test]
fn what_a_checkpoint_mentions_is_kept() {
    let bench = Bench::default();
    let (table, plan) = table(&bench);
    let [added, removed, left] = ["a", "b", "c"].map(|d| leave(&table.path.join(format!("d={d}")), &plan.id, MINUTES));
    // Three files of one name would be one: each gets a number of its own.
    let numbered = |path: &Path, n: u32| {
        let name = path.file_name().unwrap().to_str().unwrap().replace("00000", &format!("0000{n}"));
        let new = path.with_file_name(name);
        fs::rename(path, &new).unwrap();
        new
    };
    let [added, removed, left] = [numbered(&added, 7), numbered(&removed, 8), numbered(&left, 9)];
    let column = |path: &Path, row: usize| -> ArrayRef {
        let below = path.strip_prefix(&table.path).unwrap().to_str().unwrap().replace('=', "%3D");
        let cells: Vec<Option<String>> = (0..2).map(|n| (n == row).then(|| below.clone())).collect();
        let field = Arc::new(Field::new("path", DataType::Utf8, true));
        Arc::new(StructArray::from(vec![(field, Arc::new(StringArray::from(cells)) as ArrayRef)]))
    };
    let batch = RecordBatch::try_from_iter([("add", column(&added, 0)), ("remove", column(&removed, 1))]).unwrap();
    let checkpoint = table.path.join("_delta_log/00000000000000000000.checkpoint.parquet");
    write_batch(&checkpoint, &batch);
    let cleaned = clean(&bench, &table.path, None, true);
    assert_eq!(cleaned.removed, [text(left.strip_prefix(&table.path).unwrap())]);
    assert!(added.exists() && removed.exists() && !left.exists());
    // A checkpoint that cannot be read might mention any file.
    let other = leave(&table.path, &plan.id, MINUTES);
    fs::write(&checkpoint, "cut off").unwrap();
    let error = refused(block_on(left_overs(&bench.context, &text(&table.path), None, true)));
    assert_eq!(error.kind, ErrorKind::BadCheckpoint);
    assert!(other.exists());
}

#[test]
fn read_only_runs_list_and_remove_nothing() {
    let mut bench = Bench::default();
    let (table, plan) = table(&bench);
    let left = leave(&table.path, &plan.id, MINUTES);
    bench.context.read_only = true;
    assert_eq!(clean(&bench, &table.path, None, false).operations.len(), 1);
    let error = refused(block_on(left_overs(&bench.context, &text(&table.path), None, true)));
    assert_eq!(error.kind, ErrorKind::Refused);
    assert!(left.exists());
}

#[test]
fn what_cannot_be_removed_is_told_and_the_rest_is_removed() {
    let mut bench = Bench::default();
    let (table, plan) = table(&bench);
    let left = [leave(&table.path, &plan.id, MINUTES), leave(&table.path.join("d=a"), &plan.id, MINUTES)];
    let first = Point { op: Op::Delete, nth: 0, moment: Moment::Before };
    let once = Once::new(first, Fault::Error(std::io::ErrorKind::PermissionDenied));
    bench.context.calls = Calls::watched_by(Arc::new(once));
    let cleaned = clean(&bench, &table.path, None, true);
    assert_eq!((cleaned.removed.len(), cleaned.failed.len()), (1, 1), "{cleaned:?}");
    assert_eq!(left.iter().filter(|path| path.exists()).count(), 1);
}
