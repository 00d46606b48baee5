//! The demo's table and plans, made by hand: one restated period of three
//! rows, of which one was reversed at the source.

use partwise::error::ErrorKind;
use partwise::gate::{Evidence, Thresholds};
use partwise::ops::context::TableSettings;
use partwise::ops::discover::SummaryFacts;
use partwise::ops::prepare::{DiffPage, DiffRow};
use partwise::ops::{ApplyReport, TableSummary};
use partwise::plan::advice::{Delivery, DeliveryKind};
use partwise::plan::algebra::FileExchange;
use partwise::plan::append::Append;
use partwise::plan::kinds::RowSpec;
use partwise::plan::merge::Merge;
use partwise::plan::overwrite::{Mode, Overwrite};
use partwise::plan::replace_where::ReplaceWhere;
use partwise::plan::technical::TechnicalProposal;
use partwise::plan::undo::{Undo, UndoRows};
use partwise::plan::{
    Effect, FileTotals, GateResult, GateStatus, KeyFacts, LayoutChange, Plan, PlanPartition, Refusal, Role, RowTotals,
    SourceFacts, Spec, Verdict, Written,
};
use partwise::table::history::{FileChange, Restorable, Touched};
use partwise::table::partition::RowCount;
use partwise::table::{Commit, Metadata, PartitionStats, PartitionTuple, Protocol, Schema, Value};
use partwise::tui::msg::{Compared, TableInfo};
use serde_json::json;

use super::driver::NOW;

pub const NAME: &str = "gold.working_capital";
pub const LOCATION: &str = "/lake/gold.working_capital";
const HOUR: i64 = 3_600_000;

pub fn partition(value: Value, rows: u64, version: u64) -> PartitionStats {
    let mut stats = PartitionStats::new(PartitionTuple(vec![value]));
    stats.rows = RowCount { known: rows, unknown_files: 0 };
    stats.files = 1;
    stats.bytes = 600 + rows * 70;
    stats.last_modified = Some(NOW - 2 * HOUR);
    stats.last_version = Some(version);
    stats
}

/// Twelve periods, one with NULL and one with the empty string.
pub fn periods() -> Vec<PartitionStats> {
    let mut periods: Vec<PartitionStats> = (1..=12)
        .map(|n| partition(Value::String(format!("2026{n:03}")), if n == 6 { 3 } else { 80 + 5 * n }, n))
        .collect();
    periods.insert(0, partition(Value::Null, 4, 13));
    periods.insert(1, partition(Value::String(String::new()), 2, 13));
    periods
}

pub fn info() -> TableInfo {
    let schema = json!({"type": "struct", "fields": [
        {"name": "fiscal_period", "type": "string", "nullable": true, "metadata": {}},
        {"name": "company_code", "type": "string", "nullable": true, "metadata": {}},
        {"name": "doc_number", "type": "long", "nullable": false, "metadata": {}},
        {"name": "amount", "type": "decimal(18,2)", "nullable": true, "metadata": {"comment": "in company currency"}}
    ]});
    let mut settings = TableSettings {
        known: Default::default(),
        thresholds: Thresholds::default(),
        global: Thresholds::default(),
        engine: Default::default(),
        layout: Default::default(),
    };
    settings.known.key = vec!["doc_number".into()];
    TableInfo {
        name: NAME.into(),
        location: LOCATION.into(),
        version: 14,
        metadata: Metadata {
            id: "8a3f0c5e-0000-4000-8000-000000000001".into(),
            name: None,
            description: Some("Postings by fiscal period".into()),
            schema: Schema::parse(&schema.to_string()).unwrap(),
            partition_columns: vec!["fiscal_period".into()],
            configuration: vec![("delta.logRetentionDuration".into(), "interval 30 days".into())],
            created_time: None,
            raw: Default::default(),
        },
        protocol: Protocol { min_reader: 1, min_writer: 2, reader_features: None, writer_features: None },
        committed_at: NOW - 2 * HOUR,
        settings,
    }
}

