//! Carrying a plan out: stage, one commit, verify, journal.

use std::collections::{BTreeMap, HashSet};

use uuid::Uuid;

use super::apply_report::{ApplyReport, undo_of};
use super::between::{Between, not_strict};
use super::browse::{At, OpenTable};
use super::context::Context;
use super::entry::{Work, actions};
use super::once::check_not_committed;
use super::overrides::overridden;
use super::prepare::{classify, matching};
use super::rebase::Footprint;
use super::refusals::table_refusals;
use super::{changes, clock, exchange, plan_file, recover, relayout, spool, vacuum, verify};
use crate::engine::Staged;
use crate::engine::local::{discard_staged, left_behind};
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::journal::{Entry, Journal, Outcome};
use crate::lake::commit::{self, Put};
use crate::lake::log::restorable::kept_until;
use crate::lake::log::segment::commit_path;
use crate::lake::{Snapshot, inside};
use crate::plan::{Change, Plan, Verdict};
use crate::progress::{Phase, Progress};
use crate::source::Source;
use crate::table::DataFile;
use crate::table::value::millis_text;

#[derive(Debug, Clone, Default)]
pub struct ApplyOptions {
    /// gate name → reason
    pub overrides: BTreeMap<String, String>,
    /// Fail instead of rebasing over commits elsewhere.
    pub strict: bool,
}

/// # Errors
/// `GateFailed`, `StalePlan`, `Conflict`, `SourceChanged`, `Refused`,
/// `StagedDiffers`, `OutcomeUnknown`, `Storage`. A difference found by
/// verification is no error here: `verified` is false and `mismatches` says what.
pub async fn apply(context: &Context, plan: &Plan, options: &ApplyOptions, progress: &Progress) -> Result<ApplyReport> {
    context.check_may_write()?;
    plan_file::check_numbers(plan)?;
    let plan = overridden(plan, &options.overrides)?;
    progress.enter(Phase::Opening, 0, 0);
    let newest = OpenTable::open(context, &plan.table, At::Latest).await?;
    check_same_table(&plan, &newest)?;
    let id =
        Uuid::parse_str(&plan.id).context(ErrorKind::BadPlan, || format!("the plan's id {} is no UUID", plan.id))?;
    check_not_committed(newest.snapshot(), id, &plan).await?;
    inside::check(newest.snapshot().store(), &commit_path(plan.version))?;
    let pinned = newest.at_snapshot(pinned_version(&newest, &plan).await?);
    if let Some(refusal) = table_refusals(&pinned, &plan.spec).into_iter().next() {
        return Err(Error::new(refusal.kind, refusal.message).hint(refusal.hint.unwrap_or_default()));
    }
    if plan.verdict == Verdict::NoOp {
        still_no_op(&plan, &newest, &pinned).await?;
        spool::remove(context, &plan);
        return Ok(ApplyReport::no_op(&plan));
    }
    // Nothing starts where it cannot be written down.
    let journal = context.journal();
    let _held = journal.hold(&plan.id).map_err(Error::explained)?;
    // Another attempt may have had the lock until now.
    check_not_committed(&newest.snapshot().refresh().await?, id, &plan).await?;
    recover::settle_attempts(context, &journal, &plan.id).await.map_err(Error::explained)?;
    let mut entry = begin(context, &plan, options);
    journal.write(&entry).map_err(Error::explained)?;
    let run =
        Run { plan: &plan, strict: options.strict, id, newest: &newest, pinned: &pinned, journal: &journal, progress };
    let outcome = carry_out(&run, &mut entry).await.map_err(Error::explained);
    entry.finished_at = Some(now());
    match &outcome {
        Ok(report) => {
            spool::remove(context, &plan);
            entry.version_after = report.version_after;
            entry.rows_written = Some(report.rows_written);
            entry.undo = report.undo.clone();
            entry.outcome = if report.verified { Outcome::Committed } else { Outcome::Mismatch };
            let said = [report.mismatches.as_slice(), &report.warnings].concat();
            entry.message = (!said.is_empty()).then(|| said.join("; "));
        }
        Err(error) => {
            entry.outcome = if error.kind == ErrorKind::OutcomeUnknown { Outcome::Unknown } else { Outcome::Failed };
            entry.message = Some(error.full_message());
        }
    }
    match (journal.write(&entry), outcome) {
        (Err(error), Ok(mut report)) => {
            // The commit stands. The next start finds it in the table's history.
            report.warnings.push(format!("the journal does not say yet how it ended: {}", error.full_message()));
            Ok(report)
        }
        (Err(error), Err(first)) => {
            tracing::error!(%error, "the journal could not be written");
            Err(first)
        }
        (Ok(()), outcome) => outcome,
    }
}

