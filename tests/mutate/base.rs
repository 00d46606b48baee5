//! The sound inputs: a table with five versions, its checkpoints, a config.

use std::fs;
use std::path::{Path, PathBuf};

use deltalake::parquet::arrow::ArrowWriter;
use deltalake::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use deltalake::parquet::file::properties::{WriterProperties, WriterVersion};
use partwise::ops::Strategy;
use partwise::table::Value;
use serde_json::{Value as Json, json};

use crate::support::snapshot::listing;
use crate::support::writer::{FileOptions, log_file, write_source};
use crate::support::{Bench, Fixture, Kind, Row, Shape, block_on, i, s};

pub fn shape() -> Shape {
    let columns = [
        ("id", Kind::Long),
        ("p", Kind::String),
        ("d", Kind::Date),
        ("amount", Kind::Decimal(12, 2)),
        ("at", Kind::Timestamp),
        ("note", Kind::String),
        ("tags", Kind::List),
    ];
    Shape { deletion_vectors: true, ..Shape::new(&columns, &["p", "d"]) }
}

pub fn row(id: i64, p: &str, d: i32, note: &str) -> Row {
    let amount = Value::Decimal { unscaled: i128::from(id) * 100 + 7, scale: 2 };
    let at = Value::Timestamp(1_700_000_000_000_000 + id);
    vec![i(id), s(p), Value::Date(d), amount, at, s(note), Value::Nested(format!("[{id},null]"))]
}

pub fn delivery() -> Vec<Row> {
    (0..6).map(|id| row(id, "a", 19_000, if id < 3 { "new" } else { "x" })).collect()
}

/// Five versions: appends, a deletion vector, an overwrite by partwise.
pub fn table(bench: &Bench, name: &str, source: &str) -> PathBuf {
    let mut table = Fixture::new(bench.path(name), shape());
    let first: Vec<Row> = (0..8).map(|id| row(id, "a", 19_000, "x")).collect();
    let kept = table.add(&first, &FileOptions::default());
    let other = table.add(&[row(20, "b", 19_001, "y"), row(21, "b", 19_001, "é")], &FileOptions::default());
    table.commit("WRITE", json!({"mode": "Append"}), vec![kept, other.clone()]);
    table.append(&[row(30, "b", 19_002, "z"), row(31, "", 19_003, "z")]);
    let masked = table.mask(&other, &[1], 2);
    table.commit("DELETE", json!({"predicate": "[\"id = 21\"]"}), masked);
    bench.run(&table.path, source, &["id"], Strategy::Overwrite);
    let mut table = Fixture::resume(bench.path(name), shape());
    table.append(&[row(40, "c", 19_004, "w")]);
    table.path
}

pub fn checkpoint(table: &Path, version: u64) -> PathBuf {
    let url = url::Url::from_directory_path(table.canonicalize().expect("the table's folder")).expect("a folder's URL");
    block_on(async {
        let builder = deltalake::DeltaTableBuilder::from_url(url).expect("a builder").with_version(version);
        let table = builder.load().await.expect("another engine opens the fixture");
        deltalake::checkpoints::create_checkpoint(&table, None).await.expect("a checkpoint");
    });
    table.join(format!("_delta_log/{version:020}.checkpoint.parquet"))
}

/// Replaces a classic checkpoint by one in JSON with a sidecar.
pub fn in_json(table: &Path, classic: &Path, version: u64) -> [PathBuf; 2] {
    let sidecar = table.join("_delta_log/_sidecars/0123.parquet");
    fs::create_dir_all(sidecar.parent().expect("a folder")).expect("the sidecars' folder");
    fs::rename(classic, &sidecar).expect("the checkpoint becomes a sidecar");
    let head = fs::read_to_string(log_file(table, 0)).expect("the first commit");
    let mut lines: Vec<String> = vec![json!({"checkpointMetadata": {"version": version}}).to_string()];
    lines.extend(head.lines().filter(|l| l.contains("\"metaData\"") || l.contains("\"protocol\"")).map(str::to_owned));
    let size = fs::metadata(&sidecar).expect("the sidecar's size").len();
    lines.push(json!({"sidecar": {"path": "0123.parquet", "sizeInBytes": size, "modificationTime": 0}}).to_string());
    let name = format!("_delta_log/{version:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json");
    let file = table.join(name);
    fs::write(&file, lines.join("\n") + "\n").expect("the checkpoint's JSON");
    fs::remove_file(table.join("_delta_log/_last_checkpoint")).expect("the pointer to the classic one");
    [file, sidecar]
}

