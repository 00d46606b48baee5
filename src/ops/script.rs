//! The script that does what a plan does, for another engine.

use super::browse::{At, OpenTable};
use super::context::Context;
use super::prepare::matching;
use crate::engine::local::delivered_schema;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::script::{self, Facts};
use crate::plan::{Plan, Spec};
use crate::predicate::RowExpr;
use crate::progress::Progress;
use crate::source::{Format, Source};

pub use crate::plan::script::Engine as ScriptEngine;

/// Writes the script. Table and source must be what was planned: names and types
/// are read from them, and the script checks the rest when it runs.
///
/// # Errors
/// `StalePlan` where the table moved, `SourceChanged` where the source did, and
/// whatever [`script::script`] says.
pub async fn script(context: &Context, plan: &Plan, engine: ScriptEngine) -> Result<String> {
    let table = OpenTable::open(context, &plan.table, At::Latest).await?;
    if table.version() != plan.version || table.metadata().id != plan.table_id {
        return Err(Error::new(
            ErrorKind::StalePlan,
            format!("the plan was made at version {}, the table is at version {}", plan.version, table.version()),
        )
        .hint("Make a new plan: the script would refuse to write."));
    }
    let mut facts = facts(&table, plan).await?;
    if engine == ScriptEngine::DeltaRs {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | '/');
        let files = table.files(&Progress::default()).await?;
        facts.odd_path = files.into_iter().map(|f| f.path).find(|path| !path.chars().all(plain));
    }
    script::script(plan, &facts, engine)
}

async fn facts(table: &OpenTable, plan: &Plan) -> Result<Facts> {
    let schema = table.metadata().schema.clone();
    let Some(rows) = plan.spec.rows() else { return Ok(Facts { schema, ..Facts::default() }) };
    let source = Source::open(&rows.source).await?;
    if let Some(pinned) = &plan.source {
        source.expect_fingerprint(&pinned.fingerprint)?;
    }
    let delivered = delivered_schema(&source, &rows.view)?;
    let matching = matching(table, &source, std::slice::from_ref(&plan.spec))?;
    let name = |at: &Option<usize>| at.and_then(|at| delivered.fields.get(at)).map(|f| f.name.clone());
    let predicate = match &plan.spec {
        Spec::ReplaceWhere(replace) => Some(RowExpr::parse(&replace.predicate)?.unaliased().text().to_owned()),
        _ => None,
    };
    Ok(Facts {
        columns: matching.columns.iter().map(name).collect(),
        glob: source.format == Format::Parquet && !std::path::Path::new(&source.uri).exists(),
        schema,
        delivered,
        predicate,
        odd_path: None,
    })
}
