//! `MERGE INTO … USING … ON … WHEN …`

use super::latest::Deduplication;
use super::names::{alias, qualifiers, source_name, table_name};
use super::query::{SourceQuery, source_query};
use super::{Statement, StatementKind};
use crate::error::Result;
use crate::plan::clauses::{
    Assignments, BySourceAction, BySourceClause, Clauses, InsertClause, KeyPair, MatchedAction, MatchedClause, On,
};
use crate::predicate::row::cursor::{Aliases, Cursor};
use crate::predicate::row::lexer::mistake;
use crate::predicate::row::node::Node;
use crate::predicate::{Comparison, RowExpr, Side};

pub(super) fn merge(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.expects("MERGE")?;
    if cursor.sees("WITH SCHEMA EVOLUTION") {
        return Err(cursor
            .mistake("WITH SCHEMA EVOLUTION is not supported")
            .hint("Add the columns to the table first: ALTER TABLE … ADD COLUMNS."));
    }
    cursor.expects("INTO")?;
    let target = table_name(cursor, "the table to merge into")?;
    let target_alias = alias(cursor)?;
    cursor.expects("USING")?;
    let (mut source, source_names, deduplication) = using(cursor)?;
    cursor.aliases = Aliases { source: source_names, target: qualifiers(target_alias, Some(&target)) };
    cursor.expects("ON")?;
    let at = cursor.place();
    let on = decomposed(cursor, at)?;
    if let Some(deduplication) = deduplication {
        if deduplication.is_open() {
            return Err(deduplication.unasked(cursor.sql));
        }
        let keys: Vec<&str> = on.keys.iter().map(|pair| pair.source.as_str()).collect();
        source.view.latest_by = Some(deduplication.latest_by(cursor.sql, &keys)?);
    }
    let clauses = clauses(cursor)?;
    Ok(Statement { target, source, kind: StatementKind::Merge { on, clauses }, settings: Vec::new() })
}

type Using = (SourceQuery, Vec<Vec<String>>, Option<Deduplication>);

fn using(cursor: &mut Cursor<'_>) -> Result<Using> {
    if cursor.sees_symbol(0, "(") {
        let (source, deduplication) = source_query(cursor)?;
        let alias = alias(cursor)?;
        return Ok((source, qualifiers(alias, None), deduplication));
    }
    let name = source_name(cursor)?;
    let alias = alias(cursor)?;
    let names = qualifiers(alias, Some(&name));
    Ok((SourceQuery::whole(name), names, None))
}

/// Equalities between one column of each side are keys; the rest is the condition.
fn decomposed(cursor: &mut Cursor<'_>, at: usize) -> Result<On> {
    let parts = match cursor.expression()? {
        Node::And(parts) => parts,
        other => vec![other],
    };
    let sql = cursor.sql;
    let mut on = On::default();
    let mut rest = Vec::new();
    for part in parts {
        match key_pair(&part) {
            Some(Ok(pair)) => {
                if !on.keys.contains(&pair) {
                    on.keys.push(pair);
                }
            }
            Some(Err(name)) => {
                return Err(mistake(sql, at, format!("ON does not say whose column '{name}' is in `{part}`"))
                    .hint("Put the alias of the table or of the source before it."));
            }
            None => rest.push(part),
        }
    }
    if on.keys.is_empty() {
        return Err(mistake(sql, at, "ON has no equality between a column of the table and one of the source")
            .hint("A plan needs a key: ON t.id = s.id AND …"));
    }
    on.condition = match rest.len() {
        0 => None,
        1 => rest.pop().map(|node| text(&node)),
        _ => Some(text(&Node::And(rest))),
    };
    Ok(on)
}

