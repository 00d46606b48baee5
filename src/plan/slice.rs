//! Which partitions were meant to be delivered, and which came or stayed away.
//!
//! Where the slice is stated (`--slice`), the predicate decides. Where it is
//! not, every delivered partition is meant, but for one kind of accident: a few
//! stray rows (a wrong period, a default date) make a dynamic overwrite replace
//! a whole partition. [`strays`] tells them by size.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::algebra::{Change, Reach};
use super::kinds::Class;
use super::{Plan, PlanPartition};

/// What a partition is to the slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Delivered, and meant to be.
    Intended,
    /// Delivered, but not asked for; or a few stray rows beside whole slices.
    Unexpected,
    /// Asked for, in the table, not in the source: its rows stay.
    Left,
    /// Within reach and not in the source: its rows are deleted.
    Emptied,
    /// Not delivered, but rows leave it or files of it are exchanged.
    #[default]
    Touched,
}

impl Role {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Intended => "intended",
            Role::Unexpected => "unexpected",
            Role::Left => "left",
            Role::Emptied => "emptied",
            Role::Touched => "touched",
        }
    }

    /// Whether a person has to look at it: it comes first in lists, under this
    /// word.
    pub fn alarm(self) -> Option<&'static str> {
        match self {
            Role::Unexpected => Some("UNEXPECTED"),
            Role::Emptied => Some("EMPTIED"),
            Role::Left => Some("LEFT"),
            Role::Intended | Role::Touched => None,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Role::Unexpected => 0,
            Role::Emptied => 1,
            Role::Left => 2,
            Role::Intended | Role::Touched => 3,
        }
    }
}

impl PlanPartition {
    /// Whether it stands in the plan only because it was asked for: no row of
    /// it is read or written.
    pub fn is_only_listed(&self) -> bool {
        self.role == Role::Left && self.kept == 0 && self.written.rows == 0 && self.deleted == 0 && self.moved_out == 0
    }

    /// Whether it stands in the plan only for rows that were matched and stay.
    fn is_only_kept(&self) -> bool {
        self.kept > 0 && self.source == 0 && self.written.rows == 0 && self.deleted == 0 && self.moved_out == 0
    }

    /// Asked for, present, not delivered: `rows` live rows in `files` files of
    /// `bytes` bytes stay as they are.
    pub fn left(values: Map<String, Json>, raw: Vec<Option<String>>, rows: u64, files: u64, bytes: u64) -> Self {
        PlanPartition {
            values,
            raw,
            role: Role::Left,
            before: rows,
            after: rows,
            files_before: files,
            bytes_before: bytes,
            ..PlanPartition::default()
        }
    }
}

/// When a delivered partition is taken for stray rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StrayRule {
    /// Fewer rows than this share of a typical delivered partition …
    pub percent_of_typical: f64,
    /// … and fewer than this share of the rows that the partition has now.
    pub percent_of_present: f64,
}

/// Gives each partition its role. `asked` says of each, in the plan's order,
/// whether the slice's predicate holds; `None` where no slice was stated.
pub fn assign(plan: &mut Plan, asked: Option<&[bool]>, rule: StrayRule) {
    let replaces = plan.spec.kind().class() == Class::Replace;
    let dynamic = matches!(
        plan.spec.lower(),
        Change::Rows(rows) if rows.reach == Reach::Slice && rows.replaces()
    );
    let stray = match asked {
        None if dynamic => strays(&plan.partitions, rule),
        _ => vec![false; plan.partitions.len()],
    };
    for (i, p) in plan.partitions.iter_mut().enumerate() {
        let asked = asked.map(|list| list.get(i).copied().unwrap_or(false));
        p.role = match (p.source > 0, asked) {
            (true, Some(false)) => Role::Unexpected,
            (true, _) if stray[i] => Role::Unexpected,
            (true, _) => Role::Intended,
            (false, _) if replaces && p.deleted > 0 => Role::Emptied,
            (false, Some(true)) => Role::Left,
            (false, _) => Role::Touched,
        };
    }
}

