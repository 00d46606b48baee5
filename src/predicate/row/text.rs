//! The canonical text of an expression: Spark SQL that parses to the same tree.

use std::fmt::{self, Display, Formatter};

use super::node::{Clock, Interval, Node};
use crate::table::Value;
use crate::table::schema::PrimitiveType;

/// Words that cannot stand for a column without quotes.
const RESERVED: [&str; 34] = [
    "AND",
    "BETWEEN",
    "BINARY",
    "CASE",
    "CAST",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "DATE",
    "DISTINCT",
    "DIV",
    "ELSE",
    "END",
    "ESCAPE",
    "EXISTS",
    "EXTRACT",
    "FALSE",
    "FROM",
    "IN",
    "INTERVAL",
    "IS",
    "LIKE",
    "NOT",
    "NULL",
    "ON",
    "OR",
    "SELECT",
    "SET",
    "THEN",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "TRUE",
    "USING",
    "WHEN",
    "WHERE",
];

/// A name as it can stand in SQL, in backticks where it must.
pub(crate) fn quoted_name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        && RESERVED.binary_search(&name.to_ascii_uppercase().as_str()).is_err();
    if plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

/// A text as a literal. Backslashes mean the same to every version of Spark,
/// doubled quotes do not.
pub(crate) fn quoted_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Spark's name of a type.
pub(crate) fn type_name(t: &PrimitiveType) -> String {
    match t {
        PrimitiveType::Long => "BIGINT".into(),
        PrimitiveType::Integer => "INT".into(),
        PrimitiveType::Short => "SMALLINT".into(),
        PrimitiveType::Byte => "TINYINT".into(),
        other => other.to_string().to_uppercase(),
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Node::Column { side, name } => {
                if let Some(side) = side {
                    write!(f, "{}.", side.alias())?;
                }
                f.write_str(&quoted_name(name))
            }
            Node::Literal(value, t) => literal(f, value, t.as_ref()),
            Node::Interval(interval) => match interval {
                Interval::Months(n) => write!(f, "INTERVAL '{n}' MONTH"),
                Interval::Days(n) => write!(f, "INTERVAL '{n}' DAY"),
                Interval::Time(us) => write!(f, "INTERVAL '{}' SECOND", seconds(*us)),
            },
            Node::And(parts) => joined(f, parts, " AND "),
            Node::Or(parts) => joined(f, parts, " OR "),
            Node::Not(inner) => match &**inner {
                Node::IsNull(x) => write!(f, "{} IS NOT NULL", Inner(x)),
                Node::Is(x, what) => write!(f, "{} IS NOT {}", Inner(x), truth(*what)),
                Node::In(x, list) => write!(f, "{} NOT IN ({})", Inner(x), List(list)),
                Node::Between(x, low, high) => {
                    write!(f, "{} NOT BETWEEN {} AND {}", Inner(x), Inner(low), Inner(high))
                }
                Node::Like(x, pattern, escape) => {
                    write!(f, "{} NOT LIKE {}", Inner(x), Inner(pattern))?;
                    escaped_by(f, *escape)
                }
                inner => write!(f, "NOT {}", Inner(inner)),
            },
            Node::Compare(op, a, b) => write!(f, "{} {} {}", Inner(a), op.symbol(), Inner(b)),
            Node::IsNull(x) => write!(f, "{} IS NULL", Inner(x)),
            Node::Is(x, what) => write!(f, "{} IS {}", Inner(x), truth(*what)),
            Node::In(x, list) => write!(f, "{} IN ({})", Inner(x), List(list)),
            Node::Between(x, low, high) => write!(f, "{} BETWEEN {} AND {}", Inner(x), Inner(low), Inner(high)),
            Node::Like(x, pattern, escape) => {
                write!(f, "{} LIKE {}", Inner(x), Inner(pattern))?;
                escaped_by(f, *escape)
            }
            Node::Arithmetic(op, a, b) => write!(f, "{} {} {}", Inner(a), op.symbol(), Inner(b)),
            Node::Negative(x) => write!(f, "-{}", Inner(x)),
            Node::Case { operand, whens, otherwise } => {
                f.write_str("CASE")?;
                if let Some(operand) = operand {
                    write!(f, " {}", Inner(operand))?;
                }
                for (when, then) in whens {
                    write!(f, " WHEN {when} THEN {then}")?;
                }
                if let Some(otherwise) = otherwise {
                    write!(f, " ELSE {otherwise}")?;
                }
                f.write_str(" END")
            }
            Node::Cast { value, to, lenient } => {
                write!(f, "{}CAST({value} AS {})", if *lenient { "TRY_" } else { "" }, type_name(to))
            }
            Node::Call(function, arguments) => write!(f, "{}({})", function.name(), List(arguments)),
            Node::Clock(Clock::Date) => f.write_str("current_date()"),
            Node::Clock(Clock::Timestamp) => f.write_str("current_timestamp()"),
        }
    }
}