async fn pinned_version(newest: &OpenTable, plan: &Plan) -> Result<Snapshot> {
    newest.snapshot().at(plan.version).await.map_err(|error| match error.kind {
        ErrorKind::VersionGone => {
            let message = format!("the plan was made at version {}, which the log no longer has", plan.version);
            Error::new(ErrorKind::StalePlan, message).hint("Nothing was written. Make a new plan.").because(error)
        }
        _ => error,
    })
}

/// That nothing was to be done must still be true.
async fn still_no_op(plan: &Plan, newest: &OpenTable, pinned: &OpenTable) -> Result<()> {
    if let (Some(rows), Some(source)) = (plan.spec.rows(), &plan.source) {
        Source::open(&rows.source).await?.expect_fingerprint(&source.fingerprint)?;
    }
    Footprint::of(plan, pinned.metadata(), HashSet::new())?.check(plan, newest.snapshot()).await.map(drop)
}

/// What one apply goes by.
struct Run<'a> {
    plan: &'a Plan,
    strict: bool,
    id: Uuid,
    /// The table as it was when the run began, and at the plan's version.
    newest: &'a OpenTable,
    pinned: &'a OpenTable,
    journal: &'a Journal,
    progress: &'a Progress,
}

async fn carry_out(run: &Run<'_>, entry: &mut Entry) -> Result<ApplyReport> {
    let Run { plan, newest, pinned, progress, .. } = *run;
    let mut work = match plan.spec.lower() {
        Change::Rows(_) => stage_rows(run).await?,
        Change::Layout(_) => relayout::stage(plan, pinned, newest.snapshot(), run.id, progress).await?,
        Change::Files(_) => exchange_files(plan, pinned).await?,
        Change::Vacuum(_) => {
            return vacuum::sweep(plan, run.id, newest, run.journal, entry, progress).await;
        }
    };
    // Before the removals get their times, so that nothing is promised for longer.
    let removed_at = chrono::Utc::now().timestamp_millis();
    let (version, rebased_over) = match commit_work(run, &mut work, entry).await {
        Ok(done) => done,
        // Files of a commit whose outcome is unknown may be live.
        Err(error) if error.kind == ErrorKind::OutcomeUnknown => return Err(error),
        Err(error) => return Err(discard(newest.snapshot(), &work.staged, error).await),
    };
    // Whatever fails from here on, the commit stands.
    progress.enter(Phase::Verifying, work.staged.files.len() as u64, 0);
    let mut undo_until = None;
    let verified = async {
        let after = Snapshot::open(newest.snapshot().store(), Some(version)).await?;
        undo_until = kept_until(&after, removed_at, !work.removed.is_empty()).map(millis_text);
        verify::verify(plan, &after, &work.removed, &work.restored, &work.staged, progress).await
    };
    let mismatches = match verified.await {
        Ok(found) => found,
        Err(error) => vec![format!("the new version could not be read back: {}", error.full_message())],
    };
    progress.enter(Phase::Done, 0, 0);
    Ok(ApplyReport {
        plan: plan.id.clone(),
        version_before: plan.version,
        version_after: Some(version),
        rebased_over,
        rows_written: work.staged.files.iter().map(|f| f.rows).sum(),
        files_added: (work.staged.files.len() + work.restored.len()) as u64,
        files_removed: work.removed.len() as u64,
        verified: mismatches.is_empty(),
        mismatches,
        warnings: Vec::new(),
        undo: undo_of(plan, newest),
        undo_until,
    })
}

