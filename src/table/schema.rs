//! Delta's schema: types, fields, their metadata (protocol, "Schema Serialization Format").

use std::fmt;

use serde_json::{Map, Value as Json};

use crate::error::{Error, ErrorKind, Result};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    String,
    Long,
    Integer,
    Short,
    Byte,
    Float,
    Double,
    Decimal { precision: u8, scale: u8 },
    Boolean,
    Binary,
    Date,
    Timestamp,
    TimestampNtz,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DataType {
    Primitive(PrimitiveType),
    Struct(Schema),
    Array { element: Box<DataType>, contains_null: bool },
    Map { key: Box<DataType>, value: Box<DataType>, value_contains_null: bool },
    Variant,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub data_type: DataType,
    pub nullable: bool,
    pub metadata: Map<String, Json>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    pub fields: Vec<Field>,
}

/// A place inside a nested column that may not be NULL where what is around it
/// is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictPlace {
    /// The index of the column.
    pub column: usize,
    /// `column.field.element`, for people.
    pub path: String,
    pub steps: Vec<Step>,
}

/// One step into a nested value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Field(usize),
    Element,
    Key,
    Value,
}

impl Schema {
    /// Parses a `schemaString`.
    ///
    /// # Errors
    /// `BadMetadata` for a text that is not a schema, `UnsupportedType` for a
    /// type that this program does not know.
    pub fn parse(text: &str) -> Result<Schema> {
        let json: Json = serde_json::from_str(text)
            .map_err(|e| Error::new(ErrorKind::BadMetadata, format!("the table's schemaString is not JSON: {e}")))?;
        match parse_type(&json)? {
            DataType::Struct(schema) => Ok(schema),
            _ => Err(bad("the table's schemaString is not a struct")),
        }
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }

    /// Finds a field as SQL engines do: exactly, else without regard to case.
    pub fn find(&self, name: &str) -> Option<&Field> {
        self.field(name).or_else(|| self.fields.iter().find(|f| f.name.eq_ignore_ascii_case(name)))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|f| f.name.as_str())
    }

    /// Every place inside nested columns that may not be NULL, with its path and
    /// the way to it from the column.
    pub fn strict_inside(&self) -> Vec<StrictPlace> {
        fn inside(place: &StrictPlace, t: &DataType, found: &mut Vec<StrictPlace>) {
            let mut go = |name: &str, step: Step, nullable: bool, t: &DataType| {
                let mut steps = place.steps.clone();
                steps.push(step);
                let next = StrictPlace { column: place.column, path: format!("{}.{name}", place.path), steps };
                if !nullable {
                    found.push(next.clone());
                }
                inside(&next, t, found);
            };
            match t {
                DataType::Struct(schema) => {
                    for (at, f) in schema.fields.iter().enumerate() {
                        go(&f.name, Step::Field(at), f.nullable, &f.data_type);
                    }
                }
                DataType::Array { element, contains_null } => go("element", Step::Element, *contains_null, element),
                DataType::Map { key, value, value_contains_null } => {
                    go("key", Step::Key, true, key);
                    go("value", Step::Value, *value_contains_null, value);
                }
                DataType::Primitive(_) | DataType::Variant => {}
            }
        }
        let mut found = Vec::new();
        for (column, field) in self.fields.iter().enumerate() {
            let place = StrictPlace { column, path: field.name.clone(), steps: Vec::new() };
            inside(&place, &field.data_type, &mut found);
        }
        found
    }

    /// Every field at any depth, with its dotted path.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&str, &'a Field)) {
        fn inside<'a>(path: &str, t: &'a DataType, visit: &mut impl FnMut(&str, &'a Field)) {
            match t {
                DataType::Struct(schema) => {
                    for field in &schema.fields {
                        let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
                        visit(&path, field);
                        inside(&path, &field.data_type, visit);
                    }
                }
                DataType::Array { element, .. } => inside(&format!("{path}.element"), element, visit),
                DataType::Map { key, value, .. } => {
                    inside(&format!("{path}.key"), key, visit);
                    inside(&format!("{path}.value"), value, visit);
                }
                DataType::Primitive(_) | DataType::Variant => {}
            }
        }
        for field in &self.fields {
            visit(&field.name, field);
            inside(&field.name, &field.data_type, visit);
        }
    }
}

impl Field {
    /// The column's name inside data files and in `partitionValues`
    /// (protocol, "Column Mapping"); the logical name where none is mapped.
    pub fn physical_name(&self) -> &str {
        self.text("delta.columnMapping.physicalName").unwrap_or(&self.name)
    }

    pub fn field_id(&self) -> Option<i64> {
        self.metadata.get("delta.columnMapping.id").and_then(Json::as_i64)
    }

    pub fn comment(&self) -> Option<&str> {
        self.text("comment")
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Json::as_str)
    }

    pub fn primitive(&self) -> Option<&PrimitiveType> {
        match &self.data_type {
            DataType::Primitive(p) => Some(p),
            _ => None,
        }
    }
}

impl DataType {
    pub fn is_nested(&self) -> bool {
        !matches!(self, DataType::Primitive(_))
    }

    /// Decimal and float columns: what a sum is taken of by default.
    pub fn is_measure(&self) -> bool {
        matches!(
            self,
            DataType::Primitive(PrimitiveType::Decimal { .. } | PrimitiveType::Double | PrimitiveType::Float)
        )
    }

    /// Whether this type or a type inside it satisfies `test`.
    pub fn contains(&self, test: &impl Fn(&DataType) -> bool) -> bool {
        test(self)
            || match self {
                DataType::Struct(schema) => schema.fields.iter().any(|f| f.data_type.contains(test)),
                DataType::Array { element, .. } => element.contains(test),
                DataType::Map { key, value, .. } => key.contains(test) || value.contains(test),
                _ => false,
            }
    }
}

