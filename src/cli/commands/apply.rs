//! `partwise apply`

use std::path::{Path, PathBuf};

use super::plan::road::{ApplyArgs, finish, override_gates};
use crate::cli::narrate::write;
use crate::cli::output;
use crate::cli::{Outcome, Session};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::plan::{PLAN_SCHEMA, Plan};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A plan that `plan --out` wrote
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,
    #[command(flatten)]
    end: ApplyArgs,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    session.context.check_may_write()?;
    let mut plan = read_plan(&args.plan)?;
    override_gates(&mut plan, &args.end.overrides);
    write(&output::plan::render(&plan));
    finish(session, &plan, &args.end).await.map(Outcome::Done)
}

pub(super) fn read_plan(file: &Path) -> Result<Plan> {
    let text = std::fs::read_to_string(file)
        .context(ErrorKind::BadPlan, || format!("cannot read the plan {}", file.display()))?;
    let bad = |said: String| {
        Error::new(ErrorKind::BadPlan, format!("{} is no plan: {said}", file.display()))
            .hint("partwise plan … --out FILE writes one.")
    };
    // The schema is looked at first: another one explains every other difference.
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
    match json.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(PLAN_SCHEMA) => {}
        Some(schema) => return Err(bad(format!("it has schema {schema}, this program writes {PLAN_SCHEMA}"))),
        None => return Err(bad("it has no schema number".into())),
    }
    serde_json::from_value(json).map_err(|e| bad(e.to_string()))
}
