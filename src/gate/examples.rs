//! Each gate passes, warns and fails: one example of each, by the gate's name.

use serde_json::{Map, json};

use super::evidence::{
    AppliedBefore, GrainFacts, GrainPartition, GroupFacts, LaterChanges, NearDuplicates, PartitionHistory, Space,
    VersionRows,
};
use super::testing::{append, merge, overwrite, partition, sliced, switch, undo};
use super::{Evidence, Severity, Thresholds};
use crate::plan::kinds::Class;
use crate::plan::merge::Merge;
use crate::plan::{GateStatus, KeyFacts, LayoutChange, Plan, PlanPartition, Role, SidePair, Spec, Written};
use crate::table::{PartitionTuple, Value};

type Facts = (Plan, Evidence);

/// Facts of which a gate has nothing to say against, some that it warns of or
/// that its severity softens, and some that it fails.
struct Example {
    pass: Facts,
    /// `None` where the gate itself only passes or fails: the config's `warn`
    /// then softens the failure.
    warn: Option<Facts>,
    fail: Facts,
}

fn of(pass: Facts, warn: Option<Facts>, fail: Facts) -> Example {
    Example { pass, warn, fail }
}

fn plain(plan: Plan) -> Facts {
    (plan, Evidence::default())
}

fn one(mut plan: Plan, role: Role, before: u64, source: u64) -> Plan {
    plan.partitions = vec![PlanPartition { inserted: source, ..partition("a", role, before, source) }];
    plan
}

fn with_keys(mut plan: Plan, change: impl FnOnce(&mut KeyFacts)) -> Plan {
    change(&mut plan.keys);
    plan
}

fn delivered(mut plan: Plan, rows: u64) -> Plan {
    plan.rows.source = rows;
    plan
}

fn merge_delete() -> Plan {
    let mut plan = merge();
    if let Spec::Merge(kind) = &mut plan.spec {
        *kind = Merge::upsert(kind.rows.clone(), false, true);
    }
    assert_eq!(plan.spec.kind().class(), Class::MergeDelete);
    plan
}

fn measured(after: &str) -> Plan {
    let sums = json!({"before": "100", "after": after});
    let mut plan = one(overwrite(), Role::Intended, 9, 9);
    plan.partitions[0].measures = Map::from_iter([("amount".to_owned(), sums)]);
    plan
}

fn sizes(sizes: &[u64]) -> Plan {
    Plan { partitions: sizes.iter().map(|n| partition("a", Role::Intended, *n, *n)).collect(), ..append() }
}

fn scattered(rows: u64) -> Plan {
    let written = Written { rows, checksum: String::new() };
    let each = PlanPartition { bytes_before: 100_000, written, ..partition("a", Role::Intended, 1_000, rows) };
    Plan { partitions: vec![each; 60], ..append() }
}

fn grown(after: u64) -> Plan {
    let mut plan = append();
    let layout = |partitions| crate::plan::Layout { partitions, files: None };
    plan.layout = LayoutChange { before: layout(9), after: layout(after) };
    plan
}

fn days(source: u64) -> Evidence {
    let only_in_target = 20 - source;
    let facts = GrainPartition {
        label: "p=a".into(),
        source_days: source,
        target_days: 20,
        days_only_in_target: only_in_target,
        rows_lost: 50 * only_in_target,
        rows_lost_on_absent_days: 50 * only_in_target,
    };
    let grain = vec![GrainFacts { column: "day".into(), partitions: vec![facts], uncounted: 0 }];
    Evidence { grain, ..Evidence::default() }
}

fn new(value: &str) -> Evidence {
    let tuple = |text: &str| PartitionTuple(vec![Value::String(text.into())]);
    let known_partitions = (1..=12).map(|n| tuple(&format!("2026-{n:02}"))).collect();
    Evidence { new_partitions: vec![tuple(value)], known_partitions, ..Evidence::default() }
}

fn group(source: u64) -> Evidence {
    let values = vec![("1000".to_owned(), 5, source)];
    let facts = GroupFacts { column: "company".into(), configured: true, values, overflow: false };
    Evidence { groups: vec![facts], ..Evidence::default() }
}

fn usual() -> Evidence {
    let had = |version, rows| VersionRows { version, rows, before: Some(0) };
    let versions = vec![had(3, 100), had(2, 101), had(1, 99)];
    let history = PartitionHistory { label: "p=a".into(), now: Some(100), versions };
    Evidence { row_history: vec![history], ..Evidence::default() }
}

