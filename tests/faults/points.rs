//! Errors and lost answers at every call, in this process.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use partwise::calls::{Calls, Op, Watcher};
use partwise::ops::{self, Context};

use super::in_parallel;
use super::kill::long_scene;
use super::scene::{ALL, Ending, Scene};
use super::watch::{Chain, Fault, Many, Once, Point, Recorder, no_draft};
use crate::support::block_on;

/// Every call that a run of the scene makes, before and after.
pub fn points_of(scene: &Scene) -> Vec<Point> {
    let recorder = Arc::new(Recorder::default());
    let run = scene.run(Some(Arc::<Recorder>::clone(&recorder)));
    let report = run.apply().unwrap_or_else(|e| panic!("{}: {}", scene.name, e.full_message()));
    assert!(report.verified && report.warnings.is_empty(), "{}: {report:?}", scene.name);
    assert_eq!(run.check(scene, Some(&Ok(report))), Ok(Ending::New), "{}", scene.name);
    recorder.points()
}

#[test]
fn an_error_or_a_lost_answer_at_any_call_leaves_the_old_version_or_the_new_one() {
    let scenes: Vec<Scene> = ALL.into_iter().map(Scene::new).collect();
    let mut all: Vec<(&Scene, Point)> = Vec::new();
    let mut of_kind: BTreeMap<Op, usize> = BTreeMap::new();
    for scene in &scenes {
        let points = points_of(scene);
        // Whatever is changed with is on the list of every scene.
        for op in [Op::JournalLock, Op::JournalRename, Op::DraftLink, Op::SyncFolder, Op::JournalUnlock] {
            assert!(points.iter().any(|p| p.op == op), "{} makes no call {op:?}", scene.name);
        }
        for point in points {
            *of_kind.entry(point.op).or_default() += 1;
            all.push((scene, point));
        }
    }
    let endings: Mutex<BTreeMap<Ending, usize>> = Mutex::default();
    let failures = in_parallel(&all, |(scene, point)| {
        let once = Arc::new(Once::new(*point, Fault::Error(io::ErrorKind::Other)));
        let run = scene.run(Some(Arc::<Once>::clone(&once)));
        let said = run.apply();
        let describe = |why: String| format!("{} at {point:?}: {why}", scene.name);
        if !once.fired.load(Ordering::Relaxed) {
            return Err(describe("the call was not made".into()));
        }
        let ending = run.check(scene, Some(&said)).map_err(describe)?;
        *endings.lock().expect("no check panics").entry(ending).or_default() += 1;
        Ok(())
    });
    let counts = format!("{} fault points: {of_kind:?}; {:?}", all.len(), endings.into_inner());
    println!("{counts}");
    assert!(failures.is_empty(), "{} failed; {counts}\n{}", failures.len(), failures.join("\n"));
}

/// A file that is uploaded in parts.
#[test]
fn an_error_or_a_lost_answer_at_any_part_of_an_upload() {
    let scene = long_scene();
    let in_parts = |p: &Point| matches!(p.op, Op::PutBegin | Op::PutPart | Op::PutComplete);
    let points: Vec<Point> = points_of(&scene).into_iter().filter(in_parts).collect();
    for op in [Op::PutBegin, Op::PutPart, Op::PutComplete] {
        assert!(points.iter().any(|p| p.op == op), "no call {op:?}: {points:?}");
    }
    println!("{} fault points in an upload", points.len());
    let failures = in_parallel(&points, |point| {
        let once = Arc::new(Once::new(*point, Fault::Error(io::ErrorKind::Other)));
        let run = scene.run(Some(Arc::<Once>::clone(&once)));
        let said = run.apply();
        let describe = |why: String| format!("{point:?}: {why}");
        if !once.fired.load(Ordering::Relaxed) {
            return Err(describe("the call was not made".into()));
        }
        run.check(&scene, Some(&said)).map(drop).map_err(describe)
    });
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}

/// What has to be removed again after a failure cannot be, or no answer comes.
#[test]
fn an_error_or_a_lost_answer_while_cleaning_up() {
    let scene = Scene::new("overwrite");
    for point in deletes_of(&scene) {
        let once: Arc<dyn Watcher> = Arc::new(Once::new(point, Fault::Error(io::ErrorKind::Other)));
        let run = scene.run(Some(Arc::new(Chain(vec![no_draft(), once]))));
        let said = run.apply();
        let error = said.as_ref().expect_err("the draft could not be made");
        let told = error.message.contains("1 staged file could not be removed");
        assert!(told && error.hint.as_deref().is_some_and(|h| h.contains("partwise clean")), "{error:?}");
        assert_eq!(run.check(&scene, Some(&said)), Ok(Ending::Old), "{point:?}");
    }
}

