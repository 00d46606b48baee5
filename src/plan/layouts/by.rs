//! What a table could be partitioned and sorted by.

use serde::{Deserialize, Serialize};

/// Partition columns and the order of rows within a partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct LayoutBy {
    /// Empty: one partition, the whole table.
    pub columns: Vec<ByColumn>,
    /// Rows of a partition are sorted by these columns; empty: as they come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sort_by: Vec<String>,
}

/// One partition column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ByColumn {
    pub name: String,
    /// SQL over the table's columns, where the table does not have the column yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
}

impl ByColumn {
    pub fn plain(name: impl Into<String>) -> ByColumn {
        ByColumn { name: name.into(), expression: None }
    }

    pub fn computed(expression: impl Into<String>, name: impl Into<String>) -> ByColumn {
        ByColumn { name: name.into(), expression: Some(expression.into()) }
    }
}

impl LayoutBy {
    pub fn of(columns: impl IntoIterator<Item = ByColumn>) -> LayoutBy {
        LayoutBy { columns: columns.into_iter().collect(), sort_by: Vec::new() }
    }

    pub fn sorted(mut self, by: Vec<String>) -> LayoutBy {
        self.sort_by = by;
        self
    }

    /// Parses `A,B`, `date_trunc('month', ts) AS m` or `none`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<LayoutBy, String> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(LayoutBy::default());
        }
        let columns = split(text)?.into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<String> = columns.iter().map(|c| c.name.to_lowercase()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the column {} is named twice", pair[0]));
        }
        Ok(LayoutBy::of(columns))
    }

    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// The text that [`LayoutBy::parse`] takes for its partition columns.
    pub fn argument(&self) -> String {
        if self.columns.is_empty() {
            return "none".into();
        }
        let column = |c: &ByColumn| match &c.expression {
            Some(sql) => format!("{sql} AS {}", quoted(&c.name)),
            None => quoted(&c.name),
        };
        self.columns.iter().map(column).collect::<Vec<_>>().join(", ")
    }

    /// For people: `region, dt_month`, `none (sort by dt)`.
    pub fn label(&self) -> String {
        let columns = match self.columns.is_empty() {
            true => "none".to_owned(),
            false => self.names().join(", "),
        };
        match self.sort_by.is_empty() {
            true => columns,
            false => format!("{columns} (sort by {})", self.sort_by.join(", ")),
        }
    }
}

/// A name as SQL takes it.
fn quoted(name: &str) -> String {
    let plain = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

/// Cuts at commas outside of quotes and parentheses.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut depth, mut quote, mut start, mut parts) = (0_usize, None, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.checked_sub(1).ok_or("a parenthesis is closed that was not opened")?,
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if quote.is_some() || depth > 0 {
        return Err("a quote or a parenthesis is not closed".into());
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn one(text: &str) -> Result<ByColumn, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a column name is empty; write A,B".into());
    }
    if let Some((expression, name)) = cut_alias(text) {
        let name = unquoted(name).ok_or_else(|| format!("'{name}' is no column name"))?;
        // `a AS a` says no more than `a`.
        return Ok(match unquoted(expression) {
            Some(column) if column == name => ByColumn::plain(name),
            _ => ByColumn::computed(expression.trim(), name),
        });
    }
    match unquoted(text) {
        Some(name) => Ok(ByColumn::plain(name)),
        None => Err(format!(
            "'{text}' is no column: Delta partitions by columns only. An expression needs a name, {text} AS name; a \
             column of this name needs backticks"
        )),
    }
}

/// The last ` AS ` outside of quotes and parentheses.
fn cut_alias(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quote, mut found) = (0_usize, None, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, c) if c.is_whitespace() && depth == 0 => {
                let rest = text[at..].trim_start();
                let word = rest.get(..2).is_some_and(|w| w.eq_ignore_ascii_case("as"));
                if word && rest[2..].starts_with(char::is_whitespace) {
                    found = Some((&text[..at], rest[2..].trim()));
                }
            }
            _ => {}
        }
    }
    found
}

/// A bare name, or one in `backticks`.
fn unquoted(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('`').and_then(|t| t.strip_suffix('`')) {
        let name = inner.replace("``", "`");
        return (!name.is_empty()).then_some(name);
    }
    // A column may be called anything that does not look like an expression.
    let odd = |c: char| c.is_whitespace() || "()'\"`,+*/=<>|".contains(c);
    (!text.is_empty() && !text.contains(odd)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_expressions_and_none() {
        assert_eq!(LayoutBy::parse(" none ").unwrap(), LayoutBy::default());
        let plain = LayoutBy::parse("region, `Fiscal Period`").unwrap();
        assert_eq!(plain.names(), ["region", "Fiscal Period"]);
        assert_eq!(plain.argument(), "region, `Fiscal Period`");
        let both = LayoutBy::parse("date_trunc('month', ts) as m,concat(a, ',', b) AS `a b`, c").unwrap();
        assert_eq!(both.columns[0], ByColumn::computed("date_trunc('month', ts)", "m"));
        assert_eq!(both.columns[1], ByColumn::computed("concat(a, ',', b)", "a b"));
        assert_eq!(LayoutBy::parse(&both.argument()).unwrap(), both);
        assert_eq!(
            LayoutBy::parse("CAST(a AS DATE) AS d").unwrap().columns[0].expression.as_deref(),
            Some("CAST(a AS DATE)")
        );
        assert_eq!(LayoutBy::parse("a AS a").unwrap().columns[0], ByColumn::plain("a"));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, said) in [
            ("", "empty"),
            ("a,,b", "empty"),
            ("a,A", "twice"),
            ("year(ts)", "needs a name"),
            ("fiscal period", "needs backticks"),
            ("f('a, b", "not closed"),
            ("a)", "not opened"),
        ] {
            let wrong = LayoutBy::parse(text).unwrap_err();
            assert!(wrong.contains(said), "{text}: {wrong}");
        }
    }
}
