//! Rows of an effect as files.

use std::fs::{self, File};
use std::path::Path;

use deltalake::arrow::datatypes::DataType;
use deltalake::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use partwise::lake::data::value_at;
use partwise::ops::prepare::EffectRows;
use partwise::ops::{Exported, Strategy, export_effect};
use partwise::plan::Effect;
use partwise::progress::Progress;
use partwise::table::Value;

use crate::support::road::refused;
use crate::support::{Bench, Kind, Row, Shape, block_on, i, s};

fn money(cents: i128) -> Value {
    Value::Decimal { unscaled: cents, scale: 2 }
}

fn row(id: i64, text: Value, cents: i128, list: &str) -> Row {
    vec![s("a"), i(id), text, money(cents), Value::Nested(list.into())]
}

/// One row of each effect, with awkward texts.
fn rows(bench: &Bench) -> EffectRows {
    let columns = [
        ("d", Kind::String),
        ("id", Kind::Long),
        ("t", Kind::String),
        ("amount", Kind::Decimal(12, 2)),
        ("l", Kind::List),
    ];
    let shape = Shape::new(&columns, &["d"]);
    let table = bench.table(
        shape.clone(),
        &[row(1, s("x,\"y\""), 100, "[1,2]"), row(2, s("a|b\nc"), 200, "[]"), row(3, Value::Null, 300, "[]")],
    );
    let delivered = [row(1, s(""), 150, "[1,2]"), row(4, Value::Null, 400, "[]"), row(5, s(""), -5, "[null]")];
    let source = bench.source("s", &shape.columns, &delivered);
    bench.prepare(&table.path, &source, &["id"], Strategy::Overwrite).unwrap().rows.unwrap()
}

fn export(rows: &EffectRows, effect: Effect, path: &Path) -> partwise::error::Result<Exported> {
    block_on(export_effect(rows, effect, path, false, &Progress::default()))
}

#[test]
fn csv_tells_null_from_the_empty_text() {
    let bench = Bench::default();
    let (rows, file) = (rows(&bench), bench.path("e.csv"));
    let exported = export(&rows, Effect::Updated, &file).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!((exported.rows, exported.bytes), (1, text.len() as u64));
    assert_eq!(
        text,
        "old.d,new.d,old.id,new.id,old.t,new.t,old.amount,new.amount,old.l,new.l,changed,last_version\n\
         a,a,1,1,\"x,\"\"y\"\"\",\"\",1.00,1.50,\"[1,2]\",\"[1,2]\",\"t, amount\",0\n"
    );
    let file = bench.path("i.csv");
    export(&rows, Effect::Inserted, &file).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "d,id,t,amount,l,last_version\na,4,,4.00,[],\na,5,\"\",-0.05,[null],\n");
}

#[test]
fn markdown_keeps_its_rows_and_columns() {
    let bench = Bench::default();
    let (rows, file) = (rows(&bench), bench.path("d.md"));
    assert_eq!(export(&rows, Effect::Deleted, &file).unwrap().rows, 2);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        "| d | id | t | amount | l | last_version |\n| --- | --- | --- | --- | --- | --- |\n\
         | a | 2 | a\\|b\\\\nc | 2.00 | \\[] | 0 |\n| a | 3 | ∅ | 3.00 | \\[] | 0 |\n"
    );
}

#[test]
fn parquet_keeps_the_types() {
    let bench = Bench::default();
    let (rows, file) = (rows(&bench), bench.path("u.parquet"));
    let exported = export(&rows, Effect::Updated, &file).unwrap();
    assert_eq!(exported.bytes, fs::metadata(&file).unwrap().len());
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap().build().unwrap();
    let batch = reader.next().unwrap().unwrap();
    let column = |name: &str| batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(column("old.amount").data_type(), &DataType::Decimal128(12, 2));
    assert_eq!(column("new.id").data_type(), &DataType::Int64);
    let cell = |name: &str| value_at(column(name).as_ref(), 0);
    assert_eq!((cell("old.amount"), cell("new.amount"), cell("new.t")), (money(100), money(150), s("")));
    assert_eq!((cell("changed"), cell("last_version"), cell("old.l")), (s("t, amount"), i(0), s("[1,2]")));
    // No row at all is a file too, with its columns.
    let empty = bench.path("z.parquet");
    assert_eq!(export(&rows, Effect::Zombies, &empty).unwrap().rows, 0);
    let none = ParquetRecordBatchReaderBuilder::try_new(File::open(&empty).unwrap()).unwrap();
    assert_eq!((none.schema().fields().len(), none.metadata().file_metadata().num_rows()), (6, 0));
}

#[test]
fn what_is_there_stays_there_and_nothing_half_done_is_left() {
    let bench = Bench::default();
    let rows = rows(&bench);
    let folder = bench.path("out");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("e.csv");
    fs::write(&file, "mine").unwrap();
    let error = refused(export(&rows, Effect::Deleted, &file));
    assert_eq!((error.exit_code(), fs::read_to_string(&file).unwrap().as_str()), (5, "mine"));
    for (name, word) in [("e.xlsx", ".xlsx"), ("e", "no ending")] {
        let error = refused(export(&rows, Effect::Deleted, &folder.join(name)));
        assert!(error.exit_code() == 2 && error.message.contains(word), "{}", error.message);
    }
    assert_eq!(refused(export(&rows, Effect::Deleted, &folder.join("no/such/e.csv"))).exit_code(), 2);

    let cancelled = Progress::default();
    cancelled.cancel();
    for name in ["c.csv", "c.parquet"] {
        let stopped = block_on(export_effect(&rows, Effect::Deleted, &folder.join(name), false, &cancelled));
        assert_eq!(refused(stopped).exit_code(), 130);
    }
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["e.csv"]);
    let forced = block_on(export_effect(&rows, Effect::Deleted, &file, true, &Progress::default())).unwrap();
    assert_eq!(forced.rows, 2);
    assert!(fs::read_to_string(&file).unwrap().starts_with("d,id,"));
}

/// More rows than are read at a time.
#[test]
fn every_row_is_exported_once() {
    let bench = Bench::default();
    let shape = Shape::new(&[("d", Kind::String), ("id", Kind::Long)], &["d"]);
    let days = ["a", "b", "c"];
    let row = |n: i64| -> Row { vec![s(days[n as usize % 3]), i(n)] };
    let table = bench.table(shape.clone(), &(0..9_000).map(row).collect::<Vec<_>>());
    let source = bench.source("s", &shape.columns, &(9_000..29_000).map(row).collect::<Vec<_>>());
    let rows = bench.prepare(&table.path, &source, &["id"], Strategy::Overwrite).unwrap().rows.unwrap();
    for (effect, range) in [(Effect::Deleted, 0..9_000), (Effect::Inserted, 9_000..29_000)] {
        let file = bench.path(effect.name()).with_extension("csv");
        assert_eq!(export(&rows, effect, &file).unwrap().rows, range.clone().count() as u64);
        let text = fs::read_to_string(&file).unwrap();
        let mut ids: Vec<i64> =
            text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(range), "{}", effect.name());
    }
}
