//! Writers of histories made by hand, judged on other layouts.

use super::super::ByColumn;
use super::*;
use crate::table::history::FileChange;
use serde_json::{Value as Json, json};

fn commit(version: u64, info: Json, added: u64, removed: u64) -> Commit {
    Commit {
        version,
        timestamp: 1_000 * version as i64,
        info: info.as_object().cloned(),
        touched: Vec::new(),
        switches: false,
        added: FileChange { files: added, ..FileChange::default() },
        removed: FileChange { files: removed, ..FileChange::default() },
        changes_metadata: false,
        changes_protocol: false,
        restorable: None,
        restorable_until: None,
    }
}

fn write(version: u64, parameters: Json, added: u64, removed: u64) -> Commit {
    let info = json!({"operation": "WRITE", "operationParameters": parameters, "userName": "etl",
                      "engineInfo": "Apache-Spark/4.0.3", "job": {"jobId": "77"}});
    commit(version, info, added, removed)
}

#[test]
fn writers_are_found_and_counted_once() {
    let history = [
        write(6, json!({"mode": "Overwrite", "partitionBy": "[]", "predicate": "[\"(p = 1)\"]"}), 1, 1),
        write(5, json!({"mode": "Overwrite", "partitionBy": "[\"p\"]", "isDynamicPartitionOverwrite": "true"}), 1, 1),
        write(4, json!({"mode": "Overwrite", "partitionBy": "[\"p\"]", "isDynamicPartitionOverwrite": "true"}), 1, 1),
        write(3, json!({"mode": "Overwrite", "partitionBy": "[]"}), 1, 1),
        write(2, json!({"mode": "Append", "partitionBy": "[\"p\"]"}), 1, 0),
        write(1, json!({"mode": "Overwrite", "partitionBy": "[]"}), 3, 3),
        write(0, json!({"mode": "Append", "partitionBy": "[]"}), 3, 0),
    ];
    let found = writers(&history);
    let seen: Vec<_> = found.iter().map(|w| (w.kind, w.version, w.commits, w.inferred)).collect();
    assert_eq!(
        seen,
        [
            (BreakerKind::ReplaceWhere, 6, 1, false),
            (BreakerKind::DynamicOverwrite, 5, 2, false),
            // Left three files alone; version 1 took all.
            (BreakerKind::DynamicOverwrite, 3, 1, true),
            (BreakerKind::PartitionBy, 2, 1, false),
        ]
    );
    assert_eq!(found[0].predicate.as_deref(), Some("(p = 1)"));
    assert_eq!(found[0].who, "etl, job 77, Apache-Spark/4.0.3");
}

#[test]
fn what_a_dynamic_overwrite_would_delete_is_said_in_rows() {
    let history = [write(5, json!({"mode": "Overwrite", "isDynamicPartitionOverwrite": "true"}), 1, 1)];
    let found = &writers(&history)[0];
    let company = LayoutBy::of([ByColumn::plain("company")]);
    let today = ["period".to_owned()];
    let collateral = Collateral { rows: 40, partitions: 3, lost: 960, lost_partitions: 11 };
    let told = judge(found, &today, &company, Some(collateral)).unwrap();
    assert!(told.danger);
    assert!(
        told.line().contains("3 partitions of company") && told.line().contains("delete 960 other rows"),
        "{}",
        told.line()
    );
    assert!(told.line().contains("(v5)"), "{}", told.line());
    let finer = LayoutBy::of([ByColumn::plain("period"), ByColumn::plain("company")]);
    let none = Collateral { lost: 0, lost_partitions: 0, ..collateral };
    assert!(judge(found, &today, &finer, Some(none)).unwrap().effect.contains("keep the old rows"));
    assert_eq!(judge(found, &today, &LayoutBy::of([ByColumn::plain("Period")]), None), None);
}

fn one(parameters: Json) -> WriterUse {
    writers(&[write(5, parameters, 1, 1)]).remove(0)
}

