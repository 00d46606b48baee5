//! A ledger and the ways in which a source delivers changes to it, with every
//! row known by construction.

use partwise::table::Value;

use super::writer::{Column, Fixture, columns};
use super::{Bench, Kind, Row, Shape, i, s};

pub const KEY: [&str; 2] = ["company_code", "doc_number"];
/// Rows of each period.
pub const ROWS: i64 = 2_000;
const LOADED: i64 = 1_767_225_600_000_000;

/// One document; each cell follows from its number and what was done to it.
#[derive(Debug, Clone, Copy)]
pub struct Doc {
    pub period: i64,
    pub number: i64,
    /// cents more than at first
    pub more: i128,
    /// Loads after the first one.
    pub load: i64,
}

pub fn shape() -> Shape {
    Shape::new(
        &[
            ("company_code", Kind::String),
            ("fiscal_period", Kind::String),
            ("doc_number", Kind::Long),
            ("amount", Kind::Decimal(15, 2)),
            ("status", Kind::String),
            ("load_ts", Kind::Timestamp),
        ],
        &["fiscal_period"],
    )
}

impl Doc {
    /// Company 3000 has a tenth of the documents.
    pub fn company(&self) -> &'static str {
        match self.number % 10 {
            0 => "3000",
            1..=4 => "1000",
            _ => "2000",
        }
    }

    pub fn row(&self) -> Row {
        let mixed = self.number.wrapping_mul(2_654_435_761) % 1_000_000;
        vec![
            s(self.company()),
            s(&period(self.period)),
            i(self.number),
            Value::Decimal { unscaled: i128::from(mixed) + self.more, scale: 2 },
            s(if self.more == 0 { "open" } else { "cleared" }),
            Value::Timestamp(LOADED + self.load * 86_400_000_000),
        ]
    }

    pub fn changed(self) -> Doc {
        Doc { more: 125, ..self }
    }
}

pub fn period(n: i64) -> String {
    format!("2026{n:03}")
}

/// The documents that the table has for a period; its numbers are its own.
pub fn docs(period: i64) -> impl Iterator<Item = Doc> {
    (0..ROWS).map(move |n| Doc { period, number: period * 100_000 + n, more: 0, load: 0 })
}

/// Documents of a period that the table does not have.
pub fn new_docs(period: i64, count: i64) -> impl Iterator<Item = Doc> {
    (0..count).map(move |n| Doc { period, number: period * 100_000 + ROWS + n, more: 0, load: 1 })
}

/// Four periods, one commit each.
pub fn ledger(bench: &Bench) -> Fixture {
    let mut table = Fixture::new(bench.path("t"), shape());
    for n in 1..=4 {
        let rows: Vec<Row> = docs(n).map(|doc| doc.row()).collect();
        table.append(&rows);
    }
    table
}

pub fn deliver(bench: &Bench, name: &str, docs: impl IntoIterator<Item = Doc>) -> String {
    let rows: Vec<Row> = docs.into_iter().map(|doc| doc.row()).collect();
    bench.source(name, &shape().columns, &rows)
}

/// Two periods restated: of each 100 documents one was reversed and three
/// changed; ten are new.
pub fn restated(period: i64) -> impl Iterator<Item = Doc> {
    let old = docs(period).filter(|d| d.number % 100 != 0);
    let old = old.map(|d| if d.number % 100 < 4 { d.changed() } else { d });
    old.chain(new_docs(period, 10))
}

/// Columns of a change feed: the table's, an operation code, a sequence number.
pub fn feed_columns() -> Vec<Column> {
    let mut all = shape().columns;
    all.extend(columns(&[("op", Kind::String), ("change_seq", Kind::Long)]));
    all
}

/// A feed over a period: of each 50 documents one was changed twice (with its
/// old images), one deleted, and twenty are new.
pub fn feed(period: i64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut say = |doc: Doc, op: &str| {
        let mut row = doc.row();
        row.extend([s(op), i(rows.len() as i64)]);
        rows.push(row);
    };
    for doc in docs(period) {
        match doc.number % 50 {
            1 => {
                say(doc, "b");
                say(Doc { more: 50, ..doc }, "u");
                say(Doc { more: 50, ..doc }, "b");
                say(doc.changed(), "u");
            }
            2 => say(doc, "d"),
            _ => {}
        }
    }
    new_docs(period, 20).for_each(|doc| say(doc, "c"));
    rows
}
