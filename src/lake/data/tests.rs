//! Round trips through an in-memory store, and files that other writers make.

use std::sync::Arc;

use bytes::Bytes;
use deltalake::arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, new_null_array,
};
use deltalake::arrow::datatypes::{
    DataType as ArrowDataType, Field as ArrowField, Fields, Int32Type, Int64Type, Schema as ArrowSchema,
    TimestampMicrosecondType,
};
use deltalake::arrow::json::ReaderBuilder;
use deltalake::logstore::object_store::memory::InMemory;
use deltalake::logstore::object_store::path::Path;
use deltalake::logstore::object_store::{ObjectStore, ObjectStoreExt};
use deltalake::parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};
use deltalake::parquet::data_type::{Int32Type as ParquetInt32, Int96, Int96Type};
use deltalake::parquet::file::properties::WriterProperties;
use deltalake::parquet::file::writer::SerializedFileWriter;
use deltalake::parquet::schema::parser::parse_message_type;
use futures::TryStreamExt;
use serde_json::{Value as Json, json};

use super::*;
use crate::error::ErrorKind;
use crate::table::{PartitionTuple, Schema, Value};

const PATH: &str = "part-0.parquet";

fn schema(fields: Json) -> Schema {
    Schema::parse(&json!({ "type": "struct", "fields": fields }).to_string()).unwrap()
}

fn column(name: &str, data_type: Json) -> Json {
    json!({ "name": name, "type": data_type, "nullable": true, "metadata": {} })
}

