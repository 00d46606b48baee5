//! What the journal says after a crash.

use partwise::journal::{Entry, Journal, Outcome};
use partwise::ops::{Strategy, recover};

use crate::support::{Bench, Kind, Shape, block_on, i, s};

#[test]
fn an_interrupted_operation_is_settled_by_the_tables_history() {
    let bench = Bench::default();
    let shape = Shape::new(&[("d", Kind::String), ("v", Kind::Integer)], &["d"]);
    let table = bench.table(shape.clone(), &[vec![s("a"), i(1)]]);
    let source = bench.source("s", &shape.columns, &[vec![s("a"), i(2)]]);
    let (plan, _) = bench.run(&table.path, &source, &[], Strategy::Overwrite);

    // As the files would stand had the process died: once after its commit,
    // once while it staged. A third one is still running.
    let journal = Journal::new(&bench.context.state_dir);
    let done = journal.find(&plan.id).unwrap().unwrap();
    let open = Entry { finished_at: None, version_after: None, undo: None, ..done.clone() };
    journal.write(&Entry { outcome: Outcome::Committing, ..open.clone() }).unwrap();
    let staging = Entry { id: "6f2c1a54-0000-4000-8000-000000000001".into(), outcome: Outcome::Intent, ..open.clone() };
    let running = Entry { id: "6f2c1a54-0000-4000-8000-000000000002".into(), ..staging.clone() };
    let held = journal.hold(&running.id).unwrap();
    journal.write(&staging).unwrap();
    journal.write(&running).unwrap();

    assert_eq!(block_on(recover(&bench.context)).unwrap().len(), 2);
    let settled = |id: &str| journal.find(id).unwrap().unwrap();
    let after = settled(&plan.id);
    assert_eq!((after.outcome, after.version_after, after.undo), (Outcome::Committed, Some(1), done.undo));
    let lost = settled(&staging.id);
    assert_eq!((lost.outcome, lost.version_after), (Outcome::Failed, None));
    assert!(lost.message.unwrap().contains("the table was not changed"));
    assert_eq!(settled(&running.id), running);
    assert!(block_on(recover(&bench.context)).unwrap().is_empty());
    // The process id stays in use, by this very test; the lock is what counts.
    drop(held);
    assert_eq!(block_on(recover(&bench.context)).unwrap().len(), 1);
    assert_eq!(settled(&running.id).outcome, Outcome::Failed);
}
