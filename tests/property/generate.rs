//! Random cases, built from small numbers so that proptest can shrink them.

use std::fmt;

use partwise::table::Value;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::writer::{Column, FileOptions, PathStyle, Shape};
use crate::support::{Fixture, Kind, Row};

const KEYS: [Kind; 13] = [
    Kind::Long,
    Kind::String,
    Kind::Integer,
    Kind::Date,
    Kind::Decimal(12, 2),
    Kind::Short,
    Kind::Byte,
    Kind::Boolean,
    Kind::Timestamp,
    Kind::TimestampNtz,
    Kind::Double,
    Kind::Float,
    Kind::Binary,
];

const PARTITIONS: [Kind; 10] = [
    Kind::String,
    Kind::Integer,
    Kind::Date,
    Kind::Long,
    Kind::Boolean,
    Kind::Decimal(6, 2),
    Kind::Timestamp,
    Kind::TimestampNtz,
    Kind::Short,
    Kind::Double,
];

const PAYLOAD: [Kind; 18] = [
    Kind::Long,
    Kind::String,
    Kind::Decimal(12, 2),
    Kind::Double,
    Kind::Struct,
    Kind::List,
    Kind::Map,
    Kind::Float,
    Kind::Binary,
    Kind::Timestamp,
    Kind::TimestampNtz,
    Kind::Date,
    Kind::Boolean,
    Kind::Byte,
    Kind::Short,
    Kind::Integer,
    Kind::Decimal(38, 10),
    Kind::Decimal(18, 0),
];

/// The numbers behind one row: a key, two partition values, payload, and the
/// file that it goes to.
type RowSeed = (u8, [u8; 2], [u8; 4], u8);

#[derive(Debug, Clone)]
pub struct Seed {
    keys: Vec<u8>,
    partitions: Vec<u8>,
    payload: Vec<u8>,
    /// 1: the partition columns are in the key too. 2: there is no key (overwrite).
    key_form: u8,
    flags: [u8; 5],
    target: Vec<RowSeed>,
    source: Vec<(u8, RowSeed)>,
    /// What a statement is made of.
    choices: Vec<u8>,
}

/// Columns that a kind of statement wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    Any,
    /// A long that can be added to, a decimal, a text, and one more of any type.
    Clauses,
    /// A long, the begin and the end of a version, a flag.
    Versions,
}

pub fn seed() -> impl Strategy<Value = Seed> {
    let row = || (0u8..40, any::<[u8; 2]>(), any::<[u8; 4]>(), any::<u8>());
    (
        vec(any::<u8>(), 1..=2),
        vec(any::<u8>(), 0..=2),
        vec(any::<u8>(), 1..=4),
        0u8..6,
        any::<[u8; 5]>(),
        vec(row(), 0..=40),
        vec((any::<u8>(), row()), 0..=40),
        vec(any::<u8>(), 0..=64),
    )
        .prop_map(|(keys, partitions, payload, key_form, flags, target, source, choices)| Seed {
            keys,
            partitions,
            payload,
            key_form,
            flags,
            target,
            source,
            choices,
        })
}

#[derive(Clone)]
pub struct Case {
    pub shape: Shape,
    pub key: Vec<String>,
    /// One data file each, rows of one partition, with the rows that are deleted in it.
    pub files: Vec<(Vec<Row>, FileOptions)>,
    /// All statistics are there.
    pub counted: bool,
    pub source: Vec<Row>,
    pub choices: Vec<u8>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "columns {:?} by {:?}", self.shape.columns, self.shape.partition_by)?;
        writeln!(f, "key {:?} mapped {} vectors {}", self.key, self.shape.mapped, self.shape.deletion_vectors)?;
        for (rows, options) in &self.files {
            writeln!(f, "file {options:?}")?;
            for row in rows {
                writeln!(f, "  T {row:?}")?;
            }
        }
        for row in &self.source {
            writeln!(f, "  S {row:?}")?;
        }
        writeln!(f, "choices {:?}", self.choices)
    }
}

