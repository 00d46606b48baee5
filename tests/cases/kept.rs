//! What no write may change in passing: name, comments, NOT NULL, properties,
//! also those that nobody here knows (B33).

use std::fs;

use partwise::error::ErrorKind;
use partwise::ops::Strategy;
use serde_json::{Value as Json, json};

use crate::support::replay::{actions, replay};
use crate::support::road::{MERGE, MERGE_DELETE, refused};
use crate::support::writer::log_file;
use crate::support::{Bench, Fixture, Kind, Row, Shape, i, rows_of, s};

fn shape() -> Shape {
    let columns = [("d", Kind::String), ("v", Kind::Long), ("w", Kind::Long)];
    Shape { required: vec!["v".into()], ..Shape::new(&columns, &["d"]) }
}

fn row(d: &str, v: i64, w: i64) -> Row {
    vec![s(d), i(v), i(w)]
}

/// The table of the case, with all that people put on a table.
fn sales(bench: &Bench) -> Fixture {
    let table = bench.table(shape(), &[row("a", 1, 10), row("b", 2, 20)]);
    let lines: Vec<String> = actions(&table.path, 0)
        .into_iter()
        .map(|mut line| {
            if let Some(metadata) = line.get_mut("metaData") {
                metadata["name"] = json!("sales");
                metadata["description"] = json!("what was sold");
                metadata["configuration"] =
                    json!({"team.owner": "x", "delta.logRetentionDuration": "interval 40 days"});
                let mut schema: Json = serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
                schema["fields"][0]["metadata"] = json!({"comment": "load day", "team.note": 5});
                metadata["schemaString"] = json!(schema.to_string());
            }
            line.to_string()
        })
        .collect();
    fs::write(log_file(&table.path, 0), lines.join("\n") + "\n").unwrap();
    table
}

#[test]
fn b33_no_write_touches_the_metadata() {
    let bench = Bench::default();
    let table = sales(&bench);
    let first = replay(&table.path).unwrap();
    assert!(first.metadata["schemaString"].as_str().unwrap().contains("load day"), "the fixture has a comment");
    let where_ = Strategy::ReplaceWhere { predicate: "d = 'a' AND w > 0".into() };
    let writes = [Strategy::Overwrite, Strategy::Append, MERGE, MERGE_DELETE, where_, Strategy::OverwriteAll];
    for (n, strategy) in writes.into_iter().enumerate() {
        let n = n as i64;
        let source = bench.source(&format!("s{n}"), &shape().columns, &[row("a", 1, 100 + n), row("a", 50 + n, n + 1)]);
        let title = strategy.title();
        bench.run(&table.path, &source, &["v"], strategy);
        let now = replay(&table.path).unwrap();
        assert_eq!((&now.metadata, &now.protocol), (&first.metadata, &first.protocol), "{title}");
        assert!(actions(&table.path, now.version).iter().all(|l| l.get("metaData").is_none()), "{title}");
    }
    assert_eq!(rows_of(&table.path), [row("a", 1, 105), row("a", 55, 6)]);
    bench.undo(&table.path);
    assert_eq!(replay(&table.path).unwrap().metadata, first.metadata, "undo");
    bench.apply(&bench.plan_restore(&table.path, 0).unwrap()).unwrap();
    assert_eq!(replay(&table.path).unwrap().metadata, first.metadata, "restore");
    assert_eq!(rows_of(&table.path), [row("a", 1, 10), row("b", 2, 20)]);
}

#[test]
fn b33_not_null_holds_for_every_write() {
    let bench = Bench::default();
    let table = sales(&bench);
    let without = vec![s("a"), partwise::table::Value::Null, i(1)];
    let source = bench.source("s", &shape().columns, &[without, row("a", 1, 2)]);
    for strategy in [Strategy::Overwrite, Strategy::Append, MERGE, Strategy::OverwriteAll] {
        let title = strategy.title();
        let plan = bench.plan(&table.path, &source, &["w"], strategy);
        let refusal = plan.refusals.iter().find(|r| r.kind == ErrorKind::NotNullViolation);
        assert!(refusal.is_some_and(|r| r.message.contains('v')), "{title}: {:?}", plan.refusals);
        assert_eq!(refused(bench.apply(&plan)).kind, ErrorKind::NotNullViolation, "{title}");
    }
    assert_eq!(rows_of(&table.path), [row("a", 1, 10), row("b", 2, 20)]);
}
