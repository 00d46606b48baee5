//! Room on the table's disk for the files that are staged.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};
use crate::table::number::bytes;

pub struct Space;

impl Gate for Space {
    fn name(&self) -> &'static str {
        "space"
    }

    fn about(&self) -> &'static str {
        "the table's disk, or the quota that the file system tells of, has room for the staged files (a warning where twice the estimate would not fit); judged for local tables, where something is staged"
    }

    fn settings(&self) -> &'static [&'static str] {
        &["space_min_free_after_bytes"]
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete | Class::Layout | Class::Inverse => {
                Severity::Fail
            }
        }
    }

    fn judge(&self, _: &Plan, evidence: &Evidence, t: &Thresholds) -> Option<Finding> {
        let space = evidence.space.filter(|space| space.staged_bytes > 0)?;
        let (staged, free) = (space.staged_bytes, space.free_bytes);
        let threshold = format!("room for about {}, and {} left", bytes(staged), bytes(t.space_min_free_after_bytes));
        let needed = format!("about {} to stage", bytes(staged));
        // Sizes are estimated, and a file may well take twice what was thought.
        let fits = |times: u64| staged.saturating_mul(times).saturating_add(t.space_min_free_after_bytes) <= free;
        // What is free changes by the second: a plan names it only where it matters.
        let (status, message) = match (fits(1), fits(2)) {
            (false, _) => (GateStatus::Fail, format!("{needed}, {} free: make room first", bytes(free))),
            (true, false) => (GateStatus::Warn, format!("{needed}, {} free: it may be too little", bytes(free))),
            (true, true) => (GateStatus::Pass, format!("{needed}, and twice as much would fit")),
        };
        Some(Finding::pass(staged, threshold, message).of(status))
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Space as Facts;
    use super::super::testing::{append, says, silent};
    use super::*;

    fn of(staged_bytes: u64, free_bytes: u64) -> Evidence {
        Evidence { space: Some(Facts { staged_bytes, free_bytes }), ..Evidence::default() }
    }

    #[test]
    fn a_full_disk_fails_before_anything_is_staged() {
        const GB: u64 = 1_000_000_000;
        says(&Space, &append(), &of(GB, 20 * GB), GateStatus::Pass, "to stage");
        says(&Space, &append(), &of(GB, 2 * GB), GateStatus::Warn, "may be too little");
        says(&Space, &append(), &of(GB, GB), GateStatus::Fail, "make room first");
        says(&Space, &append(), &of(u64::MAX, GB), GateStatus::Fail, "make room first");
    }

    #[test]
    fn nothing_to_stage_needs_no_room() {
        assert!(silent(&Space, &append(), &of(0, 0)));
        assert!(silent(&Space, &append(), &Evidence::default()), "an object store does not tell");
    }
}
