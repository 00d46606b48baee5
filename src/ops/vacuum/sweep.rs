//! Carrying a VACUUM out: a commit that says so, the removal, a commit that
//! says how it ended, as Spark does.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use serde_json::{Map, Value as Json, json};
use uuid::Uuid;

use super::keep::Keep;
use super::{retention, survey};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{Entry, Journal, Outcome};
use crate::lake::Snapshot;
use crate::lake::commit::{self, Put};
use crate::lake::folder;
use crate::lake::log::version;
use crate::ops::ApplyReport;
use crate::ops::browse::OpenTable;
use crate::plan::vacuum::{Vacuum, VacuumFile};
use crate::plan::{Plan, Spec};
use crate::progress::{Phase, Progress};

/// Files that are removed at the same time.
const AT_ONCE: usize = 32;
/// Lost races before giving up.
const TRIES: u32 = 100;

/// Removes what the plan lists, as far as nobody needs it now either.
///
/// # Errors
/// `BadPlan`, `Refused` below the table's retention, `Conflict`, `Storage`. A
/// file that could not be removed is no error: it is among the mismatches.
pub async fn sweep(
    plan: &Plan,
    id: Uuid,
    newest: &OpenTable,
    journal: &Journal,
    entry: &mut Entry,
    progress: &Progress,
) -> Result<ApplyReport> {
    let Spec::Vacuum(spec) = &plan.spec else {
        return Err(Error::new(ErrorKind::BadPlan, "the plan is no VACUUM"));
    };
    check_age(spec, newest)?;
    // Announced first: whoever reads the log knows that files are about to go.
    let start = Note { name: "VACUUM START", parameters: start_parameters(spec, newest)?, status: None };
    let metrics =
        json!({"numFilesToDelete": spec.files.len().to_string(), "sizeOfDataToDelete": spec.bytes().to_string()});
    progress.check()?;
    progress.enter(Phase::Committing, 1, 0);
    entry.outcome = Outcome::Committing;
    journal.write(entry)?;
    let announced = commit_note(newest.snapshot(), plan, id, &start, &metrics).await?;
    entry.version_after = Some(announced.version());
    let removed = remove(journal, spec, &announced, progress).await;
    let status = match &removed {
        Ok(removed) if removed.failed.is_empty() => "COMPLETED",
        _ => "FAILED",
    };
    let gone = removed.as_ref().map_or(0, |r| r.gone);
    let end = Note { name: "VACUUM END", parameters: Map::new(), status: Some(status) };
    let metrics = json!({"numDeletedFiles": gone.to_string(), "numVacuumedDirectories": "0"});
    let after = commit_note(&announced, plan, id, &end, &metrics).await;
    let removed = removed?;
    let after = after?;
    entry.version_after = Some(after.version());
    progress.enter(Phase::Verifying, 0, 0);
    let mut mismatches = removed.failed;
    mismatches.extend(missing(&after).await?);
    progress.enter(Phase::Done, 0, 0);
    Ok(ApplyReport {
        plan: plan.id.clone(),
        version_before: plan.version,
        version_after: Some(after.version()),
        rebased_over: (plan.version.saturating_add(1)..announced.version()).collect(),
        rows_written: 0,
        files_added: 0,
        files_removed: removed.gone,
        verified: mismatches.is_empty(),
        mismatches,
        warnings: Vec::new(),
        undo: None,
        undo_until: None,
    })
}

/// A plan file may have been changed by hand: the table's retention holds.
fn check_age(spec: &Vacuum, newest: &OpenTable) -> Result<()> {
    let least = retention(newest.metadata())?;
    let youngest = chrono::Utc::now().timestamp_millis() - least;
    if spec.retain_ms >= least && spec.cutoff_ms <= youngest {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Refused, "the plan would remove files that the table's retention still keeps")
        .hint("Make a new plan: the retention was made longer, or the plan was changed."))
}

fn start_parameters(spec: &Vacuum, newest: &OpenTable) -> Result<Map<String, Json>> {
    use crate::plan::Kind;
    let mut parameters: Map<String, Json> = spec.commit_words(&[]).1.into_iter().map(|(k, v)| (k, json!(v))).collect();
    parameters.insert("defaultRetentionMillis".into(), json!(retention(newest.metadata())?.to_string()));
    Ok(parameters)
}

struct Note {
    name: &'static str,
    parameters: Map<String, Json>,
    status: Option<&'static str>,
}

const IN_COMMIT_TIMES: &str = "delta.enableInCommitTimestamps";

