//! What `--by` says: columns of the table, and at most one expression under a name.

use crate::error::{Error, ErrorKind, Result};

/// One part of a `--by`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    Column(String),
    Expression { text: String, name: String },
}

/// Reads `a, b` or `date_trunc('month', ts) AS ts_month`; `none` is no column.
///
/// # Errors
/// `Usage`.
pub fn parse(texts: &[String]) -> Result<Vec<By>> {
    let parts: Vec<&str> = texts.iter().flat_map(|text| split(text)).map(str::trim).collect();
    if let [only] = parts.as_slice()
        && only.eq_ignore_ascii_case("none")
    {
        return Ok(Vec::new());
    }
    parts.into_iter().map(part).collect()
}

fn part(text: &str) -> Result<By> {
    let usage = |what: &str| {
        Error::new(ErrorKind::Usage, format!("--by {what}"))
            .hint("Write --by A,B, --by none, or --by \"date_trunc('month', ts) AS ts_month\".")
    };
    if text.is_empty() {
        return Err(usage("has an empty column name"));
    }
    let quoted = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    if quoted.is_some_and(|inside| !inside.replace("``", "").contains('`')) {
        return Ok(By::Column(unquoted(text)));
    }
    if let Some((expression, name)) = named(text) {
        if expression.is_empty() {
            return Err(usage("has a name without an expression"));
        }
        return Ok(By::Expression { text: expression.to_owned(), name: unquoted(name) });
    }
    if text.contains('(') && !text.starts_with('`') {
        return Err(usage(&format!("{text} needs a name: Delta partitions by columns only")));
    }
    Ok(By::Column(unquoted(text)))
}

/// `expression AS name`, split at the last AS that stands by itself.
fn named(text: &str) -> Option<(&str, &str)> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("as ") {
        return Some(("", text[3..].trim()));
    }
    let at = lower.rfind(" as ")?;
    let name = text[at + 4..].trim();
    // CAST(x AS DATE) is no name.
    let plain = name.starts_with('`') || !name.contains(['(', ')', '\'', ' ']);
    (plain && !name.is_empty()).then(|| (text[..at].trim(), name))
}

fn unquoted(name: &str) -> String {
    match name.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        Some(inside) => inside.replace("``", "`"),
        None => name.to_owned(),
    }
}

/// Cuts at commas outside parentheses and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0i32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ',') if depth <= 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<By> {
        parse(&[text.to_owned()]).unwrap_or_else(|e| panic!("{text}: {}", e.full_message()))
    }

    #[test]
    fn columns_and_expressions_are_told_apart() {
        let column = |name: &str| By::Column(name.into());
        let expression = |text: &str, name: &str| By::Expression { text: text.into(), name: name.into() };
        assert_eq!(read("a, b"), [column("a"), column("b")]);
        assert_eq!(read("`a,b`,`none`"), [column("a,b"), column("none")]);
        assert_eq!(read("`run as x`,`a``b`"), [column("run as x"), column("a`b")]);
        assert!(read("None").is_empty());
        assert_eq!(
            read("region,date_trunc('month', ts) AS ts_month"),
            [column("region"), expression("date_trunc('month', ts)", "ts_month")]
        );
        assert_eq!(read("cast(ts as date) as `a day`"), [expression("cast(ts as date)", "a day")]);
    }

    #[test]
    fn what_has_no_name_is_refused() {
        for text in ["year(ts)", "cast(ts as date)", "a,,b", "", " as x"] {
            assert_eq!(parse(&[text.to_owned()]).unwrap_err().kind, ErrorKind::Usage, "{text}");
        }
    }
}
