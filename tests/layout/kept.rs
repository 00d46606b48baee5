//! What a rewrite in place keeps (B33, B34, B43), and what it turns into what.

use std::fs::File;

use deltalake::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use partwise::error::ErrorKind;
use partwise::ops::RepartitionRequest;
use partwise::plan::Verdict;
use partwise::plan::layouts::LayoutBy;
use partwise::table::Value;
use serde_json::{Value as Json, json};

use super::{by, metadata, plan, switch};
use crate::support::replay::{actions, replay};
use crate::support::road::refused;
use crate::support::writer::{FileOptions, PathStyle};
use crate::support::{Bench, Fixture, Kind, Shape, i, rows_of, s, sorted};

/// A table whose first commit is written here line by line.
fn by_hand(bench: &Bench, schema: Json, partition_by: &[&str], configuration: Json, protocol: Json) -> Fixture {
    let shape = Shape::new(&[("d", Kind::String), ("v", Kind::Integer), ("w", Kind::Integer)], partition_by);
    let mut table = Fixture::new(bench.path("t"), shape);
    let adds = table.add_each(&[vec![s("a"), i(1), i(10)], vec![s("b"), i(2), i(20)]], &FileOptions::default());
    let metadata = json!({"id": "5f1d9c0e-0000-4000-8000-000000000001", "name": "sales", "description": "net of tax",
        "format": {"provider": "parquet", "options": {}}, "schemaString": schema.to_string(),
        "partitionColumns": partition_by, "configuration": configuration, "createdTime": 1_700_000_000_000_u64});
    let mut lines = vec![
        json!({"commitInfo": {"timestamp": 1_700_000_000_000_u64, "operation": "CREATE TABLE"}}),
        json!({"protocol": protocol}),
        json!({"metaData": metadata}),
    ];
    lines.extend(adds);
    table.commit_lines(&lines);
    table
}

#[test]
fn b33_everything_but_the_partition_columns_is_kept() {
    let bench = Bench::default();
    let schema = json!({"type": "struct", "fields": [
        {"name": "d", "type": "string", "nullable": true, "metadata": {"comment": "load day"}},
        {"name": "v", "type": "integer", "nullable": false, "metadata": {}},
        {"name": "w", "type": "integer", "nullable": true, "metadata": {"delta.generationExpression": "v * 10"}}]});
    let configuration = json!({"delta.enableChangeDataFeed": "true", "delta.constraints.positive": "v > 0",
        "team.owner": "x", "delta.appendOnly": "true"});
    let table = by_hand(&bench, schema, &["d"], configuration, json!({"minReaderVersion": 1, "minWriterVersion": 4}));
    let (kept, rows) = (metadata(&table.path), rows_of(&table.path));
    let protocol = replay(&table.path).unwrap().protocol;

    let (plan, report) = switch(&bench, &table.path, &by(&["v"]));
    assert_eq!((plan.verdict, plan.rows.unchanged), (Verdict::Ready, 2));
    assert_eq!(plan.metadata_changes, ["partition columns: d → v"]);
    let after = replay(&table.path).unwrap();
    assert_eq!(metadata(&table.path), kept, "schema, properties, name, description, id");
    assert_eq!(after.metadata["partitionColumns"], json!(["v"]));
    assert_eq!(after.protocol, protocol);
    assert_eq!(rows_of(&table.path), rows);
    let info = after.infos.last().unwrap();
    assert_eq!(
        (info["operation"].as_str(), &info["operationParameters"]["partitionBy"]),
        (Some("REPARTITION"), &json!("[\"v\"]"))
    );
    assert_eq!(info["operationMetrics"]["numOutputRows"], "2");
    assert!(report.verified && report.undo.is_none(), "an append-only table lets no commit go back");

    // The constraint holds the next write of others; there and back nothing is lost.
    switch(&bench, &table.path, &by(&["d"]));
    assert_eq!((metadata(&table.path), rows_of(&table.path)), (kept, rows));
}

