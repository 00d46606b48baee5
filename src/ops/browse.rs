//! Looking at one table: description, partitions, files, rows, history.

use super::context::{Context, TableSettings};
use crate::error::Result;
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::table::{Commit, DataFile, Metadata, PartitionStats, Protocol, Value};

/// Which version to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Latest,
    Version(u64),
    /// milliseconds since the epoch: the newest version that is not younger
    Time(i64),
}

/// A table pinned at one version. Cheap to clone; everything is read lazily.
#[derive(Clone)]
pub struct OpenTable {
    /// What people call it: the folder's name or `lake.table`.
    pub name: String,
    /// What opens it again.
    pub location: String,
    pub settings: TableSettings,
}

/// A page of rows.
#[derive(Debug, Clone, Default)]
pub struct RowPage {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more rows after this page.
    pub more: bool,
}

impl OpenTable {
    /// Opens a table by path, `file://` URL or `lake.name`.
    ///
    /// # Errors
    /// `NotATable`, and whatever is wrong with its log.
    pub async fn open(_context: &Context, _reference: &str, _at: At) -> Result<OpenTable> {
        todo!()
    }

    pub fn version(&self) -> u64 {
        todo!()
    }

    pub fn metadata(&self) -> &Metadata {
        todo!()
    }

    pub fn protocol(&self) -> &Protocol {
        todo!()
    }

    /// milliseconds since the epoch: when the pinned version was committed
    pub fn committed_at(&self) -> i64 {
        todo!()
    }

    /// The partitions, sorted by typed value. `count` reads footers where the
    /// log lacks `numRecords`. `on_batch` sees what is known so far, sorted,
    /// while the log is still being read.
    pub async fn partitions(
        &self,
        _count: bool,
        _progress: &Progress,
        _on_batch: &mut (dyn FnMut(Vec<PartitionStats>) + Send),
    ) -> Result<Vec<PartitionStats>> {
        todo!()
    }

    /// The live files, in the log's order.
    pub async fn files(&self, _progress: &Progress) -> Result<Vec<DataFile>> {
        todo!()
    }

    /// A page of live rows. `columns` empty means all.
    pub async fn rows(
        &self,
        _filter: Option<&Predicate>,
        _columns: &[String],
        _offset: u64,
        _limit: usize,
        _progress: &Progress,
    ) -> Result<RowPage> {
        todo!()
    }

    /// Every version once, newest first. `check_files` also finds out which
    /// can still be restored. `filter` keeps commits that touched a matching partition.
    pub async fn history(
        &self,
        _filter: Option<&Predicate>,
        _check_files: bool,
        _progress: &Progress,
    ) -> Result<Vec<Commit>> {
        todo!()
    }
}
