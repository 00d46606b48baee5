//! How a table's columns lie in its data files.

use std::sync::Arc;

use deltalake::arrow::datatypes::{Fields, Schema as ArrowSchema, SchemaRef};
use deltalake::parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::types::{Names, field_with};
use crate::error::{Error, ErrorKind, Result};
use crate::table::{Field, Metadata, Schema};

/// How a column is found in a data file (protocol, "Column Mapping").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapping {
    /// By its logical name.
    Plain,
    /// By its physical name.
    Name,
    /// By its field id, else by its physical name.
    Id,
}

/// The columns of a table, which of them are partition columns, and what they
/// are called in data files.
#[derive(Debug, Clone)]
pub struct TableLayout {
    pub schema: Schema,
    /// Logical names, in partitioning order.
    pub partition_columns: Vec<String>,
    mapping: Mapping,
    arrow: SchemaRef,
    partition_indexes: Vec<usize>,
}

impl TableLayout {
    /// `mapped`: the table has column mapping, so files use physical names.
    ///
    /// # Errors
    /// `BadPartitionColumn` where the schema lacks a partition column.
    pub fn new(schema: Schema, partition_columns: Vec<String>, mapped: bool) -> Result<TableLayout> {
        Self::with_mapping(schema, partition_columns, if mapped { Mapping::Name } else { Mapping::Plain })
    }

    /// # Errors
    /// `BadPartitionColumn` as above, `BadMetadata` for a column mapping mode
    /// that the protocol does not know.
    pub fn from_metadata(metadata: &Metadata) -> Result<TableLayout> {
        let mapping = match metadata.column_mapping() {
            None => Mapping::Plain,
            Some("name") => Mapping::Name,
            Some("id") => Mapping::Id,
            Some(other) => {
                return Err(Error::new(
                    ErrorKind::BadMetadata,
                    format!("the table's delta.columnMapping.mode is '{other}'; the protocol knows none, name and id"),
                ));
            }
        };
        Self::with_mapping(metadata.schema.clone(), metadata.partition_columns.clone(), mapping)
    }

    fn with_mapping(schema: Schema, partition_columns: Vec<String>, mapping: Mapping) -> Result<TableLayout> {
        let partition_indexes = partition_columns
            .iter()
            .map(|name| {
                schema.index_of(name).ok_or_else(|| {
                    Error::new(
                        ErrorKind::BadPartitionColumn,
                        format!("the partition column '{name}' is not in the table's schema"),
                    )
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let fields: Fields = schema.fields.iter().map(|f| field_with(f, Names::Logical)).collect();
        Ok(TableLayout {
            schema,
            partition_columns,
            mapping,
            arrow: Arc::new(ArrowSchema::new(fields)),
            partition_indexes,
        })
    }

    /// Logical names, all columns in schema order, partition columns included.
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    /// Schema indexes of the partition columns, in partitioning order.
    pub fn partition_indexes(&self) -> &[usize] {
        &self.partition_indexes
    }

    /// Schema indexes of the columns that data files hold.
    pub(super) fn data_indexes(&self) -> Vec<usize> {
        (0..self.schema.fields.len()).filter(|index| !self.partition_indexes.contains(index)).collect()
    }

    /// The Arrow schema of a data file: physical names, partition columns left out.
    pub(super) fn file_schema(&self) -> SchemaRef {
        let names = if self.mapping == Mapping::Plain { Names::Logical } else { Names::Physical };
        let fields: Fields =
            self.data_indexes().into_iter().map(|index| field_with(&self.schema.fields[index], names)).collect();
        Arc::new(ArrowSchema::new(fields))
    }

    pub(super) fn mapping(&self) -> Mapping {
        self.mapping
    }
}

impl Mapping {
    /// What files call the column.
    pub(super) fn file_name(self, field: &Field) -> &str {
        if self == Mapping::Plain { &field.name } else { field.physical_name() }
    }

    /// Finds a column among a file's fields: by id in `id` mode, then by its
    /// exact name, then without regard to case. `None` where the file lacks it.
    ///
    /// # Errors
    /// What is wrong, where several fields differ from the name in case alone.
    pub(super) fn find(self, field: &Field, candidates: &Fields) -> Result<Option<usize>, String> {
        if self == Mapping::Id
            && let Some(id) = field.field_id()
        {
            let id = id.to_string();
            if let Some(at) = candidates.iter().position(|c| c.metadata().get(PARQUET_FIELD_ID_META_KEY) == Some(&id)) {
                return Ok(Some(at));
            }
        }
        let name = self.file_name(field);
        if let Some(at) = candidates.iter().position(|c| c.name() == name) {
            return Ok(Some(at));
        }
        let lower = name.to_lowercase();
        let mut loose = candidates.iter().enumerate().filter(|(_, c)| c.name().to_lowercase() == lower);
        match (loose.next(), loose.next()) {
            (Some((_, first)), Some((_, second))) => {
                Err(format!("the file has both '{}' and '{}'", first.name(), second.name()))
            }
            (found, _) => Ok(found.map(|(at, _)| at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use deltalake::arrow::datatypes::{DataType, Field as ArrowField};

    use super::*;
    use crate::table::{DataType as DeltaType, PrimitiveType};

    fn field(name: &str) -> Field {
        Field {
            name: name.into(),
            data_type: DeltaType::Primitive(PrimitiveType::Long),
            nullable: true,
            metadata: serde_json::Map::new(),
        }
    }

    #[test]
    fn columns_are_found_exactly_before_loosely() {
        let candidates =
            |names: &[&str]| -> Fields { names.iter().map(|n| ArrowField::new(*n, DataType::Int64, true)).collect() };
        let find = |name: &str, names: &[&str]| Mapping::Plain.find(&field(name), &candidates(names));
        assert_eq!(find("Id", &["id", "Id"]), Ok(Some(1)));
        assert_eq!(find("Id", &["x", "ID"]), Ok(Some(1)));
        assert_eq!(find("Id", &["x"]), Ok(None));
        assert!(find("Id", &["ID", "id"]).is_err());
    }

    #[test]
    fn a_partition_column_must_exist() {
        let schema = Schema { fields: vec![field("a"), field("b")] };
        let layout = TableLayout::new(schema.clone(), vec!["b".into()], false).unwrap();
        assert_eq!(layout.partition_indexes(), &[1]);
        assert_eq!(layout.file_schema().fields().len(), 1);
        let error = TableLayout::new(schema, vec!["c".into()], false).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadPartitionColumn);
    }
}
