//! How a source delivers: whole slices, or rows that changed. Worked out from
//! the numbers of the dynamic overwrite and from what else is known.
//!
//! Partitions are judged one by one and combined then. A sum over all of them
//! would let ten complete periods hide that an eleventh is delivered with one
//! row of ten thousand, and one stray row would make two complete periods
//! look like half a delivery.

use serde::{Deserialize, Serialize};

use super::operations::{MeaningRows, OperationProposal};
use super::{Plan, PlanPartition};

/// How the source delivers, worked out from the data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Delivery {
    pub kind: DeliveryKind,
    /// Share of the slice's keys that the source covers, 0 to 1. Partitions
    /// that nobody asked for do not belong to the slice.
    pub key_coverage: f64,
    /// Share of the matched rows that changed, 0 to 1.
    pub changed_share: f64,
    /// Partitions in the source that were not asked for, or hold so little
    /// beside the others that they look like a stray.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexpected: Vec<String>,
    /// Partitions that were asked for and have rows in the table and none in
    /// the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// What speaks for a feed of changed rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<Sign>,
    /// The source's operation column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
}

/// An operation column, and what its rows mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    pub column: String,
    #[serde(flatten)]
    pub rows: MeaningRows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryKind {
    FullSlice,
    RowLevel,
    #[default]
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

/// Clear signs of a change feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// A column says what became of each row.
    Operations,
    /// Few rows of the slice, and nearly all of them changed.
    OnlyChanges,
    /// Few rows beside the slice, and nearly all of them are new.
    OnlyInserts,
}

/// What is known beside the plan's numbers; everything may be left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeliveryFacts {
    /// The source's operation column, where it has one that is understood.
    pub operations: Option<OperationProposal>,
    /// A slice was stated: these partitions of the source are not in it. `None`
    /// where no slice was stated.
    pub unexpected: Option<Vec<String>>,
    /// Partitions of the stated slice with rows in the table and none in the
    /// source: (name, rows).
    pub absent: Vec<(String, u64)>,
    /// Updated rows that differ only in technical columns that nobody named.
    pub technical_only: u64,
    /// How the rows that the source lacks lie in the slice, where that is known.
    pub missing: Option<Missing>,
}

/// How missing rows are distributed over groups (a company, a plant).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Nearly all of them are groups that are missing whole: something was not extracted.
    Concentrated,
    /// They are missing from everywhere, as the rows are that a feed does not carry.
    Spread,
}

impl Missing {
    /// `in_absent_groups`: rows of the slice in groups without a delivered row.
    /// `missing`: rows of the slice that were not delivered, of `before` in all.
    /// `None` where no group is absent.
    pub fn of(in_absent_groups: u64, missing: u64, before: u64) -> Option<Missing> {
        if in_absent_groups == 0 {
            return None;
        }
        // A feed leaves out most rows of the groups that it touches as well.
        let touched = before.saturating_sub(in_absent_groups);
        let lacking = missing.saturating_sub(in_absent_groups);
        Some(if lacking.saturating_mul(10) <= touched { Missing::Concentrated } else { Missing::Spread })
    }
}

/// Below this share of its keys a partition is not delivered whole.
const WHOLE: f64 = 0.95;
/// Missing rows up to this number do not speak against a whole partition of
/// about as many: a period of three rows from which one was reversed.
const FEW_ROWS: u64 = 10;
/// A feed carries less than this share of the slice.
const FEED: f64 = 0.5;
/// Late rows find less than this share of the slice.
const LATE: f64 = 0.05;

/// One partition's part of the overwrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Its rows are delivered, all but a few.
    Whole,
    /// Too few of its rows are delivered.
    Thin,
    /// The table has no rows there.
    New,
}

/// Judges the delivery by the dynamic overwrite's plan for it.
pub fn delivery(overwrite: &Plan, facts: &DeliveryFacts) -> Delivery {
    let mut absent: Vec<(String, u64)> = facts.absent.clone();
    for p in overwrite.partitions.iter().filter(|p| p.source == 0 && p.before > p.moved_out) {
        if !absent.iter().any(|(label, _)| *label == p.label()) {
            absent.push((p.label(), p.before));
        }
    }
    let delivered: Vec<&PlanPartition> = overwrite.partitions.iter().filter(|p| p.source > 0).collect();
    let unexpected = unexpected(&delivered, facts);
    let expected: Vec<&PlanPartition> =
        delivered.iter().copied().filter(|p| !unexpected.contains(&p.label())).collect();
    let touched = overwrite.rows.touched_only.saturating_add(facts.technical_only);
    let totals = Totals::of(&expected, touched);
    // Every key of the table is in the source: rows that go are repetitions of it.
    let every_key = covers_every_key(overwrite);
    let whole = every_key || expected.iter().all(|p| part(p) != Part::Thin);
    let coverage = if every_key { 1.0 } else { share(totals.covered, totals.before) };

    let sign = totals.sign(coverage, facts);
    let by_codes = sign == Some(Sign::Operations) && (!whole || clear_codes(facts));
    let kind = if overwrite.rows.source == 0 {
        DeliveryKind::Unclear
    } else if by_codes {
        DeliveryKind::RowLevel
    } else if whole {
        DeliveryKind::FullSlice
    } else if sign.is_some() {
        DeliveryKind::RowLevel
    } else {
        DeliveryKind::Unclear
    };
    // A feed touches what it touches: neither a thin nor a silent partition is news.
    let feed = kind == DeliveryKind::RowLevel;
    let asked = facts.unexpected.is_some();
    let gone: u64 = absent.iter().map(|(_, rows)| rows).sum();
    let covered = if every_key { totals.before } else { totals.covered };
    Delivery {
        kind,
        key_coverage: round4(share(covered, totals.before + gone)),
        changed_share: round4(if totals.matched == 0 { 0.0 } else { share(totals.changed, totals.matched) }),
        unexpected: if feed && !asked { Vec::new() } else { unexpected },
        absent: if feed { Vec::new() } else { absent.into_iter().map(|(label, _)| label).collect() },
        sign: sign.filter(|_| feed),
        operations: facts.operations.as_ref().map(|o| Operations { column: o.delivered.clone(), rows: o.rows }),
    }
}

