//! What the table demands of every written row, held against batches of rows.

use deltalake::arrow::array::{Array, AsArray, RecordBatch};
use deltalake::arrow::datatypes::DataType;

use crate::engine::RowJob;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::value_at;
use crate::predicate::RowChecks;
use crate::predicate::checks::bit;
use crate::table::Value;
use crate::table::schema::{Schema, Step, StrictPlace};

/// Conditions over plain cells, then places inside nested columns that may not
/// be NULL; numbered in this order.
#[derive(Debug, Default)]
pub struct Checks {
    pub rows: RowChecks,
    strict: Vec<StrictPlace>,
}

impl Checks {
    /// Nothing is demanded of rows that are never written.
    pub fn new(job: &RowJob) -> Checks {
        match &job.metadata {
            Some(_) => Checks::default(),
            None => {
                let metadata = job.snapshot.metadata();
                // What cannot be checked refuses the plan; see `table_refusals`.
                Checks { rows: RowChecks::new(metadata).0, strict: metadata.schema.strict_inside() }
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        self.rows.checks.len() + self.strict.len()
    }

    /// What a check is called, and whether it is about NULL.
    pub fn demand(&self, number: usize) -> (String, bool) {
        match (self.rows.checks.get(number), number.checked_sub(self.rows.checks.len())) {
            (Some(check), _) => (format!("{} ({})", check.title, check.expression), false),
            (None, at) => {
                let place = at.and_then(|at| self.strict.get(at));
                (format!("NOT NULL of {}", place.map_or("a nested column", |p| p.path.as_str())), true)
            }
        }
    }

    /// The columns that a check reads.
    pub fn columns_of(&self, number: usize) -> Vec<usize> {
        match self.rows.checks.get(number) {
            Some(check) => check.columns(),
            None => {
                let at = number - self.rows.checks.len();
                self.strict.get(at).map(|place| place.column).into_iter().collect()
            }
        }
    }

    /// Per row of a batch with all of these columns of the table, the bits of the
    /// checks that do not hold; empty where nothing is demanded.
    pub fn broken(&self, batch: &RecordBatch, columns: &[usize]) -> Vec<u64> {
        if self.is_empty() {
            return Vec::new();
        }
        let place = |column: usize| columns.iter().position(|c| *c == column);
        let cell = |row: usize, column: usize| {
            place(column).map_or(Value::Null, |at| value_at(batch.column(at).as_ref(), row))
        };
        let mut bits: Vec<u64> = match self.rows.is_empty() {
            true => vec![0; batch.num_rows()],
            false => (0..batch.num_rows()).map(|row| self.rows.broken(&|column| cell(row, column))).collect(),
        };
        for (number, strict) in self.strict.iter().enumerate() {
            let Some(at) = place(strict.column) else { continue };
            let marks = null_inside(batch.column(at).as_ref(), &strict.steps);
            for (bits, broken) in bits.iter_mut().zip(marks) {
                *bits |= if broken { bit(self.rows.checks.len() + number) } else { 0 };
            }
        }
        bits
    }

    /// Holds rows to the checks that are about to be written.
    ///
    /// # Errors
    /// `ConstraintViolation`, `NotNullViolation`.
    pub fn hold(&self, batch: &RecordBatch, schema: &Schema) -> Result<()> {
        let columns: Vec<usize> = (0..schema.fields.len()).collect();
        let bits = self.broken(batch, &columns);
        let Some((row, first)) = bits.iter().enumerate().find(|(_, bits)| **bits != 0) else { return Ok(()) };
        let number = first.trailing_zeros() as usize;
        let (demand, is_null) = self.demand(number);
        let kind = if is_null { ErrorKind::NotNullViolation } else { ErrorKind::ConstraintViolation };
        let cells = self.text(number, schema, &|column| value_at(batch.column(column).as_ref(), row));
        Err(Error::new(kind, format!("a row to be written breaks {demand}: {cells}"))
            .hint("Nothing was committed. A row that only shares a file with changed ones can break it too."))
    }

    /// The cells that a check reads, for people.
    pub fn text(&self, number: usize, schema: &Schema, cell: &dyn Fn(usize) -> Value) -> String {
        let columns = self.columns_of(number);
        let parts = columns.iter().map(|c| format!("{}={}", schema.fields[*c].name, cell(*c)));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Per row, whether there is a NULL at the end of the steps. As Spark has it, a
/// struct that is NULL has NULL fields, but in a list or a map that is NULL
/// there is nothing.
fn null_inside(array: &dyn Array, steps: &[Step]) -> Vec<bool> {
    let rows = 0..array.len();
    let Some((step, rest)) = steps.split_first() else { return rows.map(|row| array.is_null(row)).collect() };
    let ranges = |offsets: &[i32], inner: Vec<bool>| -> Vec<bool> {
        let range = |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
        rows.clone().map(|row| array.is_valid(row) && inner[range(row)].contains(&true)).collect()
    };
    match (step, array.data_type()) {
        (Step::Field(at), DataType::Struct(_)) => {
            let inner = null_inside(array.as_struct().column(*at).as_ref(), rest);
            rows.map(|row| array.is_null(row) || inner[row]).collect()
        }
        (Step::Element, DataType::List(_)) => {
            let list = array.as_list::<i32>();
            ranges(list.value_offsets(), null_inside(list.values().as_ref(), rest))
        }
        (Step::Key, DataType::Map(..)) => {
            let map = array.as_map();
            ranges(map.value_offsets(), null_inside(map.keys().as_ref(), rest))
        }
        (Step::Value, DataType::Map(..)) => {
            let map = array.as_map();
            ranges(map.value_offsets(), null_inside(map.values().as_ref(), rest))
        }
        _ => vec![false; array.len()],
    }
}