/// The pair, or the name of a column without an alias; `None` for another condition.
fn key_pair(node: &Node) -> Option<std::result::Result<KeyPair, String>> {
    let Node::Compare(op @ (Comparison::Eq | Comparison::NullSafeEq), a, b) = node else { return None };
    let (Node::Column { side: left, name: a }, Node::Column { side: right, name: b }) = (&**a, &**b) else {
        return None;
    };
    let pair = |target: &str, source: &str| KeyPair {
        target: target.to_owned(),
        source: source.to_owned(),
        null_safe: *op == Comparison::NullSafeEq,
    };
    match (left, right) {
        (Some(Side::Target), Some(Side::Source)) => Some(Ok(pair(a, b))),
        (Some(Side::Source), Some(Side::Target)) => Some(Ok(pair(b, a))),
        (None, _) => Some(Err(a.clone())),
        (_, None) => Some(Err(b.clone())),
        _ => None,
    }
}

fn text(node: &Node) -> String {
    RowExpr::from_node(node.clone()).text().to_owned()
}

fn clauses(cursor: &mut Cursor<'_>) -> Result<Clauses> {
    let mut clauses = Clauses::default();
    while cursor.sees("WHEN") {
        let at = cursor.place();
        cursor.advance();
        let unreachable = |before: Option<bool>| match before {
            Some(true) => Err(mistake(cursor.sql, at, "this clause is never reached: one before it has no condition")
                .hint("Of the clauses of a kind only the last may have no condition.")),
            _ => Ok(()),
        };
        if cursor.sees("MATCHED") {
            unreachable(clauses.matched.last().map(|c| c.condition.is_none()))?;
            cursor.expects("MATCHED")?;
            clauses.matched.push(matched(cursor)?);
        } else if cursor.sees("NOT MATCHED BY SOURCE") {
            unreachable(clauses.by_source.last().map(|c| c.condition.is_none()))?;
            cursor.expects("NOT MATCHED BY SOURCE")?;
            clauses.by_source.push(by_source(cursor)?);
        } else if cursor.sees("NOT MATCHED") {
            unreachable(clauses.not_matched.last().map(|c| c.condition.is_none()))?;
            cursor.expects("NOT MATCHED")?;
            cursor.takes("BY TARGET");
            clauses.not_matched.push(not_matched(cursor)?);
        } else {
            return Err(cursor.unexpected("MATCHED, NOT MATCHED or NOT MATCHED BY SOURCE"));
        }
    }
    if clauses == Clauses::default() {
        return Err(cursor.unexpected("WHEN MATCHED or WHEN NOT MATCHED"));
    }
    Ok(clauses)
}

/// `[AND condition] THEN`; only columns of `only` may be named where it is given.
fn condition(cursor: &mut Cursor<'_>, only: Option<Side>) -> Result<Option<String>> {
    let condition = if cursor.takes("AND") { Some(expression(cursor, only)?) } else { None };
    cursor.expects("THEN")?;
    Ok(condition)
}

/// An expression's text; names without an alias belong to `only` where it is given.
fn expression(cursor: &mut Cursor<'_>, only: Option<Side>) -> Result<String> {
    let at = cursor.place();
    if cursor.sees("DEFAULT") {
        return Err(cursor.mistake("DEFAULT is not supported").hint("Write the value itself."));
    }
    let mut node = cursor.expression()?;
    if let Some(only) = only {
        let mut wrong = None;
        node.change(&mut |node| {
            if let Node::Column { side, name } = node {
                match side {
                    None => *side = Some(only),
                    Some(side) if *side != only => wrong = Some(format!("{}.{name}", side.alias())),
                    Some(_) => {}
                }
            }
        });
        if let Some(wrong) = wrong {
            let (said, hint) = match only {
                Side::Source => ("NOT MATCHED has no row of the table", "Only the source's columns can be used."),
                Side::Target => {
                    ("NOT MATCHED BY SOURCE has no row of the source", "Only the table's columns can be used.")
                }
            };
            return Err(mistake(cursor.sql, at, format!("{said}, but {wrong} is read")).hint(hint));
        }
    }
    Ok(text(&node))
}

