//! Taking back what an operation did to rows, where later commits rewrote its
//! files.
//!
//! The rows of the files that it removed against the rows of those that it
//! added say what it did. A row is taken back where the table's row is still
//! what the operation wrote; a row that was changed again keeps its later
//! value, and a gate says how many there are. Rows that come back and go are
//! spooled, and merged by their key like any change feed.

use std::collections::HashSet;
use std::hash::Hash;

use uuid::Uuid;
use xxhash_rust::xxh3::Xxh3;

use super::browse::OpenTable;
use super::context::Context;
use super::effect_rows::{CHUNK, DiffRow, EffectRows};
use super::operations::Operation;
use super::prepare::{Judged, classify, matching, names, prepare_all, seed, spilling};
use super::spool::{Spool, Spooled};
use super::strategy::key_pairs;
use super::{Prepared, SourceRequest, Strategy, exchange};
use crate::engine::local::LocalEngine;
use crate::engine::{Classified, Engine, RowJob, Summary};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::evidence::LaterChanges;
use crate::lake::Snapshot;
use crate::plan::kinds::RowSpec;
use crate::plan::undo;
use crate::plan::view::{OperationColumn, RowMeaning, SourceView};
use crate::plan::{Effect, Reach, RowRule, Spec};
use crate::progress::Progress;
use crate::source::{Matching, Source, delta};
use crate::table::file::FileId;
use crate::table::{DataFile, Field, Metadata, Schema, Value};

/// Rows that are named in a message.
const EXAMPLES: usize = 3;
/// The two meanings of a spooled row.
const BACK: &str = "upsert";
const GONE: &str = "delete";

pub struct UndoRows<'a> {
    pub context: &'a Context,
    pub table: &'a OpenTable,
    pub before: &'a Snapshot,
    pub operation: &'a Operation,
    /// Files that the operation removed.
    pub taken: &'a [DataFile],
    pub added: &'a [FileId],
    pub progress: &'a Progress,
}

/// How rows are told apart.
struct Identity {
    names: Vec<String>,
    /// Their places in the schema.
    places: Vec<usize>,
    /// By all of their cells: then a row that was changed cannot be known again.
    whole: bool,
}

impl Identity {
    fn of(&self, row: &[Value]) -> Vec<Value> {
        self.places.iter().map(|at| row[*at].clone()).collect()
    }

    fn label(&self, key: &[Value]) -> String {
        let parts = self.names.iter().zip(key).map(|(name, value)| format!("{name}={value}"));
        parts.collect::<Vec<_>>().join("/")
    }
}

/// Keys of the operation's rows by what the table has of them today. They are
/// hashes, 16 bytes a key however wide it is.
#[derive(Default)]
struct Today {
    /// There, with other values.
    differ: HashSet<u128>,
    missing: HashSet<u128>,
    /// There, with these values.
    same: HashSet<u128>,
    /// One of `same`.
    example: Option<Vec<Value>>,
}

/// Even among a billion keys, two share one by chance once in 10^20 operations.
fn hash_of(key: &[Value]) -> u128 {
    let mut hasher = Xxh3::new();
    key.hash(&mut hasher);
    hasher.digest128()
}

