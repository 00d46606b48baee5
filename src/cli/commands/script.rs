//! `partwise script`

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::json;

use super::plan::road::{override_gates, parse_override};
use crate::cli::output::Answer;
use crate::cli::{Outcome, Session};
use crate::error::Result;
use crate::ops::{ScriptEngine, plan_file, script};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum For {
    /// Statements for spark-sql -f
    #[value(name = "spark-sql")]
    SparkSql,
    /// A Python program for a Spark session
    #[value(name = "pyspark")]
    PySpark,
    /// A Python program for the deltalake package
    #[value(name = "delta-rs")]
    DeltaRs,
}

impl For {
    fn engine(self) -> ScriptEngine {
        match self {
            For::SparkSql => ScriptEngine::SparkSql,
            For::PySpark => ScriptEngine::PySpark,
            For::DeltaRs => ScriptEngine::DeltaRs,
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A plan that `plan --out` wrote, also one that partwise does not write itself
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,
    /// The engine that will run it
    #[arg(long = "for", value_enum, value_name = "ENGINE")]
    engine: For,
    /// Write the script to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Let --out replace a file
    #[arg(long, requires = "out")]
    force: bool,
    /// Let a failed gate pass, and say why; the reason stands in the script
    #[arg(long = "override", value_name = "GATE=REASON", value_parser = parse_override)]
    overrides: Vec<(String, String)>,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let mut plan = plan_file::read(&args.plan)?;
    override_gates(&mut plan, &args.overrides);
    let engine = args.engine.engine();
    let text = script(&session.context, &plan, engine).await?;
    if let Some(file) = &args.out {
        plan_file::write_beside(&plan, file, &text, args.force)?;
    }
    Ok(Outcome::Done(match (session.json, &args.out) {
        (true, _) => Answer::json(&json!({"plan": plan.id, "engine": engine.name(), "script": text}))?,
        (false, Some(file)) => Answer::text(format!("the script for {} is in {}", engine.name(), file.display())),
        (false, None) => Answer::text(text),
    }))
}
