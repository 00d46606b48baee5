//! MERGE: what matches is updated or deleted, what does not is inserted, what
//! the source lacks may be changed too, each as the clauses say.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::algebra::{Change, Pairing, Reach, RowRule};
use super::clauses::{
    Assignments, BySourceAction, BySourceClause, Clauses, InsertClause, KeyPair, MatchedAction, MatchedClause, On,
};
use super::kinds::{Class, Io, Kind, RowSpec};
use super::{KeyFacts, RowTotals};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Merge {
    #[serde(flatten)]
    pub rows: RowSpec,
    pub on: On,
    pub clauses: Clauses,
}

impl On {
    /// Equality of columns that have one name on both sides.
    pub fn columns(key: &[String], null_safe: bool) -> On {
        let pair = |name: &String| KeyPair { target: name.clone(), source: name.clone(), null_safe };
        On { keys: key.iter().map(pair).collect(), condition: None }
    }

    /// The whole condition, in SQL.
    pub fn sql(&self) -> String {
        let quoted = |side: &str, c: &String| format!("{side}.`{}`", c.replace('`', "``"));
        let equals = |pair: &KeyPair| if pair.null_safe { "<=>" } else { "=" };
        let terms = self
            .keys
            .iter()
            .map(|pair| format!("{} {} {}", quoted("t", &pair.target), equals(pair), quoted("s", &pair.source)));
        terms.chain(self.condition.iter().map(|c| format!("({c})"))).collect::<Vec<_>>().join(" AND ")
    }

    /// Whether a NULL on both sides is never a match in some column.
    pub fn is_strict(&self) -> bool {
        self.keys.iter().any(|pair| !pair.null_safe)
    }
}

impl Merge {
    /// Update what matches, insert what does not, and perhaps delete what the
    /// delivered partitions hold beyond the source.
    pub fn upsert(rows: RowSpec, null_safe: bool, delete_missing: bool) -> Merge {
        let clauses = if delete_missing { Clauses::replace(true) } else { Clauses::upsert() };
        Merge { on: On::columns(&rows.key, null_safe), clauses, rows }
    }

    /// Insert what does not match: rows that arrive late.
    pub fn insert_only(rows: RowSpec, null_safe: bool) -> Merge {
        Merge { on: On::columns(&rows.key, null_safe), clauses: Clauses::insert_only(), rows }
    }

    fn is_insert_only(&self) -> bool {
        self.clauses.matched.is_empty() && self.clauses.by_source.is_empty()
    }
}

/// Whether a second run with the same source changes the table again: NULL keys
/// are inserted anew, and `x = t.x + 1` counts on.
pub(super) fn merge_repeats(on: &On, clauses: &Clauses, keys: &KeyFacts) -> bool {
    let reads_target = |values: &[(String, String)]| {
        // `t.x` alone keeps what is there; anything else that reads it may count on.
        values.iter().any(|(column, sql)| sql.contains("t.") && *sql != format!("t.`{column}`"))
    };
    let matched = clauses.matched.iter().any(|clause| match &clause.action {
        MatchedAction::Update(values) => reads_target(values.set()),
        MatchedAction::Delete => false,
        MatchedAction::Close { .. } => true,
    });
    let by_source = clauses.by_source.iter().any(|clause| match &clause.action {
        BySourceAction::Update(values) => reads_target(values),
        BySourceAction::Delete => false,
    });
    let inserts = !clauses.not_matched.is_empty();
    matched || by_source || inserts && keys.nulls.source > 0 && on.is_strict()
}

