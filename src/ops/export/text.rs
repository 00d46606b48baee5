//! Rows as CSV and as a Markdown table.

use std::fs::File;
use std::io::{BufWriter, Result, Write};

use crate::table::Value;
use crate::table::value::escape_controls;

/// Characters of a cell in Markdown; longer ones end in `…`.
pub const CELL: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Markdown,
}

/// Writes rows line by line.
#[derive(Debug)]
pub struct Writer {
    out: BufWriter<File>,
    form: Form,
}

impl Writer {
    pub fn csv(file: File) -> Writer {
        Writer { out: BufWriter::new(file), form: Form::Csv }
    }

    pub fn markdown(file: File) -> Writer {
        Writer { out: BufWriter::new(file), form: Form::Markdown }
    }

    /// # Errors
    /// Where the file cannot be written.
    pub fn head<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<()> {
        let names: Vec<&str> = names.collect();
        match self.form {
            Form::Csv => self.line(&names.iter().map(|n| csv_text(n)).collect::<Vec<_>>()),
            Form::Markdown => {
                self.line(&names.iter().map(|n| markdown_text(n)).collect::<Vec<_>>())?;
                self.line(&vec!["---".to_owned(); names.len()])
            }
        }
    }

    /// # Errors
    /// As [`Writer::head`].
    pub fn row(&mut self, values: &[Value]) -> Result<()> {
        let cell = match self.form {
            Form::Csv => csv_cell,
            Form::Markdown => markdown_cell,
        };
        self.line(&values.iter().map(cell).collect::<Vec<_>>())
    }

    fn line(&mut self, cells: &[String]) -> Result<()> {
        match self.form {
            Form::Csv => writeln!(self.out, "{}", cells.join(",")),
            Form::Markdown => writeln!(self.out, "| {} |", cells.join(" | ")),
        }
    }

    /// # Errors
    /// As [`Writer::head`].
    pub fn finish(mut self) -> Result<()> {
        self.out.flush()
    }
}

/// NULL is nothing, the empty text `""` (RFC 4180 otherwise).
fn csv_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) | Value::Nested(text) => csv_text(text),
        other => other.plain(),
    }
}

/// Quoted where a reader could otherwise see something else.
fn csv_text(text: &str) -> String {
    let special = |c: char| matches!(c, ',' | '"' | ';') || c.is_control();
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    if text.contains(special) || blank(text.chars().next()) || blank(text.chars().next_back()) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn markdown_cell(value: &Value) -> String {
    match value {
        // Said as everywhere else: ∅ and "".
        Value::Null => value.to_string(),
        Value::String(text) if text.is_empty() => value.to_string(),
        other => markdown_text(&other.plain()),
    }
}

fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape_controls(&short(text)).chars() {
        if matches!(c, '|' | '\\' | '`' | '*' | '<' | '&' | '[') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn short(text: &str) -> String {
    match text.char_indices().nth(CELL) {
        None => text.to_owned(),
        Some(_) => text.chars().take(CELL - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(s: &str) -> Value {
        Value::String(s.into())
    }

    #[test]
    fn csv_keeps_every_value_apart() {
        for (value, cell) in [
            (Value::Null, ""),
            (text(""), "\"\""),
            (text("plain"), "plain"),
            (text("a,b"), "\"a,b\""),
            (text("say \"x\""), "\"say \"\"x\"\"\""),
            (text("a\nb"), "\"a\nb\""),
            (text(" pad"), "\" pad\""),
            (Value::Decimal { unscaled: -5, scale: 2 }, "-0.05"),
            (Value::Double(f64::NAN), "NaN"),
            (Value::Nested("[1,2]".into()), "\"[1,2]\""),
        ] {
            assert_eq!(csv_cell(&value), cell, "{value}");
        }
    }

    #[test]
    fn markdown_cells_stay_in_their_row_and_column() {
        for (value, cell) in [
            (Value::Null, "∅"),
            (text(""), "\"\""),
            (text("a|b"), "a\\|b"),
            (text("a\nb"), "a\\\\nb"),
            (text("\u{1b}[31m"), "\\\\x1b\\[31m"),
            (text("<b>&amp;"), "\\<b>\\&amp;"),
        ] {
            assert_eq!(markdown_cell(&value), cell, "{value}");
        }
        assert_eq!(markdown_cell(&text(&"é".repeat(CELL))), "é".repeat(CELL));
        let cut = markdown_cell(&text(&"é".repeat(CELL + 1)));
        assert_eq!((cut.chars().count(), cut.ends_with('…')), (CELL, true));
    }
}
