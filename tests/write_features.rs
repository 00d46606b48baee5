//! What a table demands of a writer: constraints, generated columns, the change
//! feed, times in commits, the number and size of files.

use partwise::error::ErrorKind;
use partwise::ops::{Strategy, merge_of_clauses};
use partwise::plan::{Plan, Verdict};
use partwise::table::Value;
use serde_json::{Value as Json, json};

use crate::support::road::{MERGE, refused, request};
use crate::support::writer::{columns, log_file};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, replay, rows_of, s, sorted};

const NULL: Value = Value::Null;

fn plain() -> Shape {
    Shape::new(&[("id", Kind::Long), ("g", Kind::String), ("v", Kind::Integer)], &["g"])
}

fn property(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

fn mark(column: &str, key: &str, text: &str) -> (String, String, String) {
    (column.to_owned(), key.to_owned(), text.to_owned())
}

fn row(id: i64, g: &str, v: Value) -> Row {
    vec![i(id), s(g), v]
}

fn source(bench: &Bench, rows: &[Row]) -> String {
    bench.source("s", &plain().columns, rows)
}

/// Every file below the table that is not part of its log.
fn files(table: &Fixture) -> usize {
    fn count(folder: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { count(&path) } else { usize::from(!path.ends_with("_delta_log")) }).sum()
    }
    count(&table.path)
}

/// The plan is blocked by one refusal of this kind, which says these words, and
/// cannot be carried out.
fn blocked(bench: &Bench, table: &Fixture, plan: &Plan, kind: ErrorKind, words: &[&str]) {
    let (before, version) = (files(table), replay::newest(&table.path));
    let [refusal] = plan.refusals.as_slice() else { panic!("one refusal, not {:?}", plan.refusals) };
    assert_eq!((refusal.kind, plan.verdict), (kind, Verdict::Blocked), "{}", refusal.message);
    words.iter().for_each(|word| assert!(refusal.message.contains(word), "{word}: {}", refusal.message));
    assert!(refusal.hint.is_some());
    refused(bench.apply_with(plan, &crate::support::road::override_all(plan)));
    assert_eq!((files(table), replay::newest(&table.path)), (before, version), "nothing is written");
}

fn constrained() -> Shape {
    Shape { properties: vec![property("delta.constraints.positive", "v > 0")], ..plain() }
}

fn clauses(when: &[&str]) -> Strategy {
    let when: Vec<String> = when.iter().map(|text| (*text).to_owned()).collect();
    merge_of_clauses(None, &["id".to_owned()], false, &when).unwrap_or_else(|e| panic!("{}", e.full_message()))
}

#[test]
fn rows_that_break_a_constraint_are_counted_and_refused() {
    let bench = Bench::default();
    let table = bench.table(constrained(), &[row(1, "a", i(1)), row(2, "a", i(2)), row(3, "b", i(3))]);
    let bad = source(&bench, &[row(1, "a", i(-5)), row(2, "a", NULL), row(9, "c", i(9))]);
    for strategy in [Strategy::Overwrite, Strategy::Append, MERGE, clauses(&["MATCHED THEN UPDATE SET *"])] {
        let plan = bench.plan(&table.path, &bad, &["id"], strategy);
        let words = ["2 rows", "CHECK constraint positive", "v > 0", "id=1", "v=-5"];
        blocked(&bench, &table, &plan, ErrorKind::ConstraintViolation, &words);
    }
    // A row that is not written may be as it likes.
    let (plan, _) = bench.run(&table.path, &bad, &["id"], clauses(&["NOT MATCHED THEN INSERT *"]));
    assert_eq!((plan.rows.inserted, plan.rows.ignored), (1, 2));
    let good = source(&bench, &[row(1, "a", i(5))]);
    bench.run(&table.path, &good, &["id"], MERGE);
}

