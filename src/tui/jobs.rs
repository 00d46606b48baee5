//! Background jobs: they run on a runtime of their own, call `ops`, and send
//! answers through a bounded channel.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::msg::{Answer, Failure, JobId, Msg, Request, TableInfo, TableKey, apply_options};
use super::{planning, sources, trials};
use crate::config::Config;
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::ops::prepare::EffectRows;
use crate::ops::{self, At, Context, OpenTable, RestoreRequest};
use crate::plan::Plan;
use crate::predicate::Predicate;
use crate::progress::Progress;

/// How often progress is told at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Open tables that are kept for the next question about them.
const OPEN_TABLES: usize = 8;

/// What jobs share.
struct Shared {
    /// Changes where settings are saved.
    context: Mutex<Context>,
    tables: Mutex<VecDeque<(TableKey, OpenTable)>>,
    /// Handles to the rows of the plans of the last comparison, by plan id.
    rows: Mutex<HashMap<String, EffectRows>>,
}

/// The running jobs.
pub struct Jobs {
    handle: tokio::runtime::Handle,
    shared: Arc<Shared>,
    out: mpsc::Sender<Msg>,
    running: HashMap<JobId, (Progress, JoinHandle<()>, bool)>,
}

impl Jobs {
    pub fn new(handle: tokio::runtime::Handle, context: Context, out: mpsc::Sender<Msg>) -> Self {
        let shared = Shared {
            context: Mutex::new(context),
            tables: Mutex::new(VecDeque::new()),
            rows: Mutex::new(HashMap::new()),
        };
        let shared = Arc::new(shared);
        Self { handle, shared, out, running: HashMap::new() }
    }

    pub fn start(&mut self, id: JobId, request: Request) {
        self.running.retain(|_, (_, handle, _)| !handle.is_finished());
        let progress = Progress::default();
        let writes = matches!(request, Request::Apply { .. });
        let (shared, out) = (Arc::clone(&self.shared), self.out.clone());
        let task = self.handle.spawn(supervise(id, request, shared, progress.clone(), out));
        self.running.insert(id, (progress, task, writes));
    }

    /// Asks a job to stop. A job that only reads is dropped as well, in case it
    /// waits for storage; one that writes ends by itself and cleans up.
    pub fn cancel(&mut self, id: JobId) {
        if let Some((progress, ..)) = self.running.get(&id) {
            progress.cancel();
        }
    }

    /// Cancels everything and waits for jobs that write: they clean up, or
    /// finish the commit that they are in.
    pub async fn finish(mut self) {
        for (progress, ..) in self.running.values() {
            progress.cancel();
        }
        for (_, (_, task, writes)) in self.running.drain() {
            if writes && let Err(error) = task.await {
                tracing::error!("a write ended badly: {error}");
            }
        }
    }
}

/// Runs one job, forwards its progress, and turns a panic into a failure.
async fn supervise(id: JobId, request: Request, shared: Arc<Shared>, progress: Progress, out: mpsc::Sender<Msg>) {
    let token = progress.token().clone();
    let reads_only = !matches!(request, Request::Apply { .. });
    let mut states = progress.subscribe();
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut work = tokio::spawn(perform(id, request, shared, progress, out.clone()));
    let answer = loop {
        tokio::select! {
            done = &mut work => break match done {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => Answer::Failed(error.into()),
                Err(error) if error.is_panic() => Answer::Failed(panicked(error.into_panic())),
                Err(_) => Answer::Failed(cancelled()),
            },
            () = token.cancelled(), if reads_only => {
                work.abort();
                break Answer::Failed(cancelled());
            }
            _ = ticks.tick() => {
                // A job that has ended has dropped its side; its last state was told.
                if states.has_changed().unwrap_or(false) {
                    let state = *states.borrow_and_update();
                    if out.send(Msg::Job(id, Answer::Progress(state))).await.is_err() {
                        return;
                    }
                }
            }
        }
    };
    // Nobody listens any more once the program quits.
    if out.send(Msg::Job(id, answer)).await.is_err() {
        tracing::debug!("job {} ended after the screen", id.0);
    }
}

