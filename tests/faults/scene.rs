//! One operation on a small table, set up so that any number of runs can start
//! from the same state; and what must be true after a run, however it ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use partwise::calls::{Calls, Watcher};
use partwise::config::Config;
use partwise::error::{Error, ErrorKind};
use partwise::ops::left_overs::left_overs;
use partwise::ops::{self, ApplyReport, At, Context, JournalEntry, JournalOutcome, OpenTable, Strategy};
use partwise::plan::Plan;
use partwise::progress::Progress;
use tempfile::TempDir;

use super::fast_folder;
use crate::support::replay::{newest, replay};
use crate::support::road::{Bench, MERGE, MERGE_DELETE, copy_folder, override_all, request, text};
use crate::support::{Kind, Row, Shape, block_on, exact, i, rows_of, s};

/// The kinds of operation that are tried.
pub const ALL: [&str; 8] =
    ["overwrite", "overwrite-all", "append", "merge", "merge-delete", "replace-where", "undo", "restore"];

/// A table, the plan of one operation on it, and its rows before and after.
pub struct Scene {
    pub name: String,
    bench: Bench,
    way: Option<Way>,
    pub plan: Plan,
    /// Every cell as text, sorted.
    pub old: Vec<String>,
    pub new: Vec<String>,
    pub old_version: u64,
}

/// A copy of a scene in a folder of its own.
pub struct Run {
    pub dir: TempDir,
    pub context: Context,
    pub table: PathBuf,
    pub plan: Plan,
}

pub fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("k", Kind::Long), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, k: i64, v: i64) -> Row {
    vec![s(d), i(k), i(v)]
}

/// How a scene's operation is planned.
#[derive(Debug, Clone)]
enum Way {
    Write { source: String, key: Vec<&'static str>, strategy: Strategy },
    Undo,
    Restore(u64),
}

impl Way {
    fn plan(&self, context: &Context, table: &Path) -> Result<Plan, Error> {
        let progress = Progress::default();
        block_on(async {
            let table = OpenTable::open(context, &text(table), At::Latest).await?;
            match self {
                Way::Write { source, key, strategy } => {
                    let request = request(source, key);
                    let prepared = ops::prepare(context, &table, &request, strategy.clone(), &progress).await?;
                    Ok(prepared.plan)
                }
                Way::Undo => ops::prepare_undo(context, &table, None, &progress).await,
                Way::Restore(to) => ops::prepare_restore(context, &table, At::Version(*to), &progress).await,
            }
        })
    }
}

impl Scene {
    pub fn new(name: &str) -> Self {
        let bench = Bench::default();
        let first = [row("a", 1, 10), row("a", 2, 20), row("b", 3, 30)];
        let table = bench.table(shape(), &first);
        let both = [row("a", 1, 11), row("c", 4, 40)];
        let delivered = bench.source("s", &shape().columns, &both);
        let only_a = bench.source("a", &shape().columns, &[row("a", 1, 11)]);
        let key = ["d", "k"];
        let path = table.path.as_path();
        let overwritten = [row("a", 1, 11), row("b", 3, 30), row("c", 4, 40)].to_vec();
        let by_key = |strategy| Way::Write { source: delivered.clone(), key: key.to_vec(), strategy };
        let (way, new): (Way, Vec<Row>) = match name {
            "overwrite" => (by_key(Strategy::Overwrite), overwritten),
            "overwrite-all" => (by_key(Strategy::OverwriteAll), both.to_vec()),
            "append" => (
                Way::Write { source: delivered, key: Vec::new(), strategy: Strategy::Append },
                [&first[..], &both].concat(),
            ),
            "merge" => (by_key(MERGE), vec![row("a", 1, 11), row("a", 2, 20), row("b", 3, 30), row("c", 4, 40)]),
            // Rows are missing only where the source delivers: `b` stays.
            "merge-delete" => (by_key(MERGE_DELETE), overwritten),
            "replace-where" => {
                let strategy = Strategy::ReplaceWhere { predicate: "d = 'a'".to_owned() };
                (Way::Write { source: only_a, key: key.to_vec(), strategy }, vec![row("a", 1, 11), row("b", 3, 30)])
            }
            "undo" => {
                bench.run(path, &delivered, &key, Strategy::Overwrite);
                (Way::Undo, first.to_vec())
            }
            "restore" => {
                bench.run(path, &delivered, &key, Strategy::Overwrite);
                bench.run(path, &only_a, &[], Strategy::Append);
                (Way::Restore(0), first.to_vec())
            }
            other => panic!("no scene is called {other}"),
        };
        let plan = way.plan(&bench.context, path).unwrap_or_else(|e| panic!("{name}: {}", e.full_message()));
        Self { way: Some(way), ..Self::of(name, bench, plan, new) }
    }