/// A deletion vector in a file of its own, in the protocol's layout.
pub fn stored_vector(table: &Path, version: u64) -> PathBuf {
    let log = log_file(table, version);
    let lines = fs::read_to_string(&log).expect("the commit with a deletion vector");
    let name = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
    let mut file = vec![1];
    let moved: Vec<String> = lines
        .lines()
        .map(|line| {
            let mut action: Json = serde_json::from_str(line).expect("a line of JSON");
            let Some(vector) = action.get_mut("add").and_then(|a| a.get_mut("deletionVector")) else {
                return line.to_owned();
            };
            let size = vector["sizeInBytes"].as_u64().expect("a size") as usize;
            let data = z85::decode(vector["pathOrInlineDv"].as_str().expect("a text")).expect("Z85");
            file.extend(u32::try_from(size).expect("a small size").to_be_bytes());
            file.extend(&data[..size]);
            file.extend(crc32(&data[..size]).to_be_bytes());
            *vector = json!({"storageType": "u", "pathOrInlineDv": "^-aqEH.-t@S}K{vb[*k^", "offset": 1,
                             "sizeInBytes": size, "cardinality": vector["cardinality"]});
            action.to_string()
        })
        .collect();
    fs::write(&log, moved.join("\n") + "\n").expect("the commit is written again");
    fs::write(table.join(name), file).expect("the vector's file");
    table.join(name)
}

/// A delivery in pages of the second version, with lengths and differences in
/// place of values.
pub fn write_encoded(path: &Path, rows: &[Row]) {
    let sound = path.with_extension("plain");
    write_source(&sound, &shape().columns, rows);
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&sound).expect("the file")).expect("a footer");
    let batches: Vec<_> = reader.build().expect("a reader").map(|b| b.expect("rows")).collect();
    let properties =
        WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0).set_dictionary_enabled(false);
    let file = fs::File::create(path).expect("a new file");
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties.build())).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("rows that can be written"));
    writer.close().expect("a footer");
    fs::remove_file(sound).expect("the plain file goes");
}

/// CRC-32 as in zlib.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xEDB8_8320 } else { c >> 1 })
    };
    !bytes.iter().fold(!0, step)
}

pub fn data_files(table: &Path) -> Vec<PathBuf> {
    listing(table).into_keys().filter(|p| p.extension().is_some_and(|e| e == "parquet")).collect()
}

pub const CONFIG: &str = r#"read_only = false
theme = "dark"
[lakes]
gold = "~/lake/gold"
[engine]
memory_limit = "1GiB"
[gates]
row_count_min_percent = 90.0
row_count_max_percent = 150.0
row_count_warn_percent = 98.0
row_count_exempt_rows = 10
stray_max_percent_of_typical = 1.0
new_partition_min_known = 10
new_partition_max_years_ahead = 1
grain_min_days = 3
grain_max_percent_of_days = 50.0
measure_drift_max_percent = 20.0
max_partitions = 10000
small_files_min_partitions = 50
small_files_min_bytes = 1048576
skew_max_factor = 20.0
skew_min_rows = 100000
[gates.severity]
zombies = "warn"
null-keys = "fail"
[tables.t]
key = ["id"]
ignore = ["at"]
measures = ["amount"]
grain = ["p"]
[tables.t.gates]
row_count_exempt_rows = 0
max_partitions = 5
"#;
