//! Operation codes as they are written on the command line.

use super::shown;
use crate::plan::view::{OperationColumn, RowMeaning};

/// Reads what a person wrote on the command line: `COLUMN` or
/// `COLUMN=CODE:MEANING,…`. A code is a text, `NULL`, or `''` for the empty one.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse(text: &str) -> Result<OperationColumn, String> {
    let (column, codes) = match text.split_once('=') {
        Some((column, codes)) => (column, Some(codes)),
        None => (text, None),
    };
    let column = column.trim();
    if column.is_empty() {
        return Err("the column's name is empty; write COLUMN or COLUMN=CODE:MEANING,…".into());
    }
    let mut read: Vec<(Option<String>, RowMeaning)> = Vec::new();
    for part in codes.into_iter().flat_map(|codes| codes.split(',')) {
        let (code, word) = part
            .rsplit_once(':')
            .ok_or_else(|| format!("'{part}' has no meaning; write CODE:upsert, CODE:delete or CODE:before-image"))?;
        let meaning = match word.trim().to_ascii_lowercase().as_str() {
            "upsert" | "insert" | "update" => RowMeaning::Upsert,
            "delete" => RowMeaning::Delete,
            "before-image" | "before" | "ignore" => RowMeaning::BeforeImage,
            other => return Err(format!("'{other}' is no meaning; write upsert, delete or before-image")),
        };
        let code = match code {
            "NULL" | "∅" => None,
            "''" | "\"\"" => Some(String::new()),
            // A quoted code may hold blanks.
            quoted if quoted.len() > 2 && quoted.starts_with('\'') && quoted.ends_with('\'') => {
                Some(quoted[1..quoted.len() - 1].to_owned())
            }
            plain => Some(plain.to_owned()),
        };
        if read.iter().any(|(known, _)| *known == code) {
            return Err(format!("the code {} is given twice", shown(code.as_deref())));
        }
        read.push((code, meaning));
    }
    Ok(OperationColumn { column: column.to_owned(), codes: read })
}
