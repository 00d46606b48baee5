//! Looking at one table: description, partitions, files, rows, history.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};

use super::context::{Context, TableSettings};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::{DataReader, TableLayout, value_at};
use crate::lake::log::deletion_vectors::readable;
use crate::lake::log::{history, version};
use crate::lake::{Snapshot, TableStore};
use crate::predicate::Predicate;
use crate::progress::{Phase, Progress};
use crate::table::partition::PartitionGrouper;
use crate::table::{Commit, DataFile, Metadata, PartitionStats, PartitionTuple, Protocol, Value};

/// Footers that are read at the same time.
const FOOTERS: usize = 16;
/// How often a growing list of partitions is shown.
const SHOW_EVERY: Duration = Duration::from_millis(100);

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
    snapshot: Snapshot,
    committed_at: i64,
}

/// A page of rows.
#[derive(Debug, Clone, Default)]
pub struct RowPage {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more rows after this page.
    pub more: bool,
}

fn config_names(name: &str, snapshot: &Snapshot) -> [String; 4] {
    let store = snapshot.store();
    let own = snapshot.metadata().name.clone().unwrap_or_default();
    [name.to_owned(), store.location(), store.folder_name(), own]
}

impl OpenTable {
    /// Opens a table by path, `file://` URL or `lake.name`.
    ///
    /// # Errors
    /// `NotATable`, and whatever is wrong with its log.
    pub async fn open(context: &Context, reference: &str, at: At) -> Result<OpenTable> {
        let store = TableStore::open_watched(&context.resolve(reference), context.calls.clone())?;
        let newest = match at {
            At::Version(version) => Snapshot::open(&store, Some(version)).await?,
            At::Latest | At::Time(_) => Snapshot::open(&store, None).await?,
        };
        let snapshot = match at {
            At::Time(time) => newest.at(version::at_time(&newest, time).await?).await?,
            _ => newest,
        };
        Self::of_snapshot(context, snapshot).await
    }

    pub(super) async fn of_snapshot(context: &Context, snapshot: Snapshot) -> Result<OpenTable> {
        let location = snapshot.store().location();
        let folder = snapshot.store().folder_name();
        let name = context.name_of(&location).unwrap_or(folder);
        let names = config_names(&name, &snapshot);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(OpenTable {
            settings: context.settings(&names)?,
            committed_at: version::timestamp(&snapshot, snapshot.version()).await?,
            name,
            location,
            snapshot,
        })
    }

    /// The names under which the config may know the table, best first.
    pub(super) fn config_names(&self) -> [String; 4] {
        config_names(&self.name, &self.snapshot)
    }

    pub fn version(&self) -> u64 {
        self.snapshot.version()
    }

    pub fn metadata(&self) -> &Metadata {
        self.snapshot.metadata()
    }

    pub fn protocol(&self) -> &Protocol {
        self.snapshot.protocol()
    }

    /// milliseconds since the epoch: when the pinned version was committed
    pub fn committed_at(&self) -> i64 {
        self.committed_at
    }