#[test]
fn assigned_and_built_rows_are_held_to_constraints() {
    let bench = Bench::default();
    let table = bench.table(constrained(), &[row(1, "a", i(1)), row(2, "a", i(2))]);
    let delivered = source(&bench, &[row(1, "a", i(1)), row(7, "b", i(7))]);
    for (when, words) in [
        ("MATCHED THEN UPDATE SET v = t.v - 1", "v=0"),
        ("MATCHED THEN UPDATE SET v = NULL", "v=NULL"),
        ("NOT MATCHED THEN INSERT (id, g, v) VALUES (s.id, s.g, 0 - s.v)", "v=-7"),
        ("NOT MATCHED THEN INSERT (id, g) VALUES (s.id, s.g)", "v=NULL"),
        ("NOT MATCHED BY SOURCE THEN UPDATE SET v = 0", "v=0"),
    ] {
        let plan = bench.plan(&table.path, &delivered, &["id"], clauses(&[when]));
        let shown = if words == "v=NULL" { "v=" } else { words };
        blocked(&bench, &table, &plan, ErrorKind::ConstraintViolation, &["1 rows", "positive", shown]);
    }
    let (_, report) = bench.run(&table.path, &delivered, &["id"], clauses(&["MATCHED THEN UPDATE SET v = s.v + 1"]));
    assert!(report.verified);
}

#[test]
fn the_stager_holds_rows_that_only_move_along() {
    let bench = Bench::default();
    // Another writer let this row in.
    let table = bench.table(constrained(), &[row(1, "a", i(1)), row(2, "a", i(-2))]);
    let good = source(&bench, &[row(1, "a", i(5))]);
    let plan = bench.plan(&table.path, &good, &["id"], MERGE);
    let before = files(&table);
    let error = refused(bench.apply(&plan));
    assert_eq!(error.kind, ErrorKind::ConstraintViolation, "{}", error.full_message());
    assert!(error.message.contains("v=-2"), "{}", error.message);
    assert_eq!((files(&table), replay::newest(&table.path)), (before, 0), "what was staged is removed");
}

#[test]
fn what_cannot_be_checked_is_refused_by_name() {
    let bench = Bench::default();
    let odd = Shape { properties: vec![property("delta.constraints.odd", "my_function(v) > 0")], ..plain() };
    let table = bench.table(odd, &[row(1, "a", i(1))]);
    let good = source(&bench, &[row(1, "a", i(5))]);
    let plan = bench.plan(&table.path, &good, &["id"], MERGE);
    assert_eq!(plan.rows.updated, Some(1), "the numbers are there all the same");
    blocked(&bench, &table, &plan, ErrorKind::UnsupportedFeature, &["constraint odd", "my_function"]);

    let bench = Bench::default();
    let identity = Shape { marks: vec![mark("id", "delta.identity.start", "1")], ..plain() };
    let table = bench.table(identity, &[row(1, "a", i(1))]);
    let plan = bench.plan(&table.path, &source(&bench, &[row(1, "a", i(5))]), &["id"], MERGE);
    blocked(&bench, &table, &plan, ErrorKind::UnsupportedFeature, &["identity column id"]);
}

#[test]
fn an_invariant_of_an_old_table_is_a_constraint() {
    let bench = Bench::default();
    let invariant = r#"{"expression":{"expression":"v < 3"}}"#;
    let shape = Shape { marks: vec![mark("v", "delta.invariants", invariant)], ..plain() };
    let table = bench.table(shape, &[row(1, "a", i(1))]);
    let plan = bench.plan(&table.path, &source(&bench, &[row(1, "a", i(3))]), &["id"], Strategy::Overwrite);
    blocked(&bench, &table, &plan, ErrorKind::ConstraintViolation, &["invariant of column v", "v < 3", "v=3"]);
    bench.run(&table.path, &source(&bench, &[row(1, "a", i(2))]), &["id"], Strategy::Overwrite);
    assert_eq!(rows_of(&table.path), [row(1, "a", i(2))]);
}

fn strict(kind: Kind, json: Json) -> Shape {
    Shape { types: vec![("n".into(), json)], ..Shape::new(&[("id", Kind::Long), ("n", kind)], &[]) }
}

