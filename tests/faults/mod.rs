//! Nothing is ever lost: every call to the store and to the journal fails,
//! loses its answer, or is the last one of its process; processes are killed at
//! random; disks fill up. Afterwards the table is at the old version or at the
//! new one, with exactly its rows, the journal says which, and what was left
//! over is known and can be removed.

mod abort;
mod child;
mod disk;
mod kill;
mod left_overs;
mod points;
mod scene;
mod together;
mod watch;

use std::path::PathBuf;

use tempfile::TempDir;

/// Whether the long tests run whole.
fn full() -> bool {
    std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1")
}

/// A folder in memory where there is one: thousands of flushes cost nothing there.
fn fast_folder() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

/// The same numbers on every run (xorshift).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Does all of it on a few threads, and gives every failure.
fn in_parallel<T: Sync>(all: &[T], work: impl Fn(&T) -> Result<(), String> + Sync) -> Vec<String> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if let Err(said) = work(one) {
                        failures.lock().expect("no failure panics").push(said);
                    }
                }
            });
        }
    });
    failures.into_inner().expect("no failure panics")
}
