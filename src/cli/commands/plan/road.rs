//! The road from a plan to its end, for every command that has one:
//! overrides, verdict, file, confirmation, apply.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::cli::Session;
use crate::cli::args::SourceArgs;
use crate::cli::confirm::confirm;
use crate::cli::effect_rows::{EffectArgs, Looked};
use crate::cli::narrate::{say, write};
use crate::cli::output::{self, Answer};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::gate;
use crate::ops::prepare::EffectRows;
use crate::ops::{
    ApplyOptions, ApplyReport, At, OpenTable, OverwriteMode, Prepared, Strategy, apply, from_statement, plan_file,
    prepare,
};
use crate::plan::describe::DescribeRow;
use crate::plan::{GateStatus, Plan, Verdict};

/// Flags of everything that may end in a commit.
#[derive(Debug, Clone, clap::Args)]
pub struct ApplyArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Let a failed gate pass, and say why; the reason goes into the commit
    #[arg(long = "override", value_name = "GATE=REASON", value_parser = parse_override)]
    pub overrides: Vec<(String, String)>,
    /// Fail where the table moved, also where the commits in between are elsewhere
    #[arg(long)]
    pub strict: bool,
}

/// Flags of every kind of plan.
#[derive(Debug, Clone, clap::Args)]
pub struct PlanArgs {
    /// Write the plan to a file, for apply
    #[arg(long, value_name = "PLAN.json")]
    pub out: Option<PathBuf>,
    /// Carry the plan out
    #[arg(long)]
    pub apply: bool,
    #[command(flatten)]
    pub look: EffectArgs,
    #[command(flatten)]
    pub end: ApplyArgs,
}

impl PlanArgs {
    /// What can be refused before anything is read.
    pub fn check(&self, session: &Session) -> Result<()> {
        self.look.check()?;
        if self.apply { session.context.check_may_write() } else { Ok(()) }
    }
}

pub fn parse_override(text: &str) -> std::result::Result<(String, String), String> {
    let (gate, reason) = text.split_once('=').ok_or("write GATE=REASON")?;
    let (gate, reason) = (gate.trim(), reason.trim());
    if gate::find(gate).is_none() {
        let names: Vec<&str> = gate::ALL.iter().map(|g| g.name()).collect();
        return Err(format!("there is no gate '{gate}'; the gates are {}", names.join(", ")));
    }
    if reason.is_empty() {
        return Err("the reason is empty".into());
    }
    Ok((gate.to_owned(), reason.to_owned()))
}

/// What a command asks for.
pub enum Wanted {
    Strategy(Strategy),
    /// Whatever the statement in a file says; `-` is standard input.
    Sql {
        file: PathBuf,
        mode: Option<OverwriteMode>,
    },
}

/// Plans what is wanted of a delivered source, and goes on with the plan.
pub async fn from_source(
    session: &Session,
    table: &str,
    source: &SourceArgs,
    wanted: Wanted,
    args: &PlanArgs,
) -> Result<Answer> {
    args.check(session)?;
    // What is wrong with the arguments is said before anything is opened.
    if matches!(wanted, Wanted::Strategy(_)) {
        source.request()?;
    }
    let table = OpenTable::open(&session.context, table, At::Latest).await?;
    let (request, strategy) = match wanted {
        Wanted::Strategy(strategy) => (source.request()?, strategy),
        Wanted::Sql { file, mode } => {
            let sql = read_statement(&file)?;
            from_statement(&table, &sql, &source.bindings(), mode, source.options()).await?
        }
    };
    let prepared = prepare(&session.context, &table, &request, strategy, &session.progress).await?;
    carry_on(session, prepared, args).await
}

fn read_statement(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        return std::io::read_to_string(std::io::stdin())
            .context(ErrorKind::Usage, || "the statement cannot be read from standard input".into());
    }
    std::fs::read_to_string(file)
        .context(ErrorKind::Usage, || format!("the statement cannot be read from {}", file.display()))
}

/// From a fresh plan: print it, or carry it out where `--apply` asks for that.
pub async fn carry_on(session: &Session, prepared: Prepared, args: &PlanArgs) -> Result<Answer> {
    carry_on_described(session, prepared, args, &[]).await
}

/// As [`carry_on`]; shows the table's description before and after too.
pub async fn carry_on_described(
    session: &Session,
    prepared: Prepared,
    args: &PlanArgs,
    described: &[DescribeRow],
) -> Result<Answer> {
    let Prepared { mut plan, rows } = prepared;
    override_gates(&mut plan, &args.end.overrides);
    if let Some(file) = &args.out {
        plan_file::write(&plan, file, args.look.force)?;
    }
    let looked = look(session, &plan, rows.as_ref(), &args.look).await?;
    if args.apply && plan.verdict != Verdict::Blocked {
        session.narrator.hush();
        write(&(human(&plan, &looked) + &output::plan::description(described)));
        session.narrator.go_on();
        return finish(session, &plan, &args.end).await;
    }
    let answer = if session.json {
        let mut object = to_json(&plan, &looked)?;
        if !described.is_empty() {
            object["describe"] = serde_json::json!(described);
        }
        Answer::json(&object)?
    } else {
        Answer::text(human(&plan, &looked) + &output::plan::description(described))
    };
    Ok(answer.with_code(verdict_code(&plan)))
}

