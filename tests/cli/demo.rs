//! The demo's job through the binary: numbers, exit codes, the table afterwards.

use std::path::Path;

use serde_json::Value as Json;
use tempfile::{TempDir, tempdir};

use super::{json, partwise};

struct Lake {
    home: TempDir,
}

impl Lake {
    fn new() -> Lake {
        let lake = Lake { home: tempdir().unwrap() };
        let dir = lake.path("lake");
        let (code, _) = lake.run(&["demo", "--no-tui", "--dir", &dir, "--json"]);
        assert_eq!(code, 0);
        lake
    }

    fn path(&self, below: &str) -> String {
        self.home.path().join(below).to_string_lossy().into_owned()
    }

    fn staged(&self, name: &str) -> String {
        self.path(&format!("lake/staging/{name}.parquet"))
    }

    /// Exit code and the object on standard output.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> (i32, Json) {
        let mut command = partwise(self.home.path());
        let config = self.path("lake/partwise.toml");
        command.args(arguments);
        if Path::new(&config).exists() {
            command.args(["--config", &config, "--json"]);
        }
        let output = command.output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        (code, if output.stdout.is_empty() { Json::Null } else { json(&output) })
    }

    fn version(&self) -> u64 {
        self.run(&["show", "gold.working_capital"]).1["version"].as_u64().unwrap()
    }

    fn total(&self) -> u64 {
        self.run(&["show", "gold.working_capital"]).1["rows"].as_u64().unwrap()
    }
}

const TABLE: &str = "gold.working_capital";

#[test]
fn compare_tells_the_zombie_and_both_totals() {
    let lake = Lake::new();
    let (code, out) = lake.run(&["compare", TABLE, "--source", &lake.staged("2026006")]);
    assert_eq!(
        (code, &out["recommended"], &out["delivery"]["kind"]),
        (0, &Json::from("overwrite"), &Json::from("full-slice"))
    );
    let of = |operation: &str, zombies: u64| {
        let plans = out["strategies"].as_array().unwrap();
        plans.iter().find(|p| p["operation"] == operation && p["rows"]["zombies"] == zombies).cloned().unwrap()
    };
    let (merge, overwrite) = (of("merge", 1), of("overwrite", 0));
    let rows = |plan: &Json| ["updated", "unchanged", "deleted", "inserted"].map(|e| plan["rows"][e].as_u64().unwrap());
    assert_eq!((rows(&merge), rows(&overwrite)), ([1, 1, 0, 0], [1, 1, 1, 0]));
    let after = |plan: &Json| plan["partitions"][0]["measures"]["amount"]["after"].clone();
    assert_eq!((after(&merge), after(&overwrite)), (Json::from("1450"), Json::from("750")));
}

#[test]
fn the_incomplete_extract_exits_with_3_and_an_override_stands_in_the_commit() {
    let lake = Lake::new();
    let source = lake.staged("2026009_incomplete");
    let plan = ["plan", "overwrite", TABLE, "--source", &source];
    let (before, version) = (lake.total(), lake.version());
    let (code, out) = lake.run(&plan);
    assert_eq!((code, &out["verdict"]), (3, &Json::from("blocked")));
    let (code, _) = lake.run(&[&plan[..], &["--apply", "--yes"]].concat());
    assert_eq!((code, lake.total(), lake.version()), (3, before, version));

    let reasons = ["--override", "row-count=half was archived", "--override", "vanished-group=3000 was sold"];
    let (code, out) = lake.run(&[&plan[..], &["--apply", "--yes"], &reasons[..]].concat());
    assert_eq!((code, &out["verified"]), (0, &Json::from(true)));
    assert_eq!(lake.total(), before - 235);
    let (_, history) = lake.run(&["history", TABLE]);
    assert!(
        history["versions"][0]["user_metadata"].to_string().contains("3000 was sold"),
        "{}",
        history["versions"][0]
    );
}

