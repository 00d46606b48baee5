//! The rows behind a plan's numbers.

use partwise::ops::Prepared;
use partwise::plan::Effect;
use partwise::table::Value;

use super::check::equal;
use crate::model::Outcome;
use crate::support::{Row, block_on};

/// As many rows as the plan says, and the very rows that the model has. Where
/// equal keys may be paired in several ways, only their sides are compared.
pub fn pages(prepared: &Prepared, model: &Outcome) -> Result<(), String> {
    let rows = prepared.rows.as_ref().ok_or("a plan without rows to look at")?;
    let r = &prepared.plan.rows;
    for effect in Effect::ALL {
        let count = match effect {
            Effect::Inserted => r.inserted,
            Effect::Updated => r.updated.unwrap_or(0),
            Effect::Unchanged => r.unchanged,
            Effect::Deleted => r.deleted,
            Effect::Zombies => r.zombies,
            Effect::Kept => r.kept,
            // A before-image is no row to look at.
            Effect::Ignored => r.ignored - model.before_images,
        };
        let mut seen: Vec<(Option<Row>, Option<Row>)> = Vec::new();
        while (seen.len() as u64) < count {
            let at = seen.len() as u64;
            let page = block_on(rows.page(effect, at, 25)).map_err(|e| format!("page: {}", e.full_message()))?;
            equal(&format!("{}: a page's total", effect.name()), &page.total, &count)?;
            equal(&format!("{}: a page's rows", effect.name()), &(page.rows.len() as u64), &(count - at).min(25))?;
            for row in page.rows {
                equal(effect.name(), &(row.old.is_some(), row.new.is_some()), &sides(effect))?;
                equal("cells changed", &!row.changed.is_empty(), &(effect == Effect::Updated))?;
                seen.push((row.old, row.new));
            }
        }
        let past = block_on(rows.page(effect, count, 25)).map_err(|e| format!("page: {}", e.full_message()))?;
        equal("rows past the end", &past.rows.len(), &0)?;
        same(effect, seen, model)?;
    }
    Ok(())
}

/// (the table's row, the row that is written or was delivered)
fn sides(effect: Effect) -> (bool, bool) {
    match effect {
        Effect::Inserted | Effect::Ignored => (false, true),
        Effect::Deleted | Effect::Zombies | Effect::Kept => (true, false),
        Effect::Updated | Effect::Unchanged => (true, true),
    }
}

fn same(effect: Effect, seen: Vec<(Option<Row>, Option<Row>)>, model: &Outcome) -> Result<(), String> {
    // The text of a nested value is for people; its form is not compared.
    let plain = |row: &Option<Row>| {
        row.as_ref().map(|r| r.iter().filter(|v| !matches!(v, Value::Nested(_))).cloned().collect::<Row>())
    };
    let changes = model.changes.iter().filter(|(word, ..)| *word == effect.name());
    let (mut have, mut want): (Vec<_>, Vec<_>) = (
        seen.iter().map(|(old, new)| (plain(old), plain(new))).collect(),
        changes.map(|(_, old, new)| (plain(old), plain(new))).collect(),
    );
    if model.open_pairs {
        // The choice among equal keys decides which rows they are, not whose key they have.
        return equal(&format!("how many rows are {}", effect.name()), &have.len(), &want.len());
    }
    have.sort();
    want.sort();
    equal(&format!("the rows that are {}", effect.name()), &have, &want)
}
