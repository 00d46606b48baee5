//! Whether files that an older version wrote are the same rows under today's
//! metadata, so that they can simply be named again.

use super::schema::Field;
use super::{DataType, Metadata, Schema};

/// Field metadata that a reader or a later writer goes by.
const RULES: [&str; 3] = ["delta.generationExpression", "delta.invariants", "delta.identity.start"];

/// Why files of `then` cannot be added under `now` as they are; `None` where
/// they can. Columns that were added since are NULL in them, which is right.
pub fn hindrance(then: &Metadata, now: &Metadata) -> Option<String> {
    let stored = |of: &Metadata| -> Vec<String> {
        of.partition_fields().into_iter().map(|f| f.physical_name().to_owned()).collect()
    };
    if stored(then) != stored(now) {
        return Some(format!(
            "the table was partitioned by {} and is by {}",
            list(&then.partition_columns),
            list(&now.partition_columns)
        ));
    }
    for old in &then.schema.fields {
        let Some(new) = namesake(&now.schema, old) else {
            return Some(format!("the column {} was dropped since", old.name));
        };
        if !same_type(&old.data_type, &new.data_type) {
            return Some(format!("the column {} was {} and is {}", new.name, old.data_type, new.data_type));
        }
        if old.nullable && !new.nullable {
            return Some(format!("the column {} may not be NULL since", new.name));
        }
        if RULES
            .iter()
            .any(|rule| new.metadata.contains_key(*rule) && old.metadata.get(*rule) != new.metadata.get(*rule))
        {
            return Some(format!("the column {} has another rule for its values since", new.name));
        }
    }
    let added = now.schema.fields.iter().filter(|new| !then.schema.fields.iter().any(|old| is_namesake(old, new)));
    for new in added {
        if !new.nullable {
            return Some(format!("the column {}, which may not be NULL, was added since", new.name));
        }
        if new.metadata.contains_key("delta.generationExpression") {
            return Some(format!("the column {}, which is computed from others, was added since", new.name));
        }
        if RULES.iter().any(|rule| new.metadata.contains_key(*rule)) {
            return Some(format!("the column {}, which has a rule for its values, was added since", new.name));
        }
    }
    let kept = then.constraints();
    let constraint = now.constraints().into_iter().find(|c| !kept.contains(c));
    constraint.map(|(name, sql)| format!("the constraint {name} ({sql}) was added since"))
}

/// The column of a schema that files call by the same name.
pub fn namesake<'a>(schema: &'a Schema, field: &Field) -> Option<&'a Field> {
    schema.fields.iter().find(|other| is_namesake(field, other))
}

/// A column that has this one's name, and that files call otherwise: another
/// column. Names that differ in case alone are one column.
pub fn stranger<'a>(schema: &'a Schema, field: &Field) -> Option<&'a Field> {
    let own = field.physical_name();
    schema.find(&field.name).filter(|other| !other.physical_name().eq_ignore_ascii_case(own))
}

fn is_namesake(a: &Field, b: &Field) -> bool {
    a.physical_name() == b.physical_name()
}

/// Equal in what files hold; NULLs may be let in, but not shut out.
fn same_type(then: &DataType, now: &DataType) -> bool {
    match (then, now) {
        (DataType::Struct(a), DataType::Struct(b)) => a.fields.iter().all(|old| {
            namesake(b, old)
                .is_some_and(|new| (new.nullable || !old.nullable) && same_type(&old.data_type, &new.data_type))
        }),
        (DataType::Array { element: a, contains_null: old }, DataType::Array { element: b, contains_null: new }) => {
            (*new || !*old) && same_type(a, b)
        }
        (
            DataType::Map { key: a, value: v, value_contains_null: old },
            DataType::Map { key: b, value: w, value_contains_null: new },
        ) => (*new || !*old) && same_type(a, b) && same_type(v, w),
        (a, b) => a == b,
    }
}

fn list(columns: &[String]) -> String {
    if columns.is_empty() { "nothing".into() } else { columns.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn table(fields: &Json, partition_by: &[&str], constraint: Option<&str>) -> Metadata {
        Metadata {
            id: "t".into(),
            name: None,
            description: None,
            schema: Schema::parse(&json!({"type": "struct", "fields": fields}).to_string()).unwrap(),
            partition_columns: partition_by.iter().map(|c| (*c).to_owned()).collect(),
            configuration: constraint.map(|c| ("delta.constraints.c".to_owned(), c.to_owned())).into_iter().collect(),
            created_time: None,
            raw: serde_json::Map::new(),
        }
    }

    fn field(name: &str, kind: &str, nullable: bool, physical: &str) -> Json {
        json!({"name": name, "type": kind, "nullable": nullable,
               "metadata": {"delta.columnMapping.physicalName": physical}})
    }

    #[test]
    fn added_and_renamed_columns_are_no_hindrance() {
        let then = table(&json!([field("d", "string", true, "d"), field("v", "long", true, "v")]), &["d"], None);
        let fields =
            json!([field("d", "string", true, "d"), field("w", "long", true, "v"), field("x", "date", true, "x")]);
        assert_eq!(hindrance(&then, &table(&fields, &["d"], None)), None);
    }

    #[test]
    fn what_files_would_no_longer_mean_is_named() {
        let (d, v) = (field("d", "string", true, "d"), field("v", "long", true, "v"));
        let then = table(&json!([d, v]), &["d"], None);
        let ruled = |name: &str, rule: &str| json!({"name": name, "type": "long", "nullable": true, "metadata": {rule: "v * 2"}});
        let (computed, checked) = (ruled("w", "delta.generationExpression"), ruled("x", "delta.invariants"));
        let cases = [
            (json!([d, v]), vec!["v"], None, "partitioned by d and is by v"),
            (json!([d, v]), vec![], None, "partitioned by d and is by nothing"),
            (json!([d]), vec!["d"], None, "v was dropped"),
            (json!([d, field("v", "long", true, "v2")]), vec!["d"], None, "v was dropped"),
            (json!([d, field("v", "integer", true, "v")]), vec!["d"], None, "v was long and is integer"),
            (json!([d, field("v", "long", false, "v")]), vec!["d"], None, "v may not be NULL"),
            (json!([d, v, field("x", "long", false, "x")]), vec!["d"], None, "x, which may not be NULL"),
            (json!([d, v, computed]), vec!["d"], None, "w, which is computed from others, was added"),
            (json!([d, v, checked]), vec!["d"], None, "x, which has a rule for its values, was added"),
            (json!([d, v]), vec!["d"], Some("v > 0"), "constraint c (v > 0)"),
        ];
        for (fields, by, constraint, said) in cases {
            let why = hindrance(&then, &table(&fields, &by, constraint)).unwrap_or_default();
            assert!(why.contains(said), "{said}: {why}");
        }
    }
}
