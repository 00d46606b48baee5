//! Walking the road of a write as the faces do: open, prepare, apply, undo.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use partwise::config::Config;
use partwise::error::{Error, Result};
use partwise::ops::{
    self, ApplyOptions, ApplyReport, At, Context, OpenTable, Prepared, RestoreRequest, SourceRequest, Strategy,
    UndoRequest, plan_redo, plan_restore, plan_undo, prepare_restore, prepare_undo,
};
use partwise::plan::{Plan, PlanPartition};
use partwise::progress::Progress;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::kinds::Row;
use super::writer::{Column, Fixture, Shape, write_source};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

pub fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

pub const MERGE: Strategy = Strategy::Merge { null_safe_keys: false, delete_missing: false };
pub const MERGE_DELETE: Strategy = Strategy::Merge { null_safe_keys: false, delete_missing: true };
pub const MERGE_NULL_SAFE: Strategy = Strategy::Merge { null_safe_keys: true, delete_missing: false };

/// A temporary folder with tables and sources, and a context with its own state.
pub struct Bench {
    pub dir: TempDir,
    pub context: Context,
}

impl Default for Bench {
    fn default() -> Self {
        Self::with_config(Config::default())
    }
}

impl Bench {
    pub fn with_config(config: Config) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let state_dir = dir.path().join("state");
        let config_file = Some(dir.path().join("config.toml"));
        let context = Context { config_file, state_dir, user: "tester".into(), ..Context::new(config, false) };
        Self { dir, context }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A table `t` whose first commit has these rows.
    pub fn table(&self, shape: Shape, rows: &[Row]) -> Fixture {
        Fixture::with_rows(self.path("t"), shape, rows)
    }

    /// A Parquet file with these rows.
    pub fn source(&self, name: &str, columns: &[Column], rows: &[Row]) -> String {
        let path = self.path(name).with_extension("parquet");
        write_source(&path, columns, rows);
        text(&path)
    }

    pub fn open(&self, table: &Path) -> Result<OpenTable> {
        self.open_at(table, At::Latest)
    }

    pub fn open_at(&self, table: &Path, at: At) -> Result<OpenTable> {
        block_on(OpenTable::open(&self.context, &text(table), at))
    }

    pub fn prepare(&self, table: &Path, source: &str, key: &[&str], strategy: Strategy) -> Result<Prepared> {
        let request = request(source, key);
        let table = self.open(table)?;
        block_on(ops::prepare(&self.context, &table, &request, strategy, &Progress::default()))
    }

    /// The plan, which must be made without an error.
    pub fn plan(&self, table: &Path, source: &str, key: &[&str], strategy: Strategy) -> Plan {
        self.prepare(table, source, key, strategy).unwrap_or_else(|e| panic!("prepare: {}", e.full_message())).plan
    }

    pub fn apply_with(&self, plan: &Plan, options: &ApplyOptions) -> Result<ApplyReport> {
        block_on(ops::apply(&self.context, plan, options, &Progress::default()))
    }

    /// Applies with every failing gate overridden; a commit must be verified.
    pub fn apply(&self, plan: &Plan) -> Result<ApplyReport> {
        let report = self.apply_with(plan, &override_all(plan))?;
        let sound = report.version_after.is_none() || report.verified;
        assert!(sound && report.mismatches.is_empty(), "not verified: {:?}", report.mismatches);
        Ok(report)
    }

    /// Plans and applies; both must go well.
    pub fn run(&self, table: &Path, source: &str, key: &[&str], strategy: Strategy) -> (Plan, ApplyReport) {
        let plan = self.plan(table, source, key, strategy);
        let report = self.apply(&plan).unwrap_or_else(|e| panic!("apply: {}\n{:?}", e.full_message(), plan.refusals));
        (plan, report)
    }

    pub fn plan_undo(&self, table: &Path, operation: Option<&str>) -> Result<Plan> {
        let table = self.open(table)?;
        block_on(prepare_undo(&self.context, &table, operation, &Progress::default()))
    }

