//! Keys of rows that come back, in rows that others wrote since: whole files
//! are exchanged without a look into them, so that such a key would be there
//! twice.

use std::collections::HashSet;

use super::browse::OpenTable;
use super::chosen::narrowed;
use super::prepare::{matching, names, seed, spilling};
use crate::engine::local::LocalEngine;
use crate::engine::{Engine, RowJob};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::plan::clauses::{Clauses, On};
use crate::plan::view::SourceView;
use crate::plan::{Pairing, Reach, RowRule, Spec};
use crate::progress::Progress;
use crate::source::{Matching, Source, delta};
use crate::table::DataFile;

/// Said where no key is known: `keys.elsewhere` is then null.
pub const KEYS_UNSEEN: &str = "keys were not compared, since none is known: a row that comes back may have the key of \
     a row that another commit wrote since; --key A,B compares them";

/// Whole files that would come back.
pub struct Back<'a> {
    /// At the version that is planned on.
    pub table: &'a OpenTable,
    /// The snapshot that the files are of.
    pub then: &'a Snapshot,
    pub files: &'a [DataFile],
    /// Files that go at the same time.
    pub removed: &'a [DataFile],
    /// Columns that identify a row; empty: none are known.
    pub key: &'a [String],
}

impl Back<'_> {
    /// Rows that come back and whose key a row has that others wrote since; a
    /// NULL in the key equals NULL. `None` where it cannot be said: without a
    /// key, or where the old version does not have its columns.
    ///
    /// Only files that the old version does not have are read: what it had
    /// beside the files was there together with them.
    ///
    /// # Errors
    /// `BadDataFile` and what else reading files gives; `Cancelled`.
    pub async fn rows_with_a_twin(&self, progress: &Progress) -> Result<Option<u64>> {
        let others = self.others(progress).await?;
        if self.files.is_empty() || others.is_empty() {
            return Ok(Some(0));
        }
        if self.key.is_empty() {
            return Ok(None);
        }
        let key = names(self.table, self.key)?;
        let old = &self.then.metadata().schema;
        if key.iter().any(|column| old.index_of(column).is_none()) {
            return Ok(None);
        }
        let (files, others) = self.that_may_meet(&key, others);
        if files.is_empty() || others.is_empty() {
            return Ok(Some(0));
        }
        let columns = self.table.metadata().schema.names().map(|name| old.index_of(name)).collect();
        let source = delta::of_files(self.then, files).await?;
        let matching = Matching { columns, ..Matching::default() };
        let meeting = Meeting { table: self.table, source, matching, view: SourceView::default(), key: &key };
        Ok(Some(meeting.rows(Reach::Table, Some(others), progress).await?))
    }

    /// Files that stay and that the old version does not have. By path: a
    /// deletion vector that was added since brings no row.
    async fn others(&self, progress: &Progress) -> Result<Vec<DataFile>> {
        let then = self.then.files(false).await?;
        let known: HashSet<&str> = then.iter().chain(self.removed).map(|f| f.path.as_str()).collect();
        let live = self.table.files(progress).await?;
        Ok(live.iter().filter(|f| !known.contains(f.path.as_str())).cloned().collect())
    }

    /// Without files whose partition columns in the key say that they cannot.
    fn that_may_meet(&self, key: &[String], others: Vec<DataFile>) -> (Vec<DataFile>, Vec<DataFile>) {
        let columns = &self.table.metadata().partition_columns;
        let places: Vec<usize> = (0..columns.len()).filter(|at| key.contains(&columns[*at])).collect();
        let part = |file: &DataFile| places.iter().map(|at| file.partition.0[*at].clone()).collect::<Vec<_>>();
        let here: HashSet<_> = self.files.iter().map(part).collect();
        let there: HashSet<_> = others.iter().map(part).collect();
        let back = self.files.iter().filter(|f| there.contains(&part(f))).cloned().collect();
        (back, others.into_iter().filter(|f| here.contains(&part(f))).collect())
    }
}

/// Rows that a restore by rows brings back and whose key a row has that it leaves
/// alone: `chosen` says, over the table's columns, which rows it replaces.
///
/// # Errors
/// As [`super::prepare::classify`].
pub async fn rows_beyond(
    table: &OpenTable,
    source: &Source,
    spec: &Spec,
    chosen: &str,
    progress: &Progress,
) -> Result<u64> {
    let rows = spec.rows().ok_or_else(|| Error::new(ErrorKind::Internal, "a restore by rows has no rows"))?;
    let matching = matching(table, source, std::slice::from_ref(spec))?;
    let others = format!("NOT coalesce({chosen}, false)");
    let source = narrowed(source, &rows.view)?;
    let meeting = Meeting { table, source, matching, view: rows.view.clone(), key: &rows.key };
    meeting.rows(Reach::Where(others), None, progress).await
}

/// Rows of a source that meet rows of the table by their key.
struct Meeting<'a> {
    table: &'a OpenTable,
    source: Source,
    matching: Matching,
    view: SourceView,
    key: &'a [String],
}

impl Meeting<'_> {
    async fn rows(self, reach: Reach, files: Option<Vec<DataFile>>, progress: &Progress) -> Result<u64> {
        let on = On::columns(self.key, true);
        let (key, sides) = (on.keys.clone(), (self.table.snapshot().clone(), self.source));
        // No clause: nothing is asked of the rows but whether they meet.
        let rules = vec![RowRule { reach, pairing: Pairing::Join(on), clauses: Clauses::default() }];
        let job = RowJob {
            view: self.view,
            files,
            ..RowJob::of(sides, self.matching, key, rules, spilling(self.table)?, seed())
        };
        let found = LocalEngine.classify(job, progress.clone()).await?.pop();
        let found = found.ok_or_else(|| Error::new(ErrorKind::Internal, "one rule gave no result"))?;
        Ok(found.summary().keys.existing)
    }
}
