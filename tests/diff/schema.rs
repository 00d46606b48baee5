//! Versions whose columns are not the same.

use partwise::ops::DiffRequest;
use partwise::ops::diff::{Change, SchemaChange};
use partwise::plan::Effect;
use serde_json::{Value as Json, json};

use super::{compare, key, numbers};
use crate::support::replay::replay;
use crate::support::road::refused;
use crate::support::writer::FileOptions;
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

/// The metaData of another shape, under the table's id.
fn metadata(table: &Fixture, shape: &Shape) -> Json {
    let mut metadata = shape.head().pop().unwrap();
    metadata["metaData"]["id"] = replay(&table.path).unwrap().metadata["id"].clone();
    metadata
}

fn change(column: &str, change: Change, from: Option<&str>, to: Option<&str>, compared: bool) -> SchemaChange {
    let text = |t: Option<&str>| t.map(str::to_owned);
    SchemaChange { column: column.into(), change, from: text(from), to: text(to), compared }
}

/// Replaces the whole table by rows of another shape.
fn replace(table: &mut Fixture, shape: Shape, rows: &[Row]) {
    let live: Vec<Json> = replay(&table.path).unwrap().live.values().map(|add| json!({"add": add})).collect();
    let mut actions: Vec<Json> = live.iter().map(|add| table.remove(add)).collect();
    actions.push(metadata(table, &shape));
    table.shape = shape;
    actions.extend(table.add_each(rows, &FileOptions::default()));
    table.commit("WRITE", json!({"mode": "Overwrite"}), actions);
}

#[test]
fn rows_are_compared_over_the_columns_that_both_versions_have() {
    let bench = Bench::default();
    let old = [("d", Kind::String), ("id", Kind::Integer), ("v", Kind::Long), ("t", Kind::String), ("x", Kind::Long)];
    let mut table = Fixture::with_rows(
        bench.path("t"),
        Shape::new(&old, &["d"]),
        &[vec![s("a"), i(1), i(10), s("1"), i(0)], vec![s("a"), i(2), i(20), s("2"), i(0)]],
    );
    let new = [("id", Kind::Long), ("d", Kind::String), ("y", Kind::Long), ("v", Kind::Long), ("t", Kind::Long)];
    let rows = [vec![i(1), s("a"), i(7), i(10), i(1)], vec![i(2), s("a"), i(7), i(21), i(2)]];
    replace(&mut table, Shape::new(&new, &["d"]), &rows);
    // Both ways: the wider type is the one that is compared.
    for (from, to) in [(0, 1), (1, 0)] {
        let diff = compare(&bench, &table, from, to, &key(&["id"])).unwrap();
        assert_eq!(numbers(&diff), (Some(2), Some(2), 0, Some(1), 1, 0), "{from} → {to}");
        assert!(diff.notes[0].contains("both versions have"), "{:?}", diff.notes);
        let page = block_on(diff.effect_rows.page(Effect::Updated, 0, 5)).unwrap();
        assert!(!page.columns.iter().any(|c| ["t", "x", "y"].contains(&c.as_str())), "{:?}", page.columns);
    }
    let diff = compare(&bench, &table, 0, 1, &key(&["id"])).unwrap();
    assert_eq!(
        diff.schema_changes,
        [
            change("id", Change::Retyped, Some("integer"), Some("long"), true),
            change("t", Change::Retyped, Some("string"), Some("long"), false),
            change("x", Change::Dropped, Some("long"), None, false),
            change("y", Change::Added, None, Some("long"), false),
        ]
    );
    let error = refused(compare(&bench, &table, 0, 1, &key(&["t"])));
    assert_eq!(error.exit_code(), 2);
    assert!(error.message.contains("cannot be compared"), "{}", error.message);
}

#[test]
fn a_column_that_was_added_leaves_the_files_shared() {
    let bench = Bench::default();
    let old = Shape::new(&[("d", Kind::String), ("id", Kind::Long)], &["d"]);
    let mut table = Fixture::with_rows(bench.path("t"), old, &[vec![s("a"), i(1)]]);
    let wide = Shape::new(&[("d", Kind::String), ("id", Kind::Long), ("n", Kind::Long)], &["d"]);
    let head = metadata(&table, &wide);
    table.shape = wide;
    let add = table.add(&[vec![s("a"), i(2), i(5)]], &FileOptions::default());
    table.commit("WRITE", json!({}), vec![head, add]);
    let diff = compare(&bench, &table, 0, 1, &key(&["id"])).unwrap();
    assert_eq!((numbers(&diff), diff.files.shared), ((Some(1), Some(2), 1, Some(0), 0, 0), 1));
}

