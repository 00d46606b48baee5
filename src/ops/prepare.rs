//! From a source and a table to a plan: match columns, classify rows, judge.

use std::sync::Arc;

use uuid::Uuid;

use super::applied;
use super::browse::OpenTable;
use super::chosen::narrowed;
use super::context::Context;
use super::delivery;
pub use super::effect_rows::{DiffPage, DiffRow, EffectRows};
use super::generated;
use super::numbers::{blank, fill};
use super::profile;
use super::refusals::{key_types, table_refusals};
use super::row_spec::row_spec;
use super::slice::Slices;
use super::strategy::{Strategy, key_pairs, settle_view, whole_rows};
use super::{row_history, space};
use crate::engine::local::{LocalEngine, delivered_schema};
use crate::engine::{Classified, Engine, RowJob, Spilling};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::evidence::LaterChanges;
use crate::gate::{self, Evidence};
use crate::plan::delivery::{Delivery, DeliveryKind};
use crate::plan::overwrite::Mode;
use crate::plan::technical::TechnicalProposal;
use crate::plan::view::SourceView;
use crate::plan::{Change, OutputShape, Plan, RowRule, SourceFacts, Spec, advice, arithmetic};
use crate::progress::Progress;
use crate::source::{Matching, Needs, Source, match_columns};

/// What was delivered, and how its rows are identified.
#[derive(Debug, Clone, Default)]
pub struct SourceRequest {
    /// A Parquet file, folder or glob, or a Delta table.
    pub source: String,
    /// Empty: the config's key for the table, if it has one.
    pub key: Vec<String>,
    /// Technical columns; empty: the config's.
    pub ignore: Vec<String>,
    /// Which partitions were meant to be delivered.
    pub slice: Option<String>,
    /// The control total: how many rows the source must have.
    pub expect_rows: Option<u64>,
    pub view: SourceView,
    /// Into how many files the rows go; nothing said: the table's property or
    /// the config.
    pub output: OutputShape,
    pub exact_cells: bool,
    /// Only for an undo by rows: what it leaves alone.
    pub later_changes: Option<LaterChanges>,
}

/// A plan and the rows behind its numbers. Cheap to clone.
#[derive(Clone)]
pub struct Prepared {
    pub plan: Plan,
    /// `None` where the plan was refused before rows were compared.
    pub rows: Option<EffectRows>,
}

impl Prepared {
    /// What the gates judged the plan by: whoever keeps it can judge the plan
    /// again by other thresholds. Of a plan without rows nothing was gathered.
    pub fn evidence(&self) -> Evidence {
        self.rows.as_ref().map(|rows| rows.evidence().clone()).unwrap_or_default()
    }
}

/// Makes a plan. A refusal (missing column, duplicate matches, a feature that
/// cannot be written) is a blocked plan that names it, not an error.
///
/// # Errors
/// Whatever keeps the source or the table from being read.
pub async fn prepare(
    _context: &Context,
    table: &OpenTable,
    request: &SourceRequest,
    strategy: Strategy,
    progress: &Progress,
) -> Result<Prepared> {
    let source = Source::open(&request.source).await?;
    let request = &profile::resolve(table, &source, request, progress).await?;
    // Whether a MERGE's zombies are right depends on how the source delivers,
    // which the overwrite of the same rows tells: it shares the reading.
    let (strategies, judged) = match strategy.leaves_zombies() {
        true => (vec![strategy, Strategy::Overwrite], Judged::WithDelivery),
        false => (vec![strategy], Judged::Alone),
    };
    let plans = prepare_all(table, &source, request, &strategies, judged, progress).await?;
    let first = plans.prepared.into_iter().next();
    first.ok_or_else(|| Error::new(ErrorKind::Internal, "one strategy gave no plan"))
}

