//! The registry of subcommands: one line and one file each.

mod apply;
mod clean;
mod compare;
mod demo;
mod diff;
mod files;
mod gates;
mod health;
mod history;
mod journal;
mod keys;
mod layouts;
mod partitions;
mod plan;
mod redo;
mod rows;
mod script;
mod show;
mod tables;
mod undo;

use clap::Subcommand;

use super::{Outcome, Session};
use crate::error::Result;

/// Makes the enum of subcommands and its dispatch from one list.
macro_rules! registry {
    ($($(#[$help:meta])* $name:ident => $module:ident,)*) => {
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[$help])* $name($module::Args),)*
        }

        impl Command {
            pub(super) async fn run(self, session: &Session) -> Result<Outcome> {
                match self {
                    $(Command::$name(args) => $module::run(args, session).await,)*
                }
            }
        }
    };
}

registry! {
    /// Make the demo lake, then open it
    Demo => demo,
    /// Find tables below a folder
    Tables => tables,
    /// Describe a table
    Show => show,
    /// List a table's partitions
    Partitions => partitions,
    /// List a table's data files
    Files => files,
    /// Print rows
    Rows => rows,
    /// List a table's versions, newest first
    History => history,
    /// Say what changed between two versions, by partition and by row
    Diff => diff,
    /// Say what is wrong with a key, or which columns could be one
    Keys => keys,
    /// Say how a table is: small files, skew, removed files, gaps, left-overs
    Health => health,
    /// Say how a table would lie under other partition columns
    Layouts => layouts,
    /// Show what is judged before a write to a table, and by which thresholds; change them
    Gates => gates,
    /// Set every write strategy for a source side by side
    Compare => compare,
    /// Say what a write would do, and do it if asked
    Plan => plan,
    /// Carry out a plan from a file
    Apply => apply,
    /// Print a script that does what a plan does, for another engine
    Script => script,
    /// Take an operation back
    Undo => undo,
    /// Carry out again what the last undo took back
    Redo => redo,
    /// List what operations that failed or died left in a table's folder, and remove it if asked
    Clean => clean,
    /// List what was done with this program on this machine
    Journal => journal,
}

impl Command {
    /// Whether the command can be dropped at any moment.
    pub(super) fn only_reads(&self) -> bool {
        !matches!(
            self,
            Command::Demo(_)
                | Command::Clean(_)
                | Command::Plan(_)
                | Command::Apply(_)
                | Command::Undo(_)
                | Command::Redo(_)
        )
    }
}
