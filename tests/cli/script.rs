//! `partwise script`: plans as scripts for other engines, also those that
//! partwise does not write itself.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};
use tempfile::tempdir;

use super::{json as json_of, partwise};
use crate::support::replay::actions;
use crate::support::writer::{Fixture, log_file, write_source};
use crate::support::{Kind, Row, Shape, i, s};

const ENGINES: [&str; 3] = ["spark-sql", "pyspark", "delta-rs"];

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"])
}

fn row(d: &str, v: i64) -> Row {
    vec![s(d), i(v)]
}

/// Rows 1 to 3 of a, 4 of b; a restatement of a.
fn table(home: &Path) -> (Fixture, String) {
    let table = Fixture::with_rows(home.join("t"), shape(), &[row("a", 1), row("a", 2), row("a", 3), row("b", 4)]);
    let source = home.join("it's.parquet");
    write_source(&source, &shape().columns, &[row("a", 1), row("a", 2), row("a", 9)]);
    (table, source.to_str().unwrap().to_owned())
}

/// Exit code and output.
fn run(home: &Path, arguments: &[&str]) -> (i32, std::process::Output) {
    let output = partwise(home).args(arguments).output().unwrap();
    (output.status.code().unwrap(), output)
}

fn text(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_plan_is_printed_for_every_engine_and_saved() {
    let home = tempdir().unwrap();
    let (fixture, source) = table(home.path());
    let at = fixture.path.to_str().unwrap();
    let file = home.path().join("plan.json");
    let file = file.to_str().unwrap();
    let (code, _) = run(home.path(), &["plan", "overwrite", at, "--source", &source, "--key", "v", "--out", file]);
    assert_eq!(code, 0);
    for engine in ENGINES {
        let (code, printed) = run(home.path(), &["script", file, "--for", engine]);
        let printed = text(&printed);
        assert_eq!(code, 0, "{engine}: {printed}");
        assert!(printed.contains("at version 0, for ") && printed.contains(engine), "{engine}: {printed}");
        let (code, object) = run(home.path(), &["script", file, "--for", engine, "--json"]);
        let object = json_of(&object);
        assert_eq!((code, &object["engine"], &object["script"]), (0, &json!(engine), &json!(printed)));
        let saved = home.path().join(engine);
        let (code, _) = run(home.path(), &["script", file, "--for", engine, "--out", saved.to_str().unwrap()]);
        assert_eq!((code, fs::read_to_string(saved).unwrap()), (0, printed));
    }
    let (_, printed) = run(home.path(), &["script", file, "--for", "spark-sql"]);
    assert!(text(&printed).contains("REPLACE WHERE `d` = 'a'\n"), "{}", text(&printed));
    assert_eq!(run(home.path(), &["script", file, "--for", "duckdb"]).0, 2);
}

#[test]
fn a_script_of_a_table_or_source_that_moved_is_refused() {
    let home = tempdir().unwrap();
    let (mut fixture, source) = table(home.path());
    let at = fixture.path.to_str().unwrap().to_owned();
    let file = home.path().join("plan.json").to_str().unwrap().to_owned();
    let plan = ["plan", "overwrite", &at, "--source", &source, "--key", "v", "--out", &file, "--force"];
    let kind =
        || json_of(&run(home.path(), &["script", &file, "--for", "pyspark", "--json"]).1)["error"]["kind"].clone();
    run(home.path(), &plan);
    fixture.append(&[row("b", 5)]);
    assert_eq!(kind(), "StalePlan");
    run(home.path(), &plan);
    write_source(Path::new(&source), &shape().columns, &[row("a", 7)]);
    assert_eq!(kind(), "SourceChanged");
}

#[test]
fn nothing_is_written_over_a_file_or_into_the_table() {
    let home = tempdir().unwrap();
    let (fixture, source) = table(home.path());
    let at = fixture.path.to_str().unwrap();
    let plan = |out: &str, more: &[&str]| {
        let words = ["plan", "overwrite", at, "--source", &source, "--key", "v", "--json", "--out", out];
        run(home.path(), &[&words[..], more].concat())
    };
    let kept = fs::read(&source).unwrap();
    let log = log_file(&fixture.path, 0);
    let entry = fs::read(&log).unwrap();
    for (out, force) in [(source.as_str(), &[][..]), (log.to_str().unwrap(), &["--force"])] {
        let (code, said) = plan(out, force);
        assert_eq!((code, json_of(&said)["error"]["kind"].as_str()), (5, Some("Refused")), "{out}");
    }
    let file = home.path().join("plan.json");
    let file = file.to_str().unwrap();
    plan(file, &[]);
    let (code, said) = run(home.path(), &["script", file, "--for", "delta-rs", "--json", "--out", &source]);
    assert_eq!((code, json_of(&said)["error"]["kind"].as_str()), (5, Some("Refused")));
    assert_eq!(plan(file, &[]).0, 5);
    assert_ne!(plan(file, &["--force"]).0, 5);
    assert_eq!((fs::read(&source).unwrap(), fs::read(&log).unwrap()), (kept, entry));
}

/// The plan of a table that partwise does not write has its numbers, is saved,
/// and says how another engine does it.
#[test]
fn a_table_that_is_not_written_here_still_gives_plan_and_script() {
    let home = tempdir().unwrap();
    let (fixture, source) = table(home.path());
    let protocol = json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking", "domainMetadata"]}});
    let lines: Vec<String> = actions(&fixture.path, 0)
        .into_iter()
        .map(|line| if line.get("protocol").is_some() { protocol.to_string() } else { line.to_string() })
        .collect();
    fs::write(log_file(&fixture.path, 0), lines.join("\n") + "\n").unwrap();
    let at = fixture.path.to_str().unwrap();
    let file = home.path().join("plan.json");
    let file = file.to_str().unwrap();
    for kind in [&["overwrite"][..], &["merge", "--delete-missing"], &["append"]] {
        let plan =
            [&["plan", kind[0], at, "--source", &source, "--key", "v", "--out", file, "--force"], &kind[1..]].concat();
        let (code, said) = run(home.path(), &plan);
        let said = text(&said);
        assert_eq!(code, 5, "{said}");
        assert!(said.contains("rowTracking") && said.contains("partwise script PLAN.json"), "{said}");
        let plan: Json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!((&plan["verdict"], &plan["rows"]["source"]), (&json!("blocked"), &json!(3)), "{}", kind[0]);
        assert_eq!(plan["rows"]["table_before"], 4);
        for engine in ENGINES {
            let (code, script) = run(home.path(), &["script", file, "--for", engine]);
            let script = text(&script);
            assert_eq!(code, 0, "{} {engine}: {script}", kind[0]);
            assert!(script.contains("partwise does not write it itself: "), "{script}");
        }
        assert_eq!(run(home.path(), &["apply", file, "--yes"]).0, 5);
    }
}

#[test]
fn a_failed_gate_needs_its_reason_here_too() {
    let home = tempdir().unwrap();
    let (fixture, source) = table(home.path());
    let at = fixture.path.to_str().unwrap();
    let file = home.path().join("plan.json");
    let file = file.to_str().unwrap();
    let plan = ["plan", "overwrite", at, "--source", &source, "--key", "v", "--expect-rows", "5", "--out", file];
    assert_eq!(run(home.path(), &plan).0, 3);
    let (code, said) = run(home.path(), &["script", file, "--for", "spark-sql"]);
    assert_eq!(code, 3, "{}", text(&said));
    assert!(text(&said).contains("--override expected-rows="), "{}", text(&said));
    let reason = "expected-rows=two were; known";
    let (code, said) = run(home.path(), &["script", file, "--for", "spark-sql", "--override", reason]);
    assert_eq!(code, 0, "{}", text(&said));
    assert!(text(&said).contains("-- expected-rows failed and was overridden: two were, known\n"), "{}", text(&said));
}
