//! Other writers, cancel, and what is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partwise::error::ErrorKind;
use partwise::ops::{self, ApplyOptions};
use partwise::progress::{Phase, Progress};
use serde_json::json;

use super::{by, metadata, optimize, plan, strays};
use crate::support::replay::{newest, replay};
use crate::support::road::{override_all, refused};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, rows_of, s, sorted};

fn shape() -> Shape {
    Shape { deletion_vectors: true, ..Shape::new(&[("g", Kind::String), ("v", Kind::Integer)], &["g"]) }
}

fn row(g: &str, v: i64) -> Row {
    vec![s(g), i(v)]
}

/// A table of four rows in two files, and the plan to partition it by `v`.
fn planned(bench: &Bench) -> (Fixture, partwise::plan::Plan) {
    let table = bench.table(shape(), &[row("a", 1), row("a", 2), row("b", 1), row("b", 2)]);
    let plan = plan(bench, &table.path, &by(&["v"])).unwrap();
    (table, plan)
}

#[test]
fn appends_that_came_in_between_are_carried_over() {
    let bench = Bench::default();
    let (mut table, plan) = planned(&bench);
    table.append(&[row("a", 2), row("c", 3)]);
    table.append(&[row("b", 1)]);
    let strict = refused(bench.apply_with(&plan, &ApplyOptions { strict: true, ..override_all(&plan) }));
    assert_eq!(strict.kind, ErrorKind::StalePlan);
    let report = bench.apply(&plan).unwrap();
    assert_eq!(report.rebased_over, [1, 2]);
    assert_eq!((report.rows_written, report.files_removed), (7, 5));
    let after = replay(&table.path).unwrap();
    assert_eq!(after.metadata["partitionColumns"], json!(["v"]));
    assert!(after.live.values().all(|add| add["partitionValues"].as_object().unwrap().contains_key("v")));
    let want = vec![row("a", 1), row("a", 2), row("b", 1), row("b", 2), row("a", 2), row("c", 3), row("b", 1)];
    assert_eq!(rows_of(&table.path), sorted(want.clone()));
    assert!(strays(&table.path).is_empty(), "{:?}", strays(&table.path));
    bench.undo(&table.path);
    assert_eq!(rows_of(&table.path), sorted(want));
}

/// What a commit in between did, by its words in the error.
#[test]
fn other_commits_in_between_stop_it() {
    for what in ["overwrite", "delete", "optimize", "metadata", "protocol"] {
        let bench = Bench::default();
        let (mut table, plan) = planned(&bench);
        let state = replay(&table.path).unwrap();
        let first = json!({"add": state.live.values().next().unwrap()});
        let actions = match what {
            "overwrite" => {
                vec![table.remove(&first), table.add(&[row("a", 9)], &FileOptions::default())]
            }
            "delete" => table.mask(&first, &[0], 2),
            "optimize" => {
                let mut add = table.add(&[row("a", 1), row("a", 2)], &FileOptions::default());
                let mut remove = table.remove(&first);
                add["add"]["dataChange"] = json!(false);
                remove["remove"]["dataChange"] = json!(false);
                vec![remove, add]
            }
            "metadata" => {
                let mut metadata = state.metadata.clone();
                metadata["configuration"]["x.y"] = json!("z");
                vec![json!({"metaData": metadata})]
            }
            _ => vec![json!({"protocol": state.protocol})],
        };
        table.commit("WRITE", json!({}), actions);
        let before = rows_of(&table.path);
        let error = refused(bench.apply(&plan));
        assert_eq!(error.kind, ErrorKind::StalePlan, "{what}: {}", error.message);
        assert_eq!((newest(&table.path), rows_of(&table.path)), (1, before), "{what}");
        assert!(strays(&table.path).is_empty(), "{what}: {:?}", strays(&table.path));
    }
}

#[test]
fn an_append_of_the_empty_string_stops_it() {
    let bench = Bench::default();
    let mut table = bench.table(Shape::new(&[("g", Kind::String), ("v", Kind::Integer)], &[]), &[row("a", 1)]);
    let plan = plan(&bench, &table.path, &by(&["g"])).unwrap();
    table.append(&[row("", 2)]);
    let error = refused(bench.apply(&plan));
    assert_eq!(error.kind, ErrorKind::StalePlan);
    assert!(error.message.contains("empty string"), "{}", error.message);
    assert!(strays(&table.path).is_empty());
    assert_eq!(newest(&table.path), 1);
}

