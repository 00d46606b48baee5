//! The sound inputs, what is done with the damaged ones, and what must hold.

use std::fs;
use std::path::{Path, PathBuf};

use partwise::cli::{self, Outcome};
use partwise::config::Config;
use partwise::error::{Error, Result};
use partwise::journal::{Entry, Journal, Outcome as Ended};
use partwise::lake::{self, TableStore, independent};
use partwise::ops::{self, At, Context, Strategy, plan_file, recover};
use partwise::plan::Plan;
use partwise::progress::Progress;

use super::Damage;
use super::aim::{config_line, parquet_range};
use super::base::{CONFIG, checkpoint, data_files, delivery, in_json, row, shape, stored_vector, table, write_encoded};
use super::dice::{Dice, bytes, json_text};
use crate::support::road::{MERGE, copy_folder, override_all, text};
use crate::support::snapshot::{Snapshot, differences, listing};
use crate::support::writer::log_file;
use crate::support::{Bench, Row, block_on, rows_of};

/// How one input ended.
#[derive(Debug)]
pub enum Seen {
    Fine,
    /// An error's kind and its words.
    Refused(String, String),
    Wrong(String),
}

/// A file that is damaged, and how.
#[derive(Clone)]
struct Target {
    file: PathBuf,
    sound: Vec<u8>,
    table: PathBuf,
    shape: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Lines,
    Document,
    Parquet,
    Bytes,
}

/// A sound plan, and the rows after it.
struct Planned {
    text: String,
    plan: Plan,
    after: Vec<Row>,
}

pub struct Stage {
    damage: Damage,
    bench: Bench,
    source: String,
    targets: Vec<Target>,
    plans: Vec<Planned>,
    /// A sound copy of the table that plans are applied to.
    spare: PathBuf,
}

/// What is given to [`Stage::look`].
pub enum Input {
    /// The file of a target was replaced.
    File(usize),
    /// A plan file's text, and the sound plan that it came from.
    Plan(Vec<u8>, usize),
}

impl Stage {
    pub fn new(damage: Damage) -> Stage {
        let bench = Bench::default();
        let source = bench.source("s", &shape().columns, &delivery());
        let table_path = table(&bench, "t", &source);
        let spare = bench.path("spare");
        let mut stage = Stage { damage, bench, source, targets: Vec::new(), plans: Vec::new(), spare };
        match damage {
            Damage::Commits => (0..5).for_each(|v| stage.target(log_file(&table_path, v), &table_path, Text::Lines)),
            Damage::Checkpoints => stage.checkpoints(&table_path),
            Damage::LastCheckpoint => {
                checkpoint(&table_path, 3);
                stage.target(table_path.join("_delta_log/_last_checkpoint"), &table_path, Text::Document);
            }
            Damage::Footers => {
                for file in data_files(&table_path) {
                    stage.target(file, &table_path, Text::Parquet);
                }
                stage.target(PathBuf::from(&stage.source), &table_path, Text::Parquet);
                let encoded = stage.bench.path("encoded.parquet");
                write_encoded(&encoded, &delivery());
                stage.target(encoded, &table_path, Text::Parquet);
            }
            Damage::Vectors => {
                let stored = stage.bench.path("v");
                copy_folder(&table_path, &stored);
                let file = stored_vector(&stored, 2);
                // The copy has another place, and partwise's commit before it is the same.
                stage.target(file, &stored, Text::Bytes);
                stage.target(log_file(&stored, 2), &stored, Text::Lines);
                stage.target(log_file(&table_path, 2), &table_path, Text::Lines);
            }
            Damage::Plans => stage.plan_all(&table_path),
            Damage::Configs => {
                let file = stage.bench.path("config.toml");
                fs::write(&file, CONFIG).expect("the config");
                stage.target(file, &table_path, Text::Bytes);
            }
            Damage::Journal => stage.journal(&table_path),
        }
        for target in &stage.targets {
            let copy = stage.sound_table(&target.table);
            if !copy.exists() {
                copy_folder(&target.table, &copy);
            }
        }
        stage
    }

    fn target(&mut self, file: PathBuf, table: &Path, shape: Text) {
        let sound = fs::read(&file).expect("a sound file");
        self.targets.push(Target { file, sound, table: table.to_owned(), shape });
    }

    /// A classic one that is needed, one that could be done without, and one in JSON.
    fn checkpoints(&mut self, table: &Path) {
        let classic = checkpoint(table, 3);
        let (needed, json) = (self.bench.path("needed"), self.bench.path("json"));
        copy_folder(table, &needed);
        copy_folder(table, &json);
        self.target(classic, table, Text::Parquet);
        let name = format!("_delta_log/{:020}.checkpoint.parquet", 3);
        self.target(needed.join(&name), &needed, Text::Parquet);
        let [head, sidecar] = in_json(&json, &json.join(&name), 3);
        for folder in [&needed, &json] {
            (0..3).for_each(|v| fs::remove_file(log_file(folder, v)).expect("an old commit"));
        }
        self.target(head, &json, Text::Lines);
        self.target(sidecar, &json, Text::Parquet);
    }

