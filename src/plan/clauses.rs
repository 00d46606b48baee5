//! The clauses of a MERGE, as data: what `ON` compares and what each `WHEN`
//! does. Other kinds of rows lower to the same clauses.
//!
//! Conditions and values are SQL texts over two aliases, `s` for the delivered
//! row and `t` for the table's (`s.amount > t.amount`). Texts are what is
//! serialised, shown and sent to another engine; `predicate::RowExpr` gives
//! them their one meaning. Clauses of a list are tried in their order; the
//! first whose condition is true decides. A condition that is NULL does not hold.

use serde::{Deserialize, Serialize};

/// What identifies a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct On {
    pub keys: Vec<KeyPair>,
    /// What must hold besides the equality of the keys, over both rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

/// One equality of `ON`, between a column of the table and one of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPair {
    pub target: String,
    pub source: String,
    /// `<=>`: NULL equals NULL.
    #[serde(default)]
    pub null_safe: bool,
}

/// Every `WHEN` of a MERGE.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clauses {
    /// `WHEN MATCHED`
    #[serde(default)]
    pub matched: Vec<MatchedClause>,
    /// `WHEN NOT MATCHED [BY TARGET]`
    #[serde(default)]
    pub not_matched: Vec<InsertClause>,
    /// `WHEN NOT MATCHED BY SOURCE`
    #[serde(default)]
    pub by_source: Vec<BySourceClause>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedClause {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    pub action: MatchedAction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedAction {
    Update(Assignments),
    Delete,
    /// The table's row is changed and the delivered one inserted beside it: an
    /// old version is closed, a new one begins (SCD type 2).
    Close {
        update: Assignments,
        insert: Assignments,
    },
}

/// What an update or an insert writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assignments {
    /// `*`: every column from the delivered column of its name.
    All,
    /// (column of the table, SQL value). A column that is not named keeps its
    /// value in an update and is NULL in an insert.
    Set(Vec<(String, String)>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertClause {
    /// Over `s` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    pub values: Assignments,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BySourceClause {
    /// Over `t` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Only rows of partitions that the source delivers.
    #[serde(default)]
    pub within_slice: bool,
    pub action: BySourceAction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BySourceAction {
    /// (column of the table, SQL value over `t` alone)
    Update(Vec<(String, String)>),
    Delete,
}

impl Assignments {
    pub fn is_all(&self) -> bool {
        *self == Assignments::All
    }

    /// (column, SQL value) of each assignment; none for `*`.
    pub fn set(&self) -> &[(String, String)] {
        match self {
            Assignments::All => &[],
            Assignments::Set(list) => list,
        }
    }
}

impl Clauses {
    /// Update what matches, insert what does not.
    pub fn upsert() -> Clauses {
        Clauses { matched: vec![MatchedClause::update_all()], ..Clauses::insert_only() }
    }

    /// Insert what does not match, leave the rest.
    pub fn insert_only() -> Clauses {
        Clauses { not_matched: vec![InsertClause { condition: None, values: Assignments::All }], ..Clauses::default() }
    }

    /// Upsert, and delete what the delivered partitions hold beyond the source.
    pub fn replace(within_slice: bool) -> Clauses {
        let delete = BySourceClause { condition: None, within_slice, action: BySourceAction::Delete };
        Clauses { by_source: vec![delete], ..Clauses::upsert() }
    }

    /// Whether several source rows may match one row of the table: nothing is
    /// to be done with the match, or the one thing is an unconditional DELETE.
    pub fn allows_many(&self) -> bool {
        match self.matched.as_slice() {
            [] => true,
            [only] => only.condition.is_none() && only.action == MatchedAction::Delete,
            _ => false,
        }
    }

    pub fn deletes_by_source(&self) -> bool {
        self.by_source.iter().any(|clause| clause.action == BySourceAction::Delete)
    }
}

impl MatchedClause {
    pub fn update_all() -> MatchedClause {
        MatchedClause { condition: None, action: MatchedAction::Update(Assignments::All) }
    }
}