fn cancelled() -> Failure {
    Failure { kind: ErrorKind::Cancelled, message: "cancelled; nothing was written to the table".into(), hint: None }
}

fn panicked(payload: Box<dyn std::any::Any + Send>) -> Failure {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    Failure {
        kind: ErrorKind::Internal,
        message: format!("the job stopped by a defect of partwise: {text}"),
        hint: Some("The log in the state folder has the details; please report it.".into()),
    }
}

async fn perform(
    id: JobId,
    request: Request,
    shared: Arc<Shared>,
    progress: Progress,
    out: mpsc::Sender<Msg>,
) -> Result<Answer> {
    let context = &shared.context();
    Ok(match request {
        Request::Settle => Answer::Settled(settle(context).await?),
        Request::Target(target) => match OpenTable::open(context, &target, At::Latest).await {
            Ok(table) => Answer::Opened(Box::new(shared.keep(table))),
            Err(error) if error.kind == ErrorKind::NotATable => discover(id, context, &target, &out).await?,
            Err(error) => return Err(error),
        },
        Request::Discover(root) => discover(id, context, &root, &out).await?,
        Request::Open { reference, at } => {
            let table = OpenTable::open(context, &reference, at).await?;
            Answer::Opened(Box::new(shared.keep(table)))
        }
        Request::Partitions(key) => {
            let table = shared.table(&key).await?;
            let mut on_batch = |rows| {
                // A full channel means that the screen has not drawn the last
                // batch yet: this one would only be replaced by the next.
                if let Err(error) = out.try_send(Msg::Job(id, Answer::Partitions { rows, complete: false })) {
                    tracing::trace!("a batch of partitions was left out: {error}");
                }
            };
            let rows = table.partitions(false, &progress, &mut on_batch).await?;
            Answer::Partitions { rows, complete: true }
        }
        Request::Files(key) => Answer::Files(shared.table(&key).await?.files(&progress).await?),
        Request::Rows { table, filter, offset, limit } => {
            let filter = filter.as_deref().map(Predicate::parse).transpose()?;
            let page = shared.table(&table).await?.rows(filter.as_ref(), &[], offset, limit, &progress).await?;
            Answer::Rows { page, offset }
        }
        Request::History { table, filter, check_files } => {
            let filter = filter.as_deref().map(Predicate::parse).transpose()?;
            let commits = shared.table(&table).await?.history(filter.as_ref(), check_files, &progress).await?;
            Answer::History { commits, checked: check_files }
        }
        Request::Candidates { location, typed } => {
            let found = tokio::task::spawn_blocking(move || sources::candidates(&location, &typed)).await;
            Answer::Candidates(found.context(ErrorKind::Internal, || "the search for sources stopped".into())?)
        }
        Request::Compare { location, asked } => {
            let (compared, handles) = planning::compare(context, &location, &asked, &progress).await?;
            *lock(&shared.rows) = handles.into_iter().collect();
            Answer::Compared(Box::new(compared))
        }
        Request::Profile { location, source, key } => {
            Answer::Profiled(Box::new(planning::profile(context, &location, source, key, &progress).await?))
        }
        Request::Keys { location, source, key } => {
            Answer::Keys(Box::new(planning::keys(context, &location, source, key, &progress).await?))
        }
        Request::ConfigChange { table, known } => {
            let table = shared.table(&table).await?;
            let context = context.clone();
            Answer::ConfigChange(Box::new(
                blocking(move || ops::table_config_change(&context, &table, &known), "reading the settings").await?,
            ))
        }
        Request::GatesChange { table, gates } => {
            let table = shared.table(&table).await?;
            let context = context.clone();
            Answer::ConfigChange(Box::new(
                blocking(move || ops::table_gates_change(&context, &table, &gates), "reading the settings").await?,
            ))
        }
        Request::QueriesChange { table, queries } => {
            let table = shared.table(&table).await?;
            let context = context.clone();
            Answer::ConfigChange(Box::new(
                blocking(move || ops::table_queries_change(&context, &table, &queries), "reading the settings").await?,
            ))
        }
        Request::SaveConfig(change) => {
            let saved = blocking(move || ops::save_table_config(&change), "saving the settings").await?;
            shared.settle_on(&saved.config);
            Answer::ConfigSaved(Box::new(saved))
        }
        Request::Forget(plan) => {
            let context = context.clone();
            let forget = move || {
                ops::forget(&context, &plan);
                Ok(())
            };
            blocking(forget, "removing what the plan kept").await?;
            Answer::Settled(Vec::new())
        }
        Request::Export { plan, effect, path } => {
            let rows = rows_of(&shared, &plan)?;
            let exported = ops::export_effect(&rows, effect, Path::new(&path), false, &progress).await?;
            Answer::Exported { path, rows: exported.rows }
        }
        Request::Changes { location, from, to } => {
            let (changes, rows) = planning::changes(context, &location, from, to, &progress).await?;
            *lock(&shared.rows) = HashMap::from([(changes.handle.clone(), rows)]);
            Answer::Changes(Box::new(changes))
        }
        Request::Diff { plan, effect, offset, limit } => {
            let rows = rows_of(&shared, &plan)?;
            Answer::Diff { page: rows.page(effect, offset, limit).await?, offset }
        }
        Request::Health(key) => {
            let table = shared.table(&key).await?;
            Answer::Health(Box::new(ops::health(context, &table, &progress).await?))
        }
        Request::Layouts { table, queries, own } => {
            let table = shared.table(&table).await?;
            let (report, own) = trials::layouts(context, &table, &queries, &own, &progress).await?;
            Answer::Layouts { report: Box::new(report), own }
        }
        Request::TryLayout { table, wish, queries, exact } => {
            let table = shared.table(&table).await?;
            Answer::Layout(Box::new(trials::one(context, &table, &wish, &queries, exact, &progress).await?))
        }
        Request::PlanRepartition { location, wish } => {
            let table = OpenTable::open(context, &location, At::Latest).await?;
            let plan = ops::prepare_repartition(context, &table, &wish.request(), &progress).await?;
            planned(&table, plan).await?
        }
        Request::PlanOptimize { location, filter } => {
            let table = OpenTable::open(context, &location, At::Latest).await?;
            let filter = filter.as_deref().map(Predicate::parse).transpose()?;
            let request = ops::OptimizeRequest { filter, ..ops::OptimizeRequest::default() };
            Answer::Planned(Box::new(ops::prepare_optimize(context, &table, &request, &progress).await?))
        }
        Request::PlanVacuum { location } => {
            let table = OpenTable::open(context, &location, At::Latest).await?;
            let plan = ops::prepare_vacuum(context, &table, &ops::VacuumRequest::default(), &progress).await?;
            Answer::Planned(Box::new(plan))
        }
        Request::PlanRestore { location, to, partitions } => {
            let table = OpenTable::open(context, &location, At::Latest).await?;
            let request = RestoreRequest { chosen: partitions, ..RestoreRequest::whole(At::Version(to)) };
            planned(&table, ops::plan_restore(context, &table, &request, &progress).await?.plan).await?
        }
        Request::PlanRedo { location } => {
            let table = OpenTable::open(context, &location, At::Latest).await?;
            planned(&table, ops::plan_redo(context, &table, &[], &progress).await?.plan).await?
        }
        Request::PlanUndo { location, operation } => {
            let table = OpenTable::open(context, &location, At::Latest).await?;
            planned(&table, ops::prepare_undo(context, &table, operation.as_deref(), &progress).await?).await?
        }
        Request::Apply { plan, overrides } => {
            let report = ops::apply(context, &plan, &apply_options(overrides), &progress).await?;
            Answer::Applied(Box::new(report))
        }
        Request::SavePlan { plan, path } => {
            let text = serde_json::to_string_pretty(&ops::plan_file::to_json(&plan)?)
                .context(ErrorKind::Internal, || "the plan could not be written as JSON".into())?;
            Answer::Saved(save(text + "\n", "the plan", Path::new(&path)).await?)
        }
        Request::SaveScript { plan, engine, path } => {
            let text = ops::script(context, &plan, engine).await?;
            Answer::ScriptSaved(save(text, "the script", Path::new(&path)).await?)
        }
    })
}

