//! Going back with chosen partitions, across other layouts, and what a restore
//! says of everything that is no row: B27, B29.

use std::fs;
use std::path::Path;

use partwise::error::ErrorKind;
use partwise::ops::{At, RestoreRequest, Strategy};
use partwise::plan::{Plan, Spec, Verdict};
use partwise::progress::Progress;
use partwise::table::Value;
use partwise::table::history::Restorable;
use partwise::table::value::parse_timestamp;
use serde_json::{Value as Json, json};

use crate::support::replay::{actions, newest, replay};
use crate::support::road::{partition, refused};
use crate::support::writer::{FIRST_COMMIT, FileOptions};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

/// Replaces a partition's files, as another writer's overwrite does.
fn replace(table: &mut Fixture, d: &Value, rows: &[Row]) -> u64 {
    let live = replay(&table.path).unwrap().live;
    let text = if *d == Value::Null { Json::Null } else { json!(d.to_string()) };
    let old = live.values().filter(|add| add["partitionValues"]["d"] == text);
    let mut lines: Vec<Json> = old.map(|add| table.remove(&json!({"add": add}))).collect();
    lines.extend(table.add_each(rows, &FileOptions::default()));
    table.commit("WRITE", json!({"mode": "Overwrite", "predicate": "d"}), lines)
}

fn says(lines: &[String], words: &str) -> bool {
    lines.iter().any(|line| line.contains(words))
}

#[track_caller]
fn expect(lines: &[String], words: &str) {
    assert!(says(lines, words), "no {words:?} in {lines:#?}");
}

/// v0: a=1, b=2, ∅=3; v1: a=10; v2: b=20; v3: a=100 beside.
fn three_partitions(bench: &Bench) -> Fixture {
    let null = |v| vec![Value::Null, i(v)];
    let mut table = bench.table(shape(), &[row("a", 1), row("b", 2), null(3)]);
    replace(&mut table, &s("a"), &[row("a", 10)]);
    replace(&mut table, &s("b"), &[row("b", 20)]);
    table.append(&[row("a", 100), null(30)]);
    table
}

#[test]
fn a_partition_goes_back_and_later_commits_to_others_stay() {
    let bench = Bench::default();
    let table = three_partitions(&bench);
    let plan = bench.rollback(&table.path, 0, &["d=a"]).unwrap().plan;
    // The later commit to the same partition is part of what is taken back.
    assert_eq!((plan.rows.inserted, plan.rows.deleted), (1, 2));
    assert_eq!(plan.partitions.len(), 1);
    assert_eq!(partition(&plan, &json!({"d": "a"})).after, 1);
    assert!(matches!(&plan.spec, Spec::Restore(r) if !r.metadata && r.partitions.as_deref() == Some("d = 'a'")));
    let report = bench.apply(&plan).unwrap();
    assert_eq!(report.rows_written, 0, "files are named again, not written again");
    let null = |v| vec![Value::Null, i(v)];
    assert_eq!(rows_of(&table.path), [null(3), null(30), row("a", 1), row("b", 20)]);
    let info = &replay(&table.path).unwrap().infos[4];
    assert_eq!(info["operation"], "RESTORE");
    assert_eq!(info["operationParameters"]["predicate"], "d = 'a'");
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), [null(3), null(30), row("a", 10), row("a", 100), row("b", 20)]);
}

