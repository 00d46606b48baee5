//! The log entry of an operation: its actions, and `commitInfo` under Spark's names.

use serde_json::{Map, Value as Json, json};

use crate::engine::Staged;
use crate::lake::commit;
use crate::plan::kinds::Io;
use crate::plan::relayout::RaisedProtocol;
use crate::plan::repartition::Repartition;
use crate::plan::{Plan, Spec};
use crate::table::DataFile;

/// What goes into the commit besides `commitInfo`.
pub struct Work {
    pub removed: Vec<DataFile>,
    pub restored: Vec<DataFile>,
    pub staged: Staged,
    /// The `metaData` action that is put back, as the log had it.
    pub metadata: Option<Map<String, Json>>,
}

/// The lines of the log entry, in their order. `last` is the time of the commit
/// before, for tables that keep times in their commits.
pub fn actions(plan: &Plan, work: &Work, read_version: u64, version: u64, last: Option<i64>) -> Vec<Json> {
    let now = chrono::Utc::now().timestamp_millis();
    let now = last.map_or(now, |last| now.max(last.saturating_add(1)));
    let mut info = commit_info(plan, work, read_version, version, now);
    if last.is_some() {
        info["inCommitTimestamp"] = json!(now);
    }
    let mut actions = vec![json!({"commitInfo": info}), transaction(plan, now)];
    if let Spec::Repartition(Repartition { protocol: Some(protocol), .. }) = &plan.spec {
        actions.push(protocol_action(protocol));
    }
    if let Some(metadata) = &work.metadata {
        actions.push(json!({"metaData": metadata}));
    }
    actions.extend(work.removed.iter().map(|f| commit::remove(f, now)));
    actions.extend(work.restored.iter().map(commit::add_again));
    actions.extend(work.staged.files.iter().map(commit::add_staged));
    actions.extend(work.staged.changes.iter().map(commit::change_file));
    if plan.spec.kind().keeps_rows() {
        // The rows are the same: streams and change feeds pass over them.
        for action in actions.iter_mut().filter_map(Json::as_object_mut) {
            for (_, file) in action.iter_mut().filter(|(kind, _)| *kind == "add" || *kind == "remove") {
                file["dataChange"] = json!(false);
            }
        }
    }
    actions
}

fn protocol_action(protocol: &RaisedProtocol) -> Json {
    let mut action = json!({"minReaderVersion": protocol.min_reader, "minWriterVersion": protocol.min_writer});
    for (key, features) in
        [("readerFeatures", &protocol.reader_features), ("writerFeatures", &protocol.writer_features)]
    {
        if let Some(features) = features {
            action[key] = json!(features);
        }
    }
    json!({"protocol": action})
}

/// The application transaction of a plan (protocol, "Transaction Identifiers").
/// Checkpoints keep it when the commit itself is cleaned away, so that a retry
/// of the same plan is known for what it is.
pub fn application(id: &str) -> String {
    format!("{OWN}{id}")
}

/// Whether an application id stands for one of our plans.
pub fn is_own(app_id: &str) -> bool {
    app_id.starts_with(OWN)
}

const OWN: &str = "partwise/";

fn transaction(plan: &Plan, now: i64) -> Json {
    json!({"txn": {"appId": application(&plan.id), "version": 1, "lastUpdated": now}})
}

/// Spark's names for operation, parameters and metrics, so that its history
/// reads right, and our own object with the id by which undo finds it.
fn commit_info(plan: &Plan, work: &Work, read_version: u64, version: u64, now: i64) -> Json {
    let (operation, parameters) = plan.spec.kind().commit_words(&plan.partition_columns);
    let parameters: Map<String, Json> = parameters.into_iter().map(|(k, v)| (k, json!(v))).collect();
    let own = own_info(plan, version);
    json!({
        "timestamp": now,
        "operation": operation,
        "operationParameters": parameters,
        "readVersion": read_version,
        "isolationLevel": "Serializable",
        "isBlindAppend": false,
        "operationMetrics": metrics(plan, work),
        "engineInfo": concat!("partwise/", env!("CARGO_PKG_VERSION")),
        "txnId": plan.id,
        "userMetadata": json!({"partwise": own}).to_string(),
        "partwise": own,
    })
}

fn own_info(plan: &Plan, version: u64) -> Json {
    let overrides: Map<String, Json> =
        plan.gates.iter().filter_map(|g| Some((g.name.clone(), json!(g.overridden.as_ref()?)))).collect();
    let mut own = json!({
        "id": plan.id,
        "operation": plan.operation,
        "plannedVersion": plan.version,
        "version": version,
        "slice": plan.slice,
        "key": plan.key,
        "overrides": overrides,
        "source": plan.source.as_ref().map(|s| s.fingerprint.as_str()),
        "content": plan.source.as_ref().and_then(|s| s.content.as_deref()),
    });
    if let Some(operation) = plan.spec.kind().undoes() {
        own["undoes"] = json!(operation);
    }
    own
}

/// Spark keeps metrics as texts.
fn metrics(plan: &Plan, work: &Work) -> Json {
    let bytes = |files: &[DataFile]| files.iter().map(|f| f.size).sum();
    let files = &work.staged.files;
    let io = Io {
        written_files: files.len() as u64,
        written_rows: files.iter().map(|f| f.rows).sum(),
        written_bytes: files.iter().map(|f| f.size).sum(),
        removed_files: work.removed.len() as u64,
        removed_bytes: bytes(&work.removed),
        restored_files: work.restored.len() as u64,
        restored_bytes: bytes(&work.restored),
        change_files: work.staged.changes.len() as u64,
        copied_rows: plan.files.rows_rewritten_unchanged.saturating_sub(plan.rows.unchanged),
    };
    let metrics = plan.spec.kind().metrics(&plan.rows, &io);
    Json::Object(metrics.into_iter().map(|(name, n)| (name.to_owned(), json!(n.to_string()))).collect())
}