/// What was in flight when the program ended last, and what it left.
async fn settle(context: &Context) -> Result<Vec<String>> {
    let settled = ops::recover(context).await?;
    let mut tables: Vec<String> = settled.iter().map(|entry| entry.table.clone()).collect();
    tables.sort();
    tables.dedup();
    let left = ops::left_overs::notice(context, &tables).await;
    Ok(left.into_iter().chain(settled.iter().map(ops::recover::said)).collect())
}

fn rows_of(shared: &Shared, plan: &str) -> Result<EffectRows> {
    lock(&shared.rows).get(plan).cloned().ok_or_else(|| {
        Error::new(ErrorKind::Refused, "the rows of this plan are not at hand")
            .hint("r compares again; a refused plan has no rows.")
    })
}

/// Work on files that nothing else waits for.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
    what: &'static str,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.context(ErrorKind::Internal, || format!("{what} stopped"))?
}

async fn discover(id: JobId, context: &Context, root: &str, out: &mpsc::Sender<Msg>) -> Result<Answer> {
    let (found, mut tables) = mpsc::channel(64);
    let forward = async {
        while let Some(summary) = tables.recv().await {
            if out.send(Msg::Job(id, Answer::Table(Box::new(summary)))).await.is_err() {
                break;
            }
        }
    };
    let (result, ()) = tokio::join!(ops::find_tables(context, root, found), forward);
    result.map(|()| Answer::TablesDone)
}

