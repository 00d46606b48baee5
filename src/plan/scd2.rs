//! Slowly changing dimension, type 2 (Kimball): a changed row is closed, not
//! overwritten, and its new version inserted beside it.

use serde::{Deserialize, Serialize};

use super::algebra::{Change, Pairing, Reach, RowRule};
use super::clauses::{Assignments, Clauses, InsertClause, MatchedAction, MatchedClause, On};
use super::kinds::{Class, Io, Kind, RowSpec};
use super::merge::{merge_metrics, merge_words};
use super::{KeyFacts, RowTotals};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scd2 {
    #[serde(flatten)]
    pub rows: RowSpec,
    /// Columns whose change begins a new version: columns of both sides.
    pub track: Vec<String>,
    /// Columns of the table.
    pub effective_from: String,
    pub effective_to: String,
    /// A boolean column that is true for the newest version; `None`: the newest
    /// is the one whose `effective_to` is NULL.
    pub current: Option<String>,
    /// When delivered versions begin: SQL over `s`.
    pub effective_at: String,
    /// The table's other columns, which a new version takes from the source.
    pub carried: Vec<String>,
}

impl Scd2 {
    fn name(column: &str) -> String {
        format!("`{}`", column.replace('`', "``"))
    }

    fn on(&self) -> On {
        let condition = match &self.current {
            Some(current) => format!("t.{} = TRUE", Self::name(current)),
            None => format!("t.{} IS NULL", Self::name(&self.effective_to)),
        };
        On { condition: Some(condition), ..On::columns(&self.rows.key, false) }
    }

    fn clauses(&self) -> Clauses {
        let differs = |c: &String| {
            let name = Self::name(c);
            format!("NOT (s.{name} <=> t.{name})")
        };
        let changed: Vec<String> = self.track.iter().map(differs).collect();
        let mut close = vec![(self.effective_to.clone(), self.effective_at.clone())];
        close.extend(self.current.iter().map(|c| (c.clone(), "FALSE".to_owned())));
        let taken = |c: &String| (c.clone(), format!("s.{}", Self::name(c)));
        let mut version: Vec<(String, String)> = self.rows.key.iter().chain(&self.carried).map(taken).collect();
        version.push((self.effective_from.clone(), self.effective_at.clone()));
        version.push((self.effective_to.clone(), "NULL".into()));
        version.extend(self.current.iter().map(|c| (c.clone(), "TRUE".to_owned())));
        let insert = Assignments::Set(version);
        Clauses {
            matched: vec![MatchedClause {
                condition: Some(changed.join(" OR ")),
                action: MatchedAction::Close { update: Assignments::Set(close), insert: insert.clone() },
            }],
            not_matched: vec![InsertClause { condition: None, values: insert }],
            by_source: Vec::new(),
        }
    }
}

impl Kind for Scd2 {
    /// Spark has no other word for it, and neither has the history.
    fn operation(&self) -> &'static str {
        "merge"
    }

    fn title(&self) -> &'static str {
        "SCD type 2"
    }

    fn lower(&self) -> Change {
        Change::Rows(RowRule { reach: Reach::Key, pairing: Pairing::Join(self.on()), clauses: self.clauses() })
    }

    fn class(&self) -> Class {
        Class::Merge
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::RowLevel
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    /// A second run finds every version current and equal, unless keys are NULL.
    fn repeats(&self, keys: &KeyFacts) -> bool {
        keys.nulls.source > 0
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        ("MERGE", merge_words(&self.on(), &self.clauses()))
    }

    fn metrics(&self, rows: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        merge_metrics(&self.clauses(), rows, io)
    }
}
