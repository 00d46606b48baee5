//! Going back to an earlier version: the whole table or chosen partitions.

use std::collections::HashSet;

use super::breakers::breakers_back;
use super::browse::{At, OpenTable};
use super::chosen::Chosen;
use super::context::Context;
use super::exchange::Exchange;
use super::prepare::{Judged, prepare_all};
use super::twins::{self, Back};
use super::{Prepared, SourceRequest, Strategy, changes, clock, exchange};
use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::version;
use crate::plan::restore::Restore;
use crate::plan::view::SourceView;
use crate::plan::{Plan, Spec};
use crate::predicate::{RowExpr, Side};
use crate::progress::Progress;
use crate::source::Source;
use crate::table::evolution::{hindrance, namesake, stranger};
use crate::table::file::FileId;
use crate::table::{DataFile, Field, Metadata, PartitionTuple};

/// What is to be as it was.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    pub to: At,
    /// Only these partitions, as `a=1/b=∅`; columns that are not named are free.
    pub partitions: Vec<String>,
    /// Only these, by the values of today's partition columns.
    pub chosen: Vec<PartitionTuple>,
    /// Only partitions for which this is true: SQL over partition columns.
    pub filter: Option<String>,
    /// Take what is still there where files are gone.
    pub partial: bool,
    /// Only the rows; schema, properties and partition columns stay.
    pub data_only: bool,
    /// Pairs old and new rows in the preview, where rows are compared; empty:
    /// the config's.
    pub key: Vec<String>,
}

impl RestoreRequest {
    /// The whole table with its metadata.
    pub fn whole(to: At) -> RestoreRequest {
        RestoreRequest {
            to,
            partitions: Vec::new(),
            chosen: Vec::new(),
            filter: None,
            partial: false,
            data_only: false,
            key: Vec::new(),
        }
    }
}

/// Plans a RESTORE of the whole table. Every file that would come back is
/// looked for first.
///
/// # Errors
/// As [`plan_restore`].
pub async fn prepare_restore(context: &Context, table: &OpenTable, to: At, progress: &Progress) -> Result<Plan> {
    Ok(plan_restore(context, table, &RestoreRequest::whole(to), progress).await?.plan)
}

/// Plans a restore. Chosen partitions come back by their files where these
/// still mean the same under today's metadata, else by their rows.
///
/// # Errors
/// `NoSuchVersion`, `VersionGone`, `MissingFiles` with the list, `Usage` for
/// partitions that cannot be chosen, `Refused` for another table's version.
pub async fn plan_restore(
    _context: &Context,
    table: &OpenTable,
    request: &RestoreRequest,
    progress: &Progress,
) -> Result<Prepared> {
    let now = table.snapshot().refresh().await?;
    let table = table.at_snapshot(now.clone());
    let target = match request.to {
        At::Version(version) => version,
        At::Time(time) => version::at_time(&now, time).await?,
        At::Latest => now.version(),
    };
    let then = now.at(target).await?;
    if then.metadata().id != now.metadata().id {
        return Err(Error::new(ErrorKind::Refused, format!("version {target} was another table in the same folder"))
            .hint("Its rows can be read with --version, but not restored."));
    }
    let known = [now.metadata(), then.metadata()];
    let chosen = Chosen::new(&request.partitions, &request.chosen, request.filter.as_deref(), &known)?;
    let work = Work { table: &table, now: &now, then: &then, chosen, request, progress };
    // Metadata has no partitions: with some of them only rows can go back.
    if work.chosen.is_none() && !request.data_only {
        return work.by_files(true).await;
    }
    match work.hindrance() {
        Some(why) if !work.nothing_comes_back().await? => work.by_rows(&why).await,
        _ => work.by_files(false).await,
    }
}

struct Work<'a> {
    table: &'a OpenTable,
    now: &'a Snapshot,
    then: &'a Snapshot,
    chosen: Option<Chosen>,
    request: &'a RestoreRequest,
    progress: &'a Progress,
}