/// A plan for each strategy; source and table are read once for all of them.
pub(super) async fn prepare_all(
    table: &OpenTable,
    source: &Source,
    request: &SourceRequest,
    strategies: &[Strategy],
    judged: Judged,
    progress: &Progress,
) -> Result<Plans> {
    let now = chrono::Utc::now().timestamp_micros();
    let settled = |s: &Strategy| Ok(s.clone().settled(now)?.with_clock_defaults(table.metadata(), now));
    let strategies: Vec<Strategy> = strategies.iter().map(settled).collect::<Result<_>>()?;
    strategies.iter().try_for_each(Strategy::check)?;
    let own = strategies.iter().find_map(Strategy::own_key);
    let mut rows = row_spec(table, source, request, own)?;
    settle_view(&mut rows.view, now)?;
    let computed = generated::complete(table, source, &mut rows.view, &strategies)?;
    let slices = Slices::new(table, request)?;
    if rows.key.is_empty() && strategies.iter().any(Strategy::needs_key) {
        return Err(Error::new(ErrorKind::Usage, "a MERGE needs a key: the columns that identify a row")
            .hint("Give --key A,B, or set key for this table in the config."));
    }
    if rows.key.is_empty() && rows.view.latest_by.is_some() {
        return Err(Error::new(ErrorKind::Usage, "the newest row of a key is asked for, and no key is known")
            .hint("Give --key A,B, or set key for this table in the config."));
    }
    let columns: Vec<String> = table.metadata().schema.names().map(str::to_owned).collect();
    let delivered: Vec<String> = delivered_schema(source, &rows.view)?.names().map(str::to_owned).collect();
    let specs: Vec<Spec> = strategies.iter().map(|s| s.spec(rows.clone(), &columns, &delivered)).collect();
    let matching = matching(table, source, &specs)?;
    let mut plans: Vec<Plan> = specs
        .into_iter()
        .map(|spec| {
            let mut plan = blank(table, spec);
            plan.source = Some(source.facts());
            plan.findings = matching.findings.iter().chain(&computed).cloned().collect();
            plan.refusals = matching.refusals.clone();
            plan.refusals.extend(table_refusals(table, &plan.spec));
            plan.settle();
            plan
        })
        .collect();
    if !matching.refusals.is_empty() {
        let refused = plans.into_iter().map(|plan| Prepared { plan: Plan { compared: false, ..plan }, rows: None });
        return Ok(Plans { prepared: refused.collect(), delivery: None });
    }
    let specs: Vec<&Spec> = plans.iter().map(|p| &p.spec).collect();
    let classified = classify(table, source, &specs, matching, progress).await?;
    let prepared = plans.drain(..).zip(classified).map(|(mut plan, classified)| {
        fill(&mut plan, classified.summary());
        Prepared { plan, rows: Some(EffectRows::new(classified, table.metadata().schema.clone())) }
    });
    let mut judge = Judge { table, source, request, slices, progress };
    judge.all(prepared.collect(), judged).await
}

/// What else is asked of a set of plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// Nothing: each plan is judged by itself.
    Alone,
    /// How the source delivers, which a MERGE's zombies are judged by.
    WithDelivery,
    /// The same, and which columns hide what really changed.
    WithTechnical,
}

/// Plans that share one reading, in the order of their strategies.
pub(super) struct Plans {
    pub prepared: Vec<Prepared>,
    /// Judged by the dynamic overwrite among them.
    pub delivery: Option<(Delivery, Option<TechnicalProposal>)>,
}

/// What judging plans goes by.
struct Judge<'a> {
    table: &'a OpenTable,
    source: &'a Source,
    request: &'a SourceRequest,
    slices: Slices<'a>,
    progress: &'a Progress,
}

impl Judge<'_> {
    async fn all(&mut self, mut prepared: Vec<Prepared>, judged: Judged) -> Result<Plans> {
        let stated = self.request.view.operations.is_some();
        let found = match stated {
            true => None,
            false => profile::operations(self.table, self.source, self.progress).await?,
        };
        let operation_column = found.as_ref().map(|found| found.delivered.clone());
        let mut content: Option<String> = None;
        let mut evidence = Vec::with_capacity(prepared.len());
        for one in &mut prepared {
            let plan = &mut one.plan;
            if plan.repeats() {
                if content.is_none() {
                    content = Some(self.source.content().await?);
                }
                plan.source = Some(SourceFacts { content: content.clone(), ..self.source.facts() });
            }
            let measured = one.rows.as_ref().map(|rows| rows.evidence().clone()).unwrap_or_default();
            let applied_before = applied::before(self.table, plan).await?;
            let known = Evidence {
                applied_before,
                operation_column: operation_column.clone(),
                later_changes: self.request.later_changes.clone(),
                ..measured
            };
            evidence.push(self.slices.assign(plan, known, self.progress).await?);
        }
        let overwrite = prepared
            .iter()
            .find(|p| matches!(&p.plan.spec, Spec::Overwrite(o) if o.mode == Mode::Dynamic))
            .filter(|_| judged != Judged::Alone);
        let delivery = match overwrite {
            None => None,
            Some(overwrite) => {
                let look = judged == Judged::WithTechnical;
                let (facts, technical) =
                    delivery::facts(self.table, self.request, overwrite, found, look, self.progress).await?;
                Some((advice::delivery(&overwrite.plan, &facts), technical))
            }
        };
        let history = self.row_history(&prepared).await?;
        for (one, mut evidence) in prepared.iter_mut().zip(evidence) {
            evidence.delivery_full_slice = delivery.as_ref().map(|(d, _)| d.kind == DeliveryKind::FullSlice);
            evidence.row_history = history.of(&one.plan, self.table.metadata())?;
            evidence.space = space::of(self.table, &one.plan, self.source);
            judge_one(&mut one.plan, &evidence, &self.table.settings.thresholds)?;
            if let Some(rows) = &mut one.rows {
                rows.judge_by(evidence);
            }
        }
        Ok(Plans { prepared, delivery })
    }

    /// The rows of the past, for the plans that are judged by them.
    async fn row_history(&self, prepared: &[Prepared]) -> Result<row_history::Histories> {
        let thresholds = &self.table.settings.thresholds;
        let Some(gate) = gate::find(gate::ROW_COUNT_HISTORY) else { return Ok(row_history::Histories::default()) };
        let judged = |p: &&Plan| gate::severity(gate, p.spec.kind().class(), thresholds) != gate::Severity::Off;
        let plans: Vec<&Plan> = prepared.iter().map(|one| &one.plan).filter(judged).collect();
        row_history::read(self.table, &plans, thresholds.row_count_history_versions, self.progress).await
    }
}

