//! Ctrl-C: the first asks the job to stop, the second ends the process, unless
//! the commit is on its way.

use super::narrate::say;
use crate::progress::{Phase, Progress};

/// What a shell reports for a process that SIGINT ended.
const INTERRUPTED: i32 = 130;

pub fn watch(progress: Progress) {
    tokio::spawn(async move {
        let mut asked = false;
        // Where no handler can be installed, the signal ends the process as it always does.
        while tokio::signal::ctrl_c().await.is_ok() {
            match progress.state().phase {
                Phase::Committing => say("the commit is on its way and cannot be stopped; waiting for its outcome"),
                Phase::Verifying | Phase::Done if !asked => {
                    say("the commit stands; it is being read back. Once more ends at once, without that");
                    asked = true;
                }
                _ if asked => std::process::exit(INTERRUPTED),
                _ => {
                    say("stopping; once more ends at once");
                    progress.cancel();
                    asked = true;
                }
            }
        }
    });
}