#[test]
fn an_optimize_leaves_what_came_in_between_alone() {
    let bench = Bench::default();
    let mut table = bench.table(shape(), &[row("a", 1), row("b", 1)]);
    table.append(&[row("a", 2)]);
    let plan = optimize(&bench, &table.path, &Default::default());
    assert_eq!((plan.files.removed, plan.rows.unchanged), (2, 2));
    table.append(&[row("a", 3)]);
    let report = bench.apply(&plan).unwrap();
    assert_eq!((report.rebased_over.as_slice(), report.files_added, report.files_removed), (&[2][..], 1, 2));
    assert_eq!(rows_of(&table.path), sorted(vec![row("a", 1), row("b", 1), row("a", 2), row("a", 3)]));
    assert_eq!(replay(&table.path).unwrap().live.len(), 3);
}

#[test]
fn a_cancel_leaves_the_table_and_its_folder_as_they_were() {
    let bench = Bench::default();
    let columns = [("g", Kind::Integer), ("v", Kind::Integer)];
    let rows: Vec<Row> = (0..60_000).map(|n| vec![i(n % 3), i(n % 397)]).collect();
    let table = bench.table(Shape::new(&columns, &["g"]), &rows);
    let (kept, folders) = (metadata(&table.path), entries(&table.path));
    let plan = plan(&bench, &table.path, &by(&["v"])).unwrap();
    for phase in [Phase::Reading, Phase::Staging, Phase::Verifying] {
        let progress = Progress::default();
        let (watched, reached) = (progress.clone(), Arc::new(AtomicBool::new(false)));
        let seen = reached.clone();
        let mut states = progress.subscribe();
        let result = block_on(async {
            let watcher = tokio::spawn(async move {
                while states.changed().await.is_ok() {
                    if states.borrow_and_update().phase >= phase {
                        seen.store(true, Ordering::Relaxed);
                        watched.cancel();
                        return;
                    }
                }
            });
            let result = ops::apply(&bench.context, &plan, &override_all(&plan), &progress).await;
            watcher.abort();
            result
        });
        assert!(reached.load(Ordering::Relaxed));
        assert_eq!(refused(result).kind, ErrorKind::Cancelled, "{phase:?}");
        assert_eq!((newest(&table.path), metadata(&table.path)), (0, kept.clone()), "{phase:?}");
        assert_eq!(entries(&table.path), folders, "{phase:?}: files and folders");
    }
    // The plan can still be carried out.
    bench.apply(&plan).unwrap();
    assert_eq!(rows_of(&table.path).len(), rows.len());
}

/// A commit that comes while files are staged: they go again, and their folders.
#[test]
fn a_late_conflict_leaves_no_folders_behind() {
    let bench = Bench::default();
    let rows: Vec<Row> = (0..60_000).map(|n| row(["a", "b"][n as usize % 2], n % 97)).collect();
    let table = bench.table(shape(), &rows);
    let plan = plan(&bench, &table.path, &by(&["v"])).unwrap();
    let before = entries(&table.path);
    let progress = Progress::default();
    let mut states = progress.subscribe();
    let (mut other, path) = (table, bench.path("t"));
    let result = block_on(async {
        let writer = tokio::spawn(async move {
            while states.changed().await.is_ok() {
                if states.borrow_and_update().phase >= Phase::Staging {
                    let first = json!({"add": replay(&other.path).unwrap().live.values().next().unwrap()});
                    let gone = other.remove(&first);
                    other.commit("DELETE", json!({}), vec![gone]);
                    return;
                }
            }
        });
        let result = ops::apply(&bench.context, &plan, &override_all(&plan), &progress).await;
        writer.await.unwrap();
        result
    });
    assert_eq!(refused(result).kind, ErrorKind::StalePlan);
    assert_eq!((newest(&path), entries(&path)), (1, before), "no folder of a new partition stays");
    assert!(strays(&path).is_empty(), "{:?}", strays(&path));
}

/// What lies directly in the table's folder.
fn entries(table: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(table).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
