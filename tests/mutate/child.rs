//! The child process: a memory limit, a watchdog, one input after the other.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::dice::Dice;
use super::stage::{Seen, Stage};
use super::{Damage, WALL};

/// More than the process has when it starts, in bytes.
const MEMORY: u64 = 2 << 30;

/// Where panics happened, also those that were caught.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Milliseconds after the start at which the input on the table was begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

pub fn run(damage: Damage, seeds: Range<u64>, report: Option<&Path>) {
    let mut stage = Stage::new(damage);
    // One clean pass first: what is loaded lazily is loaded, and the base is sound.
    let clean = stage.look_clean();
    assert!(clean.is_ok(), "the undamaged input: {clean:?}");
    limit_memory();
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let said = info.payload_as_str().unwrap_or("?").replace(['\n', '\t'], " ");
        if let Ok(mut panics) = PANICS.lock() {
            panics.push(format!("{said} at {place}"));
        }
    }));
    let start = Instant::now();
    let mut out = report.map(|path| File::create(path).expect("the report's file"));
    watch(start);
    for seed in seeds {
        BEGUN.store(u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
        let mut dice = Dice::new(seed);
        let (input, what) = stage.damage(&mut dice);
        let line = format!("{seed}\tbegun\t{}\n", what.replace(['\n', '\t'], " "));
        tell(&mut out, &line);
        let outcome = catch_unwind(AssertUnwindSafe(|| stage.look(&input, &mut dice)));
        let panics = PANICS.lock().map(|mut all| std::mem::take(&mut *all)).unwrap_or_default();
        let (word, detail) = match outcome {
            Err(_) => ("!panic".to_owned(), panics.join("; ")),
            Ok(Seen::Fine) => ("ok".into(), String::new()),
            Ok(Seen::Refused(kind, said)) if kind == "Internal" => ("!Internal".into(), said),
            Ok(Seen::Refused(kind, said)) => (kind, said),
            Ok(Seen::Wrong(said)) => ("!wrong".into(), said),
        };
        let detail = format!("{detail} | {what}").replace(['\n', '\t'], " ");
        let detail: String = detail.chars().take(600).collect();
        tell(&mut out, &format!("{seed}\t{word}\t{detail}\n"));
    }
}

fn tell(out: &mut Option<File>, line: &str) {
    match out {
        Some(file) => file.write_all(line.as_bytes()).expect("the report can be written"),
        None => print!("{line}"),
    }
}

/// Ends the process, and so names its input, where one takes too long.
fn watch(start: Instant) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let begun = Duration::from_millis(BEGUN.load(Ordering::SeqCst));
            if start.elapsed().saturating_sub(begun) > WALL {
                eprintln!("an input takes longer than {WALL:?}");
                std::process::exit(97);
            }
        }
    });
}

/// An allocation beyond the limit fails, which ends the process.
fn limit_memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmSize:")).unwrap_or_default();
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4 << 20);
    let limit = libc::rlimit { rlim_cur: kib * 1024 + MEMORY, rlim_max: kib * 1024 + MEMORY };
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both only set limits of this process, from values on the stack.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) | libc::setrlimit(libc::RLIMIT_CORE, &none) };
    assert_eq!(set, 0, "the memory limit could not be set");
}
