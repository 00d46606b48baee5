//! Progress and cancellation of one job, shared between the road and the faces.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind, Result};

/// The named phases of a job, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    #[default]
    Opening,
    Reading,
    Joining,
    Staging,
    /// Cannot be cancelled any more.
    Committing,
    /// Files leave the folder; what is gone does not come back.
    Removing,
    Verifying,
    Done,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Opening => "Opening",
            Phase::Reading => "Reading",
            Phase::Joining => "Joining",
            Phase::Staging => "Staging",
            Phase::Committing => "Committing",
            Phase::Removing => "Removing",
            Phase::Verifying => "Verifying",
            Phase::Done => "Done",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgressState {
    pub phase: Phase,
    pub files_done: u64,
    pub files_total: u64,
    pub rows_done: u64,
    pub bytes_done: u64,
    pub bytes_total: u64,
}

/// A cheap handle; all clones speak of the same job.
#[derive(Debug, Clone)]
pub struct Progress {
    state: Arc<watch::Sender<ProgressState>>,
    cancel: CancellationToken,
}

impl Default for Progress {
    fn default() -> Self {
        Self { state: Arc::new(watch::Sender::new(ProgressState::default())), cancel: CancellationToken::new() }
    }
}

impl Progress {
    pub fn subscribe(&self) -> watch::Receiver<ProgressState> {
        self.state.subscribe()
    }

    pub fn state(&self) -> ProgressState {
        *self.state.borrow()
    }

    /// Enters a phase; its counters start at zero.
    pub fn enter(&self, phase: Phase, files_total: u64, bytes_total: u64) {
        self.state.send_replace(ProgressState { phase, files_total, bytes_total, ..ProgressState::default() });
    }

    pub fn advance(&self, files: u64, rows: u64, bytes: u64) {
        self.state.send_modify(|s| {
            s.files_done += files;
            s.rows_done += rows;
            s.bytes_done += bytes;
        });
    }

    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    pub fn token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// # Errors
    /// `Cancelled` once somebody asked for it.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled; nothing was written to the table"));
        }
        Ok(())
    }
}