#[test]
fn b43_streams_and_change_feeds_see_no_change() {
    let bench = Bench::default();
    let shape = Shape::new(&[("a", Kind::Integer), ("b", Kind::String)], &[]);
    let rows: Vec<_> = (0..5).map(|n| vec![i(n), s(["x", "y"][n as usize % 2])]).collect();
    let table = bench.table(shape, &rows);
    let (_, report) = switch(&bench, &table.path, &by(&["b"]));
    let files: Vec<Json> = actions(&table.path, report.version_after.unwrap())
        .iter()
        .filter_map(|a| a.get("add").or(a.get("remove")).cloned())
        .collect();
    assert_eq!(files.len(), 3);
    assert!(files.iter().all(|f| f["dataChange"] == false), "{files:?}");
    assert_eq!(rows_of(&table.path), rows);
}

#[test]
fn b34_a_column_mapped_table_keeps_its_physical_names_and_ids() {
    let bench = Bench::default();
    let shape = Shape {
        mapped: true,
        deletion_vectors: true,
        ..Shape::new(&[("day", Kind::String), ("amount", Kind::Integer), ("t", Kind::Struct)], &["day"])
    };
    let nested = |n: i64| Value::Nested(format!("[{n},\"x\"]"));
    let mut table = Fixture::new(bench.path("t"), shape);
    let masked = table.add(
        &[vec![s("a"), i(1), nested(1)], vec![s("a"), i(7), nested(7)], vec![s("a"), i(2), nested(2)]],
        &FileOptions { deleted: vec![1], ..FileOptions::default() },
    );
    let whole = table.add(&[vec![s("b"), i(2), nested(3)]], &FileOptions::default());
    table.commit("WRITE", json!({}), vec![masked, whole]);
    let (kept, rows) = (metadata(&table.path), rows_of(&table.path));
    assert_eq!(rows.len(), 3);

    switch(&bench, &table.path, &by(&["amount"]));
    let after = replay(&table.path).unwrap();
    assert_eq!((metadata(&table.path), rows_of(&table.path)), (kept.clone(), rows.clone()));
    assert_eq!(after.live.len(), 2);
    for add in after.live.values() {
        assert!(add.get("deletionVector").is_none());
        let keys: Vec<&String> = add["partitionValues"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["col-amount"], "keyed by the physical name");
        let path = table.path.join(add["path"].as_str().unwrap());
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let fields = reader.parquet_schema().root_schema().get_fields();
        let ids: Vec<(&str, i32)> = fields.iter().map(|f| (f.name(), f.get_basic_info().id())).collect();
        assert_eq!(
            ids,
            [("col-day", 1), ("col-t", 3)],
            "the former partition column is data under its own name and id"
        );
    }
    switch(&bench, &table.path, &by(&["day"]));
    assert_eq!((metadata(&table.path), rows_of(&table.path)), (kept, rows));
}

#[test]
fn former_partition_values_come_out_as_data() {
    let bench = Bench::default();
    let shape = Shape { paths: PathStyle::Spark, ..Shape::new(&[("g", Kind::String), ("v", Kind::Integer)], &["g"]) };
    let odd = ["München 1", "x/y=50%", "null", "__HIVE_DEFAULT_PARTITION__", " lead"];
    let mut rows: Vec<_> = odd.iter().map(|g| vec![s(g), i(1)]).collect();
    rows.extend([vec![s(""), i(2)], vec![Value::Null, i(3)]]);
    let table = bench.table(shape, &rows);
    let (plan, _) = switch(&bench, &table.path, &by(&["v"]));
    assert!(plan.findings.iter().any(|f| f.contains("1 files have the empty string")), "{:?}", plan.findings);
    // As a partition value the empty string is NULL by the protocol.
    rows[5][0] = Value::Null;
    assert_eq!(rows_of(&table.path), sorted(rows.clone()));
    switch(&bench, &table.path, &by(&["g"]));
    assert_eq!(rows_of(&table.path), sorted(rows));
}

