//! Arguments, wiring, exit code.

use std::io::{ErrorKind as IoKind, IsTerminal, Write};
use std::process::ExitCode;

use partwise::cli::{self, Answer, Cli, Outcome};
use partwise::error::{Context, Error, ErrorKind, Result};
use partwise::{ops, tui};

fn main() -> ExitCode {
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(answer) => return finish(&answer),
    };
    let json = cli.global.json;
    let answer = run(cli).unwrap_or_else(|error| cli::failure(&error, json));
    finish(&answer)
}

fn run(cli: Cli) -> Result<Answer> {
    let context = cli::context(&cli.global)?;
    let Some(command) = cli.command else {
        return open(context, cli.targets, cli.global.json);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context(ErrorKind::Internal, || "cannot start the runtime".into())?;
    let outcome = runtime.block_on(cli::run(command, context, &cli.global));
    // An interrupted question leaves a thread waiting for a line: not waited for.
    runtime.shutdown_background();
    match outcome? {
        Outcome::Done(answer) => Ok(answer),
        Outcome::Open { context, targets } => open(context, targets, cli.global.json),
    }
}

fn open(context: ops::Context, targets: Vec<String>, json: bool) -> Result<Answer> {
    if json {
        return Err(Error::new(ErrorKind::Usage, "--json needs a command").hint("partwise --help lists them."));
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Error::new(ErrorKind::Usage, "the terminal UI needs a terminal")
            .hint("Every operation is also a command: partwise --help lists them."));
    }
    let code = tui::run(context, targets)?;
    Ok(Answer { code, ..Answer::default() })
}

/// Prints an answer. A reader that went away (`partwise rows t | head`) is no
/// error of ours, and there is nobody left to tell.
fn finish(answer: &Answer) -> ExitCode {
    // Nothing can be said about a standard error that does not take anything.
    let _ = std::io::stderr().write_all(answer.narration.as_bytes());
    let mut out = std::io::stdout().lock();
    match out.write_all(answer.text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != IoKind::BrokenPipe => {
            let _ = writeln!(std::io::stderr(), "error: cannot write the output: {e}");
            ExitCode::FAILURE
        }
        _ => ExitCode::from(answer.code),
    }
}