/// Repeats the classification at the pinned version, stages, and holds both to
/// the plan's numbers.
async fn stage_rows(run: &Run<'_>) -> Result<Work> {
    let Run { plan, strict, id, newest, pinned, progress, .. } = *run;
    let rows = plan.spec.rows().ok_or_else(|| Error::new(ErrorKind::BadPlan, "the plan has no source"))?;
    spool::check(plan)?;
    let source = Source::open(&rows.source).await?;
    source.expect_fingerprint(plan.source.as_ref().map_or("", |s| s.fingerprint.as_str()))?;
    let matching = matching(pinned, &source, std::slice::from_ref(&plan.spec))?;
    if let Some(refusal) = matching.refusals.first() {
        return Err(Error::new(refusal.kind, refusal.message.clone()));
    }
    let classified = classify(pinned, &source, &[&plan.spec], matching, progress).await?;
    let classified = classified.first().ok_or_else(|| Error::new(ErrorKind::Internal, "comparing gave no result"))?;
    let summary = classified.summary();
    // What came in between is checked before the work of staging, and again
    // before the commit.
    let footprint = Footprint::of(plan, pinned.metadata(), summary.removed.iter().map(DataFile::id).collect())?;
    let passed = footprint.check(plan, newest.snapshot()).await?;
    check_strict(plan, &footprint, strict, &passed)?;
    let differs = |what: String| {
        Error::new(ErrorKind::StagedDiffers, format!("{what}; nothing was committed"))
            .hint("Make a new plan. If it happens again, please report it.")
    };
    // Partitions that stay as they are stand in a plan for other reasons.
    let touched = plan.partitions.iter().filter(|p| p.written.rows > 0 || p.deleted > 0 || p.moved_out > 0);
    let planned: Vec<(u64, &str)> = touched.map(|p| (p.written.rows, p.written.checksum.as_str())).collect();
    let again = summary.partitions.iter().filter(|p| p.written.rows + p.effects.deleted + p.effects.moved_out > 0);
    let found: Vec<(u64, String)> = again.map(|p| (p.written.rows, format!("{:032x}", p.written.checksum))).collect();
    if planned.len() != found.len() || planned.iter().zip(&found).any(|(a, b)| a.0 != b.0 || a.1 != b.1) {
        return Err(differs("comparing again gave other rows than the plan".into()));
    }
    let removed = summary.removed.clone();
    let staged = classified.stage(id, progress.clone()).await?;
    let checked = async {
        source.check_unchanged().await?;
        for p in &summary.partitions {
            let have = staged.partitions.get(&p.values).copied().unwrap_or_default();
            if have != p.written {
                return Err(differs(format!(
                    "{}: {} rows were staged, {} were planned{}",
                    p.values.label(&plan.partition_columns),
                    have.rows,
                    p.written.rows,
                    if have.rows == p.written.rows { ", with other values" } else { "" }
                )));
            }
        }
        Ok(())
    };
    if let Err(error) = checked.await {
        return Err(discard(pinned.snapshot(), &staged, error).await);
    }
    Ok(Work { removed, restored: Vec::new(), staged, metadata: None })
}

/// Finds the files of an undo or restore again, by identity.
async fn exchange_files(plan: &Plan, pinned: &OpenTable) -> Result<Work> {
    let (Change::Files(files), Some((old_version, metadata))) = (plan.spec.lower(), plan.spec.kind().brings_back())
    else {
        return Err(Error::new(ErrorKind::BadPlan, "the plan exchanges no files"));
    };
    let old = pinned.snapshot().at(old_version).await?;
    let (live, before) = (exchange::by_id(pinned.snapshot()).await?, exchange::by_id(&old).await?);
    let gone = |path: &str| {
        Error::new(ErrorKind::BadPlan, format!("the plan names the file {path}, which the log does not have"))
            .hint("Make a new plan.")
    };
    let removed: Vec<DataFile> =
        files.remove.iter().map(|id| live.get(id).cloned().ok_or_else(|| gone(&id.path))).collect::<Result<_>>()?;
    let restored: Vec<DataFile> =
        files.add.iter().map(|id| before.get(id).cloned().ok_or_else(|| gone(&id.path))).collect::<Result<_>>()?;
    plan_file::check_exchange(plan, &removed, &restored)?;
    exchange::check_there(&old, &restored, &Progress::default()).await?;
    Ok(Work {
        removed,
        restored,
        staged: Staged::default(),
        metadata: metadata.then(|| changes::metadata_back(pinned.metadata(), old.metadata())),
    })
}

