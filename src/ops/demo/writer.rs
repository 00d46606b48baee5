//! Writes tables with the `deltalake` crate and sets their clocks back.
//!
//! Data files come from its `RecordBatchWriter` and commits from its
//! `CommitBuilder`, because these two let the caller say when a file and a
//! commit were made. Readers take a commit's time from the log file's
//! modification time, so that is set too.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use chrono::Utc;
use deltalake::DeltaTable;
use deltalake::arrow::array::RecordBatch;
use deltalake::kernel::transaction::CommitBuilder;
use deltalake::kernel::{Action, Add, CommitInfo, Remove, StructField};
use deltalake::operations::create::CreateBuilder;
use deltalake::parquet::arrow::ArrowWriter;
use deltalake::protocol::{DeltaOperation, SaveMode};
use deltalake::writer::{DeltaWriter, RecordBatchWriter};
use serde_json::{Value as Json, json};

use crate::error::{Context, Error, ErrorKind, Result};

/// Who made a commit, and when.
pub(super) struct Job {
    user: &'static str,
    /// milliseconds since the epoch
    at: i64,
}

impl Job {
    pub(super) fn hours_ago(user: &'static str, hours: i64) -> Self {
        Self { user, at: Utc::now().timestamp_millis() - hours * 3_600_000 }
    }

    fn commit_info(&self, operation: &DeltaOperation) -> CommitInfo {
        CommitInfo { timestamp: Some(self.at), user_name: Some(self.user.into()), ..operation.get_commit_info() }
    }
}

/// A table under construction.
pub(super) struct DemoTable {
    path: PathBuf,
    partition_column: &'static str,
    table: DeltaTable,
    /// The live files.
    files: Vec<Add>,
}

impl DemoTable {
    pub(super) async fn create(
        path: &Path,
        columns: Result<Vec<StructField>>,
        partition_column: &'static str,
        job: &Job,
    ) -> Result<Self> {
        std::fs::create_dir_all(path).context(ErrorKind::Storage, || format!("cannot make {}", path.display()))?;
        let url = url::Url::from_directory_path(path)
            .map_err(|()| Error::new(ErrorKind::Internal, format!("{} is not absolute", path.display())))?;
        let info = CommitInfo {
            timestamp: Some(job.at),
            user_name: Some(job.user.into()),
            operation: Some("CREATE TABLE".into()),
            operation_parameters: Some(HashMap::from([
                ("partitionBy".to_owned(), Json::String(json!([partition_column]).to_string())),
                ("isManaged".to_owned(), Json::String("false".into())),
            ])),
            ..CommitInfo::default()
        };
        let table = CreateBuilder::new()
            .with_location(url)
            .with_columns(columns?)
            .with_partition_columns([partition_column])
            .with_actions([Action::CommitInfo(info)])
            .await
            .context(ErrorKind::Storage, || format!("cannot create {}", path.display()))?;
        let made = Self { path: path.to_owned(), partition_column, table, files: Vec::new() };
        made.set_back(0, &[], job.at)?;
        Ok(made)
    }

    /// One commit that adds rows.
    pub(super) async fn append(&mut self, rows: &RecordBatch, job: &Job) -> Result<()> {
        self.commit(rows, SaveMode::Append, None, job).await
    }

    /// One commit that replaces the partitions that occur in the rows.
    pub(super) async fn replace_partitions(&mut self, rows: &RecordBatch, predicate: &str, job: &Job) -> Result<()> {
        self.commit(rows, SaveMode::Overwrite, Some(predicate.to_owned()), job).await
    }

    async fn commit(&mut self, rows: &RecordBatch, mode: SaveMode, predicate: Option<String>, job: &Job) -> Result<()> {
        let adds = self.stage(rows, job).await?;
        let removed = if mode == SaveMode::Overwrite {
            self.files
                .extract_if(.., |old| adds.iter().any(|new| new.partition_values == old.partition_values))
                .collect()
        } else {
            Vec::new()
        };
        let operation =
            DeltaOperation::Write { mode, partition_by: Some(vec![self.partition_column.into()]), predicate };
        let mut actions = vec![Action::CommitInfo(job.commit_info(&operation))];
        actions.extend(removed.into_iter().map(|add| Action::Remove(tombstone(add, job.at))));
        actions.extend(adds.iter().cloned().map(Action::Add));

        let failed = || format!("cannot commit to {}", self.path.display());
        let snapshot = self.table.snapshot().context(ErrorKind::Storage, failed)?;
        let committed = CommitBuilder::default()
            .with_actions(actions)
            .build(Some(snapshot), self.table.log_store(), operation)
            .await
            .context(ErrorKind::Storage, failed)?;
        self.set_back(committed.version(), &adds, job.at)?;
        self.table.update_state().await.context(ErrorKind::Storage, failed)?;
        self.files.extend(adds);
        Ok(())
    }

    /// Writes data files, one a partition.
    async fn stage(&self, rows: &RecordBatch, job: &Job) -> Result<Vec<Add>> {
        let failed = || format!("cannot write data files below {}", self.path.display());
        let mut writer = RecordBatchWriter::for_table(&self.table).context(ErrorKind::Storage, failed)?;
        writer.write(rows.clone()).await.context(ErrorKind::Storage, failed)?;
        let mut adds = writer.flush().await.context(ErrorKind::Storage, failed)?;
        for add in &mut adds {
            add.modification_time = job.at;
        }
        Ok(adds)
    }

    /// Gives a commit and its data files the modification time of the job.
    fn set_back(&self, version: u64, adds: &[Add], at: i64) -> Result<()> {
        let time = UNIX_EPOCH + Duration::from_millis(at.unsigned_abs());
        let commit = self.path.join(format!("_delta_log/{version:020}.json"));
        let data = adds.iter().map(|add| self.path.join(&add.path));
        for file in std::iter::once(commit).chain(data) {
            File::options()
                .write(true)
                .open(&file)
                .and_then(|f| f.set_modified(time))
                .context(ErrorKind::Storage, || format!("cannot set the time of {}", file.display()))?;
        }
        Ok(())
    }
}

fn tombstone(add: Add, at: i64) -> Remove {
    Remove {
        path: add.path,
        data_change: true,
        deletion_timestamp: Some(at),
        extended_file_metadata: Some(true),
        partition_values: Some(add.partition_values),
        size: Some(add.size),
        ..Remove::default()
    }
}

/// One Parquet file with one row group.
pub(super) fn write_parquet(path: &Path, rows: &RecordBatch) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let file = File::create_new(path).context(ErrorKind::Storage, failed)?;
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).context(ErrorKind::Storage, failed)?;
    writer.write(rows).context(ErrorKind::Storage, failed)?;
    writer.close().context(ErrorKind::Storage, failed)?;
    Ok(())
}
