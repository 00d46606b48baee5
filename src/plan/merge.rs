//! MERGE by key: update what matches, insert what does not, and, if asked,
//! delete what the source lacks within the delivered slice.

use serde::{Deserialize, Serialize};

use super::algebra::{Change, Pairing, Reach, RowRule, TargetOnly};
use super::kinds::{Class, Io, Kind, RowSpec};
use super::{KeyFacts, RowTotals};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    #[serde(flatten)]
    pub rows: RowSpec,
    #[serde(default)]
    pub null_safe_keys: bool,
    #[serde(default)]
    pub delete_missing: bool,
}

impl Merge {
    /// The whole ON condition, in SQL.
    pub fn on_condition(&self) -> String {
        let quoted = |side: &str, c: &String| format!("{side}.`{}`", c.replace('`', "``"));
        let equals = if self.null_safe_keys { "<=>" } else { "=" };
        let terms: Vec<String> =
            self.rows.key.iter().map(|c| format!("{} {equals} {}", quoted("t", c), quoted("s", c))).collect();
        terms.join(" AND ")
    }
}

impl Kind for Merge {
    fn operation(&self) -> &'static str {
        "merge"
    }

    fn title(&self) -> &'static str {
        if self.delete_missing { "MERGE+delete" } else { "MERGE" }
    }

    fn lower(&self) -> Change {
        Change::Rows(RowRule {
            reach: Reach::Key,
            pairing: Pairing::Join { null_safe: self.null_safe_keys },
            target_only: if self.delete_missing { TargetOnly::DeleteInSlice } else { TargetOnly::Keep },
        })
    }

    fn class(&self) -> Class {
        if self.delete_missing { Class::MergeDelete } else { Class::Merge }
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::RowLevel
    }

    fn rows(&self) -> Option<&RowSpec> {
        Some(&self.rows)
    }

    /// NULL keys match nothing, so their rows are inserted on every run.
    fn repeats(&self, keys: &KeyFacts) -> bool {
        keys.nulls.source > 0 && !self.null_safe_keys
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        let by_source = if self.delete_missing { r#"[{"actionType":"delete"}]"# } else { "[]" };
        (
            "MERGE",
            vec![
                ("predicate".into(), serde_json::json!([format!("({})", self.on_condition())]).to_string()),
                ("matchedPredicates".into(), r#"[{"actionType":"update"}]"#.into()),
                ("notMatchedPredicates".into(), r#"[{"actionType":"insert"}]"#.into()),
                ("notMatchedBySourcePredicates".into(), by_source.into()),
            ],
        )
    }

    fn metrics(&self, rows: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        vec![
            ("numSourceRows", rows.source),
            ("numTargetRowsInserted", rows.inserted),
            ("numTargetRowsUpdated", rows.updated.unwrap_or(0) + rows.unchanged),
            ("numTargetRowsDeleted", rows.deleted),
            ("numTargetRowsCopied", io.copied_rows),
            ("numOutputRows", io.written_rows),
            ("numTargetFilesAdded", io.written_files),
            ("numTargetFilesRemoved", io.removed_files),
            ("numTargetBytesAdded", io.written_bytes),
            ("numTargetBytesRemoved", io.removed_bytes),
        ]
    }
}