#[test]
fn a_null_inside_a_nested_column_is_found() {
    let field =
        |nullable: bool, name: &str, t: &str| json!({"name": name, "type": t, "nullable": nullable, "metadata": {}});
    let inner = json!({"type": "struct", "fields": [field(false, "a", "integer"), field(true, "b", "string")]});
    let list = json!({"type": "array", "elementType": "integer", "containsNull": false});
    let map = json!({"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": false});
    let nested = |text: &str| Value::Nested(text.to_owned());
    for (kind, json, good, bad, path) in [
        (Kind::Struct, inner.clone(), "[1,null]", nested(r#"[null,"x"]"#), "n.a"),
        // Spark refuses this too: a struct that is NULL has NULL fields.
        (Kind::Struct, inner, r#"[1,"x"]"#, NULL, "n.a"),
        (Kind::List, list, "[1,2]", nested("[1,null]"), "n.element"),
        (Kind::Map, map, r#"[["x",1]]"#, nested(r#"[["x",1],["y",null]]"#), "n.value"),
    ] {
        let bench = Bench::default();
        let shape = strict(kind, json);
        let table = bench.table(shape.clone(), &[vec![i(1), nested(good)]]);
        let rows = [vec![i(2), nested(good)], vec![i(3), bad]];
        let plan = bench.plan(&table.path, &bench.source("bad", &shape.columns, &rows), &["id"], Strategy::Append);
        blocked(&bench, &table, &plan, ErrorKind::NotNullViolation, &["1 rows", path]);
        bench.run(&table.path, &bench.source("good", &shape.columns, &rows[..1]), &["id"], MERGE);
        assert_eq!(rows_of(&table.path).len(), 2);
    }
}

/// `y` is the year of `d` and a partition column; `w` is twice `v`.
fn generated() -> Shape {
    let list = [("id", Kind::Long), ("d", Kind::Date), ("v", Kind::Integer), ("y", Kind::Integer), ("w", Kind::Long)];
    let marks =
        vec![mark("y", "delta.generationExpression", "year(d)"), mark("w", "delta.generationExpression", "v * 2")];
    Shape { marks, ..Shape::new(&list, &["y"]) }
}

fn dated(id: i64, days: i32, v: i64, y: i64, w: i64) -> Row {
    vec![i(id), Value::Date(days), i(v), i(y), i(w)]
}

#[test]
fn a_generated_column_that_the_source_lacks_is_computed() {
    let bench = Bench::default();
    let table = bench.table(generated(), &[dated(1, 0, 1, 1970, 2), dated(2, 400, 2, 1971, 4)]);
    let bare = columns(&[("id", Kind::Long), ("d", Kind::Date), ("v", Kind::Short)]);
    let rows: Vec<Row> = vec![vec![i(3), Value::Date(401), i(3)]];
    let delivered = bench.source("s", &bare, &rows);
    let (plan, _) = bench.run(&table.path, &delivered, &["id"], Strategy::Overwrite);
    assert!(plan.findings.iter().any(|f| f.contains("column y") && f.contains("year(d)")), "{:?}", plan.findings);
    // The slice follows from the computed values.
    assert_eq!(plan.partitions.iter().map(|p| json!(p.values)).collect::<Vec<_>>(), [json!({"y": 1971})]);
    assert_eq!(rows_of(&table.path), [dated(1, 0, 1, 1970, 2), dated(3, 401, 3, 1971, 6)]);
    let rows: Vec<Row> = vec![vec![i(1), Value::Date(402), i(5)], vec![i(4), Value::Date(1), i(6)]];
    let (plan, _) = bench.run(&table.path, &bench.source("m", &bare, &rows), &["id"], MERGE);
    assert_eq!((plan.rows.updated, plan.rows.inserted, plan.rows.moved), (Some(1), 1, 1));
    let after = [dated(1, 402, 5, 1971, 10), dated(3, 401, 3, 1971, 6), dated(4, 1, 6, 1970, 12)];
    assert_eq!(rows_of(&table.path), after);
}

#[test]
fn a_delivered_generated_column_is_held_to_its_expression() {
    let bench = Bench::default();
    let table = bench.table(generated(), &[dated(1, 0, 1, 1970, 2)]);
    let wrong = bench.source("s", &generated().columns, &[dated(2, 0, 2, 1970, 4), dated(3, 0, 2, 1970, 5)]);
    let plan = bench.plan(&table.path, &wrong, &["id"], MERGE);
    blocked(&bench, &table, &plan, ErrorKind::ConstraintViolation, &["1 rows", "generated column w", "v * 2", "id=3"]);
    let nulls = vec![i(4), NULL, NULL, NULL, NULL];
    bench.run(&table.path, &bench.source("n", &generated().columns, &[nulls]), &["id"], Strategy::Append);
}

#[test]
fn clauses_compute_what_they_do_not_assign() {
    let bench = Bench::default();
    let table = bench.table(generated(), &[dated(1, 0, 1, 1970, 2), dated(2, 0, 2, 1970, 4)]);
    let bare = columns(&[("id", Kind::Long), ("d", Kind::Date), ("v", Kind::Integer)]);
    let rows: Vec<Row> = vec![vec![i(1), Value::Date(400), i(10)], vec![i(3), Value::Date(800), i(30)]];
    let delivered = bench.source("s", &bare, &rows);
    let when = clauses(&[
        "MATCHED THEN UPDATE SET d = s.d, v = s.v + t.v",
        "NOT MATCHED THEN INSERT (id, d, v) VALUES (s.id, s.d, s.v)",
    ]);
    bench.run(&table.path, &delivered, &["id"], when);
    let after = [dated(1, 400, 11, 1971, 22), dated(2, 0, 2, 1970, 4), dated(3, 800, 30, 1972, 60)];
    assert_eq!(rows_of(&table.path), after);
    let plan = bench.plan(&table.path, &delivered, &["id"], clauses(&["MATCHED THEN UPDATE SET w = 1"]));
    blocked(&bench, &table, &plan, ErrorKind::ConstraintViolation, &["generated column w"]);
}

#[test]
fn an_insert_fills_in_defaults() {
    let bench = Bench::default();
    let shape = Shape { marks: vec![mark("v", "CURRENT_DEFAULT", "5 + 2")], ..plain() };
    let table = bench.table(shape, &[row(1, "a", i(1))]);
    let delivered = source(&bench, &[row(2, "a", i(9))]);
    let insert = clauses(&["NOT MATCHED THEN INSERT (id, g) VALUES (s.id, s.g)"]);
    bench.run(&table.path, &delivered, &["id"], insert);
    assert_eq!(rows_of(&table.path), [row(1, "a", i(1)), row(2, "a", i(7))]);
}

#[test]
fn a_default_that_reads_the_clock_is_the_time_of_the_plan() {
    let list =
        [("id", Kind::Long), ("g", Kind::String), ("at", Kind::Timestamp), ("day", Kind::Date), ("y", Kind::Integer)];
    let marks = vec![
        mark("at", "CURRENT_DEFAULT", "current_timestamp()"),
        mark("day", "CURRENT_DEFAULT", "current_date()"),
        mark("y", "delta.generationExpression", "year(day)"),
    ];
    let shape = Shape { marks, ..Shape::new(&list, &[]) };
    let bench = Bench::default();
    let old = vec![i(1), s("a"), Value::Timestamp(0), Value::Date(0), i(1970)];
    let table = bench.table(shape, std::slice::from_ref(&old));
    let before = chrono::Utc::now().timestamp_micros();
    let delivered = source(&bench, &[row(2, "a", i(9)), row(3, "b", i(9))]);
    let insert = clauses(&["NOT MATCHED THEN INSERT (id, g) VALUES (s.id, s.g)"]);
    let plan = bench.plan(&table.path, &delivered, &["id"], insert);
    assert_eq!((plan.refusals.len(), plan.rows.inserted), (0, 2));
    let planned = chrono::Utc::now().timestamp_micros();
    bench.apply(&plan).unwrap();
    let rows = rows_of(&table.path);
    assert_eq!((rows.len(), &rows[0]), (3, &old));
    assert_eq!(rows[1][2..], rows[2][2..], "one time for all rows");
    let Value::Timestamp(at) = rows[1][2] else { panic!("a time, not {:?}", rows[1]) };
    assert!((before..=planned).contains(&at), "{before} <= {at} <= {planned}");
    let Value::Date(day) = rows[1][3] else { panic!("a day, not {:?}", rows[1]) };
    assert_eq!(i64::from(day), at.div_euclid(86_400_000_000));
    assert!(matches!(rows[1][4], Value::Int(year) if year > 2000), "{:?}", rows[1]);
}

#[test]
fn a_constraint_that_reads_the_clock_is_refused_by_name() {
    let bench = Bench::default();
    let odd = Shape { properties: vec![property("delta.constraints.past", "year(current_date()) > v")], ..plain() };
    let table = bench.table(odd, &[row(1, "a", i(1))]);
    let plan = bench.plan(&table.path, &source(&bench, &[row(1, "a", i(5))]), &["id"], MERGE);
    assert_eq!(plan.rows.updated, Some(1), "no row is counted as wrong");
    blocked(&bench, &table, &plan, ErrorKind::UnsupportedFeature, &["constraint past", "cannot be checked", "clock"]);

    let bench = Bench::default();
    let marks = vec![mark("v", "delta.generationExpression", "year(current_date())")];
    let table = bench.table(Shape { marks, ..plain() }, &[row(1, "a", i(1))]);
    let plan = bench.plan(&table.path, &source(&bench, &[row(1, "a", i(5))]), &["id"], MERGE);
    blocked(&bench, &table, &plan, ErrorKind::UnsupportedFeature, &["generated column v", "cannot be checked"]);
}

fn fed() -> Shape {
    Shape { properties: vec![property("delta.enableChangeDataFeed", "true")], ..plain() }
}

#[test]
fn the_feed_has_what_changed_and_nothing_else() {
    let bench = Bench::default();
    let before = [row(1, "a", i(1)), row(2, "a", i(2)), row(3, "a", i(3)), row(4, "b", i(4))];
    let table = bench.table(fed(), &before);
    let delivered = source(&bench, &[row(1, "a", i(1)), row(2, "b", i(20)), row(5, "c", i(5))]);
    let when = clauses(&[
        "MATCHED THEN UPDATE SET *",
        "NOT MATCHED THEN INSERT *",
        "NOT MATCHED BY SOURCE AND t.id = 4 THEN DELETE",
    ]);
    let (plan, report) = bench.run(&table.path, &delivered, &["id"], when);
    let state = replay::replay(&table.path).unwrap();
    let mut changes = state.changes(&table.path, report.version_after.unwrap());
    changes.sort();
    let kind = |text: &str| text.to_owned();
    let wanted = [
        (row(2, "a", i(2)), kind("update_preimage")),
        (row(2, "b", i(20)), kind("update_postimage")),
        (row(4, "b", i(4)), kind("delete")),
        (row(5, "c", i(5)), kind("insert")),
    ];
    assert_eq!(changes, wanted);
    assert_eq!(plan.rows.unchanged, 1, "the row 1 is written again and is no change");
    let metrics = &state.infos[1]["operationMetrics"];
    assert_eq!(metrics["numTargetChangeFilesAdded"], json!("3"));
    for action in replay::actions(&table.path, 1) {
        let path = action["cdc"]["path"].as_str().unwrap_or(plan.id.as_str());
        assert!(path.contains(&plan.id), "left-overs are known by their name: {path}");
    }
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), sorted(before.to_vec()));
}

#[test]
fn whole_files_need_no_feed() {
    for strategy in
        [Strategy::Overwrite, Strategy::OverwriteAll, Strategy::Append, clauses(&["NOT MATCHED THEN INSERT *"])]
    {
        let bench = Bench::default();
        let table = bench.table(fed(), &[row(1, "a", i(1)), row(2, "a", i(2))]);
        let delivered = source(&bench, &[row(3, "a", i(3))]);
        let (_, report) = bench.run(&table.path, &delivered, &["id"], strategy.clone());
        let version = report.version_after.unwrap();
        let actions = replay::actions(&table.path, version);
        assert!(actions.iter().all(|action| action.get("cdc").is_none()), "{strategy:?}");
        let changing = actions.iter().filter_map(|a| a.get("add").or(a.get("remove")));
        assert!(changing.into_iter().all(|action| action["dataChange"] == true));
    }
}

#[test]
fn a_failed_write_leaves_no_change_files() {
    let bench = Bench::default();
    let mut shape = fed();
    shape.properties.push(property("delta.constraints.positive", "v > 0"));
    let table = bench.table(shape, &[row(1, "a", i(1)), row(2, "a", i(-2))]);
    let before = files(&table);
    let plan = bench.plan(&table.path, &source(&bench, &[row(1, "a", i(5))]), &["id"], MERGE);
    refused(bench.apply(&plan));
    assert_eq!(files(&table), before);
}

#[test]
fn times_in_commits_never_run_backwards() {
    let bench = Bench::default();
    let shape = Shape { properties: vec![property("delta.enableInCommitTimestamps", "true")], ..plain() };
    let mut table = Fixture::new(bench.path("t"), shape.clone());
    let far = 4_000_000_000_000_i64;
    let info = json!({"commitInfo": {"inCommitTimestamp": far, "timestamp": far, "operation": "CREATE TABLE"}});
    let mut lines = vec![info];
    lines.extend(shape.head());
    lines.push(table.add(&[row(1, "a", i(1))], &crate::support::writer::FileOptions::default()));
    table.commit_lines(&lines);
    bench.run(&table.path, &source(&bench, &[row(1, "a", i(5))]), &["id"], MERGE);
    let first = std::fs::read_to_string(log_file(&table.path, 1)).unwrap();
    let first: Json = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert_eq!(first["commitInfo"]["inCommitTimestamp"], json!(far + 1));
    bench.undo(&table.path);
    let info = &replay::replay(&table.path).unwrap().infos[2];
    assert_eq!(info["inCommitTimestamp"], json!(far + 2));
    let open = bench.open(&table.path).unwrap();
    let history = block_on(open.history(None, false, &partwise::progress::Progress::default())).unwrap();
    assert_eq!(history[0].timestamp, far + 2);
}

/// numRecords of the files that a version adds, by partition.
fn added(table: &Fixture, version: u64) -> Vec<(String, Vec<u64>)> {
    let mut found = std::collections::BTreeMap::<String, Vec<u64>>::new();
    for action in replay::actions(&table.path, version) {
        let Some(add) = action.get("add") else { continue };
        let stats: Json = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        let rows = stats["numRecords"].as_u64().unwrap();
        found.entry(add["partitionValues"]["g"].to_string()).or_default().push(rows);
    }
    found.values_mut().for_each(|rows| rows.sort_unstable());
    found.into_iter().collect()
}

fn many(rows: i64) -> Vec<Row> {
    (0..rows).map(|id| row(id, if id % 3 == 0 { "a" } else { "b" }, i(id % 1000))).collect()
}

#[test]
fn the_number_of_files_in_a_partition_is_kept() {
    // With room for all rows, and with hardly any.
    for tight in [None, Some(1)] {
        let mut config = partwise::config::Config::default();
        config.engine.rows_in_memory = tight.map(|_| 1 << 20);
        let bench = Bench::with_config(config);
        let table = bench.table(plain(), &[row(-1, "a", i(1))]);
        let rows = many(if tight.is_some() { 300_000 } else { 100 });
        let mut request = request(&source(&bench, &rows), &[]);
        request.output.files_per_partition = Some(7);
        let open = bench.open(&table.path).unwrap();
        let progress = partwise::progress::Progress::default();
        let prepared = block_on(partwise::ops::prepare(&bench.context, &open, &request, Strategy::Append, &progress));
        let plan = prepared.unwrap_or_else(|e| panic!("{}", e.full_message())).plan;
        let json = json!(plan);
        assert_eq!(json["spec"]["output"], json!({"files_per_partition": 7}));
        let report = bench.apply(&serde_json::from_value(json).unwrap()).unwrap();
        for (partition, counts) in added(&table, report.version_after.unwrap()) {
            assert_eq!(counts.len(), 7, "{partition}: {counts:?}");
            assert!(counts[6] - counts[0] <= 1, "{partition}: {counts:?}");
        }
        assert_eq!(rows_of(&table.path).len(), rows.len() + 1);
    }
}

#[test]
fn files_are_closed_near_their_size() {
    let bench = Bench::default();
    let shape = Shape { properties: vec![property("delta.targetFileSize", "64k")], ..plain() };
    let table = bench.table(shape, &[row(-1, "a", i(1))]);
    let delivered = source(&bench, &many(90_000));
    let (plan, report) = bench.run(&table.path, &delivered, &[], Strategy::Append);
    assert_eq!(json!(plan)["spec"]["output"], json!({"target_file_bytes": 65536}));
    let by_property = report.files_added;
    assert!(by_property > 4, "{by_property} files");
    // A flag goes before the property.
    let mut request = request(&delivered, &[]);
    request.output.target_file_bytes = Some(1 << 30);
    let open = bench.open(&table.path).unwrap();
    let progress = partwise::progress::Progress::default();
    let prepared = block_on(partwise::ops::prepare(&bench.context, &open, &request, Strategy::Append, &progress));
    let report = bench.apply(&prepared.unwrap_or_else(|e| panic!("{}", e.full_message())).plan).unwrap();
    assert_eq!(report.files_added, 2);
}
