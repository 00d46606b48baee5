//! Scripts: the same write as a plan, for an engine of somebody else.
//!
//! A script checks before it writes that the table is still at the plan's
//! version and that the source has the plan's rows; it names every column, casts
//! as partwise does, and compares the rows of the touched partitions with the
//! plan afterwards. What an engine cannot say is refused by its name.
//! Pure: a plan and [`Facts`] in, a text out.

mod checks;
mod data_fusion;
mod delivered;
mod delta_rs;
mod literal;
mod place;
mod pyspark;
mod spark_sql;
#[cfg(test)]
mod tests;
mod write;

use super::view::RowMeaning;
use super::{Plan, Spec, Verdict};
use crate::error::{Error, ErrorKind, Result};
use crate::table::schema::Schema;
use crate::table::{Field, PartitionTuple};

/// Whom a script is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    SparkSql,
    PySpark,
    DeltaRs,
}

impl Engine {
    pub const ALL: [Engine; 3] = [Engine::SparkSql, Engine::PySpark, Engine::DeltaRs];

    /// What `--for` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::SparkSql => "spark-sql",
            Engine::PySpark => "pyspark",
            Engine::DeltaRs => "delta-rs",
        }
    }

    /// The end of a file's name, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Engine::SparkSql => "sql",
            Engine::PySpark | Engine::DeltaRs => "py",
        }
    }

    fn is_spark(self) -> bool {
        self != Engine::DeltaRs
    }
}

/// What a script needs and a plan does not hold: names and types at the plan's
/// version.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The table's columns.
    pub schema: Schema,
    /// The source's columns as its view gives them; empty for kinds without a
    /// source.
    pub delivered: Schema,
    /// Per column of the table the delivered column that it is written from.
    pub columns: Vec<Option<String>>,
    /// Replace-where's predicate with bare names of columns.
    pub predicate: Option<String>,
    /// Whether the source's name is a pattern of file names.
    pub glob: bool,
    /// For delta-rs: a live file whose path in the log has more in it than
    /// letters of ASCII, digits and `-_.=/`.
    pub odd_path: Option<String>,
}

/// The script that does what a plan does.
///
/// # Errors
/// `GateFailed` for a plan with a failed gate; the refusal's own kind where no
/// engine could write it right; `Refused` where there is nothing to write or
/// the engine's statement would do something else; `UnsupportedFeature` for
/// what the engine cannot express.
pub fn script(plan: &Plan, facts: &Facts, engine: Engine) -> Result<String> {
    check(plan, engine)?;
    match engine {
        Engine::SparkSql => spark_sql::render(plan, facts),
        Engine::PySpark => pyspark::render(plan, facts),
        Engine::DeltaRs => delta_rs::render(plan, facts),
    }
}

/// Whether another engine may do what partwise itself refuses.
pub fn is_offered(plan: &Plan) -> bool {
    !plan.refusals.is_empty() && plan.compared && plan.refusals.iter().all(|r| is_lifted(r.kind))
}

/// Whether a refusal is about what partwise can write, not about the rows.
fn is_lifted(kind: ErrorKind) -> bool {
    kind == ErrorKind::UnsupportedFeature
}

fn check(plan: &Plan, engine: Engine) -> Result<()> {
    if let Some(gate) = plan.blocking().first() {
        return Err(Error::new(ErrorKind::GateFailed, format!("{} failed: {}", gate.name, gate.message))
            .hint(format!("A script would pass it by. Give a reason: --override {}=REASON.", gate.name)));
    }
    if let Some(refusal) = plan.refusals.iter().find(|r| !is_lifted(r.kind)) {
        let mut error = Error::new(refusal.kind, format!("no engine can write this plan right: {}", refusal.message));
        error.hint = refusal.hint.clone();
        return Err(error);
    }
    if !plan.compared {
        return Err(Error::new(
            ErrorKind::Refused,
            "the plan was made without comparing rows, so a script has no numbers",
        )
        .hint("Plan it again where the source can be read."));
    }
    if plan.verdict == Verdict::NoOp {
        return Err(Error::new(ErrorKind::Refused, "the plan would change nothing: there is nothing to run"));
    }
    if let Some(what) = beyond_restore(&plan.spec) {
        return Err(Error::new(ErrorKind::Refused, format!("{} cannot say {what} in a script", engine.name()))
            .hint("partwise apply does it in one commit."));
    }
    if let Spec::Undo(undo) = &plan.spec
        && undo.undoes_version != plan.version
    {
        return Err(Error::new(
            ErrorKind::Refused,
            format!(
                "{} can only go back to version {}, which would also take back the commits after version {}",
                engine.name(),
                undo.undoes_version.saturating_sub(1),
                undo.undoes_version
            ),
        )
        .hint("partwise apply takes back this one operation; plan restore takes all of them back."));
    }
    if engine.is_spark()
        && plan.spec.rows().is_some()
        && let Some(p) = plan.partitions.iter().find(|p| p.after > 0 && p.raw.iter().any(|v| v.as_deref() == Some("")))
    {
        return Err(Error::new(
            ErrorKind::UnsupportedFeature,
            format!(
                "{} stores the empty text in a partition column as NULL, and the plan writes {}",
                engine.name(),
                p.label()
            ),
        )
        .hint("partwise apply keeps the two apart, and so does --for delta-rs."));
    }
    Ok(())
}