    /// The same table at another snapshot.
    pub(super) fn at_snapshot(&self, snapshot: Snapshot) -> OpenTable {
        OpenTable { snapshot, ..self.clone() }
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The partitions, sorted by typed value. `count` reads footers where the
    /// log lacks `numRecords`. `on_batch` sees what is known so far, sorted,
    /// while the log is still being read.
    ///
    /// # Errors
    /// Whatever is wrong with the log; with `count`, with a data file.
    pub async fn partitions(
        &self,
        count: bool,
        progress: &Progress,
        on_batch: &mut (dyn FnMut(Vec<PartitionStats>) + Send),
    ) -> Result<Vec<PartitionStats>> {
        progress.enter(Phase::Reading, 0, 0);
        let mut grouper = PartitionGrouper::default();
        let mut uncounted = Vec::new();
        let mut shown: Option<Instant> = None;
        self.snapshot
            .stream_files(false, &mut |files| {
                progress.check()?;
                progress.advance(files.len() as u64, 0, 0);
                for file in files {
                    // A file of 0 rows is rare enough to look into it.
                    if count && file.num_records.unwrap_or(0) == 0 {
                        uncounted.push(file);
                    } else {
                        grouper.add(&file);
                    }
                }
                // Sorting all partitions on every batch would be quadratic.
                if shown.is_none_or(|at| at.elapsed() >= SHOW_EVERY) {
                    on_batch(grouper.snapshot());
                    shown = Some(Instant::now());
                }
                Ok(())
            })
            .await?;
        if !uncounted.is_empty() {
            self.snapshot.protocol().check_rows()?;
            let layout = Arc::new(TableLayout::from_metadata(self.metadata())?);
            let store = self.snapshot.store();
            let mut counts = stream::iter(uncounted)
                .map(|file| {
                    let (store, layout) = (store.clone(), layout.clone());
                    async move {
                        let rows = DataReader::new(layout).row_count(&readable(&store, &file).await?).await?;
                        Ok::<_, Error>(DataFile { num_records: Some(rows + file.deleted_rows()), ..file })
                    }
                })
                .buffer_unordered(FOOTERS);
            while let Some(file) = counts.try_next().await? {
                progress.check()?;
                grouper.add(&file);
            }
        }
        Ok(grouper.finish())
    }

    /// The live files, by partition, then by path.
    ///
    /// # Errors
    /// Whatever is wrong with the log.
    pub async fn files(&self, progress: &Progress) -> Result<Vec<DataFile>> {
        progress.enter(Phase::Reading, 0, 0);
        let mut all = Vec::new();
        self.snapshot
            .stream_files(false, &mut |files| {
                progress.check()?;
                progress.advance(files.len() as u64, 0, 0);
                all.extend(files);
                Ok(())
            })
            .await?;
        all.sort_by(|a, b| (&a.partition, &a.path).cmp(&(&b.partition, &b.path)));
        Ok(all)
    }

    /// A page of live rows, by partition, then by file. `columns` empty means all.
    ///
    /// # Errors
    /// `Usage` for an unknown column or a filter that does not fit, and whatever
    /// is wrong with a data file.
    pub async fn rows(
        &self,
        filter: Option<&Predicate>,
        columns: &[String],
        offset: u64,
        limit: usize,
        progress: &Progress,
    ) -> Result<RowPage> {
        self.snapshot.protocol().check_rows()?;
        let schema = &self.metadata().schema;
        let column = |name: &String| {
            schema.find(name).and_then(|f| schema.index_of(&f.name)).ok_or_else(|| {
                let names: Vec<&str> = schema.names().collect();
                Error::new(ErrorKind::Usage, format!("the table has no column {name}"))
                    .hint(format!("It has {}.", names.join(", ")))
            })
        };
        let shown: Vec<usize> = if columns.is_empty() {
            (0..schema.fields.len()).collect()
        } else {
            columns.iter().map(column).collect::<Result<_>>()?
        };
        let filtered: Vec<usize> =
            filter.map_or_else(Vec::new, Predicate::columns).iter().map(column).collect::<Result<_>>()?;
        let by_partition = filtered.iter().all(|c| self.metadata().is_partition_column(&schema.fields[*c].name));
        let mut wanted = shown.clone();
        wanted.extend(filtered.iter().filter(|c| !shown.contains(c)));

        let layout = Arc::new(TableLayout::from_metadata(self.metadata())?);
        let reader = DataReader::new(layout);
        let mut page =
            RowPage { columns: shown.iter().map(|c| schema.fields[*c].name.clone()).collect(), ..RowPage::default() };
        let mut skip = offset;
        for file in self.files(progress).await? {
            progress.check()?;
            if let Some(predicate) = filter.filter(|_| by_partition)
                && self.matches_partition(predicate, &file.partition)? != Some(true)
            {
                continue;
            }
            // A file that the offset passes over whole need not be opened.
            let per_row = filter.filter(|_| !by_partition);
            if let (None, Some(rows)) = (per_row, file.live_rows().filter(|rows| *rows > 0))
                && rows <= skip
            {
                skip -= rows;
                continue;
            }
            let mut batches = reader.read(&readable(self.snapshot.store(), &file).await?, &wanted, None).await?;
            while let Some(live) = batches.try_next().await? {
                for row in 0..live.batch.num_rows() {
                    let cell = |at: usize| value_at(live.batch.column(at).as_ref(), row);
                    if let Some(predicate) = per_row {
                        let values: HashMap<String, Value> = wanted
                            .iter()
                            .enumerate()
                            .map(|(at, c)| (schema.fields[*c].name.to_lowercase(), cell(at)))
                            .collect();
                        if predicate.evaluate(&|name| values.get(&name.to_lowercase()).cloned())? != Some(true) {
                            continue;
                        }
                    }
                    if skip > 0 {
                        skip -= 1;
                        continue;
                    }
                    if page.rows.len() == limit {
                        page.more = true;
                        return Ok(page);
                    }
                    page.rows.push((0..shown.len()).map(cell).collect());
                }
            }
        }
        Ok(page)
    }

    /// SQL's answer of a predicate over partition columns.
    pub(super) fn matches_partition(&self, predicate: &Predicate, tuple: &PartitionTuple) -> Result<Option<bool>> {
        matches(predicate, &self.metadata().partition_columns, tuple)
    }

    /// Every version once, newest first. `check_files` also finds out which
    /// can still be restored. `filter` keeps commits that touched a matching
    /// partition, and those of which that cannot be told: under other columns.
    ///
    /// # Errors
    /// `Usage` for a filter on other columns, and whatever is wrong with the log.
    pub async fn history(
        &self,
        filter: Option<&Predicate>,
        check_files: bool,
        progress: &Progress,
    ) -> Result<Vec<Commit>> {
        let commits = history::read(&self.snapshot, check_files, progress).await?;
        let Some(predicate) = filter else { return Ok(commits) };
        let mut columns = self.metadata().partition_columns.clone();
        for touched in commits.iter().flat_map(|c| &c.touched) {
            columns.extend(touched.columns.iter().filter(|c| !columns.contains(c)).cloned().collect::<Vec<_>>());
        }
        let has = |columns: &[String], name: &String| columns.iter().any(|c| c.eq_ignore_ascii_case(name));
        let named = predicate.columns();
        if let Some(stranger) = named.iter().find(|c| !has(&columns, c)) {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("history can only be filtered by partition columns, and {stranger} is none"),
            )
            .hint(format!("The table is or was partitioned by {}.", columns.join(", "))));
        }
        let mut kept = Vec::new();
        for commit in commits {
            // Of partitions by other columns nobody can say that they do not match,
            // and before a switch no partition of today was there.
            let mut touches = commit.switches;
            for touched in &commit.touched {
                if !named.iter().all(|c| has(&touched.columns, c)) {
                    touches = true;
                    continue;
                }
                for tuple in &touched.partitions {
                    touches |= matches(predicate, &touched.columns, tuple)? == Some(true);
                }
            }
            if touches {
                kept.push(commit);
            }
        }
        Ok(kept)
    }
}

/// SQL's answer of a predicate for a partition of some columns.
fn matches(predicate: &Predicate, columns: &[String], tuple: &PartitionTuple) -> Result<Option<bool>> {
    predicate.evaluate(&|name| {
        let at = columns.iter().position(|c| c.eq_ignore_ascii_case(name))?;
        tuple.0.get(at).cloned()
    })
}