/// The deletes of a run whose commit fails, before and after.
pub fn deletes_of(scene: &Scene) -> Vec<Point> {
    let recorder = Arc::new(Recorder::default());
    let run = scene.run(Some(Arc::new(Chain(vec![no_draft(), Arc::<Recorder>::clone(&recorder)]))));
    let said = run.apply();
    assert_eq!(run.check(scene, Some(&said)), Ok(Ending::Old));
    let deletes: Vec<Point> = recorder.points().into_iter().filter(|p| p.op == Op::Delete).collect();
    assert!(deletes.len() >= 4, "two files are staged: {deletes:?}");
    deletes
}

/// Settling what was open can itself fail at any call; the next start does it.
#[test]
fn a_recovery_that_fails_is_done_by_the_next_start() {
    let scene = Scene::new("overwrite");
    // The entry stays open: the journal fails after the commit.
    let open = || {
        let linked = AtomicBool::new(false);
        let rule = move |op, _| {
            linked.fetch_or(op == Op::DraftLink, Ordering::SeqCst);
            op == Op::JournalCreate && linked.load(Ordering::SeqCst)
        };
        let run = scene.run(Some(Arc::new(Many::new(io::ErrorKind::Other, rule))));
        let said = run.apply();
        (run, said)
    };
    let (run, _) = open();
    let recorder = Arc::new(Recorder::default());
    let watched = |watcher: Arc<dyn Watcher>, run: &super::scene::Run| {
        let context = Context { calls: Calls::watched_by(watcher), ..run.context.clone() };
        block_on(ops::recover(&context))
    };
    assert_eq!(watched(Arc::<Recorder>::clone(&recorder), &run).map(|settled| settled.len()).ok(), Some(1));
    let points = recorder.points();
    assert!(points.iter().any(|p| p.op == Op::JournalRename), "{points:?}");
    for point in points {
        let (run, said) = open();
        // It may go well all the same, where the call matters little.
        let _ = watched(Arc::new(Once::new(point, Fault::Error(io::ErrorKind::Other))), &run);
        assert_eq!(run.check(&scene, Some(&said)), Ok(Ending::New), "{point:?}");
    }
}

/// Planning only reads: whatever fails, nothing was written anywhere.
#[test]
fn an_error_while_planning_changes_nothing() {
    let scenes: Vec<Scene> = ALL.into_iter().map(Scene::new).collect();
    let mut all: Vec<(&Scene, Point)> = Vec::new();
    for scene in &scenes {
        let recorder = Arc::new(Recorder::default());
        let run = scene.run(Some(Arc::<Recorder>::clone(&recorder)));
        scene.plan_in(&run).unwrap_or_else(|e| panic!("{}: {}", scene.name, e.full_message()));
        let points = recorder.points();
        assert!(points.len() > 5 && points.iter().all(|p| p.op.only_reads()), "{}: {points:?}", scene.name);
        all.extend(points.into_iter().map(|point| (scene, point)));
    }
    let failures = in_parallel(&all, |(scene, point)| {
        let once = Arc::new(Once::new(*point, Fault::Error(io::ErrorKind::Other)));
        let run = scene.run(Some(Arc::<Once>::clone(&once)));
        let planned = scene.plan_in(&run);
        let describe = |why: String| format!("{} planned with {point:?}: {why}", scene.name);
        if !once.fired.load(Ordering::Relaxed) {
            return Err(describe("the call was not made".into()));
        }
        let state = run.context.state_dir.exists();
        match (planned, run.ending(scene).map_err(describe)?) {
            // Where something else can be read instead, the plan is the same.
            (Ok(plan), Ending::Old) if plan.rows == scene.plan.rows && !state => Ok(()),
            (Err(error), Ending::Old) if !error.full_message().is_empty() && !state => Ok(()),
            (planned, ending) => Err(describe(format!("{ending:?}, {:?}", planned.map(|p| p.rows)))),
        }
    });
    println!("{} fault points while planning", all.len());
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}
