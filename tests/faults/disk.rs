//! Disks that fill up, folders that turn read-only, stores that fail now and then.

use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use partwise::calls::{Op, Watcher};
use partwise::error::ErrorKind;
use partwise::ops::{self, JournalOutcome, Strategy};

use super::scene::{ALL, Ending, Scene};
use super::watch::{Many, Recorder};
use super::{Dice, fast_folder, full, in_parallel};
use crate::support::replay::newest;
use crate::support::road::refused;
use crate::support::{Bench, Kind, Row, Shape, s};

/// A mount that ends with its scope.
struct Mounted(PathBuf);

impl Mounted {
    /// `None`, and a word about it, where this user may not mount.
    fn new(arguments: &[&str], at: &Path) -> Option<Mounted> {
        std::fs::create_dir_all(at).expect("a folder to mount at");
        let done = Command::new("mount").args(arguments).arg(at).output();
        if done.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Mounted(at.to_owned()));
        }
        println!("skipped: mount {arguments:?} is not allowed here");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(done.is_ok_and(|status| status.success()) || std::thread::panicking(), "umount {}", self.0.display());
    }
}

type Rule = fn(Op) -> bool;

fn watcher(kind: Io, rule: Rule) -> Arc<dyn Watcher> {
    Arc::new(Many::new(kind, move |op, _| rule(op)))
}

#[test]
fn a_table_folder_that_takes_no_more_writes() {
    let writes: [(&str, Rule); 3] = [
        ("data files", |op| matches!(op, Op::Put | Op::PutBegin | Op::PutPart | Op::PutComplete)),
        ("log drafts", |op| matches!(op, Op::DraftCreate | Op::DraftWrite | Op::Put)),
        ("flushes", |op| matches!(op, Op::SyncFile | Op::SyncFolder)),
    ];
    let kinds =
        [(Io::StorageFull, "full"), (Io::PermissionDenied, "may not write"), (Io::ReadOnlyFilesystem, "read-only")];
    for (kind, word) in kinds {
        for (what, rule) in writes {
            let scene = Scene::new("merge");
            let run = scene.run(Some(watcher(kind, rule)));
            let said = run.apply();
            let error = said.as_ref().expect_err("nothing can be written");
            assert_eq!(error.kind, ErrorKind::Storage, "{what}: {}", error.full_message());
            let hint = error.hint.as_deref().unwrap_or_default();
            assert!(hint.contains(word), "{what}, {kind}: {} / {hint}", error.full_message());
            assert_eq!(run.check(&scene, Some(&said)), Ok(Ending::Old), "{what}, {kind}");
        }
    }
}

#[test]
fn without_a_journal_nothing_starts() {
    let steps: [Op; 6] =
        [Op::JournalFolder, Op::JournalLock, Op::JournalCreate, Op::JournalWrite, Op::JournalSync, Op::JournalRename];
    for (kind, word) in [(Io::StorageFull, "full"), (Io::PermissionDenied, "may not write")] {
        for step in steps {
            let scene = Scene::new("append");
            let recorder = Arc::new(Recorder::default());
            let counted = Arc::<Recorder>::clone(&recorder);
            let many = Many::new(kind, move |op, _| {
                let call = partwise::calls::Call { op, what: "" };
                counted.at(partwise::calls::Moment::Before, &call).expect("counting never fails");
                op == step
            });
            let run = scene.run(Some(Arc::new(many)));
            let said = run.apply();
            let error = said.as_ref().expect_err("the journal cannot be written");
            assert_eq!(error.kind, ErrorKind::Storage);
            assert!(error.hint.as_deref().is_some_and(|h| h.contains(word)), "{step:?}: {error:?}");
            let counts = recorder.counts();
            assert!(!counts.contains_key(&Op::Put) && !counts.contains_key(&Op::DraftCreate), "{step:?}: {counts:?}");
            assert_eq!(run.check(&scene, Some(&said)), Ok(Ending::Old), "{step:?}");
        }
    }
}

/// The journal fails after the commit: the commit is reported all the same,
/// with a warning, and the next start writes down how it ended.
#[test]
fn a_journal_that_fails_after_the_commit_hides_nothing() {
    let scene = Scene::new("merge");
    let linked = std::sync::atomic::AtomicBool::new(false);
    let many = Many::new(Io::StorageFull, move |op, _| {
        linked.fetch_or(op == Op::DraftLink, Ordering::SeqCst);
        op == Op::JournalCreate && linked.load(Ordering::SeqCst)
    });
    let run = scene.run(Some(Arc::new(many)));
    let said = run.apply();
    let report = said.as_ref().expect("the commit stands");
    assert!(report.verified && report.mismatches.is_empty(), "{report:?}");
    assert!(report.warnings.len() == 1 && report.warnings[0].contains("journal"), "{:?}", report.warnings);
    assert_eq!(ops::journal(&run.context).expect("a journal")[0].outcome, JournalOutcome::Committing);
    assert_eq!(run.check(&scene, Some(&said)), Ok(Ending::New));
}

