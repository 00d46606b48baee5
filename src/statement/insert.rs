//! `INSERT OVERWRITE`, `INSERT INTO … REPLACE WHERE`, `INSERT INTO`

use super::names::{TableName, table_name};
use super::order::ColumnOrder;
use super::query::{SourceQuery, source_query};
use super::{Mode, PartitionPart, Statement, StatementKind};
use crate::error::Result;
use crate::predicate::row::cursor::{Aliases, Cursor};
use crate::predicate::row::lexer::mistake;
use crate::predicate::row::node::Node;
use crate::predicate::row::quoted_name;
use crate::table::Value;

pub(super) fn insert(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.expects("INSERT")?;
    let overwrite = cursor.takes("OVERWRITE");
    if overwrite && cursor.sees_any(&["LOCAL DIRECTORY", "DIRECTORY"]) {
        return Err(cursor.mistake("INSERT OVERWRITE DIRECTORY writes no table").hint("Name a table."));
    }
    if overwrite {
        cursor.takes("INTO");
    } else {
        cursor.expects("INTO").map_err(|e| e.hint("Write INSERT INTO or INSERT OVERWRITE."))?;
    }
    cursor.takes("TABLE");
    let target = table_name(cursor, "the table to insert into")?;
    let partition = if cursor.takes("PARTITION") { cursor.list(partition_part)? } else { Vec::new() };
    if cursor.sees("IF NOT EXISTS") {
        return Err(cursor
            .mistake("IF NOT EXISTS is not supported")
            .hint("The plan shows whether the partition has rows."));
    }
    let mut by_name = cursor.takes("BY NAME");
    let columns = columns(cursor)?;
    let predicate = if cursor.sees("REPLACE") { Some(replaced(cursor, &target, overwrite)?) } else { None };
    if cursor.sees("REPLACE") {
        return Err(cursor.unexpected("SELECT or TABLE"));
    }
    by_name |= cursor.takes("BY NAME");
    if by_name && !columns.is_empty() {
        return Err(cursor.mistake("BY NAME and a list of columns exclude each other"));
    }
    let order = if by_name { ColumnOrder::ByName } else { ColumnOrder::ByPosition { columns } };
    let mut source = query(cursor)?;
    let kind = match (overwrite, predicate) {
        (_, Some(_)) if !partition.is_empty() => {
            return Err(cursor.mistake("PARTITION and REPLACE WHERE exclude each other"));
        }
        (_, Some(predicate)) => StatementKind::ReplaceWhere { predicate, order },
        (false, None) if !partition.is_empty() => {
            return Err(cursor
                .mistake("INSERT INTO … PARTITION is not supported")
                .hint("Give the partition columns in the SELECT."));
        }
        (false, None) => StatementKind::Append { order },
        (true, None) => {
            let replace = fixed(&mut source, &partition);
            // All values said: these partitions are cleared in every mode.
            let all_said = !partition.is_empty() && partition.iter().all(|part| part.value.is_some());
            let mode = if all_said { Mode::Static } else { Mode::Session };
            StatementKind::Overwrite { mode, partition, replace, order }
        }
    };
    Ok(Statement { target, source, kind, settings: Vec::new() })
}

fn query(cursor: &mut Cursor<'_>) -> Result<SourceQuery> {
    let (source, deduplication) = source_query(cursor)?;
    match deduplication {
        Some(deduplication) => Err(deduplication.refused(cursor.sql)),
        None => Ok(source),
    }
}

/// `(a, b)` before the query; a query may itself stand in parentheses.
fn columns(cursor: &mut Cursor<'_>) -> Result<Vec<String>> {
    let mark = cursor.mark();
    if !cursor.takes_symbol("(")
        || cursor.sees_any(&["SELECT", "TABLE", "WITH", "VALUES", "FROM"])
        || cursor.sees_symbol(0, "(")
    {
        cursor.return_to(mark);
        return Ok(Vec::new());
    }
    cursor.return_to(mark);
    let mut columns: Vec<String> = Vec::new();
    cursor.list(|c| {
        let at = c.place();
        let name = c.name("a column")?;
        if columns.iter().any(|before| before.eq_ignore_ascii_case(&name)) {
            return Err(mistake(c.sql, at, format!("the column '{name}' is given twice")));
        }
        columns.push(name);
        Ok(())
    })?;
    Ok(columns)
}

/// `a = 'x'` or `a`
fn partition_part(cursor: &mut Cursor<'_>) -> Result<PartitionPart> {
    let column = cursor.name("a partition column")?;
    if !cursor.takes_symbol("=") {
        return Ok(PartitionPart { column, value: None });
    }
    let at = cursor.place();
    match cursor.expression()? {
        literal @ Node::Literal(..) => Ok(PartitionPart { column, value: Some(literal.to_string()) }),
        other => Err(mistake(cursor.sql, at, format!("`{other}` is not supported as the value of a partition"))
            .hint("Write a literal: 'text', 7, DATE '2024-01-01' or NULL.")),
    }
}

/// Gives the source the columns whose values the statement says; what they select.
fn fixed(source: &mut SourceQuery, partition: &[PartitionPart]) -> Option<String> {
    let mut conditions = Vec::new();
    for part in partition {
        let Some(value) = &part.value else { continue };
        let name = quoted_name(&part.column);
        conditions.push(if value == "NULL" { format!("{name} IS NULL") } else { format!("{name} = {value}") });
        source.view.columns.retain(|(column, _)| !column.eq_ignore_ascii_case(&part.column));
        source.view.columns.push((part.column.clone(), value.clone()));
    }
    if conditions.is_empty() { None } else { Some(conditions.join(" AND ")) }
}

/// `REPLACE WHERE condition`: its text without an alias.
fn replaced(cursor: &mut Cursor<'_>, target: &TableName, overwrite: bool) -> Result<String> {
    if overwrite {
        return Err(cursor.mistake("INSERT OVERWRITE has no REPLACE WHERE").hint("Write INSERT INTO … REPLACE WHERE."));
    }
    cursor.expects("REPLACE")?;
    if cursor.sees_any(&["USING", "ON"]) {
        return Err(cursor
            .mistake(format!("REPLACE {} is not supported", cursor.shown()))
            .hint("REPLACE WHERE is; or write a MERGE."));
    }
    cursor.expects("WHERE")?;
    let at = cursor.place();
    cursor.aliases = Aliases { source: Vec::new(), target: target.qualifiers() };
    let mut node = cursor.expression()?;
    cursor.aliases = Aliases::default();
    let mut names = 0;
    node.change(&mut |node| {
        if let Node::Column { side, .. } = node {
            names += 1;
            *side = None;
        }
    });
    if names == 0 || matches!(node, Node::Literal(Value::Boolean(_), _)) {
        return Err(mistake(cursor.sql, at, format!("REPLACE WHERE `{node}` names no column"))
            .hint("To replace the whole table write INSERT OVERWRITE."));
    }
    Ok(node.to_string())
}
