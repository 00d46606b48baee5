//! Who carries an operation out right now: an advisory lock on a file of its
//! own. The system drops it with the process, however that ends, so a free lock
//! is a dead operation; a process id alone may have gone to another program.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Journal;
use crate::calls::{Calls, Op};
use crate::error::{Context, Error, ErrorKind, Result};

/// Somebody else only looks whether it is free, which takes a moment.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of one operation, held until dropped.
#[derive(Debug)]
pub struct Hold {
    file: File,
    path: PathBuf,
    calls: Calls,
}

impl Journal {
    /// Takes the operation's lock for carrying it out.
    ///
    /// # Errors
    /// `Conflict` where another process, or another job of this one, has it;
    /// `Storage` where the state folder takes no lock.
    pub fn hold(&self, id: &str) -> Result<Hold> {
        for _ in 0..TRIES {
            if let Some(hold) = self.try_hold(id)? {
                return Ok(hold);
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::new(ErrorKind::Conflict, format!("the operation {id} is being carried out right now"))
            .hint("Wait for it: `partwise journal` says how it ends."))
    }

    /// The lock, where nobody has it.
    ///
    /// # Errors
    /// `Storage` where the state folder takes no lock.
    pub fn try_hold(&self, id: &str) -> Result<Option<Hold>> {
        self.make_folder()?;
        let path = self.lock_path(id);
        let failed = || format!("cannot lock {}", path.display());
        let calls = &self.calls;
        for _ in 0..TRIES {
            let mut options = File::options();
            options.create(true).truncate(false).write(true);
            let opened = calls.around(Op::JournalLock, &path, || match options.open(&path) {
                Ok(file) => match file.try_lock() {
                    Ok(()) => Ok(Some(file)),
                    Err(TryLockError::WouldBlock) => Ok(None),
                    Err(TryLockError::Error(error)) => Err(error),
                },
                Err(error) => Err(error),
            });
            let Some(file) = opened.context(ErrorKind::Storage, failed)? else { return Ok(None) };
            // Its last holder may have removed the name between the two calls.
            if has_name(&file, &path) {
                return Ok(Some(Hold { file, path, calls: calls.clone() }));
            }
        }
        Ok(None)
    }

    /// Whether somebody has the operation's lock.
    ///
    /// # Errors
    /// `Storage` where that cannot be found out.
    pub fn is_held(&self, id: &str) -> Result<bool> {
        let path = self.lock_path(id);
        let failed = || format!("cannot look at the lock {}", path.display());
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::new(ErrorKind::Storage, failed()).because(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(Error::new(ErrorKind::Storage, failed()).because(error)),
        }
    }

    fn lock_path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{}.lock", super::safe(id)))
    }
}

fn has_name(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| a.ino() == b.ino() && a.dev() == b.dev();
        matches!((file.metadata(), std::fs::metadata(path)), (Ok(a), Ok(b)) if same(&a, &b))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The name goes while the lock is held, so that nobody locks a file without one.
        let done = self.calls.around(Op::JournalUnlock, &self.path, || {
            std::fs::remove_file(&self.path)?;
            self.file.unlock()
        });
        if let Err(error) = done {
            // The lock goes with the file's handle all the same.
            tracing::warn!(path = %self.path.display(), %error, "a lock could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_next_gets_it_after() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        assert!(!journal.is_held("a").unwrap());
        let hold = journal.hold("a").unwrap();
        assert!(journal.is_held("a").unwrap());
        assert!(journal.try_hold("a").unwrap().is_none());
        assert_eq!(journal.hold("a").unwrap_err().kind, ErrorKind::Conflict);
        assert!(journal.try_hold("b").unwrap().is_some());
        drop(hold);
        assert!(!journal.is_held("a").unwrap());
        drop(journal.hold("a").unwrap());
        assert_eq!(std::fs::read_dir(state.path().join("journal")).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_whose_name_was_taken_away_does_not_count() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        let old = journal.hold("a").unwrap();
        std::fs::remove_file(&old.path).unwrap();
        assert!(!has_name(&old.file, &old.path));
        let new = journal.hold("a").unwrap();
        assert!(has_name(&new.file, &new.path) && !has_name(&old.file, &old.path));
    }
}
