//! The loop: the only place that waits. It turns events, signals, answers and
//! the clock into messages, and carries commands out.

use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream, KeyEventKind, MouseEventKind};
use futures::StreamExt;
use ratatui::layout::Rect;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::app::App;
use super::draw;
use super::jobs::Jobs;
use super::msg::{Clock, Command, Failure, Msg};
use super::terminal::{self, Guard, Screen};
use super::update::update;
use crate::error::{Context as _, ErrorKind, Result};
use crate::ops::Context;

/// Messages that may wait to be drawn.
const WAITING: usize = 256;
/// 30 frames a second at most.
const FRAME: Duration = Duration::from_millis(33);
/// How often the clock is told while something moves.
const TICK: Duration = Duration::from_millis(100);
/// Answers that are taken before the next look at the keyboard.
const BATCH: usize = 64;

struct Loop<'a> {
    app: &'a mut App,
    jobs: Jobs,
    screen: Screen,
    guard: Option<Guard>,
    started: Instant,
    drawn: Instant,
    dirty: bool,
    /// The keyboard has to be opened again (after a suspension).
    reopen: bool,
}

/// Runs until the person quits; gives back the exit code. `workers` is the
/// runtime of the background jobs.
///
/// # Errors
/// `Storage` for a terminal that does not answer.
pub async fn run(app: &mut App, context: Context, workers: &tokio::runtime::Handle) -> Result<u8> {
    let trouble = || "the terminal does not answer".to_owned();
    let guard = Guard::take().context(ErrorKind::Storage, trouble)?;
    let (screen, size) = terminal::screen().context(ErrorKind::Storage, trouble)?;
    app.core.resize(size);
    let (out, mut answers) = mpsc::channel(WAITING);
    let jobs = Jobs::new(workers.clone(), context, out);
    let now = Instant::now();
    let mut state =
        Loop { app, jobs, screen, guard: Some(guard), started: now, drawn: now, dirty: true, reopen: false };
    let result = state.turn(&mut answers).await;
    // From here on the person has the terminal back; a commit may still end.
    drop(state.guard.take());
    // Answers that nobody reads any more must not block the jobs.
    answers.close();
    state.jobs.finish().await;
    result
}

impl Loop<'_> {
    async fn turn(&mut self, answers: &mut mpsc::Receiver<Msg>) -> Result<u8> {
        self.tick();
        self.draw()?;
        if std::env::var_os("PARTWISE_TEST_PANIC").is_some() {
            panic!("PARTWISE_TEST_PANIC is set");
        }
        if let Some(code) = self.take(Msg::Start) {
            return Ok(code);
        }
        let trouble = || "signals cannot be watched".to_owned();
        let mut terminate = signal(SignalKind::terminate()).context(ErrorKind::Internal, trouble)?;
        let mut hang_up = signal(SignalKind::hangup()).context(ErrorKind::Internal, trouble)?;
        let mut interrupt = signal(SignalKind::interrupt()).context(ErrorKind::Internal, trouble)?;
        let mut events = EventStream::new();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            if self.reopen {
                self.reopen = false;
                events = EventStream::new();
            }
            let moves = self.app.core.moves();
            let frame = FRAME.saturating_sub(self.drawn.elapsed());
            let quit = tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(Ok(event)) => self.event(event)?,
                    // The terminal is gone: there is nobody to ask any more.
                    Some(Err(_)) | None => Some(129),
                },
                _ = terminate.recv() => self.take(Msg::Terminate(143)),
                _ = hang_up.recv() => self.take(Msg::Terminate(129)),
                _ = interrupt.recv() => self.take(Msg::Terminate(130)),
                () = tokio::time::sleep(frame), if self.dirty => {
                    self.draw()?;
                    None
                }
                Some(msg) = answers.recv() => self.answers(msg, answers),
                _ = ticks.tick(), if moves => {
                    self.tick();
                    self.dirty = true;
                    None
                }
            };
            if let Some(code) = quit {
                return Ok(code);
            }
        }
    }

    /// A key is answered at once; everything else waits for the next frame.
    fn event(&mut self, event: Event) -> Result<Option<u8>> {
        let msg = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Msg::Key(key),
            Event::Paste(text) => Msg::Paste(text),
            Event::Resize(columns, rows) => {
                if columns > 0 && rows > 0 {
                    let resized = self.screen.resize(Rect::new(0, 0, columns, rows));
                    resized.context(ErrorKind::Storage, || "the terminal does not answer".into())?;
                }
                Msg::Resize(columns, rows)
            }
            Event::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollDown => Msg::Wheel(3),
                MouseEventKind::ScrollUp => Msg::Wheel(-3),
                _ => return Ok(None),
            },
            Event::Key(_) | Event::FocusGained | Event::FocusLost => return Ok(None),
        };
        self.tick();
        let immediate = matches!(msg, Msg::Key(_));
        let quit = self.take(msg);
        if immediate && quit.is_none() {
            self.draw()?;
        }
        Ok(quit)
    }

    fn answers(&mut self, first: Msg, answers: &mut mpsc::Receiver<Msg>) -> Option<u8> {
        self.tick();
        let mut next = Some(first);
        for _ in 0..BATCH {
            let Some(msg) = next else { break };
            if let Some(code) = self.take(msg) {
                return Some(code);
            }
            next = answers.try_recv().ok();
        }
        // The one that was taken out last must not be lost.
        next.and_then(|msg| self.take(msg))
    }

    /// Tells the state what time it is. Time alone never quits.
    fn tick(&mut self) {
        let clock = Clock { running: self.started.elapsed(), wall_ms: chrono::Utc::now().timestamp_millis() };
        let commands = update(self.app, Msg::Tick(clock));
        self.carry_out(commands);
    }

    /// Updates the state and carries the commands out; the exit code ends the loop.
    fn take(&mut self, msg: Msg) -> Option<u8> {
        let commands = update(self.app, msg);
        self.dirty = true;
        self.carry_out(commands)
    }

    fn carry_out(&mut self, commands: Vec<Command>) -> Option<u8> {
        let mut quit = None;
        for command in commands {
            match command {
                Command::Run(id, request) => self.jobs.start(id, request),
                Command::Cancel(id) => self.jobs.cancel(id),
                Command::Quit(code) => quit = Some(code),
                Command::Copy(text) => {
                    if let Err(error) = terminal::copy(&text) {
                        self.trouble(format!("the clipboard could not be reached: {error}"));
                    }
                }
                Command::Suspend => {
                    if let Err(error) = self.suspend() {
                        self.trouble(format!("could not suspend: {error}"));
                    }
                }
            }
        }
        quit
    }

    fn trouble(&mut self, message: String) {
        self.app.core.fail(Failure { kind: ErrorKind::Storage, message, hint: None });
    }

    /// Gives the terminal to the shell and stops; goes on when it is woken.
    fn suspend(&mut self) -> std::io::Result<()> {
        drop(self.guard.take());
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.guard = Some(Guard::take()?);
        let (screen, size) = terminal::screen()?;
        self.screen = screen;
        self.app.core.resize(size);
        self.screen.clear()?;
        self.reopen = true;
        self.dirty = true;
        Ok(())
    }

    fn draw(&mut self) -> Result<()> {
        let app = &*self.app;
        self.screen
            .draw(|frame| draw::draw(frame, app))
            .context(ErrorKind::Storage, || "the terminal does not answer".into())?;
        self.drawn = Instant::now();
        self.dirty = false;
        Ok(())
    }
}
