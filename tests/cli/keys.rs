//! `partwise keys`, and the flags that say how a source is looked at.

use serde_json::{Value as Json, json};
use tempfile::{TempDir, tempdir};

use super::{json, partwise};
use crate::support::writer::{columns, write_source};
use crate::support::{Fixture, Kind, Row, Shape, i, s};

struct Lake {
    home: TempDir,
}

impl Lake {
    fn new() -> Lake {
        let lake = Lake { home: tempdir().unwrap() };
        let shape = Shape::new(&[("id", Kind::String), ("day", Kind::String), ("v", Kind::Integer)], &["day"]);
        let row = |id: &str, day: &str, v: i64| -> Row { vec![s(id), s(day), i(v)] };
        Fixture::with_rows(
            lake.home.path().join("t"),
            shape,
            &[row("7", "a", 1), row("007", "a", 2), row("8", "a", 3), row("8", "b", 4)],
        );
        let feed = columns(&[("id", Kind::Long), ("day", Kind::String), ("v", Kind::Integer), ("op", Kind::String)]);
        let row = |id: i64, op: &str| -> Row { vec![i(id), s("a"), i(9), s(op)] };
        write_source(&lake.home.path().join("feed.parquet"), &feed, &[row(7, "u"), row(8, "d")]);
        lake
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        partwise(self.home.path()).current_dir(self.home.path()).args(arguments).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> (i32, Json) {
        let output = self.run(&[arguments, &["--json"]].concat());
        (output.status.code().unwrap_or(-1), json(&output))
    }
}

#[test]
fn every_finding_is_in_the_object() {
    let lake = Lake::new();
    let (code, out) = lake.json(&["keys", "t", "--source", "feed.parquet", "--key", "id"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!((&out["key"], &out["version"]), (&json!(["id"]), &json!(0)));
    let names: Vec<&str> = out["findings"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["key-types", "duplicate-keys", "near-duplicates", "keys-elsewhere"]);
    assert_eq!(out["types"], json!([{"column": "id", "table": "string", "source": "long", "refused": true}]));
    assert_eq!(out["table_keys"]["groups"][0]["key"], json!(["8"]));
    assert_eq!(out["table_keys"]["groups"][0]["shown"][1]["values"], json!(["8", "b", 4]));
    assert_eq!(out["near"]["examples"][0]["rules"], json!(["leading-zeros"]));
    assert_eq!(out["elsewhere"]["examples"][0]["partitions"], json!(["day=a", "day=b"]));
    assert!(
        out["candidates"].as_array().unwrap().iter().any(|c| c["side"] == "source" && c["columns"] == json!(["id"]))
    );
}

#[test]
fn people_read_the_same() {
    let lake = Lake::new();
    let output = lake.run(&["keys", "t", "--key", "id", "--limit", "1"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    for part in ["keys more than once in the table", "'007'", "leading zeros", "day=a, day=b", "could be the key"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let output = lake.run(&["keys", "t", "--filter", "day = 'a'"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("no key is known") && text.contains("unique"), "{text}");
}

#[test]
fn wrong_names_are_named() {
    let lake = Lake::new();
    let (code, out) = lake.json(&["keys", "t", "--key", "nope"]);
    assert_eq!((code, &out["error"]["kind"]), (2, &json!("Usage")));
    let (code, out) = lake.json(&["keys", "t", "--key", "id", "--filter", "v = = 1"]);
    assert_eq!((code, &out["error"]["kind"]), (2, &json!("Usage")));
}

#[test]
fn the_operation_column_is_checked_as_it_is_typed_and_as_it_is_read() {
    let lake = Lake::new();
    let compare = |flag: &str| {
        lake.json(&["compare", "t", "--source", "feed.parquet", "--key", "day", "--operation-column", flag])
    };
    for wrong in ["op=d", "op=d:gone", "=d:delete"] {
        let (code, out) = compare(wrong);
        assert_eq!((code, &out["error"]["kind"]), (2, &json!("Usage")), "{wrong}");
    }
    let (code, out) = compare("day");
    assert_eq!((code, &out["error"]["kind"]), (1, &json!("BadSource")));
    assert!(out["error"]["hint"].as_str().unwrap().contains("--operation-column day="), "{out}");
}
