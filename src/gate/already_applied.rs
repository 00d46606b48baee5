//! A source that was committed before, where a second run would change the
//! table again.

use super::evidence::AppliedBefore;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};

pub struct AlreadyApplied;

impl Gate for AlreadyApplied {
    fn name(&self) -> &'static str {
        "already-applied"
    }

    fn about(&self) -> &'static str {
        "the same source was not committed before by the same operation, where a second run would change the table again"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Append | Class::Merge | Class::MergeDelete => Severity::Fail,
            Class::Replace | Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        if !plan.repeats() {
            return None;
        }
        let threshold = "not before";
        match evidence.applied_before {
            AppliedBefore::No => Some(Finding::pass(0, threshold, "this source was not committed before")),
            AppliedBefore::NotSince(oldest) => {
                let message = format!(
                    "this source was not committed since version {oldest}; the log no longer tells of earlier ones"
                );
                Some(Finding::pass(0, threshold, message).of(GateStatus::Warn))
            }
            AppliedBefore::Yes(version) => {
                let message = format!(
                    "version {version} committed this very source by the same operation; a second run would add its rows again"
                );
                Some(Finding::pass(version, threshold, message).of(GateStatus::Fail))
            }
        }
    }
}