#[test]
fn null_several_and_filtered_partitions_are_chosen() {
    let bench = Bench::default();
    let table = three_partitions(&bench);
    let after = |plan: &Plan| -> Vec<(Json, u64)> {
        plan.partitions.iter().map(|p| (json!(p.values)["d"].clone(), p.after)).collect()
    };
    let of = |partitions: &[&str]| after(&bench.rollback(&table.path, 0, partitions).unwrap().plan);
    assert_eq!(of(&["d=∅"]), [(Json::Null, 1)]);
    assert_eq!(of(&["d=∅", "d=b"]), [(Json::Null, 1), (json!("b"), 1)]);
    let filter = |text: &str| {
        let request = RestoreRequest { filter: Some(text.into()), ..RestoreRequest::whole(At::Version(0)) };
        bench.restore_with(&table.path, &request)
    };
    assert_eq!(after(&filter("d >= 'b'").unwrap().plan), [(json!("b"), 1)]);
    assert_eq!(after(&filter("d = 'b' OR d IS NULL").unwrap().plan), [(Json::Null, 1), (json!("b"), 1)]);
    for wrong in ["v = 1", "t.d = 'a'", "d =", "1 = 1"] {
        assert_eq!(refused(filter(wrong)).kind, ErrorKind::Usage, "{wrong}");
    }
    assert_eq!(refused(bench.rollback(&table.path, 0, &["x=1"])).kind, ErrorKind::Usage);
    // A partition that is as it was: nothing to do.
    assert_eq!(bench.rollback(&table.path, 3, &["d=a"]).unwrap().plan.verdict, Verdict::NoOp);
}

#[test]
fn a_partition_that_was_not_there_goes_away() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1)]);
    table.append(&[row("b", 2)]);
    let plan = bench.rollback(&table.path, 0, &["d=b"]).unwrap().plan;
    assert_eq!((plan.rows.inserted, plan.rows.deleted, plan.layout.after.partitions), (0, 1, 1));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1)]);
}

/// A commit to another partition is passed; one to the chosen partition is not,
/// even where the plan has nothing to do there.
#[test]
fn commits_after_the_plan_are_judged_by_the_chosen_partitions() {
    let bench = Bench::default();
    let mut table = three_partitions(&bench);
    let both = bench.rollback(&table.path, 2, &["d=a", "d=c"]).unwrap().plan;
    table.append(&[row("b", 21)]);
    let elsewhere = bench.apply(&both).unwrap();
    assert_eq!(elsewhere.rebased_over, [4]);
    let again = bench.rollback(&table.path, 0, &["d=a", "d=c"]).unwrap().plan;
    table = Fixture::resume(&table.path, shape());
    table.append(&[row("c", 7)]);
    assert_eq!(refused(bench.apply(&again)).kind, ErrorKind::StalePlan);
}

/// v0 by `d`; v1 the same rows by `k`; v2 appends under the new layout.
fn switched(bench: &Bench) -> Fixture {
    let columns = [("d", Kind::String), ("k", Kind::Long), ("v", Kind::Long)];
    let row = |d: &str, k, v| vec![s(d), i(k), i(v)];
    let rows = [row("a", 1, 10), row("a", 2, 20), row("b", 1, 30), row("b", 2, 40)];
    let mut table = bench.table(Shape::new(&columns, &["d"]), &rows);
    let old = replay(&table.path).unwrap().live;
    let mut lines: Vec<Json> = old.values().map(|add| table.remove(&json!({"add": add}))).collect();
    table.shape = Shape::new(&columns, &["k"]);
    lines.extend(table.add_each(&rows, &FileOptions::default()));
    table.alter(Shape::new(&columns, &["k"]), "WRITE", lines);
    table.append(&[row("a", 1, 50), row("b", 3, 60)]);
    table
}

#[test]
fn the_whole_table_goes_back_across_a_switch_of_partition_columns() {
    let bench = Bench::default();
    let table = switched(&bench);
    let all = rows_of(&table.path);
    let plan = bench.plan_restore(&table.path, 0).unwrap();
    expect(&plan.metadata_changes, "partition columns: k → d");
    assert_eq!(plan.rows.table_after, Some(4));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path).len(), 4);
    assert_eq!(replay(&table.path).unwrap().metadata["partitionColumns"], json!(["d"]));
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), all);
    assert_eq!(replay(&table.path).unwrap().metadata["partitionColumns"], json!(["k"]));
}

