//! After a crash: how operations ended that the journal left open.

use uuid::Uuid;

use super::apply_report::undo_command_for;
use super::context::Context;
use super::entry::application;
use crate::error::{Error, Result};
use crate::journal::{Entry, Journal, Outcome};
use crate::lake::log::segment::LogListing;
use crate::lake::{Snapshot, TableStore, commit};
use crate::table::value::millis_text;

/// How an open operation turned out to have ended.
enum End {
    /// Its version, where the log still has the commit.
    Committed(Option<u64>),
    NotCommitted,
    /// The table's history no longer says.
    Gone(String),
}

/// Looks for every unfinished operation that no process carries out any more
/// in its table's history, and writes into the journal how it ended: the table
/// is at the old version or at the new one. Gives the entries that were
/// settled. An operation whose table cannot be read stays open.
///
/// # Errors
/// `Storage` where the journal cannot be read or written.
pub async fn recover(context: &Context) -> Result<Vec<Entry>> {
    let journal = context.journal();
    let mut settled = Vec::new();
    for entry in journal.entries()?.into_iter().filter(is_settleable) {
        // Whoever has the lock carries it out, or settles it in this moment.
        let Some(_held) = journal.try_hold(&entry.id).map_err(Error::explained)? else { continue };
        settled.extend(settle(context, &journal, &entry).await?);
    }
    if let Err(error) = journal.sweep() {
        tracing::warn!(%error, "drafts of dead processes could not be removed from the journal");
    }
    Ok(settled)
}

/// What is told of a settled operation.
pub fn said(entry: &Entry) -> String {
    let message = entry.message.as_deref().unwrap_or_default();
    // The outcome first: a notice may be cut.
    format!("{message}: {} on {} ({})", entry.operation, entry.table, entry.id)
}

/// Settles earlier attempts of an operation whose lock is held: their process
/// is gone, and what the next attempt does must not be taken for theirs.
///
/// # Errors
/// `Storage` where the journal cannot be read or written.
pub(super) async fn settle_attempts(context: &Context, journal: &Journal, id: &str) -> Result<()> {
    for entry in journal.entries()?.into_iter().filter(|e| e.id == id && is_settleable(e)) {
        settle(context, journal, &entry).await?;
    }
    Ok(())
}

/// A damaged file is listed as an open operation too, but it has no id.
fn is_settleable(entry: &Entry) -> bool {
    entry.is_open() && Uuid::parse_str(&entry.id).is_ok()
}

async fn settle(context: &Context, journal: &Journal, entry: &Entry) -> Result<Option<Entry>> {
    // It may have ended since it was listed.
    let Some(mut entry) = journal.again(entry)?.filter(Entry::is_open) else { return Ok(None) };
    let end = match end_of(context, &entry).await {
        Ok(end) => end,
        Err(error) => {
            tracing::warn!(id = entry.id, %error, "the table of an unfinished operation cannot be read");
            return Ok(None);
        }
    };
    // The lines of a process that saw its own end badly say more than "interrupted".
    let how = if entry.outcome == Outcome::Unknown { "its outcome was unknown" } else { "interrupted" };
    match end {
        End::Committed(version) => {
            entry.outcome = Outcome::Committed;
            entry.version_after = version;
            // What left the folder does not come back.
            let takes_back = version.filter(|_| entry.operation != "vacuum");
            entry.undo = takes_back.map(|_| undo_command_for(&entry.table, &entry.id));
            let commit =
                version.map_or("its commit, no longer in the log,".into(), |v| format!("its commit, version {v},"));
            entry.message = Some(format!("{how}; {commit} stands; it was not verified"));
        }
        End::NotCommitted => {
            entry.outcome = Outcome::Failed;
            entry.version_after = None;
            entry.undo = None;
            entry.message = Some(format!(
                "{how} before its commit; the table was not changed (`partwise clean` lists files that it left)"
            ));
        }
        End::Gone(why) => {
            // Said once; asked again at each start, in case a log or table is put back.
            if entry.interrupted && entry.message.as_ref().is_some_and(|said| said.ends_with(&why)) {
                return Ok(None);
            }
            entry.outcome = Outcome::Unknown;
            entry.message = Some(format!("{how}, and {why}"));
        }
    }
    entry.interrupted = true;
    entry.finished_at = Some(millis_text(chrono::Utc::now().timestamp_millis()));
    journal.write(&entry).map_err(Error::explained)?;
    Ok(Some(entry))
}

async fn end_of(context: &Context, entry: &Entry) -> Result<End> {
    let id = Uuid::parse_str(&entry.id).map_err(|e| {
        Error::new(crate::error::ErrorKind::Internal, format!("{} is no operation's id", entry.id)).because(e)
    })?;
    let store = TableStore::open_watched(&entry.table, context.calls.clone())?;
    let listing = LogListing::read(&store).await?;
    if let Some(version) = commit::find_operation(&store, &listing, id, entry.version_before).await? {
        return Ok(End::Committed(Some(version)));
    }
    let first = listing.commits.keys().next().copied();
    let snapshot = Snapshot::open_listed(&store, listing, None).await?;
    if snapshot.metadata().id != entry.table_id {
        return Ok(End::Gone("another table lies in the folder now".into()));
    }
    if first.is_none_or(|first| first > entry.version_before.saturating_add(1)) {
        if snapshot.transaction(&application(&entry.id)).await?.is_some() {
            return Ok(End::Committed(None));
        }
        return Ok(End::Gone("the table's log no longer reaches back to it".into()));
    }
    Ok(End::NotCommitted)
}
