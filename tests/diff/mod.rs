//! What changed between two versions: known changes, changed schemas, random
//! histories, and the rows behind the numbers.

mod export;
mod property;
mod schema;

use partwise::config::Config;
use partwise::error::Result;
use partwise::ops::{At, Diff, DiffRequest, diff};
use partwise::plan::Effect;
use partwise::predicate::Predicate;
use partwise::progress::Progress;
use serde_json::{Value as Json, json};

use crate::support::road::{MERGE, refused};
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

pub fn compare(bench: &Bench, table: &Fixture, from: u64, to: u64, request: &DiffRequest) -> Result<Diff> {
    let open = |version| bench.open_at(&table.path, At::Version(version));
    block_on(diff(&bench.context, &open(from)?, &open(to)?, request, &Progress::default()))
}

pub fn key(columns: &[&str]) -> DiffRequest {
    DiffRequest { key: columns.iter().map(|&c| c.to_owned()).collect(), ..DiffRequest::default() }
}

/// (before, after, inserted, updated, unchanged in changed files, deleted)
pub fn numbers(diff: &Diff) -> (Option<u64>, Option<u64>, u64, Option<u64>, u64, u64) {
    let r = &diff.rows;
    (r.before, r.after, r.inserted, r.updated, r.unchanged_in_changed_files, r.deleted)
}

fn files(diff: &Diff) -> (u64, u64, u64) {
    (diff.files.shared, diff.files.only_from, diff.files.only_to)
}

fn shape() -> Shape {
    Shape {
        deletion_vectors: true,
        ..Shape::new(&[("d", Kind::String), ("id", Kind::Long), ("v", Kind::Long)], &["d"])
    }
}

fn row(d: &str, id: i64, v: i64) -> Row {
    vec![s(d), i(id), i(v)]
}

/// a: ids 1 and 2, b: ids 3 and 4, one file each.
fn table(bench: &Bench) -> (Fixture, Json, Json) {
    let mut table = Fixture::new(bench.path("t"), shape());
    let options = FileOptions::default();
    let a = table.add(&[row("a", 1, 10), row("a", 2, 20)], &options);
    let b = table.add(&[row("b", 3, 30), row("b", 4, 40)], &options);
    table.commit("WRITE", json!({"mode": "Append"}), vec![a.clone(), b.clone()]);
    (table, a, b)
}

fn exchange(table: &mut Fixture, gone: &Json, rows: &[Row]) -> u64 {
    let (remove, add) = (table.remove(gone), table.add(rows, &FileOptions::default()));
    table.commit("WRITE", json!({"mode": "Overwrite"}), vec![remove, add])
}

#[test]
fn b43_an_overwrite_is_compared_by_row_not_by_file() {
    let bench = Bench::default();
    let (mut table, a, _) = table(&bench);
    exchange(&mut table, &a, &[row("a", 1, 10), row("a", 9, 20)]);
    for request in [DiffRequest::default(), key(&["id"])] {
        let diff = compare(&bench, &table, 0, 1, &request).unwrap();
        let updated = if request.key.is_empty() { None } else { Some(0) };
        assert_eq!(numbers(&diff), (Some(4), Some(4), 1, updated, 1, 1));
        assert_eq!(files(&diff), (1, 1, 1));
        let [a] = &diff.partitions[..] else { panic!("{:?}", diff.partitions) };
        assert_eq!((json!(a.values), a.before, a.after), (json!({"d": "a"}), 2, 2));
        assert_eq!((diff.unchanged_partitions, diff.same_rows()), (1, false));
    }
    // The other way round what was inserted is deleted.
    let back = compare(&bench, &table, 1, 0, &key(&["id"])).unwrap();
    assert_eq!(numbers(&back), (Some(4), Some(4), 1, Some(0), 1, 1));
    let page = block_on(back.effect_rows.page(Effect::Deleted, 0, 10)).unwrap();
    assert_eq!(page.rows[0].old.as_ref().unwrap()[1], i(9));
    assert_eq!(page.rows[0].last_version, Some(1));
}

