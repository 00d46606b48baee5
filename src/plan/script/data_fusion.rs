//! Texts for delta-rs: names, values and predicates as DataFusion reads them.

use super::delta_rs::cannot;
use super::pyspark::text;
use super::{Facts, missing, partition_fields, tuples};
use crate::error::Result;
use crate::plan::Plan;
use crate::table::schema::PrimitiveType;
use crate::table::{Field, Value};

/// A value of a partition as DataFusion's SQL has it.
fn value(value: &Value, t: &PrimitiveType) -> Result<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    Ok(match value {
        Value::Null => "NULL".into(),
        Value::Boolean(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::String(s) | Value::Nested(s) => quoted(s),
        Value::Date(_) => format!("CAST({} AS DATE)", quoted(&value.plain())),
        Value::Timestamp(_) | Value::TimestampNtz(_) => quoted(&value.plain()),
        Value::Float(_) | Value::Double(_) | Value::Decimal { .. } => match t {
            PrimitiveType::Decimal { .. } => quoted(&value.plain()),
            _ => return Err(cannot("a float as a partition value has no exact text in its predicates")),
        },
        Value::Binary(_) => return Err(cannot("a binary partition value has no text in its predicates")),
    })
}

pub(super) fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A condition that chooses exactly the partitions that occur in the source.
pub(super) fn exactly(plan: &Plan, facts: &Facts, alias: &str) -> Result<String> {
    let fields: Vec<&Field> = partition_fields(plan, facts)?;
    let partitions = tuples(plan, facts, |p| p.source > 0)?;
    if fields.is_empty() {
        return Ok("true".into());
    }
    let one = |tuple: &[Value]| -> Result<String> {
        let terms: Vec<String> = fields
            .iter()
            .zip(tuple)
            .map(|(field, v)| {
                let column = format!("{alias}{}", quoted_name(&field.name));
                let t = field.primitive().ok_or_else(|| missing("a partition column's type"))?;
                Ok(match v {
                    Value::Null => format!("{column} IS NULL"),
                    v => format!("{column} = {}", value(v, t)?),
                })
            })
            .collect::<Result<_>>()?;
        Ok(format!("({})", terms.join(" AND ")))
    };
    let terms: Vec<String> = partitions.iter().map(|(tuple, _)| one(&tuple.0)).collect::<Result<_>>()?;
    Ok(balanced(&terms))
}

/// A long chain of OR as a tree: its parser goes down a chain step by step.
fn balanced(terms: &[String]) -> String {
    match terms {
        [] => "false".into(),
        [one] => one.clone(),
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            format!("({} OR {})", balanced(left), balanced(right))
        }
    }
}

/// The name under which a delivered column is in the program's own table.
pub(super) fn taken(source: &str, facts: &Facts) -> Result<String> {
    let place = facts.columns.iter().position(|c| c.as_ref().is_some_and(|c| c.eq_ignore_ascii_case(source)));
    place.map(|at| facts.schema.fields[at].name.clone()).ok_or_else(|| {
        cannot(format!("the source's column {source} is no column of the table, which its script does not take"))
    })
}

/// What a name without an alias means in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare {
    /// A column of the one table that the text is about.
    Only,
    /// A column of the table's row.
    Target,
    /// The side that has it.
    Either,
}

/// A text that Spark and DataFusion read alike: comparisons, AND, OR, NOT, IS
/// NULL, IN, BETWEEN over columns, whole numbers and plain texts. Names become
/// those of the program's own table.
///
/// # Errors
/// `UnsupportedFeature`, naming the piece that is something else.
pub(super) fn shared_meaning(sql: &str, facts: &Facts, bare: Bare) -> Result<String> {
    const WORDS: [&str; 11] = ["AND", "OR", "NOT", "IS", "NULL", "IN", "BETWEEN", "TRUE", "FALSE", "DATE", "DISTINCT"];
    let other = |what: &str| cannot(format!("{what} in `{sql}` may mean something else in DataFusion"));
    let column = |name: &str, out: &str| -> Result<String> {
        let unknown = || other(&format!("the name {name}"));
        if out.ends_with("s.") {
            return taken(name, facts).map(|name| quoted_name(&name));
        }
        let found = facts.schema.find(name).map(|f| quoted_name(&f.name)).ok_or_else(unknown)?;
        match bare {
            _ if out.ends_with("t.") => Ok(found),
            Bare::Only => Ok(found),
            Bare::Either if facts.delivered.find(name).is_some() => Err(unknown()),
            Bare::Either | Bare::Target => Ok(format!("t.{found}")),
        }
    };
    let mut out = String::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '`' => {
                let end = quoted_end(rest, '`').ok_or_else(|| other("an open quote"))?;
                out += &column(&rest[1..end - 1].replace("``", "`"), &out)?;
                end
            }
            '\'' => {
                let end = quoted_end(rest, '\'').ok_or_else(|| other("an open quote"))?;
                if rest[..end].contains('\\') {
                    return Err(other("a backslash"));
                }
                out += &rest[..end];
                end
            }
            c if c.is_ascii_digit() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                let whole = rest[..end].trim_end_matches('L');
                if !whole.chars().all(|c| c.is_ascii_digit()) {
                    return Err(other(&format!("the number {}", &rest[..end])));
                }
                out += whole;
                end
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                let (word, after) = (&rest[..end], &rest[end..]);
                let is_alias = bare != Bare::Only && after.starts_with('.') && matches!(word, "s" | "t");
                if is_alias || !out.ends_with('.') && WORDS.contains(&word.to_ascii_uppercase().as_str()) {
                    out += word;
                } else if after.trim_start().starts_with('(') {
                    return Err(other(&format!("the function {word}")));
                } else {
                    out += &column(word, &out)?;
                }
                end
            }
            ' ' | '(' | ')' | ',' | '.' | '=' | '<' | '>' | '!' => {
                out.push(c);
                1
            }
            c => return Err(other(&format!("the sign {c}"))),
        };
        rest = &rest[end..];
    }
    match out.contains("<=>") {
        true => Err(other("<=>")),
        false => Ok(out),
    }
}

/// Where a quoted piece at the start of a text ends; doubled quotes are inside.
fn quoted_end(text: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        let next = at + text.get(at..)?.find(quote)? + 1;
        if !text[next..].starts_with(quote) {
            return Some(next);
        }
        at = next + 1;
    }
}

/// A value of a partition in Python.
pub(super) fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Boolean(b) => if *b { "True" } else { "False" }.into(),
        Value::Int(n) => n.to_string(),
        Value::Decimal { .. } => format!("decimal.Decimal({})", text(&value.plain())),
        Value::Float(_) | Value::Double(_) => format!("float({})", text(&value.plain())),
        Value::Date(_) => format!("datetime.date.fromisoformat({})", text(&value.plain())),
        Value::Timestamp(_) | Value::TimestampNtz(_) => {
            format!("datetime.datetime.fromisoformat({})", text(&value.plain().replace('Z', "+00:00")))
        }
        Value::String(s) | Value::Nested(s) => text(s),
        Value::Binary(bytes) => {
            format!("bytes.fromhex({})", text(&bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()))
        }
    }
}
