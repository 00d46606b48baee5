//! Column names of a job, resolved to indexes of the table's schema.

use super::side::{MeasureRows, Roles};
use crate::engine::RowJob;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::TableLayout;

/// # Errors
/// `ColumnMissing` for a name that the table does not have, `UnsupportedType`
/// for a measure that is no number.
pub fn resolve(job: &RowJob, layout: &TableLayout) -> Result<Roles> {
    let index = |name: &String| {
        layout.schema.index_of(name).ok_or_else(|| {
            let names: Vec<&str> = layout.schema.names().collect();
            Error::new(ErrorKind::ColumnMissing, format!("the table has no column {name}"))
                .hint(format!("It has {}.", names.join(", ")))
        })
    };
    let all = |names: &[String]| names.iter().map(index).collect::<Result<Vec<_>>>();
    let measures = all(&job.measures)?;
    let arrow = layout.arrow_schema();
    for column in &measures {
        if MeasureRows::for_type(arrow.field(*column).data_type()).is_none() {
            let field = &layout.schema.fields[*column];
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("the measure {} is a {} and cannot be summed", field.name, field.data_type),
            ));
        }
    }
    let grain: Vec<String> = job.grain.iter().map(|(name, _)| name.clone()).collect();
    Ok(Roles {
        columns: layout.schema.fields.len(),
        key: all(&job.key)?,
        partition: layout.partition_indexes().to_vec(),
        ignore: all(&job.ignore)?,
        groups: all(&grain)?,
        measures,
        seed: job.seed,
    })
}