pub fn summaries() -> Vec<TableSummary> {
    let facts = |partitions: Vec<PartitionStats>, column: &str, gaps: Vec<String>, hours: i64| SummaryFacts {
        version: 14,
        rows: RowCount { known: partitions.iter().map(|p| p.rows.known).sum(), unknown_files: 0 },
        bytes: partitions.iter().map(|p| p.bytes).sum(),
        files: partitions.len() as u64,
        partition_columns: if column.is_empty() { Vec::new() } else { vec![column.into()] },
        partitions,
        last_commit: NOW - hours * HOUR,
        last_operation: Some("WRITE".into()),
        gaps,
    };
    let table = |name: &str, facts| TableSummary { name: name.into(), location: format!("/lake/{name}"), facts };
    let mut unknown = facts(days(), "dt", vec!["2026-08-12".into(), "2026-08-13".into()], 30);
    unknown.rows.unknown_files = 2;
    vec![
        table(NAME, Ok(facts(periods(), "fiscal_period", Vec::new(), 2))),
        table("gold.daily_sales", Ok(unknown)),
        table("bronze.events", Err(String::new())),
        table("bronze.broken", Err("commit 7 is cut off".into())),
    ]
}

/// A summer of days with two gaps and one low day.
pub fn days() -> Vec<PartitionStats> {
    let first = 20_605; // 2026-06-01
    (0..61)
        .filter(|n| ![42, 43].contains(n))
        .map(|n| {
            partition(Value::Date(first + n), if n == 50 { 9 } else { 100 + 10 * (n as u64 % 7) }, 1 + n as u64 / 4)
        })
        .collect()
}

fn gate(name: &str, status: GateStatus, message: &str) -> GateResult {
    GateResult {
        name: name.into(),
        status,
        observed: json!(2),
        threshold: "at least 90 % of the present rows".into(),
        message: message.into(),
        partitions: Vec::new(),
        overridden: None,
    }
}

struct Numbers {
    id: &'static str,
    after: u64,
    deleted: u64,
    zombies: u64,
    amount_after: &'static str,
}

fn plan(spec: Spec, n: Numbers) -> Plan {
    let values = serde_json::Map::from_iter([("fiscal_period".to_owned(), json!("2026006"))]);
    let measures =
        serde_json::Map::from_iter([("amount".to_owned(), json!({"before": "1400", "after": n.amount_after}))]);
    let mut plan = Plan {
        compared: true,
        schema: 1,
        id: n.id.into(),
        operation: spec.operation().into(),
        spec,
        table: LOCATION.into(),
        table_id: "8a3f0c5e".into(),
        version: 14,
        engine: "local".into(),
        created_at: "2026-11-30T00:00:00Z".into(),
        partition_columns: vec!["fiscal_period".into()],
        source: Some(SourceFacts {
            content: None,
            uri: "staging/2026006.parquet".into(),
            format: "parquet".into(),
            files: 1,
            fingerprint: "f".into(),
        }),
        key: vec!["doc_number".into()],
        slice: Some("fiscal_period=2026006".into()),
        rows: RowTotals {
            source: 2,
            slice_before: 3,
            slice_after: n.after,
            table_before: Some(1359),
            table_after: Some(1356 + n.after),
            updated: Some(1),
            unchanged: 1,
            deleted: n.deleted,
            zombies: n.zombies,
            ..RowTotals::default()
        },
        keys: KeyFacts { existing: 2, elsewhere: Some(0), ..KeyFacts::default() },
        partitions: vec![PlanPartition {
            values,
            role: Role::Intended,
            raw: vec![Some("2026006".into())],
            before: 3,
            source: 2,
            after: n.after,
            inserted: 0,
            updated: Some(1),
            unchanged: 1,
            deleted: n.deleted,
            zombies: n.zombies,
            files_before: 1,
            bytes_before: 1234,
            measures,
            written: Written { rows: n.after, checksum: "00".into() },
            ..PlanPartition::default()
        }],
        untouched_partitions: 11,
        files: FileTotals { removed: 1, removed_bytes: 1234, restored: 0, rows_rewritten_unchanged: 1 },
        layout: LayoutChange::default(),
        gates: vec![
            gate("empty-source", GateStatus::Pass, "2 rows were delivered"),
            gate("row-count", GateStatus::Warn, "2026006: 2 of 3 rows (−1 row)"),
            gate("duplicate-keys", GateStatus::Pass, "every key occurs once"),
            gate("null-keys", GateStatus::Pass, "no key is NULL"),
        ],
        verdict: Verdict::Ready,
        advice: Vec::new(),
        findings: Vec::new(),
        refusals: Vec::new(),
        metadata_changes: Vec::new(),
    };
    plan.advice = partwise::plan::advice::advice(&plan);
    plan.settle();
    assert_eq!(partwise::plan::arithmetic::violations(&plan), Vec::<String>::new());
    plan
}