/// An operand: in parentheses unless it is of one piece.
struct Inner<'a>(&'a Node);

impl Display for Inner<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let whole = match self.0 {
            Node::Literal(Value::Int(n), _) => *n >= 0,
            Node::Literal(Value::Decimal { unscaled, .. }, _) => *unscaled >= 0,
            Node::Literal(Value::Double(x), _) => x.is_sign_positive(),
            Node::Literal(Value::Float(x), _) => x.is_sign_positive(),
            Node::Column { .. } | Node::Literal(..) | Node::Interval(_) | Node::Clock(_) => true,
            Node::Case { .. } | Node::Cast { .. } | Node::Call(..) => true,
            _ => false,
        };
        if whole { self.0.fmt(f) } else { write!(f, "({})", self.0) }
    }
}

struct List<'a>(&'a [Node]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, node) in self.0.iter().enumerate() {
            write!(f, "{}{node}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

fn joined(f: &mut Formatter<'_>, parts: &[Node], by: &str) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            f.write_str(by)?;
        }
        match part {
            // Conditions bind tighter than AND and OR.
            Node::And(_) | Node::Or(_) => write!(f, "({part})")?,
            part => part.fmt(f)?,
        }
    }
    Ok(())
}

fn truth(what: Option<bool>) -> &'static str {
    match what {
        Some(true) => "TRUE",
        Some(false) => "FALSE",
        None => "UNKNOWN",
    }
}

fn escaped_by(f: &mut Formatter<'_>, escape: char) -> fmt::Result {
    if escape == '\\' { Ok(()) } else { write!(f, " ESCAPE {}", quoted_text(&escape.to_string())) }
}

fn seconds(us: i64) -> String {
    let text = crate::table::number::decimal(i128::from(us), 6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn literal(f: &mut Formatter<'_>, value: &Value, t: Option<&PrimitiveType>) -> fmt::Result {
    match (value, t) {
        (Value::Null, None) => f.write_str("NULL"),
        (Value::Null, Some(t)) => write!(f, "CAST(NULL AS {})", type_name(t)),
        (Value::Boolean(b), _) => f.write_str(if *b { "TRUE" } else { "FALSE" }),
        (Value::Int(n), Some(PrimitiveType::Long)) => write!(f, "{n}L"),
        (Value::Int(n), Some(PrimitiveType::Short)) => write!(f, "{n}S"),
        (Value::Int(n), Some(PrimitiveType::Byte)) => write!(f, "{n}Y"),
        (Value::Int(n), _) => write!(f, "{n}"),
        (Value::Float(x), _) => write!(f, "{x}F"),
        (Value::Double(x), _) => write!(f, "{x}D"),
        (Value::Decimal { unscaled, scale }, _) => {
            let suffix = if *scale == 0 { "BD" } else { "" };
            write!(f, "{}{suffix}", crate::table::number::decimal(*unscaled, *scale))
        }
        (Value::String(s) | Value::Nested(s), _) => f.write_str(&quoted_text(s)),
        (Value::Binary(bytes), _) => {
            f.write_str("X'")?;
            bytes.iter().try_for_each(|b| write!(f, "{b:02X}"))?;
            f.write_str("'")
        }
        (Value::Date(_), _) => write!(f, "DATE '{}'", value.plain()),
        // Without the zone another session would take its own.
        (Value::Timestamp(_), _) => write!(f, "TIMESTAMP '{}'", value.plain().replace('T', " ")),
        (Value::TimestampNtz(_), _) => write!(f, "TIMESTAMP_NTZ '{}'", value.plain().replace('T', " ")),
    }
}