#[test]
fn a_rewrite_changes_no_row() {
    let bench = Bench::default();
    let (mut table, a, _) = table(&bench);
    let actions =
        [vec![table.remove(&a)], table.add_each(&[row("a", 2, 20), row("a", 1, 10)], &FileOptions::default())];
    table.commit("OPTIMIZE", json!({}), actions.concat());
    let diff = compare(&bench, &table, 0, 1, &key(&["id"])).unwrap();
    assert_eq!(numbers(&diff), (Some(4), Some(4), 0, Some(0), 2, 0));
    assert!(diff.same_rows());
    let nothing = compare(&bench, &table, 1, 1, &key(&["id"])).unwrap();
    assert_eq!(numbers(&nothing), (Some(4), Some(4), 0, Some(0), 0, 0));
    assert_eq!((files(&nothing), nothing.partitions.len(), nothing.unchanged_partitions), ((2, 0, 0), 0, 2));
}

#[test]
fn deletion_vectors_hide_rows_and_a_restore_brings_them_back() {
    let bench = Bench::default();
    let (mut table, _, b) = table(&bench);
    let masked = table.mask(&b, &[1], 2);
    table.commit("DELETE", json!({}), masked.clone());
    table.append(&[row("b", 5, 50)]);
    let back = vec![table.remove(&masked[1]), b];
    table.commit("RESTORE", json!({"version": 0}), back);

    let deleted = compare(&bench, &table, 0, 1, &key(&["id"])).unwrap();
    assert_eq!(numbers(&deleted), (Some(4), Some(3), 0, Some(0), 1, 1));
    let page = block_on(deleted.effect_rows.page(Effect::Deleted, 0, 10)).unwrap();
    assert_eq!(page.rows[0].old, Some(row("b", 4, 40)));
    let later = compare(&bench, &table, 1, 2, &key(&["id"])).unwrap();
    assert_eq!((numbers(&later), files(&later)), ((Some(3), Some(4), 1, Some(0), 0, 0), (2, 0, 1)));
    assert_eq!((later.partitions[0].before, later.partitions[0].after), (1, 2), "the shared row counts");
    let restored = compare(&bench, &table, 2, 3, &key(&["id"])).unwrap();
    assert_eq!(numbers(&restored), (Some(4), Some(5), 1, Some(0), 1, 0));
    let whole = compare(&bench, &table, 0, 3, &key(&["id"])).unwrap();
    assert_eq!((numbers(&whole), files(&whole)), ((Some(4), Some(5), 1, Some(0), 0, 0), (2, 0, 1)));
}

#[test]
fn moved_rows_ignored_columns_and_filters() {
    let bench = Bench::default();
    let (mut table, a, b) = table(&bench);
    let options = FileOptions::default();
    let actions = vec![
        table.remove(&a),
        table.remove(&b),
        table.add(&[row("a", 1, 11)], &options),
        table.add(&[row("b", 2, 20), row("b", 3, 30), row("b", 4, 40)], &options),
    ];
    table.commit("WRITE", json!({}), actions);
    let diff = compare(&bench, &table, 0, 1, &key(&["id"])).unwrap();
    assert_eq!(numbers(&diff), (Some(4), Some(4), 0, Some(2), 2, 0));
    assert_eq!(diff.rows.moved, 1);
    let moves: Vec<_> = diff.partitions.iter().map(|p| (p.before, p.after, p.moved_in, p.moved_out)).collect();
    assert_eq!(moves, [(2, 1, 0, 1), (2, 3, 1, 0)]);

    let ignoring = DiffRequest { ignore: vec!["v".into()], ..key(&["id"]) };
    assert_eq!(compare(&bench, &table, 0, 1, &ignoring).unwrap().rows.touched_only, 1);
    let without_key = DiffRequest { ignore: vec!["v".into()], ..DiffRequest::default() };
    assert_eq!(refused(compare(&bench, &table, 0, 1, &without_key)).exit_code(), 2);

    let only = |text: &str| DiffRequest { filter: Some(Predicate::parse(text).unwrap()), ..key(&["id"]) };
    let a = compare(&bench, &table, 0, 1, &only("d = 'a'")).unwrap();
    assert_eq!(numbers(&a), (Some(2), Some(1), 0, Some(1), 0, 1));
    assert!(a.notes[0].contains("moved out"), "{:?}", a.notes);
    assert_eq!(refused(compare(&bench, &table, 0, 1, &only("v = 1"))).exit_code(), 2);
    assert_eq!(refused(compare(&bench, &table, 0, 1, &key(&["nope"]))).exit_code(), 2);
}

