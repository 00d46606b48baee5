//! Changes what a config's text says about one table, and nothing else: every
//! other line, every comment and the order stay byte for byte.

use super::scan::{Kind, Statement, scan};
use super::{Config, TableConfig};
use crate::error::{Error, ErrorKind, Result};

pub(super) const TABLES: &str = "tables";

/// The lists of a table's section, by their names in the file.
fn lists(known: &TableConfig) -> [(&'static str, &Vec<String>); 4] {
    [("key", &known.key), ("ignore", &known.ignore), ("measures", &known.measures), ("grain", &known.grain)]
}

/// The text with key, ignored columns, measures and grain of the section
/// `[tables."name"]` as wanted. The section's thresholds (`gates`) stay as they are.
///
/// # Errors
/// `BadConfig` for a text that is no valid config, and for what cannot be
/// changed without touching more than it should, by its name.
pub fn set_table(text: &str, name: &str, wanted: &TableConfig) -> Result<String> {
    let before = Config::parse(text).map_err(|e| e.hint("Mend the file first; nothing was changed."))?;
    let present = before.tables.get(name).cloned().unwrap_or_default();
    let changes: Vec<(&str, &Vec<String>)> = lists(&present)
        .into_iter()
        .zip(lists(wanted))
        .filter(|((_, old), (_, new))| old != new)
        .map(|(_, new)| new)
        .collect();
    let result = edited(text, name, &changes)?;
    let mut meant = before;
    let (gates, queries) = (present.gates, present.queries);
    let section = TableConfig { gates, queries, ..wanted.clone() };
    if meant.tables.contains_key(name) || section != TableConfig::default() {
        meant.tables.insert(name.to_owned(), section);
    }
    as_meant(result, &meant, name)
}

/// The text with the queries of the section `[tables."name"]` as wanted. What
/// else is known of the table stays as it is.
///
/// # Errors
/// As [`set_table`].
pub fn set_queries(text: &str, name: &str, wanted: &Vec<String>) -> Result<String> {
    let mut meant = Config::parse(text).map_err(|e| e.hint("Mend the file first; nothing was changed."))?;
    let present = meant.tables.get(name).map(|t| t.queries.clone()).unwrap_or_default();
    if present == *wanted {
        return Ok(text.to_owned());
    }
    let result = edited(text, name, &[("queries", wanted)])?;
    meant.tables.entry(name.to_owned()).or_default().queries.clone_from(wanted);
    as_meant(result, &meant, name)
}

/// The changed text, if it says what it should.
fn as_meant(result: String, meant: &Config, name: &str) -> Result<String> {
    match Config::parse(&result) {
        Ok(config) if config == *meant => Ok(result),
        _ => Err(by_hand(name, "this file is written in a way that would not survive the change")),
    }
}

pub(super) fn by_hand(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::BadConfig, format!("[tables.{}] cannot be changed here: {why}", quoted(name)))
        .hint("Change it in an editor; nothing was written.")
}

/// The text with some lists of the section as given.
fn edited(text: &str, name: &str, changes: &[(&str, &Vec<String>)]) -> Result<String> {
    if changes.is_empty() {
        return Ok(text.to_owned());
    }
    let statements = scan(text).ok_or_else(|| by_hand(name, "a line of the file is not understood"))?;
    refuse_other_forms(text, name, &statements)?;
    let is_section = |s: &Statement| matches!(&s.kind, Kind::Header { path, array: false } if *path == [TABLES, name]);
    let break_ = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some(header) = statements.iter().position(is_section) else {
        return Ok(appended(text, name, changes, break_));
    };
    let end = statements[header + 1..]
        .iter()
        .position(|s| matches!(s.kind, Kind::Header { .. }))
        .map_or(statements.len(), |n| header + 1 + n);
    let section = &statements[header + 1..end];
    let mut edits: Vec<(std::ops::Range<usize>, String)> = Vec::new();
    let last = section.iter().rev().find(|s| matches!(s.kind, Kind::Pair { .. })).unwrap_or(&statements[header]);
    let place = last.bytes.end;
    let indent: String = text[last.bytes.clone()].chars().take_while(|c| [' ', '\t'].contains(c)).collect();
    let mut new_lines = String::new();
    for (list, columns) in changes {
        let pair = section.iter().find_map(|s| match &s.kind {
            Kind::Pair { path, value, comment } if *path == [*list] => Some((value, *comment, s.bytes.start)),
            _ => None,
        });
        match pair {
            Some((_, true, start)) => {
                let line = text[..start].matches('\n').count() + 1;
                return Err(by_hand(name, &format!("comments stand within the list {list} (line {line})")));
            }
            Some((value, false, _)) => edits.push((value.clone(), array(columns))),
            None => new_lines += &format!("{indent}{list} = {}{break_}", array(columns)),
        }
    }
    if !new_lines.is_empty() {
        if !text[..place].ends_with('\n') {
            // The file ends without a line break, and goes on doing so.
            new_lines = format!("{break_}{}", new_lines.trim_end_matches(['\r', '\n']));
        }
        edits.push((place..place, new_lines));
    }
    edits.sort_by_key(|(bytes, _)| std::cmp::Reverse(bytes.start));
    let mut result = text.to_owned();
    for (bytes, new) in edits {
        result.replace_range(bytes, &new);
    }
    Ok(result)
}

/// A section of its own can be changed; inline tables and dotted keys cannot.
fn refuse_other_forms(text: &str, name: &str, statements: &[Statement]) -> Result<()> {
    let section = [TABLES.to_owned(), name.to_owned()];
    let mut under: Vec<String> = Vec::new();
    for statement in statements {
        match &statement.kind {
            Kind::Header { path, .. } => under.clone_from(path),
            Kind::Pair { path, .. } if !under.starts_with(&section) => {
                let full = [under.as_slice(), path.as_slice()].concat();
                if full == [TABLES] || full.starts_with(&section) {
                    let line = text[..statement.bytes.start].matches('\n').count() + 1;
                    let why = format!("it is written as an inline table or with dotted keys (line {line})");
                    return Err(by_hand(name, &why));
                }
            }
            Kind::Pair { .. } | Kind::Other => {}
        }
    }
    Ok(())
}

/// A new section at the end of the file.
fn appended(text: &str, name: &str, changes: &[(&str, &Vec<String>)], break_: &str) -> String {
    let mut result = text.to_owned();
    if !result.is_empty() {
        if !result.ends_with('\n') {
            result += break_;
        }
        result += break_;
    }
    result += &format!("[tables.{}]{break_}", quoted(name));
    for (list, columns) in changes.iter().filter(|(_, columns)| !columns.is_empty()) {
        result += &format!("{list} = {}{break_}", array(columns));
    }
    result
}

fn array(columns: &[String]) -> String {
    let columns: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
    format!("[{}]", columns.join(", "))
}

/// A basic string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