fn judge_one(plan: &mut Plan, evidence: &Evidence, thresholds: &gate::Thresholds) -> Result<()> {
    plan.gates = gate::judge(plan, evidence, thresholds);
    plan.settle();
    plan.advice = advice::advice(plan);
    let wrong = arithmetic::violations(plan);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Internal, format!("the plan's numbers do not add up: {}", wrong.join("; ")))
        .hint("Nothing was written. Please report this with the table's log."))
}

fn no_rule() -> Error {
    Error::new(ErrorKind::Internal, "a plan without a rule for rows was to be compared")
}

fn rules_of<'a>(specs: impl Iterator<Item = &'a Spec>) -> Result<Vec<RowRule>> {
    specs
        .map(|spec| match spec.lower() {
            Change::Rows(rule) => Ok(rule),
            Change::Files(_) | Change::Layout(_) | Change::Vacuum(_) => Err(no_rule()),
        })
        .collect()
}

/// Matches the source's columns with what some specs need.
///
/// # Errors
/// `Usage` for what the source's view says.
pub(super) fn matching(table: &OpenTable, source: &Source, specs: &[Spec]) -> Result<Matching> {
    let rows = specs.first().and_then(|s| s.rows()).ok_or_else(no_rule)?;
    let rules = rules_of(specs.iter())?;
    let delivered = delivered_schema(source, &rows.view)?;
    let renamed = key_pairs(&rules, &rows.key);
    let same_name = |name: &&String| renamed.iter().any(|pair| pair.target == **name && pair.source == **name);
    let key: Vec<String> = rows.key.iter().filter(same_name).cloned().collect();
    let needs = Needs { key: &key, folders: &source.folder_columns(), whole_rows: whole_rows(&rules) };
    let mut matching = match_columns(&table.metadata().schema, &delivered, needs);
    matching.refusals.extend(key_types(&table.metadata().schema, &delivered, &renamed));
    Ok(matching)
}

/// How much memory comparing rows may take, and where the rest goes.
pub(super) fn spilling(table: &OpenTable) -> Result<Spilling> {
    /// Of the limit, for rows; the rest is for decoding and for what is written.
    const SHARE: (u64, u64) = (9, 16);
    let engine = &table.settings.engine;
    let limit = match engine.rows_in_memory {
        Some(bytes) => bytes,
        None => usize::try_from(engine.memory()? / SHARE.1 * SHARE.0).unwrap_or(usize::MAX),
    };
    Ok(Spilling { folder: engine.spill_dir(), limit })
}

/// Runs the row rules of some specs, which share source and key, at the
/// table's pinned version.
///
/// # Errors
/// `Internal` for a kind without a row rule; whatever reading gives.
pub(super) async fn classify(
    table: &OpenTable,
    source: &Source,
    specs: &[&Spec],
    matching: Matching,
    progress: &Progress,
) -> Result<Vec<Arc<dyn Classified>>> {
    let rules = rules_of(specs.iter().copied())?;
    let rows = specs.first().and_then(|s| s.rows()).ok_or_else(no_rule)?;
    let grain = &table.settings.known.grain;
    let grain = if grain.is_empty() {
        let key = rows.key.iter().filter(|c| !table.metadata().is_partition_column(c));
        key.map(|c| (c.clone(), false)).collect()
    } else {
        names(table, grain)?.into_iter().map(|c| (c, true)).collect()
    };
    let sides = (table.snapshot().clone(), narrowed(source, &rows.view)?);
    let key = key_pairs(&rules, &rows.key);
    let job = RowJob {
        view: rows.view.clone(),
        exact_cells: rows.exact_cells,
        output: rows.output,
        ignore: rows.ignore.clone(),
        measures: rows.measures.clone(),
        grain,
        ..RowJob::of(sides, matching, key, rules, spilling(table)?, rows.hash_seed)
    };
    LocalEngine.classify(job, progress.clone()).await
}

/// Column names as the table writes them.
pub(super) fn names(table: &OpenTable, given: &[String]) -> Result<Vec<String>> {
    let schema = &table.metadata().schema;
    given
        .iter()
        .map(|name| {
            schema.find(name).map(|f| f.name.clone()).ok_or_else(|| {
                let all: Vec<&str> = schema.names().collect();
                Error::new(ErrorKind::Usage, format!("the table has no column {name}"))
                    .hint(format!("It has {}.", all.join(", ")))
            })
        })
        .collect()
}

/// 64 random bits, from the one source of randomness that the plan has anyway.
pub(super) fn seed() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    high ^ low.rotate_left(32)
}