/// One commit, compare-and-swap. Where another writer was faster, what it did
/// is read before the next version is tried. Gives the version and those that
/// it was put on top of.
async fn commit_work(run: &Run<'_>, work: &mut Work, entry: &mut Entry) -> Result<(u64, Vec<u64>)> {
    /// Lost races before giving up: far more than a table sees in a minute.
    const TRIES: u32 = 100;
    let Run { plan, strict, id, pinned, journal, progress, .. } = *run;
    let removes: HashSet<_> = work.removed.iter().map(DataFile::id).collect();
    let footprint = Footprint::of(plan, pinned.metadata(), removes)?;
    let mut newest = run.newest.snapshot().refresh().await?;
    for _ in 0..TRIES {
        check_not_committed(&newest, id, plan).await?;
        let passed = footprint.check(plan, &newest).await?;
        check_strict(plan, &footprint, strict, &passed)?;
        relayout::carry_over(plan, pinned, &newest, work, id, progress).await?;
        // The last moment at which a cancel is a cancel.
        progress.check()?;
        progress.enter(Phase::Committing, 1, 0);
        entry.outcome = Outcome::Committing;
        journal.write(entry)?;
        let version = newest.version() + 1;
        let last = clock::last_commit(&newest, work).await?;
        let actions = actions(plan, work, newest.version(), version, last);
        match commit::put(newest.store(), version, &actions, id).await? {
            Put::Landed => {
                entry.version_after = Some(version);
                entry.undo = undo_of(plan, run.newest);
                return Ok((version, passed.iter().map(|b| b.version).collect()));
            }
            Put::Taken => newest = newest.refresh().await?,
        }
    }
    Err(Error::new(ErrorKind::Conflict, format!("other writers were faster {TRIES} times"))
        .hint("Try again when the table is quieter."))
}

fn check_strict(plan: &Plan, footprint: &Footprint, strict: bool, passed: &[Between]) -> Result<()> {
    match strict && !passed.is_empty() {
        true => Err(not_strict(plan, &footprint.partition_columns, passed)),
        false => Ok(()),
    }
}

fn check_same_table(plan: &Plan, table: &OpenTable) -> Result<()> {
    if plan.table_id == table.metadata().id {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::StalePlan,
        format!(
            "the plan was made for the table {}, but {} now holds {}",
            plan.table_id,
            plan.table,
            table.metadata().id
        ),
    )
    .hint("Make a new plan."))
}

fn begin(context: &Context, plan: &Plan, options: &ApplyOptions) -> Entry {
    Entry {
        id: plan.id.clone(),
        operation: plan.operation.clone(),
        table: plan.table.clone(),
        table_id: plan.table_id.clone(),
        user: context.user.clone(),
        started_at: now(),
        finished_at: None,
        version_before: plan.version,
        version_after: None,
        slice: plan.slice.clone(),
        rows_written: None,
        overrides: options.overrides.clone(),
        outcome: Outcome::Intent,
        message: None,
        undo: None,
        process: Some(std::process::id()),
        interrupted: false,
    }
}

/// Removes what was staged, and gives back the error with what stays.
async fn discard(snapshot: &Snapshot, staged: &Staged, error: Error) -> Error {
    left_behind(error, discard_staged(snapshot.store(), staged).await)
}

fn now() -> String {
    millis_text(chrono::Utc::now().timestamp_millis())
}
