//! Damaged inputs: every one gives its result or an error with its kind. No
//! panic, no hang, no allocation that a number in a file asks for, no write.
//!
//! For each kind of input a child process (this binary again, running
//! [`worker`]) takes a batch under a memory limit and reports on each input.
//! A child that dies or hangs is a failure with the input's seed.
//!
//! Some hundreds of inputs of a kind by default, 10,000 with `PARTWISE_FULL=1`. To see
//! one again: `PARTWISE_MUTATE="footers 17 1"` with `mutate::worker --ignored`.

mod aim;
mod base;
mod child;
mod dice;
mod looks;
mod stage;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `kind first count`
const JOB: &str = "PARTWISE_MUTATE";
/// A file for one line an input.
const REPORT: &str = "PARTWISE_MUTATE_REPORT";
/// Failures that are worth reading at once.
const ENOUGH: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    Commits,
    Checkpoints,
    LastCheckpoint,
    Footers,
    Vectors,
    Plans,
    Configs,
    Journal,
}

impl Damage {
    const ALL: [(&'static str, Damage); 8] = [
        ("commits", Damage::Commits),
        ("checkpoints", Damage::Checkpoints),
        ("last-checkpoint", Damage::LastCheckpoint),
        ("footers", Damage::Footers),
        ("vectors", Damage::Vectors),
        ("plans", Damage::Plans),
        ("configs", Damage::Configs),
        ("journal", Damage::Journal),
    ];
}

/// The child: does nothing unless a parent asks.
#[test]
#[ignore = "the child process of the other tests here"]
fn worker() {
    let job = std::env::var(JOB).unwrap_or_default();
    let mut words = job.split(' ');
    let damage = words.next().and_then(|name| Damage::ALL.iter().find(|(n, _)| *n == name));
    let mut number = || words.next().and_then(|n| n.parse::<u64>().ok());
    let (Some((_, damage)), Some(first), Some(count)) = (damage, number(), number()) else {
        println!("{JOB}=\"kind first count\" says what to do");
        return;
    };
    child::run(*damage, first..first + count, std::env::var_os(REPORT).as_deref().map(Path::new));
}

/// What became of each input: `ok`, an error's kind, or what must not happen.
#[derive(Debug, Default)]
struct Tally {
    outcomes: BTreeMap<String, u64>,
    failures: Vec<String>,
    done: u64,
}

impl Tally {
    /// A line is `seed<TAB>outcome<TAB>detail`; the outcome `!…` is a failure.
    fn read(&mut self, kind: &str, report: &str) -> Option<u64> {
        let mut last = None;
        for line in report.lines() {
            let mut parts = line.splitn(3, '\t');
            let seed = parts.next().and_then(|n| n.parse::<u64>().ok());
            let (Some(seed), Some(outcome)) = (seed, parts.next()) else { continue };
            if outcome == "begun" {
                last = Some(seed);
                continue;
            }
            last = None;
            self.done += 1;
            *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
            if outcome.starts_with('!') {
                self.failures.push(format!("{kind} {seed}: {outcome} {}", parts.next().unwrap_or_default()));
            }
        }
        last
    }
}

fn damaged(damage: Damage, by_default: u64) {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let count = if full { 10_000 } else { by_default };
    let name = Damage::ALL.iter().find(|(_, d)| *d == damage).map(|(n, _)| *n).expect("every kind has a name");
    let folder = tempfile::tempdir().expect("a folder for the reports");
    let (mut tally, mut first, began) = (Tally::default(), 0, Instant::now());
    while first < count && tally.failures.len() < ENOUGH {
        let report = folder.path().join(format!("{first}"));
        let status = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "mutate::worker", "--ignored", "--nocapture", "--test-threads=1"])
            .env(JOB, format!("{name} {first} {}", count - first))
            .env(REPORT, &report)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("a child process");
        let said = fs::read_to_string(&report).unwrap_or_default();
        let before = tally.done;
        let dead = tally.read(name, &said);
        if let Some(seed) = dead {
            let detail = said.lines().last().unwrap_or_default();
            tally.failures.push(format!("{name} {seed}: the child died ({status}) {detail}"));
            first = seed + 1;
            continue;
        }
        assert!(status.success(), "the child of {name} ended with {status} after {} inputs", tally.done - before);
        first = count;
    }
    println!("{name}: {} inputs in {:.0?}: {:?}", tally.done, began.elapsed(), tally.outcomes);
    assert!(
        tally.failures.is_empty(),
        "{} inputs went wrong (PARTWISE_MUTATE=\"KIND SEED 1\" shows one again):\n{}",
        tally.failures.len(),
        tally.failures.join("\n")
    );
    assert_eq!(tally.done, count);
    // Whoever cannot read `_last_checkpoint` lists the log instead.
    if damage == Damage::LastCheckpoint {
        return;
    }
    let errors: u64 = tally.outcomes.iter().filter(|(what, _)| *what != "ok").map(|(_, n)| n).sum();
    assert!(errors * 10 >= count, "only {errors} of {count} inputs were noticed: the damage is too small");
}

/// Longer than any input takes on a busy machine.
const WALL: Duration = Duration::from_secs(90);

#[test]
fn log_commits() {
    damaged(Damage::Commits, 400);
}

#[test]
fn checkpoints() {
    damaged(Damage::Checkpoints, 300);
}

#[test]
fn last_checkpoint() {
    damaged(Damage::LastCheckpoint, 150);
}

#[test]
fn parquet_footers() {
    damaged(Damage::Footers, 400);
}

#[test]
fn deletion_vectors() {
    damaged(Damage::Vectors, 300);
}

#[test]
fn plan_files() {
    damaged(Damage::Plans, 400);
}

#[test]
fn configs() {
    damaged(Damage::Configs, 400);
}

#[test]
fn journal_entries() {
    damaged(Damage::Journal, 200);
}
