//! How the delivered rows are looked at before anything is compared: what a
//! `USING (SELECT …)` says, and what an extract's operation column means.

use serde::{Deserialize, Serialize};

/// Texts are SQL over the alias `s`. The steps run in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceView {
    /// Only rows for which this is true are the source's rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// (name, SQL value): computed or renamed columns, which hide delivered ones
    /// of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<(String, String)>,
    /// What each row means; rows that mean nothing are counted as ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationColumn>,
    /// Of the rows of one key only the one with the greatest value stays; the
    /// others are counted as ignored. NULL is the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_by: Option<String>,
}

impl SourceView {
    pub fn is_plain(&self) -> bool {
        *self == SourceView::default()
    }
}

/// A column of a change feed or a delta extract that says what became of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationColumn {
    pub column: String,
    /// (value as text, `None` for NULL; meaning). Every value that occurs is named.
    pub codes: Vec<(Option<String>, RowMeaning)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowMeaning {
    /// The row as it is now: inserted or updated.
    Upsert,
    /// The row is gone at the source.
    Delete,
    /// The row as it was before a change, or one that was taken back: no news.
    BeforeImage,
}

impl RowMeaning {
    pub fn words(self) -> &'static str {
        match self {
            RowMeaning::Upsert => "upsert",
            RowMeaning::Delete => "delete",
            RowMeaning::BeforeImage => "before-image",
        }
    }
}
