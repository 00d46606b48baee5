//! What tests share: fixtures made without the crate's own code, a strict
//! replay of what was written, and the road of a write in short calls.

pub mod corpus;
pub mod deliveries;
mod head;
pub mod kinds;
pub mod peer;
pub mod replay;
pub mod road;
pub mod snapshot;
mod tests;
pub mod writer;

pub use kinds::{Kind, Row};
pub use replay::{exact, rows_of};
pub use road::{Bench, block_on};
pub use writer::{Fixture, Shape};

use partwise::table::Value;

pub fn s(text: &str) -> Value {
    Value::String(text.to_owned())
}

pub fn i(number: i64) -> Value {
    Value::Int(number)
}

/// Rows in the order in which [`rows_of`] gives them.
pub fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}
