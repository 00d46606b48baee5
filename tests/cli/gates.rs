//! `partwise gates`, and overrides from the command line to commit and journal.

use serde_json::{Value as Json, json};
use tempfile::{TempDir, tempdir};

use super::{json as parsed, partwise};
use crate::support::writer::{columns, write_source};
use crate::support::{Fixture, Kind, Row, Shape, i, s};

const KINDS: &[(&str, Kind)] = &[("day", Kind::String), ("v", Kind::Integer)];

struct Lake {
    home: TempDir,
}

impl Lake {
    /// 100 rows of one day, and 20 delivered.
    fn new() -> Lake {
        let lake = Lake { home: tempdir().unwrap() };
        let rows = |n: i64| (0..n).map(|v| vec![s("a"), i(v)]).collect::<Vec<Row>>();
        Fixture::with_rows(lake.home.path().join("t"), Shape::new(KINDS, &["day"]), &rows(100));
        write_source(&lake.home.path().join("s.parquet"), &columns(KINDS), &rows(20));
        std::fs::write(lake.config(), "# mine\n[tables.t]\ngrain = []\n").unwrap();
        lake
    }

    fn config(&self) -> std::path::PathBuf {
        self.home.path().join("config.toml")
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = partwise(self.home.path());
        command.current_dir(self.home.path()).args(arguments).args(["--config", "config.toml"]);
        command.output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> (i32, Json) {
        let output = self.run(&[arguments, &["--json"]].concat());
        (output.status.code().unwrap_or(-1), parsed(&output))
    }

    fn saved(&self) -> String {
        std::fs::read_to_string(self.config()).unwrap()
    }
}

fn named<'a>(list: &'a Json, name: &str) -> &'a Json {
    list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn gates_say_what_holds_for_a_table_and_where_it_comes_from() {
    let lake = Lake::new();
    std::fs::write(
        lake.config(),
        "[gates]\nskew_max_factor = 5.0\n[gates.severity]\nnull-keys = \"warn\"\n\
         [tables.t.gates]\nrow_count_max_percent = inf\nseverity.zombies = \"off\"\n",
    )
    .unwrap();
    let (code, out) = lake.json(&["gates", "t"]);
    assert_eq!(code, 0, "{out}");
    for gate in partwise::gate::ALL {
        named(&out["gates"], gate.name());
    }
    let of = |name: &str| named(&out["gates"], name);
    assert_eq!((&of("null-keys")["from"], &of("null-keys")["severity"]["append"]), (&json!("config"), &json!("warn")));
    assert_eq!((&of("zombies")["from"], &of("zombies")["severity"]["merge"]), (&json!("table"), &json!("off")));
    let space = of("space");
    assert_eq!((&space["from"], &space["severity"]["undo"]), (&json!("default"), &json!("fail")));
    assert_eq!(space["thresholds"], json!(["space_min_free_after_bytes"]));
    let of = |name: &str| {
        let one = named(&out["thresholds"], name);
        (one["value"].clone(), one["default"].clone(), one["from"].clone())
    };
    assert_eq!(of("skew_max_factor"), (json!(5.0), json!(20.0), json!("config")));
    assert_eq!(of("row_count_max_percent"), (json!("inf"), json!(150.0), json!("table")));
    assert_eq!(of("row_count_min_percent"), (json!(90.0), json!(90.0), json!("default")));

    let text = String::from_utf8(lake.run(&["gates", "t"]).stdout).unwrap();
    let line = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
    let words: Vec<&str> = line("zombies").split_whitespace().collect();
    assert_eq!(words, ["zombies", "off", "off", "off", "off", "off", "off", "(table)"]);
    assert!(line("row_count_min_percent").contains("90 %  default"), "{text}");
}

