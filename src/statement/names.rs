//! Names of tables, as statements write them.

use crate::error::Result;
use crate::predicate::row::cursor::Cursor;
use crate::predicate::row::lexer::Token;
use crate::predicate::row::quoted_name;

/// Where a table is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableName {
    /// ``delta.`/lake/sales` ``
    Path {
        /// In lower case: `delta`, `parquet`, …
        format: String,
        path: String,
    },
    /// The parts of `catalog.schema.table`; one at least.
    Name(Vec<String>),
}

const FORMATS: [&str; 7] = ["delta", "parquet", "csv", "json", "orc", "avro", "text"];

/// Words that begin what follows a table's name, and so are no alias.
const NO_ALIAS: [&str; 34] = [
    "USING",
    "ON",
    "WHEN",
    "SET",
    "WHERE",
    "SELECT",
    "VALUES",
    "TABLE",
    "PARTITION",
    "BY",
    "REPLACE",
    "FROM",
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "NATURAL",
    "ANTI",
    "SEMI",
    "LATERAL",
    "GROUP",
    "HAVING",
    "ORDER",
    "SORT",
    "CLUSTER",
    "DISTRIBUTE",
    "LIMIT",
    "OFFSET",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "QUALIFY",
];

impl TableName {
    /// The name as SQL.
    pub fn text(&self) -> String {
        match self {
            TableName::Path { format, path } => format!("{format}.`{}`", path.replace('`', "``")),
            TableName::Name(parts) => parts.iter().map(|part| quoted_name(part)).collect::<Vec<_>>().join("."),
        }
    }

    /// The qualifiers that its columns may have where it has no alias: the
    /// whole name and each of its ends.
    pub(super) fn qualifiers(&self) -> Vec<Vec<String>> {
        match self {
            TableName::Path { format, path } => vec![vec![format.clone(), path.clone()]],
            TableName::Name(parts) => (0..parts.len()).map(|from| parts[from..].to_vec()).collect(),
        }
    }
}

/// A table's name; `what` says which.
pub(super) fn table_name(cursor: &mut Cursor<'_>, what: &str) -> Result<TableName> {
    if cursor.sees_symbol(0, ":") || cursor.sees_symbol(0, "?") {
        return Err(cursor.mistake(format!("{what} is a parameter")).hint("Write the table's name itself."));
    }
    if let Token::Text(_) = cursor.token() {
        return Err(cursor.unexpected(what).hint("A path is written as delta.`/path`."));
    }
    if cursor.sees("IDENTIFIER") && cursor.sees_symbol(1, "(") {
        return Err(cursor.mistake("IDENTIFIER(…) is not supported").hint("Write the table's name itself."));
    }
    let parts = cursor.dotted_name(what)?;
    if cursor.sees_symbol(0, "@") || cursor.sees_any(&["VERSION AS", "TIMESTAMP AS", "FOR VERSION", "FOR TIMESTAMP"]) {
        return Err(cursor
            .mistake("an older version of a table cannot be named here")
            .hint("Name the table; the plan pins its version."));
    }
    if cursor.sees("TABLESAMPLE") {
        return Err(cursor.mistake("TABLESAMPLE is not supported"));
    }
    Ok(match parts.as_slice() {
        [format, path] if FORMATS.iter().any(|f| format.eq_ignore_ascii_case(f)) => {
            TableName::Path { format: format.to_ascii_lowercase(), path: path.clone() }
        }
        _ => TableName::Name(parts),
    })
}

/// The name of a table that is read, which may be followed by no argument list.
pub(super) fn source_name(cursor: &mut Cursor<'_>) -> Result<TableName> {
    let name = table_name(cursor, "the source")?;
    if cursor.sees_symbol(0, "(") {
        return Err(cursor
            .mistake(format!("the table function {} is not supported", name.text()))
            .hint("Write its rows to a table, and name that as the source."));
    }
    Ok(name)
}

/// `[AS] alias`
pub(super) fn alias(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    let alias = if cursor.takes("AS") {
        cursor.name("an alias")?
    } else {
        match cursor.token() {
            Token::Word { quoted: true, .. } => cursor.name("an alias")?,
            Token::Word { .. } if !cursor.sees_any(&NO_ALIAS) => cursor.name("an alias")?,
            _ => return Ok(None),
        }
    };
    if cursor.sees_symbol(0, "(") {
        return Err(cursor
            .mistake("an alias with a list of columns is not supported")
            .hint("Rename columns in the query: (SELECT a AS b FROM …)."));
    }
    Ok(Some(alias))
}

/// The qualifiers of a table under its alias, or under its own name.
pub(super) fn qualifiers(alias: Option<String>, name: Option<&TableName>) -> Vec<Vec<String>> {
    match (alias, name) {
        (Some(alias), _) => vec![vec![alias]],
        (None, Some(name)) => name.qualifiers(),
        (None, None) => Vec::new(),
    }
}