#[test]
fn a_partition_goes_back_by_rows_across_a_switch() {
    let row = |d: &str, k, v| vec![s(d), i(k), i(v)];
    // Of today's columns, and of those that the version had.
    let cases: [(&str, &[Row]); 2] = [
        ("k=1", &[row("a", 1, 10), row("a", 2, 20), row("b", 1, 30), row("b", 2, 40), row("b", 3, 60)]),
        ("d=b", &[row("a", 1, 10), row("a", 1, 50), row("a", 2, 20), row("b", 1, 30), row("b", 2, 40)]),
    ];
    for (partition, want) in cases {
        let bench = Bench::default();
        let table = switched(&bench);
        let before = rows_of(&table.path);
        let prepared = bench.rollback(&table.path, 0, &[partition]).unwrap();
        let plan = prepared.plan;
        assert!(matches!(&plan.spec, Spec::RestoreRows(r) if r.to == 0), "{partition}");
        assert!(prepared.rows.is_some());
        expect(&plan.findings, "partitioned by d and is by k");
        assert_eq!((plan.rows.inserted, plan.rows.deleted), (0, 1), "{partition}");
        bench.apply(&plan).unwrap();
        assert_eq!(rows_of(&table.path), want, "{partition}");
        assert_eq!(replay(&table.path).unwrap().metadata["partitionColumns"], json!(["k"]));
        bench.undo(&table.path);
        assert_eq!(rows_of(&table.path), before);
    }
}

#[test]
fn rows_alone_go_back_across_a_switch() {
    let bench = Bench::default();
    let table = switched(&bench);
    let request = RestoreRequest { data_only: true, ..RestoreRequest::whole(At::Version(0)) };
    let plan = bench.restore_with(&table.path, &request).unwrap().plan;
    assert_eq!((plan.rows.inserted, plan.rows.deleted, plan.metadata_changes.len()), (0, 2, 0));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path).len(), 4);
    assert_eq!(replay(&table.path).unwrap().metadata["partitionColumns"], json!(["k"]));
}

#[test]
fn a_column_that_was_added_since_is_null_in_what_comes_back() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let wide = Shape::new(&[("d", Kind::String), ("v", Kind::Long), ("x", Kind::String)], &["d"]);
    table.alter(wide, "ADD COLUMNS", Vec::new());
    replace(&mut table, &s("a"), &[vec![s("a"), i(7), s("new")]]);
    let plan = bench.rollback(&table.path, 0, &["d=a"]).unwrap().plan;
    assert!(matches!(plan.spec, Spec::Restore(_)));
    expect(&plan.findings, "column x (string) removed");
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [vec![s("a"), i(1), Value::Null], vec![s("b"), i(2), Value::Null]]);
}

/// Files whose column has another type today must not be named again: their
/// rows are read, cast and written.
#[test]
fn a_widened_column_comes_back_by_rows() {
    let bench = Bench::default();
    let narrow = Shape::new(&[("d", Kind::String), ("v", Kind::Integer)], &["d"]);
    let mut table = bench.table(narrow, &[row("a", 1), row("b", 2)]);
    let old = replay(&table.path).unwrap().live;
    let mut lines: Vec<Json> = old.values().map(|add| table.remove(&json!({"add": add}))).collect();
    table.shape = shape();
    lines.extend(table.add_each(&[row("a", 5), row("b", 1 << 40)], &FileOptions::default()));
    table.alter(shape(), "WRITE", lines);
    // The other partition's old file may be gone: it is not needed.
    let (path, _) = old.keys().find(|(path, _)| path.starts_with("d=b/")).unwrap();
    fs::remove_file(table.path.join(path)).unwrap();
    let plan = bench.rollback(&table.path, 0, &["d=a"]).unwrap().plan;
    expect(&plan.findings, "v was integer and is long");
    assert!(matches!(plan.spec, Spec::RestoreRows(_)));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1), row("b", 1 << 40)]);
    let error = refused(bench.rollback(&table.path, 0, &["d=b"]));
    assert_eq!(error.kind, ErrorKind::MissingFiles);
    assert!(error.message.contains(path.as_str()), "{}", error.message);
}