    /// Plans the operation anew on the copy of a run.
    pub fn plan_in(&self, run: &Run) -> Result<Plan, Error> {
        self.way.as_ref().expect("a scene that can be planned anew").plan(&run.context, &run.table)
    }

    /// `new`: the rows that the plan must lead to, in any order.
    pub fn of(name: &str, bench: Bench, plan: Plan, new: Vec<Row>) -> Self {
        let table = PathBuf::from(&plan.table);
        let (old, old_version) = (exact(&rows_of(&table)), newest(&table));
        Self { name: name.to_owned(), bench, way: None, plan, old, new: exact(&new), old_version }
    }

    /// A fresh copy, with an operation of its own.
    pub fn run(&self, watcher: Option<Arc<dyn Watcher>>) -> Run {
        let dir = fast_folder();
        self.run_in(dir, watcher)
    }

    pub fn run_in(&self, dir: TempDir, watcher: Option<Arc<dyn Watcher>>) -> Run {
        let table = fs::canonicalize(dir.path()).expect("the folder's real path").join("t");
        copy_folder(&self.bench.path("t"), &table);
        let mut plan = self.plan.clone();
        plan.table = text(&table);
        plan.id = uuid::Uuid::new_v4().to_string();
        let context = context(dir.path(), watcher);
        Run { dir, context, table, plan }
    }
}

/// A context with its state in the folder.
pub fn context(dir: &Path, watcher: Option<Arc<dyn Watcher>>) -> Context {
    Context {
        config_file: None,
        state_dir: dir.join("state"),
        user: "tester".into(),
        calls: watcher.map(Calls::watched_by).unwrap_or_default(),
        ..Context::new(Config::default(), false)
    }
}

/// How a run is seen to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    Old,
    New,
}

impl Run {
    pub fn apply(&self) -> Result<ApplyReport, Error> {
        block_on(ops::apply(&self.context, &self.plan, &override_all(&self.plan), &Progress::default()))
    }

    /// A context that nobody watches.
    fn unwatched(&self) -> Context {
        Context { calls: Calls::default(), ..self.context.clone() }
    }

    /// What must be true after any run, once the next start has settled what
    /// was open. `said`: what the run itself said, where it lived to say it.
    pub fn check(&self, scene: &Scene, said: Option<&Result<ApplyReport, Error>>) -> Result<Ending, String> {
        let context = self.unwatched();
        let settled = block_on(ops::recover(&context)).map_err(|e| format!("recover: {}", e.full_message()))?;
        let ending = self.ending(scene)?;
        self.check_said(scene, ending, said)?;
        self.check_journal(scene, ending, &settled)?;
        self.check_left_overs(&context)?;
        if self.ending(scene)? != ending {
            return Err("cleaning changed the table".into());
        }
        self.check_retry(scene, &context, ending)?;
        Ok(ending)
    }

    /// The old version or the new one, rows exact, by readers of the tests' own.
    pub fn ending(&self, scene: &Scene) -> Result<Ending, String> {
        replay(&self.table)?;
        let (version, rows) = (newest(&self.table), exact(&rows_of(&self.table)));
        if version == scene.old_version && rows == scene.old {
            Ok(Ending::Old)
        } else if version == scene.old_version + 1 && rows == scene.new {
            Ok(Ending::New)
        } else {
            Err(format!("version {version} has the rows {:?}", rows.iter().take(20).collect::<Vec<_>>()))
        }
    }

    fn check_said(
        &self,
        scene: &Scene,
        ending: Ending,
        said: Option<&Result<ApplyReport, Error>>,
    ) -> Result<(), String> {
        match said {
            None => Ok(()),
            Some(Ok(report)) if ending == Ending::New && report.version_after == Some(scene.old_version + 1) => Ok(()),
            Some(Err(error)) if error.kind == ErrorKind::OutcomeUnknown => Ok(()),
            Some(Err(_)) if ending == Ending::Old => Ok(()),
            Some(Ok(report)) => Err(format!("it reported {report:?}, but the table is {ending:?}")),
            Some(Err(error)) => Err(format!("it said '{}', but the table is {ending:?}", error.full_message())),
        }
    }

