//! Dynamic partition overwrite: every partition that occurs in the source
//! becomes exactly what was delivered for it; the others are not touched.

use serde::{Deserialize, Serialize};

use super::algebra::{Change, Pairing, Reach, RowRule, TargetOnly};
use super::kinds::RowSpec;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overwrite {
    pub mode: Mode,
    #[serde(flatten)]
    pub rows: RowSpec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Dynamic,
}

impl Overwrite {
    pub fn lower(&self) -> Change {
        Change::Rows(RowRule { reach: Reach::Slice, pairing: Pairing::Multiset, target_only: TargetOnly::Delete })
    }
}

pub fn commit_words(partition_columns: &[String]) -> (&'static str, Vec<(String, String)>) {
    let columns: Vec<String> = partition_columns.iter().map(|c| serde_json::json!(c).to_string()).collect();
    (
        "WRITE",
        vec![
            ("mode".into(), "Overwrite".into()),
            ("partitionBy".into(), format!("[{}]", columns.join(","))),
            ("isDynamicPartitionOverwrite".into(), "true".into()),
        ],
    )
}
