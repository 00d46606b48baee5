//! From a source and a table to a plan: match columns, classify rows, judge.

use std::sync::Arc;

use serde_json::{Map, json};
use uuid::Uuid;

use super::applied;
use super::browse::OpenTable;
use super::context::Context;
use super::profile;
use super::refusals::{key_types, table_refusals};
use super::slice::Slices;
use super::strategy::{Strategy, key_pairs, settle_view, whole_rows};
use crate::engine::local::{LocalEngine, delivered_schema};
use crate::engine::{Classified, Engine, PartitionSummary, RowJob, Spilling, Summary};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{self, Evidence};
use crate::plan::view::SourceView;
use crate::plan::{
    Change, Effect, FileTotals, KeyFacts, Layout, LayoutChange, PLAN_SCHEMA, Plan, PlanPartition, Refusal, Role,
    RowRule, RowTotals, SourceFacts, Spec, Verdict, Written, advice, arithmetic, kinds::RowSpec,
};
use crate::progress::Progress;
use crate::source::{Matching, Needs, Source, match_columns};
use crate::table::Value;
use crate::table::value::millis_text;

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
    pub exact_cells: bool,
}

/// A plan and the rows behind its numbers. Cheap to clone.
#[derive(Clone)]
pub struct Prepared {
    pub plan: Plan,
    /// `None` where the plan was refused before rows were compared.
    pub rows: Option<EffectRows>,
}

/// Pages through the rows of an effect by reading them again where they are.
#[derive(Clone)]
pub struct EffectRows {
    classified: Arc<dyn Classified>,
    columns: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct DiffPage {
    pub columns: Vec<String>,
    pub rows: Vec<DiffRow>,
    /// Rows of this effect in all.
    pub total: u64,
}

#[derive(Debug, Clone)]
pub struct DiffRow {
    pub effect: Effect,
    /// Values of `columns` in the table now; `None` for an insert.
    pub old: Option<Vec<Value>>,
    /// Values as delivered; `None` for a delete or a zombie.
    pub new: Option<Vec<Value>>,
    /// Columns whose values differ.
    pub changed: Vec<usize>,
    /// The commit that last wrote the old row's file, where the log tells.
    pub last_version: Option<u64>,
}

impl EffectRows {
    /// How often each value of a grain column occurs in the slice and the source.
    pub(super) fn groups(&self) -> &[gate::evidence::GroupFacts] {
        &self.classified.summary().evidence.groups
    }

    /// Rows `offset..offset + limit` of one effect, ordered by partition, then
    /// by their place in the table or the source.
    ///
    /// # Errors
    /// `SourceChanged` where the source is no longer what was planned.
    pub async fn page(&self, effect: Effect, offset: u64, limit: usize) -> Result<DiffPage> {
        let rows = self.classified.page(effect, offset, limit).await?;
        let rows = rows.into_iter().map(|row| DiffRow {
            effect,
            changed: match (&row.old, &row.new) {
                (Some(old), Some(new)) => (0..old.len()).filter(|i| old[*i] != new[*i]).collect(),
                _ => Vec::new(),
            },
            old: row.old,
            new: row.new,
            last_version: row.last_version,
        });
        Ok(DiffPage { columns: self.columns.clone(), rows: rows.collect(), total: self.classified.count(effect) })
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
    let mut plans = prepare_all(table, &source, request, std::slice::from_ref(&strategy), progress).await?;
    plans.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "one strategy gave no plan"))
}

