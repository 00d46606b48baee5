//! A change feed taken for a delivery of rows.

use serde_json::json;

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};
use crate::table::value::escape_controls;

pub struct OperationColumn;

impl Gate for OperationColumn {
    fn name(&self) -> &'static str {
        "operation-column"
    }

    fn about(&self) -> &'static str {
        "a source with a column that says what became of each row (a change feed) is merged by that column, not written as it is"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete => Severity::Fail,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        let handled = plan.spec.rows().and_then(|r| r.view.operations.as_ref());
        let column = handled.map(|o| o.column.as_str()).or(evidence.operation_column.as_deref())?;
        let shown = escape_controls(column);
        let threshold = "each row's operation is carried out";
        let (status, message) = match plan.spec.kind().class() {
            Class::Replace => (
                GateStatus::Fail,
                format!(
                    "{shown} says what became of each row: the source carries changes, and an overwrite with it deletes every row that did not change; merge it"
                ),
            ),
            Class::Append => (
                GateStatus::Fail,
                format!("{shown} says what became of each row: an append would add deleted and old rows too; merge it"),
            ),
            _ if handled.is_some() => (GateStatus::Pass, format!("rows are merged by what {shown} says")),
            _ => (
                GateStatus::Fail,
                format!(
                    "{shown} says what became of each row, and nobody said what its values mean: deleted rows would be written as they are"
                ),
            ),
        };
        Some(Finding::pass(json!(column), threshold, message).of(status))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{append, merge, overwrite, says, silent};
    use super::*;
    use crate::plan::Spec;
    use crate::plan::view::{OperationColumn as View, RowMeaning};

    #[test]
    fn a_change_feed_fails_all_but_a_merge_that_knows_its_words() {
        let feed = Evidence { operation_column: Some("_change_type".into()), ..Evidence::default() };
        says(&OperationColumn, &overwrite(), &feed, GateStatus::Fail, "_change_type says");
        says(&OperationColumn, &append(), &feed, GateStatus::Fail, "an append would add");
        says(&OperationColumn, &merge(), &feed, GateStatus::Fail, "nobody said");
        let mut plan = merge();
        if let Spec::Merge(kind) = &mut plan.spec {
            let codes = vec![(Some("delete".to_owned()), RowMeaning::Delete)];
            kind.rows.view.operations = Some(View { column: "_change_type".into(), codes });
        }
        says(&OperationColumn, &plan, &feed, GateStatus::Pass, "merged by what _change_type says");
    }

    #[test]
    fn a_source_without_one_is_not_judged() {
        assert!(silent(&OperationColumn, &overwrite(), &Evidence::default()));
    }
}
