//! Which strategy fits how the source delivers, and why, in a sentence.

use serde::{Deserialize, Serialize};

use super::{Plan, Spec};
use crate::table::number::grouped;

/// How the source delivers, worked out from the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub kind: DeliveryKind,
    /// Share of the slice's keys that the source covers, 0 to 1.
    pub key_coverage: f64,
    /// Share of the matched rows that changed, 0 to 1.
    pub changed_share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryKind {
    FullSlice,
    RowLevel,
    Unclear,
}

impl DeliveryKind {
    pub fn words(self) -> &'static str {
        match self {
            DeliveryKind::FullSlice => "full slice",
            DeliveryKind::RowLevel => "row-level changes",
            DeliveryKind::Unclear => "unclear",
        }
    }
}

/// Missing rows up to this number do not speak against a full slice: a period
/// of three rows from which one was reversed is still delivered whole.
const FEW_ROWS: u64 = 10;

/// Judges the delivery by the dynamic overwrite's plan for it.
pub fn delivery(overwrite: &Plan) -> Delivery {
    let r = &overwrite.rows;
    let updated = r.updated.unwrap_or(0);
    let matched = updated + r.unchanged;
    let present = matched + r.deleted;
    let share = |part: u64, whole: u64| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    let (coverage, changed) = (share(matched, present), if matched == 0 { 0.0 } else { share(updated, matched) });
    let kind = if present == 0 || coverage >= 0.95 || (r.deleted <= FEW_ROWS && r.unchanged > 0) {
        DeliveryKind::FullSlice
    } else if coverage < 0.5 && r.unchanged == 0 {
        // A change feed carries what changed and nothing else.
        DeliveryKind::RowLevel
    } else {
        DeliveryKind::Unclear
    };
    Delivery { kind, key_coverage: round4(coverage), changed_share: round4(changed) }
}

fn round4(x: f64) -> f64 {
    (x * 10_000.0).round() / 10_000.0
}

/// The strategy to take, if one can be recommended, and the reason.
pub fn recommend(delivery: &Delivery, overwrite: &Plan, merge: &Plan) -> (Option<&'static str>, String) {
    if !overwrite.refusals.is_empty() && !merge.refusals.is_empty() {
        return (None, overwrite.refusals[0].message.clone());
    }
    if let Some(gate) = overwrite.blocking().first() {
        return (None, format!("Nothing is recommended while the gate {} fails: {}", gate.name, gate.message));
    }
    let zombies = merge.rows.zombies;
    match delivery.kind {
        DeliveryKind::FullSlice if zombies > 0 => {
            let (rows, s) = (
                grouped(zombies),
                if zombies == 1 { "row that no longer exists" } else { "rows that no longer exist" },
            );
            (
                Some("overwrite"),
                format!("The source restates the whole slice; a MERGE would keep {rows} {s} at the source."),
            )
        }
        DeliveryKind::FullSlice => (
            Some("overwrite"),
            "The source restates the whole slice; an overwrite gives the same rows without the join.".into(),
        ),
        DeliveryKind::RowLevel => (
            Some("merge"),
            format!(
                "The source carries changed rows only ({:.0} % of the slice); an overwrite would delete the rest.",
                delivery.key_coverage * 100.0
            ),
        ),
        DeliveryKind::Unclear => (
            None,
            format!(
                "The source covers {:.0} % of the slice's rows: too little for a full slice, and unchanged rows are in it, which a change feed would not carry.",
                delivery.key_coverage * 100.0
            ),
        ),
    }
}

/// The advice lines of one plan.
pub fn advice(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    if let Spec::Merge(_) = plan.spec
        && plan.rows.zombies > 0
    {
        let rows = if plan.rows.zombies == 1 { "row of the slice is" } else { "rows of the slice are" };
        lines.push(format!(
            "{} {rows} not in the source and would stay. If the source restates whole slices, overwrite the slice or add --delete-missing.",
            grouped(plan.rows.zombies)
        ));
    }
    let rewritten = plan.files.rows_rewritten_unchanged;
    if rewritten > 0 && plan.rows.updated.unwrap_or(0) + plan.rows.inserted + plan.rows.deleted > 0 {
        let rows = if rewritten == 1 {
            "row is written again although it stays as it is"
        } else {
            "rows are written again although they stay as they are"
        };
        lines.push(format!("{} {rows}.", grouped(rewritten)));
    }
    lines
}
