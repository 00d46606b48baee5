//! What people read, and how wrong names are answered, with the demo's tables.

use tempfile::{TempDir, tempdir};

use super::partwise;

const TABLE: &str = "gold.working_capital";

struct Lake {
    home: TempDir,
}

/// What a command printed, and its exit code.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Lake {
    fn new() -> Lake {
        let lake = Lake { home: tempdir().unwrap() };
        let made = partwise(lake.home.path()).args(["demo", "--no-tui", "--dir", &lake.path("")]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        lake
    }

    fn path(&self, below: &str) -> String {
        self.home.path().join("lake").join(below).to_string_lossy().into_owned()
    }

    fn say(&self, arguments: &[&str]) -> Said {
        let config = self.path("partwise.toml");
        let output = partwise(self.home.path()).args(arguments).args(["--config", &config]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Said {
    /// What follows `head` on its line.
    #[track_caller]
    fn after(&self, head: &str) -> String {
        let found = self.out.lines().find_map(|line| line.trim().strip_prefix(head));
        found.unwrap_or_else(|| panic!("no line {head}:\n{}", self.out)).trim().to_owned()
    }
}

#[test]
fn an_unknown_column_is_a_mistake_in_the_arguments() {
    let lake = Lake::new();
    let source = lake.path("staging/2026006.parquet");
    for arguments in [
        &["compare", TABLE, "--source", &source, "--key", "doc_nubmer"][..],
        &["plan", "overwrite", TABLE, "--source", &source, "--ignore", "doc_nubmer"],
        &["rows", TABLE, "--columns", "doc_nubmer"],
        &["rows", TABLE, "--filter", "doc_nubmer = 1"],
    ] {
        let said = lake.say(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains("doc_nubmer") && said.err.contains("company_code"), "{}", said.err);
    }
    let said = lake.say(&["compare", TABLE, "--source", &source, "--key", " company_code , doc_number "]);
    assert_eq!((said.code, said.after("recommended").as_str()), (0, "overwrite"));
}

#[test]
fn a_filter_of_files_takes_size_and_lists_its_columns() {
    let lake = Lake::new();
    let said = lake.say(&["files", TABLE, "--filter", "size > 0 AND size = bytes"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains(".parquet"), "{}", said.out);
    let said = lake.say(&["files", TABLE, "--filter", "siez > 0"]);
    let names = "fiscal_period, path, rows, bytes, size, last_modified, version, deletion_vector_rows";
    assert_eq!(said.code, 2);
    assert!(said.err.contains("siez") && said.err.contains(names), "{}", said.err);
}

#[test]
fn an_append_says_how_many_keys_are_already_there() {
    let lake = Lake::new();
    let source = lake.path("staging/2026006.parquet");
    let said = lake.say(&["plan", "append", TABLE, "--source", &source, "--key", "company_code,doc_number"]);
    assert_eq!(said.after("keys already there"), "2", "{}", said.err);
}

#[test]
fn a_refused_source_was_not_counted() {
    let lake = Lake::new();
    let source = lake.path("gold/daily_sales");
    let said = lake.say(&["plan", "overwrite", TABLE, "--source", &source]);
    assert_eq!(said.code, 5, "{}", said.err);
    for head in ["slice before", "inserted", "unchanged", "table after", "files"] {
        assert_eq!(said.after(head), "?", "{}", said.out);
    }
    assert_eq!(said.after("verdict"), "blocked");
    let said = lake.say(&["compare", TABLE, "--source", &source]);
    assert_eq!(said.after("delivery"), "unknown (refused)");
    assert_eq!(said.after("inserted").split_whitespace().collect::<Vec<_>>(), ["?"; 3]);
    assert_eq!(said.after("verdict").split_whitespace().collect::<Vec<_>>(), ["blocked"; 3]);
}
