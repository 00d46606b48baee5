//! What every screen shares: the clock, the theme, running jobs, messages, and
//! the commands that go out after an update.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::load::Load;
use super::msg::{Clock, Command, Failure, JobId, Request};
use super::theme::Theme;
use crate::error::ErrorKind;
use crate::progress::{Phase, ProgressState};

/// How long a success is shown.
const TOAST: Duration = Duration::from_secs(3);
/// Messages that the activity view keeps.
const KEPT: usize = 200;

#[derive(Debug, Clone)]
pub struct Job {
    pub words: &'static str,
    pub foreground: bool,
    /// Carries a plan out: once it commits, it cannot be called back.
    pub writes: bool,
    /// Goes on although no screen waits for it.
    pub detached: bool,
    pub started: Clock,
    pub progress: ProgressState,
    /// When its present phase began.
    pub phase_since: Clock,
    pub cancelling: bool,
}

impl Job {
    pub fn is_committing(&self) -> bool {
        self.writes && self.progress.phase >= Phase::Committing
    }
}

/// A line of the activity view.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: Clock,
    pub failure: Option<Failure>,
    pub text: String,
}

#[derive(Debug)]
pub struct Core {
    pub clock: Clock,
    /// Cells across and down.
    pub size: (u16, u16),
    pub theme: Theme,
    pub read_only: bool,
    pub jobs: BTreeMap<JobId, Job>,
    /// Newest last.
    pub activity: VecDeque<Entry>,
    /// An error on the screen; it stays until it is dismissed.
    pub error: Option<Failure>,
    toast: Option<(String, Duration)>,
    next_job: u64,
    pub(super) out: Vec<Command>,
}

impl Core {
    pub fn new(theme: Theme, read_only: bool, size: (u16, u16)) -> Self {
        Self {
            clock: Clock::default(),
            size: usable(size),
            theme,
            read_only,
            jobs: BTreeMap::new(),
            activity: VecDeque::new(),
            error: None,
            toast: None,
            next_job: 1,
            out: Vec::new(),
        }
    }

    /// Starts a job and gives back its id.
    pub fn run(&mut self, request: Request) -> JobId {
        let id = JobId(self.next_job);
        self.next_job += 1;
        self.jobs.insert(
            id,
            Job {
                words: request.words(),
                foreground: request.is_foreground(),
                writes: matches!(request, Request::Apply { .. }),
                detached: matches!(
                    request,
                    Request::Settle
                        | Request::SavePlan { .. }
                        | Request::SaveScript { .. }
                        | Request::SaveConfig(_)
                        | Request::Forget(_)
                        | Request::Export { .. }
                ),
                started: self.clock,
                progress: ProgressState::default(),
                phase_since: self.clock,
                cancelling: false,
            },
        );
        self.out.push(Command::Run(id, request));
        id
    }

    /// Starts the job that fills `load`; answers of an earlier one are stale from now on.
    pub fn load<T>(&mut self, load: &mut Load<T>, request: Request) {
        let id = self.run(request);
        load.wait(id, self.clock);
    }

    /// Asks a job to stop. One that is committing goes on.
    pub fn cancel(&mut self, id: JobId) -> bool {
        match self.jobs.get_mut(&id) {
            Some(job) if !job.is_committing() => {
                job.cancelling = true;
                self.out.push(Command::Cancel(id));
                true
            }
            _ => false,
        }
    }

    /// Cancels the jobs that nobody waits for any more.
    pub fn keep_only(&mut self, waited_for: &[JobId]) {
        let left: Vec<JobId> = self
            .jobs
            .iter()
            .filter(|(id, job)| !job.detached && !job.cancelling && !waited_for.contains(id))
            .map(|(id, _)| *id)
            .collect();
        for id in left {
            self.cancel(id);
        }
    }

    /// Takes a job's progress over.
    pub fn progress(&mut self, id: JobId, progress: ProgressState) {
        if let Some(job) = self.jobs.get_mut(&id) {
            if job.progress.phase != progress.phase {
                job.phase_since = self.clock;
            }
            job.progress = progress;
        }
    }

    pub fn is_writing(&self) -> bool {
        self.jobs.values().any(|job| job.writes)
    }

    pub fn is_committing(&self) -> bool {
        self.jobs.values().any(Job::is_committing)
    }

    /// A success: shown for three seconds.
    pub fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.toast = Some((text.clone(), self.clock.running + TOAST));
        self.keep(Entry { at: self.clock, failure: None, text });
    }

    /// An error: shown until dismissed, and kept. Being cancelled is none.
    pub fn fail(&mut self, failure: Failure) {
        if failure.kind == ErrorKind::Cancelled {
            self.say(failure.message);
            return;
        }
        self.keep(Entry { at: self.clock, text: failure.message.clone(), failure: Some(failure.clone()) });
        self.error = Some(failure);
    }

    /// Keeps a failure for the activity view without covering the screen, where
    /// the screen shows it in its own place.
    pub fn note(&mut self, failure: &Failure) {
        if failure.kind != ErrorKind::Cancelled {
            self.keep(Entry { at: self.clock, text: failure.message.clone(), failure: Some(failure.clone()) });
        }
    }

    fn keep(&mut self, entry: Entry) {
        if self.activity.len() == KEPT {
            self.activity.pop_front();
        }
        self.activity.push_back(entry);
    }

    pub fn toast(&self) -> Option<&str> {
        self.toast.as_ref().map(|(text, _)| text.as_str())
    }

    pub fn tick(&mut self, clock: Clock) {
        self.clock = clock;
        if self.toast.as_ref().is_some_and(|(_, until)| *until <= clock.running) {
            self.toast = None;
        }
    }

    /// Whether something on the screen changes with time alone.
    pub fn moves(&self) -> bool {
        self.toast.is_some() || !self.jobs.is_empty()
    }

    pub fn resize(&mut self, size: (u16, u16)) {
        self.size = usable(size);
    }

    /// Rows of a list that fills the screen: all but title, rule, header, status, footer.
    pub fn list_height(&self) -> usize {
        usize::from(self.size.1.saturating_sub(5)).max(1)
    }

    /// The spinner's picture for now.
    pub fn spinner(&self) -> &'static str {
        const FRAMES: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
        FRAMES[(self.clock.running.as_millis() / 100) as usize % FRAMES.len()]
    }
}

/// A terminal that does not know its size is taken as 80×24.
fn usable((columns, rows): (u16, u16)) -> (u16, u16) {
    if columns == 0 || rows == 0 { (80, 24) } else { (columns, rows) }
}
