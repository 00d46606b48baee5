//! Values that arrive later, and lists of which only a window is loaded.

use std::time::Duration;

use super::msg::{Clock, Failure, JobId};

/// How long a job may take before a spinner says that it is running.
pub const SPINNER_AFTER: Duration = Duration::from_millis(250);

/// A value that a job loads. The old value stays while a new one is read.
#[derive(Debug, Clone)]
pub struct Load<T> {
    pub value: Option<T>,
    /// When the value arrived.
    pub loaded: Clock,
    pub failure: Option<Failure>,
    job: Option<(JobId, Duration)>,
}

impl<T> Default for Load<T> {
    fn default() -> Self {
        Self { value: None, loaded: Clock::default(), failure: None, job: None }
    }
}

impl<T> Load<T> {
    /// Waits for a job from now on; answers of any earlier one are stale.
    pub fn wait(&mut self, job: JobId, now: Clock) {
        self.job = Some((job, now.running));
        self.failure = None;
    }

    pub fn waits_for(&self, job: JobId) -> bool {
        self.job.is_some_and(|(id, _)| id == job)
    }

    pub fn is_loading(&self) -> bool {
        self.job.is_some()
    }

    pub fn job(&self) -> Option<JobId> {
        self.job.map(|(id, _)| id)
    }

    /// When the running job was started.
    pub fn started(&self) -> Option<Duration> {
        self.job.map(|(_, started)| started)
    }

    /// Whether nothing was ever asked for.
    pub fn is_untouched(&self) -> bool {
        self.value.is_none() && self.job.is_none() && self.failure.is_none()
    }

    pub fn finish(&mut self, value: T, now: Clock) {
        self.value = Some(value);
        self.loaded = now;
        self.failure = None;
        self.job = None;
    }

    pub fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.job = None;
    }

    /// Whether the spinner is due.
    pub fn spins(&self, now: Clock) -> bool {
        self.job.is_some_and(|(_, started)| now.running.saturating_sub(started) >= SPINNER_AFTER)
    }

    /// Whether an old value is shown while a new one is read.
    pub fn is_stale(&self) -> bool {
        self.value.is_some() && self.job.is_some()
    }
}

/// A list of which one window is loaded.
#[derive(Debug, Clone)]
pub struct Window<T> {
    pub offset: u64,
    pub rows: Vec<T>,
    /// Rows in all, as far as known.
    pub total: u64,
    /// Whether there are more rows than `total`.
    pub more: bool,
}

impl<T> Default for Window<T> {
    fn default() -> Self {
        Self { offset: 0, rows: Vec::new(), total: 0, more: false }
    }
}

/// Rows that are asked for at once.
pub const PAGE: usize = 200;

impl<T> Window<T> {
    pub fn get(&self, index: usize) -> Option<&T> {
        let at = u64::try_from(index).ok()?.checked_sub(self.offset)?;
        self.rows.get(usize::try_from(at).ok()?)
    }

    /// Rows that a cursor can move over: one more than known where more follow.
    pub fn len(&self) -> usize {
        usize::try_from(self.total + u64::from(self.more)).unwrap_or(usize::MAX)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset to ask for so that the rows from `top` on can be shown;
    /// `None` where they are loaded.
    pub fn missing(&self, top: usize, height: usize) -> Option<u64> {
        let last = (top + height.max(1)).min(self.len());
        let absent = (top..last).find(|i| self.get(*i).is_none())?;
        // A quarter of a page before it, so that going back does not ask again at once.
        let start = if absent > top { top } else { absent.saturating_sub(PAGE / 4) };
        u64::try_from(start).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_an_older_job_are_stale() {
        let mut load = Load::<u8>::default();
        load.wait(JobId(1), Clock::default());
        load.wait(JobId(2), Clock::default());
        assert!(!load.waits_for(JobId(1)));
        assert!(load.waits_for(JobId(2)));
    }

    #[test]
    fn the_spinner_waits_a_quarter_of_a_second() {
        let mut load = Load::<u8>::default();
        load.wait(JobId(1), Clock::default());
        let at = |ms| Clock { running: Duration::from_millis(ms), wall_ms: 0 };
        assert!(!load.spins(at(249)));
        assert!(load.spins(at(250)));
    }

    #[test]
    fn a_window_says_what_it_lacks() {
        let window = Window { offset: 100, rows: vec![0_u8; 200], total: 1000, more: false };
        assert_eq!(window.missing(120, 20), None);
        assert_eq!(window.missing(290, 20), Some(290));
        assert_eq!(window.missing(10, 20), Some(0));
        assert_eq!(Window::<u8>::default().missing(0, 20), None);
    }
}
