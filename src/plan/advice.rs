//! Which strategy fits how the source delivers, and why, in a sentence.

use super::view::SourceView;
use super::{Plan, Spec};
use crate::table::number::grouped;

pub use super::delivery::{Delivery, DeliveryFacts, DeliveryKind, Missing, Sign, delivery};

/// A reason fits on two lines of a terminal.
const MOST_CHARS: usize = 160;

/// The strategy to take, if one can be recommended, and the reason: one
/// sentence of at most 160 characters.
pub fn recommend(delivery: &Delivery, overwrite: &Plan, merge: &Plan) -> (Option<&'static str>, String) {
    let (choice, because) = choose(delivery, overwrite, merge);
    (choice, shorten(because))
}

fn choose(delivery: &Delivery, overwrite: &Plan, merge: &Plan) -> (Option<&'static str>, String) {
    if let (Some(refusal), false) = (overwrite.refusals.first(), merge.refusals.is_empty()) {
        return (None, refusal.message.clone());
    }
    match delivery.kind {
        DeliveryKind::FullSlice => match full_slice_hindrance(delivery, overwrite) {
            Some(why) => (None, why),
            None => (Some("overwrite"), full_slice(merge)),
        },
        DeliveryKind::RowLevel => match row_level_hindrance(delivery, merge) {
            Some(why) => (None, why),
            None => (Some("merge"), row_level(delivery)),
        },
        DeliveryKind::Unclear => (None, unclear(delivery, overwrite)),
    }
}

/// What has to be decided before an overwrite can be recommended.
fn full_slice_hindrance(delivery: &Delivery, overwrite: &Plan) -> Option<String> {
    if let Some(refusal) = overwrite.refusals.first() {
        return Some(refusal.message.clone());
    }
    if !delivery.unexpected.is_empty() && !decided(overwrite, "unexpected-partition") {
        let (is, it) = if delivery.unexpected.len() == 1 { ("was", "it") } else { ("were", "them") };
        return Some(format!(
            "{} {is} delivered beside the slice: leave {it} out of the source or state the slice, then compare again.",
            some(&delivery.unexpected)
        ));
    }
    if !delivery.absent.is_empty() && !decided(overwrite, "missing-slice") {
        return Some(format!(
            "{} has rows in the table and none in the source: say whether that was reversed or not delivered.",
            some(&delivery.absent)
        ));
    }
    blocked(overwrite)
}

fn row_level_hindrance(delivery: &Delivery, merge: &Plan) -> Option<String> {
    if let Some(operations) = &delivery.operations {
        let rows = &operations.rows;
        let looked_at =
            merge.spec.rows().is_some_and(|r| r.view != SourceView::default() && r.view.operations.is_some());
        if !looked_at && rows.deletes + rows.before_images > 0 {
            return Some(format!(
                "A change feed: {} marks {} and {}; compare again with --operation-column {0}.",
                operations.column,
                counted(rows.deletes, "delete"),
                counted(rows.before_images, "old image"),
            ));
        }
    }
    if let Some(refusal) = merge.refusals.first() {
        return Some(refusal.message.clone());
    }
    blocked(merge)
}

fn blocked(plan: &Plan) -> Option<String> {
    let gate = *plan.blocking().first()?;
    Some(format!("Nothing is recommended while the gate {} fails: {}", gate.name, gate.message))
}

/// Whether a person let this gate's failure pass.
fn decided(plan: &Plan, gate: &str) -> bool {
    plan.gates.iter().any(|g| g.name == gate && g.overridden.is_some())
}

fn full_slice(merge: &Plan) -> String {
    let zombies = merge.rows.zombies;
    if zombies == 0 {
        return "The source restates the whole slice; an overwrite gives the same rows without the join.".into();
    }
    let (rows, s) =
        (grouped(zombies), if zombies == 1 { "row that no longer exists" } else { "rows that no longer exist" });
    format!("The source restates the whole slice; a MERGE would keep {rows} {s} at the source.")
}

fn row_level(delivery: &Delivery) -> String {
    let percent = percent(delivery.key_coverage);
    match (delivery.sign, &delivery.operations) {
        (Some(Sign::Operations), Some(operations)) => format!(
            "A change feed: {} says what became of each row; an overwrite would delete what did not change.",
            operations.column
        ),
        (Some(Sign::OnlyInserts), _) => {
            format!("The source brings new rows beside {percent} % of the slice; an overwrite would delete the rest.")
        }
        _ => format!(
            "The source carries changed rows only ({percent} % of the slice's keys); an overwrite would delete the rest."
        ),
    }
}

fn unclear(delivery: &Delivery, overwrite: &Plan) -> String {
    if overwrite.rows.source == 0 {
        return "The source has no rows.".into();
    }
    let percent = percent(delivery.key_coverage);
    if let Some(gate) = overwrite.blocking().first() {
        return format!(
            "Nothing is recommended: the source covers {percent} % of the slice's keys, and the gate {} fails.",
            gate.name
        );
    }
    format!(
        "The source covers {percent} % of the slice's keys: too few for a full slice, and nothing says that it is a change feed."
    )
}

/// Whole percent, rounded down: 94.9 % must not be shown as the 95 % that it misses.
fn percent(share: f64) -> f64 {
    (share * 100.0 + 1e-9).floor()
}

fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// The first of some names, and how many more.
fn some(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, rest @ ..] => format!("{one} (and {} more)", rest.len()),
    }
}

/// Cuts at a word, so that the sentence stays within its two lines.
fn shorten(text: String) -> String {
    if text.chars().count() <= MOST_CHARS {
        return text;
    }
    let head: String = text.chars().take(MOST_CHARS - 1).collect();
    let cut = head.rfind(' ').filter(|at| *at > MOST_CHARS / 2).unwrap_or(head.len());
    format!("{}…", head[..cut].trim_end_matches([' ', ',', ';', ':', '(']))
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
