//! The rows of a table: reading and writing its data files.
//!
//! Reading yields live rows under logical names and the table's own types,
//! whatever the file calls them and however it stores them. A value that
//! cannot be represented is an error that names file and column.

mod adapt;
mod cast;
mod cells;
mod deletion;
pub(super) mod guard;
mod layout;
mod open;
mod reader;
mod stats;
mod types;
mod writer;

pub use cells::{array_of, repeated, value_at};
pub use deletion::{DvPath, decode_deletion_vector, dv_location};
pub use layout::TableLayout;
pub use open::parquet_schema;
pub use reader::{DataReader, LiveBatch, ReadFile};
pub use types::{arrow_type, schema_from_arrow};
pub use writer::{DataWriter, FileStats, OpenFile};

#[cfg(test)]
mod foreign;
#[cfg(test)]
mod tests;
