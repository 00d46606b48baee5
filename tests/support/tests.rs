//! The fixtures themselves: what they write is a Delta table to another engine,
//! and the strict replay is strict.

use serde_json::json;

use super::peer::count_rows;
use super::replay::replay;
use super::writer::{FileOptions, PathStyle, inline_deletion_vector};
use super::{Bench, Fixture, Kind, Shape, i, rows_of, s};

#[test]
fn an_inline_deletion_vector_is_the_known_text() {
    let vector = inline_deletion_vector(&[0, 2]);
    let want = json!({"storageType": "i", "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg00062",
                      "sizeInBytes": 36, "cardinality": 2});
    assert_eq!(vector, want);
}

#[test]
fn another_engine_reads_the_fixtures() {
    for paths in [PathStyle::Ascii, PathStyle::Spark] {
        for mapped in [false, true] {
            let columns = [("g", Kind::String), ("v", Kind::Long), ("m", Kind::Map), ("t", Kind::Struct)];
            let shape = Shape { paths, mapped, deletion_vectors: true, ..Shape::new(&columns, &["g"]) };
            let bench = Bench::default();
            let mut table = Fixture::new(bench.path("t"), shape);
            let nested = |text: &str| partwise::table::Value::Nested(text.to_owned());
            let row = |g: &str, v: i64| vec![s(g), i(v), nested("[[\"a\",1]]"), nested("[1,\"x\"]")];
            let options = FileOptions { deleted: vec![0, 2], ..FileOptions::default() };
            let masked = table.add(&[row("München 1", 0), row("München 1", 1), row("München 1", 2)], &options);
            let whole = table.add(&[row("x/y=50%", 3)], &FileOptions::default());
            table.commit("WRITE", json!({"mode": "Append"}), vec![masked, whole]);
            assert_eq!(rows_of(&table.path), [row("München 1", 1), row("x/y=50%", 3)]);
            assert_eq!(count_rows(&table.path), Ok(2), "{paths:?} mapped {mapped}");
        }
    }
}

#[test]
fn a_remove_under_another_spelling_of_the_path_is_an_error() {
    let bench = Bench::default();
    let shape = Shape { paths: PathStyle::Spark, ..Shape::new(&[("g", Kind::String), ("v", Kind::Long)], &["g"]) };
    let mut table = Fixture::new(bench.path("t"), shape);
    let add = table.add(&[vec![s("München 1"), i(1)]], &FileOptions::default());
    table.commit("WRITE", json!({"mode": "Append"}), vec![add.clone()]);
    let mut remove = table.remove(&add);
    let path = remove["remove"]["path"].as_str().expect("a path").replace('ü', "%C3%BC");
    remove["remove"]["path"] = json!(path);
    table.commit("DELETE", json!({}), vec![remove]);
    let error = replay(&table.path).expect_err("a remove that matches nothing");
    assert!(error.contains("is not live"), "{error}");
}

#[test]
fn a_file_that_is_added_twice_is_an_error() {
    let bench = Bench::default();
    let mut table = Fixture::new(bench.path("t"), Shape::new(&[("v", Kind::Long)], &[]));
    let add = table.add(&[vec![i(1)]], &FileOptions::default());
    table.commit("WRITE", json!({"mode": "Append"}), vec![add.clone()]);
    table.commit("WRITE", json!({"mode": "Append"}), vec![add]);
    assert!(replay(&table.path).is_err());
}
