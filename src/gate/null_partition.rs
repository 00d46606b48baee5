//! Rows without a value for a partition column.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};
use crate::table::number::grouped;

pub struct NullPartition;

impl Gate for NullPartition {
    fn name(&self) -> &'static str {
        "null-partition"
    }

    fn about(&self) -> &'static str {
        "no source row has NULL or the empty string in a partition column"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete => Severity::Warn,
            Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        if plan.partition_columns.is_empty() {
            return None;
        }
        let columns = plan.partition_columns.join(", ");
        let (nulls, empties) = (evidence.null_partition_rows, evidence.empty_partition_rows);
        let rows = nulls + empties;
        let threshold = "0 rows";
        if rows == 0 {
            return Some(Finding::pass(0, threshold, format!("no NULL in {columns}")));
        }
        let mut said = Vec::new();
        if nulls > 0 {
            said.push(format!("{} rows have NULL in {columns}", grouped(nulls)));
        }
        if empties > 0 {
            said.push(format!(
                "{} rows have the empty string there, which other readers show as NULL",
                grouped(empties)
            ));
        }
        Some(Finding::pass(rows, threshold, said.join("; ")).of(GateStatus::Warn))
    }
}
