//! Delta's types and Arrow's.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake::arrow::datatypes::{
    DataType as ArrowDataType, Field as ArrowField, Fields, Schema as ArrowSchema, TimeUnit,
};
use deltalake::parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use crate::error::{Error, ErrorKind, Result};
use crate::table::{DataType, Field, PrimitiveType, Schema};

const MAX_PRECISION: u8 = 38;

/// Which of a column's two names an Arrow field gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Logical,
    /// Also carries the field ids that Parquet stores.
    Physical,
}

/// The Arrow type of a column's values, with logical names at every depth.
/// Every field is nullable but a map's key, so that one table has one type,
/// whichever file a batch came from.
pub fn arrow_type(t: &DataType) -> ArrowDataType {
    type_with(t, Names::Logical)
}

pub(super) fn field_with(field: &Field, names: Names) -> ArrowField {
    let data_type = type_with(&field.data_type, names);
    match (names, field.field_id()) {
        (Names::Logical, _) => ArrowField::new(&field.name, data_type, true),
        (Names::Physical, None) => ArrowField::new(field.physical_name(), data_type, true),
        (Names::Physical, Some(id)) => ArrowField::new(field.physical_name(), data_type, true)
            .with_metadata(HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())])),
    }
}

fn type_with(t: &DataType, names: Names) -> ArrowDataType {
    match t {
        DataType::Primitive(primitive) => primitive_type(primitive),
        DataType::Struct(schema) => ArrowDataType::Struct(schema.fields.iter().map(|f| field_with(f, names)).collect()),
        DataType::Array { element, .. } => {
            ArrowDataType::List(Arc::new(ArrowField::new("element", type_with(element, names), true)))
        }
        DataType::Map { key, value, .. } => {
            let entries = Fields::from(vec![
                ArrowField::new("key", type_with(key, names), false),
                ArrowField::new("value", type_with(value, names), true),
            ]);
            ArrowDataType::Map(Arc::new(ArrowField::new("key_value", ArrowDataType::Struct(entries), false)), false)
        }
        DataType::Variant => ArrowDataType::Struct(Fields::from(vec![
            ArrowField::new("metadata", ArrowDataType::Binary, true),
            ArrowField::new("value", ArrowDataType::Binary, true),
        ])),
    }
}