#[test]
fn the_empty_string_is_no_partition_value() {
    let bench = Bench::default();
    let shape = Shape::new(&[("g", Kind::String), ("v", Kind::Integer)], &[]);
    let table = bench.table(shape, &[vec![s(""), i(1)], vec![s("a"), i(2)]]);
    let plan = plan(&bench, &table.path, &by(&["g"])).unwrap();
    assert_eq!(plan.verdict, Verdict::Blocked);
    assert!(plan.refusals[0].message.contains("1 rows have the empty string in g"), "{:?}", plan.refusals);
    assert_eq!(refused(bench.apply(&plan)).kind, ErrorKind::Refused);
    assert_eq!(replay(&table.path).unwrap().version, 0);
}

/// They are equal, so that they share a partition; its value is the plain zero.
#[test]
fn both_zeros_are_one_partition() {
    let bench = Bench::default();
    let rows = [vec![Value::Double(-0.0), i(1)], vec![Value::Double(0.0), i(2)], vec![Value::Double(1.5), i(3)]];
    let table = bench.table(Shape::new(&[("f", Kind::Double), ("v", Kind::Integer)], &[]), &rows);
    let (plan, _) = switch(&bench, &table.path, &by(&["f"]));
    assert_eq!(plan.layout.after.partitions, 2);
    let live = replay(&table.path).unwrap().live;
    let mut values: Vec<_> = live.values().map(|add| add["partitionValues"]["f"].as_str().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, ["0.0", "1.5"]);
    assert!(live.keys().all(|(path, _)| !path.starts_with("f=-")), "{:?}", live.keys());
    assert_eq!(rows_of(&table.path), sorted(rows.to_vec()));
}

#[test]
fn what_delta_cannot_partition_by_is_refused_by_name() {
    let bench = Bench::default();
    let columns = [("a", Kind::Integer), ("b", Kind::Binary), ("t", Kind::Struct)];
    let row = vec![i(1), Value::Binary(vec![1]), Value::Nested("[1,\"x\"]".into())];
    let table = bench.table(Shape::new(&columns, &["a"]), &[row]);
    for (columns, word) in [(&["b"][..], "binary"), (&["t"], "struct<"), (&["a", "b", "t"], "no column would be left")]
    {
        let plan = plan(&bench, &table.path, &by(columns)).unwrap();
        assert!(plan.refusals.iter().any(|r| r.message.contains(word)), "{columns:?}: {:?}", plan.refusals);
        assert!(refused(bench.apply(&plan)).message.len() > 10);
    }
    for (columns, word) in [(&["nope"][..], "no column nope"), (&["a", "A"], "twice")] {
        let error = refused(plan(&bench, &table.path, &by(columns)));
        assert!(error.kind == ErrorKind::Usage && error.message.contains(word), "{}", error.message);
    }
    let plan = plan(&bench, &table.path, &by(&["a"])).unwrap();
    assert_eq!(plan.verdict, Verdict::NoOp, "it is partitioned by a already");
    assert_eq!(bench.apply(&plan).unwrap().version_after, None);
}

fn month(generated: bool) -> RepartitionRequest {
    let by = LayoutBy::parse("year(ts) AS y").unwrap();
    RepartitionRequest { by, plain_column: !generated, ..RepartitionRequest::default() }
}