    pub fn undo_with(&self, table: &Path, request: &UndoRequest) -> Result<Prepared> {
        let table = self.open(table)?;
        block_on(plan_undo(&self.context, &table, request, &Progress::default()))
    }

    pub fn plan_redo(&self, table: &Path) -> Result<Plan> {
        let table = self.open(table)?;
        Ok(block_on(plan_redo(&self.context, &table, &[], &Progress::default()))?.plan)
    }

    /// Carries out again what was taken back last; that must go well.
    pub fn redo(&self, table: &Path) -> ApplyReport {
        let plan = self.plan_redo(table).unwrap_or_else(|e| panic!("redo's plan: {}", e.full_message()));
        self.apply(&plan).unwrap_or_else(|e| panic!("redo: {}", e.full_message()))
    }

    /// The files that plans keep in the state folder.
    pub fn spools(&self) -> Vec<PathBuf> {
        let folder = std::fs::read_dir(self.context.state_dir.join("spool"));
        folder.map_or_else(|_| Vec::new(), |folder| folder.map(|entry| entry.expect("an entry").path()).collect())
    }

    /// Takes back the last operation; that must go well.
    pub fn undo(&self, table: &Path) -> ApplyReport {
        let plan = self.plan_undo(table, None).unwrap_or_else(|e| panic!("undo's plan: {}", e.full_message()));
        self.apply(&plan).unwrap_or_else(|e| panic!("undo: {}", e.full_message()))
    }

    pub fn plan_restore(&self, table: &Path, to: u64) -> Result<Plan> {
        let table = self.open(table)?;
        block_on(prepare_restore(&self.context, &table, At::Version(to), &Progress::default()))
    }

    pub fn restore_with(&self, table: &Path, request: &RestoreRequest) -> Result<Prepared> {
        let table = self.open(table)?;
        block_on(plan_restore(&self.context, &table, request, &Progress::default()))
    }

    /// Plans going back with some partitions, as `a=1/b=∅`.
    pub fn rollback(&self, table: &Path, to: u64, partitions: &[&str]) -> Result<Prepared> {
        let partitions = partitions.iter().map(|&p| p.to_owned()).collect();
        self.restore_with(table, &RestoreRequest { partitions, ..RestoreRequest::whole(At::Version(to)) })
    }
}

pub fn request(source: &str, key: &[&str]) -> SourceRequest {
    SourceRequest {
        source: source.to_owned(),
        key: key.iter().map(|&k| k.to_owned()).collect(),
        ..SourceRequest::default()
    }
}

pub fn override_all(plan: &Plan) -> ApplyOptions {
    let reasons = plan.blocking().into_iter().map(|gate| (gate.name.clone(), "a test".to_owned()));
    ApplyOptions { overrides: reasons.collect::<BTreeMap<_, _>>(), strict: false }
}

/// (inserted, updated, unchanged, deleted, zombies) of a whole plan.
pub fn effects(plan: &Plan) -> (u64, Option<u64>, u64, u64, u64) {
    let r = &plan.rows;
    (r.inserted, r.updated, r.unchanged, r.deleted, r.zombies)
}

/// The plan's entry for one partition, by its `values`.
pub fn partition<'a>(plan: &'a Plan, values: &Json) -> &'a PlanPartition {
    let found = plan.partitions.iter().find(|p| json!(p.values) == *values);
    found.unwrap_or_else(|| panic!("the plan has no partition {values}"))
}

pub fn gate<'a>(plan: &'a Plan, name: &str) -> &'a partwise::plan::GateResult {
    let found = plan.gates.iter().find(|g| g.name == name);
    found.unwrap_or_else(|| panic!("the plan has no gate {name}"))
}

/// The error that must have come, for `Ok` types without `Debug`.
pub fn refused<T>(result: Result<T>) -> Error {
    match result {
        Ok(_) => panic!("it went through where an error is right"),
        Err(error) => error,
    }
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Copies a folder with everything in it.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the copy's folder");
    for entry in std::fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("the entry's type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}

/// The optional folder of tables and cases that lies beside the checkout.
pub fn shared(part: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(part);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}