fn mapped(name: &str, physical: &str, id: i64, data_type: Json) -> Json {
    json!({ "name": name, "type": data_type, "nullable": true, "metadata": {
        "delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical } })
}

fn layout(fields: Json, partition_columns: &[&str], is_mapped: bool) -> Arc<TableLayout> {
    let names = partition_columns.iter().map(|s| (*s).to_owned()).collect();
    Arc::new(TableLayout::new(schema(fields), names, is_mapped).unwrap())
}

async fn stored(bytes: impl Into<Bytes>) -> ReadFile {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let bytes = bytes.into();
    let size = bytes.len() as u64;
    store.put(&Path::from(PATH), bytes.into()).await.unwrap();
    ReadFile { store, path: Path::from(PATH), size, partition: PartitionTuple::default(), deleted: None }
}

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let fields: Fields = columns.iter().map(|(n, a)| ArrowField::new(*n, a.data_type().clone(), true)).collect();
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns.into_iter().map(|(_, a)| a).collect())
        .unwrap();
    arrow_parquet(&batch)
}

fn arrow_parquet(batch: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(5_000)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

async fn read_all(layout: &Arc<TableLayout>, file: &ReadFile, columns: &[usize]) -> crate::error::Result<RecordBatch> {
    let reader = DataReader::new(Arc::clone(layout));
    let batches: Vec<LiveBatch> = reader.read(file, columns, None).await?.try_collect().await?;
    let schema = Arc::new(layout.arrow_schema().project(columns).unwrap());
    Ok(deltalake::arrow::compute::concat_batches(&schema, batches.iter().map(|b| &b.batch)).unwrap())
}

fn every_type(is_mapped: bool) -> Json {
    let name = |name: &str, id: i64, t: Json| {
        if is_mapped { mapped(name, &format!("col-{id}"), id, t) } else { column(name, t) }
    };
    let pair = json!({ "type": "struct", "fields": [name("x", 20, json!("long")), name("y", 21, json!("string"))] });
    json!([
        name("part", 1, json!("date")),
        name("s", 2, json!("string")),
        name("l", 3, json!("long")),
        name("i", 4, json!("integer")),
        name("sh", 5, json!("short")),
        name("by", 6, json!("byte")),
        name("f", 7, json!("float")),
        name("d", 8, json!("double")),
        name("dec", 9, json!("decimal(12,2)")),
        name("big", 10, json!("decimal(38,10)")),
        name("b", 11, json!("boolean")),
        name("bin", 12, json!("binary")),
        name("day", 13, json!("date")),
        name("ts", 14, json!("timestamp")),
        name("ntz", 15, json!("timestamp_ntz")),
        name("st", 16, pair.clone()),
        name("li", 17, json!({ "type": "array", "elementType": pair, "containsNull": true })),
        name(
            "ma",
            18,
            json!({ "type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": true })
        ),
    ])
}

fn every_value(layout: &TableLayout) -> RecordBatch {
    let rows = [
        json!({ "part": "2024-02-29", "s": "é", "l": i64::MAX, "i": -1, "sh": 7, "by": -8, "f": 1.5, "d": -0.25,
                "dec": "-1234567890.12", "big": "1.0000000001", "b": true, "bin": "00ff", "day": "1582-10-15",
                "ts": "9999-12-31T23:59:59.999999Z", "ntz": "0001-01-01T00:00:00.000001",
                "st": { "x": 1, "y": null }, "li": [{ "x": 2, "y": "q" }, null], "ma": { "k": null, "j": 3 } }),
        json!({ "part": "2024-02-29" }),
        json!({ "part": "2024-02-29", "s": "", "l": 0, "d": 3.0, "st": { "y": "w" }, "li": [], "ma": {} }),
    ];
    let text: String = rows.iter().map(|row| row.to_string() + "\n").collect();
    let mut reader = ReaderBuilder::new(layout.arrow_schema()).build(text.as_bytes()).unwrap();
    reader.next().unwrap().unwrap()
}

async fn write(layout: &Arc<TableLayout>, batch: &RecordBatch) -> (ReadFile, FileStats) {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let mut file = DataWriter::new(Arc::clone(layout), 32).open(Arc::clone(&store), Path::from(PATH)).unwrap();
    file.write(batch).await.unwrap();
    let stats = file.close().await.unwrap();
    let partition = layout.partition_indexes().iter().map(|&i| value_at(batch.column(i), 0)).collect();
    let size = store.head(&Path::from(PATH)).await.unwrap().size;
    (ReadFile { store, path: Path::from(PATH), size, partition: PartitionTuple(partition), deleted: None }, stats)
}

#[tokio::test]
async fn every_type_comes_back_as_it_was_written() {
    for is_mapped in [false, true] {
        let layout = layout(every_type(is_mapped), &["part"], is_mapped);
        let batch = every_value(&layout);
        let (file, stats) = write(&layout, &batch).await;
        assert_eq!((stats.num_records, stats.size), (3, file.size));
        let all: Vec<usize> = (0..batch.num_columns()).collect();
        assert_eq!(read_all(&layout, &file, &all).await.unwrap(), batch);
        let some = [17, 0, 2];
        assert_eq!(read_all(&layout, &file, &some).await.unwrap(), batch.project(&some).unwrap());

        let (stored, rows) = parquet_schema(Arc::clone(&file.store), file.path.clone(), file.size).await.unwrap();
        assert_eq!((stored.fields().len(), rows), (17, 3));
        let first = stored.field(0);
        let id = first.metadata().get(PARQUET_FIELD_ID_META_KEY).map(String::as_str);
        let expected = if is_mapped { ("col-2", Some("2")) } else { ("s", None) };
        assert_eq!((first.name().as_str(), id), expected);
    }
}

#[tokio::test]
async fn statistics_are_those_of_the_rows() {
    let layout = layout(every_type(true), &["part"], true);
    let batch = every_value(&layout);
    let (_, stats) = write(&layout, &batch).await;
    let stats: Json = serde_json::from_str(&stats.stats_json).unwrap();
    assert_eq!(stats["numRecords"], 3);
    let (low, high, nulls) = (&stats["minValues"], &stats["maxValues"], &stats["nullCount"]);
    assert_eq!((&low["col-2"], &high["col-2"], &nulls["col-2"]), (&json!(""), &json!("é"), &json!(1)));
    assert_eq!((&low["col-3"], &high["col-3"]), (&json!(0), &json!(i64::MAX)));
    assert_eq!((&low["col-9"], &low["col-10"]), (&json!(-1_234_567_890.12), &json!(1.000_000_000_1)));
    assert_eq!((&low["col-13"], &high["col-15"]), (&json!("1582-10-15"), &json!("0001-01-01T00:00:00.001")));
    // The end of the year 9999, rounded up, is beyond what readers know.
    assert_eq!((&low["col-14"], &high["col-14"]), (&json!("9999-12-31T23:59:59.999Z"), &Json::Null));
    assert_eq!(low["col-16"], json!({ "col-20": 1, "col-21": "w" }));
    assert_eq!(nulls["col-16"], json!({ "col-20": 2, "col-21": 2 }));
    for unbounded in ["col-11", "col-12", "col-17", "col-18"] {
        assert_eq!(low[unbounded], Json::Null, "{unbounded}");
        assert!(nulls[unbounded].is_u64(), "{unbounded}");
    }
    assert_eq!(low["col-1"], Json::Null, "a partition column has no statistics");

    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let mut file = DataWriter::new(layout, 2).open(store, Path::from(PATH)).unwrap();
    file.write(&batch).await.unwrap();
    let few: Json = serde_json::from_str(&file.close().await.unwrap().stats_json).unwrap();
    assert_eq!(few["nullCount"], json!({ "col-2": 1, "col-3": 1 }));
}

#[tokio::test]
async fn positions_are_those_of_the_file() {
    let rows = 20_000;
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let mut file = stored(parquet(vec![("n", values)])).await;
    let layout = layout(json!([column("n", json!("long")), column("later", json!("string"))]), &[], false);
    let reader = DataReader::new(Arc::clone(&layout));
    let deleted = (0..20_000u64).filter(|n| n % 3 == 0 || (4_000..9_000).contains(n)).collect();
    file.deleted = Some(Arc::new(deleted));
    let live: Vec<u64> = (0..20_000u64).filter(|n| n % 3 != 0 && !(4_000..9_000).contains(n)).collect();
    assert_eq!(reader.row_count(&file).await.unwrap(), live.len() as u64);
    let picked: Vec<u64> = (0..20_000u64).filter(|n| n % 7 == 0).collect();
    for select in [None, Some(picked)] {
        let wanted: Vec<u64> = match &select {
            None => live.clone(),
            Some(select) => select.iter().copied().filter(|n| live.contains(n)).collect(),
        };
        for columns in [&[0usize][..], &[1], &[]] {
            let batches: Vec<LiveBatch> =
                reader.read(&file, columns, select.as_deref()).await.unwrap().try_collect().await.unwrap();
            let positions: Vec<u64> = batches.iter().flat_map(|b| b.positions.clone()).collect();
            assert_eq!(positions, wanted);
            for LiveBatch { batch, positions } in &batches {
                assert!(batch.num_rows() == positions.len() && batch.num_rows() <= 8192);
                if columns == [0] {
                    let numbers = batch.column(0).as_primitive::<Int64Type>().values();
                    assert!(numbers.iter().map(|n| *n as u64).eq(positions.iter().copied()));
                }
            }
        }
    }
    file.deleted = Some(Arc::new([20_000u64].into_iter().collect()));
    assert_eq!(reader.row_count(&file).await.unwrap_err().kind, ErrorKind::BadDataFile);
}

#[tokio::test]
async fn columns_are_matched_by_name_then_loosely_and_missing_ones_are_null() {
    let inner = StructArray::from(vec![(
        Arc::new(ArrowField::new("B", ArrowDataType::Int32, true)),
        Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef,
    )]);
    let file = stored(parquet(vec![
        ("p", Arc::new(StringArray::from(vec!["wrong", "wrong"])) as ArrayRef),
        ("S", Arc::new(inner)),
    ]))
    .await;
    let file = ReadFile { partition: PartitionTuple(vec![Value::Null]), ..file };
    let nested = json!({ "type": "struct", "fields": [column("a", json!("date")), column("b", json!("long"))] });
    let layout = layout(json!([column("s", nested), column("p", json!("string"))]), &["p"], false);
    let batch = read_all(&layout, &file, &[0, 1]).await.unwrap();
    let inside = batch.column(0).as_struct();
    assert_eq!(inside.column(0).null_count(), 2);
    assert_eq!(inside.column(1).as_primitive::<Int64Type>().values(), &[1, 2]);
    assert_eq!(batch.column(1).null_count(), 2, "the log's value counts, not the file's");
}

#[tokio::test]
async fn id_mode_matches_by_field_id_at_every_depth() {
    let with_id = |name: &str, t: ArrowDataType, id: &str| {
        ArrowField::new(name, t, true).with_metadata([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_owned())].into())
    };
    let inner: Fields =
        vec![with_id("q", ArrowDataType::Int32, "9"), with_id("col-8", ArrowDataType::Int32, "7")].into();
    let fields = vec![with_id("other", ArrowDataType::Struct(inner.clone()), "5")];
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![2]))];
    let array = Arc::new(StructArray::new(inner, columns, None));
    let file =
        stored(arrow_parquet(&RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), vec![array]).unwrap())).await;
    let nested = json!({ "type": "struct", "fields": [
        mapped("a", "col-7", 7, json!("integer")), mapped("b", "col-6", 6, json!("integer"))] });
    let metadata = crate::table::Metadata {
        id: "t".into(),
        name: None,
        description: None,
        schema: schema(json!([mapped("st", "col-5", 5, nested)])),
        partition_columns: vec![],
        configuration: vec![("delta.columnMapping.mode".into(), "id".into())],
        created_time: None,
        raw: serde_json::Map::new(),
    };
    let layout = Arc::new(TableLayout::from_metadata(&metadata).unwrap());
    let batch = read_all(&layout, &file, &[0]).await.unwrap();
    assert_eq!(batch.column(0).as_struct().column(0).as_primitive::<Int32Type>().value(0), 2);
    assert!(batch.column(0).as_struct().column(1).is_null(0));
    assert_eq!(value_at(batch.column(0), 0), Value::Nested(r#"{"a":2,"b":null}"#.into()));
}

#[tokio::test]
async fn fields_that_swapped_their_names_keep_their_values() {
    let fields: Fields = ["a", "b"].map(|n| ArrowField::new(n, ArrowDataType::Int32, true)).into_iter().collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![2]))];
    let file = stored(parquet(vec![("st", Arc::new(StructArray::new(fields, columns, None)))])).await;
    let nested = json!({ "type": "struct", "fields": [
        mapped("a", "b", 2, json!("integer")), mapped("b", "a", 3, json!("integer"))] });
    let layout = layout(json!([mapped("st", "st", 1, nested)]), &[], true);
    let batch = read_all(&layout, &file, &[0]).await.unwrap();
    assert_eq!(value_at(batch.column(0), 0), Value::Nested(r#"{"a":2,"b":1}"#.into()));
}

/// A file as an old writer made it, one column per closure.
fn raw_file(message: &str, rows: impl FnOnce(&mut SerializedFileWriter<&mut Vec<u8>>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    rows(&mut writer);
    writer.close().unwrap();
    bytes
}

#[tokio::test]
async fn int96_timestamps_of_any_year_are_exact() {
    // Julian days of 1582-10-15 and 9999-12-31, and one microsecond of the day.
    let instants = [(2_299_161u32, 1_000u64), (5_373_484, 86_399_999_999_000)].map(|(day, nanos)| {
        let mut value = Int96::new();
        value.set_data(nanos as u32, (nanos >> 32) as u32, day);
        value
    });
    let bytes = raw_file("message m { required group g { required int96 t; } }", |writer| {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int96Type>().write_batch(&instants, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    });
    let nested = json!({ "type": "struct", "fields": [column("t", json!("timestamp"))] });
    let layout = layout(json!([column("g", nested)]), &[], false);
    let batch = read_all(&layout, &stored(bytes).await, &[0]).await.unwrap();
    let times = batch.column(0).as_struct().column(0).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(Value::Timestamp(times.value(0)).plain(), "1582-10-15T00:00:00.000001Z");
    assert_eq!(Value::Timestamp(times.value(1)).plain(), "9999-12-31T23:59:59.999999Z");
}

#[tokio::test]
async fn two_level_lists_are_lists() {
    let bytes = raw_file("message m { optional group l (LIST) { repeated int32 array; } }", |writer| {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<ParquetInt32>();
        typed.write_batch(&[1, 2, 3], Some(&[2, 2, 1, 0, 2]), Some(&[0, 1, 0, 0, 0])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    });
    let list = json!({ "type": "array", "elementType": "long", "containsNull": false });
    let layout = layout(json!([column("l", list)]), &[], false);
    let batch = read_all(&layout, &stored(bytes).await, &[0]).await.unwrap();
    let cells: Vec<String> = (0..4).map(|row| value_at(batch.column(0), row).plain()).collect();
    assert_eq!(cells, ["[1,2]", "[]", "", "[3]"]);
}

#[tokio::test]
async fn a_value_that_does_not_fit_names_file_and_column() {
    let file = stored(parquet(vec![("amount", Arc::new(Int64Array::from(vec![1, 1 << 40])))])).await;
    for wanted in ["integer", "string", "decimal(3,0)"] {
        let layout = layout(json!([column("amount", json!(wanted))]), &[], false);
        let error = read_all(&layout, &file, &[0]).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadDataFile, "{wanted}");
        assert!(error.message.contains(PATH) && error.message.contains("'amount'"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_damaged_file_is_an_error_and_no_panic() {
    let layout = layout(every_type(false), &["part"], false);
    let batch = every_value(&layout);
    let (file, _) = write(&layout, &batch).await;
    let good = file.store.get(&file.path).await.unwrap().bytes().await.unwrap();
    let columns: Vec<usize> = (0..batch.num_columns()).collect();
    for length in (0..good.len()).step_by(97) {
        let cut = ReadFile { partition: file.partition.clone(), ..stored(good.slice(..length)).await };
        assert_eq!(read_all(&layout, &cut, &columns).await.unwrap_err().kind, ErrorKind::BadDataFile, "{length}");
    }
    for at in (0..good.len()).step_by(11) {
        let mut bytes = good.to_vec();
        bytes[at] ^= 0xa5;
        let flipped = ReadFile { partition: file.partition.clone(), ..stored(bytes).await };
        if let Err(error) = read_all(&layout, &flipped, &columns).await {
            assert_eq!(error.kind, ErrorKind::BadDataFile, "byte {at}: {}", error.full_message());
        }
    }
    let gone = ReadFile { path: Path::from("gone.parquet"), ..file.clone() };
    let error = read_all(&layout, &gone, &columns).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::MissingFiles);
    assert!(error.message.contains("gone.parquet"));
    let longer = ReadFile { size: file.size + 1_000, ..file };
    let error = read_all(&layout, &longer, &columns).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadDataFile);
    assert!(error.message.contains("are recorded"), "{}", error.message);
}

#[tokio::test]
async fn the_writer_refuses_rows_that_are_not_the_tables() {
    let strict = json!({ "name": "k", "type": "long", "nullable": false, "metadata": {} });
    let layout = layout(json!([strict, column("v", json!("string"))]), &[], false);
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let mut file = DataWriter::new(Arc::clone(&layout), 32).open(Arc::clone(&store), Path::from(PATH)).unwrap();
    let nulls = RecordBatch::try_new(
        layout.arrow_schema(),
        vec![new_null_array(&ArrowDataType::Int64, 2), new_null_array(&ArrowDataType::Utf8, 2)],
    )
    .unwrap();
    assert_eq!(file.write(&nulls).await.unwrap_err().kind, ErrorKind::NotNullViolation);
    let other = nulls.project(&[1, 0]).unwrap();
    assert_eq!(file.write(&other).await.unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(file.rows(), 0);
    file.abort().await;
    assert!(store.head(&Path::from(PATH)).await.is_err(), "an aborted file does not exist");
}