fn rows() -> RowSpec {
    RowSpec {
        source: "staging/2026006.parquet".into(),
        key: vec!["doc_number".into()],
        measures: vec!["amount".into()],
        hash_seed: 1,
        ..RowSpec::default()
    }
}

pub fn merge(delete_missing: bool) -> Plan {
    let spec = Spec::Merge(Merge::upsert(rows(), false, delete_missing));
    if delete_missing {
        plan(spec, Numbers { id: "plan-md", after: 2, deleted: 1, zombies: 0, amount_after: "750" })
    } else {
        plan(spec, Numbers { id: "plan-m", after: 3, deleted: 0, zombies: 1, amount_after: "1450" })
    }
}

pub fn overwrite() -> Plan {
    let spec = Spec::Overwrite(Overwrite { mode: Mode::Dynamic, rows: rows() });
    plan(spec, Numbers { id: "plan-o", after: 2, deleted: 1, zombies: 0, amount_after: "750" })
}

/// An overwrite that a gate stops.
pub fn blocked() -> Plan {
    let mut plan = overwrite();
    plan.gates[1] = gate("row-count", GateStatus::Fail, "2026006: 2 rows where there are 300");
    plan.settle();
    assert_eq!(plan.verdict, Verdict::Blocked);
    plan
}

pub fn compared() -> Compared {
    let (merge, with_delete, overwrite) = (merge(false), merge(true), overwrite());
    let delivery =
        Delivery { kind: DeliveryKind::FullSlice, key_coverage: 0.6667, changed_share: 0.5, ..Delivery::default() };
    let (_, because) = partwise::plan::advice::recommend(&delivery, &overwrite, &merge);
    Compared {
        evidence: vec![Evidence::default(); 3],
        plans: vec![merge, with_delete, overwrite],
        recommended: Some(2),
        because,
        delivery: Some(delivery),
        technical: None,
    }
}

/// Six strategies, of which the fifth and sixth do not fit beside the others on
/// a small screen.
pub fn six() -> Compared {
    let mut compared = compared();
    let where_ = Spec::ReplaceWhere(ReplaceWhere { predicate: "t.fiscal_period = '2026006'".into(), rows: rows() });
    compared.plans.push(plan(where_, Numbers { id: "plan-w", after: 2, deleted: 1, zombies: 0, amount_after: "750" }));
    let insert_only = Spec::Merge(Merge::insert_only(rows(), false));
    let mut late = plan(insert_only, Numbers { id: "plan-i", after: 3, deleted: 0, zombies: 1, amount_after: "1400" });
    late.rows.updated = Some(0);
    late.rows.unchanged = 0;
    late.rows.kept = 2;
    late.partitions[0].updated = Some(0);
    late.partitions[0].unchanged = 0;
    late.partitions[0].kept = 2;
    late.partitions[0].written.rows = 0;
    late.settle();
    compared.plans.push(late);
    compared.plans.push(append());
    compared
}

/// A plan that three partitions need a look in.
pub fn alarming() -> Compared {
    let mut compared = compared();
    let plan = &mut compared.plans[2];
    let one = plan.partitions[0].clone();
    for (period, role) in [
        ("2026003", Role::Left),
        ("2026004", Role::Intended),
        ("2026008", Role::Emptied),
        ("2026099", Role::Unexpected),
    ] {
        let mut other = one.clone();
        other.values = serde_json::Map::from_iter([("fiscal_period".to_owned(), json!(period))]);
        other.role = role;
        plan.partitions.push(other);
    }
    compared.technical = Some(TechnicalProposal {
        columns: vec!["company_code".into()],
        only_these: 1,
        updated: 1,
        because: "Every one of the 1 changed rows differs only in company_code.".into(),
    });
    compared
}

