//! After a crash: how operations ended that the journal left open.

use uuid::Uuid;

use super::apply::undo_command_for;
use super::context::Context;
use crate::error::Result;
use crate::journal::{Entry, Journal, Outcome};
use crate::lake::TableStore;
use crate::lake::commit;
use crate::lake::log::segment::LogListing;
use crate::table::value::millis_text;

/// Looks for every unfinished operation whose process is gone in its table's
/// history, and writes into the journal how it ended: the table is at the old
/// version or at the new one. Gives the entries that were settled. An operation
/// whose table cannot be read stays open.
///
/// # Errors
/// `Storage` where the journal cannot be read or written.
pub async fn recover(context: &Context) -> Result<Vec<Entry>> {
    let journal = Journal::new(&context.state_dir);
    let mut settled = Vec::new();
    for mut entry in journal.entries()? {
        let open = matches!(entry.outcome, Outcome::Intent | Outcome::Committing | Outcome::Unknown);
        let running = entry.process.is_some_and(is_running);
        let Some(id) = Uuid::parse_str(&entry.id).ok().filter(|_| open && !running) else { continue };
        let committed = match find(&entry, id).await {
            Ok(committed) => committed,
            Err(error) => {
                tracing::warn!(id = entry.id, %error, "the table of an unfinished operation cannot be read");
                continue;
            }
        };
        match committed {
            Some(version) => {
                entry.outcome = Outcome::Committed;
                entry.version_after = Some(version);
                entry.undo = Some(undo_command_for(&entry.table, &entry.id));
                entry.message = Some("interrupted after its commit, which stands; it was not verified".into());
            }
            None => {
                entry.outcome = Outcome::Failed;
                let left = format!("files named *{}* that it may have staged are not in the table", entry.id);
                entry.message = Some(format!("interrupted before its commit; the table was not changed ({left})"));
            }
        }
        entry.finished_at = Some(millis_text(chrono::Utc::now().timestamp_millis()));
        journal.write(&entry)?;
        settled.push(entry);
    }
    Ok(settled)
}

async fn find(entry: &Entry, id: Uuid) -> Result<Option<u64>> {
    let store = TableStore::open(&entry.table)?;
    let listing = LogListing::read(&store).await?;
    commit::find_operation(&store, &listing, id, entry.version_before).await
}

/// Whether a process of this machine is still there.
pub(super) fn is_running(process: u32) -> bool {
    if process == std::process::id() {
        return true;
    }
    #[cfg(unix)]
    {
        let Ok(pid) = libc::pid_t::try_from(process) else { return false };
        // SAFETY: signal 0 is sent to nobody; it only asks whether the process is there.
        let answer = unsafe { libc::kill(pid, 0) };
        answer == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
    }
    #[cfg(not(unix))]
    {
        false
    }
}