/// So may the other partition's deletion vector.
#[test]
fn a_deletion_vector_of_another_partition_is_not_needed() {
    let bench = Bench::default();
    let narrow = Shape { deletion_vectors: true, ..Shape::new(&[("d", Kind::String), ("v", Kind::Integer)], &["d"]) };
    let wide = Shape { deletion_vectors: true, ..shape() };
    let mut table = Fixture::new(bench.path("t"), narrow);
    let options = FileOptions::default();
    let a = table.add(&[row("a", 1)], &options);
    let mut b = table.add(&[row("b", 2), row("b", 3)], &options);
    b["add"]["deletionVector"] = json!({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 1, "sizeInBytes": 36, "cardinality": 1});
    table.commit("WRITE", json!({"mode": "Append"}), vec![a.clone(), b.clone()]);
    let mut lines = vec![table.remove(&a), table.remove(&b)];
    table.shape = wide.clone();
    lines.extend(table.add_each(&[row("a", 5), row("b", 1 << 40)], &options));
    table.alter(wide, "WRITE", lines);
    let plan = bench.rollback(&table.path, 0, &["d=a"]).unwrap().plan;
    assert!(matches!(plan.spec, Spec::RestoreRows(_)));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("a", 1), row("b", 1 << 40)]);
    assert_eq!(refused(bench.rollback(&table.path, 0, &["d=b"])).kind, ErrorKind::MissingFiles);
}

fn rows_only(bench: &Bench, table: &Fixture) -> partwise::error::Result<Plan> {
    let request = RestoreRequest { data_only: true, ..RestoreRequest::whole(At::Version(0)) };
    Ok(bench.restore_with(&table.path, &request)?.plan)
}

#[test]
fn a_generated_column_that_was_added_since_is_computed() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let mut shape = Shape::new(&[("d", Kind::String), ("v", Kind::Long), ("w", Kind::Long)], &["d"]);
    shape.marks = vec![("w".into(), "delta.generationExpression".into(), "v * 2".into())];
    table.alter(shape, "ADD COLUMNS", Vec::new());
    let wide = |d: &str, v, w| vec![s(d), i(v), i(w)];
    replace(&mut table, &s("a"), &[wide("a", 5, 10)]);
    let plan = rows_only(&bench, &table).unwrap();
    expect(&plan.findings, "the column w, which is computed from others, was added since");
    expect(&plan.findings, "column w: the source lacks it; it is computed as v * 2");
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [wide("a", 1, 2), wide("b", 2, 4)]);
}

/// v0: d, v; since: v is called u, another column is called v.
#[test]
fn a_new_column_is_not_filled_from_an_old_one_of_its_name() {
    for required in [false, true] {
        let bench = Bench::default();
        let mut table = bench.table(Shape { mapped: true, ..shape() }, &[row("a", 1), row("b", 2)]);
        let live = replay(&table.path).unwrap().live;
        let gone = live.values().map(|add| table.remove(&json!({"add": add}))).collect();
        let physical = |name: &str, own: &str| (name.into(), "delta.columnMapping.physicalName".into(), own.into());
        let shape = Shape {
            mapped: true,
            properties: vec![("delta.constraints.d".into(), "d IS NOT NULL".into())],
            marks: vec![physical("u", "col-v"), physical("v", "col-new")],
            required: if required { vec!["v".into()] } else { Vec::new() },
            ..Shape::new(&[("d", Kind::String), ("u", Kind::Long), ("v", Kind::Long)], &["d"])
        };
        table.alter(shape, "RENAME COLUMN", gone);
        if required {
            let error = refused(rows_only(&bench, &table));
            assert_eq!(error.kind, ErrorKind::Refused);
            assert!(error.message.contains("no value for the column v"), "{}", error.message);
            continue;
        }
        let plan = rows_only(&bench, &table).unwrap();
        expect(&plan.findings, "column v: version 0 had another column of this name; it is NULL");
        bench.apply(&plan).unwrap();
        let back = |d: &str, u| vec![s(d), i(u), Value::Null];
        assert_eq!(rows_of(&table.path), [back("a", 1), back("b", 2)]);
    }
}

