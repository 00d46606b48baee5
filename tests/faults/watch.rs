//! Watchers of calls: one that notes them, one that lets one of them go wrong.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use partwise::calls::{Call, Moment, Op, Watcher};

/// The exit code of a process that ended at its fault point.
pub const ENDED: i32 = 86;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails; after it, its answer is lost.
    Error(io::ErrorKind),
    /// The process ends there and then, without any clean-up.
    End,
}

/// The n-th call of a kind, counted from 0, before or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    pub op: Op,
    pub nth: u64,
    pub moment: Moment,
}

/// Lets one call go wrong, once.
#[derive(Debug)]
pub struct Once {
    point: Point,
    fault: Fault,
    seen: AtomicU64,
    pub fired: AtomicBool,
}

impl Once {
    pub fn new(point: Point, fault: Fault) -> Self {
        Self { point, fault, seen: AtomicU64::new(0), fired: AtomicBool::new(false) }
    }
}

impl Watcher for Once {
    fn at(&self, moment: Moment, call: &Call<'_>) -> io::Result<()> {
        if call.op != self.point.op || moment != self.point.moment {
            return Ok(());
        }
        if self.seen.fetch_add(1, Ordering::Relaxed) != self.point.nth {
            return Ok(());
        }
        self.fired.store(true, Ordering::Relaxed);
        go_wrong(self.fault, moment, call)
    }
}

fn go_wrong(fault: Fault, moment: Moment, call: &Call<'_>) -> io::Result<()> {
    match fault {
        Fault::Error(kind) => Err(io::Error::new(kind, format!("{moment:?} {:?}, for a test", call.op))),
        // SAFETY: ends the process; that nothing is cleaned up is what is wanted.
        Fault::End => unsafe { libc::_exit(ENDED) },
    }
}

/// Lets calls go wrong that a rule chooses, from its number among all of them.
pub struct Many<F> {
    rule: F,
    seen: AtomicU64,
    kind: io::ErrorKind,
    pub fired: AtomicU64,
}

impl<F> Many<F> {
    pub fn new(kind: io::ErrorKind, rule: F) -> Self {
        Self { rule, kind, seen: AtomicU64::new(0), fired: AtomicU64::new(0) }
    }
}

impl<F> std::fmt::Debug for Many<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Many")
    }
}

impl<F: Fn(Op, u64) -> bool + Send + Sync> Watcher for Many<F> {
    fn at(&self, moment: Moment, call: &Call<'_>) -> io::Result<()> {
        if moment == Moment::After || !(self.rule)(call.op, self.seen.fetch_add(1, Ordering::Relaxed)) {
            return Ok(());
        }
        self.fired.fetch_add(1, Ordering::Relaxed);
        go_wrong(Fault::Error(self.kind), moment, call)
    }
}

/// Counts the calls of each kind.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<BTreeMap<Op, u64>>);

impl Recorder {
    /// Both moments of every call that was made.
    pub fn points(&self) -> Vec<Point> {
        let counts = self.counts();
        let both = |op, nth| [Moment::Before, Moment::After].map(|moment| Point { op, nth, moment });
        counts.into_iter().flat_map(|(op, n)| (0..n).flat_map(move |nth| both(op, nth))).collect()
    }

    pub fn counts(&self) -> BTreeMap<Op, u64> {
        self.0.lock().expect("nobody panics while counting").clone()
    }
}

impl Watcher for Recorder {
    fn at(&self, moment: Moment, call: &Call<'_>) -> io::Result<()> {
        if moment == Moment::Before {
            *self.0.lock().expect("nobody panics while counting").entry(call.op).or_default() += 1;
        }
        Ok(())
    }
}

/// Several watchers, one after the other; the first error counts.
#[derive(Debug)]
pub struct Chain(pub Vec<Arc<dyn Watcher>>);

impl Watcher for Chain {
    fn at(&self, moment: Moment, call: &Call<'_>) -> io::Result<()> {
        self.0.iter().try_for_each(|watcher| watcher.at(moment, call))
    }
}

/// The first draft of a log entry cannot be made, so that what was staged has
/// to be removed again.
pub fn no_draft() -> Arc<dyn Watcher> {
    let point = Point { op: Op::DraftCreate, nth: 0, moment: Moment::Before };
    Arc::new(Once::new(point, Fault::Error(io::ErrorKind::Other)))
}
