//! Reading new data files back: rows and checksums, from the files themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;

use super::hash;
use crate::engine::{RowSet, Staged};
use crate::error::Result;
use crate::lake::Snapshot;
use crate::lake::data::{DataReader, TableLayout};
use crate::lake::log::deletion_vectors::readable;
use crate::progress::Progress;
use crate::table::{DataFile, PartitionTuple};

/// What the files of one commit hold, as read back.
#[derive(Debug, Default)]
pub struct ReadBack {
    pub partitions: BTreeMap<PartitionTuple, RowSet>,
    pub columns: Vec<u128>,
}

/// # Errors
/// `BadDataFile`, `MissingFiles`, `Storage`.
pub async fn read_back(snapshot: &Snapshot, files: &[&DataFile], seed: u64, progress: &Progress) -> Result<ReadBack> {
    let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
    let all: Vec<usize> = (0..layout.schema.fields.len()).collect();
    let mut back = ReadBack { columns: vec![0; all.len()], ..ReadBack::default() };
    let reader = DataReader::new(layout);
    for file in files {
        let mut batches = reader.read(&readable(snapshot.store(), file).await?, &all, None).await?;
        let set = back.partitions.entry(file.partition.clone()).or_default();
        while let Some(live) = batches.try_next().await? {
            for mixed in hash::row_sets(&live.batch, seed, &mut back.columns)? {
                set.add(mixed);
            }
            progress.advance(0, live.batch.num_rows() as u64, 0);
        }
        progress.advance(1, 0, file.size);
    }
    Ok(back)
}

impl ReadBack {
    /// Differences from what was staged, in words.
    pub fn differences(&self, staged: &Staged, partition_columns: &[String], names: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let tuples: std::collections::BTreeSet<_> = self.partitions.keys().chain(staged.partitions.keys()).collect();
        for tuple in tuples {
            let (want, have) = (
                staged.partitions.get(tuple).copied().unwrap_or_default(),
                self.partitions.get(tuple).copied().unwrap_or_default(),
            );
            if want.rows != have.rows {
                found.push(format!(
                    "{}: {} rows were staged, {} are there",
                    tuple.label(partition_columns),
                    want.rows,
                    have.rows
                ));
            } else if want != have {
                found.push(format!("{}: the rows differ from those that were staged", tuple.label(partition_columns)));
            }
        }
        for ((name, want), have) in names.iter().zip(&staged.columns).zip(&self.columns) {
            if want != have {
                found.push(format!("column {name}: its checksum differs from what was staged"));
            }
        }
        found
    }
}