#[test]
fn an_expression_adds_a_generated_column() {
    let bench = Bench::default();
    let day = |year: i64| Value::Timestamp(((year - 1970) * 365 + 100) * 86_400_000_000);
    let rows = [vec![day(2024), i(1)], vec![day(2025), i(2)], vec![Value::Null, i(3)], vec![day(2025), i(4)]];
    for mapped in [false, true] {
        let path = bench.path(if mapped { "m" } else { "p" });
        let shape = Shape { mapped, ..Shape::new(&[("ts", Kind::Timestamp), ("v", Kind::Integer)], &[]) };
        let table = Fixture::with_rows(path, shape, &rows);
        let writer = replay(&table.path).unwrap().protocol["minWriterVersion"].as_i64().unwrap();
        let (plan, _) = switch(&bench, &table.path, &month(true));
        let said = plan.metadata_changes.join("; ");
        assert!(said.contains("generated column y integer AS year(ts) is added"), "{said}");
        assert_eq!(said.contains("writer version"), writer < 4, "{said}");
        let after = replay(&table.path).unwrap();
        assert!(after.protocol["minWriterVersion"].as_i64().unwrap() >= 4);
        let schema: Json = serde_json::from_str(after.metadata["schemaString"].as_str().unwrap()).unwrap();
        assert_eq!(schema["fields"][2]["metadata"]["delta.generationExpression"], "year(ts)");
        let mut want: Vec<_> = rows.to_vec();
        want.iter_mut().zip([i(2024), i(2025), Value::Null, i(2025)]).for_each(|(row, y)| row.push(y));
        assert_eq!(rows_of(&table.path), sorted(want));
        assert_eq!(after.live.len(), 3, "one file a year, and one for NULL");
        // Undo takes the column back too; the protocol stays.
        bench.undo(&table.path);
        assert_eq!(rows_of(&table.path), sorted(rows.to_vec()));
    }
}

#[test]
fn two_expressions_add_two_generated_columns() {
    let bench = Bench::default();
    let day = |year: i64, days: i64| Value::Timestamp(((year - 1970) * 365 + days) * 86_400_000_000);
    let rows =
        [vec![day(2023, 60), i(1)], vec![day(2023, 200), i(2)], vec![Value::Null, i(3)], vec![day(2022, 40), i(4)]];
    for mapped in [false, true] {
        let path = bench.path(if mapped { "m" } else { "p" });
        let shape = Shape { mapped, ..Shape::new(&[("ts", Kind::Timestamp), ("v", Kind::Integer)], &["v"]) };
        let table = Fixture::with_rows(path, shape, &rows);
        let schema = replay(&table.path).unwrap().metadata["schemaString"].clone();
        // The partition columns stand in another order than the columns that are added.
        let by = LayoutBy::parse("month(ts) AS mo, v, year(ts) AS y").unwrap();
        let (plan, _) = switch(&bench, &table.path, &RepartitionRequest { by, ..RepartitionRequest::default() });
        let said = plan.metadata_changes.join("; ");
        assert!(
            said.contains("column mo integer AS month(ts)") && said.contains("column y integer AS year(ts)"),
            "{said}"
        );
        let utc = plan.findings.iter().filter(|f| f.contains("is computed in UTC")).count();
        assert_eq!(utc, 2, "{:?}", plan.findings);
        let after = replay(&table.path).unwrap();
        assert_eq!(after.metadata["partitionColumns"], json!(["mo", "v", "y"]));
        let new: Json = serde_json::from_str(after.metadata["schemaString"].as_str().unwrap()).unwrap();
        for (place, name, sql) in [(2, "mo", "month(ts)"), (3, "y", "year(ts)")] {
            let field = &new["fields"][place];
            assert_eq!((&field["name"], &field["metadata"]["delta.generationExpression"]), (&json!(name), &json!(sql)));
        }
        let parameters = &after.infos.last().unwrap()["operationParameters"];
        assert_eq!(parameters["addedColumns"], json!("[\"month(ts) AS mo\",\"year(ts) AS y\"]"));
        let mut want: Vec<_> = rows.to_vec();
        let computed = [(i(2), i(2023)), (i(7), i(2023)), (Value::Null, Value::Null), (i(1), i(2022))];
        want.iter_mut().zip(computed).for_each(|(row, (mo, y))| row.extend([mo, y]));
        assert_eq!(rows_of(&table.path), sorted(want));
        // Undo takes both back.
        bench.undo(&table.path);
        assert_eq!(rows_of(&table.path), sorted(rows.to_vec()));
        assert_eq!(replay(&table.path).unwrap().metadata["schemaString"], schema);
    }
}