/// Column mapping: a rename keeps the stored name, a column that was dropped
/// and added again does not.
#[test]
fn renamed_columns_are_the_same_columns_and_new_ones_of_old_names_are_not() {
    let bench = Bench::default();
    let shape =
        Shape { mapped: true, ..Shape::new(&[("d", Kind::String), ("id", Kind::Long), ("v", Kind::Long)], &["d"]) };
    let rows = [vec![s("a"), i(1), i(10)], vec![s("b"), i(2), i(20)]];
    let mut table = Fixture::with_rows(bench.path("t"), shape.clone(), &rows);
    let with = |table: &Fixture, edit: &dyn Fn(&str) -> String| {
        let mut metadata = metadata(table, &shape);
        let text = edit(metadata["metaData"]["schemaString"].as_str().unwrap());
        metadata["metaData"]["schemaString"] = json!(text);
        metadata
    };
    let rename = with(&table, &|text| text.replace("\"name\":\"v\"", "\"name\":\"w\""));
    let masked = table.add(&[vec![s("a"), i(3), i(30)]], &FileOptions::default());
    table.commit("RENAME COLUMN", json!({}), vec![rename, masked]);
    let diff = compare(&bench, &table, 0, 1, &key(&["id"])).unwrap();
    assert_eq!((numbers(&diff), diff.files.shared), ((Some(2), Some(3), 1, Some(0), 0, 0), 2));
    assert_eq!(diff.schema_changes, [change("w", Change::Renamed, Some("v"), Some("w"), true)]);
    let page = block_on(diff.effect_rows.page(Effect::Inserted, 0, 5)).unwrap();
    assert_eq!((page.columns[2].as_str(), &page.rows[0].new.as_ref().unwrap()[2]), ("w", &i(30)));

    // v again, under another stored name: NULL in every file that is there.
    let again = with(&table, &|text| text.replace("col-v", "col-v2"));
    table.commit("ADD COLUMNS", json!({}), vec![again]);
    let diff = compare(&bench, &table, 0, 2, &key(&["id"])).unwrap();
    assert_eq!(numbers(&diff), (Some(2), Some(3), 1, Some(2), 0, 0));
    assert!(diff.notes[0].contains("another name"), "{:?}", diff.notes);
}

#[test]
fn another_partitioning_is_broken_down_by_the_first_one() {
    let bench = Bench::default();
    let columns = [("d", Kind::String), ("r", Kind::String), ("id", Kind::Long)];
    let rows = [vec![s("a"), s("x"), i(1)], vec![s("b"), s("x"), i(2)], vec![s("b"), s("y"), i(3)]];
    let mut table = Fixture::with_rows(bench.path("t"), Shape::new(&columns, &["d"]), &rows);
    let after = [rows[0].clone(), rows[1].clone(), vec![s("c"), s("y"), i(4)]];
    replace(&mut table, Shape::new(&columns, &["r"]), &after);
    let diff = compare(&bench, &table, 0, 1, &DiffRequest::default()).unwrap();
    assert_eq!(numbers(&diff), (Some(3), Some(3), 1, None, 2, 1));
    assert_eq!(diff.partition_columns, ["d"]);
    let list: Vec<_> = diff.partitions.iter().map(|p| (p.label.as_str(), p.before, p.after)).collect();
    assert_eq!(list, [("d=a", 1, 1), ("d=b", 2, 1), ("d=c", 0, 1)]);
    assert!(diff.notes[0].contains("partitioned by d and is by r"), "{:?}", diff.notes);
    let filter = Some(partwise::predicate::Predicate::parse("d = 'a'").unwrap());
    assert_eq!(
        refused(compare(&bench, &table, 0, 1, &DiffRequest { filter, ..DiffRequest::default() })).exit_code(),
        2
    );
    // From a table without partitions there is nothing to break down.
    replace(&mut table, Shape::new(&columns, &[]), &after);
    let diff = compare(&bench, &table, 2, 1, &key(&["id"])).unwrap();
    assert_eq!((numbers(&diff), diff.partitions.len()), ((Some(3), Some(3), 0, Some(0), 3, 0), 1));
}
