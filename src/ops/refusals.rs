//! What no override helps against, found before anything is read or written.

use super::browse::OpenTable;
use crate::error::{Error, ErrorKind};
use crate::plan::clauses::KeyPair;
use crate::plan::{Refusal, Spec};
use crate::predicate::RowChecks;
use crate::table::schema::PrimitiveType;
use crate::table::{DataType, Schema};

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
    if spec.rows().is_some() {
        RowChecks::new(table.metadata()).1.into_iter().for_each(&mut say);
    }
    for name in spec.rows().map_or(&[][..], |r| &r.key) {
        if let Some(field) = schema.field(name).filter(|f| f.data_type.is_nested()) {
            say(Error::new(ErrorKind::UnsupportedType, format!("the key column {name} is a {}", field.data_type))
                .hint("A key is made of plain columns."));
        }
    }
    refusals
}

/// Key columns that have one name on each side: their types must be one type.
pub fn key_types(table: &Schema, delivered: &Schema, pairs: &[KeyPair]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.target != pair.source) {
        let (Some(target), Some(source)) = (table.find(&pair.target), delivered.find(&pair.source)) else { continue };
        if target.data_type != source.data_type {
            refusals.push(Refusal {
                kind: ErrorKind::KeyTypeMismatch,
                message: format!(
                    "key column {}: the source's {} is a {}, the table's a {}; a cast could change or lose values",
                    pair.target, pair.source, source.data_type, target.data_type
                ),
                hint: Some("Deliver the column in the table's type.".into()),
            });
        }
    }
    refusals
}
