//! What became of an apply, for people.

use super::plural;
use crate::ops::ApplyReport;
use crate::plan::Plan;
use crate::table::number::grouped;

pub fn render(report: &ApplyReport, plan: &Plan) -> String {
    let Some(version) = report.version_after else {
        return format!("nothing to do: no commit was made, the table stays at version {}\n", report.version_before);
    };
    let mut out = format!("committed version {version} (planned at version {})\n", report.version_before);
    if !report.rebased_over.is_empty() {
        let versions: Vec<String> = report.rebased_over.iter().map(u64::to_string).collect();
        out += &format!("rebased over {}\n", versions.join(", "));
    }
    if let Some(slice) = &plan.slice {
        let (before, after) = (grouped(plan.rows.slice_before), grouped(plan.rows.slice_after));
        out += &format!("{slice}: {before} → {after} rows\n");
    }
    out += &format!(
        "{} written, {} added, {} removed\n",
        plural(report.rows_written, "row"),
        plural(report.files_added, "file"),
        plural(report.files_removed, "file")
    );
    if report.verified {
        out += "verified: the new data reads back as planned\n";
    } else {
        out += "NOT verified: reading the new data back found differences\n";
    }
    for mismatch in &report.mismatches {
        out += &format!("  {mismatch}\n");
    }
    for warning in &report.warnings {
        out += &format!("warning: {warning}\n");
    }
    if let Some(undo) = &report.undo {
        let until = report.undo_until.as_ref().map(|t| format!(" (until {t})")).unwrap_or_default();
        out += &format!("undo: {undo}{until}\n");
    }
    out
}
