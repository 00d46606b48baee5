//! `partwise clean`, and what a writing command says of operations that a crash left open.

use std::fs;

use serde_json::{Value as Json, json};
use tempfile::tempdir;

use super::partwise;
use crate::support::writer::write_source;
use crate::support::{Fixture, Kind, Shape, i, s};

const OPERATION: &str = "6f2c1a54-0000-4000-8000-000000000001";

#[test]
fn an_interrupted_operation_is_told_and_what_it_left_is_removed() {
    let home = tempdir().unwrap();
    let shape = Shape::new(&[("d", Kind::String), ("v", Kind::Long)], &["d"]);
    let table = Fixture::with_rows(home.path().join("t"), shape.clone(), &[vec![s("a"), i(1)]]);
    write_source(&home.path().join("s.parquet"), &shape.columns, &[vec![s("a"), i(2)]]);
    let run = |line: &str| {
        let output = partwise(home.path()).current_dir(home.path()).args(line.split(' ')).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, _) = run("clean t");
    assert_eq!((code, out.as_str()), (0, ""));

    // As a process leaves them that dies while it stages.
    let left = table.path.join(format!("d=a/part-00000-{OPERATION}-0a1b2c3d.snappy.parquet"));
    fs::write(&left, "cut off").unwrap();
    let id = crate::support::replay::replay(&table.path).unwrap().metadata["id"].clone();
    let entry = json!({"id": OPERATION, "operation": "overwrite", "table": fs::canonicalize(&table.path).unwrap(),
        "table_id": id, "user": "me", "started_at": "2026-01-01T00:00:00.000Z", "finished_at": null,
        "version_before": 0, "version_after": null, "slice": null, "rows_written": null, "overrides": {},
        "outcome": "intent", "message": null, "undo": null, "process": std::process::id()});
    let journal = home.path().join("state/journal");
    fs::create_dir_all(&journal).unwrap();
    fs::write(journal.join(format!("2026-01-01T000000.000Z-{OPERATION}.json")), entry.to_string()).unwrap();

    let (code, _, said) = run("plan overwrite t --source s.parquet --apply --yes");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(OPERATION) && said.contains("the table was not changed"), "{said}");
    let (_, _, said) = run("journal");
    assert!(!said.contains(OPERATION), "it is told once: {said}");

    let object = |line: &str| -> Json { serde_json::from_str(&run(line).1).unwrap() };
    let found = &object("clean t --json")["operations"][0];
    assert_eq!((&found["id"], &found["state"], &found["removable"]), (&json!(OPERATION), &json!("dead"), &json!(true)));
    assert_eq!(run("clean t --remove --read-only").0, 5);
    assert!(left.exists());
    let (code, out, _) = run("clean t --remove");
    assert_eq!(code, 0);
    assert!(out.contains("1 file removed"), "{out}");
    assert!(!left.exists());
    assert_eq!(object("clean t --json")["operations"], json!([]));
    assert_eq!(run(&format!("clean t --remove --of {OPERATION}")).0, 1);
}
