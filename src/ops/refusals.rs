//! What no override helps against, found before anything is read or written.

use super::browse::OpenTable;
use crate::error::{Error, ErrorKind};
use crate::plan::{Refusal, Spec};
use crate::table::DataType;
use crate::table::schema::PrimitiveType;

/// What of the table stands in the way of this kind of write.
pub fn table_refusals(table: &OpenTable, spec: &Spec) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let mut say = |error: Error| refusals.push(Refusal { kind: error.kind, message: error.message, hint: error.hint });
    if let Err(error) = table.protocol().check_write(table.metadata(), spec.kind().write_kind()) {
        say(error);
    }
    let schema = &table.metadata().schema;
    for field in table.metadata().partition_fields() {
        if matches!(field.data_type, DataType::Primitive(PrimitiveType::Binary)) {
            say(Error::new(ErrorKind::UnsupportedFeature, format!("the partition column {} is binary", field.name))
                .hint("Binary partition values have no safe text in the log."));
        }
    }
    if spec.rows().is_some()
        && let Some(path) = schema.strict_inside()
    {
        say(Error::new(
            ErrorKind::UnsupportedFeature,
            format!("{path} may not be NULL, which is not checked inside nested columns yet"),
        )
        .hint("Nothing was written. Run the write with the engine that made the table."));
    }
    for name in spec.rows().map_or(&[][..], |r| &r.key) {
        if let Some(field) = schema.field(name).filter(|f| f.data_type.is_nested()) {
            say(Error::new(ErrorKind::UnsupportedType, format!("the key column {name} is a {}", field.data_type))
                .hint("A key is made of plain columns."));
        }
    }
    refusals
}
