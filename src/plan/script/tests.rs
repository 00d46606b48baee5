use serde_json::json;

use super::*;
use crate::plan::clauses::{BySourceAction, BySourceClause, Clauses, On};
use crate::plan::kinds::RowSpec;
use crate::plan::merge::Merge;
use crate::plan::overwrite::{Mode, Overwrite};
use crate::plan::restore::Restore;
use crate::plan::scd2::Scd2;
use crate::plan::undo::Undo;
use crate::plan::view::{OperationColumn, SourceView};
use crate::plan::{GateResult, GateStatus, PlanPartition, Refusal, SourceFacts};
use crate::table::schema::PrimitiveType;
use crate::table::{DataType, Value};

fn schema(columns: &[(&str, PrimitiveType)]) -> Schema {
    let field = |(name, t): &(&str, PrimitiveType)| Field {
        name: (*name).into(),
        data_type: DataType::Primitive(t.clone()),
        nullable: true,
        metadata: serde_json::Map::new(),
    };
    Schema { fields: columns.iter().map(field).collect() }
}

fn facts() -> Facts {
    use PrimitiveType::*;
    let money = Decimal { precision: 12, scale: 2 };
    Facts {
        schema: schema(&[("day", Date), ("zone", String), ("id", Long), ("amount", money)]),
        delivered: schema(&[("Amount", Integer), ("id", Long), ("zone", String), ("day", Date), ("op", String)]),
        columns: ["day", "zone", "id", "Amount"].map(|c| Some(c.to_owned())).to_vec(),
        predicate: None,
        glob: false,
        odd_path: None,
    }
}

fn rows() -> RowSpec {
    RowSpec { source: "/in/it's.parquet".into(), key: vec!["id".into()], ..RowSpec::default() }
}

/// A plan on two partitions, one of them NULL.
fn plan(spec: Spec) -> Plan {
    let with_source = spec.rows().is_some();
    let part = |day: &str, zone: Option<&str>, after| PlanPartition {
        raw: vec![Some(day.into()), zone.map(str::to_owned)],
        source: after,
        after,
        ..PlanPartition::default()
    };
    let mut plan = Plan {
        id: "00000000-0000-0000-0000-000000000001".into(),
        table: "/lake/gold".into(),
        version: 12,
        partition_columns: vec!["day".into(), "zone".into()],
        partitions: vec![part("2024-01-01", None, 2), part("2024-01-01", Some("a'b"), 1)],
        source: with_source.then(|| SourceFacts {
            uri: "/in/it's.parquet".into(),
            format: "parquet".into(),
            files: 1,
            fingerprint: "f".into(),
            content: None,
        }),
        ..Plan::blank(spec)
    };
    plan.rows.source = 3;
    plan.rows.inserted = 3;
    plan.rows.table_after = Some(900);
    plan.verdict = Verdict::Ready;
    plan
}

fn overwrite() -> Spec {
    Spec::Overwrite(Overwrite { mode: Mode::Dynamic, rows: rows() })
}

fn merge(clauses: Clauses, view: SourceView) -> Spec {
    let rows = RowSpec { view, ..rows() };
    Spec::Merge(Merge { on: On::columns(&rows.key, false), clauses, rows })
}

fn sql(spec: Spec) -> String {
    script(&plan(spec), &facts(), Engine::SparkSql).unwrap()
}

