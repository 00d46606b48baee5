//! Source batches in the table's types.

use deltalake::arrow::array::RecordBatch;
use deltalake::arrow::compute::{CastOptions, cast_with_options};
use deltalake::arrow::datatypes::SchemaRef;

use crate::error::{Context, Error, ErrorKind, Result};

/// Casts columns, which already are in the table's order, to `target`. The
/// types were matched before, so a value that does not fit is an error and
/// never a NULL.
///
/// # Errors
/// `LossyType`.
pub fn to_table_types(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch
        .columns()
        .iter()
        .zip(target.fields())
        .map(|(column, field)| {
            if column.data_type() == field.data_type() {
                return Ok(column.clone());
            }
            cast_with_options(column, field.data_type(), &strict).map_err(|e| {
                Error::new(
                    ErrorKind::LossyType,
                    format!("column {}: a value of the source does not fit the table", field.name()),
                )
                .because(e)
            })
        })
        .collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(target.clone(), columns)
        .context(ErrorKind::Internal, || "the source's columns do not line up with the table's".into())
}