#[test]
fn b27_partial_takes_what_is_there() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape());
    let options = FileOptions::default();
    let (a, b) = (table.add(&[row("a", 1)], &options), table.add(&[row("b", 2)], &options));
    table.commit("WRITE", json!({"mode": "Append"}), vec![a.clone(), b]);
    replace(&mut table, &s("a"), &[row("a", 10)]);
    let info = |operation: &str| vec![json!({"commitInfo": {"operation": operation, "operationParameters": {}}})];
    table.commit_lines(&info("VACUUM START"));
    table.commit_lines(&info("VACUUM END"));
    let path = a["add"]["path"].as_str().unwrap().to_owned();
    fs::remove_file(table.path.join(&path)).unwrap();

    let error = refused(bench.plan_restore(&table.path, 0));
    assert_eq!(error.kind, ErrorKind::MissingFiles);
    for word in ["1 of 1 files", path.as_str(), "d=a", "1 row"] {
        assert!(error.message.contains(word), "no {word} in {}", error.message);
    }
    assert_eq!(newest(&table.path), 3);

    let request = RestoreRequest { partial: true, ..RestoreRequest::whole(At::Version(0)) };
    let plan = bench.restore_with(&table.path, &request).unwrap().plan;
    expect(&plan.findings, "1 row not restorable: 1 of 2 files");
    assert!(matches!(&plan.spec, Spec::Restore(r) if r.files_lost == 1));
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("b", 2)]);
    // An empty table is not what a person means by what is still there.
    fs::remove_file(table.path.join(replay(&table.path).unwrap().live.into_keys().next().unwrap().0)).unwrap();
    let error = refused(bench.restore_with(&table.path, &request));
    assert_eq!(error.kind, ErrorKind::MissingFiles);
    assert!(error.message.contains("all of its 2 files are gone"), "{}", error.message);
}

/// A file that both versions have and that is gone is taken out too: the
/// result must be readable.
#[test]
fn partial_leaves_a_table_that_can_be_read() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    table.append(&[row("c", 3)]);
    let live = replay(&table.path).unwrap().live;
    let (path, _) = live.keys().find(|(path, _)| path.starts_with("d=a/")).unwrap();
    fs::remove_file(table.path.join(path)).unwrap();
    let request = RestoreRequest { partial: true, ..RestoreRequest::whole(At::Version(0)) };
    let plan = bench.restore_with(&table.path, &request).unwrap().plan;
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), [row("b", 2)]);
}

#[test]
fn b29_everything_that_is_no_row_is_said() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1), row("b", 2)]);
    let wide = Shape::new(&[("d", Kind::String), ("v", Kind::Long), ("x", Kind::String)], &["d"]);
    let mark = json!({"txn": {"appId": "s1", "version": 7, "lastUpdated": 1}});
    table.alter(wide.clone(), "ADD COLUMNS", vec![mark]);
    let constraint = ("delta.constraints.pos".to_owned(), "v > 0".to_owned());
    let checked = Shape { properties: vec![constraint.clone()], ..wide.clone() };
    table.alter(checked, "ADD CONSTRAINT", Vec::new());
    let feed = ("delta.enableChangeDataFeed".to_owned(), "true".to_owned());
    table.alter(Shape { properties: vec![constraint, feed], ..wide }, "SET TBLPROPERTIES", Vec::new());

    let plan = bench.plan_restore(&table.path, 0).unwrap();
    assert_eq!((plan.rows.inserted, plan.rows.deleted, plan.files.removed, plan.files.restored), (0, 0, 0, 0));
    assert_eq!(plan.verdict, Verdict::Ready, "metadata changes though no file does");
    for words in ["column x (string) removed", "constraint pos (v > 0) removed", "change feed off"] {
        expect(&plan.metadata_changes, words);
    }
    assert_eq!(plan.metadata_changes.len(), 3, "{:?}", plan.metadata_changes);
    expect(&plan.findings, "the protocol stays at reader 1 / writer 4");
    expect(&plan.findings, "the stream mark of s1 stays at 7");
    assert_eq!(plan.findings.len(), 2, "{:?}", plan.findings);

    // Only the rows: nothing is to be done, and nothing is.
    let request = RestoreRequest { data_only: true, ..RestoreRequest::whole(At::Version(0)) };
    let rows_only = bench.restore_with(&table.path, &request).unwrap().plan;
    assert_eq!((rows_only.verdict, rows_only.refusals.len()), (Verdict::NoOp, 0));
    expect(&rows_only.findings, "stays as it is today, not as it was: constraint pos");

    bench.apply(&plan).unwrap();
    let state = replay(&table.path).unwrap();
    assert_eq!(state.metadata["configuration"], json!({}));
    assert_eq!(state.protocol["minWriterVersion"], 4);
    let commit = actions(&table.path, 4);
    assert!(commit.iter().all(|line| line.get("protocol").is_none()));
    let marks: Vec<&str> = commit.iter().filter_map(|line| line.get("txn")?.get("appId")?.as_str()).collect();
    assert_eq!(marks, [format!("partwise/{}", plan.id)], "only the plan's own");
    assert!(!format!("{commit:?}").contains("Features"));
    assert_eq!(rows_of(&table.path), [row("a", 1), row("b", 2)]);
}

