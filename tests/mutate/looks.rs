//! What is done with a damaged input, and what must hold then.

use std::fs;
use std::path::{Path, PathBuf};

use partwise::cli::{self, Outcome};
use partwise::config::Config;
use partwise::error::{Error, ErrorKind, Result};
use partwise::journal::Outcome as Ended;
use partwise::lake::{self, TableStore, independent};
use partwise::ops::{self, At, Context, Strategy, plan_file, recover};
use partwise::plan::Plan;
use partwise::progress::Progress;

use super::Damage;
use super::dice::Dice;
use super::stage::{Input, Planned, Seen, Stage, Target, Text};
use crate::support::replay::replay;
use crate::support::road::{copy_folder, override_all, request, text};
use crate::support::snapshot::{Snapshot, differences, listing};
use crate::support::{block_on, sorted};

impl Stage {
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

    pub(super) fn sound_table(&self, table: &Path) -> PathBuf {
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
        let request = request(&self.source, &["id"]);
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
                ErrorKind::OutcomeUnknown,
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
            serde_json::from_slice::<Plan>(text).map_err(|e| Error::new(ErrorKind::BadPlan, e.to_string()))
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
        let rows = if committed { replay(&table).map(|state| sorted(state.rows(&table))) } else { Ok(Vec::new()) };
        let other = committed && rows.as_ref().is_ok_and(|rows| *rows != sound.after);
        let wrong = if let Err(broken) = rows {
            Some(broken)
        } else if !outside.is_empty() {
            Some(format!("changed outside the table: {outside:?}"))
        } else if !committed && !inside.is_empty() {
            Some(format!("refused, but changed: {inside:?}"))
        } else if checked && other {
            Some("other rows than the plan's are in the table".into())
        } else {
            None
        };
        if !inside.is_empty() {
            self.reset(&table);
        }
        match wrong {
            Some(said) => Seen::Wrong(said),
            None if other => Seen::Refused("OtherRows".into(), "committed".into()),
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
            independent::Opinion::Read(differences) => Err(Error::new(ErrorKind::VerifyFailed, differences.join("; "))),
            independent::Opinion::Unable(why) => Err(Error::new(ErrorKind::UnsupportedReader, why)),
        }
    })
}

fn seen(result: Result<()>) -> Seen {
    match result {
        Ok(()) => Seen::Fine,
        Err(error) => Seen::Refused(error.kind.to_string(), error.full_message()),
    }
}