/// Confirms, applies and reports. Blocked plans do not come so far.
pub async fn finish(session: &Session, plan: &Plan, args: &ApplyArgs) -> Result<Answer> {
    session.context.check_may_write()?;
    check_ready(plan, args)?;
    if plan.verdict != Verdict::NoOp {
        confirm(session, plan, args.yes).await?;
    }
    // A plan from a file carries the overrides that it was made with.
    let stated = plan.gates.iter().filter_map(|g| Some((g.name.clone(), g.overridden.clone()?)));
    let overrides: BTreeMap<String, String> = stated.chain(args.overrides.iter().cloned()).collect();
    let options = ApplyOptions { overrides, strict: args.strict };
    let report = apply(&session.context, plan, &options, &session.progress).await?;
    let answer =
        if session.json { Answer::json(&report)? } else { Answer::text(output::report::render(&report, plan)) };
    Ok(answer.with_code(report_code(&report)))
}

/// The commit stands either way.
fn report_code(report: &ApplyReport) -> u8 {
    match report.version_after.is_some() && !report.verified {
        true => Error::new(ErrorKind::VerifyFailed, "").exit_code(),
        false => 0,
    }
}

pub fn override_gates(plan: &mut Plan, overrides: &[(String, String)]) {
    for (name, reason) in overrides {
        let failed = plan.gates.iter_mut().filter(|g| g.name == *name && g.status == GateStatus::Fail);
        failed.for_each(|gate| gate.overridden = Some(reason.clone()));
    }
    plan.settle();
}

/// What applying would refuse, said before anybody is asked to confirm.
///
/// # Errors
/// `GateFailed`, or the refusal's own kind, for a blocked plan; `Refused` for
/// an override of a gate that did not fail.
fn check_ready(plan: &Plan, args: &ApplyArgs) -> Result<()> {
    let blocking = plan.blocking();
    if let Some(gate) = blocking.first() {
        let names: Vec<&str> = blocking.iter().map(|g| g.name.as_str()).collect();
        return Err(Error::new(ErrorKind::GateFailed, format!("{} failed: {}", names.join(", "), gate.message))
            .hint(format!("Correct the source, or give a reason: --override {}=REASON.", gate.name)));
    }
    if let Some(refusal) = plan.refusals.first() {
        let mut error = Error::new(refusal.kind, refusal.message.as_str());
        error.hint = refusal.hint.clone();
        return Err(error);
    }
    let failed = |name: &str| plan.gates.iter().any(|g| g.name == name && g.status == GateStatus::Fail);
    match args.overrides.iter().find(|(name, _)| !failed(name)) {
        Some((name, _)) => Err(Error::new(ErrorKind::Refused, format!("the gate {name} did not fail"))
            .hint(format!("Leave out --override {name}=…"))),
        None => Ok(()),
    }
}

/// A failed gate exits with 3; a plan that is only refused exits with 5.
fn verdict_code(plan: &Plan) -> u8 {
    let kind = match plan.verdict {
        Verdict::Ready | Verdict::NoOp => return 0,
        Verdict::Blocked if !plan.blocking().is_empty() => ErrorKind::GateFailed,
        Verdict::Blocked => ErrorKind::Refused,
    };
    Error::new(kind, "").exit_code()
}

/// Rows of effects, as far as the plan has any to look at.
async fn look(session: &Session, plan: &Plan, rows: Option<&EffectRows>, args: &EffectArgs) -> Result<Looked> {
    if let Some(rows) = rows {
        return args.look(rows, &session.progress).await;
    }
    if plan.spec.rows().is_none() && !args.export.is_empty() {
        let versions = plan
            .spec
            .kind()
            .brings_back()
            .map_or("--from N --to M".to_owned(), |(to, _)| format!("--from {} --to {to}", plan.version));
        return Err(Error::new(
            ErrorKind::Usage,
            format!("a plan to {} exchanges whole files and has no rows to export", plan.operation),
        )
        .hint(format!("partwise diff TABLE {versions} --export EFFECT=FILE exports what differs.")));
    }
    if !args.export.is_empty() {
        say("nothing was exported: the plan was refused before rows were compared");
    }
    Ok(args.nothing())
}

fn human(plan: &Plan, looked: &Looked) -> String {
    let rows = if output::plan::uncompared(plan) { String::new() } else { looked.render() };
    output::plan::render(plan) + &rows
}

/// The contract's plan object, with the rows that were asked for beside it.
fn to_json(plan: &Plan, looked: &Looked) -> Result<Json> {
    let mut object = plan_file::to_json(plan)?;
    looked.add_to(&mut object);
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_does_not_verify_ends_with_seven() {
        let report = |version_after, verified| ApplyReport {
            plan: "p".into(),
            version_before: 1,
            version_after,
            rebased_over: Vec::new(),
            rows_written: 0,
            files_added: 0,
            files_removed: 0,
            verified,
            mismatches: Vec::new(),
            warnings: Vec::new(),
            undo: None,
            undo_until: None,
        };
        assert_eq!(report_code(&report(Some(2), false)), 7);
        assert_eq!(report_code(&report(Some(2), true)), 0);
        assert_eq!(report_code(&report(None, false)), 0, "no commit was made");
    }
}
