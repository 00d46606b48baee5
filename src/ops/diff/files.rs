//! Which files two versions share.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;

use super::columns::Columns;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::{DataReader, TableLayout};
use crate::lake::log::deletion_vectors::readable;
use crate::ops::browse::OpenTable;
use crate::predicate::Predicate;
use crate::progress::{Phase, Progress};
use crate::table::file::FileId;
use crate::table::{DataFile, Metadata, PartitionTuple};

/// Footers that are read at the same time.
const FOOTERS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FileCounts {
    pub shared: u64,
    pub only_from: u64,
    pub only_to: u64,
}

/// Live files of both versions, by path and deletion vector. The partitions of
/// the first version's are in the columns and types that are compared.
#[derive(Debug, Default)]
pub struct Files {
    pub shared: Vec<DataFile>,
    pub only_from: Vec<DataFile>,
    pub only_to: Vec<DataFile>,
    counts: BTreeMap<PartitionTuple, FileCounts>,
}

/// Live rows in files that both versions have.
pub struct SharedRows {
    /// Of the partitions that were asked for.
    pub of: HashMap<PartitionTuple, u64>,
    /// `None` where the log lacks `numRecords` of some other one.
    pub all: Option<u64>,
}

impl Files {
    /// # Errors
    /// `Usage` for a filter that does not fit; whatever is wrong with the log.
    pub async fn read(
        from: &OpenTable,
        to: &OpenTable,
        columns: &Columns,
        filter: Option<&Predicate>,
        progress: &Progress,
    ) -> Result<Files> {
        if let Some(filter) = filter {
            check_filter(filter, columns)?;
        }
        let mut old: HashMap<FileId, DataFile> = HashMap::new();
        for (file, _) in live(from, None, columns, filter, progress).await? {
            old.insert(file.id(), file);
        }
        let mut files = Files::default();
        for (file, partition) in live(to, Some(to.metadata()), columns, filter, progress).await? {
            match if columns.shares_files() { old.remove(&file.id()) } else { None } {
                Some(same) => {
                    files.counts.entry(same.partition.clone()).or_default().shared += 1;
                    files.shared.push(same);
                }
                None => {
                    if let Some(partition) = partition {
                        files.counts.entry(partition).or_default().only_to += 1;
                    }
                    files.only_to.push(file);
                }
            }
        }
        for file in old.into_values() {
            files.counts.entry(file.partition.clone()).or_default().only_from += 1;
            files.only_from.push(file);
        }
        let order = |files: &mut Vec<DataFile>| {
            files.sort_by(|a, b| (&a.partition, &a.path).cmp(&(&b.partition, &b.path)));
        };
        [&mut files.only_from, &mut files.only_to].into_iter().for_each(order);
        Ok(files)
    }

    pub fn counts(&self) -> FileCounts {
        let count = |files: &[DataFile]| files.len() as u64;
        FileCounts { shared: count(&self.shared), only_from: count(&self.only_from), only_to: count(&self.only_to) }
    }

    pub fn counts_of(&self, tuple: &PartitionTuple) -> FileCounts {
        self.counts.get(tuple).copied().unwrap_or_default()
    }

    pub fn changed_partitions(&self) -> impl Iterator<Item = &PartitionTuple> {
        self.counts.iter().filter(|(_, c)| c.only_from + c.only_to > 0).map(|(tuple, _)| tuple)
    }

    pub fn unchanged_partitions(&self) -> u64 {
        self.counts.values().filter(|c| c.only_from + c.only_to == 0).count() as u64
    }

    /// Rows of the shared files. Where the log lacks them, those of `wanted`
    /// partitions are counted by their footers.
    ///
    /// # Errors
    /// `MissingFiles`, `BadDataFile`, `Storage`; `Cancelled`.
    pub async fn shared_rows<T>(
        &self,
        from: &OpenTable,
        wanted: &BTreeMap<PartitionTuple, T>,
        progress: &Progress,
    ) -> Result<SharedRows> {
        let mut rows = SharedRows { of: HashMap::new(), all: Some(0) };
        let mut uncounted = Vec::new();
        for file in &self.shared {
            let is_wanted = wanted.contains_key(&file.partition);
            match file.live_rows() {
                Some(live) => {
                    rows.all = rows.all.map(|all| all + live);
                    if is_wanted {
                        *rows.of.entry(file.partition.clone()).or_default() += live;
                    }
                }
                None if is_wanted => uncounted.push(file.clone()),
                None => rows.all = None,
            }
        }
        let layout = Arc::new(TableLayout::from_metadata(from.metadata())?);
        let store = from.snapshot().store();
        let mut counts = stream::iter(uncounted)
            .map(|file| {
                let (store, layout) = (store.clone(), layout.clone());
                async move {
                    let live = DataReader::new(layout).row_count(&readable(&store, &file).await?).await?;
                    Ok::<_, Error>((file.partition, live))
                }
            })
            .buffer_unordered(FOOTERS);
        while let Some((partition, live)) = counts.try_next().await? {
            progress.check()?;
            rows.all = rows.all.map(|all| all + live);
            *rows.of.entry(partition).or_default() += live;
        }
        Ok(rows)
    }
}

fn check_filter(filter: &Predicate, columns: &Columns) -> Result<()> {
    if columns.repartitioned {
        return Err(Error::new(ErrorKind::Usage, "the two versions are not partitioned alike, so --filter fits none")
            .hint("Leave --filter out."));
    }
    let names = &columns.metadata.partition_columns;
    match filter.columns().iter().find(|c| !names.iter().any(|p| p.eq_ignore_ascii_case(c))) {
        None => Ok(()),
        Some(stranger) => Err(Error::new(
            ErrorKind::Usage,
            format!("a diff can only be filtered by partition columns, and {stranger} is none"),
        )
        .hint(match names.is_empty() {
            true => "The table is not partitioned.".to_owned(),
            false => format!("The table is partitioned by {}.", names.join(", ")),
        })),
    }
}

/// The live files of one version that the filter chooses, with their
/// partitions where these can be compared. `second`: the second version's
/// metadata, if it is that one.
async fn live(
    table: &OpenTable,
    second: Option<&Metadata>,
    columns: &Columns,
    filter: Option<&Predicate>,
    progress: &Progress,
) -> Result<Vec<(DataFile, Option<PartitionTuple>)>> {
    progress.enter(Phase::Reading, 0, 0);
    let names = &columns.metadata.partition_columns;
    let mut all = Vec::new();
    table
        .snapshot()
        .stream_files(false, &mut |files| {
            progress.check()?;
            progress.advance(files.len() as u64, 0, 0);
            for mut file in files {
                if second.is_some() && columns.repartitioned {
                    all.push((file, None));
                    continue;
                }
                let tuple = columns.tuple(&file, second)?;
                let chosen = match filter {
                    None => Some(true),
                    Some(filter) => filter.evaluate(&|name| {
                        let at = names.iter().position(|c| c.eq_ignore_ascii_case(name))?;
                        tuple.0.get(at).cloned()
                    })?,
                };
                if chosen == Some(true) {
                    // The second version's files are read by its own layout.
                    if second.is_none() {
                        file.partition = tuple.clone();
                    }
                    all.push((file, Some(tuple)));
                }
            }
            Ok(())
        })
        .await?;
    Ok(all)
}
