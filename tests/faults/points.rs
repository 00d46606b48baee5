//! Errors and lost answers at every call, in this process.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use partwise::calls::Op;

use super::in_parallel;
use super::scene::{ALL, Ending, Scene};
use super::watch::{Fault, Once, Point, Recorder};

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