/// A plan for each strategy; source and table are read once for all of them.
pub(super) async fn prepare_all(
    table: &OpenTable,
    source: &Source,
    request: &SourceRequest,
    strategies: &[Strategy],
    progress: &Progress,
) -> Result<Vec<Prepared>> {
    let now = chrono::Utc::now().timestamp_micros();
    let strategies: Vec<Strategy> = strategies.iter().map(|s| s.clone().settled(now)).collect::<Result<_>>()?;
    strategies.iter().try_for_each(Strategy::check)?;
    let own = strategies.iter().find_map(Strategy::own_key);
    let mut rows = row_spec(table, source, request, own)?;
    settle_view(&mut rows.view, now)?;
    let mut slices = Slices::new(table, request)?;
    if rows.key.is_empty() && strategies.iter().any(Strategy::needs_key) {
        return Err(Error::new(ErrorKind::Usage, "a MERGE needs a key: the columns that identify a row")
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
            plan.findings = matching.findings.clone();
            plan.refusals = matching.refusals.clone();
            plan.refusals.extend(table_refusals(table, &plan.spec));
            plan.settle();
            plan
        })
        .collect();
    if !matching.refusals.is_empty() {
        let refused = plans.into_iter().map(|plan| Prepared { plan: Plan { compared: false, ..plan }, rows: None });
        return Ok(refused.collect());
    }
    let specs: Vec<&Spec> = plans.iter().map(|p| &p.spec).collect();
    let classified = classify(table, source, &specs, matching, progress).await?;
    let mut prepared = Vec::new();
    for (mut plan, classified) in plans.drain(..).zip(classified) {
        fill(&mut plan, classified.summary());
        if plan.repeats() {
            plan.source = Some(SourceFacts { content: Some(source.content().await?), ..source.facts() });
        }
        let evidence =
            Evidence { applied_before: applied::before(table, &plan).await?, ..classified.summary().evidence.clone() };
        let evidence = slices.assign(&mut plan, evidence, progress).await?;
        plan.gates = gate::judge(&plan, &evidence, &table.settings.thresholds);
        plan.settle();
        plan.advice = advice::advice(&plan);
        let wrong = arithmetic::violations(&plan);
        if !wrong.is_empty() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("the plan's numbers do not add up: {}", wrong.join("; ")),
            )
            .hint("Nothing was written. Please report this with the table's log."));
        }
        prepared.push(Prepared { plan, rows: Some(EffectRows { classified, columns: columns.clone() }) });
    }
    Ok(prepared)
}

fn row_spec(
    table: &OpenTable,
    source: &Source,
    request: &SourceRequest,
    own_key: Option<Vec<String>>,
) -> Result<RowSpec> {
    let known = &table.settings.known;
    let or = |given: &[String], config: &[String]| names(table, if given.is_empty() { config } else { given });
    let key = match own_key {
        Some(key) => names(table, &key)?,
        None => or(&request.key, &known.key)?,
    };
    let ignore = or(&request.ignore, &known.ignore)?;
    Ok(RowSpec {
        source: source.uri.clone(),
        measures: measures(table, &key, &ignore)?,
        key,
        ignore,
        slice: request.slice.clone(),
        view: request.view.clone(),
        exact_cells: request.exact_cells,
        hash_seed: seed(),
    })
}

fn no_rule() -> Error {
    Error::new(ErrorKind::Internal, "a plan without a rule for rows was to be compared")
}