/// The statement that writes.
fn write_of(spec: Spec) -> String {
    let script = sql(spec);
    let at = script.find("-- 5. ").unwrap();
    let end = script.find("-- 6. ").unwrap();
    script[at..end].lines().skip(1).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[test]
fn names_and_texts_survive_sparks_parser() {
    for (given, wanted) in [
        ("plain", "'plain'"),
        ("it's", "'it\\'s'"),
        ("back\\slash %", "'back\\\\slash %'"),
        ("a\nb\r\tc", "'a\\nb\\r\\tc'"),
        ("München 東京 👩‍👧", "'München 東京 👩‍👧'"),
        ("${env:HOME} $5", "'\\u0024{env:HOME} $5'"),
        ("\u{1}\u{2028}\u{202e}", "'\\u0001\\u2028\\u202e'"),
        ("\"q\" -- ; /*", "'\"q\" -- ; /*'"),
    ] {
        assert_eq!(literal::text(given), wanted);
    }
    assert_eq!(literal::name("a`b c"), "`a``b c`");
    assert_eq!(literal::comment("ends with \\"), "ends with \\.");
    assert_eq!(literal::comment("two\nlines"), "two\\nlines");
}

#[test]
fn values_are_typed() {
    use PrimitiveType::*;
    for (value, t, wanted) in [
        (Value::Null, Integer, "CAST(NULL AS INT)"),
        (Value::Int(-5), Byte, "-5Y"),
        (Value::Int(5), Short, "5S"),
        (Value::Int(5), Integer, "5"),
        (Value::Int(i64::MIN), Long, "-9223372036854775808L"),
        (Value::Boolean(true), Boolean, "TRUE"),
        (Value::Double(f64::NAN), Double, "CAST('NaN' AS DOUBLE)"),
        (
            Value::Decimal { unscaled: -150, scale: 2 },
            Decimal { precision: 6, scale: 2 },
            "CAST('-1.50' AS DECIMAL(6,2))",
        ),
        (Value::Date(19_723), Date, "DATE '2024-01-01'"),
        (Value::Timestamp(0), Timestamp, "TIMESTAMP '1970-01-01 00:00:00Z'"),
        (Value::TimestampNtz(1), TimestampNtz, "TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'"),
        (Value::String("".into()), String, "''"),
    ] {
        assert_eq!(literal::value(&value, &t), wanted);
    }
}

#[test]
fn partitions_are_chosen_exactly() {
    use PrimitiveType::*;
    let schema = schema(&[("a", Integer), ("b", String)]);
    let fields: Vec<&Field> = schema.fields.iter().collect();
    let text = |s: &str| Value::String(s.into());
    let of = |tuples: Vec<Vec<Value>>| {
        let tuples: Vec<(PartitionTuple, ())> = tuples.into_iter().map(|t| (PartitionTuple(t), ())).collect();
        literal::of_partitions(&fields, &tuples, "t.")
    };
    assert_eq!(of(vec![vec![Value::Int(1), text("x")]]), "(t.`a` = 1 AND t.`b` = 'x')");
    assert_eq!(
        of(vec![vec![Value::Int(1), text("y")], vec![Value::Null, Value::Null], vec![Value::Int(1), text("x")]]),
        "((t.`a` IS NULL AND t.`b` IS NULL) OR (t.`a` = 1 AND t.`b` IN ('x', 'y')))"
    );
    let mixed = of(vec![vec![Value::Int(1), Value::Null], vec![Value::Int(1), text("")]]);
    assert_eq!(mixed, "(t.`a` = 1 AND (t.`b` = '' OR t.`b` IS NULL))");
    assert_eq!(of(Vec::new()), "FALSE");
    assert_eq!(literal::exactly(&[], &[&[]], ""), "TRUE");
}

#[test]
fn a_whole_script_for_the_shell() {
    let script = sql(overwrite());
    let statements = spark_sql::split(&script);
    let kinds: Vec<&str> = statements.iter().map(|s| s.split([' ', '\n']).next().unwrap()).collect();
    let count = |word: &str| kinds.iter().filter(|k| **k == word).count();
    assert_eq!((count("SET"), count("RESET"), count("CREATE"), count("INSERT"), count("SELECT")), (11, 11, 3, 1, 5));
    assert!(kinds[0] == "SET" && statements[0] == "SET spark.sql.variable.substitute = false");
    // Both checks come before the write, three after it.
    let at = kinds.iter().position(|k| *k == "INSERT").unwrap();
    assert_eq!(kinds[..at].iter().filter(|k| **k == "SELECT").count(), 2);
    let all = statements.join("\n");
    for part in [
        "binaryFile.`/lake/gold/_delta_log/*.json`\n) = 12, 'the table is no longer at version 12: make a new plan, nothing was written')",
        "OPTIONS (path '/in/it\\'s.parquet', recursiveFileLookup 'true')",
        "(\nSELECT count(*) FROM partwise_delivered\n) = 3",
        "RESTORE TABLE delta.`/lake/gold` TO VERSION AS OF 12",
        "(DATE '2024-01-01', CAST(NULL AS STRING), 2L)",
        "(\nSELECT count(*) FROM delta.`/lake/gold`\n) = 900",
    ] {
        assert!(all.contains(part), "{part} is not in\n{all}");
    }
}

#[test]
fn an_overwrite_replaces_exactly_the_delivered_partitions() {
    assert_eq!(
        write_of(overwrite()),
        "INSERT INTO TABLE delta.`/lake/gold`\n\
         REPLACE WHERE (`day` = DATE '2024-01-01' AND (`zone` = 'a\\'b' OR `zone` IS NULL))\n\
         SELECT s.`day` AS `day`,\n       s.`zone` AS `zone`,\n       s.`id` AS `id`,\n       \
         CAST(s.`Amount` AS DECIMAL(12,2)) AS `amount`\nFROM partwise_source AS s;"
    );
    let whole = write_of(Spec::Overwrite(Overwrite { mode: Mode::Static, rows: rows() }));
    assert!(
        whole.starts_with("INSERT OVERWRITE TABLE delta.`/lake/gold` (`day`, `zone`, `id`, `amount`)\n"),
        "{whole}"
    );
}

#[test]
fn a_merge_has_every_clause_and_casts_as_partwise_does() {
    let mut clauses = Clauses::replace(true);
    clauses.by_source.push(BySourceClause {
        condition: Some("t.amount > 1.5".into()),
        within_slice: false,
        action: BySourceAction::Update(vec![("zone".into(), "'old'".into())]),
    });
    let codes = vec![
        (Some("U".into()), RowMeaning::Upsert),
        (None, RowMeaning::BeforeImage),
        (Some("D".into()), RowMeaning::Delete),
    ];
    let view = SourceView {
        filter: Some("s.id > 0".into()),
        columns: vec![("zone".into(), "upper(s.zone)".into())],
        operations: Some(OperationColumn { column: "op".into(), codes }),
        latest_by: Some("Amount".into()),
    };
    let script = sql(merge(clauses, view));
    for part in [
        "upper(s.zone) AS `zone`",
        "FROM partwise_files AS s\nWHERE s.id > 0",
        "CASE WHEN CAST(s.`op` AS STRING) <=> 'U' THEN 'upsert'",
        "<=> NULL THEN 'before-image'",
        "rank() OVER (PARTITION BY `id` ORDER BY `Amount` DESC NULLS LAST)",
        "ON (t.`id` = s.`id`)",
        "WHEN MATCHED AND NOT (s.`partwise_meaning` <> 'delete') THEN DELETE\n\
         WHEN MATCHED THEN UPDATE SET `day` = s.`day`, `zone` = s.`zone`, `id` = s.`id`, `amount` = CAST(s.`Amount` AS DECIMAL(12,2))",
        "WHEN NOT MATCHED AND s.`partwise_meaning` <> 'delete' THEN INSERT (`day`, `zone`, `id`, `amount`)",
        "WHEN NOT MATCHED BY SOURCE AND (t.`day` = DATE '2024-01-01' AND (t.`zone` = 'a\\'b' OR t.`zone` IS NULL)) THEN DELETE",
        "WHEN NOT MATCHED BY SOURCE AND (t.amount > 1.5) THEN UPDATE SET `zone` = 'old'",
    ] {
        assert!(script.contains(part), "{part} is not in\n{script}");
    }
}

#[test]
fn a_closed_version_comes_twice() {
    let spec = Scd2 {
        rows: rows(),
        track: vec!["amount".into()],
        effective_from: "day".into(),
        effective_to: "zone".into(),
        effective_at: "s.day".into(),
        ..Scd2::default()
    };
    let text = write_of(Spec::Scd2(spec));
    for part in [
        "UNION ALL",
        "LEFT SEMI JOIN",
        "ON NOT s.`partwise_new_version` AND (t.`id` = s.`id`)",
        "WHEN NOT MATCHED AND s.`partwise_new_version` THEN INSERT",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn going_back_is_a_restore_or_a_refusal() {
    let restore = Restore {
        to: 7,
        files: Default::default(),
        metadata: false,
        partitions: None,
        data_only: false,
        files_lost: 0,
        switches: false,
        breakers: Vec::new(),
    };
    let chosen = Restore { partitions: Some("d = 'a'".into()), ..restore.clone() };
    let refused = script(&plan(Spec::Restore(chosen)), &facts(), Engine::SparkSql).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Refused);
    assert_eq!(write_of(Spec::Restore(restore)), "RESTORE TABLE delta.`/lake/gold` TO VERSION AS OF 7;");
    let undo = |version| {
        Spec::Undo(Undo {
            undoes: "x".into(),
            undoes_version: version,
            files: Default::default(),
            metadata: false,
            same_rows: false,
            switches: false,
            breakers: Vec::new(),
        })
    };
    assert_eq!(write_of(undo(12)), "RESTORE TABLE delta.`/lake/gold` TO VERSION AS OF 11;");
    for engine in Engine::ALL {
        let error = script(&plan(undo(10)), &facts(), engine).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refused);
        assert!(error.message.contains("after version 10"), "{}", error.message);
    }
}

#[test]
fn what_a_plan_says_against_writing_is_not_passed_by() {
    let gate = |overridden: Option<&str>| GateResult {
        name: "row-count".into(),
        status: GateStatus::Fail,
        observed: json!(1),
        threshold: String::new(),
        message: "half the rows are gone".into(),
        partitions: Vec::new(),
        overridden: overridden.map(str::to_owned),
    };
    let with = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan(overwrite());
        change(&mut plan);
        plan.settle();
        script(&plan, &facts(), Engine::SparkSql)
    };
    assert_eq!(with(&|p| p.gates = vec![gate(None)]).unwrap_err().kind, ErrorKind::GateFailed);
    let passed = with(&|p| p.gates = vec![gate(Some("it's; fine"))]).unwrap();
    assert!(passed.contains("-- row-count failed and was overridden: it\u{2019}s, fine"), "{passed}");
    assert!(passed.contains("\"overrides\":{\"row-count\":\"it\\u0027s\\u003b fine\"}"), "{passed}");
    let refusal = |kind| Refusal { kind, message: "table feature rowTracking".into(), hint: None };
    let lifted = with(&|p| p.refusals = vec![refusal(ErrorKind::UnsupportedFeature)]).unwrap();
    assert!(lifted.contains("-- partwise does not write it itself: table feature rowTracking"), "{lifted}");
    assert_eq!(with(&|p| p.refusals = vec![refusal(ErrorKind::LossyType)]).unwrap_err().kind, ErrorKind::LossyType);
    assert_eq!(with(&|p| p.compared = false).unwrap_err().kind, ErrorKind::Refused);
    assert_eq!(with(&|p| p.rows.inserted = 0).unwrap_err().kind, ErrorKind::Refused);
    let empty = with(&|p| p.partitions[0].raw[1] = Some(String::new())).unwrap_err();
    assert!(empty.kind == ErrorKind::UnsupportedFeature && empty.message.contains("NULL"), "{}", empty.message);
}