fn free(free_bytes: u64) -> Evidence {
    Evidence { space: Some(Space { staged_bytes: 1_000_000_000, free_bytes }), ..Evidence::default() }
}

fn leaving(zombies: u64) -> Facts {
    let mut plan = one(merge(), Role::Intended, 9, 8);
    plan.partitions[0].zombies = zombies;
    (plan, Evidence { delivery_full_slice: Some(true), ..Evidence::default() })
}

fn example(gate: &str) -> Option<Example> {
    let none = Evidence::default;
    let searched = || Evidence { elsewhere_searched: true, ..none() };
    Some(match gate {
        "empty-source" => of(plain(delivered(overwrite(), 5)), None, plain(overwrite())),
        "row-count" => of(
            plain(one(overwrite(), Role::Intended, 1_000, 1_000)),
            Some(plain(one(overwrite(), Role::Intended, 1_000, 950))),
            plain(one(overwrite(), Role::Intended, 1_000, 500)),
        ),
        "row-count-history" => of(
            (one(overwrite(), Role::Intended, 100, 100), usual()),
            None,
            (one(overwrite(), Role::Intended, 100, 20), usual()),
        ),
        "expected-rows" => {
            let expected = || Evidence { expected_rows: Some(5), ..none() };
            of((delivered(append(), 5), expected()), None, (delivered(append(), 4), expected()))
        }
        "operation-column" => {
            let feed = || Evidence { operation_column: Some("op".into()), ..none() };
            let mut merged = merge();
            if let Spec::Merge(kind) = &mut merged.spec {
                kind.rows.view.operations =
                    Some(crate::plan::view::OperationColumn { column: "op".into(), codes: Vec::new() });
            }
            of((merged, feed()), None, (overwrite(), feed()))
        }
        "vanished-group" => of((overwrite(), group(5)), None, (overwrite(), group(0))),
        "missing-slice" => of(
            plain(sliced(one(overwrite(), Role::Intended, 9, 9))),
            Some(plain(sliced(one(merge(), Role::Left, 9, 0)))),
            plain(sliced(one(overwrite(), Role::Left, 9, 0))),
        ),
        "unexpected-partition" => of(
            plain(sliced(one(overwrite(), Role::Intended, 9, 9))),
            Some(plain(sliced(one(append(), Role::Unexpected, 9, 1)))),
            plain(sliced(one(overwrite(), Role::Unexpected, 9, 1))),
        ),
        "deletes-outside-slice" => {
            let mut outside = one(merge_delete(), Role::Touched, 9, 0);
            outside.partitions[0].deleted = 9;
            of(plain(one(merge_delete(), Role::Intended, 9, 9)), None, plain(outside))
        }
        "grain" => of(
            (one(overwrite(), Role::Intended, 1_000, 1_000), days(20)),
            None,
            (one(overwrite(), Role::Intended, 1_000, 50), days(1)),
        ),
        "zombies" => of(leaving(0), None, leaving(1)),
        "duplicate-keys" => of(
            plain(overwrite()),
            Some(plain(with_keys(overwrite(), |k| k.duplicates.target = 1))),
            plain(with_keys(overwrite(), |k| k.duplicates = SidePair { source: 1, target: 0 })),
        ),
        "null-keys" => of(
            plain(overwrite()),
            Some(plain(with_keys(overwrite(), |k| k.nulls.target = 1))),
            plain(with_keys(overwrite(), |k| k.nulls.source = 1)),
        ),
        "near-duplicate-keys" => {
            let near = |rows| Evidence {
                near_duplicates: Some(NearDuplicates { rows, ..NearDuplicates::default() }),
                ..none()
            };
            of((merge(), near(0)), None, (merge(), near(2)))
        }
        "keys-elsewhere" => of(
            (with_keys(merge(), |k| k.elsewhere = Some(0)), searched()),
            // A MERGE without a partition column in its key moves the rows.
            Some((with_keys(merge(), |k| k.elsewhere = Some(3)), searched())),
            (with_keys(overwrite(), |k| k.elsewhere = Some(3)), searched()),
        ),
        "null-partition" => {
            let nulls = |null_partition_rows| Evidence { null_partition_rows, ..none() };
            of((append(), nulls(0)), None, (append(), nulls(1)))
        }
        "new-partition" => of((append(), new("2027-01")), None, (append(), new("2062-01"))),
        "measure-drift" => of(plain(measured("101")), None, plain(measured("10"))),
        "too-many-partitions" => of(plain(grown(10_000)), None, plain(grown(10_001))),
        "small-files" => of(plain(scattered(100_000)), None, plain(scattered(1))),
        "skew" => of(plain(sizes(&[90_000, 100_000, 900_000])), None, plain(sizes(&[1, 2, 900_000]))),
        "already-applied" => {
            let before = |applied_before| Evidence { applied_before, ..none() };
            of(
                (append(), before(AppliedBefore::No)),
                Some((append(), before(AppliedBefore::NotSince(7)))),
                (append(), before(AppliedBefore::Yes(7))),
            )
        }
        "space" => {
            of((append(), free(9_000_000_000)), Some((append(), free(1_500_000_000))), (append(), free(500_000_000)))
        }
        "later-changes" => {
            let later = |rows| {
                let examples = vec!["id=7".to_owned()];
                Evidence { later_changes: Some(LaterChanges { rows, examples }), ..none() }
            };
            of((undo(), later(0)), None, (undo(), later(1)))
        }
        "breaking-writers" => of(plain(switch(false)), None, plain(switch(true))),
        _ => return None,
    })
}

