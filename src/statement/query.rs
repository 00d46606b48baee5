//! The query that a statement reads from: one table, looked at through a
//! filter, computed columns and, per key, the latest row.

use super::latest::{Deduplication, is_first, is_one, numbered, row_number};
use super::names::{TableName, alias, qualifiers, source_name};
use crate::error::Result;
use crate::plan::view::SourceView;
use crate::predicate::row::cursor::{Aliases, Cursor};
use crate::predicate::row::lexer::mistake;
use crate::predicate::row::node::Node;
use crate::predicate::{RowExpr, Side};

/// What a statement reads.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceQuery {
    pub name: TableName,
    /// Filter, computed columns and deduplication.
    pub view: SourceView,
    /// The columns that the query gives, in their order.
    pub output: Vec<Output>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// `*`: the columns of the named source, without these.
    All { except: Vec<String> },
    /// A column of the source, or of the view's computed ones.
    Column(String),
}

impl SourceQuery {
    /// A table as it is.
    pub(super) fn whole(name: TableName) -> SourceQuery {
        SourceQuery { name, view: SourceView::default(), output: vec![Output::All { except: Vec::new() }] }
    }

    pub fn takes_everything(&self) -> bool {
        matches!(self.output.as_slice(), [Output::All { except }] if except.is_empty())
    }
}

type Parsed = (SourceQuery, Option<Deduplication>);

/// So deep may a query stand in parentheses.
const MAX_PARENTHESES: usize = 8;

/// `(query)`, `SELECT …` or `TABLE name`.
pub(super) fn source_query(cursor: &mut Cursor<'_>) -> Result<Parsed> {
    nested(cursor, MAX_PARENTHESES)
}

fn nested(cursor: &mut Cursor<'_>, left: usize) -> Result<Parsed> {
    if left == 0 {
        return Err(cursor.mistake("queries are nested too deep"));
    }
    if cursor.takes_symbol("(") {
        let parsed = nested(cursor, left - 1)?;
        refuse_more(cursor)?;
        cursor.expects_symbol(")")?;
        return Ok(parsed);
    }
    if cursor.takes("TABLE") {
        return Ok((SourceQuery::whole(source_name(cursor)?), None));
    }
    let unsupported = [
        ("VALUES", "Rows in the statement are not a source that can be pinned"),
        ("WITH", "WITH is not supported in a source"),
        ("FROM", "FROM before SELECT is not supported"),
    ];
    for (word, said) in unsupported {
        if cursor.sees(word) {
            return Err(cursor.mistake(said).hint("Write the rows to a table, and name that as the source."));
        }
    }
    select(cursor, left)
}

fn select(cursor: &mut Cursor<'_>, left: usize) -> Result<Parsed> {
    let start = cursor.place();
    cursor.expects("SELECT").map_err(|e| e.hint("A source is a table, a path, TABLE name or SELECT … FROM name."))?;
    if cursor.sees("DISTINCT") {
        return Err(cursor.mistake("SELECT DISTINCT is not supported").hint(RESULT_TO_A_TABLE));
    }
    cursor.takes("ALL");
    // The names before FROM are those of the tables after it.
    let items = cursor.mark();
    skip_to_from(cursor, start)?;
    let from = cursor.mark();
    cursor.expects("FROM")?;
    let outer = std::mem::take(&mut cursor.aliases);
    let parsed = if cursor.sees_symbol(0, "(") {
        let inner = nested(cursor, left - 1)?;
        let names = qualifiers(alias(cursor)?, None);
        cursor.aliases = Aliases { source: names, target: Vec::new() };
        around(cursor, inner, items, from)?
    } else {
        let name = source_name(cursor)?;
        let names = qualifiers(alias(cursor)?, Some(&name));
        cursor.aliases = Aliases { source: names, target: Vec::new() };
        plain(cursor, name, items, from)?
    };
    refuse_more(cursor)?;
    cursor.aliases = outer;
    Ok(parsed)
}

const RESULT_TO_A_TABLE: &str = "Write the query's result to a table, and name that as the source.";

