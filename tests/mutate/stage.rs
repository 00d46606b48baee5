//! The sound inputs of a kind, and one damaged at a time.

use std::fs;
use std::path::{Path, PathBuf};

use partwise::journal::{Entry, Journal, Outcome};
use partwise::ops::{Strategy, plan_file};
use partwise::plan::Plan;

use super::Damage;
use super::aim::{config_line, parquet_range};
use super::base::{CONFIG, checkpoint, data_files, delivery, in_json, row, shape, stored_vector, table, write_encoded};
use super::dice::{Dice, bytes, json_text};
use crate::support::road::{MERGE, copy_folder};
use crate::support::writer::log_file;
use crate::support::{Bench, Row, rows_of};

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
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) sound: Vec<u8>,
    pub(super) table: PathBuf,
    pub(super) shape: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    Lines,
    Document,
    Parquet,
    Bytes,
}

/// A sound plan, and the rows after it.
pub(super) struct Planned {
    pub(super) text: String,
    pub(super) plan: Plan,
    pub(super) after: Vec<Row>,
}

pub struct Stage {
    pub(super) damage: Damage,
    pub(super) bench: Bench,
    pub(super) source: String,
    pub(super) targets: Vec<Target>,
    pub(super) plans: Vec<Planned>,
    /// A sound copy of the table that plans are applied to.
    pub(super) spare: PathBuf,
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

    pub(super) fn reset(&self, table: &Path) {
        fs::remove_dir_all(table).expect("the table goes");
        copy_folder(&self.spare, table);
    }

    /// One operation that ended, one that a crash left open, one that is damaged already.
    fn journal(&mut self, table: &Path) {
        let journal = Journal::new(&self.bench.context.state_dir);
        let done = journal.entries().expect("the journal").into_iter().next().expect("the overwrite's entry");
        let open = Entry {
            id: "6f2c1a54-0000-4000-8000-000000000001".into(),
            outcome: Outcome::Committing,
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
}