/// Which delivered partitions look like stray rows: tiny beside the partition
/// that the middle delivered row lies in, and far smaller than they are now.
/// Weighing by rows, and not taking the middle partition, keeps many strays from
/// becoming the measure of each other. A small partition that is delivered about
/// as large as it was is none.
pub fn strays(partitions: &[PlanPartition], rule: StrayRule) -> Vec<bool> {
    let mut sizes: Vec<u64> = partitions.iter().map(|p| p.source).filter(|rows| *rows > 0).collect();
    sizes.sort_unstable();
    let delivered: u128 = sizes.iter().map(|rows| u128::from(*rows)).sum();
    let mut passed = 0u128;
    let typical = sizes.iter().find(|rows| {
        passed += u128::from(**rows);
        passed * 2 > delivered
    });
    let typical = typical.copied().unwrap_or(0);
    let below = |rows: u64, percent: f64, of: u64| (rows as f64) * 100.0 < percent * of as f64;
    partitions
        .iter()
        .map(|p| {
            p.source > 0
                && below(p.source, rule.percent_of_typical, typical)
                && below(p.source, rule.percent_of_present, p.before)
        })
        .collect()
}

/// Partitions of the table that the plan neither reads nor writes.
pub fn untouched(plan: &Plan) -> u64 {
    let stays = |p: &PlanPartition| p.is_only_listed() || p.is_only_kept();
    let touched = plan.partitions.iter().filter(|p| p.files_before > 0 && !stays(p)).count();
    plan.layout.before.partitions.saturating_sub(touched as u64)
}

/// The plan's partitions as people read them: first those that need a look.
pub fn by_alarm(plan: &Plan) -> Vec<&PlanPartition> {
    let mut list: Vec<&PlanPartition> = plan.partitions.iter().collect();
    list.sort_by_key(|p| p.role.rank());
    list
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULE: StrayRule = StrayRule { percent_of_typical: 1.0, percent_of_present: 50.0 };

    fn sizes(list: &[(u64, u64)]) -> Vec<PlanPartition> {
        list.iter()
            .map(|(before, source)| PlanPartition { before: *before, source: *source, ..Default::default() })
            .collect()
    }

    #[test]
    fn a_stray_row_is_told_by_its_size() {
        assert_eq!(strays(&sizes(&[(900, 910), (1_000, 1_010), (800, 1)]), RULE), [false, false, true]);
    }

    #[test]
    fn many_strays_do_not_measure_each_other() {
        let all = sizes(&[(900, 1), (900, 1), (900, 2), (900, 1_000)]);
        assert_eq!(strays(&all, RULE), [true, true, true, false]);
    }

    #[test]
    fn a_small_partition_delivered_whole_is_no_stray() {
        assert_eq!(strays(&sizes(&[(5, 5), (5, 3), (0, 1), (9_000, 9_000)]), RULE), [false; 4]);
    }

    #[test]
    fn alike_sizes_and_no_rows_give_none() {
        assert_eq!(strays(&sizes(&[(900, 400), (900, 10)]), RULE), [false, false]);
        assert_eq!(strays(&sizes(&[(900, 0)]), RULE), [false]);
        assert!(strays(&[], RULE).is_empty());
    }

    #[test]
    fn the_words_of_a_role_are_its_json() {
        for role in [Role::Intended, Role::Unexpected, Role::Left, Role::Emptied, Role::Touched] {
            assert_eq!(json!(role), json!(role.as_str()));
        }
    }

    #[test]
    fn an_older_plans_partition_has_a_role() {
        let mut old = json!(PlanPartition::default());
        old.as_object_mut().unwrap().remove("role");
        assert_eq!(serde_json::from_value::<PlanPartition>(old).unwrap().role, Role::Touched);
    }
}
