//! Values, paths and links that try to lead a write out of the table's folder.
//!
//! A folder beside the table stands for the rest of the disk: whatever is done,
//! its names, sizes, times and bytes stay what they were.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use partwise::error::ErrorKind;
use partwise::ops::{Strategy, plan_file};
use partwise::plan::{Plan, Spec};
use partwise::table::file::FileId;
use serde_json::{Value as Json, json};

use crate::support::road::{MERGE, copy_folder, refused, text};
use crate::support::snapshot::{Snapshot, differences, snapshot};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, i, rows_of, s, sorted};

fn shape() -> Shape {
    Shape::new(&[("p", Kind::String), ("v", Kind::Long)], &["p"])
}

fn row(p: &str, v: i64) -> Row {
    vec![s(p), i(v)]
}

/// A bench with a table, and a folder beside it that nobody may touch.
struct Place {
    bench: Bench,
    table: Fixture,
    outside: PathBuf,
    before: Snapshot,
}

impl Place {
    fn new(rows: &[Row]) -> Place {
        let bench = Bench::default();
        let outside = bench.path("outside");
        fs::create_dir_all(outside.join("p=a")).unwrap();
        fs::write(outside.join("precious"), "do not touch").unwrap();
        let table = bench.table(shape(), rows);
        let mut place = Place { bench, table, outside, before: Snapshot::new() };
        place.look();
        place
    }

    /// From here on nothing outside may change.
    fn look(&mut self) {
        self.before = snapshot(&self.outside);
    }

    /// Nothing changed outside, and nothing new stands beside the table.
    #[track_caller]
    fn check(&self) {
        let changed = differences(&self.before, &snapshot(&self.outside));
        assert!(changed.is_empty(), "changed outside the table: {changed:?}");
        let known = ["outside", "t", "state", "alias", "copy", "log", "config.toml"];
        for entry in fs::read_dir(self.bench.dir.path()).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            assert!(known.contains(&name.as_str()) || name.ends_with(".parquet"), "{name} is new beside the table");
        }
    }

    fn source(&self, rows: &[Row]) -> String {
        self.bench.source("s", &shape().columns, rows)
    }
}

#[test]
fn no_partition_value_names_another_folder() {
    let long = "x".repeat(5000);
    let values = [
        ".",
        "..",
        "../../x",
        "../outside/p=a",
        "/etc",
        "/",
        "a/../../b",
        "a\\b",
        "..\\..\\x",
        "a\0b",
        "%2e%2e",
        "%2e%2e%2fx",
        "a\nb",
        "~",
        "~root",
        "C:\\x",
        "file:///x",
        "s3://b/k",
        "a?b#c",
        "a=b",
        "\u{202e}x",
        "-rf",
        " ",
        "_delta_log",
        &long,
    ];
    let mut place = Place::new(&[row("plain", 0)]);
    place.look();
    let rows: Vec<Row> = values.iter().enumerate().map(|(n, p)| row(p, n as i64)).collect();
    let source = place.source(&rows);
    let table = place.table.path.clone();
    place.bench.run(&table, &source, &["v"], Strategy::Append);
    place.check();
    let all: Vec<Row> = rows.iter().cloned().chain([row("plain", 0)]).collect();
    assert_eq!(rows_of(&table), sorted(all.clone()));

    let again: Vec<Row> = values.iter().enumerate().map(|(n, p)| row(p, 100 + n as i64)).collect();
    let source = place.source(&again);
    place.bench.run(&table, &source, &[], Strategy::Overwrite);
    place.check();
    place.bench.undo(&table);
    place.check();
    assert_eq!(rows_of(&table), sorted(all));

    // Every file is where the log says it is, below the table's folder.
    let root = table.canonicalize().unwrap();
    let folders = snapshot(&table).into_keys().filter(|p| p.extension().is_some_and(|e| e == "parquet"));
    for file in folders {
        let real = file.canonicalize().unwrap();
        assert!(real.starts_with(&root), "{}", real.display());
        assert_eq!(file.strip_prefix(&table).unwrap().components().count(), 2, "{}", file.display());
    }
}

/// A table whose log names a file outside its folder, in some spelling.
fn with_path(spell: impl Fn(&Path) -> String) -> (Place, String) {
    let mut place = Place::new(&[row("b", 2)]);
    let mut add = place.table.add(&[row("a", 1), row("a", 3)], &FileOptions::default());
    let inside = place.table.path.join(add["add"]["path"].as_str().unwrap());
    let moved = place.outside.canonicalize().unwrap().join("p=a/moved.parquet");
    fs::rename(inside, &moved).unwrap();
    let path = spell(&moved);
    add["add"]["path"] = json!(path);
    place.table.commit("WRITE", json!({"mode": "Append"}), vec![add]);
    place.look();
    (place, path)
}