fn matched(cursor: &mut Cursor<'_>) -> Result<MatchedClause> {
    let condition = condition(cursor, None)?;
    let action = if cursor.takes("DELETE") {
        MatchedAction::Delete
    } else {
        cursor.expects("UPDATE SET")?;
        MatchedAction::Update(if star(cursor)? {
            Assignments::All
        } else {
            Assignments::Set(assignments(cursor, None)?)
        })
    };
    Ok(MatchedClause { condition, action })
}

fn by_source(cursor: &mut Cursor<'_>) -> Result<BySourceClause> {
    let condition = condition(cursor, Some(Side::Target))?;
    let action = if cursor.takes("DELETE") {
        BySourceAction::Delete
    } else {
        cursor.expects("UPDATE SET")?;
        if cursor.sees_symbol(0, "*") {
            return Err(cursor.mistake("NOT MATCHED BY SOURCE has no source row to take * from"));
        }
        BySourceAction::Update(assignments(cursor, Some(Side::Target))?)
    };
    Ok(BySourceClause { condition, within_slice: false, action })
}

/// `*`, of which nothing may be excepted.
fn star(cursor: &mut Cursor<'_>) -> Result<bool> {
    let there = cursor.takes_symbol("*");
    if there && cursor.sees("EXCEPT") {
        return Err(cursor.mistake("* EXCEPT is not supported here").hint("List the columns: SET a = s.a, b = s.b."));
    }
    Ok(there)
}

fn assignments(cursor: &mut Cursor<'_>, only: Option<Side>) -> Result<Vec<(String, String)>> {
    let mut set: Vec<(String, String)> = Vec::new();
    loop {
        let (at, column) = target_column(cursor)?;
        once(cursor, at, &column, set.iter().map(|(name, _)| name))?;
        if !cursor.takes_symbol("==") {
            cursor.expects_symbol("=")?;
        }
        set.push((column, expression(cursor, only)?));
        if !cursor.takes_symbol(",") {
            return Ok(set);
        }
    }
}

fn once<'a>(cursor: &Cursor<'_>, at: usize, column: &str, mut before: impl Iterator<Item = &'a String>) -> Result<()> {
    if before.any(|name| name.eq_ignore_ascii_case(column)) {
        return Err(mistake(cursor.sql, at, format!("the column '{column}' is set twice")));
    }
    Ok(())
}

/// A column that is written: its place and its name without the qualifier.
fn target_column(cursor: &mut Cursor<'_>) -> Result<(usize, String)> {
    let at = cursor.place();
    let parts = cursor.dotted_name("a column of the table")?;
    match cursor.column(at, parts)? {
        Node::Column { side: None | Some(Side::Target), name } => Ok((at, name)),
        _ => {
            Err(mistake(cursor.sql, at, "a column of the source is set")
                .hint("Only the table's columns can be written."))
        }
    }
}

fn not_matched(cursor: &mut Cursor<'_>) -> Result<InsertClause> {
    let condition = condition(cursor, Some(Side::Source))?;
    cursor.expects("INSERT")?;
    if star(cursor)? {
        return Ok(InsertClause { condition, values: Assignments::All });
    }
    if cursor.sees("VALUES") {
        return Err(cursor
            .mistake("INSERT without a list of columns is not supported")
            .hint("Name them: INSERT (a, b) VALUES (…)."));
    }
    let mut columns: Vec<String> = Vec::new();
    cursor.list(|c| {
        let (at, column) = target_column(c)?;
        once(c, at, &column, columns.iter())?;
        columns.push(column);
        Ok(())
    })?;
    cursor.expects("VALUES")?;
    let at = cursor.place();
    let values = cursor.list(|c| expression(c, Some(Side::Source)))?;
    if values.len() != columns.len() {
        return Err(mistake(
            cursor.sql,
            at,
            format!("{} values are given for {} columns", values.len(), columns.len()),
        ));
    }
    Ok(InsertClause { condition, values: Assignments::Set(columns.into_iter().zip(values).collect()) })
}
