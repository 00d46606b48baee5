//! The terminal UI: state + `update(Msg) -> Vec<Command>`, drawn purely.
//!
//! - [`app`], [`shared`], [`msg`]: the state, and what goes in and out of it
//! - [`update`]: the only place that changes the state
//! - [`screens`], [`overlays`], [`widgets`], [`mod@draw`]: from the state to cells
//! - `runtime`, `jobs`, `terminal`: the only places that wait or touch the outside

pub mod app;
pub mod asked;
pub mod draw;
pub mod input;
mod jobs;
pub mod load;
pub mod msg;
pub mod overlays;
mod planning;
mod request;
mod runtime;
pub mod screens;
pub mod shared;
mod sources;
mod terminal;
pub mod text;
pub mod textarea;
pub mod theme;
mod trials;
pub mod update;
pub mod widgets;
pub mod wish;
mod wish_form;

use std::io::IsTerminal;
use std::time::Duration;

use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::ops::Context;

/// How long jobs that only read may hold the exit up.
const GRACE: Duration = Duration::from_millis(200);

/// Runs the UI and gives back the process's exit code. A target is a folder
/// with tables or a table; without any, the configured lakes, else the current
/// folder.
///
/// # Errors
/// `Usage` where stdout or stdin is no terminal, `BadConfig` for an unknown
/// theme, `Storage` for a terminal that does not answer.
pub fn run(context: Context, targets: Vec<String>) -> Result<u8> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Error::new(ErrorKind::Usage, "the terminal UI needs a terminal on stdin and stdout")
            .hint("Use a subcommand, such as: partwise tables . --json"));
    }
    let depth = theme::Depth::from_environment(|name| std::env::var(name).ok());
    // With NO_COLOR crossterm would send resets that wipe reversed rows; the
    // theme has no colours then, so crossterm may always write styles.
    crossterm::style::force_color_output(true);
    let theme = theme::Theme::load(&context.config.theme, depth)?;
    let mut app = app::App::new(resolved(&context, targets), theme, context.read_only, (0, 0));

    let building = || "the runtime could not be started".to_owned();
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let workers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.saturating_sub(1).max(1))
        .thread_name("partwise-job")
        .enable_all()
        .build()
        .context(ErrorKind::Internal, building)?;
    let workers = Workers(Some(workers));
    let screen =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context(ErrorKind::Internal, building)?;
    terminal::install_panic_hook();
    let Some(handle) = workers.handle() else { return Err(Error::new(ErrorKind::Internal, building())) };
    screen.block_on(runtime::run(&mut app, context, handle))
}

/// The background jobs' runtime. However the UI ends, also by a panic, it does
/// not wait for reads that hang in storage.
struct Workers(Option<tokio::runtime::Runtime>);

impl Workers {
    fn handle(&self) -> Option<&tokio::runtime::Handle> {
        self.0.as_ref().map(tokio::runtime::Runtime::handle)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

/// The places to look at.
fn resolved(context: &Context, targets: Vec<String>) -> Vec<String> {
    if !targets.is_empty() {
        return targets;
    }
    let lakes: Vec<String> = context
        .config
        .lakes
        .keys()
        .filter_map(|name| context.config.lake(name))
        .map(|p| p.display().to_string())
        .collect();
    if lakes.is_empty() { vec![".".into()] } else { lakes }
}