fn primitive_type(t: &PrimitiveType) -> ArrowDataType {
    match t {
        PrimitiveType::String => ArrowDataType::Utf8,
        PrimitiveType::Long => ArrowDataType::Int64,
        PrimitiveType::Integer => ArrowDataType::Int32,
        PrimitiveType::Short => ArrowDataType::Int16,
        PrimitiveType::Byte => ArrowDataType::Int8,
        PrimitiveType::Float => ArrowDataType::Float32,
        PrimitiveType::Double => ArrowDataType::Float64,
        // Delta allows scales up to 38, so the cast to i8 cannot wrap.
        PrimitiveType::Decimal { precision, scale } => ArrowDataType::Decimal128(*precision, *scale as i8),
        PrimitiveType::Boolean => ArrowDataType::Boolean,
        PrimitiveType::Binary => ArrowDataType::Binary,
        PrimitiveType::Date => ArrowDataType::Date32,
        PrimitiveType::Timestamp => ArrowDataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        PrimitiveType::TimestampNtz => ArrowDataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// The Delta schema that holds everything an Arrow schema can.
///
/// # Errors
/// `UnsupportedType`, naming the column.
pub fn schema_from_arrow(schema: &ArrowSchema) -> Result<Schema> {
    fields_from_arrow(schema.fields(), "")
}

fn fields_from_arrow(fields: &Fields, prefix: &str) -> Result<Schema> {
    let fields = fields
        .iter()
        .map(|field| {
            Ok(Field {
                name: field.name().clone(),
                data_type: type_from_arrow(field.data_type(), &format!("{prefix}{}", field.name()))?,
                nullable: field.is_nullable(),
                metadata: serde_json::Map::new(),
            })
        })
        .collect::<Result<_>>()?;
    Ok(Schema { fields })
}

fn type_from_arrow(t: &ArrowDataType, path: &str) -> Result<DataType> {
    use ArrowDataType as A;
    use PrimitiveType as P;
    let primitive = match t {
        A::Utf8 | A::LargeUtf8 | A::Utf8View => P::String,
        A::Binary | A::LargeBinary | A::BinaryView | A::FixedSizeBinary(_) => P::Binary,
        A::Boolean => P::Boolean,
        A::Int8 => P::Byte,
        A::Int16 | A::UInt8 => P::Short,
        A::Int32 | A::UInt16 => P::Integer,
        A::Int64 | A::UInt32 => P::Long,
        A::UInt64 => P::Decimal { precision: 20, scale: 0 },
        A::Float16 | A::Float32 => P::Float,
        A::Float64 => P::Double,
        A::Date32 | A::Date64 => P::Date,
        A::Timestamp(_, Some(_)) => P::Timestamp,
        A::Timestamp(_, None) => P::TimestampNtz,
        A::Decimal32(p, s) | A::Decimal64(p, s) | A::Decimal128(p, s) | A::Decimal256(p, s) => match u8::try_from(*s) {
            Ok(scale) if *p <= MAX_PRECISION && scale <= *p => P::Decimal { precision: *p, scale },
            _ => return Err(unsupported(t, path)),
        },
        A::Dictionary(_, value) => return type_from_arrow(value, path),
        A::RunEndEncoded(_, values) => return type_from_arrow(values.data_type(), path),
        A::Struct(fields) => return Ok(DataType::Struct(fields_from_arrow(fields, &format!("{path}."))?)),
        A::List(element) | A::LargeList(element) | A::FixedSizeList(element, _) => {
            return Ok(DataType::Array {
                element: Box::new(type_from_arrow(element.data_type(), &format!("{path}.element"))?),
                contains_null: element.is_nullable(),
            });
        }
        A::Map(entries, _) => {
            let A::Struct(pair) = entries.data_type() else { return Err(unsupported(t, path)) };
            let [key, value] = pair.as_ref() else { return Err(unsupported(t, path)) };
            return Ok(DataType::Map {
                key: Box::new(type_from_arrow(key.data_type(), &format!("{path}.key"))?),
                value: Box::new(type_from_arrow(value.data_type(), &format!("{path}.value"))?),
                value_contains_null: value.is_nullable(),
            });
        }
        _ => return Err(unsupported(t, path)),
    };
    Ok(DataType::Primitive(primitive))
}

fn unsupported(t: &ArrowDataType, path: &str) -> Error {
    Error::new(ErrorKind::UnsupportedType, format!("column '{path}' has the type {t}, which a Delta table cannot hold"))
        .hint("Cast the column where the data is made, or leave it out.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_types_widen_to_what_delta_has() {
        let dictionary = ArrowDataType::Dictionary(Box::new(ArrowDataType::Int8), Box::new(ArrowDataType::LargeUtf8));
        for (arrow, delta) in [
            (dictionary, "string"),
            (ArrowDataType::UInt32, "long"),
            (ArrowDataType::UInt64, "decimal(20,0)"),
            (ArrowDataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())), "timestamp"),
            (ArrowDataType::Timestamp(TimeUnit::Second, None), "timestamp_ntz"),
            (ArrowDataType::Decimal256(30, 4), "decimal(30,4)"),
        ] {
            let schema = ArrowSchema::new(vec![ArrowField::new("c", arrow, true)]);
            assert_eq!(schema_from_arrow(&schema).unwrap().fields[0].data_type.to_string(), delta);
        }
    }

    #[test]
    fn a_type_that_delta_lacks_names_its_column() {
        let inner = Fields::from(vec![ArrowField::new("t", ArrowDataType::Time64(TimeUnit::Nanosecond), true)]);
        let schema = ArrowSchema::new(vec![ArrowField::new("s", ArrowDataType::Struct(inner), true)]);
        let error = schema_from_arrow(&schema).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnsupportedType);
        assert!(error.message.contains("'s.t'"), "{}", error.message);
        let wide = ArrowSchema::new(vec![ArrowField::new("d", ArrowDataType::Decimal256(50, 4), true)]);
        assert_eq!(schema_from_arrow(&wide).unwrap_err().kind, ErrorKind::UnsupportedType);
    }
}