/// Clauses as Spark puts them into the history.
pub(super) fn merge_words(on: &On, clauses: &Clauses) -> Vec<(String, String)> {
    fn entry(condition: Option<&String>, action: &str) -> Json {
        match condition {
            Some(condition) => json!({"predicate": condition, "actionType": action}),
            None => json!({"actionType": action}),
        }
    }
    let matched = clauses.matched.iter().map(|MatchedClause { condition, action }| {
        entry(condition.as_ref(), if *action == MatchedAction::Delete { "delete" } else { "update" })
    });
    let inserts = clauses.not_matched.iter().map(|InsertClause { condition, .. }| entry(condition.as_ref(), "insert"));
    let by_source = clauses.by_source.iter().map(|BySourceClause { condition, action, .. }| {
        entry(condition.as_ref(), if *action == BySourceAction::Delete { "delete" } else { "update" })
    });
    vec![
        ("predicate".into(), json!([format!("({})", on.sql())]).to_string()),
        ("matchedPredicates".into(), Json::Array(matched.collect()).to_string()),
        ("notMatchedPredicates".into(), Json::Array(inserts.collect()).to_string()),
        ("notMatchedBySourcePredicates".into(), Json::Array(by_source.collect()).to_string()),
    ]
}

/// Metrics under the names that Spark gives a MERGE's.
pub(super) fn merge_metrics(clauses: &Clauses, rows: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
    let updated = rows.updated.unwrap_or(0) + rows.unchanged;
    let mut metrics = vec![
        ("numSourceRows", rows.source),
        ("numTargetRowsInserted", rows.inserted),
        ("numTargetRowsUpdated", updated),
        ("numTargetRowsDeleted", rows.deleted),
        ("numTargetRowsCopied", io.copied_rows),
        ("numOutputRows", io.written_rows),
        ("numTargetFilesAdded", io.written_files),
        ("numTargetFilesRemoved", io.removed_files),
        ("numTargetBytesAdded", io.written_bytes),
        ("numTargetBytesRemoved", io.removed_bytes),
        ("numTargetChangeFilesAdded", io.change_files),
        ("numTargetDeletionVectorsAdded", 0),
    ];
    // Which clause did it is known where only one kind of clause can.
    let deletes = clauses.matched.iter().any(|c| c.action == MatchedAction::Delete);
    let updates = clauses.matched.iter().any(|c| c.action != MatchedAction::Delete);
    let lost = clauses.by_source.iter().any(|c| c.action == BySourceAction::Delete);
    let patched = clauses.by_source.iter().any(|c| c.action != BySourceAction::Delete);
    if !(updates && patched) {
        metrics.push(("numTargetRowsMatchedUpdated", if patched { 0 } else { updated }));
        metrics.push(("numTargetRowsNotMatchedBySourceUpdated", if patched { updated } else { 0 }));
    }
    if !(deletes && lost) {
        metrics.push(("numTargetRowsMatchedDeleted", if lost { 0 } else { rows.deleted }));
        metrics.push(("numTargetRowsNotMatchedBySourceDeleted", if lost { rows.deleted } else { 0 }));
    }
    metrics
}

impl Kind for Merge {
    fn operation(&self) -> &'static str {
        "merge"
    }

    fn title(&self) -> &'static str {
        match () {
            () if self.clauses == Clauses::upsert() => "MERGE",
            () if self.clauses == Clauses::replace(true) => "MERGE+delete",
            () if self.is_insert_only() => "insert only",
            () => "MERGE (clauses)",
        }
    }

    fn lower(&self) -> Change {
        Change::Rows(RowRule {
            reach: Reach::Key,
            pairing: Pairing::Join(self.on.clone()),
            clauses: self.clauses.clone(),
        })
    }

    fn class(&self) -> Class {
        if self.clauses.deletes_by_source() { Class::MergeDelete } else { Class::Merge }
    }

    fn write_kind(&self) -> WriteKind {
        if self.is_insert_only() { WriteKind::Append } else { WriteKind::RowLevel }
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    fn repeats(&self, keys: &KeyFacts) -> bool {
        merge_repeats(&self.on, &self.clauses, keys)
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        ("MERGE", merge_words(&self.on, &self.clauses))
    }

    fn metrics(&self, rows: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        merge_metrics(&self.clauses, rows, io)
    }
}

/// `*` written out, where a text of one clause is needed.
impl Assignments {
    pub fn sql(&self) -> String {
        match self {
            Assignments::All => "*".into(),
            Assignments::Set(list) => {
                let one = |(column, value): &(String, String)| format!("`{}` = {value}", column.replace('`', "``"));
                list.iter().map(one).collect::<Vec<_>>().join(", ")
            }
        }
    }
}