#[test]
fn ids_of_columns_are_not_given_twice() {
    let bench = Bench::default();
    let mapped = Shape { mapped: true, ..shape() };
    let mut table = bench.table(mapped.clone(), &[row("a", 1)]);
    let raised = ("delta.columnMapping.maxColumnId".to_owned(), "900".to_owned());
    let mut lines = mapped.head();
    lines.retain(|line| line.get("metaData").is_some());
    lines[0]["metaData"]["id"] = replay(&table.path).unwrap().metadata["id"].clone();
    lines[0]["metaData"]["configuration"][&raised.0] = json!(raised.1);
    lines[0]["metaData"]["description"] = json!("wider");
    table.commit("ADD COLUMNS", json!({}), lines);
    let plan = bench.plan_restore(&table.path, 0).unwrap();
    assert_eq!(plan.metadata_changes, ["description: 'wider' → none"]);
    bench.apply(&plan).unwrap();
    assert_eq!(replay(&table.path).unwrap().metadata["configuration"][&raised.0], json!("900"));
}

fn marks(bench: &Bench, table: &Path) -> Vec<(u64, Restorable, Option<i64>)> {
    let open = bench.open(table).unwrap();
    let history = block_on(open.history(None, true, &Progress::default())).unwrap();
    history.into_iter().map(|c| (c.version, c.restorable.unwrap(), c.restorable_until)).collect()
}

#[test]
fn versions_are_restorable_until_their_first_removed_file_may_be_taken() {
    let at = |version: i64, days: i64| Some(FIRST_COMMIT as i64 + version * 60_000 + days * 24 * 3_600_000);
    let yes = Restorable::Yes;
    for days in [7, 30] {
        let bench = Bench::default();
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut properties = vec![set("delta.enableExpiredLogCleanup", "false")];
        if days != 7 {
            properties.push(set("delta.deletedFileRetentionDuration", "interval 30 days"));
        }
        let shape = Shape { properties, ..shape() };
        let mut table = bench.table(shape, &[row("a", 1), row("b", 2)]);
        let first = replay(&table.path).unwrap().live;
        replace(&mut table, &s("a"), &[row("a", 10)]);
        replace(&mut table, &s("b"), &[row("b", 20)]);
        table.append(&[row("c", 3)]);
        // v0 lost a's file in v1 and b's in v2; v1 lost b's; v2 and v3 have what is live.
        let found = marks(&bench, &table.path);
        assert_eq!(
            found,
            [
                (3, yes.clone(), None),
                (2, yes.clone(), None),
                (1, yes.clone(), at(2, days)),
                (0, yes.clone(), at(1, days))
            ]
        );
        // What came back is safe again, and the time of the last removal counts.
        bench.apply(&bench.rollback(&table.path, 0, &["d=a"]).unwrap().plan).unwrap();
        let found = marks(&bench, &table.path);
        assert_eq!(found[4], (0, yes.clone(), at(2, days)));
        assert_eq!(found[3].0, 1);
        let own = found[3].2.unwrap();
        assert_eq!(own, at(2, days).unwrap(), "v1 needs b's old file until then, a's for longer");
        // A file that is gone ends it all.
        let (path, _) = first.keys().find(|(path, _)| path.starts_with("d=b/")).unwrap();
        fs::remove_file(table.path.join(path)).unwrap();
        let found = marks(&bench, &table.path);
        assert_eq!(found[4], (0, Restorable::FilesGone(1), None));
        assert_eq!(found[3], (1, Restorable::FilesGone(1), None));
        assert_eq!(found[0], (4, yes.clone(), None));
    }
}