impl Case {
    pub fn new(seed: Seed, wanted: Payload) -> Self {
        let pick = |kinds: &[Kind], at: u8| kinds[usize::from(at) % kinds.len()];
        let mut columns = Vec::new();
        let mut part = |prefix: &str, kinds: &[Kind], seeds: &[u8]| -> Vec<String> {
            let named = seeds.iter().enumerate().map(|(n, &at)| {
                let name = format!("{prefix}{n}");
                columns.push(Column { name: name.clone(), kind: pick(kinds, at) });
                name
            });
            named.collect()
        };
        let mut key = part("k", &KEYS, &seed.keys);
        let partition_by = part("p", &PARTITIONS, &seed.partitions);
        match wanted {
            Payload::Any => drop(part("v", &PAYLOAD, &seed.payload)),
            Payload::Clauses => {
                let last = pick(&PAYLOAD, seed.payload[0]);
                part("v", &[Kind::Long, Kind::Decimal(12, 2), Kind::String, last], &[0, 1, 2, 3]);
            }
            Payload::Versions => {
                part("v", &[Kind::Long, Kind::Long, Kind::Long, Kind::Boolean], &[0, 1, 2, 3]);
            }
        }
        match seed.key_form {
            1 => key.extend(partition_by.iter().cloned()),
            2 => key.clear(),
            _ => {}
        }
        let [mapped, vectors, stats, unique, nulls] = seed.flags;
        let feed = (unique % 2 == 0).then(|| ("delta.enableChangeDataFeed".to_owned(), "true".to_owned()));
        let shape = Shape {
            columns,
            partition_by,
            mapped: mapped % 5 == 4,
            deletion_vectors: vectors % 4 == 3,
            paths: if mapped % 2 == 0 { PathStyle::Spark } else { PathStyle::Ascii },
            properties: feed.into_iter().collect(),
            ..Shape::default()
        };
        // Mostly there are no NULL keys: they fail gates and hide other faults.
        let maker = Maker { shape: &shape, null_keys: nulls % 4 == 3, wanted };
        let target: Vec<Row> = seed.target.iter().map(|row| maker.row(row)).collect();
        let source = maker.source(&seed.source, &target, unique % 5 != 4);
        let files = split(&shape, &target, &seed.target, stats);
        let counted = files.iter().all(|(_, options)| !options.without_stats);
        Self { shape, key, files, counted, source, choices: seed.choices }
    }

    /// Live rows of the table.
    pub fn target(&self) -> Vec<Row> {
        let live = |(rows, options): &(Vec<Row>, FileOptions)| {
            let rows = rows.iter().enumerate().filter(|(at, _)| !options.deleted.contains(&(*at as u64)));
            rows.map(|(_, row)| row.clone()).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(live).collect()
    }

    /// Writes the table in two commits.
    pub fn write(&self, table: &mut Fixture) {
        let half = self.files.len().div_ceil(2);
        for files in [&self.files[..half], &self.files[half..]] {
            let adds = files.iter().map(|(rows, options)| table.add(rows, options)).collect();
            table.commit("WRITE", serde_json::json!({"mode": "Append"}), adds);
        }
    }
}

/// One to three files a partition.
fn split(shape: &Shape, target: &[Row], seeds: &[RowSeed], stats: u8) -> Vec<(Vec<Row>, FileOptions)> {
    let mut files: Vec<((Row, u8), Vec<Row>, FileOptions)> = Vec::new();
    for (row, seed) in target.iter().zip(seeds) {
        let place = (shape.partition_of(row), seed.3 % 3);
        let at = files.iter().position(|(p, _, _)| *p == place).unwrap_or_else(|| {
            let without_stats = stats % 6 == 5 && files.len() % 2 == 1;
            files.push((place, Vec::new(), FileOptions { without_stats, deleted: Vec::new() }));
            files.len() - 1
        });
        let (_, rows, options) = &mut files[at];
        // A row of a deletion vector is one that is in the file and not in the table.
        if shape.deletion_vectors && seed.3 >= 200 {
            options.deleted.push(rows.len() as u64);
        }
        rows.push(row.clone());
    }
    files.into_iter().map(|(_, rows, options)| (rows, options)).collect()
}

struct Maker<'a> {
    shape: &'a Shape,
    null_keys: bool,
    wanted: Payload,
}

impl Maker<'_> {
    fn row(&self, (key, partitions, payload, _): &RowSeed) -> Row {
        let cell = |column: &Column| {
            let place = column.name[1..].parse::<usize>().expect("a column's number");
            match column.name.as_bytes()[0] {
                // The second key column has few values, so that only both together identify.
                b'k' if place == 1 => self.key(column.kind, key % 3 + 1),
                b'k' => self.key(column.kind, *key),
                b'p' => partition_value(column.kind, partitions[place]),
                _ => self.payload(column.kind, place, payload[place]),
            }
        };
        self.shape.columns.iter().map(cell).collect()
    }

    fn payload(&self, kind: Kind, place: usize, number: u8) -> Value {
        match (self.wanted, value(kind, number)) {
            // Half of all versions are open.
            (Payload::Versions, _) if place == 2 && number.is_multiple_of(2) => Value::Null,
            (Payload::Clauses | Payload::Versions, Value::Int(n)) => Value::Int(n % 1000),
            (_, value) => value,
        }
    }

    fn key(&self, kind: Kind, number: u8) -> Value {
        match kind {
            _ if number == 0 && self.null_keys => Value::Null,
            // More values than the payload needs: rows should be told apart.
            Kind::Boolean => Value::Boolean(number.is_multiple_of(2)),
            kind => value(kind, number + 1),
        }
    }

    /// Rows that were delivered: copies of the table's rows, copies with a
    /// changed payload or another partition, and fresh rows.
    fn source(&self, seeds: &[(u8, RowSeed)], target: &[Row], unique: bool) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let keys = self.shape.columns.iter().filter(|c| c.name.starts_with('k')).count();
        for (how, seed) in seeds {
            let fresh = self.row(seed);
            let old = (!target.is_empty()).then(|| &target[usize::from(seed.3) % target.len()]);
            let row = match (how % 8, old) {
                (0..=2, Some(old)) => old.clone(),
                (3 | 4, Some(old)) => {
                    let mut row = old.clone();
                    let last = row.len() - 1;
                    row[last] = fresh[last].clone();
                    row
                }
                // The old key, in whichever partition.
                (5, Some(old)) => old[..keys].iter().chain(&fresh[keys..]).cloned().collect(),
                _ => fresh,
            };
            if !(unique && rows.iter().any(|other| other[..keys] == row[..keys])) {
                rows.push(row);
            }
        }
        rows
    }
}