/// Milliseconds since the epoch; after the newest commit where the table keeps
/// such times (protocol, "In-Commit Timestamps").
async fn commit_time(newest: &Snapshot) -> Result<i64> {
    let now = chrono::Utc::now().timestamp_millis();
    match newest.metadata().flag(IN_COMMIT_TIMES) {
        true => Ok(now.max(version::timestamp(newest, newest.version()).await?.saturating_add(1))),
        false => Ok(now),
    }
}

/// A commit without files. It conflicts with nothing, so another writer's
/// commit only moves it to the next version.
async fn commit_note(from: &Snapshot, plan: &Plan, id: Uuid, note: &Note, metrics: &Json) -> Result<Snapshot> {
    let mut newest = from.refresh().await?;
    for _ in 0..TRIES {
        let version = newest.version() + 1;
        let own =
            json!({"id": plan.id, "operation": plan.operation, "plannedVersion": plan.version, "version": version});
        let mut parameters = note.parameters.clone();
        if let Some(status) = note.status {
            parameters.insert("status".into(), json!(status));
        }
        let now = commit_time(&newest).await?;
        let mut info = json!({"commitInfo": {
            "timestamp": now, "operation": note.name,
            "operationParameters": parameters, "operationMetrics": metrics, "readVersion": newest.version(),
            "isolationLevel": "SnapshotIsolation", "isBlindAppend": true,
            "engineInfo": concat!("partwise/", env!("CARGO_PKG_VERSION")), "txnId": Uuid::new_v4().to_string(),
            "userMetadata": json!({"partwise": own}).to_string(), "partwise": own,
        }});
        if newest.metadata().flag(IN_COMMIT_TIMES) {
            info["commitInfo"]["inCommitTimestamp"] = json!(now);
        }
        // Both commits carry the plan's id; the one before this is never taken for it.
        match commit::put(newest.store(), version, &[info], id).await? {
            Put::Landed => return newest.refresh().await,
            Put::Taken => newest = newest.refresh().await?,
        }
    }
    Err(Error::new(ErrorKind::Conflict, format!("other writers were faster {TRIES} times"))
        .hint("Try again when the table is quieter."))
}

#[derive(Default)]
struct Removed {
    gone: u64,
    failed: Vec<String>,
}

async fn remove(journal: &Journal, spec: &Vacuum, now: &Snapshot, progress: &Progress) -> Result<Removed> {
    // What the plan saw may be needed by now: a restore brings files back.
    let found = survey(now, progress).await?;
    let keep = Keep::of(now, &found.ledger, &found.folder, &spec.protect, spec.cutoff_ms, journal).await?;
    let doomed = in_plan(spec, keep.doomed(&found.folder));
    progress.enter(Phase::Removing, doomed.len() as u64, doomed.iter().map(|f| f.size).sum());
    let mut removals = stream::iter(doomed)
        .map(|file| {
            let store = now.store().clone();
            async move { (folder::remove(&store, &file.path).await, file) }
        })
        .buffer_unordered(AT_ONCE);
    let mut removed = Removed::default();
    while let Some((result, file)) = removals.next().await {
        match result {
            Ok(()) => removed.gone += 1,
            Err(error) => removed.failed.push(error.full_message()),
        }
        progress.advance(1, 0, file.size);
        if progress.check().is_err() {
            removed.failed.push("cancelled: what was not removed yet is still there".into());
            break;
        }
    }
    Ok(removed)
}

/// What is not needed now and was listed in the plan.
fn in_plan(spec: &Vacuum, doomed: Vec<VacuumFile>) -> Vec<VacuumFile> {
    let planned: BTreeSet<&str> = spec.files.iter().map(|f| f.path.as_str()).collect();
    doomed.into_iter().filter(|f| planned.contains(f.path.as_str())).collect()
}

/// Files of the newest version that are not there, in words.
async fn missing(snapshot: &Snapshot) -> Result<Vec<String>> {
    let there = super::listing(snapshot.store(), snapshot.metadata()).await?;
    let mut gone = Vec::new();
    for file in snapshot.files(false).await? {
        let raw = [Some(file.path.clone()), crate::lake::log::deletion_vectors::vector_path(&file)?];
        for raw in raw.into_iter().flatten() {
            let listed = snapshot.store().below(&raw)?.is_none_or(|p| there.contains_key(&p));
            // A hidden folder or a link is not listed, but read all the same.
            if !listed && !snapshot.store().exists(&raw).await? {
                gone.push(format!("the live file {raw} is not there"));
            }
        }
    }
    Ok(gone)
}