/// Its entry in the log is needed as long; the newest one stays.
#[test]
fn versions_are_restorable_until_their_log_may_be_cleaned_up() {
    let at = |version: i64, days: i64| Some(FIRST_COMMIT as i64 + version * 60_000 + days * 24 * 3_600_000);
    for (log, kept) in [(None, 30), (Some("interval 3 days"), 3)] {
        let bench = Bench::default();
        let properties = log.map(|text| ("delta.logRetentionDuration".to_owned(), text.to_owned()));
        let shape = Shape { properties: properties.into_iter().collect(), ..shape() };
        let mut table = bench.table(shape, &[row("a", 1)]);
        replace(&mut table, &s("a"), &[row("a", 10)]);
        table.append(&[row("c", 3)]);
        let first = if kept == 3 { at(0, 3) } else { at(1, 7) };
        let yes = Restorable::Yes;
        let want = [(2, yes.clone(), None), (1, yes.clone(), at(1, kept)), (0, yes, first)];
        assert_eq!(marks(&bench, &table.path), want);
    }
}

#[test]
fn an_apply_says_until_when_its_undo_is_safe() {
    let day = 24 * 3_600_000;
    let log = ("delta.logRetentionDuration", "interval 3 days");
    // Days for an overwrite, which removes files, and for an append, which needs the log alone.
    for (property, overwrite, append) in
        [(None, 7, Some(30)), (Some(log), 3, Some(3)), (Some(("delta.enableExpiredLogCleanup", "false")), 7, None)]
    {
        let bench = Bench::default();
        let properties = property.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let shape = Shape { properties: properties.into_iter().collect(), ..shape() };
        let table = bench.table(shape.clone(), &[row("a", 1), row("b", 2)]);
        for (name, strategy, days) in [("s", Strategy::Overwrite, Some(overwrite)), ("s2", Strategy::Append, append)] {
            let source = bench.source(name, &shape.columns, &[row("a", 9)]);
            let before = chrono::Utc::now().timestamp_millis();
            let (_, report) = bench.run(&table.path, &source, &[], strategy);
            let after = chrono::Utc::now().timestamp_millis();
            let until = report.undo_until.map(|text| parse_timestamp(&text).unwrap() / 1000);
            assert_eq!(until.is_some(), days.is_some(), "{name}");
            let (until, days) = (until.unwrap_or(before), days.unwrap_or(0));
            assert!(until >= before + days * day && until <= after + days * day, "{name}: {until}");
        }
    }
}

#[test]
fn a_deletion_vectors_file_belongs_to_its_version() {
    let bench = Bench::default();
    let shape = Shape { deletion_vectors: true, ..shape() };
    let mut table = Fixture::new(bench.path("t"), shape);
    let a = table.add(&[row("a", 1), row("a", 2)], &FileOptions::default());
    table.commit("WRITE", json!({"mode": "Append"}), vec![a.clone()]);
    let mut masked = a.clone();
    masked["add"]["deletionVector"] = json!({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 1, "sizeInBytes": 36, "cardinality": 1});
    let remove = table.remove(&a);
    table.commit("DELETE", json!({}), vec![remove, masked]);
    let found = marks(&bench, &table.path);
    let log = Some(FIRST_COMMIT as i64 + 30 * 24 * 3_600_000);
    assert_eq!(found, [(1, Restorable::FilesGone(1), None), (0, Restorable::Yes, log)]);
}
