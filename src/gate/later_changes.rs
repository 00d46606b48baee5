//! Rows that an undo would take back and that later commits changed again.

use super::words::rows;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};

pub struct LaterChanges;

impl Gate for LaterChanges {
    fn name(&self) -> &'static str {
        "later-changes"
    }

    fn about(&self) -> &'static str {
        "no row that an undo takes back was changed again by a later commit; overridden, such rows keep their later values"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Inverse => Severity::Fail,
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete | Class::Layout => Severity::Off,
        }
    }

    fn judge(&self, _: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        let later = evidence.later_changes.as_ref()?;
        let threshold = "0 rows";
        if later.rows == 0 {
            return Some(Finding::pass(0, threshold, "no row of the operation was changed again since"));
        }
        let (were, keep) = if later.rows == 1 {
            ("was", "it keeps its later value")
        } else {
            ("were", "they keep their later values")
        };
        let message = format!(
            "{} of the operation {were} changed again since, such as {}; overridden, {keep}",
            rows(later.rows),
            later.examples.join("; ")
        );
        Some(Finding::pass(later.rows, threshold, message).of(GateStatus::Fail))
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence;
    use super::super::testing::{merge, says, silent, undo};
    use super::*;

    fn later(rows: u64) -> Evidence {
        let examples = vec!["id=7".to_owned()];
        Evidence { later_changes: Some(evidence::LaterChanges { rows, examples }), ..Evidence::default() }
    }

    #[test]
    fn rows_that_were_changed_again_stop_an_undo() {
        says(
            &LaterChanges,
            &undo(),
            &later(2),
            GateStatus::Fail,
            "2 rows of the operation were changed again since, such as id=7",
        );
        says(&LaterChanges, &undo(), &later(1), GateStatus::Fail, "1 row of the operation was changed again");
        says(&LaterChanges, &undo(), &later(0), GateStatus::Pass, "no row");
    }

    #[test]
    fn only_an_undo_by_rows_is_judged() {
        assert!(silent(&LaterChanges, &undo(), &Evidence::default()));
        let thresholds = Thresholds::default();
        let judged = super::super::judge(&merge(), &later(3), &thresholds);
        assert!(judged.iter().all(|gate| gate.name != "later-changes"));
        let judged = super::super::judge(&undo(), &later(3), &thresholds);
        assert!(judged.iter().any(|gate| gate.name == "later-changes" && gate.status == GateStatus::Fail));
    }

    #[test]
    fn a_config_can_let_it_warn() {
        let mut thresholds = Thresholds::default();
        thresholds.severity.insert("later-changes".into(), Severity::Warn);
        let judged = super::super::judge(&undo(), &later(3), &thresholds);
        assert!(judged.iter().any(|gate| gate.name == "later-changes" && gate.status == GateStatus::Warn));
    }
}
