//! The other side of tests that need processes to die: this test binary once
//! more, with orders.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use partwise::calls::{Call, Moment, Op, Watcher};
use partwise::ops;
use partwise::plan::Plan;
use partwise::progress::Progress;
use serde_json::{Value as Json, json};

use super::scene::{Run, context};
use super::watch::{Chain, Fault, Once, Point, no_draft};
use crate::support::block_on;
use crate::support::road::override_all;

/// Names the file with the orders.
const ORDERS: &str = "PARTWISE_TEST_ORDERS";
const PLAN: &str = "plan.json";
/// How a line of a slow run begins that says in which phase it is.
pub const PHASE: &str = "phase:";

/// An order to end at a point, in a process of its own.
pub fn end_at(run: &Run, point: &Point) -> Json {
    give(run);
    let after = point.moment == Moment::After;
    json!({"dir": run.dir.path(), "op": format!("{:?}", point.op), "nth": point.nth, "after": after})
}

/// The same, after the commit failed.
pub fn end_at_after_failure(run: &Run, point: &Point) -> Json {
    let mut order = end_at(run, point);
    order["failing"] = json!(true);
    order
}

/// An order to go slowly and to say where it is.
pub fn go_slowly(run: &Run) -> Json {
    give(run);
    json!({"dir": run.dir.path(), "slow": true})
}

fn give(run: &Run) {
    let text = serde_json::to_vec(&run.plan).expect("a plan is JSON");
    std::fs::write(run.dir.path().join(PLAN), text).expect("the plan for the child");
}

/// This test binary, which will carry the orders out one after the other.
pub fn command(orders: &Path, list: &[Json]) -> Command {
    std::fs::write(orders, serde_json::to_vec(list).expect("orders are JSON")).expect("the child's orders");
    let mut command = Command::new(std::env::current_exe().expect("this test binary"));
    command.args(["faults::child::carry_out", "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(ORDERS, orders).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// The exit code that a run's process left, once the child is through.
pub fn status(dir: &Path) -> Option<i32> {
    std::fs::read_to_string(dir.join("status")).ok()?.parse().ok()
}

#[test]
#[ignore = "other tests run it in a process of its own"]
fn carry_out() {
    let Some(orders) = std::env::var_os(ORDERS) else { return };
    let orders: Vec<Json> = serde_json::from_slice(&std::fs::read(orders).expect("orders")).expect("orders are JSON");
    for order in orders {
        let dir = PathBuf::from(order["dir"].as_str().expect("a folder"));
        if order["slow"] == true {
            run_in(&dir, Arc::new(Slow::default()));
            continue;
        }
        let name = order["op"].as_str().expect("a call");
        let op = Op::ALL.iter().copied().find(|op| format!("{op:?}") == name).expect("a kind of call");
        let moment = if order["after"] == true { Moment::After } else { Moment::Before };
        let point = Point { op, nth: order["nth"].as_u64().expect("a number"), moment };
        // SAFETY: this process has started no runtime and holds no lock; the
        // child starts its own, and never returns from here.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
        if child == 0 {
            let once: Arc<dyn Watcher> = Arc::new(Once::new(point, Fault::End));
            let failing = order["failing"] == true;
            run_in(&dir, if failing { Arc::new(Chain(vec![no_draft(), once])) } else { once });
            // SAFETY: ends this child, which must not go on with the parent's orders.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: waits for the child from above; the status is ours.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(ended, child, "waitpid: {}", std::io::Error::last_os_error());
        let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) };
        std::fs::write(dir.join("status"), code.to_string()).expect("the child's end");
    }
}

fn run_in(dir: &Path, watcher: Arc<dyn Watcher>) {
    let text = std::fs::read(dir.join(PLAN)).expect("the plan");
    let plan: Plan = serde_json::from_slice(&text).expect("a plan");
    let context = context(dir, Some(watcher));
    // How it ends is what the other side finds out.
    let _ = block_on(ops::apply(&context, &plan, &override_all(&plan), &Progress::default()));
}

/// Takes its time with every call, and says whenever another phase begins.
#[derive(Debug, Default)]
struct Slow {
    /// Entries that the journal was given.
    written: AtomicU64,
    in_log: AtomicU64,
}

impl Slow {
    fn phase(&self) -> &'static str {
        match (self.written.load(Ordering::SeqCst), self.in_log.load(Ordering::SeqCst)) {
            (0, _) => "opening",
            (1, _) => "staging",
            (2, 0) => "committing",
            (2, _) => "verifying",
            _ => "done",
        }
    }
}

impl Watcher for Slow {
    fn at(&self, moment: Moment, call: &Call<'_>) -> std::io::Result<()> {
        let say = |phase: &str| println!("{PHASE}{phase}");
        let journal = call.op.is_of_journal() && !call.op.only_reads();
        match (moment, call.op) {
            (Moment::Before, Op::JournalCreate) => say("journalling"),
            (Moment::After, Op::JournalSyncFolder) if !call.what.ends_with("state") => {
                self.written.fetch_add(1, Ordering::SeqCst);
                say(self.phase());
            }
            (Moment::After, Op::SyncFolder) if call.what.ends_with("_delta_log") => {
                self.in_log.fetch_add(1, Ordering::SeqCst);
                say(self.phase());
            }
            _ => {}
        }
        let pause = if journal || self.phase() == "committing" { 6 } else { 1 };
        std::thread::sleep(Duration::from_millis(pause));
        Ok(())
    }
}