impl UndoRows<'_> {
    /// # Errors
    /// `Conflict` where columns were changed since, `DuplicateSourceKeys` where
    /// rows cannot be told apart, `UnsupportedType` for nested columns,
    /// `MissingFiles`.
    pub async fn plan(&self, key: &[String], why: &str) -> Result<Prepared> {
        let after = self.before.at(self.operation.version).await?;
        self.check_columns(after.metadata())?;
        let identity = self.identity(key)?;
        let added: HashSet<&FileId> = self.added.iter().collect();
        let written: Vec<DataFile> =
            after.files(false).await?.into_iter().filter(|f| added.contains(&f.id())).collect();
        exchange::check_there(&after, &written, self.progress).await?;
        let changes = self.changes(&after, written, &identity).await?;

        let id = Uuid::new_v4().to_string();
        let (came, went) =
            (self.image(&id, "came", &changes, true).await?, self.image(&id, "went", &changes, false).await?);
        let came = self.today(&came, &identity, &[Effect::Updated, Effect::Inserted]).await?;
        let went = self.today(&went, &identity, &[Effect::Updated, Effect::Unchanged]).await?;
        if identity.whole
            && let Some(twin) = &went.example
        {
            return Err(
                self.ambiguous(format!("the row {} that it removed is in the table again", identity.label(twin)))
            );
        }
        let mut out = self.spool(&id)?;
        let later = self.take_back(&changes, &identity, &came, &went, &mut out).await?;
        self.prepared(id, identity, out.finish().await?, later, why).await
    }

    /// The same columns in both versions and today: else a row of then is none
    /// of today.
    fn check_columns(&self, after: &Metadata) -> Result<()> {
        let columns = |schema: &Schema| -> Vec<String> {
            let one = |f: &Field| format!("{} {} {}", f.name, f.physical_name(), f.data_type);
            let mut all: Vec<String> = schema.fields.iter().map(one).collect();
            all.sort();
            all
        };
        let now = columns(&self.table.metadata().schema);
        if columns(&self.before.metadata().schema) == now && columns(&after.schema) == now {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "the operation of version {} cannot be taken back: the table's columns were changed since",
                self.operation.version
            ),
        )
        .hint(format!("`partwise plan restore` to version {} takes everything since back.", self.before.version())))
    }

    fn identity(&self, key: &[String]) -> Result<Identity> {
        let schema = &self.table.metadata().schema;
        let known = [key, &self.operation.key, &self.table.settings.known.key];
        let chosen = known.into_iter().find(|names| !names.is_empty());
        let names = match chosen {
            Some(chosen) => names(self.table, chosen)?,
            None => schema.names().map(str::to_owned).collect(),
        };
        let places = names.iter().filter_map(|name| schema.index_of(name)).collect();
        Ok(Identity { names, places, whole: chosen.is_none() })
    }

    /// What the operation did: its removed rows against its added ones.
    async fn changes(&self, after: &Snapshot, written: Vec<DataFile>, identity: &Identity) -> Result<EffectRows> {
        let rules = vec![RowRule::replace(Reach::Table)];
        let schema = self.before.metadata().schema.clone();
        let places = schema.names().map(|name| after.metadata().schema.index_of(name)).collect();
        let sides = (self.before.clone(), delta::of_files(after, written).await?);
        let matching = Matching { columns: places, ..Matching::default() };
        let key = key_pairs(&rules, &identity.names);
        let job = RowJob {
            files: Some(self.taken.to_vec()),
            ..RowJob::of(sides, matching, key, rules, spilling(self.table)?, seed())
        };
        let classified = LocalEngine.classify(job, self.progress.clone()).await?.pop();
        let classified = classified.ok_or_else(|| Error::new(ErrorKind::Internal, "one rule gave no result"))?;
        let keys = &classified.summary().keys;
        let twice = keys.duplicates.source + keys.duplicates.target;
        if twice > 0 {
            let such = keys.examples.first().map_or(String::new(), |key| format!(", such as {key}"));
            let rows = if twice == 1 { "1 row".to_owned() } else { format!("{twice} rows") };
            return Err(self.ambiguous(format!("{rows} of its files have a key that another row has{such}")));
        }
        Ok(EffectRows::new(classified, schema))
    }

    fn ambiguous(&self, what: String) -> Error {
        let message =
            format!("the operation of version {} cannot be taken back by rows: {what}", self.operation.version);
        Error::new(ErrorKind::DuplicateSourceKeys, message)
            .hint("Name columns that identify a row with --key A,B, or go back with `partwise plan restore`.")
    }

    fn spool(&self, name: &str) -> Result<Spool> {
        let schema = &self.before.metadata().schema;
        Spool::create(self.context, name, schema, &meaning_column(schema))
    }

    /// The rows that the operation wrote (`came`), or those that it took away
    /// without another in their place.
    async fn image(&self, id: &str, part: &str, changes: &EffectRows, came: bool) -> Result<Spooled> {
        let mut out = self.spool(&format!("{id}-{part}"))?;
        let effects: &[Effect] = if came { &[Effect::Updated, Effect::Inserted] } else { &[Effect::Deleted] };
        for effect in effects {
            let mut pages = Pages::new(changes, *effect, self.progress);
            while let Some(row) = pages.next().await? {
                if let Some(image) = if came { row.new } else { row.old } {
                    out.push(image, BACK).await?;
                }
            }
        }
        out.finish().await
    }

    /// Looks today's rows up by key, and keeps the keys of some effects.
    async fn today(&self, image: &Spooled, identity: &Identity, keep: &[Effect]) -> Result<Today> {
        let mut today = Today::default();
        if image.rows == 0 {
            return Ok(today);
        }
        let source = Source::open(&image.path()).await?;
        let spec = self.spec(&image.path(), identity, SourceView::default());
        let matched = matching(self.table, &source, std::slice::from_ref(&spec))?;
        if let Some(refusal) = matched.refusals.first() {
            return Err(
                Error::new(refusal.kind, refusal.message.clone()).hint(refusal.hint.clone().unwrap_or_default())
            );
        }
        let found = classify(self.table, &source, &[&spec], matched, self.progress).await?.pop();
        let found = found.ok_or_else(|| Error::new(ErrorKind::Internal, "one rule gave no result"))?;
        self.check_single(found.summary(), found.as_ref())?;
        let rows = EffectRows::new(found, self.table.metadata().schema.clone());
        for effect in keep {
            let kept = match effect {
                Effect::Updated => &mut today.differ,
                Effect::Inserted => &mut today.missing,
                _ => &mut today.same,
            };
            let mut pages = Pages::new(&rows, *effect, self.progress);
            while let Some(row) = pages.next().await? {
                let Some(key) = row.old.or(row.new).map(|row| identity.of(&row)) else { continue };
                kept.insert(hash_of(&key));
                if *effect == Effect::Unchanged && today.example.is_none() {
                    today.example = Some(key);
                }
            }
        }
        Ok(today)
    }

    /// Two rows of the table for one key: which of them is the operation's
    /// cannot be told.
    fn check_single(&self, summary: &Summary, found: &dyn Classified) -> Result<()> {
        let matched = found.count(Effect::Updated) + found.count(Effect::Unchanged);
        let twice = matched.saturating_sub(summary.keys.existing);
        if twice == 0 {
            return Ok(());
        }
        Err(self.ambiguous(format!("{twice} of its keys are in the table more than once today")))
    }

    fn spec(&self, source: &str, identity: &Identity, view: SourceView) -> Spec {
        Spec::UndoRows(undo::UndoRows {
            undoes: self.operation.id.clone(),
            undoes_version: self.operation.version,
            rows: RowSpec {
                source: source.to_owned(),
                key: identity.names.clone(),
                view,
                hash_seed: seed(),
                ..RowSpec::default()
            },
        })
    }

    /// Spools what comes back and what goes; counts what was changed again.
    async fn take_back(
        &self,
        changes: &EffectRows,
        identity: &Identity,
        came: &Today,
        went: &Today,
        out: &mut Spool,
    ) -> Result<LaterChanges> {
        let mut later = LaterChanges::default();
        let mut leave = |key: &[Value]| {
            later.rows += 1;
            if later.examples.len() < EXAMPLES {
                later.examples.push(identity.label(key));
            }
        };
        for effect in [Effect::Updated, Effect::Inserted, Effect::Deleted] {
            let mut pages = Pages::new(changes, effect, self.progress);
            while let Some(DiffRow { old, new, .. }) = pages.next().await? {
                let Some(key) = old.as_ref().or(new.as_ref()).map(|row| identity.of(row)) else { continue };
                let hash = hash_of(&key);
                match (old, new) {
                    (Some(old), Some(_)) => match came.differ.contains(&hash) || came.missing.contains(&hash) {
                        true => leave(&key),
                        false => out.push(old, BACK).await?,
                    },
                    // By whole rows one that is missing may have been changed.
                    (None, Some(_)) if came.missing.contains(&hash) && !identity.whole => {}
                    (None, Some(new)) => match came.differ.contains(&hash) || came.missing.contains(&hash) {
                        true => leave(&key),
                        false => out.push(new, GONE).await?,
                    },
                    (Some(old), None) => match went.differ.contains(&hash) {
                        true => leave(&key),
                        false if went.same.contains(&hash) => {}
                        false => out.push(old, BACK).await?,
                    },
                    (None, None) => {}
                }
            }
        }
        Ok(later)
    }

    async fn prepared(
        &self,
        id: String,
        identity: Identity,
        spooled: Spooled,
        later: LaterChanges,
        why: &str,
    ) -> Result<Prepared> {
        let column = meaning_column(&self.before.metadata().schema);
        let codes = vec![(Some(BACK.to_owned()), RowMeaning::Upsert), (Some(GONE.to_owned()), RowMeaning::Delete)];
        let source = Source::open(&spooled.path()).await?;
        let request = SourceRequest {
            source: source.uri.clone(),
            key: identity.names,
            view: SourceView { operations: Some(OperationColumn { column, codes }), ..SourceView::default() },
            later_changes: Some(later),
            ..SourceRequest::default()
        };
        let (undoes, undoes_version) = (self.operation.id.clone(), self.operation.version);
        let strategy = Strategy::UndoRows { undoes, undoes_version };
        let plans = prepare_all(self.table, &source, &request, &[strategy], Judged::Alone, self.progress).await?;
        let first = plans.prepared.into_iter().next();
        let mut prepared = first.ok_or_else(|| Error::new(ErrorKind::Internal, "one strategy gave no plan"))?;
        // The spool is known by the plan's id.
        prepared.plan.id = id;
        let findings = &mut prepared.plan.findings;
        findings.retain(|line| !line.contains("is not in the table and is left out"));
        findings.insert(0, format!("version {undoes_version} is taken back by rows: {why}"));
        spooled.keep();
        Ok(prepared)
    }
}

