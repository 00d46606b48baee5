//! How the columns of two versions of a table go together.

use serde::Serialize;
use serde_json::Value as Json;

use crate::error::{Error, ErrorKind, Result};
use crate::source::common_type;
use crate::table::file::DataFile;
use crate::table::{Field, Metadata, PartitionTuple, Schema, Value};

/// A column that is not the same in both versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaChange {
    pub column: String,
    pub change: Change,
    /// The type, or for a renamed column the name, in the first version.
    pub from: Option<String>,
    pub to: Option<String>,
    /// Whether its values are compared all the same.
    pub compared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    Added,
    Dropped,
    Renamed,
    Retyped,
}

impl Change {
    pub fn as_str(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Dropped => "dropped",
            Change::Renamed => "renamed",
            Change::Retyped => "retyped",
        }
    }
}

const MODE: &str = "delta.columnMapping.mode";
const PHYSICAL: &str = "delta.columnMapping.physicalName";

/// The columns that both versions have.
#[derive(Debug, Clone)]
pub struct Columns {
    /// As the first version's files hold them, under the second version's
    /// names and in a type that holds the values of both.
    pub metadata: Metadata,
    /// For each of them its index in the second version's schema.
    pub places: Vec<Option<usize>>,
    pub changes: Vec<SchemaChange>,
    /// The partition columns are not the same.
    pub repartitioned: bool,
    /// A column that one file does not mean the same by in both versions.
    pub stored_apart: Option<String>,
}

impl Columns {
    pub fn new(from: &Metadata, to: &Metadata) -> Columns {
        let mut columns = Columns {
            metadata: Metadata { schema: Schema { fields: Vec::new() }, partition_columns: Vec::new(), ..from.clone() },
            places: Vec::new(),
            changes: Vec::new(),
            repartitioned: false,
            stored_apart: None,
        };
        if from.column_mapping().is_none() {
            // Files are read under the second version's names.
            columns.metadata.configuration.retain(|(key, _)| key != MODE);
            columns.metadata.configuration.push((MODE.into(), "name".into()));
        }
        let mut taken: Vec<usize> = Vec::new();
        let mut names: Vec<(&str, &str)> = Vec::new();
        for old in &from.schema.fields {
            // A column keeps its stored name when it is renamed.
            let stored = to.schema.fields.iter().position(|new| new.physical_name() == old.physical_name());
            let place = stored.or_else(|| to.schema.find(&old.name).and_then(|f| to.schema.index_of(&f.name)));
            match place.filter(|at| !taken.contains(at)) {
                Some(at) => {
                    taken.push(at);
                    names.extend(columns.pair(old, &to.schema.fields[at], at));
                }
                None => columns.changes.push(SchemaChange {
                    column: old.name.clone(),
                    change: Change::Dropped,
                    from: Some(old.data_type.to_string()),
                    to: None,
                    compared: false,
                }),
            }
        }
        for (_, new) in to.schema.fields.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
            columns.changes.push(SchemaChange {
                column: new.name.clone(),
                change: Change::Added,
                from: None,
                to: Some(new.data_type.to_string()),
                compared: false,
            });
        }
        let new_name = |old: &String| Some(names.iter().find(|(name, _)| name == old)?.1.to_owned());
        let partition: Vec<Option<String>> = from.partition_columns.iter().map(new_name).collect();
        columns.repartitioned = !partition.iter().map(Option::as_ref).eq(to.partition_columns.iter().map(Some));
        columns.metadata.partition_columns = partition.into_iter().flatten().collect();
        columns
    }

    /// Takes a column that both have; the names if its values can be compared.
    fn pair<'a>(&mut self, old: &'a Field, new: &'a Field, at: usize) -> Option<(&'a str, &'a str)> {
        if old.name != new.name {
            self.changes.push(SchemaChange {
                column: new.name.clone(),
                change: Change::Renamed,
                from: Some(old.name.clone()),
                to: Some(new.name.clone()),
                compared: true,
            });
        }
        let common = common_type(&old.data_type, &new.data_type);
        if old.data_type.to_string() != new.data_type.to_string() || common.is_none() {
            self.changes.push(SchemaChange {
                column: new.name.clone(),
                change: Change::Retyped,
                from: Some(old.data_type.to_string()),
                to: Some(new.data_type.to_string()),
                compared: common.is_some(),
            });
        }
        let data_type = common?;
        if stored_names(old) != stored_names(new) {
            self.stored_apart.get_or_insert_with(|| new.name.clone());
        }
        let mut metadata = old.metadata.clone();
        metadata.insert(PHYSICAL.into(), Json::String(old.physical_name().to_owned()));
        self.metadata.schema.fields.push(Field { name: new.name.clone(), data_type, nullable: true, metadata });
        self.places.push(Some(at));
        Some((&old.name, &new.name))
    }

    pub fn shares_files(&self) -> bool {
        !self.repartitioned && self.stored_apart.is_none()
    }

    /// A file's partition in the columns and types that are compared. `of`: the
    /// metadata of its version, where that is the second one.
    ///
    /// # Errors
    /// `BadPartitionValue`.
    pub fn tuple(&self, file: &DataFile, of: Option<&Metadata>) -> Result<PartitionTuple> {
        let fields = self.metadata.partition_fields();
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            let stored = of.and_then(|metadata| metadata.schema.field(&field.name)).unwrap_or(field).physical_name();
            let raw = |wanted: &str| file.raw_partition_values.iter().find(|(name, _)| name == wanted);
            let text = raw(stored).or_else(|| raw(&field.name)).and_then(|(_, text)| text.as_deref());
            let value = field.primitive().and_then(|data_type| Value::parse_partition(text, data_type));
            values.push(value.ok_or_else(|| {
                Error::new(
                    ErrorKind::BadPartitionValue,
                    format!("'{}' is no {} for {}", text.unwrap_or_default(), field.data_type, field.name),
                )
            })?);
        }
        Ok(PartitionTuple(values))
    }
}

/// What files call a column and everything inside it.
fn stored_names(field: &Field) -> Vec<String> {
    let mut names = Vec::new();
    Schema { fields: vec![field.clone()] }.walk(&mut |_, inner| names.push(inner.physical_name().to_owned()));
    names
}
