//! Plans made by hand, for the gates' tests.

use serde_json::{Map, json};

use super::{Evidence, Finding, Gate, Thresholds};
use crate::plan::append::Append;
use crate::plan::kinds::RowSpec;
use crate::plan::layouts::breakers::{Breaker, BreakerKind};
use crate::plan::merge::Merge;
use crate::plan::overwrite::{Mode, Overwrite};
use crate::plan::relayout::{Order, Shape};
use crate::plan::repartition::Repartition;
use crate::plan::undo::UndoRows;
use crate::plan::{GateStatus, Plan, PlanPartition, Role, Spec, Verdict};

pub fn overwrite() -> Plan {
    plan(Spec::Overwrite(Overwrite { mode: Mode::Dynamic, rows: RowSpec::default() }))
}

pub fn append() -> Plan {
    plan(Spec::Append(Append { rows: RowSpec::default() }))
}

pub fn merge() -> Plan {
    plan(Spec::Merge(Merge::upsert(RowSpec::default(), false, false)))
}

pub fn undo() -> Plan {
    plan(Spec::UndoRows(UndoRows { undoes: "o".into(), undoes_version: 1, rows: RowSpec::default() }))
}

/// A switch from `p` to `q`; `danger`: beside a job that it would stop.
pub fn switch(danger: bool) -> Plan {
    let job = Breaker {
        kind: BreakerKind::PartitionBy,
        version: Some(4),
        timestamp: Some(0),
        commits: 2,
        who: "nightly".into(),
        effect: "stops".into(),
        collateral: None,
        danger,
    };
    plan(Spec::Repartition(Repartition {
        from: vec!["p".into()],
        by: vec!["q".into()],
        added: Vec::new(),
        protocol: None,
        shape: Shape::FilesPerPartition(1),
        order: Order::None,
        breakers: vec![job],
        estimate: None,
        undoes: None,
    }))
}

/// A plan for a table that is partitioned by `p`, with nothing in it yet.
fn plan(spec: Spec) -> Plan {
    Plan {
        key: vec!["id".into()],
        partition_columns: vec!["p".into()],
        verdict: Verdict::Ready,
        version: 1,
        created_at: "2026-06-30T12:00:00.000Z".into(),
        ..Plan::blank(spec)
    }
}

/// A partition `p=value` that has `before` rows and is delivered with `source`.
pub fn partition(value: &str, role: Role, before: u64, source: u64) -> PlanPartition {
    PlanPartition {
        values: Map::from_iter([("p".to_owned(), json!(value))]),
        raw: vec![Some(value.to_owned())],
        role,
        before,
        source,
        after: source,
        files_before: before.min(1),
        ..PlanPartition::default()
    }
}

/// The plan with a stated slice.
pub fn sliced(mut plan: Plan) -> Plan {
    match &mut plan.spec {
        Spec::Overwrite(kind) => kind.rows.slice = Some("p > 'a'".into()),
        Spec::ReplaceWhere(kind) => kind.rows.slice = Some("p > 'a'".into()),
        Spec::Scd2(kind) => kind.rows.slice = Some("p > 'a'".into()),
        Spec::Append(kind) => kind.rows.slice = Some("p > 'a'".into()),
        Spec::Merge(kind) => kind.rows.slice = Some("p > 'a'".into()),
        Spec::Restore(_) | Spec::RestoreRows(_) | Spec::Undo(_) | Spec::UndoRows(_) | Spec::Vacuum(_) => {}
        Spec::Repartition(_) | Spec::Optimize(_) => {}
    }
    plan
}

/// What the gate says with the default thresholds; it must have something to judge.
#[track_caller]
pub fn judged(gate: &dyn Gate, plan: &Plan, evidence: &Evidence) -> Finding {
    let finding = gate.judge(plan, evidence, &Thresholds::default());
    finding.unwrap_or_else(|| panic!("{} has nothing to judge", gate.name()))
}

#[track_caller]
pub fn says(gate: &dyn Gate, plan: &Plan, evidence: &Evidence, status: GateStatus, words: &str) {
    let finding = judged(gate, plan, evidence);
    assert_eq!(finding.status, status, "{}", finding.message);
    assert!(finding.message.contains(words), "{words}: {}", finding.message);
}

pub fn silent(gate: &dyn Gate, plan: &Plan, evidence: &Evidence) -> bool {
    gate.judge(plan, evidence, &Thresholds::default()).is_none()
}
