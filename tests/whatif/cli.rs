//! The three commands from outside.

use serde_json::{Value as Json, json};
use tempfile::{TempDir, tempdir};

use super::vacuum::age;
use crate::cli::{json, partwise};
use crate::support::writer::FileOptions;
use crate::support::{Fixture, Kind, Row, Shape, i, s};

fn lake() -> TempDir {
    let home = tempdir().unwrap();
    let shape = Shape::new(&[("period", Kind::String), ("company", Kind::String), ("v", Kind::Long)], &["period"]);
    let mut table = Fixture::new(home.path().join("t"), shape);
    let row = |p: &str, c: &str, v: i64| -> Row { vec![s(p), s(c), i(v)] };
    let old = table.add(&[row("01", "A", 1), row("01", "B", 2)], &FileOptions::default());
    let other = table.add(&[row("02", "A", 3), row("02", "B", 4)], &FileOptions::default());
    table.commit("WRITE", json!({"mode": "Append"}), vec![old.clone(), other]);
    let new = table.add(&[row("01", "A", 5)], &FileOptions::default());
    let gone = table.remove(&old);
    table.commit("WRITE", json!({"mode": "Overwrite", "isDynamicPartitionOverwrite": "true"}), vec![gone, new]);
    age(&table.path);
    home
}

fn run(home: &TempDir, arguments: &[&str]) -> std::process::Output {
    partwise(home.path()).current_dir(home.path()).args(arguments).output().unwrap()
}

fn object(home: &TempDir, arguments: &[&str]) -> (i32, Json) {
    let output = run(home, &[arguments, &["--json"]].concat());
    (output.status.code().unwrap_or(-1), json(&output))
}

