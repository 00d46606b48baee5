//! MERGE by key: update what matches, insert what does not, and, if asked,
//! delete what the source lacks within the delivered slice.

use serde::{Deserialize, Serialize};

use super::algebra::{Change, Pairing, Reach, RowRule, TargetOnly};
use super::kinds::RowSpec;

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
    pub fn lower(&self) -> Change {
        Change::Rows(RowRule {
            reach: Reach::Key,
            pairing: Pairing::Join { null_safe: self.null_safe_keys },
            target_only: if self.delete_missing { TargetOnly::DeleteInSlice } else { TargetOnly::Keep },
        })
    }

    /// The whole ON condition, in SQL.
    pub fn on_condition(&self) -> String {
        let quoted = |side: &str, c: &String| format!("{side}.`{}`", c.replace('`', "``"));
        let terms: Vec<String> = self
            .rows
            .key
            .iter()
            .map(|c| {
                let equals = if self.null_safe_keys { "<=>" } else { "=" };
                format!("{} {equals} {}", quoted("t", c), quoted("s", c))
            })
            .collect();
        terms.join(" AND ")
    }

    pub fn commit_words(&self) -> (&'static str, Vec<(String, String)>) {
        let by_source = if self.delete_missing { r#"[{"actionType":"delete"}]"# } else { "[]" };
        (
            "MERGE",
            vec![
                ("predicate".into(), self.on_condition()),
                ("matchedPredicates".into(), r#"[{"actionType":"update"}]"#.into()),
                ("notMatchedPredicates".into(), r#"[{"actionType":"insert"}]"#.into()),
                ("notMatchedBySourcePredicates".into(), by_source.into()),
            ],
        )
    }
}
