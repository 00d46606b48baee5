//! `SET key = value` before a statement: read, and refused where it would give
//! the statement another meaning.

use super::Mode;
use crate::error::Result;
use crate::predicate::row::cursor::Cursor;
use crate::predicate::row::lexer::{Token, mistake};

const OVERWRITE_MODE: &str = "spark.sql.sources.partitionOverwriteMode";

/// Settings that change what expressions or writes mean, with the one value
/// under which they mean what partwise says.
const MEANINGS: [(&str, &str); 6] = [
    ("spark.sql.ansi.enabled", "true"),
    ("spark.sql.caseSensitive", "false"),
    ("spark.sql.session.timeZone", "UTC"),
    ("spark.sql.storeAssignmentPolicy", "ANSI"),
    ("spark.databricks.delta.schema.autoMerge.enabled", "false"),
    ("spark.databricks.delta.replaceWhere.constraintCheck.enabled", "true"),
];

/// Takes every `SET` and the semicolons after it.
pub(super) fn settings(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    loop {
        while cursor.takes_symbol(";") {}
        let at = cursor.place();
        if !cursor.takes("SET") {
            return Ok(found);
        }
        let from = cursor.place();
        while !cursor.sees_symbol(0, "=") {
            if cursor.at_end() || cursor.sees_symbol(0, ";") {
                return Err(cursor.unexpected("'='").hint("Write SET key = value;"));
            }
            cursor.advance();
        }
        let key = cursor.sql[from..cursor.end_of_last()].trim_matches('`').to_owned();
        cursor.advance();
        let from = cursor.place();
        let first = cursor.token().clone();
        while !cursor.at_end() && !cursor.sees_symbol(0, ";") {
            cursor.advance();
        }
        let value = match first {
            Token::Text(text) => text,
            Token::End => return Err(cursor.unexpected("a value")),
            _ => cursor.sql[from..cursor.end_of_last().max(from)].to_owned(),
        };
        check(cursor, at, &key, &value)?;
        found.push((key, value));
    }
}

fn check(cursor: &Cursor<'_>, at: usize, key: &str, value: &str) -> Result<()> {
    if key.eq_ignore_ascii_case(OVERWRITE_MODE) && mode(value).is_none() {
        return Err(mistake(cursor.sql, at, format!("{key} is static or dynamic, not '{value}'")));
    }
    match MEANINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)) {
        Some((_, only)) if !only.eq_ignore_ascii_case(value) => {
            Err(mistake(cursor.sql, at, format!("{key} = {value} would give the statement another meaning"))
                .hint(format!("partwise works as with {key} = {only}.")))
        }
        _ => Ok(()),
    }
}

fn mode(value: &str) -> Option<Mode> {
    match value.to_ascii_lowercase().as_str() {
        "dynamic" => Some(Mode::Dynamic),
        "static" => Some(Mode::Static),
        _ => None,
    }
}

/// The mode that the last SET of it says.
pub(super) fn overwrite_mode(settings: &[(String, String)]) -> Option<Mode> {
    settings.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(OVERWRITE_MODE)).and_then(|(_, value)| mode(value))
}
