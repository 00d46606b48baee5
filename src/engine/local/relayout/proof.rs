//! The proof before a commit: the new files, read back, hold the rows that were
//! read from the old ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;

use super::super::hash;
use super::Sums;
use super::count::Counted;
use super::out::Written;
use super::read::{Reading, each, take_all};
use crate::engine::{RowSet, Staged};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::{DataReader, ReadFile};
use crate::progress::{Phase, Progress};
use crate::table::PartitionTuple;
use crate::table::number::grouped;

struct Local {
    sums: Sums,
    partitions: BTreeMap<PartitionTuple, RowSet>,
}

/// Reads the new files and compares rows and checksums, and the rows of each
/// partition with those that were counted.
///
/// # Errors
/// `StagedDiffers` with everything that differs; whatever reading gives.
pub async fn prove(
    reading: &Arc<Reading>,
    counted: &Counted,
    read: &Sums,
    files: Vec<Written>,
    progress: &Progress,
) -> Result<Staged> {
    progress.enter(Phase::Verifying, files.len() as u64, files.iter().map(|f| f.file.size).sum());
    let columns = reading.schema().fields().len();
    let reader = DataReader::new(Arc::clone(&reading.target));
    let objects = reading.job.snapshot.store().objects();
    let seed = reading.job.seed;
    let new = || Local { sums: Sums::of(columns), partitions: BTreeMap::new() };
    let done = each(files.clone(), progress, new, move |written: &Written, local, stop| {
        let file = ReadFile {
            store: objects.clone(),
            path: written.path.clone(),
            size: written.file.size,
            partition: written.tuple.clone(),
            deleted: None,
        };
        let reader = reader.clone();
        async move {
            let all: Vec<usize> = (0..columns).collect();
            let set = local.partitions.entry(written.tuple.clone()).or_default();
            take_all(reader.read(&file, &all, None).await?, stop, |live| {
                for mixed in hash::row_sets(&live.batch, seed, &mut local.sums.columns)? {
                    set.add(mixed);
                    local.sums.rows.add(mixed);
                }
                stop.progress().advance(0, live.batch.num_rows() as u64, 0);
                Ok(())
            })
            .await?;
            stop.progress().advance(1, 0, written.file.size);
            Ok(())
        }
        .boxed()
    })
    .await?;
    let mut sums = Sums::of(columns);
    let mut partitions: BTreeMap<PartitionTuple, RowSet> = BTreeMap::new();
    for local in done {
        sums.merge(&local.sums);
        for (tuple, set) in local.partitions {
            let all = partitions.entry(tuple).or_default();
            all.rows += set.rows;
            all.checksum = all.checksum.wrapping_add(set.checksum);
        }
    }
    let names: Vec<&str> = reading.target.schema.names().collect();
    let wrong = differences(counted, read, &sums, &partitions, &names, &reading.target.partition_columns);
    if !wrong.is_empty() {
        return Err(Error::new(
            ErrorKind::StagedDiffers,
            format!("the new files do not hold the rows of the old ones: {}; nothing was committed", wrong.join("; ")),
        )
        .hint("Was a data file changed in place? Make a new plan. If it happens again, please report it."));
    }
    Ok(Staged {
        files: files.into_iter().map(|f| f.file).collect(),
        partitions,
        columns: sums.columns,
        ..Staged::default()
    })
}

fn differences(
    counted: &Counted,
    old: &Sums,
    new: &Sums,
    partitions: &BTreeMap<PartitionTuple, RowSet>,
    names: &[&str],
    partition_columns: &[String],
) -> Vec<String> {
    /// More are counted, not named.
    const NAMED: usize = 5;
    let mut wrong = Vec::new();
    if old.rows.rows != new.rows.rows {
        wrong.push(format!("{} rows were read, {} written", grouped(old.rows.rows), grouped(new.rows.rows)));
    }
    for ((name, a), b) in names.iter().zip(&old.columns).zip(&new.columns) {
        if a != b {
            wrong.push(format!("column {name} has another checksum"));
        }
    }
    if wrong.is_empty() && old.rows.checksum != new.rows.checksum {
        wrong.push("cells of a column lie in other rows".into());
    }
    for tuple in &counted.tuples {
        let rows = partitions.get(&tuple.values).map_or(0, |set| set.rows);
        if rows != tuple.rows {
            let label = tuple.values.label(partition_columns);
            wrong.push(format!("{label}: {} rows, {} were counted", grouped(rows), grouped(tuple.rows)));
        }
    }
    let more = wrong.len().saturating_sub(NAMED);
    wrong.truncate(NAMED);
    if more > 0 {
        wrong.push(format!("and {more} more differences"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::TupleCount;
    use super::*;
    use crate::table::Value;

    fn sums(rows: u64, checksum: u128, columns: [u128; 2]) -> Sums {
        Sums { rows: RowSet { rows, checksum }, columns: columns.to_vec() }
    }

    #[test]
    fn every_kind_of_difference_is_named() {
        let tuple = PartitionTuple(vec![Value::Int(1)]);
        let counted = Counted { tuples: vec![TupleCount { values: tuple.clone(), rows: 2, files: 1, bytes: 9 }] };
        let there = |rows| BTreeMap::from([(tuple.clone(), RowSet { rows, checksum: 7 })]);
        let say = |new: Sums, rows| {
            let old = sums(2, 7, [3, 4]);
            differences(&counted, &old, &new, &there(rows), &["a", "b"], &["a".to_owned()]).join("; ")
        };
        assert_eq!(say(sums(2, 7, [3, 4]), 2), "");
        assert!(say(sums(1, 7, [3, 4]), 1).contains("2 rows were read, 1 written; a=1: 1 rows, 2 were counted"));
        assert_eq!(say(sums(2, 7, [3, 5]), 2), "column b has another checksum");
        assert_eq!(say(sums(2, 8, [3, 4]), 2), "cells of a column lie in other rows");
    }
}