/// Writes a text to where partwise was started; never over a file.
async fn save(text: String, what: &str, path: &Path) -> Result<String> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let full = here.join(path);
    let file = full.clone();
    let written = tokio::task::spawn_blocking(move || {
        use std::io::Write;
        let mut out = std::fs::File::create_new(&file)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()
    });
    written
        .await
        .context(ErrorKind::Internal, || format!("saving {what} stopped"))?
        .context(ErrorKind::Storage, || format!("{what} could not be saved to {}", full.display()))?;
    Ok(full.display().to_string())
}

impl Shared {
    fn context(&self) -> Context {
        lock(&self.context).clone()
    }

    /// From now on these settings hold; open tables have the old ones.
    fn settle_on(&self, config: &Config) {
        lock(&self.context).config = Arc::new(config.clone());
        lock(&self.tables).clear();
    }

    /// Keeps an open table for later questions and gives back what screens show of it.
    fn keep(&self, table: OpenTable) -> TableInfo {
        let info = TableInfo::from(&table);
        let mut tables = lock(&self.tables);
        tables.retain(|(key, _)| *key != info.key());
        if tables.len() == OPEN_TABLES {
            tables.pop_front();
        }
        tables.push_back((info.key(), table));
        info
    }

    async fn table(&self, key: &TableKey) -> Result<OpenTable> {
        let kept = lock(&self.tables).iter().find(|(k, _)| k == key).map(|(_, table)| table.clone());
        match kept {
            Some(table) => Ok(table),
            None => OpenTable::open(&self.context(), &key.location, At::Version(key.version)).await,
        }
    }
}

/// The data behind a lock stays whole when a job panics: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plan, with the table's description where it changes more than rows.
async fn planned(table: &OpenTable, plan: Plan) -> Result<Answer> {
    if plan.metadata_changes.is_empty() || !plan.refusals.is_empty() {
        return Ok(Answer::Planned(Box::new(plan)));
    }
    let described = ops::describe(table, &plan).await?;
    Ok(Answer::PlannedSwitch { plan: Box::new(plan), described })
}