impl Work<'_> {
    /// Why the old files cannot be named again under today's metadata.
    fn hindrance(&self) -> Option<String> {
        hindrance(self.then.metadata(), self.now.metadata())
    }

    /// Whether files only go, or none does: then today's metadata is no matter.
    async fn nothing_comes_back(&self) -> Result<bool> {
        let both = [self.now.metadata(), self.then.metadata()];
        if self.chosen.as_ref().is_some_and(|c| !both.iter().all(|of| c.chooses_partitions_of(of))) {
            return Ok(false);
        }
        let live = ids(&self.files(self.now).await?);
        Ok(self.files(self.then).await?.iter().all(|file| live.contains(&file.id())))
    }

    async fn files(&self, of: &Snapshot) -> Result<Vec<DataFile>> {
        let files = of.files(true).await?;
        match &self.chosen {
            Some(chosen) => chosen.keep(of.metadata(), files),
            None => Ok(files),
        }
    }

    /// By the log alone. `metadata`: whether the version's comes back too.
    async fn by_files(&self, metadata: bool) -> Result<Prepared> {
        let (now, then) = (self.now, self.then);
        let (live, old) = (self.files(now).await?, self.files(then).await?);
        let (live_ids, old_ids) = (ids(&live), ids(&old));
        let mut removed: Vec<DataFile> = live.iter().filter(|f| !old_ids.contains(&f.id())).cloned().collect();
        let mut restored: Vec<DataFile> = old.iter().filter(|f| !live_ids.contains(&f.id())).cloned().collect();
        exchange::check_protocol(now, then)?;
        if metadata {
            clock::check_metadata(now.metadata(), then.metadata())?;
        }
        let (mut findings, mut files_lost) = (Vec::new(), 0);
        if self.request.partial {
            // Also files that both versions have: what is gone can be read at neither.
            let gone = exchange::gone(then, &old, self.progress).await?;
            if !gone.is_empty() && gone.len() == old.len() {
                return Err(Error::new(
                    ErrorKind::MissingFiles,
                    format!(
                        "nothing of version {} can come back: all of its {} files are gone",
                        then.version(),
                        old.len()
                    ),
                )
                .hint("Nothing was written. `partwise history TABLE --json` says which versions are restorable."));
            }
            if !gone.is_empty() {
                let lost = ids(&gone.iter().map(|g| g.file.clone()).collect::<Vec<_>>());
                restored.retain(|f| !lost.contains(&f.id()));
                removed.extend(live.iter().filter(|f| lost.contains(&f.id())).cloned());
                files_lost = gone.len() as u64;
                findings.push(format!(
                    "{} not restorable: {} of {} files of version {} are gone {}",
                    exchange::rows_lost(&gone),
                    gone.len(),
                    old.len(),
                    then.version(),
                    exchange::lost(then, &gone)
                ));
            }
        } else {
            exchange::check_there(then, &restored, self.progress).await?;
        }
        let mut differences = changes::metadata_changes(now.metadata(), then.metadata());
        if !metadata {
            findings.extend(stay_as_they_are(&differences));
            differences.clear();
        }
        if self.chosen.is_none() {
            findings.extend(changes::stays(now, then).await?);
        }
        let breakers =
            if metadata { breakers_back(self.table, then.metadata(), self.progress).await? } else { Vec::new() };
        let spec = Spec::Restore(Restore {
            to: then.version(),
            files: exchange::exchange(&removed, &restored),
            metadata: !differences.is_empty(),
            partitions: self.chosen.as_ref().map(|chosen| chosen.text().to_owned()),
            data_only: self.request.data_only,
            files_lost,
            switches: metadata && then.metadata().partition_columns != now.metadata().partition_columns,
            breakers,
        });
        // Without its metadata the version's files are only named under the same columns.
        let exchange = Exchange { removed: &removed, restored: &restored, then: then.metadata(), same_rows: false };
        let mut plan = exchange::plan(self.table, spec, &exchange, differences, self.progress).await?;
        plan.findings.extend(findings);
        let asked = self.request.key.as_slice();
        let key = if asked.is_empty() { &self.table.settings.known.key } else { asked };
        let back = Back { table: self.table, then, files: &restored, removed: &removed, key };
        plan.keys.elsewhere = back.rows_with_a_twin(self.progress).await?;
        plan.findings.extend(match plan.keys.elsewhere {
            None => Some(twins::KEYS_UNSEEN.to_owned()),
            Some(0) => None,
            Some(rows) => Some(twice(rows, key)),
        });
        Ok(Prepared { plan, rows: None })
    }

    /// The version's rows, read and written again.
    async fn by_rows(&self, why: &str) -> Result<Prepared> {
        let (now, then) = (self.now, self.then);
        if self.request.partial {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("--partial goes by whole files, which cannot come back as they are: {why}"),
            )
            .hint("Leave --partial out: the rows of the version are then written again."));
        }
        let (view, said) = self.view()?;
        let mut needed = then.files(false).await?;
        if let Some(chosen) = self.chosen.as_ref().filter(|c| c.chooses_partitions_of(then.metadata())) {
            needed = chosen.keep(then.metadata(), needed)?;
        }
        exchange::check_there(then, &needed, self.progress).await?;
        let source = Source::open(&format!("{}@v{}", self.table.location, then.version())).await?;
        let request = SourceRequest {
            source: source.uri.clone(),
            key: self.request.key.clone(),
            view,
            ..SourceRequest::default()
        };
        let strategy = Strategy::RestoreRows {
            to: then.version(),
            predicate: self.chosen.as_ref().map(|chosen| chosen.text().to_owned()),
        };
        let plans = prepare_all(self.table, &source, &request, &[strategy], Judged::Alone, self.progress).await?;
        let first = plans.prepared.into_iter().next();
        let mut prepared = first.ok_or_else(|| Error::new(ErrorKind::Internal, "one strategy gave no plan"))?;
        let findings = &mut prepared.plan.findings;
        findings.insert(0, format!("the rows of version {} are written again: {why}", then.version()));
        findings.extend(said);
        let differences = changes::metadata_changes(now.metadata(), then.metadata());
        findings.extend(stay_as_they_are(&differences));
        if let (Some(chosen), true) = (&self.chosen, prepared.plan.refusals.is_empty()) {
            let key = prepared.plan.key.clone();
            let beyond = match key.is_empty() {
                true => None,
                false => Some(
                    twins::rows_beyond(self.table, &source, &prepared.plan.spec, chosen.text(), self.progress).await?,
                ),
            };
            prepared.plan.keys.elsewhere = beyond;
            prepared.plan.findings.extend(match beyond {
                None => Some(twins::KEYS_UNSEEN.to_owned()),
                Some(0) => None,
                Some(rows) => Some(twice(rows, &key)),
            });
        }
        Ok(prepared)
    }

    /// The old rows under today's names; what was added since is NULL, or
    /// computed where the table can. With what is to be said of it.
    fn view(&self) -> Result<(SourceView, Vec<String>)> {
        let (now, then) = (self.now.metadata(), self.then.metadata());
        let filter = match &self.chosen {
            None => None,
            Some(chosen) => {
                self.check_names(chosen)?;
                Some(chosen.text().to_owned())
            }
        };
        let (mut columns, mut findings) = (Vec::new(), Vec::new());
        for field in &now.schema.fields {
            if let Some(old) = namesake(&then.schema, field) {
                if old.name != field.name {
                    columns.push((field.name.clone(), RowExpr::column(Side::Source, &old.name).text().to_owned()));
                }
            } else if stranger(&then.schema, field).is_some() {
                columns.push((field.name.clone(), self.null_for(field)?));
                findings.push(format!(
                    "column {}: version {} had another column of this name; it is NULL in the rows that come back",
                    field.name,
                    self.then.version()
                ));
            } else if let Some(t) = field.primitive()
                && then.schema.find(&field.name).is_none()
                && field.nullable
                && !is_computed(field)
            {
                if now.is_partition_column(&field.name) {
                    return Err(self.no_partition_for(field));
                }
                columns.push((field.name.clone(), RowExpr::null_of(t).text().to_owned()));
                findings.push(format!(
                    "column {}: version {} does not have it; it is NULL in the rows that come back",
                    field.name,
                    self.then.version()
                ));
            }
        }
        Ok((SourceView { filter, columns, ..SourceView::default() }, findings))
    }

    /// NULL would move every row into one partition, which nobody means.
    fn no_partition_for(&self, field: &Field) -> Error {
        Error::new(
            ErrorKind::Refused,
            format!(
                "the rows of version {} have no value for {}, which partitions the table today",
                self.then.version(),
                field.name
            ),
        )
        .hint("Restore the whole table with its metadata, or take the switch back first with `partwise undo`.")
    }

    /// NULL for a column whose name another one had.
    fn null_for(&self, field: &Field) -> Result<String> {
        match field.primitive().filter(|_| field.nullable && !is_computed(field)) {
            Some(t) => Ok(RowExpr::null_of(t).text().to_owned()),
            None => Err(Error::new(
                ErrorKind::Refused,
                format!(
                    "the rows of version {} have no value for the column {}: the one that they have by this name is another",
                    self.then.version(),
                    field.name
                ),
            )
            .hint("Restore the whole table with its metadata, or read the rows with --version.")),
        }
    }

    /// The same names must choose the same rows on both sides.
    fn check_names(&self, chosen: &Chosen) -> Result<()> {
        let lacks = |of: &Metadata, name: &String| of.schema.find(name).is_none();
        for name in chosen.columns() {
            for (of, snapshot) in [(self.then.metadata(), self.then), (self.now.metadata(), self.now)] {
                if lacks(of, &name) {
                    return Err(Error::new(
                        ErrorKind::Usage,
                        format!("version {} has no column {name} to choose partitions by", snapshot.version()),
                    )
                    .hint("Choose by columns that both versions have, or restore the whole table."));
                }
            }
            let today = self.now.metadata().schema.find(&name);
            if today.is_some_and(|field| stranger(&self.then.metadata().schema, field).is_some()) {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("the column {name} of version {} is not today's column of this name", self.then.version()),
                )
                .hint("Choose by columns that both versions have, or restore the whole table."));
            }
        }
        Ok(())
    }
}

/// Rows of chosen partitions that come back although others have their keys.
fn twice(rows: u64, key: &[String]) -> String {
    let what = match rows {
        1 => "1 row that comes back has a key that is elsewhere in the table today, and will be there twice".to_owned(),
        n => {
            format!("{n} rows that come back have keys that are elsewhere in the table today, and will be there twice")
        }
    };
    format!("{what}; `partwise keys TABLE --key {}` names such keys afterwards", key.join(","))
}

/// Whether the table computes a column by itself.
fn is_computed(field: &Field) -> bool {
    field.text("delta.generationExpression").is_some()
}

fn ids(files: &[DataFile]) -> HashSet<FileId> {
    files.iter().map(DataFile::id).collect()
}

/// Differences that are told, and not undone.
fn stay_as_they_are(differences: &[String]) -> Vec<String> {
    differences.iter().map(|line| format!("stays as it is today, not as it was: {line}")).collect()
}
