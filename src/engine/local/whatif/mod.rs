//! Looking at a table as it would lie under another layout: partitions counted
//! from a sample or in one pass over their columns, bytes measured by encoding
//! a sample in the new order. Nothing is written to the table.

mod encode;
mod grouping;
mod sample;

pub use encode::{Encoded, encode, one_row};
pub use grouping::{Counted, Grouping, Groups, count, group_batch};
pub use sample::{Sample, SampleFile, sample};
