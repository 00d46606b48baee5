//! Processes that end at every call, without any clean-up.

use std::collections::BTreeMap;
use std::sync::Mutex;

use partwise::calls::Op;
use serde_json::Value as Json;

use super::points::{deletes_of, points_of};
use super::scene::{ALL, Ending, Run, Scene};
use super::watch::{ENDED, Point};
use super::{child, fast_folder, full, in_parallel};

/// Children that work at the same time.
const CHILDREN: usize = 2;

/// All of them in the full run. Otherwise the calls that change something, each
/// in every other scene, and a tenth of those that only look.
fn chosen(scene: usize, points: Vec<Point>) -> Vec<Point> {
    let keep = |at: usize, p: &Point| {
        let every = if p.op.only_reads() { 10 } else { 2 };
        full() || (at + scene).is_multiple_of(every)
    };
    points.into_iter().enumerate().filter(|(at, p)| keep(*at, p)).map(|(_, p)| p).collect()
}

#[test]
fn a_process_that_ends_at_any_call_leaves_the_old_version_or_the_new_one() {
    let scenes: Vec<Scene> = ALL.into_iter().map(Scene::new).collect();
    let mut runs: Vec<(&Scene, Point, Run, Json)> = Vec::new();
    let mut of_kind: BTreeMap<Op, usize> = BTreeMap::new();
    for (at, scene) in scenes.iter().enumerate() {
        for point in chosen(at, points_of(scene)) {
            *of_kind.entry(point.op).or_default() += 1;
            let run = scene.run(None);
            let order = child::end_at(&run, &point);
            runs.push((scene, point, run, order));
        }
    }
    // And while a run that failed cleans up.
    for point in deletes_of(&scenes[0]) {
        *of_kind.entry(point.op).or_default() += 1;
        let run = scenes[0].run(None);
        let order = child::end_at_after_failure(&run, &point);
        runs.push((&scenes[0], point, run, order));
    }
    let orders = fast_folder();
    let children: Vec<_> = runs
        .chunks(runs.len().div_ceil(CHILDREN))
        .enumerate()
        .map(|(n, part)| {
            let list: Vec<Json> = part.iter().map(|(.., order)| order.clone()).collect();
            child::command(&orders.path().join(n.to_string()), &list).spawn().expect("the test binary starts")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("the child ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let endings: Mutex<BTreeMap<Ending, usize>> = Mutex::default();
    let failures = in_parallel(&runs, |(scene, point, run, _)| {
        let describe = |why: String| format!("{} at {point:?}: {why}", scene.name);
        let status = child::status(run.dir.path());
        if status != Some(ENDED) {
            return Err(describe(format!("the process ended with {status:?}, not there")));
        }
        let ending = run.check(scene, None).map_err(describe)?;
        *endings.lock().expect("no check panics").entry(ending).or_default() += 1;
        Ok(())
    });
    let counts = format!("{} processes ended: {of_kind:?}; {:?}", runs.len(), endings.into_inner());
    println!("{counts}");
    assert!(failures.is_empty(), "{} failed; {counts}\n{}", failures.len(), failures.join("\n"));
}
