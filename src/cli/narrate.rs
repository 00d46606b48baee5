//! What goes to standard error while a command runs.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
            let mut pace = Pace::default();
            while states.changed().await.is_ok() {
                let state = *states.borrow_and_update();
                let speed = pace.of(&state, Instant::now());
                if *shared.lock().unwrap_or_else(PoisonError::into_inner) {
                    write(&format!("\r\x1b[K{}{speed}", line(&state)));
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

/// How fast a phase goes, and when it should end.
#[derive(Default)]
struct Pace {
    began: Option<(Phase, Instant)>,
}

impl Pace {
    /// `  12.3 MB/s  40 s left`; nothing while there is too little to tell by.
    fn of(&mut self, state: &ProgressState, now: Instant) -> String {
        /// Earlier the rate says little.
        const FIRST: Duration = Duration::from_secs(2);
        let began = match self.began {
            Some((phase, at)) if phase == state.phase => at,
            _ => {
                self.began = Some((state.phase, now));
                now
            }
        };
        let elapsed = now.duration_since(began);
        if elapsed < FIRST || state.bytes_done == 0 || state.bytes_total == 0 {
            return String::new();
        }
        let rate = state.bytes_done as f64 / elapsed.as_secs_f64();
        let left = state.bytes_total.saturating_sub(state.bytes_done) as f64 / rate;
        format!("  {}/s  {} left", bytes(rate as u64), duration(left.ceil() as u64))
    }
}

/// `40 s`, `3 min`, `2 h 5 min`
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_told_once_it_means_something() {
        let mut pace = Pace::default();
        let (start, half) = (Instant::now(), ProgressState { bytes_done: 50, bytes_total: 100, ..Default::default() });
        let state = |phase| ProgressState { phase, ..half };
        assert_eq!(pace.of(&state(Phase::Reading), start), "");
        assert_eq!(pace.of(&state(Phase::Reading), start + Duration::from_secs(1)), "");
        let said = pace.of(&state(Phase::Reading), start + Duration::from_secs(10));
        assert!(said.ends_with("/s  10 s left"), "{said}");
        let next = pace.of(&state(Phase::Staging), start + Duration::from_secs(11));
        assert_eq!(next, "", "a new phase begins anew");
        assert_eq!(
            (duration(119), duration(180), duration(7_500)),
            ("119 s".into(), "3 min".into(), "2 h 5 min".into())
        );
    }
}
