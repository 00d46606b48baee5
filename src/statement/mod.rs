//! Statements that notebooks run, as intents: `MERGE INTO`, `INSERT
//! OVERWRITE`, `INSERT INTO … REPLACE WHERE` and `INSERT INTO`, in Spark's
//! dialect. Nothing is looked up here: names of tables and columns are those
//! of the text.
//!
//! Texts of expressions are normalised to the aliases `s` and `t`, whatever
//! aliases the statement gave.

mod insert;
mod latest;
mod merge;
mod names;
mod order;
mod query;
mod session;
#[cfg(test)]
mod tests;

pub use names::TableName;
pub use order::ColumnOrder;
pub use query::{Output, SourceQuery};

use crate::error::Result;
use crate::plan::clauses::{Clauses, On};
use crate::predicate::row::cursor::{Aliases, Cursor};
use crate::predicate::row::lexer::Token;

/// One statement that writes to one table from one other.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub target: TableName,
    pub source: SourceQuery,
    pub kind: StatementKind,
    /// (key, value) of every `SET` before it, in their order.
    pub settings: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    Merge {
        on: On,
        clauses: Clauses,
    },
    /// `INSERT OVERWRITE`
    Overwrite {
        mode: Mode,
        /// `PARTITION (a = 'x', b)`, in its order.
        partition: Vec<PartitionPart>,
        /// What the parts with a value select, over the table's columns without
        /// an alias; `None` where no part has one.
        replace: Option<String>,
        order: ColumnOrder,
    },
    /// `INSERT INTO … REPLACE WHERE`; the condition is over the table's columns
    /// without an alias.
    ReplaceWhere {
        predicate: String,
        order: ColumnOrder,
    },
    Append {
        order: ColumnOrder,
    },
}

/// Which partitions an overwrite clears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every partition that `PARTITION (…)` selects, or the whole table.
    Static,
    /// Only partitions that get rows.
    Dynamic,
    /// The statement does not say; `spark.sql.sources.partitionOverwriteMode`
    /// of the session decides, which is static where nobody sets it.
    Session,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionPart {
    pub column: String,
    /// SQL literal; `None` where the rows say it.
    pub value: Option<String>,
}

impl Statement {
    /// Parses one statement; `SET key = value;` may stand before it.
    ///
    /// # Errors
    /// `Usage` with line and column, for what is not understood and for what
    /// is not supported, by its name.
    pub fn parse(sql: &str) -> Result<Statement> {
        let mut cursor = Cursor::new(sql, Aliases::default())?;
        // A notebook's cell may begin with its language.
        if cursor.takes_symbol("%") {
            cursor.expects("sql")?;
        }
        let settings = session::settings(&mut cursor)?;
        let mut statement = if cursor.sees("MERGE") {
            merge::merge(&mut cursor)?
        } else if cursor.sees("INSERT") {
            insert::insert(&mut cursor)?
        } else {
            return Err(other(&cursor));
        };
        while cursor.takes_symbol(";") {}
        if !cursor.at_end() {
            let error = if cursor.end_of_last() > 0 && cursor.follows_symbol(";") {
                cursor
                    .mistake("a second statement follows")
                    .hint("Plan one statement at a time; only SET may stand before it.")
            } else {
                cursor.unexpected("the end of the statement")
            };
            return Err(error);
        }
        if let StatementKind::Overwrite { mode: mode @ Mode::Session, .. } = &mut statement.kind
            && let Some(set) = session::overwrite_mode(&settings)
        {
            *mode = set;
        }
        statement.settings = settings;
        Ok(statement)
    }
}

fn other(cursor: &Cursor<'_>) -> crate::error::Error {
    let hint = "Statements are MERGE INTO, INSERT OVERWRITE, INSERT INTO … REPLACE WHERE and INSERT INTO.";
    match cursor.token() {
        Token::End => cursor.mistake("there is no statement").hint(hint),
        Token::Word { text, .. } if text.eq_ignore_ascii_case("WITH") => cursor
            .mistake("WITH before a statement is not supported")
            .hint("Write the query's result to a table, and name that as the source."),
        _ => cursor.mistake(format!("{} begins no statement that can be planned", cursor.shown())).hint(hint),
    }
}