#[test]
fn an_absolute_path_of_the_log_is_read_and_never_written() {
    let spellings: [fn(&Path) -> String; 2] = [text, |path| format!("file://{}", text(path))];
    for spell in spellings {
        let (place, path) = with_path(spell);
        let table = place.table.path.clone();
        let source = place.source(&[row("a", 9)]);
        let (plan, _) = place.bench.run(&table, &source, &["v"], Strategy::Overwrite);
        assert_eq!((plan.rows.deleted, plan.rows.inserted), (2, 1), "{path}");
        place.check();
        place.bench.undo(&table);
        place.check();
        let source = place.source(&[row("a", 1), row("a", 4)]);
        place.bench.run(&table, &source, &["p", "v"], MERGE);
        place.check();
        let restore = place.bench.plan_restore(&table, 1).unwrap();
        place.bench.apply(&restore).unwrap();
        place.check();
    }
}

#[test]
fn a_path_of_the_log_that_leads_out_is_refused_by_name() {
    let spellings: [fn(&Path) -> String; 7] = [
        |_| "../outside/p=a/moved.parquet".into(),
        |_| "p=a/../../outside/p=a/moved.parquet".into(),
        |_| "%2e%2e/outside/p=a/moved.parquet".into(),
        |_| "p=a/%2e%2e/%2e%2e/outside/p=a/moved.parquet".into(),
        |_| "..%2foutside%2fp=a%2fmoved.parquet".into(),
        |_| "s3://bucket/p=a/moved.parquet".into(),
        |_| "http://localhost/p=a/moved.parquet".into(),
    ];
    for spell in spellings {
        let (place, path) = with_path(spell);
        let table = place.table.path.clone();
        let source = place.source(&[row("a", 9)]);
        let error = refused(place.bench.prepare(&table, &source, &["v"], Strategy::Overwrite));
        assert_eq!(error.kind, ErrorKind::BadDataFile, "{path}: {}", error.full_message());
        assert!(error.message.contains(&path), "{path}: {}", error.message);
        place.check();
        // What needs no row of it goes on, and leaves it alone.
        let source = place.source(&[row("b", 9)]);
        place.bench.run(&table, &source, &[], Strategy::Append);
        place.check();
    }
}

#[test]
fn nothing_is_staged_through_a_link_that_leads_out() {
    let mut place = Place::new(&[row("a", 1), row("b", 2)]);
    let table = place.table.path.clone();
    fs::remove_dir(place.outside.join("p=a")).unwrap();
    fs::rename(table.join("p=a"), place.outside.join("p=a")).unwrap();
    symlink(place.outside.join("p=a"), table.join("p=a")).unwrap();
    place.look();
    let rows = rows_of(&table);
    assert_eq!(rows, [row("a", 1), row("b", 2)]);
    let inside = snapshot(&table);

    for delivered in [vec![row("a", 7)], vec![row("a", 7), row("b", 8), row("c", 9)]] {
        let source = place.source(&delivered);
        let plan = place.bench.plan(&table, &source, &["v"], Strategy::Overwrite);
        let error = refused(place.bench.apply(&plan));
        assert_eq!(error.kind, ErrorKind::Refused, "{}", error.full_message());
        assert!(error.message.contains("p=a is a link that leads to"), "{}", error.message);
        place.check();
        assert_eq!(differences(&inside, &snapshot(&table)), Vec::<PathBuf>::new(), "something was left");
        assert_eq!(rows_of(&table), rows);
    }
    // Other partitions are written as ever.
    let source = place.source(&[row("b", 8)]);
    place.bench.run(&table, &source, &["v"], Strategy::Overwrite);
    place.check();
    assert_eq!(rows_of(&table), [row("a", 1), row("b", 8)]);
}

#[test]
fn a_data_file_that_is_a_link_is_read_and_left_alone() {
    let mut place = Place::new(&[row("b", 2)]);
    let add = place.table.add(&[row("a", 1)], &FileOptions::default());
    let file = place.table.path.join(add["add"]["path"].as_str().unwrap());
    place.table.commit("WRITE", json!({"mode": "Append"}), vec![add]);
    let moved = place.outside.join("moved.parquet");
    fs::rename(&file, &moved).unwrap();
    symlink(&moved, &file).unwrap();
    place.look();
    let table = place.table.path.clone();
    let source = place.source(&[row("a", 5)]);
    place.bench.run(&table, &source, &["v"], Strategy::Overwrite);
    place.check();
    place.bench.undo(&table);
    place.check();
    assert_eq!(rows_of(&table), [row("a", 1), row("b", 2)]);
}