fn rules_of<'a>(specs: impl Iterator<Item = &'a Spec>) -> Result<Vec<RowRule>> {
    specs
        .map(|spec| match spec.lower() {
            Change::Rows(rule) => Ok(rule),
            Change::Files(_) => Err(no_rule()),
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
fn spilling(table: &OpenTable) -> Result<Spilling> {
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
    let job = RowJob {
        snapshot: table.snapshot().clone(),
        source: source.clone(),
        matching,
        key: key_pairs(&rules, &rows.key),
        rules,
        view: rows.view.clone(),
        files: None,
        exact_cells: rows.exact_cells,
        spilling: spilling(table)?,
        ignore: rows.ignore.clone(),
        measures: rows.measures.clone(),
        grain,
        seed: rows.hash_seed,
    };
    LocalEngine.classify(job, progress.clone()).await
}

/// Column names as the table writes them.
fn names(table: &OpenTable, given: &[String]) -> Result<Vec<String>> {
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

/// The configured measures, else decimal and float columns that are no key.
fn measures(table: &OpenTable, key: &[String], ignore: &[String]) -> Result<Vec<String>> {
    let configured = &table.settings.known.measures;
    if !configured.is_empty() {
        return names(table, configured);
    }
    let metadata = table.metadata();
    let is_measure = |name: &str| !key.iter().chain(ignore).any(|c| c == name) && !metadata.is_partition_column(name);
    Ok(metadata
        .schema
        .fields
        .iter()
        .filter(|f| f.data_type.is_measure() && is_measure(&f.name))
        .map(|f| f.name.clone())
        .collect())
}

/// 64 random bits, from the one source of randomness that the plan has anyway.
fn seed() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    high ^ low.rotate_left(32)
}

/// A plan with nothing in it yet.
pub(super) fn blank(table: &OpenTable, spec: Spec) -> Plan {
    Plan {
        schema: PLAN_SCHEMA,
        id: Uuid::new_v4().to_string(),
        operation: spec.operation().into(),
        key: spec.rows().map(|r| r.key.clone()).unwrap_or_default(),
        spec,
        table: table.location.clone(),
        table_id: table.metadata().id.clone(),
        version: table.version(),
        engine: LocalEngine.name().into(),
        created_at: millis_text(chrono::Utc::now().timestamp_millis()),
        partition_columns: table.metadata().partition_columns.clone(),
        source: None,
        slice: None,
        rows: RowTotals::default(),
        keys: KeyFacts::default(),
        partitions: Vec::new(),
        untouched_partitions: 0,
        files: FileTotals::default(),
        layout: LayoutChange::default(),
        gates: Vec::new(),
        verdict: Verdict::Blocked,
        advice: Vec::new(),
        findings: Vec::new(),
        refusals: Vec::new(),
        metadata_changes: Vec::new(),
        compared: true,
    }
}

/// The first partitions by name, and how many more.
pub(super) fn slice_text(partitions: &[PlanPartition]) -> Option<String> {
    const NAMED: usize = 5;
    let named: Vec<String> = partitions.iter().take(NAMED).map(PlanPartition::label).collect();
    let more = partitions.len().saturating_sub(NAMED);
    match named.is_empty() {
        true => None,
        false if more > 0 => Some(format!("{} and {more} more", named.join(", "))),
        false => Some(named.join(", ")),
    }
}

fn fill(plan: &mut Plan, summary: &Summary) {
    let keyed = !plan.key.is_empty();
    let columns = plan.partition_columns.clone();
    let mut total = crate::plan::Effects::default();
    summary.partitions.iter().for_each(|p| total.add(&p.effects));
    let delivered = summary.partitions.iter().filter(|p| p.in_slice);
    let slice_after = delivered.map(|p| p.effects.after()).sum();
    plan.partitions = summary.partitions.iter().map(|p| plan_partition(p, &columns, keyed)).collect();
    plan.slice = slice_text(&plan.partitions);
    plan.rows = RowTotals {
        source: summary.source_rows,
        slice_before: summary.slice_before,
        slice_after,
        table_before: summary.table_before,
        table_after: summary.table_before.map(|rows| (rows + total.inserted).saturating_sub(total.deleted)),
        inserted: total.inserted,
        updated: keyed.then_some(total.updated),
        unchanged: total.unchanged,
        deleted: total.deleted,
        zombies: total.zombies,
        kept: total.kept,
        ignored: total.ignored + summary.excluded + summary.unplaced,
        moved: total.moved_in,
        touched_only: total.touched_only,
    };
    plan.keys = summary.keys.clone();
    plan.files = FileTotals {
        removed: summary.removed.len() as u64,
        removed_bytes: summary.removed.iter().map(|f| f.size).sum(),
        restored: 0,
        rows_rewritten_unchanged: summary.rows_rewritten_unchanged,
    };
    plan.layout = LayoutChange {
        before: Layout { partitions: summary.table_partitions, files: Some(summary.table_files) },
        after: Layout { partitions: summary.partitions_after, files: None },
    };
    if summary.ambiguous > 0 {
        plan.refusals.push(Refusal {
            kind: ErrorKind::DuplicateSourceKeys,
            message: format!(
                "{} rows of the table are matched by several source rows, such as {}",
                summary.ambiguous,
                summary.ambiguous_examples.join("; ")
            ),
            hint: Some("A MERGE cannot tell which of them is right. Complete the key or remove the duplicates.".into()),
        });
    }
    if summary.outside > 0 {
        plan.refusals.push(Refusal {
            kind: ErrorKind::RowsOutsidePredicate,
            message: format!(
                "{} source rows are outside the predicate, such as {}",
                summary.outside,
                summary.outside_examples.join("; ")
            ),
            hint: Some("Widen the predicate, or leave those rows out of the source.".into()),
        });
    }
    for (column, rows) in &summary.not_null {
        plan.refusals.push(Refusal {
            kind: ErrorKind::NotNullViolation,
            message: format!("{rows} source rows have NULL in {column}, which the table declares NOT NULL"),
            hint: Some("Deliver values for it.".into()),
        });
    }
}

fn plan_partition(p: &PartitionSummary, columns: &[String], keyed: bool) -> PlanPartition {
    let e = &p.effects;
    let measures: Map<String, serde_json::Value> = p
        .measures
        .iter()
        .map(|(name, before, after)| (name.clone(), json!({"before": before.to_string(), "after": after.to_string()})))
        .collect();
    PlanPartition {
        values: p.values.to_json(columns),
        raw: p.values.0.iter().map(Value::to_partition_text).collect(),
        role: Role::default(),
        before: e.before,
        source: e.source,
        after: e.after(),
        inserted: e.inserted,
        updated: keyed.then_some(e.updated),
        unchanged: e.unchanged,
        deleted: e.deleted,
        zombies: e.zombies,
        kept: e.kept,
        ignored: e.ignored,
        moved_in: e.moved_in,
        moved_out: e.moved_out,
        files_before: p.files_before,
        bytes_before: p.bytes_before,
        measures,
        written: Written { rows: p.written.rows, checksum: format!("{:032x}", p.written.checksum) },
    }
}
