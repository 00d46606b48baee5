//! Cancelling, and the same plan twice at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use partwise::calls::{Call, Moment, Op, Watcher};
use partwise::error::ErrorKind;
use partwise::ops;
use partwise::progress::Progress;

use super::scene::{Ending, Run, Scene};
use crate::support::block_on;
use crate::support::road::override_all;

/// A person who cancels right before a call.
#[derive(Debug)]
struct Cancels {
    at: Op,
    progress: Progress,
    done: AtomicBool,
}

impl Watcher for Cancels {
    fn at(&self, moment: Moment, call: &Call<'_>) -> std::io::Result<()> {
        if moment == Moment::Before && call.op == self.at {
            self.progress.cancel();
            self.done.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn a_cancel_counts_until_the_commit_is_sent_and_not_after() {
    for (at, ending) in [
        (Op::Put, Ending::Old),
        (Op::SyncFile, Ending::Old),
        (Op::DraftCreate, Ending::New),
        (Op::DraftLink, Ending::New),
        (Op::DraftRemove, Ending::New),
    ] {
        let scene = Scene::new("merge");
        let cancels = Arc::new(Cancels { at, progress: Progress::default(), done: AtomicBool::new(false) });
        let run = scene.run(Some(Arc::<Cancels>::clone(&cancels)));
        let said = block_on(ops::apply(&run.context, &run.plan, &override_all(&run.plan), &cancels.progress));
        assert!(cancels.done.load(Ordering::Relaxed), "{at:?} was not called");
        match (&said, ending) {
            (Err(error), Ending::Old) => assert_eq!(error.kind, ErrorKind::Cancelled, "{at:?}"),
            (Ok(report), Ending::New) => assert!(report.verified, "{at:?}: {report:?}"),
            _ => panic!("{at:?}: {said:?}"),
        }
        assert_eq!(run.check(&scene, Some(&said)), Ok(ending), "{at:?}");
    }
}

/// Waits for its twin at a call, so that both are in the middle of it.
#[derive(Debug)]
struct Meets {
    barrier: std::sync::Barrier,
    /// Whoever lost asks again, and must not wait for its twin then.
    came: AtomicU32,
}

impl Watcher for Meets {
    fn at(&self, moment: Moment, call: &Call<'_>) -> std::io::Result<()> {
        if moment == Moment::Before && call.op == Op::JournalLock && self.came.fetch_add(1, Ordering::Relaxed) < 2 {
            self.barrier.wait();
        }
        Ok(())
    }
}

#[test]
fn the_same_plan_twice_at_once_is_carried_out_once() {
    for _ in 0..10 {
        let scene = Scene::new("append");
        let meets: Arc<dyn Watcher> = Arc::new(Meets { barrier: std::sync::Barrier::new(2), came: AtomicU32::new(0) });
        let run: Run = scene.run(None);
        let context = ops::Context { calls: partwise::calls::Calls::watched_by(meets), ..run.context.clone() };
        let apply = |context: &ops::Context| {
            block_on(ops::apply(context, &run.plan, &override_all(&run.plan), &Progress::default()))
        };
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(|| apply(&context));
            let other = scope.spawn(|| apply(&context));
            (one.join().expect("no panic"), other.join().expect("no panic"))
        });
        let (done, lost): (Vec<_>, Vec<_>) = [one, other].into_iter().partition(Result::is_ok);
        assert_eq!((done.len(), lost.len()), (1, 1), "{done:?} {lost:?}");
        let error = lost.into_iter().find_map(Result::err).expect("one lost");
        assert!(matches!(error.kind, ErrorKind::Conflict | ErrorKind::StalePlan), "{}", error.full_message());
        assert_eq!(run.check(&scene, done.first()), Ok(Ending::New));
    }
}
