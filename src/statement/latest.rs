//! The latest row of each key: `ROW_NUMBER() OVER (…) = 1`.

use crate::error::{Error, Result};
use crate::predicate::Comparison;
use crate::predicate::row::cursor::Cursor;
use crate::predicate::row::lexer::mistake;
use crate::predicate::row::node::Node;
use crate::predicate::row::quoted_name;
use crate::table::Value;

/// `ROW_NUMBER() OVER (PARTITION BY keys ORDER BY latest DESC) = 1`
#[derive(Debug, Clone)]
pub(super) struct Deduplication {
    pub keys: Vec<String>,
    pub latest: String,
    /// The name of its number, for `WHERE rn = 1`; a QUALIFY needs none.
    pub name: Option<String>,
    pub at: usize,
}

impl Deduplication {
    /// What is the greatest in the row that stays, if rows are numbered by the key.
    pub fn latest_by(self, sql: &str, keys: &[&str]) -> Result<String> {
        let among = |name: &str, list: &[&str]| list.iter().any(|other| other.eq_ignore_ascii_case(name));
        let own: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        if own.iter().all(|name| among(name, keys)) && keys.iter().all(|name| among(name, &own)) {
            return Ok(format!("s.{}", quoted_name(&self.latest)));
        }
        let said = format!("rows are numbered per ({}), but ON compares ({})", own.join(", "), keys.join(", "));
        Err(mistake(sql, self.at, said).hint("PARTITION BY must name the source's columns of ON, no more and no less."))
    }
}

pub(super) fn row_number(cursor: &Cursor<'_>) -> bool {
    cursor.sees("ROW_NUMBER") && cursor.sees_symbol(1, "(")
}

/// `ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY c DESC)`
pub(super) fn numbered(cursor: &mut Cursor<'_>) -> Result<Deduplication> {
    let at = cursor.place();
    if !row_number(cursor) {
        return Err(cursor.unexpected("ROW_NUMBER()").hint(ONE_PER_KEY));
    }
    cursor.advance();
    cursor.expects_symbol("(")?;
    cursor.expects_symbol(")")?;
    cursor.expects("OVER")?;
    cursor.expects_symbol("(")?;
    cursor.expects("PARTITION BY").map_err(|e| e.hint(ONE_PER_KEY))?;
    let mut keys = Vec::new();
    loop {
        keys.push(plain_column(cursor, "PARTITION BY")?);
        if !cursor.takes_symbol(",") {
            break;
        }
    }
    cursor.expects("ORDER BY").map_err(|e| e.hint(ONE_PER_KEY))?;
    let latest = plain_column(cursor, "ORDER BY")?;
    if !cursor.takes("DESC") {
        return Err(cursor.unexpected("DESC").hint("Only the latest row of a key can be kept: ORDER BY c DESC."));
    }
    if cursor.sees("NULLS FIRST") {
        return Err(cursor
            .mistake("NULLS FIRST is not supported")
            .hint("The row that stays is the greatest; NULL is the least."));
    }
    cursor.takes("NULLS LAST");
    if cursor.sees_symbol(0, ",") {
        return Err(cursor
            .mistake("a second ORDER BY column is not supported")
            .hint("Order by one column that decides."));
    }
    cursor.expects_symbol(")")?;
    Ok(Deduplication { keys, latest, name: None, at })
}

const ONE_PER_KEY: &str = "Of windows only ROW_NUMBER() OVER (PARTITION BY keys ORDER BY c DESC) = 1 is supported.";

fn plain_column(cursor: &mut Cursor<'_>, of: &str) -> Result<String> {
    let at = cursor.place();
    match cursor.expression()? {
        Node::Column { name, .. } => Ok(name),
        other => Err(mistake(cursor.sql, at, format!("{of} `{other}` is not supported")).hint("Name a column.")),
    }
}

pub(super) fn is_one(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.expects_symbol("=").map_err(|e| e.hint(ONE_PER_KEY))?;
    match cursor.expression()? {
        Node::Literal(Value::Int(1), _) => Ok(()),
        other => Err(cursor.mistake(format!("`{other}` stands where 1 must")).hint(ONE_PER_KEY)),
    }
}

/// `rn = 1`, `1 = rn`
pub(super) fn is_first(condition: &Node, number: &str) -> bool {
    let Node::Compare(Comparison::Eq, a, b) = condition else { return false };
    let one = |node: &Node| matches!(node, Node::Literal(Value::Int(1), _));
    let named = |node: &Node| matches!(node, Node::Column { name, .. } if name.eq_ignore_ascii_case(number));
    (named(a) && one(b)) || (one(a) && named(b))
}

impl Deduplication {
    /// The error of numbered rows where no key says what they mean.
    pub fn refused(&self, sql: &str) -> Error {
        mistake(sql, self.at, "numbered rows are only supported in the source of a MERGE")
            .hint("Write the query's result to a table, and name that as the source.")
    }

    /// Whether the number is still a column that nobody asked to be 1.
    pub fn is_open(&self) -> bool {
        self.name.is_some()
    }

    pub fn unasked(&self, sql: &str) -> Error {
        mistake(sql, self.at, "rows are numbered, but no WHERE asks for the first").hint(ONE_PER_KEY)
    }
}