#[test]
fn rows_that_the_log_does_not_count_are_counted_where_they_matter() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), shape());
    let blind = FileOptions { without_stats: true, ..FileOptions::default() };
    let adds = table.add_each(&[row("a", 1, 1), row("b", 2, 2)], &blind);
    table.commit("WRITE", json!({}), adds);
    table.append(&[row("a", 3, 3)]);
    let diff = compare(&bench, &table, 0, 1, &key(&["id"])).unwrap();
    assert_eq!((diff.partitions[0].before, diff.partitions[0].after), (1, 2));
    // b was not looked at: unknown, not 0.
    assert_eq!((diff.rows.before, diff.rows.after), (None, None));
}

/// Pages of a few rows, in whatever order they are asked for, are parts of one list.
#[test]
fn pages_are_parts_of_one_list() {
    let bench = Bench::default();
    let days = ["a", "b", "c"];
    let rows: Vec<Row> = (0..90).map(|n| row(days[n as usize % 3], n, 0)).collect();
    let mut table = Fixture::new(bench.path("t"), shape());
    for part in rows.chunks(30) {
        table.append(part);
    }
    // Of ids 0..90: 30..60 stay, 0..30 change, 60..90 go; 90..150 are new.
    let delivered: Vec<Row> = (0..60).map(|n| row(days[n as usize % 3], n, i64::from(n < 30))).collect();
    let new = (90..150).map(|n| row(days[n as usize % 3], n, 7));
    let source = bench.source("s", &shape().columns, &delivered.into_iter().chain(new).collect::<Vec<_>>());
    let prepared = bench.prepare(&table.path, &source, &["id"], partwise::ops::Strategy::Overwrite).unwrap();
    let pages = prepared.rows.unwrap();
    let ids = |effect, offset, limit| -> Vec<Vec<partwise::table::Value>> {
        let page = block_on(pages.page(effect, offset, limit)).unwrap();
        page.rows.into_iter().filter_map(|row| row.old.or(row.new)).collect()
    };
    for (effect, count) in
        [(Effect::Updated, 30), (Effect::Unchanged, 30), (Effect::Deleted, 30), (Effect::Inserted, 60)]
    {
        let all = ids(effect, 0, 1000);
        assert_eq!(all.len(), count, "{}", effect.name());
        assert!(all.is_sorted_by(|x, y| x[0] <= y[0]), "by partition");
        for (offset, limit) in [(55, 9), (0, 7), (28, 5), (7, 30), (19, 1), (60, 3), (1_000_000, 3)] {
            let from = offset.min(count);
            let to = (offset + limit).min(count);
            assert_eq!(ids(effect, offset as u64, limit), all[from..to], "{} {offset}", effect.name());
        }
    }
    let changes = block_on(pages.changes(1000, &Progress::default())).unwrap();
    assert_eq!((changes.updated, changes.looked_at, changes.is_exact()), (30, 30, true));
    assert_eq!(changes.columns, [("v".to_owned(), 30)]);
    let some = block_on(pages.changes(4, &Progress::default())).unwrap();
    assert_eq!((some.updated, some.looked_at, some.is_exact()), (30, 4, false));
    assert_eq!((some.only(&["v".into()]), some.only(&[])), (4, 0));
    let cancelled = Progress::default();
    cancelled.cancel();
    assert_eq!(refused(block_on(pages.changes(4, &cancelled))).exit_code(), 130);
}

#[test]
fn the_configured_key_is_taken() {
    let config: Config = toml::from_str("[tables.t]\nkey = [\"ID\"]\n").unwrap();
    let bench = Bench::with_config(config);
    let (mut table, a, _) = table(&bench);
    exchange(&mut table, &a, &[row("a", 1, 11)]);
    let diff = compare(&bench, &table, 0, 1, &DiffRequest::default()).unwrap();
    assert_eq!((diff.key.as_slice(), diff.rows.updated), (&["id".to_owned()][..], Some(1)));
    let plan = bench.plan(&table.path, &bench.source("s", &shape().columns, &[row("a", 1, 12)]), &[], MERGE);
    assert_eq!(plan.key, diff.key);
}
