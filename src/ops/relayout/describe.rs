//! The table's description before and after a plan, from the log alone.

use super::super::browse::OpenTable;
use super::super::changes::metadata_back;
use super::target;
use crate::error::Result;
use crate::lake::log::action::parse_metadata;
use crate::plan::describe::DescribeRow;
use crate::plan::{Change, Plan, Spec};
use crate::table::{Metadata, Protocol};

/// What DESCRIBE EXTENDED says of the table at the plan's version and what it
/// would say after the plan, side by side. Reads no data file. A plan that
/// changes rows only has the same on both sides.
///
/// # Errors
/// Whatever keeps the log from being read at the plan's version.
pub async fn describe(table: &OpenTable, plan: &Plan) -> Result<Vec<DescribeRow>> {
    let pinned = match table.version() == plan.version {
        true => table.snapshot().clone(),
        false => table.snapshot().at(plan.version).await?,
    };
    let (old, protocol) = (pinned.metadata(), pinned.protocol());
    let new: Metadata = match (plan.spec.lower(), plan.spec.kind().brings_back()) {
        (Change::Layout(layout), _) => target::metadata(old, &layout.partition_by, &layout.added, &plan.id)?,
        (Change::Files(_), Some((version, true))) => {
            parse_metadata(metadata_back(old, pinned.at(version).await?.metadata()))?
        }
        _ => old.clone(),
    };
    let raised = match &plan.spec {
        Spec::Repartition(repartition) => repartition.protocol.as_ref(),
        _ => None,
    };
    let after = raised.map_or_else(
        || protocol.clone(),
        |raised| Protocol {
            min_reader: raised.min_reader,
            min_writer: raised.min_writer,
            reader_features: raised.reader_features.clone(),
            writer_features: raised.writer_features.clone(),
        },
    );
    Ok(crate::plan::describe::describe(&table.location, (old, protocol), (&new, &after)))
}