#[test]
fn a_threshold_is_saved_once_it_was_confirmed_and_judges_from_then_on() {
    let lake = Lake::new();
    let failed = |lake: &Lake| {
        let (code, plan) = lake.json(&["plan", "overwrite", "t", "--source", "s.parquet"]);
        (code, named(&plan["gates"], "row-count")["status"].clone())
    };
    assert_eq!(failed(&lake), (3, json!("fail")));
    let before = lake.saved();
    let (code, out) = lake.json(&["gates", "t", "--set", "row_count_min_percent=10"]);
    assert_eq!((code, &out["error"]["kind"]), (5, &json!("Refused")), "nobody was there to be asked");
    assert_eq!(lake.saved(), before);

    let output =
        lake.run(&["gates", "t", "--set", "row_count_min_percent=10", "--severity", "grain=off", "--yes", "--json"]);
    let (shown, out) = (String::from_utf8_lossy(&output.stderr).into_owned(), parsed(&output));
    assert!(shown.contains("+ row_count_min_percent = 10.0") && shown.contains("+ grain = \"off\""), "{shown}");
    assert_eq!(out["saved"]["section"], json!("t"), "{out}");
    assert_eq!(named(&out["thresholds"], "row_count_min_percent")["from"], json!("table"));
    assert!(lake.saved().starts_with(&before), "{}", lake.saved());
    assert_eq!(failed(&lake), (0, json!("warn")));

    let (code, out) = lake.json(&["gates", "t", "--reset", "row_count_min_percent", "--reset", "grain", "--yes"]);
    assert_eq!((code, &named(&out["thresholds"], "row_count_min_percent")["value"]), (0, &json!(90.0)));
    assert_eq!(failed(&lake), (3, json!("fail")));
    let (code, out) = lake.json(&["gates", "t", "--reset", "grain", "--yes"]);
    assert_eq!((code, &out["saved"]), (0, &Json::Null), "there was nothing to save");
}

#[test]
fn what_makes_no_sense_is_not_saved() {
    let lake = Lake::new();
    let before = lake.saved();
    for (flag, value, word) in [
        ("--set", "row_cuont=1", "row_count_min_percent"),
        ("--set", "max_partitions=many", "whole number"),
        ("--set", "max_partitions", "THRESHOLD=NUMBER"),
        ("--set", "row_count_max_percent=50", "row_count_max_percent (50)"),
        ("--set", "row_count_min_percent=-1", "0 or more"),
        ("--severity", "zombeis=warn", "zombies"),
        ("--severity", "zombies=loud", "off, warn and fail"),
        ("--reset", "zombeis", "zombies"),
    ] {
        let (code, out) = lake.json(&["gates", "t", flag, value, "--yes"]);
        assert_eq!(code, 2, "{flag} {value}: {out}");
        assert!(out["error"]["message"].as_str().unwrap().contains(word), "{flag} {value}: {out}");
    }
    assert_eq!(lake.saved(), before);
    // Two that only go together are set together.
    let both = ["--set", "row_count_min_percent=160", "--set", "row_count_max_percent=200"];
    let (code, out) = lake.json(&[&["gates", "t"], &both[..], &["--yes"]].concat());
    assert_eq!(code, 0, "{out}");
}

#[test]
fn an_override_stands_in_the_commit_and_in_the_journal() {
    let lake = Lake::new();
    let plan = ["plan", "overwrite", "t", "--source", "s.parquet", "--apply", "--yes"];
    let (code, out) = lake.json(&plan);
    // A blocked plan is printed, and nothing else happens.
    assert_eq!((code, &out["verdict"]), (3, &json!("blocked")), "{out}");
    let entry = |version: u64| lake.home.path().join(format!("t/_delta_log/{version:020}.json"));
    assert!(!entry(1).exists());

    let reason = "the plant was sold; agreed with finance";
    let (code, out) = lake.json(&[&plan[..], &["--override", &format!("row-count={reason}")]].concat());
    assert_eq!((code, &out["version_after"]), (0, &json!(1)), "{out}");
    let text = std::fs::read_to_string(entry(1)).unwrap();
    let info =
        text.lines().map(|l| serde_json::from_str::<Json>(l).unwrap()).find_map(|l| l.get("commitInfo").cloned());
    let info = info.expect("a commitInfo");
    let overrides = json!({"row-count": reason});
    assert_eq!(info["partwise"]["overrides"], overrides);
    let metadata: Json = serde_json::from_str(info["userMetadata"].as_str().unwrap()).unwrap();
    assert_eq!(metadata["partwise"]["overrides"], overrides);
    let (_, journal) = lake.json(&["journal"]);
    assert_eq!(journal["operations"][0]["overrides"], overrides, "{journal}");
    let (_, history) = lake.json(&["history", "t"]);
    assert!(history["versions"][0]["user_metadata"].as_str().unwrap().contains(reason), "{history}");
}