#[test]
fn a_store_that_fails_every_nth_request() {
    let scenes: Vec<Scene> = ALL.into_iter().map(Scene::new).collect();
    let kept = |at: usize, n: u64| full() || (at as u64 + n).is_multiple_of(4);
    let all: Vec<(&Scene, u64)> = scenes
        .iter()
        .enumerate()
        .flat_map(|(at, scene)| (2..=7).filter(move |n| kept(at, *n)).map(move |n| (scene, n)))
        .collect();
    let failures = in_parallel(&all, |(scene, n)| {
        let n = *n;
        // Requests are numbered apart from the journal's calls, which do not fail here.
        let requests = std::sync::atomic::AtomicU64::new(0);
        let many = Arc::new(Many::new(Io::TimedOut, move |op: Op, _| {
            !op.is_of_journal() && (requests.fetch_add(1, Ordering::SeqCst) + 1).is_multiple_of(n)
        }));
        let watcher: Arc<dyn Watcher> = many.clone();
        let run = scene.run(Some(watcher));
        let said = run.apply();
        if many.fired.load(Ordering::Relaxed) == 0 {
            return Err(format!("{}: no request failed", scene.name));
        }
        if let Err(error) = &said
            && (error.full_message().is_empty()
                || !matches!(error.kind, ErrorKind::Storage | ErrorKind::OutcomeUnknown))
        {
            return Err(format!("{} n={n}: {:?} {}", scene.name, error.kind, error.full_message()));
        }
        run.check(scene, Some(&said)).map(drop).map_err(|why| format!("{} n={n}: {why}", scene.name))
    });
    println!("{} runs with a store that fails every n-th request", all.len());
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), all.len(), failures.join("\n"));
}

/// 3 MB of noise for a table of a few rows.
fn large_scene() -> Scene {
    let mut dice = Dice::new(3);
    let shape = Shape::new(&[("d", Kind::String), ("note", Kind::String)], &["d"]);
    let bench = Bench::default();
    let table = bench.table(shape.clone(), &[vec![s("a"), s("old")]]);
    let mut noise = || (0..100).map(|_| format!("{:08x}", dice.below(1 << 32))).collect::<String>();
    let rows: Vec<Row> = (0..4000).map(|k| vec![s(&format!("p{}", k % 8)), s(&noise())]).collect();
    let source = bench.source("s", &shape.columns, &rows);
    let plan = bench.plan(&table.path, &source, &[], Strategy::OverwriteAll);
    Scene::of("a large overwrite", bench, plan, rows)
}

#[test]
fn a_disk_that_fills_up_while_files_are_staged() {
    let scene = large_scene();
    let dir = fast_folder();
    let root = std::fs::canonicalize(dir.path()).expect("a real path");
    let Some(small) = Mounted::new(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &root.join("t")) else { return };
    let run = scene.run_in(dir, None);
    let error = refused(run.apply());
    assert_eq!(error.kind, ErrorKind::Storage, "{}", error.full_message());
    assert!(error.hint.as_deref().is_some_and(|h| h.contains("full")), "{error:?}");
    // With more room the same plan goes through.
    let grown = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&small.0).status();
    assert!(grown.is_ok_and(|status| status.success()), "a tmpfs can grow");
    assert_eq!(run.check(&scene, Some(&Err(error))), Ok(Ending::Old));
    // Before its folder goes.
    drop(small);
}

#[test]
fn a_state_folder_without_room_lets_nothing_start() {
    let scene = Scene::new("overwrite");
    let dir = fast_folder();
    let root = std::fs::canonicalize(dir.path()).expect("a real path");
    let Some(small) = Mounted::new(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &root.join("state")) else { return };
    let run = scene.run_in(dir, None);
    let filler = small.0.join("filler");
    std::fs::write(&filler, vec![0_u8; 1 << 20]).expect_err("the disk is full then");
    let said = run.apply();
    let error = said.as_ref().expect_err("the journal does not fit");
    assert_eq!(error.kind, ErrorKind::Storage);
    assert!(error.hint.as_deref().is_some_and(|h| h.contains("full")), "{error:?}");
    assert_eq!(newest(&run.table), scene.old_version);
    std::fs::remove_file(filler).expect("room again");
    assert_eq!(run.check(&scene, Some(&said)), Ok(Ending::Old));
    drop(small);
}

#[test]
fn a_table_folder_that_turned_read_only() {
    let scene = Scene::new("overwrite");
    let run = scene.run(None);
    let table = run.table.to_str().expect("a path in UTF-8").to_owned();
    let Some(mounted) = Mounted::new(&["--bind", &table], &run.table) else { return };
    let locked = Command::new("mount").args(["-o", "remount,ro,bind"]).arg(&run.table).status();
    assert!(locked.is_ok_and(|status| status.success()), "a bind mount can be read-only");
    let error = refused(run.apply());
    assert_eq!(error.kind, ErrorKind::Storage, "{}", error.full_message());
    assert!(error.hint.as_deref().is_some_and(|h| h.contains("read-only")), "{error:?}");
    let entry = &ops::journal(&run.context).expect("a journal")[0];
    assert_eq!(entry.outcome, JournalOutcome::Failed);
    drop(mounted);
    assert_eq!(run.check(&scene, Some(&Err(error))), Ok(Ending::Old));
}
