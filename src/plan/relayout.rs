//! The same rows in other files: what repartition and optimize ask of an engine.

use serde::{Deserialize, Serialize};

use crate::table::file::FileId;

/// No row comes, goes or changes; only the files that hold them do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relayout {
    pub files: Chosen,
    /// The partition columns from now on, in partitioning order.
    pub partition_by: Vec<String>,
    /// Columns that the switch adds behind the table's own, in this order.
    pub added: Vec<AddedColumn>,
    pub shape: Shape,
    pub order: Order,
}

/// Which files are rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// Every live file, those too that others add before the commit: files of
    /// the old layout cannot stay beside those of the new one.
    All,
    These(Vec<FileId>),
}

/// When a file is closed and the next one of its partition begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// So many files a partition, each with about as many rows; fewer where a
    /// partition has fewer rows.
    FilesPerPartition(u32),
    /// Files of about so many bytes.
    TargetBytes(u64),
}

/// The order of the rows within each partition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "by", content = "columns", rename_all = "kebab-case")]
pub enum Order {
    /// As they come.
    #[default]
    None,
    /// By the columns, the first one first; NULL before every value.
    Columns(Vec<String>),
    /// Along a Z-order curve through the columns.
    ZOrder(Vec<String>),
}

impl Order {
    pub fn columns(&self) -> &[String] {
        match self {
            Order::None => &[],
            Order::Columns(columns) | Order::ZOrder(columns) => columns,
        }
    }
}

/// A column that the switch adds, because Delta partitions by columns only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedColumn {
    pub name: String,
    /// Spark SQL over the table's columns.
    pub expression: String,
    /// Its type, under Delta's name.
    pub data_type: String,
    /// Whether every writer computes it (a generated column), or must supply it.
    pub generated: bool,
}

/// The protocol that a switch raises the table to (protocol, "Protocol Evolution").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaisedProtocol {
    pub min_reader: i64,
    pub min_writer: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}