    fn plan_all(&mut self, table: &Path) {
        let append = self.bench.source("more", &shape().columns, &[row(90, "q", 19_010, "n")]);
        let replace = Strategy::ReplaceWhere { predicate: "p = 'a'".into() };
        let made = [
            self.bench.plan(table, &self.source, &["id"], Strategy::Overwrite),
            self.bench.plan(table, &self.source, &["id"], replace),
            self.bench.plan(table, &self.source, &["id"], MERGE),
            self.bench.plan(table, &append, &["id"], Strategy::Append),
            self.bench.plan_restore(table, 1).expect("a restore's plan"),
            self.bench.plan_undo(table, None).expect("an undo's plan"),
        ];
        copy_folder(table, &self.spare);
        for plan in made {
            self.bench.apply(&plan).unwrap_or_else(|e| panic!("{}: {}", plan.operation, e.full_message()));
            let after = rows_of(table);
            let text = serde_json::to_string_pretty(&plan_file::to_json(&plan).expect("a plan's text"));
            self.plans.push(Planned { text: text.expect("a plan's text"), plan, after });
            self.reset(table);
        }
    }

    fn reset(&self, table: &Path) {
        fs::remove_dir_all(table).expect("the table goes");
        copy_folder(&self.spare, table);
    }

    /// One operation that ended, one that a crash left open, one that is damaged already.
    fn journal(&mut self, table: &Path) {
        let journal = Journal::new(&self.bench.context.state_dir);
        let done = journal.entries().expect("the journal").into_iter().next().expect("the overwrite's entry");
        let open = Entry {
            id: "6f2c1a54-0000-4000-8000-000000000001".into(),
            outcome: Ended::Committing,
            finished_at: None,
            version_after: None,
            process: Some(2_000_000_000),
            ..done
        };
        journal.write(&open).expect("an open entry");
        copy_folder(&self.bench.context.state_dir, &self.spare);
        let folder = self.bench.context.state_dir.join("journal");
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder).expect("the journal").map(|e| e.expect("an entry").path()).collect();
        files.sort();
        for file in files {
            self.target(file, table, Text::Document);
        }
    }

    /// Damages one input and puts it where it is read.
    pub fn damage(&self, dice: &mut Dice) -> (Input, String) {
        if self.damage == Damage::Plans {
            let at = dice.below(self.plans.len());
            let text = &self.plans[at].text;
            let mut said = Vec::new();
            let mut damaged = text.clone().into_bytes();
            if dice.one_in(4) {
                let all = 0..damaged.len();
                said.push(bytes(dice, &mut damaged, all));
            } else {
                let (text, what) = json_text(dice, text, false);
                damaged = text.into_bytes();
                said.push(what);
            }
            return (Input::Plan(damaged, at), format!("{}: {}", self.plans[at].plan.operation, said.join(", ")));
        }
        let at = dice.below(self.targets.len());
        let target = &self.targets[at];
        let mut damaged = target.sound.clone();
        let mut said = Vec::new();
        for _ in 0..=dice.below(2) {
            let as_json = matches!(target.shape, Text::Lines | Text::Document) && !dice.one_in(4);
            let whole = std::str::from_utf8(&damaged).ok().filter(|_| as_json).map(str::to_owned);
            let what = match (whole, target.shape) {
                (Some(text), shape) => {
                    let (text, what) = json_text(dice, &text, shape == Text::Lines);
                    damaged = text.into_bytes();
                    what
                }
                (None, Text::Parquet) => {
                    let range = parquet_range(dice, &damaged);
                    bytes(dice, &mut damaged, range)
                }
                (None, _) if self.damage == Damage::Configs && !dice.one_in(3) => config_line(dice, &mut damaged),
                (None, _) => {
                    let all = 0..damaged.len();
                    bytes(dice, &mut damaged, all)
                }
            };
            said.push(what);
        }
        fs::write(&target.file, damaged).expect("the damaged file");
        let name = target.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (Input::File(at), format!("{name}: {}", said.join(", ")))
    }

    pub fn look_clean(&mut self) -> std::result::Result<(), String> {
        let clean = |seen: Seen| match seen {
            Seen::Fine => Ok(()),
            other => Err(format!("{other:?}")),
        };
        for at in 0..self.targets.len() {
            // As many as there are ways to look.
            (0..12).try_for_each(|n| clean(self.look(&Input::File(at), &mut Dice::new(n))))?;
        }
        for at in 0..self.plans.len() {
            (0..4).try_for_each(|n| {
                let text = self.plans[at].text.clone().into_bytes();
                clean(self.look(&Input::Plan(text, at), &mut Dice::new(n)))
            })?;
        }
        Ok(())
    }

    /// Looks at the input in some ways, and then that nothing was written.
    pub fn look(&self, input: &Input, dice: &mut Dice) -> Seen {
        match input {
            Input::Plan(text, at) => self.look_at_plan(text, &self.plans[*at], dice),
            Input::File(at) => {
                let target = &self.targets[*at];
                let before = listing(self.bench.dir.path());
                let result = match self.damage {
                    Damage::Configs => self.look_at_config(&target.file, &target.table),
                    Damage::Journal => self.look_at_journal(),
                    Damage::LastCheckpoint => look_as_another(&target.table),
                    _ if dice.one_in(10) => return self.write_to(target, &before),
                    _ => self.look_at_table(target, dice),
                };
                let mut changed = differences(&before, &listing(self.bench.dir.path()));
                if self.damage == Damage::Journal {
                    // Settling an open operation is what the journal is read for.
                    let journal = self.bench.context.state_dir.join("journal");
                    changed.retain(|path| path.parent() != Some(&journal));
                    fs::remove_dir_all(&self.bench.context.state_dir).expect("the state goes");
                    copy_folder(&self.spare, &self.bench.context.state_dir);
                }
                fs::write(&target.file, &target.sound).expect("the sound file again");
                if !changed.is_empty() {
                    return Seen::Wrong(format!("these changed: {changed:?}"));
                }
                seen(result)
            }
        }
    }

    /// Overwrites from or into what is damaged: a refusal changes nothing, and
    /// what is written is written below the table.
    fn write_to(&self, target: &Target, before: &Snapshot) -> Seen {
        let source = self.source_of(target);
        let prepared = self.bench.prepare(&target.table, &source, &["id"], Strategy::Overwrite);
        let result = prepared.and_then(|p| self.bench.apply_with(&p.plan, &override_all(&p.plan)));
        let mut changed = differences(before, &listing(self.bench.dir.path()));
        changed.retain(|path| !path.starts_with(&self.bench.context.state_dir));
        let committed = matches!(&result, Ok(report) if report.version_after.is_some());
        let strange: Vec<&PathBuf> =
            changed.iter().filter(|path| !committed || !path.starts_with(&target.table)).collect();
        let wrong = (!strange.is_empty()).then(|| format!("these changed: {strange:?}"));
        if !changed.is_empty() {
            fs::remove_dir_all(&target.table).expect("the table goes");
            copy_folder(&self.sound_table(&target.table), &target.table);
        }
        fs::write(&target.file, &target.sound).expect("the sound file again");
        wrong.map_or_else(|| seen(result.map(drop)), Seen::Wrong)
    }

    fn sound_table(&self, table: &Path) -> PathBuf {
        self.bench.path("sound").join(table.file_name().unwrap_or_default())
    }

    /// What is delivered: the damaged file, where it is no part of the table.
    fn source_of(&self, target: &Target) -> String {
        let own = target.shape == Text::Parquet && !target.file.starts_with(&target.table);
        if own { text(&target.file) } else { self.source.clone() }
    }

    fn look_at_table(&self, target: &Target, dice: &mut Dice) -> Result<()> {
        let table = &target.table;
        let source = self.source_of(target);
        if source == text(&target.file) {
            return self.bench.prepare(table, &source, &["id"], Strategy::Overwrite).map(drop);
        }
        let place = text(table);
        let opened = self.bench.open(table)?;
        let progress = Progress::default();
        let mut first = None;
        let mut note = |result: Result<()>| {
            if let Err(error) = result {
                first.get_or_insert(error);
            }
        };
        note(block_on(opened.partitions(dice.one_in(2), &progress, &mut |_| {})).map(drop));
        for _ in 0..3 {
            let json = dice.one_in(2);
            note(match dice.below(9) {
                0 => self.command(&["show", &place], json),
                1 => self.command(&["partitions", &place, "--count"], json),
                2 => self.command(&["files", &place], json),
                3 => self.command(&["history", &place], json),
                4 => self.command(&["rows", &place, "--limit", "100"], json),
                5 => self.command(&["diff", &place, "--from", "3", "--to", "4", "--key", "id"], json),
                6 => self.bench.prepare(table, &source, &["id"], Strategy::Overwrite).map(drop),
                // Of these tables the version before partwise's is gone.
                7 if self.damage != Damage::Checkpoints => self.bench.plan_undo(table, None).map(drop),
                _ => self.bench.plan_restore(table, 3).map(drop),
            });
        }
        first.map_or(Ok(()), Err)
    }

    /// A command as it is typed, without the process around it.
    fn command(&self, words: &[&str], json: bool) -> Result<()> {
        let words = ["partwise"].iter().chain(words).chain(json.then_some(&"--json"));
        let typed = cli::parse(words.map(Into::into)).unwrap_or_else(|answer| panic!("{}", answer.narration));
        let command = typed.command.expect("a command");
        match block_on(cli::run(command, self.bench.context.clone(), &typed.global))? {
            Outcome::Done(answer) if answer.text.is_empty() => panic!("an empty answer"),
            _ => Ok(()),
        }
    }

    fn look_at_config(&self, file: &Path, table: &Path) -> Result<()> {
        let mut config = Config::load(Some(file))?;
        // Where temporary files go is for the person to say.
        config.engine.spill_dir = None;
        let mut context = Context::new(config, true);
        context.state_dir.clone_from(&self.bench.context.state_dir);
        context.config_file = Some(file.to_owned());
        let opened = block_on(ops::OpenTable::open(&context, &text(table), At::Latest))?;
        let request = crate::support::road::request(&self.source, &["id"]);
        block_on(ops::prepare(&context, &opened, &request, Strategy::Overwrite, &Progress::default()))?;
        let wanted = partwise::config::TableConfig { key: vec!["id".into()], ..Default::default() };
        ops::table_config_change(&context, &opened, &wanted).map(drop)
    }

    fn look_at_journal(&self) -> Result<()> {
        ops::journal(&self.bench.context)?;
        self.command(&["journal"], true)?;
        self.command(&["journal"], false)?;
        block_on(recover(&self.bench.context))?;
        // A damaged entry is listed as of unknown outcome, with a message.
        let all = ops::journal(&self.bench.context)?;
        match all.into_iter().find(|e| e.outcome == Ended::Unknown) {
            Some(entry) => Err(Error::new(
                partwise::error::ErrorKind::OutcomeUnknown,
                entry.message.unwrap_or_else(|| "an entry without a message".into()),
            )),
            None => Ok(()),
        }
    }

    /// A damaged plan is refused, or it is the same plan. Where its checksum is
    /// passed over, whatever is refused changes nothing.
    fn look_at_plan(&self, text: &[u8], sound: &Planned, dice: &mut Dice) -> Seen {
        let table = self.bench.path("t");
        let checked = dice.one_in(2);
        let read = if checked {
            plan_file::parse("p.json", text)
        } else {
            serde_json::from_slice::<Plan>(text)
                .map_err(|e| Error::new(partwise::error::ErrorKind::BadPlan, e.to_string()))
        };
        let plan = match read {
            Ok(plan) => plan,
            Err(error) => return seen(Err(error)),
        };
        if checked && plan != sound.plan {
            return Seen::Wrong("a plan that is not as it was written was taken".into());
        }
        let before = listing(self.bench.dir.path());
        let result = self.bench.apply_with(&plan, &override_all(&plan));
        let changed = differences(&before, &listing(self.bench.dir.path()));
        let state = &self.bench.context.state_dir;
        let (inside, outside): (Vec<PathBuf>, Vec<PathBuf>) =
            changed.into_iter().filter(|p| !p.starts_with(state)).partition(|p| p.starts_with(&table));
        let committed = matches!(&result, Ok(report) if report.version_after.is_some());
        let wrong = if !outside.is_empty() {
            Some(format!("changed outside the table: {outside:?}"))
        } else if !committed && !inside.is_empty() {
            Some(format!("refused, but changed: {inside:?}"))
        } else if committed && (checked || sound.plan.operation != plan.operation) && rows_of(&table) != sound.after {
            Some("other rows than the plan's are in the table".into())
        } else {
            None
        };
        if !inside.is_empty() {
            self.reset(&table);
        }
        match wrong {
            Some(said) => Seen::Wrong(said),
            None => seen(result.map(drop)),
        }
    }
}

/// partwise does not read `_last_checkpoint`; the second opinion may.
fn look_as_another(table: &Path) -> Result<()> {
    block_on(async {
        let store = TableStore::open(&text(table))?;
        let snapshot = lake::Snapshot::open(&store, None).await?;
        let files = snapshot.files(false).await?;
        let some: Vec<_> = files.iter().take(2).collect();
        match independent::check(&store, snapshot.version(), &files, &some).await? {
            independent::Opinion::Read(differences) if differences.is_empty() => Ok(()),
            independent::Opinion::Read(differences) => {
                Err(Error::new(partwise::error::ErrorKind::VerifyFailed, differences.join("; ")))
            }
            independent::Opinion::Unable(why) => Err(Error::new(partwise::error::ErrorKind::UnsupportedReader, why)),
        }
    })
}

fn seen(result: Result<()>) -> Seen {
    match result {
        Ok(()) => Seen::Fine,
        Err(error) => Seen::Refused(error.kind.to_string(), error.full_message()),
    }
}
