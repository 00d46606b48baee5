//! One case: plan against model, commit against plan, undo against before.

use std::collections::BTreeSet;
use std::sync::Arc;

use partwise::config::Config;
use partwise::error::{Error, ErrorKind, Result as Done};
use partwise::ops::{self, ApplyReport, At, Context, OpenTable, Prepared, SourceRequest};
use partwise::plan::{GateResult, Plan, Verdict, arithmetic};
use partwise::progress::Progress;
use serde_json::{Value as Json, json};

use super::generate::Case;
use super::numbers;
use super::pages::pages;
use super::statement::Run;
use crate::model::{Model, Outcome};
use crate::support::road::{override_all, text};
use crate::support::writer::write_source;
use crate::support::{Bench, Fixture, Row, block_on, exact, replay, rows_of, sorted};

/// Bytes of rows in memory where rows are to be on disk.
const TIGHT: usize = 2048;

/// Whether the plan was also made with little memory, or what is wrong.
pub fn check(case: &Case, run: &Run) -> Result<bool, String> {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), case.shape.clone());
    case.write(&mut table);
    let source = bench.path("s.parquet");
    write_source(&source, &run.columns, &run.feed.rows);

    let target = case.target();
    let partition: Vec<usize> = case.shape.partition_by.iter().map(|c| case.shape.index(c)).collect();
    let model = Model {
        rule: &run.rule,
        partition: &partition,
        ignore: &run.ignore,
        pairs: &run.pairs,
        target: &target,
        feed: &run.feed,
    };
    let out = model.run();
    equal("the fixture's rows", &rows_of(&table.path), &sorted(target.clone()))?;

    let request = SourceRequest { source: text(&source), ..run.request.clone() };
    let road = Road { bench: &bench, table: &table, case, run, request };
    let prepared = road.prepare(&bench.context, false);
    let prepared = prepared.map_err(|e| format!("prepare: {} {}", e.kind, e.full_message()))?;
    let plan = &prepared.plan;
    equal("rows after planning", &exact(&rows_of(&table.path)), &exact(&target))?;

    if let Some(why) = out.refused {
        let kinds: Vec<ErrorKind> = plan.refusals.iter().map(|r| r.kind).collect();
        let kind = if why == "outside" { ErrorKind::RowsOutsidePredicate } else { ErrorKind::DuplicateSourceKeys };
        equal("refusals", &kinds, &vec![kind])?;
        equal("verdict", &plan.verdict, &Verdict::Blocked)?;
        if bench.apply_with(plan, &override_all(plan)).is_ok() {
            return Err("a refused plan was applied".into());
        }
        equal("rows after a refusal", &exact(&rows_of(&table.path)), &exact(&target))?;
        return Ok(true);
    }
    if let Some(refusal) = plan.refusals.first() {
        return Err(format!("refused: {} {}", refusal.kind, refusal.message));
    }
    equal("arithmetic", &arithmetic::violations(plan), &Vec::new())?;
    let seen = numbers::Seen { case, run, plan, model: &out, target: &target };
    seen.all()?;
    pages(&prepared, &out)?;
    let tight = road.tight();
    let compared = road.on_disk(&tight, &seen)?;
    // A plan may be carried out with less memory than it was made with.
    let context = if compared && plan.rows.source % 2 == 0 { &tight } else { &bench.context };
    road.carry_out(context, plan, &out)?;
    Ok(compared)
}

struct Road<'a> {
    bench: &'a Bench,
    table: &'a Fixture,
    case: &'a Case,
    run: &'a Run,
    request: SourceRequest,
}

