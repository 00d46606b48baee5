//! What can be said wrong without a table at hand.

use tempfile::tempdir;

use super::{json, partwise};

#[track_caller]
fn fails(arguments: &[&str], code: i32, kind: &str) -> String {
    let home = tempdir().unwrap();
    let plain = partwise(home.path()).args(arguments).output().unwrap();
    assert_eq!(plain.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(&plain.stderr));
    assert!(plain.stdout.is_empty(), "an error has nothing on standard output");
    assert!(String::from_utf8_lossy(&plain.stderr).starts_with("error: "));

    let output = partwise(home.path()).args(arguments).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(code));
    let error = json(&output)["error"].clone();
    assert_eq!(error["kind"], kind, "{error}");
    assert!(error.as_object().unwrap().contains_key("hint"));
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn help_and_version_are_no_errors() {
    let home = tempdir().unwrap();
    let help = partwise(home.path()).arg("--help").output().unwrap();
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    for command in ["show", "partitions", "plan", "apply", "undo", "journal"] {
        assert!(text.contains(&format!("  {command} ")), "{command} is not in the help:\n{text}");
    }
    assert_eq!(partwise(home.path()).arg("--version").output().unwrap().status.code(), Some(0));
}

#[test]
fn arguments_that_make_no_sense() {
    fails(&["show"], 2, "Usage");
    fails(&["show", "t", "--version", "soon"], 2, "Usage");
    fails(&["show", "t", "--version", "1", "--at", "2026-01-01"], 2, "Usage");
    fails(&["plan", "restore", "t"], 2, "Usage");
    fails(&["plan", "merge", "t"], 2, "Usage");
    fails(&["plan", "overwrite", "t", "--source", "s", "--rows", "vanished"], 2, "Usage");
    let message = fails(&["rows", "t", "--filter", "a = = 1"], 2, "Usage");
    assert!(message.contains("a = = 1"), "{message}");
    let message = fails(&["rows", "t", "--at", "yesterday"], 2, "Usage");
    assert!(message.contains("yesterday"), "{message}");
}

#[test]
fn an_override_names_a_gate_and_a_reason() {
    let message = fails(&["plan", "overwrite", "t", "--source", "s", "--override", "row-cuont=ok"], 2, "Usage");
    assert!(message.contains("row-count"), "the gates are listed: {message}");
    fails(&["plan", "overwrite", "t", "--source", "s", "--override", "row-count="], 2, "Usage");
}

#[test]
fn the_modes_of_an_overwrite_are_listed() {
    let message = fails(&["plan", "overwrite", "t", "--source", "s", "--mode", "total"], 2, "Usage");
    assert!(message.contains("dynamic") && message.contains("static"), "{message}");
}

#[test]
fn the_terminal_ui_needs_a_terminal() {
    fails(&["somewhere"], 2, "Usage");
}

#[test]
fn a_config_that_is_wrong_is_named() {
    let home = tempdir().unwrap();
    let file = home.path().join("wrong.toml");
    std::fs::write(&file, "[gates]\nrow_cuont = 1\n").unwrap();
    let message = fails(&["journal", "--config", file.to_str().unwrap()], 2, "BadConfig");
    assert!(message.contains("row_cuont") && message.contains("wrong.toml"), "{message}");
    fails(&["journal", "--config", "/nowhere/config.toml"], 2, "BadConfig");
}

#[test]
fn a_file_that_is_no_plan_is_named() {
    let home = tempdir().unwrap();
    let file = home.path().join("plan.json");
    let path = file.to_str().unwrap();
    fails(&["apply", path], 1, "BadPlan");
    for text in ["", "{}", "{\"schema\": 99}", "{\"schema\": 1}"] {
        std::fs::write(&file, text).unwrap();
        let message = fails(&["apply", path], 1, "BadPlan");
        assert!(message.contains("plan.json"), "{message}");
    }
}

#[test]
fn read_only_refuses_what_writes_before_anything_is_read() {
    fails(&["apply", "plan.json", "--read-only"], 5, "Refused");
    fails(&["undo", "t", "--read-only"], 5, "Refused");
    fails(&["plan", "merge", "t", "--source", "s", "--apply", "--read-only"], 5, "Refused");
}

#[test]
fn no_table_where_one_was_named() {
    fails(&["show", "/nowhere/at/all"], 1, "NotATable");
}

#[test]
fn an_empty_journal_is_an_empty_list() {
    let home = tempdir().unwrap();
    let output = partwise(home.path()).args(["journal", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(json(&output), serde_json::json!({"operations": []}));
}

#[test]
fn the_log_file_is_written_and_an_impossible_one_is_an_error() {
    let home = tempdir().unwrap();
    let log = home.path().join("partwise.log");
    let output = partwise(home.path()).args(["journal", "--log", log.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(log.exists());
    fails(&["journal", "--log", "/nowhere/partwise.log"], 1, "Storage");
}
