//! The metaData that a switch leaves behind: the log's own text, with other
//! partition columns and perhaps one more column.

use serde_json::{Map, Value as Json, json};
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::log::action::parse_metadata;
use crate::plan::relayout::{AddedColumn, RaisedProtocol};
use crate::table::{Metadata, Protocol};

const GENERATED: &str = "generatedColumns";
/// The writer version from which on generated columns are kept by every writer.
const GENERATED_WRITER: i64 = 4;
const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";

/// Only the partition columns change; where no column is added, the schema's
/// text stays as it is, byte by byte. `id` makes the physical names of added columns.
///
/// # Errors
/// `BadMetadata` for a schema that cannot be added to.
pub fn metadata(old: &Metadata, by: &[String], added: &[AddedColumn], id: &str) -> Result<Metadata> {
    let mut raw = old.raw.clone();
    for column in added {
        add_column(&mut raw, old, column, id)?;
    }
    raw.insert("partitionColumns".into(), json!(by));
    parse_metadata(raw)
}

fn add_column(raw: &mut Map<String, Json>, old: &Metadata, added: &AddedColumn, id: &str) -> Result<()> {
    let bad = || "the table's schema cannot be added to".to_owned();
    let text = raw.get("schemaString").and_then(Json::as_str).unwrap_or_default();
    let mut schema: Json = serde_json::from_str(text).context(ErrorKind::BadMetadata, bad)?;
    let mut metadata = Map::new();
    if added.generated {
        metadata.insert("delta.generationExpression".into(), json!(added.expression));
    }
    if old.column_mapping().is_some() {
        let ids = old.schema.fields.iter().filter_map(crate::table::Field::field_id);
        // Also of a column that was added just before.
        let known = raw.get("configuration").and_then(|c| c.get(MAX_COLUMN_ID)?.as_str()?.parse().ok());
        let next: i64 = known.into_iter().chain(ids).max().unwrap_or(0) + 1;
        metadata.insert("delta.columnMapping.id".into(), json!(next));
        // The same name in every attempt of one plan.
        let physical = Uuid::from_u128(xxh3_128(format!("{id}/{}", added.name).as_bytes()));
        metadata.insert("delta.columnMapping.physicalName".into(), json!(format!("col-{physical}")));
        let configuration = raw.entry("configuration").or_insert_with(|| json!({}));
        configuration[MAX_COLUMN_ID] = json!(next.to_string());
    }
    let field = json!({"name": added.name, "type": added.data_type, "nullable": true, "metadata": metadata});
    let fields = schema.get_mut("fields").and_then(Json::as_array_mut);
    fields.ok_or_else(|| Error::new(ErrorKind::BadMetadata, bad()))?.push(field);
    raw.insert("schemaString".into(), json!(schema.to_string()));
    Ok(())
}

/// What the protocol has to become for a generated column; `None` where it
/// covers one already.
pub fn raised(protocol: &Protocol, added: &[AddedColumn]) -> Option<RaisedProtocol> {
    added.iter().find(|column| column.generated)?;
    let writer_features = match &protocol.writer_features {
        Some(features) if features.iter().any(|f| f == GENERATED) => return None,
        Some(features) => Some(features.iter().cloned().chain([GENERATED.to_owned()]).collect()),
        None if protocol.min_writer >= GENERATED_WRITER => return None,
        None => None,
    };
    Some(RaisedProtocol {
        min_reader: protocol.min_reader,
        min_writer: protocol.min_writer.max(GENERATED_WRITER),
        reader_features: protocol.reader_features.clone(),
        writer_features,
    })
}