/// Few values, so that partitions meet; NULL and the empty string among them.
pub fn partition_value(kind: Kind, number: u8) -> Value {
    let n = number % 5;
    match kind {
        _ if n == 4 => Value::Null,
        Kind::String => Value::String(["a", "", "München 1", "x/y=50%"][usize::from(n)].to_owned()),
        Kind::Boolean => Value::Boolean(n.is_multiple_of(2)),
        Kind::Double => Value::Double([1.5, f64::NAN, 0.0, -2.0][usize::from(n)]),
        kind => value(kind, n + 4),
    }
}

/// A value of a type; every 16th is NULL, the first ones are the awkward ones.
pub fn value(kind: Kind, number: u8) -> Value {
    let n = i64::from(number);
    if number % 16 == 15 {
        return Value::Null;
    }
    match kind {
        Kind::Boolean => Value::Boolean(number % 2 == 1),
        Kind::Byte => Value::Int([-128, 127].get(usize::from(number)).copied().unwrap_or(n % 200 - 100)),
        Kind::Short => Value::Int([-32_768, 32_767].get(usize::from(number)).copied().unwrap_or(n * 3 - 200)),
        Kind::Integer => {
            Value::Int([i32::MIN.into(), i32::MAX.into()].get(usize::from(number)).copied().unwrap_or(n * 7 - 500))
        }
        Kind::Long => Value::Int([i64::MIN, i64::MAX].get(usize::from(number)).copied().unwrap_or(n * 11 - 900)),
        Kind::Float => Value::Float(
            [f32::NAN, -0.0, 0.0, f32::INFINITY, f32::MIN].get(usize::from(number)).copied().unwrap_or(n as f32 * 0.5),
        ),
        Kind::Double => Value::Double(
            [f64::NAN, -0.0, 0.0, f64::NEG_INFINITY, f64::MAX]
                .get(usize::from(number))
                .copied()
                .unwrap_or(n as f64 * 0.1),
        ),
        Kind::Decimal(precision, scale) => {
            let max = 10_i128.pow(precision.into()) - 1;
            let unscaled = [max, -max].get(usize::from(number)).copied().unwrap_or(i128::from(n) * 25 - 1000);
            Value::Decimal { unscaled, scale: scale.try_into().expect("a scale of at least 0") }
        }
        Kind::String => {
            let odd = ["", " ", "é", "e\u{301}", "NULL", "'", "a\nb", "\0NULL", "\0"];
            Value::String(odd.get(usize::from(number)).map_or_else(|| format!("s{number}"), |&s| s.to_owned()))
        }
        Kind::Binary => Value::Binary(if number == 0 { Vec::new() } else { vec![0, number, 255] }),
        Kind::Date => Value::Date(
            [-719_162, 2_932_896, -1].get(usize::from(number)).copied().unwrap_or(20_000 + i32::from(number)),
        ),
        Kind::Timestamp => Value::Timestamp(instant(number)),
        Kind::TimestampNtz => Value::TimestampNtz(instant(number)),
        Kind::Struct => match number % 4 {
            0 => Value::Nested("[null,null]".into()),
            _ => Value::Nested(format!("[{},\"x{}\"]", number % 5, number % 3)),
        },
        Kind::List => Value::Nested(["[]", "[null]", "[1,2]", "[2,1]", "[1,2,null]"][usize::from(number % 5)].into()),
        Kind::Map => Value::Nested(
            ["[]", "[[\"a\",1]]", "[[\"a\",null]]", "[[\"a\",1],[\"b\",2]]"][usize::from(number % 4)].into(),
        ),
    }
}

fn instant(number: u8) -> i64 {
    let awkward = [-1, 0, -62_135_596_800_000_000, 253_402_300_799_999_999];
    let usual = 1_700_000_000_000_000 + i64::from(number) * 3_600_000_001;
    awkward.get(usize::from(number)).copied().unwrap_or(usual)
}
