//! The command line: what can be typed, what is printed, how the process ends.
//!
//! Commands return an [`Answer`]; nothing here writes to standard output
//! before a command is done. Narration and progress go to standard error.

mod args;
mod commands;
mod confirm;
mod effect_rows;
mod interrupt;
mod log;
mod narrate;
mod output;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind as ClapKind;
use clap::{Args, Parser};

pub use commands::Command;
pub use output::Answer;

use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::ops;
use crate::progress::Progress;

/// See what a write would do to a partitioned Delta table before it is done,
/// do it safely in one commit, and take it back.
#[derive(Debug, Parser)]
#[command(name = "partwise", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Tables or folders to open in the terminal UI [default: the configured
    /// lakes, else the current folder]
    #[arg(value_name = "TABLE|ROOT")]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub global: Global,
}

#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Print JSON, also for errors
    #[arg(long, global = true)]
    pub json: bool,
    /// Read this config file instead of the default one
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Refuse everything that writes to a table
    #[arg(long, global = true)]
    pub read_only: bool,
    /// Append what the program does to this file (PARTWISE_LOG sets the level)
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// How a command ends: with something to print, or in the terminal UI.
pub enum Outcome {
    Done(Answer),
    Open { context: ops::Context, targets: Vec<String> },
}

/// What every command is given.
pub struct Session {
    pub context: ops::Context,
    pub json: bool,
    pub progress: Progress,
    narrator: narrate::Narrator,
}

/// Parses the arguments.
///
/// # Errors
/// The answer to print where they ask for help or make no sense.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> std::result::Result<Cli, Answer> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let json = arguments.iter().any(|a| a == "--json");
    Cli::try_parse_from(arguments).map_err(|e| match e.kind() {
        ClapKind::DisplayHelp | ClapKind::DisplayVersion => Answer::text(e.render().to_string()),
        _ if json => failure(&usage_error(&e), true),
        _ => Answer { narration: e.render().to_string(), code: 2, ..Answer::default() },
    })
}

/// clap's message as one line, without its `error: ` and its usage lines.
fn usage_error(e: &clap::Error) -> Error {
    let text = e.render().to_string();
    let message = match e.kind() {
        ClapKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing".to_owned(),
        _ => {
            let said = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ");
            said.split_whitespace().collect::<Vec<_>>().join(" ")
        }
    };
    Error::new(ErrorKind::Usage, message).hint("partwise COMMAND --help says what it takes.")
}

/// An error as it is printed.
pub fn failure(error: &Error, json: bool) -> Answer {
    output::failure(error, json)
}

/// Reads the config and starts the log.
///
/// # Errors
/// `BadConfig`; `Storage` where the log file cannot be opened.
pub fn context(global: &Global) -> Result<ops::Context> {
    if let Some(file) = &global.log {
        log::start(file)?;
    }
    let config = Config::load(global.config.as_deref())?;
    let context = ops::Context::new(config, global.read_only);
    // What is saved goes to the file that was read.
    Ok(match &global.config {
        Some(file) => ops::Context { config_file: Some(file.clone()), ..context },
        None => context,
    })
}

/// Runs one command to its end. Ctrl-C cancels it.
///
/// # Errors
/// Whatever the command's operation says.
pub async fn run(command: Command, context: ops::Context, global: &Global) -> Result<Outcome> {
    let progress = Progress::default();
    let session = Session {
        narrator: narrate::Narrator::follow(&progress),
        context,
        json: global.json,
        progress: progress.clone(),
    };
    interrupt::watch(progress.clone());
    let only_reads = command.only_reads();
    if !only_reads {
        settle(&session.context).await;
    }
    tokio::select! {
        outcome = command.run(&session) => outcome,
        // A writing operation must come to its own end: it knows whether
        // anything was committed.
        () = progress.token().cancelled(), if only_reads => Err(Error::new(ErrorKind::Cancelled, "interrupted")),
    }
}

/// Before anything is written: how operations ended that a crash left open.
async fn settle(context: &ops::Context) {
    match ops::recover(context).await {
        Ok(settled) => settled.iter().for_each(|entry| narrate::say(&ops::recover::said(entry))),
        // Whatever needs the journal will say so again, and stop.
        Err(error) => narrate::say(&format!("what was in flight is not known: {}", error.full_message())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_tree_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_target_is_no_subcommand_and_flags_go_anywhere() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).unwrap();
        let cli = parse("partwise lake show");
        assert!(cli.command.is_none());
        assert_eq!(cli.targets, ["lake", "show"]);
        for line in ["partwise --json show t --version 3", "partwise show --version 3 t --json"] {
            let cli = parse(line);
            assert!(cli.global.json && matches!(cli.command, Some(Command::Show(_))), "{line}");
        }
    }
}