#[test]
fn a_plan_is_carried_out_once_and_taken_back() {
    let lake = Lake::new();
    let (source, file) = (lake.staged("2026006"), lake.path("plan.json"));
    let before = lake.run(&["rows", TABLE, "--limit", "5000"]).1["rows"].clone();
    let (code, _) = lake.run(&["plan", "overwrite", TABLE, "--source", &source, "--out", &file]);
    assert_eq!(code, 0);
    let (code, report) = lake.run(&["apply", &file, "--yes"]);
    assert_eq!((code, &report["version_after"]), (0, &Json::from(7)));
    // The same plan again: the table moved past it, by the plan's own commit.
    assert_eq!(lake.run(&["apply", &file, "--yes"]).0, 4);
    assert_eq!((lake.total(), lake.version()), (3771, 7));
    let (code, report) = lake.run(&["undo", TABLE, "--yes"]);
    assert_eq!((code, &report["verified"]), (0, &Json::from(true)));
    assert_eq!(lake.run(&["rows", TABLE, "--limit", "5000"]).1["rows"], before);
    let (_, journal) = lake.run(&["journal"]);
    let outcomes: Vec<&Json> = journal["operations"].as_array().unwrap().iter().map(|o| &o["outcome"]).collect();
    assert_eq!(outcomes, ["committed", "committed"]);
}

#[test]
fn without_a_terminal_nothing_is_confirmed() {
    let lake = Lake::new();
    let source = lake.staged("2026006");
    let (code, _) = lake.run(&["plan", "overwrite", TABLE, "--source", &source, "--apply"]);
    assert_eq!((code, lake.version()), (5, 6));
    let (code, _) = lake.run(&["plan", "overwrite", TABLE, "--source", &source, "--apply", "--yes", "--read-only"]);
    assert_eq!((code, lake.version()), (5, 6));
}

/// What a plan does, without what names this one plan.
fn numbers(plan: &Json) -> Json {
    let mut kept = plan.clone();
    let object = kept.as_object_mut().expect("a plan");
    for name in ["id", "digest", "created_at", "spec"] {
        object.remove(name);
    }
    for partition in object["partitions"].as_array_mut().expect("partitions") {
        // Checksums are seeded per plan.
        partition.as_object_mut().expect("a partition").remove("written");
    }
    kept
}

#[test]
fn a_pasted_statement_is_the_plan_that_its_flags_make() {
    let lake = Lake::new();
    let source = lake.staged("2026006");
    let bound = format!("delivered={source}");
    let key = "company_code,doc_number";
    let on = "g.company_code = d.company_code AND g.doc_number = d.doc_number";
    let cases: [(&str, String, &[&str]); 4] = [
        (
            "merge",
            format!("MERGE INTO gold.working_capital AS g USING delivered d ON {on}\nWHEN MATCHED THEN UPDATE SET *\nWHEN NOT MATCHED THEN INSERT *;"),
            &["--key", key],
        ),
        (
            "merge",
            format!(
                "merge into `gold`.`working_capital` g using delivered as d on {on} -- the key\n\
                 when matched and d.amount > g.amount then update set amount = d.amount\n\
                 when not matched by source and g.fiscal_period = '2026006' then delete"
            ),
            &[
                "--key",
                key,
                "--when",
                "MATCHED AND s.amount > t.amount THEN UPDATE SET amount = s.amount",
                "--when",
                "NOT MATCHED BY SOURCE AND t.fiscal_period = '2026006' THEN DELETE",
            ],
        ),
        (
            "overwrite",
            "SET spark.sql.sources.partitionOverwriteMode = dynamic;\n\
             INSERT OVERWRITE gold.working_capital BY NAME SELECT * FROM delivered"
                .to_owned(),
            &["--key", key, "--mode", "dynamic"],
        ),
        (
            "replace-where",
            "INSERT INTO gold.working_capital BY NAME REPLACE WHERE fiscal_period BETWEEN '2026006' AND '2026006' TABLE delivered"
                .to_owned(),
            &["--key", key, "--where", "fiscal_period BETWEEN '2026006' AND '2026006'"],
        ),
    ];
    for (at, (kind, sql, flags)) in cases.iter().enumerate() {
        let file = lake.path(&format!("{at}.sql"));
        std::fs::write(&file, sql).unwrap();
        let stated: &[&str] = if *kind == "merge" { &[] } else { &["--key", key] };
        let pasted = lake.run(&[&["plan", kind, TABLE, "--source", &bound, "--sql", &file], stated].concat());
        let flagged = lake.run(&[&["plan", kind, TABLE, "--source", &source], *flags].concat());
        assert_eq!(pasted.0, flagged.0, "{sql}: {}", pasted.1);
        assert_eq!(numbers(&pasted.1), numbers(&flagged.1), "{sql}");
        let spec = |plan: &Json| {
            let mut spec = plan["spec"].clone();
            spec.as_object_mut().expect("a spec").remove("hash_seed");
            spec
        };
        assert_eq!(spec(&pasted.1), spec(&flagged.1), "{sql}");
    }
}