impl fmt::Display for PrimitiveType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            PrimitiveType::String => "string",
            PrimitiveType::Long => "long",
            PrimitiveType::Integer => "integer",
            PrimitiveType::Short => "short",
            PrimitiveType::Byte => "byte",
            PrimitiveType::Float => "float",
            PrimitiveType::Double => "double",
            PrimitiveType::Boolean => "boolean",
            PrimitiveType::Binary => "binary",
            PrimitiveType::Date => "date",
            PrimitiveType::Timestamp => "timestamp",
            PrimitiveType::TimestampNtz => "timestamp_ntz",
            PrimitiveType::Decimal { precision, scale } => return write!(f, "decimal({precision},{scale})"),
        };
        f.write_str(name)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Primitive(p) => p.fmt(f),
            DataType::Variant => f.write_str("variant"),
            DataType::Array { element, .. } => write!(f, "array<{element}>"),
            DataType::Map { key, value, .. } => write!(f, "map<{key},{value}>"),
            DataType::Struct(schema) => {
                f.write_str("struct<")?;
                for (i, field) in schema.fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{}:{}", field.name, field.data_type)?;
                }
                f.write_str(">")
            }
        }
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadMetadata, message)
        .hint("The table's metaData action is damaged; look at its last schema change in _delta_log.")
}

fn parse_type(json: &Json) -> Result<DataType> {
    match json {
        Json::String(name) => parse_primitive(name),
        Json::Object(object) => {
            let part =
                |key: &str| object.get(key).ok_or_else(|| bad(format!("a type in the table's schema lacks '{key}'")));
            match part("type")?.as_str() {
                Some("struct") => {
                    let fields =
                        part("fields")?.as_array().ok_or_else(|| bad("'fields' in the table's schema is no list"))?;
                    Ok(DataType::Struct(Schema { fields: fields.iter().map(parse_field).collect::<Result<_>>()? }))
                }
                Some("array") => Ok(DataType::Array {
                    element: Box::new(parse_type(part("elementType")?)?),
                    contains_null: object.get("containsNull").and_then(Json::as_bool).unwrap_or(true),
                }),
                Some("map") => Ok(DataType::Map {
                    key: Box::new(parse_type(part("keyType")?)?),
                    value: Box::new(parse_type(part("valueType")?)?),
                    value_contains_null: object.get("valueContainsNull").and_then(Json::as_bool).unwrap_or(true),
                }),
                _ => Err(unsupported(&json.to_string())),
            }
        }
        other => Err(unsupported(&other.to_string())),
    }
}

fn parse_field(json: &Json) -> Result<Field> {
    let name = json
        .get("name")
        .and_then(Json::as_str)
        .ok_or_else(|| bad("a field in the table's schema has no name"))?
        .to_owned();
    let kind = json.get("type").ok_or_else(|| bad(format!("column '{name}' has no type")))?;
    Ok(Field {
        data_type: parse_type(kind)?,
        nullable: json.get("nullable").and_then(Json::as_bool).unwrap_or(true),
        metadata: json.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default(),
        name,
    })
}

fn parse_primitive(name: &str) -> Result<DataType> {
    use PrimitiveType::*;
    Ok(DataType::Primitive(match name {
        "string" => String,
        "long" | "bigint" => Long,
        "integer" | "int" => Integer,
        "short" | "smallint" => Short,
        "byte" | "tinyint" => Byte,
        "float" => Float,
        "double" => Double,
        "boolean" => Boolean,
        "binary" => Binary,
        "date" => Date,
        "timestamp" => Timestamp,
        "timestamp_ntz" => TimestampNtz,
        "decimal" => Decimal { precision: 10, scale: 0 },
        "variant" => return Ok(DataType::Variant),
        other => {
            match other.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')')).and_then(precision_and_scale) {
                Some((precision, scale)) => Decimal { precision, scale },
                None => return Err(unsupported(other)),
            }
        }
    }))
}

fn precision_and_scale(text: &str) -> Option<(u8, u8)> {
    let (precision, scale) = text.split_once(',')?;
    let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    ((1..=38).contains(&precision) && scale <= precision).then_some((precision, scale))
}

fn unsupported(name: &str) -> Error {
    Error::new(
        ErrorKind::UnsupportedType,
        format!("the table has a column of type '{name}', which partwise does not know"),
    )
    .hint("The table can be read with the engine that wrote it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_nested_types_and_keeps_field_metadata() {
        let text = r#"{"type":"struct","fields":[
            {"name":"a","type":"decimal(12,2)","nullable":false,"metadata":{"comment":"net"}},
            {"name":"b","type":{"type":"array","elementType":{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true},"containsNull":false},"nullable":true,"metadata":{}}]}"#;
        let schema = Schema::parse(text).unwrap();
        assert_eq!(schema.fields[0].comment(), Some("net"));
        assert_eq!(schema.fields[0].data_type.to_string(), "decimal(12,2)");
        assert_eq!(schema.fields[1].data_type.to_string(), "array<map<string,integer>>");
        assert_eq!(schema.find("A").map(|f| f.name.as_str()), Some("a"));
    }

    #[test]
    fn an_unknown_type_is_named() {
        let text =
            r#"{"type":"struct","fields":[{"name":"g","type":"geometry(OGC:CRS84)","nullable":true,"metadata":{}}]}"#;
        let error = Schema::parse(text).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnsupportedType);
        assert!(error.message.contains("geometry(OGC:CRS84)"));
        assert_eq!(Schema::parse("{").unwrap_err().kind, ErrorKind::BadMetadata);
    }
}
