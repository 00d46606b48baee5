//! Technical columns: a load time, a batch id. They differ in every delivered
//! row although nothing happened, so they hide which rows really changed.
//!
//! A name alone is a guess and a count alone is one too (a restatement may
//! change every amount), so a column is only proposed where both agree.

use serde::{Deserialize, Serialize};

use crate::table::number::grouped;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TechnicalProposal {
    /// In the order of the counts.
    pub columns: Vec<String>,
    /// Changed rows that differ in nothing but these columns.
    pub only_these: u64,
    /// Changed rows that were looked at.
    pub updated: u64,
    /// One sentence.
    pub because: String,
}

impl TechnicalProposal {
    /// Whether no row that was looked at really changed.
    pub fn explains_all(&self) -> bool {
        self.only_these == self.updated
    }
}

/// Words that make a name technical by themselves.
const WORDS: &[&str] = &[
    "load",
    "loaded",
    "loading",
    "batch",
    "ingest",
    "ingested",
    "ingestion",
    "etl",
    "elt",
    "dwh",
    "edw",
    "audit",
    "insert",
    "inserted",
    "extract",
    "extracted",
    "extraction",
    "synced",
    "sync",
    "processed",
    "processing",
    "pipeline",
    "airbyte",
    "fivetran",
    "sdc",
    "hoodie",
    "rescued",
    "lsn",
    "scn",
    "checksum",
    "hashdiff",
    "rowhash",
];

/// Words that are technical only beside another one that tells what of it.
const FIRST: &[&str] = &[
    "run",
    "job",
    "file",
    "source",
    "request",
    "package",
    "row",
    "record",
    "update",
    "updated",
    "modified",
    "changed",
    "change",
    "refresh",
    "refreshed",
    "last",
    "dag",
    "task",
    "process",
    "stage",
    "staging",
    "created",
];
const SECOND: &[&str] = &[
    "id",
    "ts",
    "time",
    "timestamp",
    "at",
    "on",
    "date",
    "datetime",
    "dts",
    "name",
    "path",
    "hash",
    "no",
    "number",
    "version",
    "seq",
    "sequence",
    "key",
    "by",
];

/// Whether a name is one that loaders give: `load_ts`, `_ingested_at`, `BatchId`.
pub fn is_technical_name(name: &str) -> bool {
    let words = words(name);
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    words.iter().any(|w| is(WORDS, w))
        || (words.len() >= 2 && is(FIRST, &words[0]) && words[1..].iter().all(|w| is(SECOND, w) || is(FIRST, w)))
        // A leading underscore is how loaders keep out of the data's way.
        || (name.starts_with('_') && words.last().is_some_and(|w| is(SECOND, w)))
}

/// Lower-case words of `snake_case`, `camelCase` and `kebab-case` names.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            words.push(String::new());
        } else {
            if c.is_uppercase() && before_lower {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        before_lower = c.is_lowercase();
    }
    words.retain(|w| !w.is_empty());
    words
}

/// `differs`: (column, in how many updated rows it differs), for columns that
/// are no key. `updated`: rows that were looked at. `only_these` counts the
/// updated rows that differ in nothing but the given columns.
///
/// `None` where no column is technical by name and by what it does: it differs
/// in nearly every changed row, or some rows differ only there.
pub fn propose(
    differs: &[(String, u64)],
    updated: u64,
    only_these: impl FnOnce(&[String]) -> u64,
) -> Option<TechnicalProposal> {
    let named = differs.iter().filter(|(name, rows)| *rows > 0 && is_technical_name(name));
    let columns: Vec<String> = named.map(|(name, _)| name.clone()).collect();
    if columns.is_empty() || updated == 0 {
        return None;
    }
    let rows = only_these(&columns).min(updated);
    let everywhere = differs
        .iter()
        .filter(|(name, _)| columns.contains(name))
        .any(|(_, rows)| rows.saturating_mul(20) >= updated.saturating_mul(19));
    if rows == 0 && !everywhere {
        return None;
    }
    let list = columns.join(", ");
    let because = if rows == updated {
        format!("Every one of the {} changed rows differs only in {list}.", grouped(updated))
    } else if rows > 0 {
        format!("{} of {} changed rows differ only in {list}.", grouped(rows), grouped(updated))
    } else {
        format!("{list} differs in nearly every changed row, beside columns that changed too.")
    };
    Some(TechnicalProposal { columns, only_these: rows, updated, because })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, u64)]) -> Vec<(String, u64)> {
        list.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect()
    }

    #[test]
    fn names_that_loaders_give() {
        for name in [
            "load_ts",
            "batch_id",
            "_ingested_at",
            "BatchId",
            "etlRunId",
            "LOADED_AT",
            "last_updated_at",
            "run_id",
            "updated_at",
            "_file_path",
            "dwh_valid_from",
            "source_file_name",
        ] {
            assert!(is_technical_name(name), "{name}");
        }
        for name in [
            "amount",
            "posting_date",
            "status",
            "id",
            "doc_number",
            "source",
            "file",
            "company_code",
            "run",
            "loader",
            "payload",
            "row",
            "order_id",
        ] {
            assert!(!is_technical_name(name), "{name}");
        }
    }

    #[test]
    fn every_changed_row_differs_only_there() {
        let found = propose(&counts(&[("amount", 0), ("load_ts", 100), ("batch_id", 100)]), 100, |columns| {
            assert_eq!(columns, ["load_ts", "batch_id"]);
            100
        });
        let found = found.expect("a proposal");
        assert!(found.explains_all());
        assert_eq!(found.because, "Every one of the 100 changed rows differs only in load_ts, batch_id.");
    }

    #[test]
    fn some_rows_changed_beside_it() {
        let found = propose(&counts(&[("amount", 4), ("load_ts", 1_000)]), 1_000, |_| 996).expect("a proposal");
        assert_eq!((found.only_these, found.explains_all()), (996, false));
        assert!(found.because.starts_with("996 of 1,000 changed rows"));
        let found = propose(&counts(&[("amount", 1_000), ("load_ts", 1_000)]), 1_000, |_| 0).expect("a proposal");
        assert!(found.because.contains("nearly every changed row"));
    }

    #[test]
    fn an_amount_that_changed_everywhere_is_no_technical_column() {
        assert_eq!(propose(&counts(&[("amount", 50)]), 50, |_| 50), None);
        assert_eq!(propose(&counts(&[("amount", 50), ("updated_at", 3)]), 50, |_| 0), None);
        assert_eq!(propose(&counts(&[("load_ts", 0)]), 0, |_| 0), None);
    }
}
