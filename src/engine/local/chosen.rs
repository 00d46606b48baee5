//! The rows that a predicate chooses.

use deltalake::arrow::array::RecordBatch;

use super::roles::Roles;
use crate::error::Result;
use crate::lake::data::{TableLayout, value_at};
use crate::predicate::{Bound, RowExpr, Scope};
use crate::table::{PartitionTuple, Schema, Value};

/// A predicate over the table's columns.
#[derive(Debug, Clone)]
pub struct Chosen {
    bound: Bound,
    /// Whether it names partition columns only.
    pub whole_partitions: bool,
}

impl Chosen {
    /// # Errors
    /// `Usage` for a text that cannot be read, and for names that are not there.
    pub fn new(text: &str, roles: &Roles, layout: &TableLayout) -> Result<Chosen> {
        let none = Schema { fields: Vec::new() };
        let bound = RowExpr::parse(text)?.bind(&Scope { source: &none, target: &layout.schema })?.condition()?;
        let whole_partitions = bound.columns().iter().all(|(_, column)| roles.partition.contains(column));
        Ok(Chosen { bound, whole_partitions })
    }

    pub fn names(&self, column: usize) -> bool {
        self.bound.columns().iter().any(|(_, named)| *named == column)
    }

    /// Whether it chooses a partition; it must name nothing else.
    ///
    /// # Errors
    /// What evaluating it runs into.
    pub fn partition(&self, tuple: &PartitionTuple, roles: &Roles) -> Result<bool> {
        self.bound.holds(&|_, column| {
            let place = roles.partition.iter().position(|c| *c == column);
            place.and_then(|at| tuple.0.get(at)).cloned().unwrap_or(Value::Null)
        })
    }

    /// Per row whether it is beyond reach: not chosen.
    ///
    /// # Errors
    /// What evaluating it runs into.
    pub fn beyond(&self, batch: &RecordBatch, columns: &[usize]) -> Result<Vec<bool>> {
        (0..batch.num_rows())
            .map(|row| {
                let chosen = self.bound.holds(&|_, column| {
                    let place = columns.iter().position(|c| *c == column);
                    place.map_or(Value::Null, |at| value_at(batch.column(at).as_ref(), row))
                })?;
                Ok(!chosen)
            })
            .collect()
    }
}
