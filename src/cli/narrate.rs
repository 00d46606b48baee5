//! What goes to standard error while a command runs.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::progress::{Phase, Progress, ProgressState};
use crate::table::number::{bytes, grouped};

const REPAINT: Duration = Duration::from_millis(100);

/// One line to standard error.
pub fn say(text: &str) {
    write(&format!("{text}\n"));
}

/// A standard error that is gone is no reason to fail: there is nobody to tell.
pub fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// The progress line, on a terminal only.
pub struct Narrator {
    /// Locked while a line is painted, so that none is after `hush`.
    painting: Arc<Mutex<bool>>,
}

impl Narrator {
    pub fn follow(progress: &Progress) -> Self {
        let painting = Arc::new(Mutex::new(std::io::stderr().is_terminal()));
        let (shared, mut states) = (painting.clone(), progress.subscribe());
        tokio::spawn(async move {
            while states.changed().await.is_ok() {
                let state = *states.borrow_and_update();
                if *shared.lock().unwrap_or_else(PoisonError::into_inner) {
                    write(&format!("\r\x1b[K{}", line(&state)));
                }
                tokio::time::sleep(REPAINT).await;
            }
        });
        Self { painting }
    }

    /// Removes the line, for a question or the end; nothing is painted until `go_on`.
    pub fn hush(&self) {
        let mut painting = self.painting.lock().unwrap_or_else(PoisonError::into_inner);
        if *painting {
            write("\r\x1b[K");
        }
        *painting = false;
    }

    pub fn go_on(&self) {
        *self.painting.lock().unwrap_or_else(PoisonError::into_inner) = std::io::stderr().is_terminal();
    }
}

impl Drop for Narrator {
    fn drop(&mut self) {
        self.hush();
    }
}

fn line(state: &ProgressState) -> String {
    if state.phase == Phase::Done {
        return String::new();
    }
    let mut text = state.phase.as_str().to_owned();
    if state.files_total > 0 {
        text += &format!("  {}/{} files", grouped(state.files_done), grouped(state.files_total));
    }
    if state.rows_done > 0 {
        text += &format!("  {} rows", grouped(state.rows_done));
    }
    if state.bytes_total > 0 {
        text += &format!("  {} of {}", bytes(state.bytes_done), bytes(state.bytes_total));
    }
    text
}