impl Road<'_> {
    /// The same context with hardly any memory for rows.
    fn tight(&self) -> Context {
        let mut config = Config::default();
        config.engine.rows_in_memory = Some(TIGHT);
        config.engine.spill_dir = Some(text(&self.bench.path("spill")));
        Context { config: Arc::new(config), ..self.bench.context.clone() }
    }

    fn prepare(&self, context: &Context, exact_cells: bool) -> Done<Prepared> {
        block_on(async {
            let open = OpenTable::open(context, &text(&self.table.path), At::Latest).await?;
            let request = SourceRequest { exact_cells, ..self.request.clone() };
            ops::prepare(context, &open, &request, self.run.strategy.clone(), &Progress::default()).await
        })
    }

    /// With rows on disk, and cells compared one by one, the plan is the same.
    fn on_disk(&self, tight: &Context, roomy: &numbers::Seen<'_>) -> Result<bool, String> {
        let prepared = match self.prepare(tight, true) {
            Ok(prepared) => prepared,
            // The rows of one key have to fit.
            Err(error) if error.kind == ErrorKind::MemoryLimit => return Ok(false),
            Err(error) => return Err(format!("prepare on disk: {}", error.full_message())),
        };
        // Where it is open which rows pair, the order of reading decides.
        if !roomy.model.open_moves {
            equal("the plan on disk", &essence(&prepared.plan), &essence(roomy.plan))?;
        }
        let seen = numbers::Seen { plan: &prepared.plan, ..*roomy };
        seen.all().and_then(|()| pages(&prepared, roomy.model)).map_err(|e| format!("on disk: {e}"))?;
        Ok(true)
    }

    fn apply(&self, context: &Context, plan: &Plan) -> Result<ApplyReport, String> {
        let read: Plan = serde_json::from_str(&json!(plan).to_string()).map_err(|e| format!("the plan's JSON: {e}"))?;
        // A number beyond 15 digits may lose its last bit on the way; only a percentage has one.
        let told = |plan: &Plan| {
            let gates = plan.gates.iter().cloned().map(|gate| match gate.observed.as_f64() {
                Some(x) => GateResult { observed: json!(format!("{x:.12e}")), ..gate },
                None => gate,
            });
            Plan { gates: gates.collect(), ..plan.clone() }
        };
        equal("the plan as it is read back", &told(&read), &told(plan))?;
        let apply = |context: &Context| block_on(ops::apply(context, &read, &override_all(plan), &Progress::default()));
        let report = match apply(context) {
            // Another seed deals other keys into one bucket; nothing was written.
            Err(error) if error.kind == ErrorKind::MemoryLimit => apply(&self.bench.context),
            other => other,
        };
        report.map_err(|e| words("apply", &e))
    }

    fn carry_out(&self, context: &Context, plan: &Plan, model: &Outcome) -> Result<(), String> {
        let path = &self.table.path;
        let before = replay::replay(path)?;
        let old = before.rows(path);
        let report = self.apply(context, plan)?;
        equal("mismatches", &report.mismatches, &Vec::new())?;
        let changes = model.changes_something();
        equal("verdict no-op", &(plan.verdict == Verdict::NoOp), &(!changes && plan.blocking().is_empty()))?;
        equal("a commit was made", &report.version_after.is_some(), &changes)?;
        equal("the newest version", &replay::newest(path), &(plan.version + u64::from(changes)))?;
        if !changes {
            return equal("rows of a no-op", &exact(&rows_of(path)), &exact(&old));
        }
        equal("rows after apply", &rows_of(path), &sorted(model.after.clone()))?;
        equal("verified", &report.verified, &true)?;
        let after = replay::replay(path)?;
        self.changes(&after, plan, &old)?;
        let gone = before.live.keys().filter(|key| !after.live.contains_key(*key)).count() as u64;
        equal("files.removed", &plan.files.removed, &gone)?;
        let tuples = |state: &replay::Replayed| {
            let adds = state.live.values();
            adds.map(|add| numbers::tuple_of(&self.case.shape, add)).collect::<BTreeSet<_>>().len() as u64
        };
        equal("layout.before", &plan.layout.before.partitions, &tuples(&before))?;
        equal("layout.after", &plan.layout.after.partitions, &tuples(&after))?;
        let undo = self.bench.plan_undo(path, None).map_err(|e| words("undo's plan", &e))?;
        self.apply(context, &undo)?;
        equal("rows after undo", &exact(&rows_of(path)), &exact(&old))
    }

    /// The change feed leads from the old rows to the new ones, and has the
    /// plan's numbers of each kind.
    fn changes(&self, after: &replay::Replayed, plan: &Plan, old: &[Row]) -> Result<(), String> {
        let path = &self.table.path;
        let changes = after.changes(path, plan.version + 1);
        let keeps = self.case.shape.properties.iter().any(|(key, _)| key == "delta.enableChangeDataFeed");
        let by_row = matches!(plan.operation.as_str(), "merge" | "scd2" | "replace-where");
        equal("there is a feed", &!changes.is_empty(), &(keeps && by_row && plan.files.removed > 0))?;
        if changes.is_empty() {
            return Ok(());
        }
        let of = |kind: &str| -> Vec<Row> {
            changes.iter().filter(|(_, own)| own == kind).map(|(row, _)| row.clone()).collect()
        };
        let kinds = ["delete", "update_preimage", "insert", "update_postimage"];
        let [deleted, preimages, inserted, postimages] = kinds.map(of);
        let counts = [&deleted, &preimages, &inserted, &postimages].map(|rows| rows.len() as u64);
        let updated = plan.rows.updated.unwrap_or(0);
        equal("rows of the feed", &counts, &[plan.rows.deleted, updated, plan.rows.inserted, updated])?;
        let mut rows = sorted(old.to_vec());
        for gone in deleted.iter().chain(&preimages) {
            let at =
                rows.binary_search(gone).map_err(|_| format!("the feed takes away {gone:?}, which is not there"))?;
            rows.remove(at);
        }
        rows.extend(inserted.into_iter().chain(postimages));
        equal("rows by the feed", &sorted(rows), &sorted(after.rows(path)))
    }
}

fn words(what: &str, error: &Error) -> String {
    format!("{what}: {} {}", error.kind, error.full_message())
}

/// A plan without what is its own: id, time, seed, the checksums under it, and
/// which keys stand for many in texts.
fn essence(plan: &Plan) -> Json {
    let mut json = json!(plan);
    for name in ["id", "created_at", "spec"] {
        json[name].take();
    }
    json["keys"]["examples"].take();
    for gate in json["gates"].as_array_mut().into_iter().flatten() {
        gate["message"].take();
        if gate["name"] == "measure-drift" {
            gate.take();
        }
    }
    for partition in json["partitions"].as_array_mut().into_iter().flatten() {
        partition["written"]["checksum"].take();
        // Sums of floats go by the order of the rows; the model has the decimals.
        partition["measures"].take();
    }
    json
}

pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, have: &T, want: &T) -> Result<(), String> {
    if have == want { Ok(()) } else { Err(format!("{what}: {have:?}, where the model says {want:?}")) }
}
