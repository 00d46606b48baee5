//! The control total that came with the delivery.

use super::words::rows;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};
use crate::table::number::grouped;

pub struct ExpectedRows;

impl Gate for ExpectedRows {
    fn name(&self) -> &'static str {
        "expected-rows"
    }

    fn about(&self) -> &'static str {
        "the source has exactly as many rows as --expect-rows says; judged where that is given"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete => Severity::Fail,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        let expected = evidence.expected_rows?;
        let found = plan.rows.source;
        let finding = Finding::pass(found, rows(expected), format!("the source has the expected {}", rows(expected)));
        if found == expected {
            return Some(finding);
        }
        let (differ, side) = (found.abs_diff(expected), if found < expected { "missing" } else { "too many" });
        let message =
            format!("the source has {}, {} were expected: {} {side}", rows(found), grouped(expected), grouped(differ));
        Some(Finding { message, ..finding }.of(GateStatus::Fail))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{append, says, silent};
    use super::*;

    #[test]
    fn only_the_very_number_passes() {
        let mut plan = append();
        plan.rows.source = 1_200;
        let expect = |n| Evidence { expected_rows: Some(n), ..Evidence::default() };
        says(&ExpectedRows, &plan, &expect(1_200), GateStatus::Pass, "the expected 1,200 rows");
        says(&ExpectedRows, &plan, &expect(1_201), GateStatus::Fail, "1,201 were expected: 1 missing");
        says(&ExpectedRows, &plan, &expect(1_000), GateStatus::Fail, "200 too many");
        assert!(silent(&ExpectedRows, &plan, &Evidence::default()));
    }

    #[test]
    fn an_expected_empty_source_is_one() {
        says(
            &ExpectedRows,
            &append(),
            &Evidence { expected_rows: Some(0), ..Evidence::default() },
            GateStatus::Pass,
            "0 rows",
        );
    }
}
