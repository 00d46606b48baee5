//! Rows of a table that stand for all of them.

use std::sync::Arc;

use deltalake::arrow::array::RecordBatch;
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::Result;
use crate::lake::Snapshot;
use crate::lake::data::{DataReader, TableLayout};
use crate::lake::log::deletion_vectors::readable;
use crate::progress::{Phase, Progress};
use crate::table::DataFile;

/// Files that are opened for one sample at most.
const MOST_FILES: usize = 1024;
/// Cells of a sample: wide tables are looked at in fewer rows.
const MOST_CELLS: u64 = 8_000_000;
const AT_ONCE: usize = 4;

/// Rows of one file, in file order.
#[derive(Debug, Clone)]
pub struct SampleFile {
    /// Index among the files that were given.
    pub file: usize,
    pub batches: Vec<RecordBatch>,
}

#[derive(Debug, Clone)]
pub struct Sample {
    /// The schema's indexes of the batches' columns.
    pub columns: Vec<usize>,
    pub files: Vec<SampleFile>,
    pub rows: u64,
    /// Rows of all the files.
    pub total: u64,
}

impl Sample {
    /// Whether it holds every row.
    pub fn is_whole(&self) -> bool {
        self.rows >= self.total
    }

    /// Rows that one row of the sample stands for.
    pub fn weight(&self) -> f64 {
        if self.rows == 0 { 1.0 } else { self.total as f64 / self.rows as f64 }
    }

    pub fn batches(&self) -> impl Iterator<Item = &RecordBatch> {
        self.files.iter().flat_map(|f| &f.batches)
    }
}

/// Which physical rows of which files to read: the rows stand at even
/// distances in the table, so that each file has its share. `counts`: physical
/// rows of each file. `None` for a file means all of its rows.
fn choose(counts: &[u64], wanted: u64) -> Vec<(usize, Option<Vec<u64>>)> {
    let total: u64 = counts.iter().sum();
    if total <= wanted && counts.len() <= MOST_FILES {
        return (0..counts.len()).filter(|i| counts[*i] > 0).map(|i| (i, None)).collect();
    }
    // Files are chosen by their rows, and each gives as many: every row of the
    // table has the same chance.
    let anchors = MOST_FILES.min(counts.len()).max(1) as u64;
    let share = (wanted / anchors).max(1);
    let mut takes: Vec<u64> = vec![0; counts.len()];
    let (mut file, mut before) = (0, 0_u64);
    for i in 0..anchors {
        let at = (u128::from(total) * (2 * u128::from(i) + 1) / (2 * u128::from(anchors))) as u64;
        while file + 1 < counts.len() && before + counts[file] <= at {
            before += counts[file];
            file += 1;
        }
        takes[file] += share;
    }
    let mut chosen = Vec::new();
    for (i, (take, rows)) in takes.into_iter().zip(counts).enumerate() {
        if take == 0 || *rows == 0 {
            continue;
        }
        if take >= *rows {
            chosen.push((i, None));
            continue;
        }
        // Within a file too, at even distances.
        let select = (0..take).map(|k| (u128::from(*rows) * (2 * u128::from(k) + 1) / (2 * u128::from(take))) as u64);
        chosen.push((i, Some(select.collect())));
    }
    chosen
}

/// Reads about `wanted` live rows of these columns. The files are read in their
/// order; `rows` are the physical rows of each.
///
/// # Errors
/// Whatever reading gives.
pub async fn sample(
    snapshot: &Snapshot,
    files: &[DataFile],
    rows: &[u64],
    columns: &[usize],
    wanted: u64,
    progress: &Progress,
) -> Result<Sample> {
    snapshot.protocol().check_rows()?;
    let layout = Arc::new(TableLayout::from_metadata(snapshot.metadata())?);
    let wanted = wanted.min(MOST_CELLS / columns.len().max(1) as u64).max(1);
    let chosen = choose(rows, wanted);
    progress.enter(Phase::Reading, chosen.len() as u64, 0);
    let mut parts = stream::iter(chosen)
        .map(|(at, select)| {
            let reader = DataReader::new(Arc::clone(&layout));
            let (file, store, columns) = (files[at].clone(), snapshot.store().clone(), columns.to_vec());
            async move {
                let opened = readable(&store, &file).await?;
                let mut batches = Vec::new();
                let mut live = reader.read(&opened, &columns, select.as_deref()).await?;
                while let Some(part) = live.try_next().await? {
                    batches.push(part.batch);
                }
                Ok::<_, crate::error::Error>(SampleFile { file: at, batches })
            }
        })
        .buffered(AT_ONCE);
    let mut found = Sample { columns: columns.to_vec(), files: Vec::new(), rows: 0, total: 0 };
    while let Some(file) = parts.try_next().await? {
        progress.check()?;
        let count: u64 = file.batches.iter().map(|b| b.num_rows() as u64).sum();
        progress.advance(1, count, 0);
        found.rows += count;
        found.files.push(file);
    }
    let live = files.iter().zip(rows).map(|(f, physical)| physical.saturating_sub(f.deleted_rows()));
    found.total = live.sum();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_tables_are_read_whole() {
        assert_eq!(choose(&[3, 0, 5], 100), [(0, None), (2, None)]);
        assert!(choose(&[], 100).is_empty());
    }

    #[test]
    fn each_file_has_its_share() {
        let chosen = choose(&[1_000, 9_000], 100);
        let taken: Vec<(usize, usize)> = chosen.iter().map(|(i, s)| (*i, s.as_ref().unwrap().len())).collect();
        assert_eq!(taken.iter().map(|(_, n)| n).sum::<usize>(), 100);
        let select = chosen.last().unwrap().1.as_ref().unwrap();
        assert!(select.windows(2).all(|w| w[0] < w[1]) && *select.last().unwrap() < 9_000);
        let many = choose(&vec![100; 5_000], 10_000);
        assert!(many.len() <= MOST_FILES, "{}", many.len());
        let rows: usize = many.iter().map(|(_, s)| s.as_ref().map_or(100, Vec::len)).sum();
        assert!((9_000..=10_000).contains(&rows), "{rows}");
        // One huge file among dwarfs gives nearly all of the rows.
        let mut counts = vec![1; 300];
        counts[150] = 1_000_000;
        let chosen = choose(&counts, 10_000);
        let huge = chosen.iter().find(|(i, _)| *i == 150).and_then(|(_, s)| s.as_ref()).unwrap().len();
        assert!(huge > 9_000, "{huge}");
    }
}