#[test]
fn layouts_in_words_and_as_an_object() {
    let home = lake();
    let (code, out) = object(&home, &["layouts", "t", "--by", "company", "--query", "company = 'A'", "--exact"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!((&out["version"], &out["partition_columns"]), (&json!(1), &json!(["period"])));
    let company = &out["candidates"][1];
    assert_eq!((&company["argument"], &company["numbers"]["partitions"]), (&json!("company"), &json!(2)));
    assert_eq!(company["queries"][0]["files"], json!(1));
    assert_eq!(out["breakers"][0]["kind"], json!("dynamic-overwrite"));
    assert_eq!(out["breakers"][0]["collateral"]["lost"], json!(1));
    let text = String::from_utf8(run(&home, &["layouts", "t", "--by", "company"]).stdout).unwrap();
    for part in ["period (today)", "company", "advice   The table has", "breaks   dynamic overwrite"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let (code, out) = object(&home, &["layouts", "t", "--by", "nope"]);
    assert_eq!((code, &out["error"]["kind"]), (2, &json!("Usage")));
}

#[test]
fn guessed_sizes_are_marked_where_rows_are_counted() {
    let home = lake();
    let row = |text: &str| text.lines().find(|line| line.starts_with("company")).unwrap_or_default().to_owned();
    let text = String::from_utf8(run(&home, &["layouts", "t", "--by", "company"]).stdout).unwrap();
    let cells: Vec<String> = row(&text).split("  ").map(|c| c.trim().to_owned()).filter(|c| !c.is_empty()).collect();
    // layout, partitions, rows, size, skew, NULLs, files, small, …
    assert_eq!((cells[1].as_str(), cells[2].as_str()), ("2", "1 / 2 / 2"), "{text}");
    assert!(cells[3].starts_with('~') && cells[6] == "~2" && cells[7].starts_with('~'), "{text}");
    assert!(text.contains("~ is an estimate from the sizes of today's files"), "{text}");
    let text = String::from_utf8(run(&home, &["layouts", "t", "--by", "company", "--exact"]).stdout).unwrap();
    assert!(!row(&text).contains('~'), "{text}");
    let (_, out) = object(&home, &["layouts", "t", "--by", "company"]);
    let estimated = &out["candidates"][1]["numbers"]["estimated"];
    assert_eq!(estimated, &json!(["bytes", "files", "small_files", "bytes_after"]));
    assert_eq!(out["candidates"][0]["numbers"]["estimated"], json!([]), "today's are the log's");
}

#[test]
fn a_switch_shows_the_description_and_its_files() {
    let home = lake();
    let (code, plan) = object(&home, &["plan", "repartition", "t", "--by", "company"]);
    assert_eq!(code, 3, "writers would break: {plan}");
    let described = plan["describe"].as_array().unwrap();
    let row = |name: &str| described.iter().find(|r| r["name"] == json!(name)).unwrap();
    assert_eq!(row("partition columns"), &json!({"name": "partition columns", "before": "period", "after": "company"}));
    assert_eq!(row("column period"), &json!({"name": "column period", "before": "string", "after": "string"}));
    assert_eq!((&plan["layout"]["after"]["files"], &plan["spec"]["estimate"]["files"]), (&Json::Null, &json!(2)));
    for partition in plan["partitions"].as_array().unwrap() {
        assert_eq!(
            (&partition["files_before"], &partition["bytes_before"]),
            (&json!(0), &json!(0)),
            "none is there yet"
        );
    }
    let text = String::from_utf8(run(&home, &["plan", "repartition", "t", "--by", "company"]).stdout).unwrap();
    assert!(text.contains("layout   2 partitions, 2 files → 2 partitions, ~2 files"), "{text}");
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with('≠')).collect();
    assert_eq!(marked.len(), 1, "{text}");
    assert!(marked[0].contains("partition columns") && marked[0].ends_with("company"), "{text}");
    // A generated column and the protocol that it needs stand beside nothing.
    let (_, plan) = object(&home, &["plan", "repartition", "t", "--by", "upper(company) AS c"]);
    let described = plan["describe"].as_array().unwrap();
    let row = |name: &str| described.iter().find(|r| r["name"] == json!(name)).unwrap();
    assert_eq!(
        (&row("column c")["before"], &row("column c")["after"]),
        (&Json::Null, &json!("string generated always as (upper(company))"))
    );
    assert_ne!(row("writer version")["before"], row("writer version")["after"]);
}

#[test]
fn health_names_the_commands() {
    let home = lake();
    let (code, out) = object(&home, &["health", "t"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!((&out["files"], &out["tombstones"], &out["vacuum_files"]), (&json!(2), &json!(1), &json!(1)));
    let text = String::from_utf8(run(&home, &["health", "t"]).stdout).unwrap();
    assert!(text.contains("partwise plan vacuum "), "{text}");
}

#[test]
fn vacuum_previews_asks_and_removes() {
    let home = lake();
    let (code, plan) = object(&home, &["plan", "vacuum", "t"]);
    assert_eq!((code, &plan["operation"], &plan["verdict"]), (0, &json!("vacuum"), &json!("ready")));
    assert_eq!(plan["spec"]["lost_versions"], json!([0]));
    let gone = plan["spec"]["files"][0]["path"].as_str().unwrap();
    assert!(home.path().join("t").join(gone).exists());
    let (code, out) = object(&home, &["plan", "vacuum", "t", "--retain", "1d"]);
    assert_eq!((code, &out["error"]["kind"]), (5, &json!("Refused")));
    // Nobody is there to type the name.
    assert_eq!(run(&home, &["plan", "vacuum", "t", "--apply"]).status.code(), Some(5));
    assert!(home.path().join("t").join(gone).exists());
    let (code, report) = object(&home, &["plan", "vacuum", "t", "--apply", "--yes"]);
    assert_eq!((code, &report["files_removed"], &report["undo"]), (0, &json!(1), &Json::Null));
    assert!(!home.path().join("t").join(gone).exists());
    let text = String::from_utf8(run(&home, &["plan", "vacuum", "t"]).stdout).unwrap();
    assert!(text.contains("verdict  no-op"), "{text}");
}