/// Takes an operation back that had left two of three rows.
pub fn undo() -> Plan {
    let files = FileExchange { remove: Vec::new(), add: Vec::new() };
    let spec = Spec::Undo(Undo {
        undoes: "plan-o".into(),
        undoes_version: 14,
        files,
        metadata: false,
        same_rows: false,
        switches: false,
        breakers: Vec::new(),
    });
    plan(spec, Numbers { id: "plan-u", after: 3, deleted: 0, zombies: 0, amount_after: "1450" })
}

pub fn undo_by_rows() -> Plan {
    let spec = Spec::UndoRows(UndoRows { undoes: "plan-o".into(), undoes_version: 14, rows: rows() });
    plan(spec, Numbers { id: "plan-r", after: 3, deleted: 0, zombies: 0, amount_after: "1450" })
}

pub fn append() -> Plan {
    plan(
        Spec::Append(Append { rows: rows() }),
        Numbers { id: "plan-a", after: 3, deleted: 0, zombies: 0, amount_after: "1450" },
    )
}

/// A comparison of a source that lacks a column: no strategy has numbers.
pub fn refused() -> Compared {
    let mut compared = compared();
    for plan in &mut compared.plans {
        plan.rows = RowTotals::default();
        plan.partitions.clear();
        plan.slice = None;
        plan.gates.clear();
        plan.refusals =
            vec![Refusal { kind: ErrorKind::Usage, message: "the source lacks the column amount".into(), hint: None }];
        plan.settle();
    }
    compared.recommended = None;
    compared.because = "the source lacks the column amount".into();
    compared
}

/// The row of an effect in the restated period.
pub fn diff(effect: Effect) -> DiffPage {
    let row = |doc: i64, cents: i128| {
        vec![
            Value::String("2026006".into()),
            Value::String("1000".into()),
            Value::Int(doc),
            Value::Decimal { unscaled: cents, scale: 2 },
        ]
    };
    let (old, new, changed) = match effect {
        Effect::Updated => (Some(row(100, 45_000)), Some(row(100, 50_000)), vec![3]),
        Effect::Unchanged => (Some(row(101, 25_000)), Some(row(101, 25_000)), Vec::new()),
        Effect::Inserted | Effect::Ignored => (None, Some(row(103, 100)), Vec::new()),
        Effect::Deleted | Effect::Zombies | Effect::Kept => (Some(row(102, 70_000)), None, Vec::new()),
    };
    DiffPage {
        columns: ["fiscal_period", "company_code", "doc_number", "amount"].map(str::to_owned).to_vec(),
        rows: vec![DiffRow { effect, old, new, changed, last_version: Some(3) }],
        total: 1,
    }
}

pub fn report() -> ApplyReport {
    ApplyReport {
        plan: "plan-o".into(),
        version_before: 14,
        version_after: Some(15),
        rebased_over: Vec::new(),
        rows_written: 2,
        files_added: 1,
        files_removed: 1,
        verified: true,
        mismatches: Vec::new(),
        warnings: Vec::new(),
        undo: Some("partwise undo gold.working_capital".into()),
        undo_until: None,
    }
}

pub fn history() -> Vec<Commit> {
    let commit = |version: u64, operation: &str, rows: u64, period: &str, restorable| Commit {
        version,
        timestamp: NOW - i64::try_from(15 - version).unwrap() * 24 * HOUR,
        info: Some(serde_json::Map::from_iter([
            ("operation".to_owned(), json!(operation)),
            ("userName".to_owned(), json!("etl")),
        ])),
        touched: vec![Touched {
            columns: vec!["fiscal_period".into()],
            partitions: vec![PartitionTuple(vec![Value::String(period.into())])],
        }],
        switches: false,
        added: FileChange { files: 1, bytes: 1234, rows: Some(rows) },
        removed: FileChange { files: 0, bytes: 0, rows: Some(0) },
        changes_metadata: false,
        changes_protocol: false,
        restorable,
        restorable_until: None,
    };
    vec![
        commit(14, "MERGE", 40, "2026012", Some(Restorable::Yes)),
        Commit {
            restorable_until: Some(NOW + 3 * 24 * HOUR),
            ..commit(9, "WRITE", 900, "2026006", Some(Restorable::Yes))
        },
        Commit { restorable_until: Some(NOW - HOUR), ..commit(8, "WRITE", 800, "2026006", Some(Restorable::Yes)) },
        commit(3, "WRITE", 12, "2026006", Some(Restorable::FilesGone(2))),
    ]
}
