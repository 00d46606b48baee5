//! VACUUM: what would leave the folder, which versions and undos stop being
//! possible; and the sweep itself.

mod keep;
mod sweep;

pub use sweep::sweep;

use super::browse::OpenTable;
use super::context::Context;
use super::numbers::blank;
use super::refusals::table_refusals;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::folder::{self, FolderFiles};
use crate::lake::log::ledger::Ledger;
use crate::lake::{Snapshot, TableStore};
use crate::plan::vacuum::{Vacuum, Why, version_ranges};
use crate::plan::{FileTotals, Layout, LayoutChange, Plan, Spec};
use crate::progress::Progress;
use crate::table::Metadata;
use crate::table::duration::{parse_span, span_text};
use crate::table::number::{bytes, grouped};
use crate::table::partition::PartitionGrouper;
use keep::{Keep, lost_undos, lost_versions};

/// Delta's own default of `delta.deletedFileRetentionDuration`: a week.
const WEEK_MS: i64 = 7 * 86_400_000;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct VacuumRequest {
    /// Milliseconds; `None`: the table's own retention.
    pub retain_ms: Option<i64>,
    /// Versions that stay whole.
    pub protect: Vec<u64>,
}

/// How long the table keeps removed files, in milliseconds.
///
/// # Errors
/// `BadMetadata` for a property that is no span of time: it is never taken for
/// a shorter one.
pub fn retention(metadata: &Metadata) -> Result<i64> {
    const KEY: &str = "delta.deletedFileRetentionDuration";
    let Some(text) = metadata.property(KEY) else { return Ok(WEEK_MS) };
    parse_span(text).ok_or_else(|| {
        Error::new(ErrorKind::BadMetadata, format!("the table's {KEY} is '{text}', which is no span of days or hours"))
            .hint("Set it to a text like 'interval 7 days'.")
    })
}

/// Plans a VACUUM of the newest version.
///
/// # Errors
/// `Refused` for a retention below the table's; `NoSuchVersion`, `VersionGone`
/// for a protected version that is none; whatever is wrong with the log.
pub async fn prepare_vacuum(
    context: &Context,
    table: &OpenTable,
    request: &VacuumRequest,
    progress: &Progress,
) -> Result<Plan> {
    let table = table.at_snapshot(table.snapshot().refresh().await?);
    let snapshot = table.snapshot();
    let least = retention(table.metadata())?;
    let retain_ms = request.retain_ms.unwrap_or(least);
    if retain_ms < least {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("--retain {} is below the table's retention of {}", span_text(retain_ms), span_text(least)),
        )
        .hint("Readers and undo rely on it. Change delta.deletedFileRetentionDuration first if it is too long."));
    }
    let now = chrono::Utc::now().timestamp_millis();
    let cutoff = now.checked_sub(retain_ms).ok_or_else(|| Error::new(ErrorKind::Usage, "the retention is too long"))?;
    let found = survey(snapshot, progress).await?;
    let mut protect = request.protect.clone();
    protect.sort_unstable();
    protect.dedup();
    let keep = Keep::of(snapshot, &found.ledger, &found.folder, &protect, cutoff, &context.journal()).await?;
    let files = keep.doomed(&found.folder);
    let spec = Vacuum {
        retain_ms,
        retain_given: request.retain_ms.is_some(),
        cutoff_ms: cutoff,
        lost_versions: lost_versions(&found.ledger, &found.folder, &files),
        lost_undos: lost_undos(&found.ledger, &found.folder, &files),
        protect,
        files,
    };
    let mut plan = blank(&table, Spec::Vacuum(spec.clone()));
    plan.refusals = table_refusals(&table, &plan.spec);
    plan.findings = findings(&spec);
    plan.files = FileTotals { removed: spec.files.len() as u64, removed_bytes: spec.bytes(), ..FileTotals::default() };
    let mut partitions = PartitionGrouper::default();
    let live = table.files(progress).await?;
    live.iter().for_each(|file| partitions.add(file));
    let layout = Layout { partitions: partitions.len() as u64, files: Some(live.len() as u64) };
    plan.layout = LayoutChange { before: layout, after: layout };
    plan.untouched_partitions = layout.partitions;
    plan.rows.table_before = live.iter().map(crate::table::DataFile::live_rows).sum();
    plan.rows.table_after = plan.rows.table_before;
    plan.settle();
    Ok(plan)
}

/// The log and the folder.
struct Survey {
    ledger: Ledger,
    folder: FolderFiles,
}

async fn survey(snapshot: &Snapshot, progress: &Progress) -> Result<Survey> {
    // The folder first: a file that is committed meanwhile is in the log then.
    let folder = listing(snapshot.store(), snapshot.metadata()).await?;
    let ledger = Ledger::read(snapshot, progress).await?;
    Ok(Survey { ledger, folder })
}

/// Every file of the table's folder that is not hidden.
pub(super) async fn listing(store: &TableStore, metadata: &Metadata) -> Result<FolderFiles> {
    let fields = metadata.partition_fields();
    let mut columns: Vec<String> = fields.iter().map(|f| f.physical_name().to_owned()).collect();
    columns.extend(fields.iter().map(|f| f.name.clone()));
    folder::list(store, &columns).await
}

fn findings(spec: &Vacuum) -> Vec<String> {
    let mut said = vec![format!("removed files are kept for {}", span_text(spec.retain_ms))];
    if !spec.protect.is_empty() {
        said.push(format!("protected: {}", versions(&spec.protect)));
    }
    for (why, words) in [
        (Why::Removed, "that commits removed"),
        (Why::Unknown, "that the log does not know"),
        (Why::ChangeData, "of the change data feed"),
    ] {
        let n = spec.count(why);
        if n > 0 {
            let size = spec.files.iter().filter(|f| f.why == why).map(|f| f.size).sum();
            said.push(format!("{} file{} {words} ({})", grouped(n), if n == 1 { "" } else { "s" }, bytes(size)));
        }
    }
    if !spec.lost_versions.is_empty() {
        said.push(format!("{} can no longer be restored or read", versions(&spec.lost_versions)));
    }
    for undo in &spec.lost_undos {
        said.push(format!("the operation {} (v{}) can no longer be taken back", undo.operation, undo.version));
    }
    if !spec.files.is_empty() {
        said.push("VACUUM has no undo".into());
    }
    said
}

fn versions(list: &[u64]) -> String {
    format!("version{} {}", if list.len() == 1 { "" } else { "s" }, version_ranges(list))
}