#[test]
fn a_log_that_is_a_link_is_read_and_not_written() {
    let mut place = Place::new(&[row("a", 1)]);
    let table = place.table.path.clone();
    fs::rename(table.join("_delta_log"), place.outside.join("log")).unwrap();
    symlink(place.outside.join("log"), table.join("_delta_log")).unwrap();
    place.look();
    let source = place.source(&[row("a", 5)]);
    let plan = place.bench.plan(&table, &source, &["v"], Strategy::Overwrite);
    let error = refused(place.bench.apply(&plan));
    assert_eq!(error.kind, ErrorKind::Refused, "{}", error.full_message());
    assert!(error.message.contains("_delta_log is a link"), "{}", error.message);
    place.check();
    assert_eq!(rows_of(&table), [row("a", 1)]);
}

#[test]
fn a_table_that_is_reached_through_a_link_is_the_table() {
    let place = Place::new(&[row("a", 1)]);
    let alias = place.bench.path("alias");
    symlink(&place.table.path, &alias).unwrap();
    let source = place.source(&[row("a", 5)]);
    place.bench.run(&alias, &source, &["v"], Strategy::Overwrite);
    place.check();
    assert_eq!(rows_of(&place.table.path), [row("a", 5)]);
    assert!(fs::symlink_metadata(&alias).unwrap().is_symlink());
}

/// A plan for `t`, with one that went before it to take back.
fn planned(place: &Place, kind: &str) -> Plan {
    let table = &place.table.path;
    match kind {
        "undo" => place.bench.plan_undo(table, None).unwrap(),
        _ => place.bench.plan_restore(table, 0).unwrap(),
    }
}

#[test]
fn a_plan_that_names_other_files_is_refused() {
    for kind in ["undo", "restore"] {
        let mut place = Place::new(&[row("a", 1)]);
        let source = place.source(&[row("a", 5)]);
        let table = place.table.path.clone();
        place.bench.run(&table, &source, &["v"], Strategy::Overwrite);
        place.look();
        for path in ["../outside/precious", "/etc/passwd", "file:///etc/passwd", "%2e%2e/outside/precious"] {
            for bring in [true, false] {
                let mut plan = planned(&place, kind);
                let files = match &mut plan.spec {
                    Spec::Undo(undo) => &mut undo.files,
                    Spec::Restore(restore) => &mut restore.files,
                    other => panic!("not {}", other.operation()),
                };
                let list = if bring { &mut files.add } else { &mut files.remove };
                list.push(FileId { path: path.into(), deletion_vector: None });
                let error = refused(place.bench.apply(&plan));
                assert_eq!(error.kind, ErrorKind::BadPlan, "{kind} {path}: {}", error.full_message());
                place.check();
                assert_eq!(rows_of(&table), [row("a", 5)]);
            }
        }
    }
}

#[test]
fn a_plan_for_another_place_is_refused() {
    let mut place = Place::new(&[row("a", 1)]);
    let table = place.table.path.clone();
    copy_folder(&table, &place.outside.join("copy"));
    let other = Bench::default();
    let stranger = other.table(shape(), &[row("a", 1)]);
    place.look();
    let source = place.source(&[row("a", 5)]);
    let plan = place.bench.plan(&table, &source, &["v"], Strategy::Overwrite);

    let strange = Plan { table: text(&stranger.path), ..plan.clone() };
    assert_eq!(refused(place.bench.apply(&strange)).kind, ErrorKind::StalePlan);
    for nowhere in ["/", "", "..", "/etc", "/dev/null", "/proc/self"] {
        let lost = Plan { table: nowhere.into(), ..plan.clone() };
        assert_eq!(refused(place.bench.apply(&lost)).kind, ErrorKind::NotATable, "{nowhere}");
    }
    // A copy has the same id, so a plan file may not be turned to it.
    let mut file: Json = plan_file::to_json(&plan).unwrap();
    file["table"] = json!(text(&place.outside.join("copy")));
    assert_eq!(refused(plan_file::parse("p.json", file.to_string().as_bytes())).kind, ErrorKind::BadPlan);
    place.check();
    assert_eq!(rows_of(&table), [row("a", 1)]);
}

#[test]
fn a_source_inside_the_table_is_only_read() {
    let mut place = Place::new(&[row("a", 1), row("b", 2)]);
    place.look();
    let table = place.table.path.clone();
    let own = snapshot(&table.join("p=b")).into_keys().next().unwrap();
    // The data file lacks the partition column, so it cannot be overwritten with.
    let error = refused(place.bench.prepare(&table, &text(&own), &["v"], Strategy::Overwrite).and_then(|prepared| {
        let mut refusals = prepared.plan.refusals.clone().into_iter();
        refusals.next().map_or(Ok(()), |r| Err(partwise::error::Error::new(r.kind, r.message)))
    }));
    assert_eq!(error.kind, ErrorKind::ColumnMissing, "{}", error.full_message());
    // The table itself as its own delivery changes no row.
    let plan = place.bench.plan(&table, &text(&table), &["v"], Strategy::Overwrite);
    place.bench.apply(&plan).unwrap();
    place.check();
    assert_eq!(rows_of(&table), [row("a", 1), row("b", 2)]);
}