/// Going back that RESTORE of other engines does not know.
fn beyond_restore(spec: &Spec) -> Option<&'static str> {
    match spec {
        Spec::Restore(restore) if restore.partitions.is_some() => Some("a restore of chosen partitions"),
        Spec::Restore(restore) if !restore.is_whole() => Some("a restore of the data alone"),
        Spec::RestoreRows(_) => Some("a restore by rows"),
        Spec::UndoRows(_) => Some("an undo by rows"),
        _ => None,
    }
}

/// What a script does for an engine, in its first lines: no line breaks.
fn head(plan: &Plan, engine: Engine, run: &str) -> Vec<String> {
    let r = &plan.rows;
    let mut lines = vec![
        format!("{} of {} at version {}, for {}", plan.spec.kind().title(), plan.table, plan.version, engine.name()),
        format!("plan {}, made {} by partwise", plan.id, plan.created_at),
        run.to_owned(),
    ];
    if let Some(source) = &plan.source {
        lines.push(format!("source {} ({} rows)", source.uri, r.source));
    }
    if plan.spec.rows().is_some() {
        let updated = r.updated.map_or("?".into(), |n| n.to_string());
        lines.push(format!(
            "rows: {} inserted, {updated} updated, {} unchanged, {} deleted in {} partitions",
            r.inserted,
            r.unchanged,
            r.deleted,
            plan.partitions.len()
        ));
    }
    lines.extend(plan.refusals.iter().map(|r| format!("partwise does not write it itself: {}", r.message)));
    let overridden = plan.gates.iter().filter_map(|g| Some((g, g.overridden.as_ref()?)));
    lines.extend(overridden.map(|(gate, reason)| format!("{} failed and was overridden: {reason}", gate.name)));
    lines.push("The table must not be written to by others while this runs.".into());
    lines
}

/// The object that partwise's own commits carry, for the engine's history.
fn user_metadata(plan: &Plan, engine: Engine) -> String {
    let overrides: serde_json::Map<String, serde_json::Value> =
        plan.gates.iter().filter_map(|g| Some((g.name.clone(), g.overridden.clone()?.into()))).collect();
    serde_json::json!({"partwise": {
        "id": plan.id,
        "operation": plan.operation,
        "plannedVersion": plan.version,
        "script": engine.name(),
        "source": plan.source.as_ref().map(|s| s.fingerprint.as_str()),
        "overrides": overrides,
    }})
    .to_string()
    // Spark's shell splits statements at these, also here.
    .replace('\'', "\\u0027")
    .replace(';', "\\u003b")
}

/// The fields of the partition columns, in their order.
fn partition_fields<'a>(plan: &Plan, facts: &'a Facts) -> Result<Vec<&'a Field>> {
    plan.partition_columns
        .iter()
        .map(|name| {
            facts.schema.field(name).ok_or_else(|| {
                Error::new(ErrorKind::BadPlan, format!("the table has no partition column {name}"))
                    .hint("Make the plan again.")
            })
        })
        .collect()
}

/// The typed values and rows afterwards of the partitions that `wanted` takes.
fn tuples(
    plan: &Plan,
    facts: &Facts,
    wanted: impl Fn(&super::PlanPartition) -> bool,
) -> Result<Vec<(PartitionTuple, u64)>> {
    let bad = |what: String| Error::new(ErrorKind::BadPlan, what).hint("Make the plan again.");
    let types = partition_fields(plan, facts)?
        .into_iter()
        .map(|f| f.primitive().cloned().ok_or_else(|| bad(format!("the partition column {} is nested", f.name))))
        .collect::<Result<Vec<_>>>()?;
    plan.partitions
        .iter()
        .filter(|p| wanted(p))
        .map(|p| {
            let tuple = p.tuple(&types).filter(|t| t.0.len() == types.len());
            let tuple = tuple.ok_or_else(|| bad(format!("the plan's partition {} cannot be read", p.label())))?;
            Ok((tuple, p.after))
        })
        .collect()
}

/// A name for a column of the script's own that no delivered column has.
fn free_name(facts: &Facts, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while facts.delivered.find(&name).is_some() {
        name.push('_');
    }
    name
}

/// Whether some delivered rows stand for deletions.
fn has_deletions(plan: &Plan) -> bool {
    let operations = plan.spec.rows().and_then(|r| r.view.operations.as_ref());
    operations.is_some_and(|o| o.codes.iter().any(|(_, meaning)| *meaning == RowMeaning::Delete))
}

fn missing(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("a script was to be made without {what}"))
}
