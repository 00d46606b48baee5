//! Source columns in the table's types.

use deltalake::arrow::array::ArrayRef;
use deltalake::arrow::compute::{CastOptions, cast_with_options};
use deltalake::arrow::datatypes::Field;

use crate::error::{Error, ErrorKind, Result};

/// Casts a column to a column of the table. The types were matched before, so
/// a value that does not fit is an error and never a NULL.
///
/// # Errors
/// `LossyType`.
pub fn cast_column(column: &ArrayRef, target: &Field) -> Result<ArrayRef> {
    if column.data_type() == target.data_type() {
        return Ok(column.clone());
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, target.data_type(), &strict).map_err(|e| {
        Error::new(
            ErrorKind::LossyType,
            format!("column {}: a value of the source does not fit the table", target.name()),
        )
        .because(e)
    })
}