/// Moves to the FROM of the SELECT that was just entered.
fn skip_to_from(cursor: &mut Cursor<'_>, start: usize) -> Result<()> {
    let mut open = 0usize;
    loop {
        let from = cursor.sees("FROM") && !cursor.follows_word("DISTINCT") && !cursor.follows_symbol(".");
        if open == 0 && from {
            return Ok(());
        }
        if cursor.at_end() || (cursor.sees_symbol(0, ")") && open == 0) || cursor.sees_symbol(0, ";") {
            return Err(mistake(cursor.sql, start, "this SELECT has no FROM").hint("A source is one table."));
        }
        if cursor.sees_symbol(0, "(") {
            open += 1;
        } else if cursor.sees_symbol(0, ")") {
            open -= 1;
        }
        cursor.advance();
    }
}

/// Anything that would make other rows than one table's.
fn refuse_more(cursor: &Cursor<'_>) -> Result<()> {
    const MORE: [&str; 21] = [
        "JOIN",
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "CROSS",
        "NATURAL",
        "LATERAL",
        "GROUP BY",
        "HAVING",
        "ORDER BY",
        "SORT BY",
        "CLUSTER BY",
        "DISTRIBUTE BY",
        "LIMIT",
        "OFFSET",
        "UNION",
        "INTERSECT",
        "EXCEPT",
        "MINUS",
        "WINDOW",
    ];
    if cursor.sees_any(&MORE) || cursor.sees_symbol(0, ",") {
        let what = if cursor.sees_symbol(0, ",") { "a second table".into() } else { cursor.shown() };
        return Err(cursor.mistake(format!("{what} is not supported in a source")).hint(RESULT_TO_A_TABLE));
    }
    Ok(())
}

/// `SELECT items FROM name [WHERE …] [QUALIFY …]`, after the name.
fn plain(cursor: &mut Cursor<'_>, name: TableName, items: usize, from: usize) -> Result<Parsed> {
    refuse_more(cursor)?;
    let mut view = SourceView::default();
    if cursor.takes("WHERE") {
        view.filter = Some(of_source(cursor)?);
    }
    let mut deduplication = None;
    if cursor.takes("QUALIFY") {
        deduplication = Some(numbered(cursor)?);
        is_one(cursor)?;
    }
    let end = cursor.mark();
    cursor.return_to(items);
    let mut output = Vec::new();
    loop {
        let at = cursor.place();
        if row_number(cursor) {
            let mut number = numbered(cursor)?;
            number.name = Some(item_name(cursor)?.ok_or_else(|| cursor.unexpected("AS and a name"))?);
            if deduplication.replace(number).is_some() {
                return Err(mistake(cursor.sql, at, "rows are numbered twice"));
            }
        } else if let Some(except) = all(cursor, at)? {
            output.push(Output::All { except });
        } else {
            output.push(item(cursor, &mut view)?);
        }
        if !cursor.takes_symbol(",") {
            break;
        }
    }
    if cursor.mark() != from {
        return Err(cursor.unexpected("',' or FROM"));
    }
    cursor.return_to(end);
    if let Some(number) = &deduplication {
        // The numbering sees the table's rows, the plan those of the view.
        let hides = |name: &String| view.columns.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
        if let Some(hidden) = number.keys.iter().chain([&number.latest]).find(|name| hides(name)) {
            return Err(mistake(
                cursor.sql,
                number.at,
                format!("rows are numbered by '{hidden}', which the SELECT replaces"),
            )
            .hint("Give the computed column another name."));
        }
    }
    Ok((SourceQuery { name, view, output }, deduplication))
}

/// `*`, `alias.*`, `* EXCEPT (a, b)`: the columns that are left out.
fn all(cursor: &mut Cursor<'_>, at: usize) -> Result<Option<Vec<String>>> {
    let mark = cursor.mark();
    if !cursor.takes_symbol("*") {
        let Ok(parts) = cursor.dotted_name("a column") else { return Ok(None) };
        if !(cursor.takes_symbol(".") && cursor.takes_symbol("*")) {
            cursor.return_to(mark);
            return Ok(None);
        }
        // As a column of the qualifier would be: it must be known.
        cursor.column(at, [parts, vec!["*".to_owned()]].concat())?;
    }
    let except = if cursor.takes("EXCEPT") || cursor.takes("EXCLUDE") {
        cursor.list(|c| c.name("a column"))?
    } else {
        Vec::new()
    };
    Ok(Some(except))
}

