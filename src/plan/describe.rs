//! What DESCRIBE EXTENDED says of a table, before and after a plan, side by side.

use serde::Serialize;

use crate::table::{Field, Metadata, Protocol};

const CONSTRAINT: &str = "delta.constraints.";

/// One line of both descriptions; `None` where that side has no such line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DescribeRow {
    /// `column a`, `partition columns`, `property delta.appendOnly`, …
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl DescribeRow {
    pub fn differs(&self) -> bool {
        self.before != self.after
    }
}

/// Columns first, in the table's order, those that come behind them; then the
/// table itself, its properties, constraints and protocol.
pub fn describe(location: &str, before: (&Metadata, &Protocol), after: (&Metadata, &Protocol)) -> Vec<DescribeRow> {
    let (old, new) = (lines(location, before), lines(location, after));
    let of =
        |lines: &[(String, String)], name: &str| lines.iter().find(|(n, _)| n == name).map(|(_, text)| text.clone());
    let mut rows: Vec<DescribeRow> = Vec::with_capacity(old.len());
    for (name, text) in &old {
        rows.push(DescribeRow { name: name.clone(), before: Some(text.clone()), after: of(&new, name) });
    }
    // What is new stands where the new description has it.
    for (at, (name, text)) in new.iter().enumerate() {
        if rows.iter().all(|row| row.name != *name) {
            let behind = new[..at].iter().rev().find_map(|(n, _)| rows.iter().position(|row| row.name == *n));
            let row = DescribeRow { name: name.clone(), before: None, after: Some(text.clone()) };
            rows.insert(behind.map_or(0, |place| place + 1), row);
        }
    }
    rows
}

fn lines(location: &str, (metadata, protocol): (&Metadata, &Protocol)) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> =
        metadata.schema.fields.iter().map(|f| (format!("column {}", f.name), column(f))).collect();
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let mut say = |name: &str, text: Option<String>| lines.extend(text.map(|text| (name.to_owned(), text)));
    say("partition columns", Some(list(&metadata.partition_columns)));
    say("name", metadata.name.clone());
    say("description", metadata.description.clone());
    say("location", Some(location.to_owned()));
    say("provider", Some("delta".to_owned()));
    say("table id", Some(metadata.id.clone()));
    for (key, value) in metadata.configuration.iter().filter(|(key, _)| !key.starts_with(CONSTRAINT)) {
        say(&format!("property {key}"), Some(value.clone()));
    }
    for (name, sql) in metadata.constraints() {
        say(&format!("constraint {name}"), Some(sql));
    }
    say("reader version", Some(protocol.min_reader.to_string()));
    say("writer version", Some(protocol.min_writer.to_string()));
    say("reader features", protocol.reader_features.as_deref().map(list));
    say("writer features", protocol.writer_features.as_deref().map(list));
    lines
}

/// `integer not null generated always as (year(ts)) comment 'a year'`
fn column(field: &Field) -> String {
    let mut text = field.data_type.to_string();
    if !field.nullable {
        text.push_str(" not null");
    }
    if let Some(sql) = field.text("delta.generationExpression") {
        text.push_str(&format!(" generated always as ({sql})"));
    }
    if let Some(comment) = field.comment() {
        text.push_str(&format!(" comment '{}'", comment.replace('\'', "''")));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::table::Schema;

    fn metadata(fields: serde_json::Value, by: &[&str], properties: &[(&str, &str)]) -> Metadata {
        Metadata {
            id: "t-1".into(),
            name: None,
            description: Some("net of tax".into()),
            schema: Schema::parse(&json!({"type": "struct", "fields": fields}).to_string()).unwrap(),
            partition_columns: by.iter().map(|c| (*c).to_owned()).collect(),
            configuration: properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            created_time: None,
            raw: Map::new(),
        }
    }

    #[test]
    fn both_sides_are_there_and_only_what_changes_differs() {
        let d = json!({"name": "d", "type": "string", "nullable": true, "metadata": {"comment": "it's a day"}});
        let v = json!({"name": "v", "type": "integer", "nullable": false, "metadata": {}});
        let y = json!({"name": "y", "type": "integer", "nullable": true,
            "metadata": {"delta.generationExpression": "year(d)"}});
        let properties = [("delta.appendOnly", "true"), ("delta.constraints.positive", "v > 0")];
        let old = metadata(json!([d, v]), &["d"], &properties);
        let new = metadata(json!([d, v, y]), &["y"], &properties);
        let protocol =
            |min_writer| Protocol { min_reader: 1, min_writer, reader_features: None, writer_features: None };
        let rows = describe("/lake/t", (&old, &protocol(2)), (&new, &protocol(4)));
        let names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "column d",
                "column v",
                "column y",
                "partition columns",
                "description",
                "location",
                "provider",
                "table id",
                "property delta.appendOnly",
                "constraint positive",
                "reader version",
                "writer version"
            ]
        );
        let differing: Vec<(&str, Option<&str>, Option<&str>)> = rows
            .iter()
            .filter(|r| r.differs())
            .map(|r| (r.name.as_str(), r.before.as_deref(), r.after.as_deref()))
            .collect();
        assert_eq!(
            differing,
            [
                ("column y", None, Some("integer generated always as (year(d))")),
                ("partition columns", Some("d"), Some("y")),
                ("writer version", Some("2"), Some("4")),
            ]
        );
        assert_eq!(rows[0].before.as_deref(), Some("string comment 'it''s a day'"));
        assert_eq!(rows[1].after.as_deref(), Some("integer not null"));
        // What goes away stays in its place.
        let back = describe("/lake/t", (&new, &protocol(4)), (&old, &protocol(4)));
        assert_eq!((back[2].name.as_str(), &back[2].after), ("column y", &None));
    }
}
