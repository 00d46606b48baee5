//! Repartition: the table is partitioned by other columns, in one commit.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::RowTotals;
use super::algebra::Change;
use super::kinds::{Class, Io, Kind};
use super::layouts::breakers::Breaker;
use super::overwrite::partition_by;
use super::relayout::{AddedColumn, Chosen, Order, RaisedProtocol, Relayout, Shape};
use crate::table::features::WriteKind;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repartition {
    /// The partition columns until now.
    pub from: Vec<String>,
    /// The partition columns from now on; empty for an unpartitioned table.
    pub by: Vec<String>,
    /// Columns that the switch adds behind the table's own, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<AddedColumn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<RaisedProtocol>,
    pub shape: Shape,
    #[serde(default)]
    pub order: Order,
    /// What the new files will be, about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// What of the table's history would break on the new columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<Breaker>,
    /// The switch that this one takes back by another rewrite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Undone>,
}

/// New files, estimated from the sizes of today's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    pub files: u64,
    pub bytes: u64,
}

/// An operation of the table's history that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    pub operation: String,
    /// The version that it committed.
    pub version: u64,
}

impl Kind for Repartition {
    fn operation(&self) -> &'static str {
        "repartition"
    }

    fn title(&self) -> &'static str {
        if self.undoes.is_some() { "undo by a rewrite" } else { self.operation() }
    }

    fn lower(&self) -> Change {
        Change::Layout(Relayout {
            files: Chosen::All,
            partition_by: self.by.clone(),
            added: self.added.clone(),
            shape: self.shape,
            order: self.order.clone(),
        })
    }

    fn class(&self) -> Class {
        Class::Layout
    }

    fn write_kind(&self) -> WriteKind {
        WriteKind::Layout
    }

    fn breakers(&self) -> Option<&[Breaker]> {
        (self.from != self.by).then_some(&self.breakers)
    }

    fn undoes(&self) -> Option<&str> {
        self.undoes.as_ref().map(|undone| undone.operation.as_str())
    }

    fn commit_words(&self, _: &[String]) -> (&'static str, Vec<(String, String)>) {
        // Spark has no word for it and shows any; WRITE would say that rows were replaced.
        let mut parameters = vec![
            partition_by(&self.by),
            ("previousPartitionBy".into(), json!(self.from).to_string()),
            ("sortBy".into(), json!(if let Order::Columns(c) = &self.order { c.as_slice() } else { &[] }).to_string()),
            ("zOrderBy".into(), json!(if let Order::ZOrder(c) = &self.order { c.as_slice() } else { &[] }).to_string()),
        ];
        if !self.added.is_empty() {
            let added: Vec<String> = self.added.iter().map(|c| format!("{} AS {}", c.expression, c.name)).collect();
            parameters.push(("addedColumns".into(), json!(added).to_string()));
        }
        if let Some(undone) = &self.undoes {
            parameters.push(("undoes".into(), undone.operation.clone()));
        }
        ("REPARTITION", parameters)
    }

    fn metrics(&self, _: &RowTotals, io: &Io) -> Vec<(&'static str, u64)> {
        layout_metrics(io)
    }
}

/// Under the names of Spark's OPTIMIZE.
pub(super) fn layout_metrics(io: &Io) -> Vec<(&'static str, u64)> {
    vec![
        ("numAddedFiles", io.written_files),
        ("numAddedBytes", io.written_bytes),
        ("numRemovedFiles", io.removed_files),
        ("numRemovedBytes", io.removed_bytes),
        ("numOutputRows", io.written_rows),
    ]
}