    fn check_journal(&self, scene: &Scene, ending: Ending, settled: &[JournalEntry]) -> Result<(), String> {
        let entries = ops::journal(&self.unwatched()).map_err(|e| e.full_message())?;
        let ours: Vec<&JournalEntry> = entries.iter().filter(|e| e.id == self.plan.id).collect();
        let wrong = |why: &str| Err(format!("{why}: {ours:#?}; settled: {settled:#?}"));
        if ours.len() != entries.len() || ours.len() > 1 {
            return wrong("the journal has other entries");
        }
        let Some(entry) = ours.first() else {
            return if ending == Ending::Old { Ok(()) } else { wrong("a commit without a journal") };
        };
        let sound = match ending {
            Ending::Old => entry.outcome == JournalOutcome::Failed && entry.version_after.is_none(),
            // Where reading back failed, the commit stands and is not verified.
            Ending::New => {
                matches!(entry.outcome, JournalOutcome::Committed | JournalOutcome::Mismatch)
                    && entry.version_after == Some(scene.old_version + 1)
                    && entry.undo.as_ref().is_some_and(|undo| undo.contains(&self.plan.id))
            }
        };
        if !sound || entry.finished_at.is_none() {
            return wrong(&format!("the journal is wrong about {ending:?}"));
        }
        let folder = self.context.state_dir.join("journal");
        let locks = fs::read_dir(folder).into_iter().flatten().flatten();
        let locks: Vec<_> = locks.filter(|f| f.path().extension().is_some_and(|e| e == "lock")).collect();
        if block_on(async { ops::recover(&self.unwatched()).await.map(|again| again.len()) }).ok() != Some(0) {
            return wrong("it is settled again and again");
        }
        if locks.is_empty() { Ok(()) } else { wrong("locks are left") }
    }

    /// Every file of the folder is in the log or is listed as a left-over that
    /// can be removed, and nothing else is.
    fn check_left_overs(&self, context: &Context) -> Result<(), String> {
        let listed = |remove| {
            block_on(left_overs(context, &self.plan.table, None, remove)).map_err(|e| format!("left-overs: {e}"))
        };
        let found = listed(false)?;
        if let Some(kept) = found.operations.iter().find(|o| !o.removable || o.id != self.plan.id) {
            return Err(format!("not removable: {kept:?}"));
        }
        let strange = self.strange_files()?;
        let named: BTreeSet<PathBuf> =
            found.operations.iter().flat_map(|o| &o.files).map(|f| PathBuf::from(&f.path)).collect();
        if named != strange {
            return Err(format!("listed as left over: {named:?}; not in the log: {strange:?}"));
        }
        let cleaned = listed(true)?;
        if cleaned.removed.len() != named.len() || !cleaned.failed.is_empty() || !self.strange_files()?.is_empty() {
            return Err(format!("not all was removed: {cleaned:?}"));
        }
        Ok(())
    }

    /// Files that are neither log entries nor named by one.
    fn strange_files(&self) -> Result<BTreeSet<PathBuf>, String> {
        let mut known = BTreeSet::new();
        for version in 0..=newest(&self.table) {
            for action in crate::support::replay::actions(&self.table, version) {
                for kind in ["add", "remove", "cdc"] {
                    if let Some(path) = action[kind]["path"].as_str() {
                        let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
                        known.insert(PathBuf::from(path));
                    }
                }
            }
            known.insert(PathBuf::from(format!("_delta_log/{version:020}.json")));
        }
        let mut found = BTreeSet::new();
        let mut folders = vec![self.table.clone()];
        while let Some(folder) = folders.pop() {
            for item in fs::read_dir(&folder).map_err(|e| e.to_string())? {
                let path = item.map_err(|e| e.to_string())?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(&self.table).expect("a file below the table").to_owned());
                }
            }
        }
        Ok(found.difference(&known).cloned().collect())
    }

    /// The same plan again is carried out once, or says that it was already.
    fn check_retry(&self, scene: &Scene, context: &Context, ending: Ending) -> Result<(), String> {
        let again = block_on(ops::apply(context, &self.plan, &override_all(&self.plan), &Progress::default()));
        match (ending, again) {
            (Ending::Old, Ok(report)) if report.verified && report.warnings.is_empty() => {}
            (Ending::New, Err(error))
                if error.kind == ErrorKind::StalePlan && error.message.contains("already carried out") => {}
            (_, again) => return Err(format!("the retry after {ending:?} gave {again:?}")),
        }
        match self.ending(scene)? {
            Ending::New => Ok(()),
            Ending::Old => Err("the retry changed nothing".into()),
        }
    }
}
