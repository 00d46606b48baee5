//! What files of a table take, today and under another layout.

use super::OpenTable;
use crate::engine::local::whatif::{Grouping, Sample, one_row, sample};
use crate::error::Result;
use crate::plan::layouts::FileCost;
use crate::progress::Progress;
use crate::table::{DataFile, Metadata};

/// Bytes per row are those of today's files; what a file takes at least is
/// measured on one row, written into memory.
pub struct FileCosts {
    today: FileCost,
    /// Bytes of the smallest file.
    smallest: u64,
    /// One row; `None` of a table without any.
    row: Option<Sample>,
}

impl FileCosts {
    /// `rows`: physical rows of each file.
    ///
    /// # Errors
    /// Whatever reading gives.
    pub async fn read(table: &OpenTable, files: &[DataFile], rows: &[u64], progress: &Progress) -> Result<FileCosts> {
        let bytes = files.iter().map(|f| f.size).sum();
        let live = files.iter().zip(rows).map(|(f, rows)| rows.saturating_sub(f.deleted_rows())).sum();
        let smallest = files.iter().map(|f| f.size).min().unwrap_or(0);
        // The smallest file without deleted rows: least is read.
        let whole = (0..files.len()).filter(|at| rows[*at] > 0 && files[*at].deletion_vector.is_none());
        let (row, floor) = match whole.min_by_key(|at| files[*at].size) {
            Some(at) => {
                let columns: Vec<usize> = (0..table.metadata().schema.fields.len()).collect();
                let (file, of) = (&files[at..=at], &rows[at..=at]);
                let row = sample(table.snapshot(), file, of, &columns, 1, progress).await?;
                let floor = one_row(table.metadata(), None, &row).await?;
                (Some(row), floor)
            }
            None => (None, 0),
        };
        Ok(FileCosts { today: FileCost::of(bytes, live, files.len() as u64, smallest, floor), smallest, row })
    }

    /// Under other partition columns: they are not in the files.
    ///
    /// # Errors
    /// `UnsupportedType`, `Internal`.
    pub async fn under(&self, metadata: &Metadata, grouping: &Grouping) -> Result<FileCost> {
        let Some(row) = &self.row else { return Ok(self.today) };
        // Another writer's files may be smaller than ours.
        let floor = one_row(metadata, Some(grouping), row).await?.min(self.smallest);
        Ok(FileCost { floor, ..self.today })
    }
}