/// `[AS] name` after an item.
fn item_name(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    if cursor.takes("AS") {
        return cursor.name("a name").map(Some);
    }
    if cursor.sees("FROM") { Ok(None) } else { Ok(cursor.name("a name").ok()) }
}

/// `expression [AS name]`
fn item(cursor: &mut Cursor<'_>, view: &mut SourceView) -> Result<Output> {
    let at = cursor.place();
    let node = as_source(cursor.expression()?);
    let name = item_name(cursor)?;
    let text = RowExpr::from_node(node.clone()).text().to_owned();
    let name = match (&node, name) {
        (Node::Column { name, .. }, None) => return Ok(Output::Column(name.clone())),
        (Node::Column { name: own, .. }, Some(name)) if *own == name => return Ok(Output::Column(name)),
        (_, Some(name)) => name,
        (_, None) => text.clone(),
    };
    match view.columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(&name)) {
        Some((_, same)) if *same == text => {}
        Some(_) => return Err(mistake(cursor.sql, at, format!("the column '{name}' is given twice"))),
        None => view.columns.push((name.clone(), text)),
    }
    Ok(Output::Column(name))
}

/// All names without an alias are the source's.
fn as_source(mut node: Node) -> Node {
    node.change(&mut |node| {
        if let Node::Column { side, .. } = node {
            *side = Some(Side::Source);
        }
    });
    node
}

fn of_source(cursor: &mut Cursor<'_>) -> Result<String> {
    let node = as_source(cursor.expression()?);
    Ok(RowExpr::from_node(node).text().to_owned())
}

/// `SELECT items FROM (inner) [AS q] [WHERE rn = 1]`, after the alias.
fn around(cursor: &mut Cursor<'_>, inner: Parsed, items: usize, from: usize) -> Result<Parsed> {
    let (mut query, deduplication) = inner;
    refuse_more(cursor)?;
    let number = deduplication.as_ref().and_then(|d| d.name.clone());
    match (&number, cursor.sees("WHERE")) {
        (Some(name), true) => {
            cursor.advance();
            let at = cursor.place();
            let condition = cursor.expression()?;
            if !is_first(&condition, name) {
                let said = format!("`{condition}` is not supported around numbered rows");
                return Err(mistake(cursor.sql, at, said)
                    .hint(format!("Outside only {name} = 1 may stand; put other conditions into the inner WHERE.")));
            }
        }
        (Some(name), false) => return Err(cursor.unexpected(&format!("WHERE {name} = 1"))),
        (None, true) => {
            return Err(cursor.mistake("WHERE around a query is not supported").hint("Put it into the inner query."));
        }
        (None, false) => {}
    }
    let end = cursor.mark();
    cursor.return_to(items);
    let mut output = Vec::new();
    loop {
        let at = cursor.place();
        if let Some(except) = all(cursor, at)? {
            let kept = |name: &str| !except.iter().any(|other| other.eq_ignore_ascii_case(name));
            output.extend(query.output.iter().filter_map(|inner| match inner {
                Output::Column(name) => kept(name).then(|| inner.clone()),
                Output::All { except: before } => {
                    let mut except: Vec<String> = before.iter().chain(&except).cloned().collect();
                    except.retain(|name| number.as_ref().is_none_or(|n| !n.eq_ignore_ascii_case(name)));
                    Some(Output::All { except })
                }
            }));
        } else {
            match as_source(cursor.expression()?) {
                Node::Column { name, .. } if item_name(cursor)?.is_none_or(|new| new == name) => {
                    output.push(Output::Column(name));
                }
                other => {
                    return Err(mistake(cursor.sql, at, format!("`{other}` is not supported around a query"))
                        .hint("Compute and rename columns in the inner query."));
                }
            }
        }
        if !cursor.takes_symbol(",") {
            break;
        }
    }
    if cursor.mark() != from {
        return Err(cursor.unexpected("',' or FROM"));
    }
    cursor.return_to(end);
    query.output = output;
    // The number has done its work; no second WHERE may ask for it.
    Ok((query, deduplication.map(|d| Deduplication { name: None, ..d })))
}
