//! What staging takes on the table's disk, and what is free there.

use super::browse::OpenTable;
use crate::gate::evidence::Space;
use crate::plan::Plan;
use crate::source::Source;

/// `None` where nothing is staged, and for tables whose store does not tell
/// what is free.
pub(super) fn of(table: &OpenTable, plan: &Plan, source: &Source) -> Option<Space> {
    let delivered = source.files.iter().map(|file| file.size).sum();
    on_disk(table, staged(plan, delivered))
}

/// The same for a layout: its files take about what those take that they replace.
pub(super) fn of_layout(table: &OpenTable, plan: &Plan) -> Option<Space> {
    on_disk(table, plan.files.removed_bytes)
}

fn on_disk(table: &OpenTable, staged_bytes: u64) -> Option<Space> {
    if staged_bytes == 0 {
        return None;
    }
    let root = table.snapshot().store().local_root()?;
    match fs4::available_space(&root) {
        Ok(free_bytes) => Some(Space { staged_bytes, free_bytes }),
        Err(error) => {
            tracing::warn!("the free space of {} is unknown: {error}", root.display());
            None
        }
    }
}

/// An estimate: written rows at the bytes that a row takes in the table or in
/// the source (`delivered` bytes in all), whichever is more; but no more than
/// what is delivered and what is replaced take together.
fn staged(plan: &Plan, delivered: u64) -> u64 {
    let total = |pick: fn(&crate::plan::PlanPartition) -> u64| plan.partitions.iter().map(pick).sum::<u64>();
    let written = total(|p| p.written.rows);
    if written == 0 {
        return 0;
    }
    let a_row = |bytes: u64, rows: u64| if rows == 0 { 0.0 } else { bytes as f64 / rows as f64 };
    let each = a_row(total(|p| p.bytes_before), total(|p| p.before)).max(a_row(delivered, plan.rows.source));
    let most = delivered.saturating_add(plan.files.removed_bytes);
    // A row takes no less than a byte.
    ((written as f64 * each) as u64).min(most).max(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::append::Append;
    use crate::plan::kinds::RowSpec;
    use crate::plan::{FileTotals, PlanPartition, RowTotals, Spec, Written};

    fn plan(before: u64, bytes_before: u64, source: u64, written: u64, removed_bytes: u64) -> Plan {
        let written = Written { rows: written, checksum: String::new() };
        Plan {
            partitions: vec![PlanPartition { before, bytes_before, written, ..PlanPartition::default() }],
            rows: RowTotals { source, ..RowTotals::default() },
            files: FileTotals { removed_bytes, ..FileTotals::default() },
            ..Plan::blank(Spec::Append(Append { rows: RowSpec::default() }))
        }
    }

    #[test]
    fn rows_take_what_they_take_now_or_in_the_source() {
        assert_eq!(staged(&plan(100, 10_000, 10, 10, 50_000), 500), 1_000, "100 bytes a row in the table");
        assert_eq!(staged(&plan(100, 1_000, 10, 10, 0), 500), 500, "50 bytes a row in the source");
        assert_eq!(staged(&plan(0, 0, 10, 10, 0), 500), 500, "a table without rows does not tell");
    }

    #[test]
    fn a_partition_that_is_reached_in_part_is_not_taken_for_its_rows() {
        assert_eq!(staged(&plan(1, 1_000_000, 10, 1_000, 4_000), 500), 4_500);
        assert_eq!(staged(&plan(1, 1_000_000, 10, 0, 4_000), 500), 0, "nothing is written");
    }
}
