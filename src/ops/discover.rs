//! Finding tables below a root.

use std::path::{Path, PathBuf};

use futures::StreamExt;
use tokio::sync::mpsc;

use super::browse::{At, OpenTable};
use super::context::Context;
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::lake::discovery;
use crate::lake::log::snapshot::read_commit;
use crate::progress::Progress;
use crate::table::partition::{PartitionStats, RowCount, date_gaps};

/// Tables that are read at the same time.
const CONCURRENT: usize = 4;

/// One table, as the lake screen lists it.
#[derive(Debug, Clone)]
pub struct TableSummary {
    /// The path below the root, or the table's own name.
    pub name: String,
    /// What opens it again.
    pub location: String,
    /// `Err` with an empty text while the facts are still being read.
    pub facts: std::result::Result<SummaryFacts, String>,
}

#[derive(Debug, Clone)]
pub struct SummaryFacts {
    pub version: u64,
    pub rows: RowCount,
    pub bytes: u64,
    pub files: u64,
    pub partition_columns: Vec<String>,
    pub partitions: Vec<PartitionStats>,
    /// milliseconds since the epoch
    pub last_commit: i64,
    /// The log's word for the newest commit.
    pub last_operation: Option<String>,
    /// Dates between the first and the last partition that have none.
    pub gaps: Vec<String>,
}

/// Walks a folder and sends each table that it finds; first by name alone,
/// then with its facts. A table that cannot be read is sent with the reason.
///
/// # Errors
/// `NotATable` where the root does not exist.
pub async fn find_tables(context: &Context, root: &str, found: mpsc::Sender<TableSummary>) -> Result<()> {
    let root = std::fs::canonicalize(context.resolve(root))
        .context(ErrorKind::NotATable, || format!("there is no folder {root}"))?;
    let (send, receive) = mpsc::channel::<PathBuf>(64);
    let walked = {
        let root = root.clone();
        tokio::task::spawn_blocking(move || discovery::walk(&root, &mut |path| send.blocking_send(path).is_ok()))
    };
    let paths = futures::stream::unfold(receive, |mut receive| async move { Some((receive.recv().await?, receive)) });
    paths
        .for_each_concurrent(CONCURRENT, |path| {
            let (found, root) = (found.clone(), root.clone());
            async move {
                let (name, location) = (name_below(&root, &path), path.to_string_lossy().into_owned());
                let summary = TableSummary { name, location, facts: Err(String::new()) };
                // A receiver that hung up has seen enough.
                if found.send(summary.clone()).await.is_err() {
                    return;
                }
                let facts = facts(context, &summary.location).await.map_err(|e| e.full_message());
                let _ = found.send(TableSummary { facts, ..summary }).await;
            }
        })
        .await;
    walked.await.map_err(|e| Error::new(ErrorKind::Internal, "the search for tables broke off").because(e))?
}

fn name_below(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).ok().filter(|p| !p.as_os_str().is_empty());
    let parts = below.map(|p| p.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>());
    match parts {
        Some(parts) => parts.join("."),
        None => path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
    }
}

async fn facts(context: &Context, location: &str) -> Result<SummaryFacts> {
    let table = OpenTable::open(context, location, At::Latest).await?;
    let partitions = table.partitions(false, &Progress::default(), &mut |_| {}).await?;
    let mut rows = RowCount::default();
    partitions.iter().for_each(|p| rows.merge(p.rows));
    // A table known only by a checkpoint has no entry for its newest version.
    let entry = match read_commit(table.snapshot().store(), table.version()).await {
        Ok(lines) => lines.into_iter().find_map(|l| l.commit_info),
        Err(e) if e.kind == ErrorKind::MissingFiles => None,
        Err(e) => return Err(e),
    };
    Ok(SummaryFacts {
        version: table.version(),
        rows,
        bytes: partitions.iter().map(|p| p.bytes).sum(),
        files: partitions.iter().map(|p| p.files).sum(),
        partition_columns: table.metadata().partition_columns.clone(),
        last_commit: table.committed_at(),
        last_operation: entry.and_then(|info| Some(info.get("operation")?.as_str()?.to_owned())),
        gaps: date_gaps(&partitions).iter().map(ToString::to_string).collect(),
        partitions,
    })
}