/// A name that no column has.
fn meaning_column(schema: &Schema) -> String {
    let mut name = "partwise_change".to_owned();
    while schema.find(&name).is_some() {
        name.insert(0, '_');
    }
    name
}

/// The rows of an effect, one after the other, read in pages.
struct Pages<'a> {
    rows: &'a EffectRows,
    effect: Effect,
    progress: &'a Progress,
    read: u64,
    page: std::vec::IntoIter<DiffRow>,
}

impl<'a> Pages<'a> {
    fn new(rows: &'a EffectRows, effect: Effect, progress: &'a Progress) -> Pages<'a> {
        Pages { rows, effect, progress, read: 0, page: Vec::new().into_iter() }
    }

    async fn next(&mut self) -> Result<Option<DiffRow>> {
        if let Some(row) = self.page.next() {
            return Ok(Some(row));
        }
        if self.read >= self.rows.count(self.effect) {
            return Ok(None);
        }
        self.progress.check()?;
        let page = self.rows.page(self.effect, self.read, CHUNK).await?.rows;
        self.read += page.len() as u64;
        self.page = page.into_iter();
        self.page.next().map_or_else(
            || Err(Error::new(ErrorKind::Internal, format!("not all {} rows could be read", self.effect.name()))),
            |row| Ok(Some(row)),
        )
    }
}