/// The protocol change in words, for people who have to confirm it.
pub fn raised_words(old: &Protocol, new: &RaisedProtocol) -> String {
    match &new.writer_features {
        Some(_) => format!("protocol: the table feature {GENERATED} is added; it never goes away again"),
        None => format!(
            "protocol: writer version {} → {}; older writers can no longer write the table, and it never goes back",
            old.min_writer, new.min_writer
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(mapped: bool) -> Metadata {
        let field = match mapped {
            true => json!({"delta.columnMapping.id": 4, "delta.columnMapping.physicalName": "col-a"}),
            false => json!({"comment": "a day"}),
        };
        let schema = json!({"type": "struct", "fields": [
            {"name": "a", "type": "date", "nullable": false, "metadata": field}]});
        let configuration = match mapped {
            true => json!({"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "7", "x.y": "z"}),
            false => json!({"x.y": "z"}),
        };
        // A blank in the schema's text shows whether it is kept as it is.
        let raw = json!({"id": "t", "name": "n", "schemaString": format!(" {schema}"), "partitionColumns": [],
            "configuration": configuration, "format": {"provider": "parquet"}});
        parse_metadata(raw.as_object().unwrap().clone()).unwrap()
    }

    fn month(generated: bool) -> AddedColumn {
        AddedColumn { name: "m".into(), expression: "month(a)".into(), data_type: "integer".into(), generated }
    }

    #[test]
    fn only_the_partition_columns_change() {
        let before = old(false);
        let after = metadata(&before, &["a".into()], &[], "id").unwrap();
        let mut expected = before.raw.clone();
        expected.insert("partitionColumns".into(), json!(["a"]));
        assert_eq!(after.raw, expected);
    }

    #[test]
    fn an_added_column_is_generated_and_mapped() {
        let after = metadata(&old(true), &["m".into()], &[month(true)], "id").unwrap();
        let field = after.schema.field("m").unwrap();
        assert_eq!(field.text("delta.generationExpression"), Some("month(a)"));
        assert_eq!((field.field_id(), after.property(MAX_COLUMN_ID)), (Some(8), Some("8")));
        assert!(field.physical_name().starts_with("col-"));
        assert_eq!(after.property("x.y"), Some("z"));
        let plain = metadata(&old(false), &["m".into()], &[month(false)], "id").unwrap();
        assert!(plain.schema.field("m").unwrap().metadata.is_empty());
        assert_eq!(plain.schema.fields[0].comment(), Some("a day"));
    }

    #[test]
    fn several_columns_have_ids_of_their_own() {
        let year = AddedColumn { name: "y".into(), expression: "year(a)".into(), ..month(true) };
        let after = metadata(&old(true), &["y".into(), "m".into()], &[year, month(true)], "id").unwrap();
        let ids: Vec<_> = after.schema.fields.iter().map(|f| (f.name.as_str(), f.field_id())).collect();
        assert_eq!(ids, [("a", Some(4)), ("y", Some(8)), ("m", Some(9))]);
        assert_eq!(after.property(MAX_COLUMN_ID), Some("9"));
        let physical = |name: &str| after.schema.field(name).unwrap().physical_name().to_owned();
        assert_ne!(physical("y"), physical("m"));
    }

    #[test]
    fn the_protocol_is_raised_only_where_it_must() {
        let protocol = |min_writer, features: Option<&[&str]>| Protocol {
            min_reader: if features.is_some() { 3 } else { 1 },
            min_writer,
            reader_features: features.map(|_| Vec::new()),
            writer_features: features.map(|f| f.iter().map(|f| (*f).to_owned()).collect()),
        };
        let raise = |protocol: &Protocol| raised(protocol, &[month(true)]);
        assert_eq!(raise(&protocol(2, None)).unwrap().min_writer, 4);
        assert_eq!(raise(&protocol(5, None)), None);
        let features = raise(&protocol(7, Some(&["appendOnly"]))).unwrap();
        assert_eq!(features.writer_features.unwrap(), ["appendOnly", "generatedColumns"]);
        assert_eq!((features.min_reader, features.min_writer), (3, 7));
        assert_eq!(raise(&protocol(7, Some(&["generatedColumns"]))), None);
        assert_eq!(raised(&protocol(2, None), &[month(false)]), None);
        assert_eq!(raised(&protocol(2, None), &[]), None);
    }
}