/// The gate's result among those of the whole judgement.
fn status(gate: &str, facts: &Facts, severity: Option<Severity>) -> Option<GateStatus> {
    let mut thresholds = Thresholds::default();
    thresholds.severity.extend(severity.map(|s| (gate.to_owned(), s)));
    let results = super::judge(&facts.0, &facts.1, &thresholds);
    results.into_iter().find(|r| r.name == gate).map(|r| r.status)
}

#[test]
fn every_gate_passes_warns_fails_and_can_be_switched_off() {
    for gate in super::ALL {
        let name = gate.name();
        let Some(Example { pass, warn, fail }) = example(name) else { panic!("no example of the gate {name}") };
        let fails = Some(Severity::Fail);
        assert_eq!(status(name, &pass, fails), Some(GateStatus::Pass), "{name} passes");
        assert_eq!(status(name, &fail, fails), Some(GateStatus::Fail), "{name} fails");
        assert_eq!(status(name, &fail, Some(Severity::Warn)), Some(GateStatus::Warn), "{name} is softened");
        assert_eq!(status(name, &fail, Some(Severity::Off)), None, "{name} is off");
        if let Some(warn) = warn {
            assert_eq!(status(name, &warn, None), Some(GateStatus::Warn), "{name} warns");
        }
    }
}

/// What the project's table of gates asks for, gate by gate: overwrite, append,
/// MERGE, MERGE with delete, repartition, restore.
#[test]
fn severities_are_those_of_the_table_of_gates() {
    let table = [
        ("row-count", "fail off off fail off warn"),
        ("row-count-history", "warn warn off off off off"),
        ("expected-rows", "fail fail fail fail off off"),
        ("vanished-group", "fail off off fail off off"),
        ("empty-source", "fail off off fail off off"),
        ("missing-slice", "fail off warn warn off off"),
        ("unexpected-partition", "fail warn warn warn off off"),
        ("new-partition", "warn warn warn warn off off"),
        ("grain", "fail off off fail off off"),
        ("duplicate-keys", "fail warn fail fail off off"),
        ("null-keys", "fail warn fail fail off off"),
        ("near-duplicate-keys", "warn warn warn warn off off"),
        ("keys-elsewhere", "fail warn fail fail off off"),
        ("null-partition", "warn warn warn warn warn off"),
        ("zombies", "off off fail fail off off"),
        ("measure-drift", "warn off warn warn off warn"),
        ("already-applied", "off fail fail fail off off"),
        ("too-many-partitions", "warn warn warn warn fail off"),
        ("small-files", "warn warn warn warn warn off"),
        ("skew", "warn warn warn warn warn off"),
        ("space", "fail fail fail fail fail fail"),
        // Of our own.
        ("operation-column", "fail fail fail fail off off"),
        ("deletes-outside-slice", "off off off fail off off"),
        ("later-changes", "off off off off off fail"),
        ("breaking-writers", "off off off off fail warn"),
    ];
    for gate in super::ALL {
        let severities: Vec<&str> = Class::ALL.iter().map(|(class, _)| gate.severity(*class).as_str()).collect();
        let expected = table.iter().find(|(name, _)| *name == gate.name()).map(|(_, row)| *row);
        assert_eq!(Some(severities.join(" ").as_str()), expected, "{}", gate.name());
    }
}
