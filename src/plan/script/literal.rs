//! Names, texts and typed values in Spark SQL, and predicates of exact partitions.

use crate::table::schema::{DataType, PrimitiveType};
use crate::table::{Field, PartitionTuple, Value};

/// A name in backticks.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text as a literal of one line, whatever is in it. `escapedStringLiterals`
/// must be off. A `$` before a brace is escaped, or Spark would look for a
/// variable of that name.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' if chars.peek() == Some(&'{') => out.push_str("\\u0024"),
            // Line separators and directions too: an editor would break or turn the line.
            c if c.is_control() || matches!(c as u32, 0x200e | 0x200f | 0x2028..=0x202e | 0x2066..=0x2069) => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Text for a comment of one line. A backslash at its end would draw the next
/// line into the comment.
pub(super) fn comment(text: &str) -> String {
    let mut line = crate::table::value::escape_controls(text).replace(['\u{2028}', '\u{2029}'], " ");
    if line.ends_with('\\') {
        line.push('.');
    }
    line
}

/// Spark's name of a primitive type.
pub(super) fn type_name(t: &PrimitiveType) -> String {
    match t {
        PrimitiveType::Long => "BIGINT".into(),
        PrimitiveType::Integer => "INT".into(),
        PrimitiveType::Short => "SMALLINT".into(),
        PrimitiveType::Byte => "TINYINT".into(),
        other => other.to_string().to_uppercase(),
    }
}

/// A value of a column of type `t`.
pub(super) fn value(value: &Value, t: &PrimitiveType) -> String {
    let cast = |text: String| format!("CAST({} AS {})", self::text(&text), type_name(t));
    match value {
        Value::Null => format!("CAST(NULL AS {})", type_name(t)),
        Value::Boolean(b) => if *b { "TRUE" } else { "FALSE" }.into(),
        Value::Int(n) => match t {
            PrimitiveType::Byte => format!("{n}Y"),
            PrimitiveType::Short => format!("{n}S"),
            PrimitiveType::Long => format!("{n}L"),
            _ => n.to_string(),
        },
        Value::String(s) | Value::Nested(s) => text(s),
        Value::Date(_) => format!("DATE {}", text(&value.plain())),
        // The zone is in the text: the session's does not matter.
        Value::Timestamp(_) => format!("TIMESTAMP {}", text(&value.plain().replace('T', " "))),
        Value::TimestampNtz(_) => format!("TIMESTAMP_NTZ {}", text(&value.plain().replace('T', " "))),
        Value::Binary(bytes) => format!("X'{}'", bytes.iter().fold(String::new(), |t, b| t + &format!("{b:02X}"))),
        Value::Float(_) | Value::Double(_) | Value::Decimal { .. } => cast(value.plain()),
    }
}

/// A condition that holds for the rows of exactly these partitions; `alias` is
/// put before the columns' names. Tuples that begin alike share their beginning.
pub(super) fn exactly(fields: &[&Field], tuples: &[&[Value]], alias: &str) -> String {
    let Some((field, rest)) = fields.split_first() else { return "TRUE".into() };
    let column = format!("{alias}{}", name(&field.name));
    let literal = |v: &Value| match &field.data_type {
        DataType::Primitive(t) => value(v, t),
        _ => text(&v.plain()),
    };
    let mut groups: Vec<(&Value, Vec<&[Value]>)> = Vec::new();
    for tuple in tuples {
        let Some((first, others)) = tuple.split_first() else { continue };
        match groups.last_mut() {
            Some((last, list)) if *last == first => list.push(others),
            _ => groups.push((first, vec![others])),
        }
    }
    let mut terms = Vec::new();
    if rest.is_empty() {
        let values: Vec<String> = groups.iter().filter(|(v, _)| !v.is_null()).map(|(v, _)| literal(v)).collect();
        match values.as_slice() {
            [] => {}
            [one] => terms.push(format!("{column} = {one}")),
            many => terms.push(format!("{column} IN ({})", many.join(", "))),
        }
        if groups.iter().any(|(v, _)| v.is_null()) {
            terms.push(format!("{column} IS NULL"));
        }
    } else {
        for (first, others) in groups {
            let here = match first {
                Value::Null => format!("{column} IS NULL"),
                v => format!("{column} = {}", literal(v)),
            };
            terms.push(format!("({here} AND {})", exactly(rest, &others, alias)));
        }
    }
    match terms.len() {
        0 => "FALSE".into(),
        1 => terms.remove(0),
        _ => format!("({})", terms.join(" OR ")),
    }
}

/// The same for tuples with something beside them.
pub(super) fn of_partitions<T>(fields: &[&Field], tuples: &[(PartitionTuple, T)], alias: &str) -> String {
    let mut values: Vec<&[Value]> = tuples.iter().map(|(t, _)| t.0.as_slice()).collect();
    values.sort();
    exactly(fields, &values, alias)
}