/// Partitions that were not asked for; where nobody said what was asked for,
/// those that look like a stray beside the others.
fn unexpected(delivered: &[&PlanPartition], facts: &DeliveryFacts) -> Vec<String> {
    if let Some(stated) = &facts.unexpected {
        return stated.clone();
    }
    let whole: Vec<u64> = delivered.iter().filter(|p| part(p) == Part::Whole).map(|p| p.source).collect();
    let Some(least) = whole.iter().min() else { return Vec::new() };
    // All that is not tiny must be whole, or the tiny ones belong to a feed.
    let tiny = |p: &PlanPartition| part(p) != Part::Whole && p.source.saturating_mul(100) <= *least;
    if delivered.iter().any(|p| part(p) == Part::Thin && !tiny(p)) {
        return Vec::new();
    }
    delivered.iter().filter(|p| tiny(p)).map(|p| p.label()).collect()
}

fn part(p: &PlanPartition) -> Part {
    if p.before == 0 {
        return Part::New;
    }
    let coverage = share(covered(p), p.before);
    let few =
        p.deleted <= FEW_ROWS && p.unchanged > 0 && (coverage >= 0.9 || (p.before <= FEW_ROWS && coverage >= FEED));
    if coverage >= WHOLE || few { Part::Whole } else { Part::Thin }
}

/// Rows of the table whose key the source has; a row that moves away has one too.
fn covered(p: &PlanPartition) -> u64 {
    p.before.saturating_sub(p.deleted)
}

/// Whether the distinct keys of the slice all occur in the source. With
/// repeated keys the rows say less than the keys: a slice that was loaded
/// twice loses half its rows and not one key.
fn covers_every_key(overwrite: &Plan) -> bool {
    let keys = &overwrite.keys;
    let keyed = !overwrite.key.is_empty() && keys.duplicates.target > 0 && keys.duplicates.source == 0;
    keyed && keys.existing > 0 && keys.existing >= overwrite.rows.slice_before.saturating_sub(keys.duplicates.target)
}

/// Sums over the partitions that were asked for, in rows.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    before: u64,
    source: u64,
    covered: u64,
    inserted: u64,
    matched: u64,
    changed: u64,
}

impl Totals {
    fn of(parts: &[&PlanPartition], touched: u64) -> Totals {
        let mut sum = Totals::default();
        let mut updated = 0;
        for p in parts {
            sum.before += p.before;
            sum.source += p.source;
            sum.covered += covered(p);
            sum.inserted += p.inserted;
            sum.matched += p.updated.unwrap_or(0) + p.unchanged;
            updated += p.updated.unwrap_or(0);
        }
        sum.changed = updated.saturating_sub(touched);
        sum
    }

    fn sign(&self, coverage: f64, facts: &DeliveryFacts) -> Option<Sign> {
        if facts.operations.is_some() {
            return Some(Sign::Operations);
        }
        if facts.missing == Some(Missing::Concentrated) {
            return None;
        }
        let unchanged = self.matched - self.changed.min(self.matched);
        // A touched row whose change was taken back comes along now and then.
        if coverage < FEED && self.changed > 0 && unchanged.saturating_mul(100) <= self.matched {
            return Some(Sign::OnlyChanges);
        }
        // As many new rows as there are old ones: the keys look different now.
        let beside = self.inserted.saturating_mul(2) < self.before;
        if coverage < LATE && self.inserted > 0 && beside && self.matched.saturating_mul(10) <= self.source {
            return Some(Sign::OnlyInserts);
        }
        None
    }
}

/// Codes that no full extract carries: old images, or deletes by word. A mark
/// of deletion stands in full extracts too.
fn clear_codes(facts: &DeliveryFacts) -> bool {
    facts.operations.as_ref().is_some_and(|o| o.rows.before_images > 0 || (o.rows.deletes > 0 && !o.soft_delete))
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn round4(x: f64) -> f64 {
    (x * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests;
