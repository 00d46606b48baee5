//! `partwise diff`, and the rows of effects: pages, columns, files.

use std::fs;

use serde_json::{Value as Json, json};
use tempfile::{TempDir, tempdir};

use super::{json, partwise};
use crate::support::writer::write_source;
use crate::support::{Fixture, Kind, Row, Shape, i, s};

fn shape() -> Shape {
    Shape::new(&[("d", Kind::String), ("id", Kind::Long), ("v", Kind::Decimal(9, 2))], &["d"])
}

fn row(d: &str, id: i64, cents: i128) -> Row {
    vec![s(d), i(id), partwise::table::Value::Decimal { unscaled: cents, scale: 2 }]
}

struct Lake {
    home: TempDir,
}

impl Lake {
    /// Version 0: a 1, 2 and b 3; version 1: a 1 changed, 2 gone, 9 new; and a
    /// source for a with 1 and 4.
    fn new() -> Lake {
        let home = tempdir().unwrap();
        let mut table = Fixture::new(home.path().join("t"), shape());
        let adds = table.add_each(&[row("a", 1, 100), row("a", 2, 200), row("b", 3, 300)], &Default::default());
        table.commit("WRITE", json!({}), adds.clone());
        let new = table.add(&[row("a", 1, 150), row("a", 9, 200)], &Default::default());
        let remove = table.remove(&adds[0]);
        table.commit("WRITE", json!({}), vec![remove, new]);
        write_source(&home.path().join("s.parquet"), &shape().columns, &[row("a", 1, 175), row("a", 4, 1)]);
        Lake { home }
    }

    fn run(&self, line: &str) -> (i32, String, String) {
        let mut command = partwise(self.home.path());
        let output = command.current_dir(self.home.path()).args(line.split(' ')).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    fn json(&self, line: &str) -> (i32, Json) {
        let mut command = partwise(self.home.path());
        let output = command.current_dir(self.home.path()).args(line.split(' ')).arg("--json").output().unwrap();
        (output.status.code().unwrap_or(-1), json(&output))
    }
}

#[test]
fn a_diff_as_an_object() {
    let lake = Lake::new();
    let (code, out) = lake.json("diff t --from 0 --to 1 --key id --rows updated --export deleted=gone.parquet");
    assert_eq!(code, 0, "{out}");
    assert_eq!((&out["from"], &out["to"], &out["key"]), (&json!(0), &json!(1), &json!(["id"])));
    assert_eq!(
        out["rows"],
        json!({"before": 3, "after": 3, "inserted": 1, "updated": 1, "unchanged_in_changed_files": 0,
               "deleted": 1, "moved": 0, "touched_only": 0})
    );
    assert_eq!(out["files"], json!({"shared": 1, "only_from": 1, "only_to": 1}));
    assert_eq!((&out["schema_changes"], &out["unchanged_partitions"]), (&json!([]), &json!(1)));
    let a = &out["partitions"][0];
    assert_eq!((&a["values"], &a["before"], &a["after"]), (&json!({"d": "a"}), &json!(2), &json!(2)));
    assert_eq!(a["measure_changes"], json!({"v": "0.5"}));
    let rows = &out["effect_rows"];
    assert_eq!(rows["rows"][0]["old"], json!(["a", 1, "1.00"]));
    assert_eq!(rows["changes"], json!({"updated": 1, "looked_at": 1, "columns": [{"column": "v", "rows": 1}]}));
    assert_eq!((&out["exported"][0]["effect"], &out["exported"][0]["rows"]), (&json!("deleted"), &json!(1)));
    assert!(lake.home.path().join("gone.parquet").exists());
    let (code, out) = lake.json("diff t --from 0");
    assert_eq!((code, &out["to"], &out["rows"]["updated"]), (0, &json!(1), &Json::Null));
    let (code, by_time) = lake.json("diff t --from-time 2023-11-14T22:13:30Z --to-time 2024-01-01");
    assert_eq!((code, by_time), (0, out), "version 0 was committed at 22:13:20, version 1 a minute later");
}

#[test]
fn people_read_the_same() {
    let lake = Lake::new();
    let (code, text, _) = lake.run("diff t --from 0 --to 1 --key id --rows deleted");
    assert_eq!(code, 0);
    for part in [
        "from version 0 to 1\n",
        "unchanged in changed files  0\n",
        "d=a             2      2         1         1       0         1  0.5\n",
        "1 other partition with the same files\n",
        "files    1 in both, 1 only before, 1 only after\n",
        "deleted: 1 of 1 row\n",
        "last written\n",
        "v0\n",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let (_, text, _) = lake.run("diff t --from 1 --to 1");
    assert!(text.contains("the rows are the same\n"), "{text}");
    for (line, code) in [("diff t", 2), ("diff t --from 0 --to 7", 1), ("diff t --from 0 --to 1 --limit 3", 2)] {
        assert_eq!(lake.run(line).0, code, "{line}");
    }
}

#[test]
fn plans_page_through_rows_and_export_them() {
    let lake = Lake::new();
    let plan = "plan overwrite t --source s.parquet --key id";
    let (_, all) = lake.json(&format!("{plan} --rows deleted"));
    assert_eq!(all["effect_rows"]["rows"][0]["old"], json!(["a", 9, "2.00"]));
    let (_, past) = lake.json(&format!("{plan} --rows deleted --offset 1 --limit 5"));
    assert_eq!((&past["effect_rows"]["rows"], &past["effect_rows"]["offset"]), (&json!([]), &json!(1)));
    let (_, text, _) = lake.run(&format!("{plan} --rows updated"));
    assert!(text.contains("\ncolumns that differ: v 1\n"), "{text}");

    let export = format!("{plan} --export updated=u.csv --export deleted=d.md");
    let (_, text, _) = lake.run(&export);
    assert!(text.contains("exported 1 updated to u.csv") && text.contains("exported 1 deleted to d.md"), "{text}");
    let csv = fs::read_to_string(lake.home.path().join("u.csv")).unwrap();
    assert_eq!(csv, "old.d,new.d,old.id,new.id,old.v,new.v,changed,last_version\na,a,1,1,1.50,1.75,v,1\n");
    let (code, _, error) = lake.run(&export);
    assert!(code == 5 && error.contains("--force"), "{error}");
    assert!(lake.run(&format!("{export} --force")).1.contains("exported 1 updated"));
    for wrong in ["updated=u.txt", "gone=u.csv", "updated", "updated="] {
        assert_eq!(lake.run(&format!("{plan} --export {wrong}")).0, 2, "{wrong}");
    }
    assert_eq!(lake.run(&format!("{plan} --export updated=x.csv --export deleted=x.csv")).0, 2);
    let (code, _, error) = lake.run("plan restore t --to 0 --export deleted=r.csv");
    assert!(code == 2 && error.contains("partwise diff TABLE --from 1 --to 0"), "{error}");
}