#[test]
fn python_programs_hold_the_same_statements() {
    let script = script(&plan(overwrite()), &facts(), Engine::PySpark).unwrap();
    for part in [
        "    \"spark.sql.session.timeZone\": \"UTC\",\n",
        "    check(one(\"\"\"\nSELECT max(",
        "(`zone` = 'a\\\\'b' OR `zone` IS NULL))",
        "finally:\n",
        "to go back: RESTORE TABLE delta.`/lake/gold` TO VERSION AS OF 12",
    ] {
        assert!(script.contains(part), "{part} is not in\n{script}");
    }
}

#[test]
fn delta_rs_says_partitions_one_by_one_and_refuses_the_rest_by_name() {
    let rs = |spec: Spec| script(&plan(spec), &facts(), Engine::DeltaRs);
    let text = rs(overwrite()).unwrap();
    for part in [
        "max_commit_retries=0",
        "predicate=\"((\\\"day\\\" = CAST('2024-01-01' AS DATE) AND \\\"zone\\\" IS NULL) OR (\\\"day\\\" = CAST('2024-01-01' AS DATE) AND \\\"zone\\\" = 'a''b'))\"",
        "    \"amount\": \"Amount\",\n",
        "    (datetime.date.fromisoformat(\"2024-01-01\"), None,): 2,\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let merged = rs(merge(Clauses::replace(true), SourceView::default())).unwrap();
    assert!(merged.contains(".when_not_matched_by_source_delete(predicate=\"((t.\\\"day\\\" = "), "{merged}");
    assert!(merged.contains("predicate=\"t.\\\"id\\\" = s.\\\"id\\\"\""), "{merged}");
    let odd = Facts { odd_path: Some("zone=M%C3%BC/part-0.parquet".into()), ..facts() };
    let error = script(&plan(overwrite()), &odd, Engine::DeltaRs).unwrap_err();
    assert!(error.message.contains("M%C3%BC") && error.message.contains("old rows would stay"), "{}", error.message);
    let late = merge(Clauses::insert_only(), SourceView::default());
    assert!(script(&plan(late), &odd, Engine::DeltaRs).is_ok(), "it removes nothing");
    let view = SourceView { latest_by: Some("Amount".into()), ..SourceView::default() };
    let error = rs(merge(Clauses::upsert(), view)).unwrap_err();
    assert!(
        error.kind == ErrorKind::UnsupportedFeature && error.message.starts_with("delta-rs: the newest row"),
        "{}",
        error.message
    );
}

#[test]
fn texts_that_mean_something_else_in_data_fusion_are_refused() {
    use data_fusion::{Bare, shared_meaning};
    let facts = facts();
    for (given, bare, wanted) in [
        ("ID >= 2 AND `zone` IN ('a', 'it''s')", Bare::Only, "\"id\" >= 2 AND \"zone\" IN ('a', 'it''s')"),
        ("day = DATE '2024-01-01'", Bare::Only, "\"day\" = DATE '2024-01-01'"),
        ("s.Amount > 5L AND t.id IS NOT NULL", Bare::Either, "s.\"amount\" > 5 AND t.\"id\" IS NOT NULL"),
        ("id = 1", Bare::Target, "t.\"id\" = 1"),
    ] {
        assert_eq!(shared_meaning(given, &facts, bare).unwrap(), wanted);
    }
    for (given, piece) in [
        ("id / 2 = 1", "the sign /"),
        ("amount > 1.5", "the number 1.5"),
        ("upper(zone) = 'A'", "the function upper"),
        ("zone = 'a\\\\b'", "a backslash"),
        ("zone <=> 'a'", "<=>"),
        ("s.id = 1", "the name s"),
        ("nowhere = 1", "the name nowhere"),
        ("CASE WHEN id = 1 THEN 2 END = 2", "the name CASE"),
        ("zone LIKE 'a'", "the name LIKE"),
    ] {
        let error = shared_meaning(given, &facts, Bare::Only).unwrap_err();
        assert!(error.message.contains(piece), "{given}: {}", error.message);
    }
    let both = shared_meaning("id = 1", &facts, Bare::Either).unwrap_err();
    assert!(both.message.contains("the name id"), "{}", both.message);
    let elsewhere = shared_meaning("s.op = 'U'", &facts, Bare::Either).unwrap_err();
    assert!(elsewhere.message.contains("the source's column op"), "{}", elsewhere.message);
}
