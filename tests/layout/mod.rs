//! Repartition and optimize: the same rows in other files, everything else kept.

mod concurrent;
mod kept;
mod many;
mod others;
mod property;
mod shapes;
mod simulated;

use std::path::Path;

use partwise::error::Result;
use partwise::ops::{ApplyReport, OptimizeRequest, RepartitionRequest, prepare_optimize, prepare_repartition};
use partwise::plan::Plan;
use partwise::plan::layouts::{ByColumn, LayoutBy};
use partwise::progress::Progress;
use serde_json::Value as Json;

use crate::support::replay::{actions, replay};
use crate::support::{Bench, block_on};

pub fn by(columns: &[&str]) -> RepartitionRequest {
    RepartitionRequest {
        by: LayoutBy::of(columns.iter().copied().map(ByColumn::plain)),
        ..RepartitionRequest::default()
    }
}

pub fn plan(bench: &Bench, table: &Path, request: &RepartitionRequest) -> Result<Plan> {
    let table = bench.open(table)?;
    let plan = block_on(prepare_repartition(&bench.context, &table, request, &Progress::default()))?;
    // What is written to a file is what is carried out.
    let read: Plan = serde_json::from_str(&serde_json::to_string(&plan).expect("a plan is JSON")).expect("a plan");
    // Floats in `values` are for people and may lose their last digit; `raw` may not.
    let raw = |plan: &Plan| plan.partitions.iter().map(|p| (p.raw.clone(), p.after)).collect::<Vec<_>>();
    assert_eq!((&read.spec, raw(&read)), (&plan.spec, raw(&plan)), "a plan is read back as it was written");
    Ok(plan)
}

/// Plans and applies; both must go well, and every number must come true.
pub fn switch(bench: &Bench, table: &Path, request: &RepartitionRequest) -> (Plan, ApplyReport) {
    let plan = plan(bench, table, request).unwrap_or_else(|e| panic!("plan: {}", e.full_message()));
    let report = bench.apply(&plan).unwrap_or_else(|e| panic!("apply: {}\n{:?}", e.full_message(), plan.refusals));
    check(bench, table, &plan, &report);
    (plan, report)
}

pub fn optimize(bench: &Bench, table: &Path, request: &OptimizeRequest) -> Plan {
    let table = bench.open(table).expect("the table opens");
    block_on(prepare_optimize(&bench.context, &table, request, &Progress::default())).expect("a plan")
}

/// The plan's numbers against the commit and the table.
pub fn check(bench: &Bench, table: &Path, plan: &Plan, report: &ApplyReport) {
    let Some(version) = report.version_after else { return };
    for action in actions(table, version) {
        for kind in ["add", "remove"] {
            if let Some(file) = action.get(kind) {
                assert_eq!(file["dataChange"], false, "{file}");
            }
        }
    }
    let r = &plan.rows;
    assert_eq!((r.inserted, r.updated, r.deleted, r.moved), (0, Some(0), 0, 0));
    if !report.rebased_over.is_empty() {
        return;
    }
    assert_eq!(report.files_removed, plan.files.removed);
    assert_eq!(report.rows_written, r.unchanged);
    let open = bench.open(table).expect("the table opens");
    let mut seen = block_on(open.partitions(true, &Progress::default(), &mut |_| {})).expect("its partitions");
    seen.retain(|p| p.rows.known > 0);
    if plan.operation == "repartition" {
        let have: Vec<_> = seen.iter().map(|p| (p.values.to_json(&plan.partition_columns), p.rows.known)).collect();
        let want: Vec<_> = plan.partitions.iter().map(|p| (p.values.clone(), p.after)).collect();
        assert_eq!(have, want, "partitions and rows of the plan");
        assert_eq!(plan.layout.after.partitions, want.len() as u64);
        if let Some(files) = plan.layout.after.files {
            assert_eq!(report.files_added, files, "files of the plan");
        }
    }
}

/// The table's metadata by an independent replay, without its partition columns.
pub fn metadata(table: &Path) -> Json {
    let mut metadata = replay(table).unwrap_or_else(|e| panic!("strict replay: {e}")).metadata;
    metadata.as_object_mut().expect("a metaData").remove("partitionColumns");
    metadata
}

/// Data files below a folder that are not live.
pub fn strays(table: &Path) -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.to_string_lossy().contains(".parquet") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(table, &mut found);
    let text = (0..=crate::support::replay::newest(table)).flat_map(|v| actions(table, v)).map(|a| a.to_string());
    let log: String = text.collect();
    let name = |path: &std::path::PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    found.iter().map(name).filter(|name| !log.contains(name.as_str())).collect()
}
