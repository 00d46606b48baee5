//! The calls that change or read a table's store and the journal, one by one.
//!
//! Whoever reaches the store or the journal says so here, before and after.
//! Usually nobody listens, and it costs a look at an empty pointer. Tests
//! listen: they count the calls, let one fail, lose its answer, slow it down or
//! end the process there.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Makes the enum and the list of all from one list.
macro_rules! ops {
    ($($(#[$doc:meta])* $op:ident,)*) => {
        /// What a call does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $($(#[$doc])* $op,)*
        }

        impl Op {
            pub const ALL: &[Op] = &[$(Op::$op),*];
        }
    };
}

ops! {
    Get,
    Head,
    List,
    Put,
    /// A larger file goes in parts: begun, part by part, completed or given up.
    PutBegin,
    PutPart,
    PutComplete,
    PutAbort,
    Copy,
    Delete,
    /// The draft of a log entry on a local disk.
    DraftCreate,
    DraftWrite,
    DraftSync,
    /// The draft gets the entry's name: the compare-and-swap.
    DraftLink,
    DraftRemove,
    SyncFile,
    SyncFolder,
    JournalFolder,
    JournalLock,
    JournalUnlock,
    JournalCreate,
    JournalWrite,
    JournalSync,
    JournalRename,
    JournalSyncFolder,
    JournalList,
    JournalRead,
}

impl Op {
    /// Whether it only looks.
    pub fn only_reads(self) -> bool {
        matches!(self, Op::Get | Op::Head | Op::List | Op::JournalList | Op::JournalRead)
    }

    pub fn is_of_journal(self) -> bool {
        use Op::*;
        matches!(
            self,
            JournalFolder
                | JournalLock
                | JournalUnlock
                | JournalCreate
                | JournalWrite
                | JournalSync
                | JournalRename
                | JournalSyncFolder
                | JournalList
                | JournalRead
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Moment {
    Before,
    /// It went well; an error now is an answer that was lost on its way.
    After,
}

/// One call and what it is about: a path of the store or of the disk.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub op: Op,
    pub what: &'a str,
}

/// Somebody who listens.
pub trait Watcher: Debug + Send + Sync {
    /// # Errors
    /// What the caller shall see instead of going on.
    fn at(&self, moment: Moment, call: &Call<'_>) -> io::Result<()>;
}

/// Cheap to clone; by default nobody listens.
#[derive(Debug, Clone, Default)]
pub struct Calls(Option<Arc<dyn Watcher>>);

impl Calls {
    pub fn watched_by(watcher: Arc<dyn Watcher>) -> Self {
        Self(Some(watcher))
    }

    pub fn is_watched(&self) -> bool {
        self.0.is_some()
    }

    /// # Errors
    /// The watcher's.
    pub fn at(&self, moment: Moment, op: Op, what: &str) -> io::Result<()> {
        match &self.0 {
            None => Ok(()),
            Some(watcher) => watcher.at(moment, &Call { op, what }),
        }
    }

    /// Makes a call on the local disk, with a word before and one after.
    ///
    /// # Errors
    /// The call's, else the watcher's.
    pub fn around<T>(&self, op: Op, what: &Path, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.0.is_none() {
            return call();
        }
        let what = what.to_string_lossy();
        self.at(Moment::Before, op, &what)?;
        let done = call()?;
        self.at(Moment::After, op, &what)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct FailsAt(Moment);

    impl Watcher for FailsAt {
        fn at(&self, moment: Moment, call: &Call<'_>) -> io::Result<()> {
            if moment == self.0 { Err(io::Error::other(format!("{:?} {}", call.op, call.what))) } else { Ok(()) }
        }
    }

    #[test]
    fn an_error_before_keeps_the_call_from_being_made_and_one_after_does_not() {
        for (moment, made) in [(Moment::Before, false), (Moment::After, true)] {
            let calls = Calls::watched_by(Arc::new(FailsAt(moment)));
            let mut done = false;
            let answer = calls.around(Op::SyncFile, Path::new("a"), || {
                done = true;
                Ok(())
            });
            assert_eq!(answer.unwrap_err().to_string(), "SyncFile a");
            assert_eq!(done, made);
        }
        assert_eq!(Calls::default().around(Op::SyncFile, Path::new("a"), || Ok(7)).unwrap(), 7);
    }
}
