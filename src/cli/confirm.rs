//! The question before a write.

use std::io::{BufRead, IsTerminal};

use super::Session;
use super::narrate::{say, write};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::plan::Plan;

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
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Error::new(ErrorKind::Refused, "not confirmed: there is no terminal to ask on")
            .hint("Add --yes once the plan's numbers are right."));
    }
    session.narrator.hush();
    let name = table_name(&plan.table);
    say(&format!("\nThis will {} {} (version {}).", plan.operation, plan.table, plan.version));
    write(&format!("Type the table's name, {name}, to go on: "));
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
    if answer.trim() == name {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Refused, "not confirmed; nothing was written to the table"))
    }
}
