//! Planning a compaction: the small files of chosen partitions become few large ones.

use std::collections::BTreeMap;

use super::super::browse::OpenTable;
use super::super::context::Context;
use super::super::numbers::{blank, slice_text};
use super::super::refusals::table_refusals;
use super::{fill, job, judge, target_file_size};
use crate::engine::local::relayout::count;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::optimize::{Candidate, Optimize, worth_rewriting};
use crate::plan::{Change, Layout, Plan, Spec};
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::table::{DataFile, PartitionTuple};

/// Which files of a table should be joined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OptimizeRequest {
    /// Only partitions for which this is true; it may name partition columns only.
    pub filter: Option<Predicate>,
    /// bytes
    pub target_file_size: Option<u64>,
    /// Smaller files are rewritten, in bytes; by default three quarters of the target.
    pub min_file_size: Option<u64>,
}

/// # Errors
/// `Usage` for a filter on other columns and for a limit above the target;
/// whatever keeps the table from being read.
pub async fn prepare_optimize(
    _context: &Context,
    table: &OpenTable,
    request: &OptimizeRequest,
    progress: &Progress,
) -> Result<Plan> {
    table.protocol().check_rows()?;
    let metadata = table.metadata();
    let columns = metadata.partition_columns.clone();
    let target = target_file_size(metadata, request.target_file_size);
    let smallest = request.min_file_size.unwrap_or(target / 4 * 3);
    if smallest > target {
        return Err(Error::new(ErrorKind::Usage, "files of the target size would be too small themselves")
            .hint("Give a --min-file-size below the --target-file-size."));
    }
    let live = table.files(progress).await?;
    let mut partitions: BTreeMap<&PartitionTuple, Vec<&DataFile>> = BTreeMap::new();
    for file in &live {
        partitions.entry(&file.partition).or_default().push(file);
    }
    let mut rewritten: Vec<DataFile> = Vec::new();
    let (mut looked_at, mut files_after) = (0u64, live.len() as u64);
    for (tuple, files) in &partitions {
        if let Some(filter) = &request.filter
            && !chosen(filter, &columns, tuple)?
        {
            continue;
        }
        looked_at += 1;
        let candidates: Vec<Candidate> =
            files.iter().map(|f| Candidate { size: f.size, has_deletes: f.deletion_vector.is_some() }).collect();
        let worth = worth_rewriting(&candidates, target, smallest);
        let bytes: u64 = worth.iter().map(|i| files[*i].size).sum();
        files_after = files_after - worth.len() as u64 + bytes.div_ceil(target);
        rewritten.extend(worth.into_iter().map(|i| files[i].clone()));
    }
    let spec = Spec::Optimize(Optimize {
        by: columns,
        filter: request.filter.as_ref().map(|f| f.text().to_owned()),
        target_file_size: target,
        min_file_size: smallest,
        files: rewritten.iter().map(DataFile::id).collect(),
    });
    let mut plan = blank(table, spec);
    plan.refusals = table_refusals(table, &plan.spec);
    let Change::Layout(layout) = plan.spec.lower() else {
        return Err(Error::new(ErrorKind::Internal, "an optimize is no layout"));
    };
    if !plan.refusals.is_empty() {
        plan.compared = false;
        plan.settle();
        return Ok(plan);
    }
    let counted = count(job(table, table.snapshot(), &layout, metadata.clone(), rewritten.clone())?, progress).await?;
    let after = Layout { partitions: partitions.len() as u64, files: None };
    fill(&mut plan, &live, &rewritten, &counted, &after);
    plan.slice = slice_text(&plan.partitions);
    plan.untouched_partitions = (partitions.len() - plan.partitions.len()) as u64;
    if rewritten.is_empty() {
        plan.layout.after = plan.layout.before;
        plan.findings.push(format!("no file of {looked_at} partitions is worth rewriting; nothing is to be done"));
    } else {
        plan.findings.push(format!("about {files_after} files will be left of {}", live.len()));
    }
    judge(&mut plan, table)?;
    Ok(plan)
}

fn chosen(filter: &Predicate, columns: &[String], tuple: &PartitionTuple) -> Result<bool> {
    let value = |name: &str| {
        let place = columns.iter().position(|c| c.eq_ignore_ascii_case(name))?;
        tuple.0.get(place).cloned()
    };
    Ok(filter.evaluate(&value)? == Some(true))
}
