//! What a table *is*: values, schema, protocol, files, partitions, history.
//!
//! Pure: nothing here reads a file or knows an engine. `lake` fills these types
//! from storage; everything else works on them.

pub mod duration;
pub mod evolution;
pub mod features;
pub mod file;
pub mod history;
pub mod number;
pub mod partition;
pub mod retention;
pub mod schema;
pub mod value;
pub mod wide;

pub use features::Protocol;
pub use file::{DataFile, DeletionVector};
pub use history::Commit;
pub use partition::{PartitionStats, PartitionTuple};
pub use schema::{DataType, Field, PrimitiveType, Schema};
pub use value::Value;

use serde_json::{Map, Value as Json};

/// The `metaData` action of a table (protocol, "Change Metadata").
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub schema: Schema,
    /// Logical names, in partitioning order.
    pub partition_columns: Vec<String>,
    pub configuration: Vec<(String, String)>,
    pub created_time: Option<i64>,
    /// The action as the log has it, so that a commit can repeat it unchanged.
    pub raw: Map<String, Json>,
}

impl Metadata {
    pub fn property(&self, key: &str) -> Option<&str> {
        self.configuration.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    pub fn flag(&self, key: &str) -> bool {
        self.property(key).is_some_and(|v| v.eq_ignore_ascii_case("true"))
    }

    /// `delta.constraints.*`: (name, SQL expression).
    pub fn constraints(&self) -> Vec<(String, String)> {
        self.configuration
            .iter()
            .filter_map(|(k, v)| Some((k.strip_prefix("delta.constraints.")?.to_owned(), v.clone())))
            .collect()
    }

    /// The partition columns as fields of the schema, in partitioning order.
    pub fn partition_fields(&self) -> Vec<&Field> {
        self.partition_columns.iter().filter_map(|name| self.schema.field(name)).collect()
    }

    pub fn is_partition_column(&self, name: &str) -> bool {
        self.partition_columns.iter().any(|c| c == name)
    }

    pub fn column_mapping(&self) -> Option<&str> {
        self.property("delta.columnMapping.mode").filter(|mode| *mode != "none")
    }
}