/// On the way back the writers of the old layout are no danger: they work again.
#[test]
fn writers_of_the_new_columns_work_again() {
    let (period, company) = (["period".to_owned()], LayoutBy::of([ByColumn::plain("company")]));
    let none = LayoutBy::default();
    let append = |columns: &str| one(json!({"mode": "Append", "partitionBy": columns}));
    let told = judge(&append("[\"Company\"]"), &period, &company, None).unwrap();
    assert!(!told.danger && told.effect.contains("would work again"), "{}", told.effect);
    assert!(judge(&append("[\"period\"]"), &period, &company, None).unwrap().danger);
    // It fails already: nothing of this switch.
    assert_eq!(judge(&append("[\"region\"]"), &period, &company, None), None);
    assert_eq!(judge(&append("[\"company\",\"period\"]"), &period, &company, None), None);

    let mut dynamic = one(json!({"mode": "Overwrite", "isDynamicPartitionOverwrite": "true"}));
    assert!(judge(&dynamic, &period, &company, None).unwrap().danger);
    dynamic.wrote_on = Some(vec!["company".into()]);
    let told = judge(&dynamic, &period, &company, None).unwrap();
    assert!(!told.danger && told.effect.contains("partitioned by company"), "{}", told.effect);
    assert!(judge(&dynamic, &period, &none, None).unwrap().danger);
    let names = |columns: &str| {
        one(json!({"mode": "Overwrite", "isDynamicPartitionOverwrite": "true", "partitionBy": columns}))
    };
    assert!(!judge(&names("[\"company\"]"), &period, &company, None).unwrap().danger);
    assert!(judge(&names("[\"period\"]"), &period, &company, None).unwrap().danger);
    let told = judge(&names("[\"region\"]"), &period, &company, None).unwrap();
    assert!(!told.danger && told.effect.contains("fails already"), "{}", told.effect);
    let computed = LayoutBy::of([ByColumn::computed("upper(c)", "company")]);
    assert!(judge(&dynamic, &period, &computed, None).unwrap().danger, "other values under the same name");
}

#[test]
fn a_predicate_is_judged_by_its_columns() {
    let period = ["period".to_owned()];
    let mut found = one(json!({"mode": "Overwrite", "predicate": "company = 'C1'"}));
    let told = |found: &WriterUse, by: &str| judge(found, &period, &LayoutBy::parse(by).unwrap(), None);
    found.predicate_columns = Some(vec!["company".into()]);
    assert_eq!(told(&found, "company"), None, "it would drop whole partitions");
    assert_eq!(told(&found, "region"), None, "it rewrites files today");
    found.predicate_columns = Some(vec!["period".into()]);
    let said = told(&found, "none").unwrap();
    assert!(!said.danger && said.effect.contains("the whole table holds other rows too"), "{}", said.effect);
    found.predicate_columns = None;
    assert!(told(&found, "company").unwrap().effect.contains("partitions of company hold other rows"));
}

#[test]
fn streams_and_the_change_feed_are_named() {
    let told = standing(&[("s1".into(), 7)], true);
    assert_eq!(told.len(), 2);
    assert!(told[0].line().contains("application s1 (v7)"), "{}", told[0].line());
    assert_eq!(told[1].kind, BreakerKind::ChangeFeed);
    let info = json!({"operation": "STREAMING UPDATE", "operationParameters": {"queryId": "q", "epochId": "3"}});
    let found = writers(&[commit(9, info, 1, 0)]);
    assert_eq!((found[0].kind, found[0].who.as_str()), (BreakerKind::Stream, "query q"));
}

/// What partwise noted in its own commits names nothing: it reads the table's
/// columns each time, and would delete on the new ones.
#[test]
fn own_overwrites_name_no_columns() {
    let parameters = json!({"mode": "Overwrite", "partitionBy": "[\"a\"]", "isDynamicPartitionOverwrite": "true"});
    let mut own = write(1, parameters, 1, 1);
    own.info.as_mut().unwrap().insert("partwise".into(), json!({"id": "p", "operation": "overwrite"}));
    let found = writers(&[own]);
    assert_eq!((found.len(), found[0].kind), (1, BreakerKind::DynamicOverwrite));
    assert!(found[0].partition_by.is_empty());
    let lost = Collateral { rows: 20, partitions: 4, lost: 40, lost_partitions: 2 };
    let by = LayoutBy::of([ByColumn::plain("c")]);
    let told = judge(&found[0], &["b".to_owned()], &by, Some(lost)).unwrap();
    assert!(told.danger && told.effect.contains("delete 40 other rows"), "{}", told.effect);
}

#[test]
fn a_replaced_table_would_have_its_old_columns_again() {
    let info = json!({"operation": "CREATE OR REPLACE TABLE AS SELECT", "userName": "etl",
                      "operationParameters": {"partitionBy": "[\"a\"]", "isManaged": "true"}});
    let found = writers(&[commit(3, info, 1, 1)]);
    assert_eq!((found.len(), found[0].kind), (1, BreakerKind::ReplaceTable));
    let to = |column: &str| judge(&found[0], &["a".to_owned()], &LayoutBy::of([ByColumn::plain(column)]), None);
    let told = to("b").unwrap();
    assert!(told.danger && told.effect.contains("a table partitioned by a"), "{}", told.effect);
    let back = judge(&found[0], &["b".to_owned()], &LayoutBy::of([ByColumn::plain("a")]), None);
    assert!(back.is_none(), "it does what the way back does: {back:?}");
}
