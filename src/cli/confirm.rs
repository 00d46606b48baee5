//! The question before a write.

use std::io::{BufRead, IsTerminal};

use super::Session;
use super::narrate::{say, write};
use super::output::plural;
use crate::config::diff::Line;
use crate::error::{Context, Error, ErrorKind, Result};
use crate::ops::ConfigChange;
use crate::plan::Plan;
use crate::table::value::escape_controls;

/// The table's own name: the last part of its location.
pub fn table_name(location: &str) -> &str {
    location.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(location)
}

/// Has the person type the table's name. `yes` answers beforehand.
///
/// # Errors
/// `Refused` for another answer and where there is nobody to ask;
/// `Cancelled` for Ctrl-C at the question.
pub async fn confirm(session: &Session, plan: &Plan, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    let name = table_name(&plan.table);
    let what = format!("\nThis will {} {} (version {}).", plan.operation, plan.table, plan.version);
    let hint = "Add --yes once the plan's numbers are right.";
    if answer(session, &what, &format!("Type the table's name, {name}, to go on: "), hint).await? == name {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Refused, "not confirmed; nothing was written to the table"))
    }
}

/// Has the person agree to a change of the config file. `yes` answers beforehand.
///
/// # Errors
/// As [`confirm`].
pub async fn confirm_config(session: &Session, change: &ConfigChange, yes: bool) -> Result<()> {
    let mut what = format!("\n{}\n", escape_controls(&change.file.display().to_string()));
    for line in change.lines() {
        let (mark, text) = match line {
            Line::Same(text) => (' ', text.to_owned()),
            Line::Added(text) => ('+', text.to_owned()),
            Line::Removed(text) => ('-', text.to_owned()),
            Line::Skipped(n) => (' ', format!("… {}", plural(n as u64, "line"))),
        };
        what += &format!("{mark} {}\n", escape_controls(&text));
    }
    if yes {
        session.narrator.hush();
        say(what.trim_end());
        session.narrator.go_on();
        return Ok(());
    }
    let hint = "Add --yes to save it.";
    if answer(session, what.trim_end(), "Type yes to save this: ", hint).await? == "yes" {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Refused, "not confirmed; nothing was saved"))
    }
}

/// Says what it is about, asks, and waits for a line.
async fn answer(session: &Session, what: &str, question: &str, hint: &str) -> Result<String> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Error::new(ErrorKind::Refused, "not confirmed: there is no terminal to ask on").hint(hint));
    }
    session.narrator.hush();
    say(what);
    write(question);
    let answer = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map(|_| answer)
    });
    let answer = tokio::select! {
        answer = answer => answer
            .context(ErrorKind::Internal, || "the question was dropped".into())?
            .context(ErrorKind::Storage, || "cannot read the answer".into())?,
        () = session.progress.token().cancelled() => return Err(session.progress.check().err().unwrap_or_else(|| {
            Error::new(ErrorKind::Cancelled, "cancelled")
        })),
    };
    session.narrator.go_on();
    Ok(answer.trim().to_owned())
}