#[test]
fn a_plain_column_leaves_the_protocol_alone() {
    let bench = Bench::default();
    let table = bench.table(
        Shape::new(&[("ts", Kind::Date), ("v", Kind::Integer)], &[]),
        &[vec![Value::Date(19_000), i(1)], vec![Value::Date(20_000), i(2)]],
    );
    let protocol = replay(&table.path).unwrap().protocol;
    let (plan, _) = switch(&bench, &table.path, &month(false));
    assert!(plan.findings.iter().any(|f| f.contains("must supply y")), "{:?}", plan.findings);
    assert_eq!(replay(&table.path).unwrap().protocol, protocol);
    let wrong = [
        ("year(t.ts) AS z", "alias"),
        ("current_date() AS z", "when it is computed"),
        ("year(ts) AS V", "has a column v already"),
        ("1 AS one", "names no column"),
        ("year(ts) AS a, month(a) AS b", "no column 'a'"),
    ];
    for (text, word) in wrong {
        let request = RepartitionRequest { by: LayoutBy::parse(text).unwrap(), ..RepartitionRequest::default() };
        let error = refused(super::plan(&bench, &table.path, &request));
        assert!(error.message.contains(word), "{text}: {}", error.message);
    }
}

#[test]
fn undo_and_restore_bring_the_old_layout_back() {
    let bench = Bench::default();
    let rows = [vec![s("a"), i(1)], vec![s("b"), i(2)], vec![s("a"), i(3)]];
    let shape = Shape::new(&[("g", Kind::String), ("v", Kind::Integer)], &["g"]);
    let mut table = bench.table(shape, &rows);
    let files: Vec<_> = replay(&table.path).unwrap().live.into_keys().collect();
    switch(&bench, &table.path, &by(&["v"]));
    bench.undo(&table.path);
    let back = replay(&table.path).unwrap();
    assert_eq!(
        (back.metadata["partitionColumns"].clone(), rows_of(&table.path)),
        (json!(["g"]), sorted(rows.to_vec()))
    );
    assert_eq!(back.live.into_keys().collect::<Vec<_>>(), files);

    let (_, report) = switch(&bench, &table.path, &by(&[]));
    let plan = bench.plan_restore(&table.path, 0).unwrap();
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path), sorted(rows.to_vec()));

    // What somebody wrote under the new columns is carried over.
    let (first, _) = switch(&bench, &table.path, &by(&["v"]));
    table.shape.partition_by = vec!["v".into()];
    table.next = replay(&table.path).unwrap().version + 1;
    table.append(&[vec![s("c"), i(9)]]);
    let undo = bench.plan_undo(&table.path, None).unwrap();
    assert!(undo.findings[0].contains("taken back by another rewrite") && report.verified, "{:?}", undo.findings);
    bench.apply(&undo).unwrap();
    let mut all = rows.to_vec();
    all.push(vec![s("c"), i(9)]);
    let back = replay(&table.path).unwrap();
    assert_eq!((back.metadata["partitionColumns"].clone(), rows_of(&table.path)), (json!(["g"]), sorted(all.clone())));
    assert_eq!(back.infos.last().unwrap()["partwise"]["undoes"], json!(first.id));
    // It is an undo like any other: not twice, and there is a way forth.
    assert_eq!(refused(bench.plan_undo(&table.path, Some(&first.id))).kind, ErrorKind::Conflict);
    bench.redo(&table.path);
    assert_eq!(replay(&table.path).unwrap().metadata["partitionColumns"], json!(["v"]));
    assert_eq!(rows_of(&table.path), sorted(all));
}
