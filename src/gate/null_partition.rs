//! Rows without a value for a partition column.

use super::words::rows as rows_of;
use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};

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
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete | Class::Layout => Severity::Warn,
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
            said.push(format!("{} with NULL in {columns}", rows_of(nulls)));
        }
        if empties > 0 {
            said.push(format!(
                "{} with the empty string in {columns}, which other readers show as NULL",
                rows_of(empties)
            ));
        }
        Some(Finding::pass(rows, threshold, said.join("; ")).of(GateStatus::Fail))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{append, says, silent};
    use super::*;

    #[test]
    fn null_and_the_empty_string_are_told_apart() {
        let of = |null_partition_rows, empty_partition_rows| Evidence {
            null_partition_rows,
            empty_partition_rows,
            ..Evidence::default()
        };
        says(&NullPartition, &append(), &of(0, 0), GateStatus::Pass, "no NULL in p");
        says(&NullPartition, &append(), &of(2, 0), GateStatus::Fail, "2 rows with NULL in p");
        says(&NullPartition, &append(), &of(0, 1), GateStatus::Fail, "1 row with the empty string in p");
        let whole = Plan { partition_columns: Vec::new(), ..append() };
        assert!(silent(&NullPartition, &whole, &of(2, 0)), "an unpartitioned table has no such column");
    }
}
