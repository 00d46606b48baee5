//! Long applies that are killed at random moments.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use partwise::ops::Strategy;

use super::scene::{Ending, Scene};
use super::{Dice, child, fast_folder, full, in_parallel};
use crate::support::{Bench, Kind, Row, Shape, i, s};

const PHASES: [&str; 4] = ["staging", "committing", "verifying", "journalling"];

#[derive(Debug, Default)]
struct Tally {
    kills: BTreeMap<String, u32>,
    endings: BTreeMap<Ending, u32>,
}

impl Tally {
    fn of_phases(&self, phases: &[&str]) -> Vec<u32> {
        phases.iter().map(|phase| self.kills.get(*phase).copied().unwrap_or_default()).collect()
    }
}

/// Random text in hexadecimal, which compression leaves as long as it is.
fn noise(dice: &mut Dice, words: usize) -> String {
    (0..words).map(|_| format!("{:08x}", dice.below(1 << 32))).collect()
}

/// 60 partitions, and one whose file is so large that it is uploaded in parts.
pub fn long_scene() -> Scene {
    let mut dice = Dice::new(7);
    let shape = Shape::new(&[("d", Kind::String), ("k", Kind::Long), ("note", Kind::String)], &["d"]);
    let bench = Bench::default();
    let old: Vec<Row> = (0..60).map(|k| vec![s(&format!("p{k:02}")), i(k), s("old")]).collect();
    let table = bench.table(shape.clone(), &old);
    let small = (0..3000).map(|k| vec![s(&format!("p{:02}", k % 60)), i(k), s(&noise(&mut dice, 1))]);
    let mut new: Vec<Row> = small.collect();
    new.extend((0..14_000).map(|k| vec![s("large"), i(k), s(&noise(&mut dice, 100))]));
    let source = bench.source("s", &shape.columns, &new);
    let plan = bench.plan(&table.path, &source, &["d", "k"], Strategy::OverwriteAll);
    Scene::of("a long overwrite", bench, plan, new)
}

/// Starts it, kills it so many milliseconds after a phase began for the n-th
/// time, and says in which phase it was then; `None` where it was faster.
fn kill(scene: &Scene, phase: &str, nth: u64, delay: Duration) -> Result<(Option<String>, Ending), String> {
    let run = scene.run(None);
    let orders = fast_folder();
    let mut command = child::command(&orders.path().join("orders"), &[child::go_slowly(&run)]);
    let mut child = command.spawn().map_err(|e| format!("the test binary does not start: {e}"))?;
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let (send, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if let Some((_, phase)) = line.split_once(child::PHASE) {
                // Whoever stopped listening has killed it.
                let _ = send.send(phase.to_owned());
            }
        }
    });
    let (mut seen, mut last) = (0, "opening".to_owned());
    while let Ok(begun) = lines.recv() {
        last = begun;
        if last == phase {
            seen += 1;
            if seen > nth {
                std::thread::sleep(delay);
                break;
            }
        }
    }
    child.kill().map_err(|e| e.to_string())?;
    let status = child.wait().map_err(|e| e.to_string())?;
    reader.join().map_err(|_| "the reader of the child's lines panicked")?;
    while let Ok(begun) = lines.recv() {
        last = begun;
    }
    let killed = status.signal() == Some(libc::SIGKILL);
    let ending = run.check(scene, None).map_err(|why| format!("killed while {last}: {why}"))?;
    Ok((killed.then_some(last), ending))
}

/// The next moment to kill at: a phase, its occurrence, and how long after.
fn moment(n: usize, dice: &mut Dice) -> (&'static str, u64, Duration) {
    let phase = PHASES[n % PHASES.len()];
    let (nth, longest) = match phase {
        "staging" => (0, 600),
        "committing" => (0, 60),
        "verifying" => (0, 300),
        _ => (dice.below(3), 50),
    };
    (phase, nth, Duration::from_millis(dice.below(longest)))
}

#[test]
fn killed_at_a_random_moment_the_table_is_at_the_old_version_or_the_new_one() {
    let (wanted, in_each) = if full() { (200, 20) } else { (20, 2) };
    let scene = long_scene();
    let mut dice = Dice::new(42);
    let tally: Mutex<Tally> = Mutex::default();
    // A child is sometimes faster than its killer, or in the next phase already.
    for round in 0..6 {
        let tried = tally.lock().expect("no check panics").of_phases(&PHASES);
        if tried.iter().sum::<u32>() >= wanted && tried.iter().all(|n| *n >= in_each) {
            break;
        }
        let moments: Vec<_> = (0..if round == 0 { wanted as usize } else { 8 }).map(|n| moment(n, &mut dice)).collect();
        let failures = in_parallel(&moments, |(phase, nth, delay)| {
            let (killed, ending) = kill(&scene, phase, *nth, *delay)?;
            if let Some(phase) = killed {
                let mut tally = tally.lock().expect("no check panics");
                *tally.kills.entry(phase).or_default() += 1;
                *tally.endings.entry(ending).or_default() += 1;
            }
            Ok(())
        });
        assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
    }
    let tally = tally.into_inner().expect("no check panics");
    let counts = format!("killed while: {:?}; then: {:?}", tally.kills, tally.endings);
    println!("{counts}");
    let killed = tally.of_phases(&PHASES);
    assert!(killed.iter().sum::<u32>() >= wanted && killed.iter().all(|n| *n >= in_each), "too few kills: {counts}");
    for ending in [Ending::Old, Ending::New] {
        assert!(tally.endings.contains_key(&ending), "{counts}");
    }
}
