//! Columns are matched by name, never by position; what does not fit is said
//! before anything else.

use std::collections::HashSet;

use crate::error::ErrorKind;
use crate::plan::Refusal;
use crate::table::schema::{DataType, PrimitiveType, Schema};

/// For each column of the table, where it comes from in the source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matching {
    /// Source column indexes, in the table's schema order; complete when there
    /// are no refusals. `None`: the source lacks it, and nobody needs it.
    pub columns: Vec<Option<usize>>,
    /// What a person should know: order, case, surplus columns, widened types.
    pub findings: Vec<String>,
    pub refusals: Vec<Refusal>,
}

/// How a source type becomes a table type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Same,
    Widens,
    /// A timestamp without a zone is read as UTC.
    AssumedUtc,
    Loses,
}

/// What of the source a write needs.
#[derive(Debug, Clone, Copy)]
pub struct Needs<'a> {
    /// Columns of the table that identify a row.
    pub key: &'a [String],
    /// Names of columns that only the source's folder names tell.
    pub folders: &'a [String],
    /// Whether whole rows are written, so that no column of the table may lack.
    pub whole_rows: bool,
}

pub fn match_columns(table: &Schema, source: &Schema, needs: Needs<'_>) -> Matching {
    let Needs { key, folders, whole_rows } = needs;
    let mut matching = Matching::default();
    let mut used = HashSet::new();
    for field in &table.fields {
        let exact = source.index_of(&field.name);
        let loose: Vec<usize> = match exact {
            Some(_) => Vec::new(),
            None => {
                let same = |f: &&str| f.to_lowercase() == field.name.to_lowercase();
                source.names().enumerate().filter(|(_, name)| same(name)).map(|(i, _)| i).collect()
            }
        };
        let found = match (exact, loose.as_slice()) {
            (Some(index), _) => index,
            (None, [index]) => {
                matching
                    .findings
                    .push(format!("column {}: the source calls it {}", field.name, source.fields[*index].name));
                *index
            }
            _ if !whole_rows => {
                matching.columns.push(None);
                continue;
            }
            _ => {
                let names: Vec<&str> = source.names().collect();
                let hint = if folders.contains(&field.name) {
                    format!(
                        "Folders of the source say {}=…, but values are read from files, not from folder names.",
                        field.name
                    )
                } else {
                    format!("It has {}. Columns are matched by name, never by position.", names.join(", "))
                };
                matching.refusals.push(refusal(
                    ErrorKind::ColumnMissing,
                    format!("the source lacks the column {} ({})", field.name, field.data_type),
                    hint,
                ));
                continue;
            }
        };
        used.insert(found);
        matching.columns.push(Some(found));
        let delivered = &source.fields[found].data_type;
        match fit(delivered, &field.data_type) {
            Fit::Same => {}
            Fit::Widens => {
                matching.findings.push(format!("column {}: {delivered} is widened to {}", field.name, field.data_type))
            }
            Fit::AssumedUtc => matching
                .findings
                .push(format!("column {}: times without a zone are read as UTC (AssumedUtc)", field.name)),
            // Clauses say themselves what they take, and how.
            Fit::Loses if !whole_rows && !key.contains(&field.name) => {
                if let Some(last) = matching.columns.last_mut() {
                    *last = None;
                }
            }
            Fit::Loses => {
                let is_key = key.contains(&field.name);
                let kind = if is_key { ErrorKind::KeyTypeMismatch } else { ErrorKind::LossyType };
                let what = if is_key { "key column" } else { "column" };
                matching.refusals.push(refusal(
                    kind,
                    format!(
                        "{what} {}: the source has {delivered}, the table {}; a cast could change or lose values",
                        field.name, field.data_type
                    ),
                    "Deliver the column in the table's type.".into(),
                ));
            }
        }
    }
    for (index, field) in source.fields.iter().enumerate() {
        if !used.contains(&index) && whole_rows {
            matching.findings.push(format!("column {} of the source is not in the table and is left out", field.name));
        }
    }
    let places: Vec<usize> = matching.columns.iter().flatten().copied().collect();
    if !places.windows(2).all(|pair| pair[0] < pair[1]) {
        matching.findings.push("the source has its columns in another order; they are matched by name".into());
    }
    matching
}

fn refusal(kind: ErrorKind, message: String, hint: String) -> Refusal {
    Refusal { kind, message, hint: Some(hint) }
}

/// The type of the two that holds the values of both; `None`: neither does.
pub fn common_type(a: &DataType, b: &DataType) -> Option<DataType> {
    match (fit(a, b), fit(b, a)) {
        (Fit::Same, _) | (_, Fit::Widens) => Some(a.clone()),
        (Fit::Widens, _) => Some(b.clone()),
        _ => None,
    }
}

fn fit(from: &DataType, to: &DataType) -> Fit {
    use PrimitiveType::*;
    let (DataType::Primitive(from), DataType::Primitive(to)) = (from, to) else {
        return if same_shape(from, to) { Fit::Same } else { Fit::Loses };
    };
    if from == to {
        return Fit::Same;
    }
    let digits = |t: &PrimitiveType| match t {
        Byte => Some(3),
        Short => Some(5),
        Integer => Some(10),
        Long => Some(19),
        _ => None,
    };
    match (from, to) {
        (TimestampNtz, Timestamp) => Fit::AssumedUtc,
        (Float, Double) | (Byte | Short | Integer, Double) | (Byte | Short, Float) => Fit::Widens,
        (Decimal { precision: p, scale: s }, Decimal { precision: q, scale: t }) if t >= s && q - t >= p - s => {
            Fit::Widens
        }
        (from, Decimal { precision, scale }) if digits(from).is_some_and(|d| precision - scale >= d) => Fit::Widens,
        (from, to) => match (digits(from), digits(to)) {
            (Some(a), Some(b)) if a < b => Fit::Widens,
            _ => Fit::Loses,
        },
    }
}

/// Equal but for nullability and metadata.
fn same_shape(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Struct(x), DataType::Struct(y)) => {
            x.fields.len() == y.fields.len()
                && x.fields
                    .iter()
                    .zip(&y.fields)
                    .all(|(f, g)| f.name == g.name && same_shape(&f.data_type, &g.data_type))
        }
        (DataType::Array { element: x, .. }, DataType::Array { element: y, .. }) => same_shape(x, y),
        (DataType::Map { key: k, value: v, .. }, DataType::Map { key: l, value: w, .. }) => {
            same_shape(k, l) && same_shape(v, w)
        }
        (DataType::Primitive(x), DataType::Primitive(y)) => x == y,
        (DataType::Variant, DataType::Variant) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Field;

    fn schema(columns: &[(&str, PrimitiveType)]) -> Schema {
        let field = |(name, t): &(&str, PrimitiveType)| Field {
            name: (*name).into(),
            data_type: DataType::Primitive(t.clone()),
            nullable: true,
            metadata: Default::default(),
        };
        Schema { fields: columns.iter().map(field).collect() }
    }

    fn needs(key: &[String]) -> Needs<'_> {
        Needs { key, folders: &[], whole_rows: true }
    }

    #[test]
    fn order_does_not_matter_and_is_said() {
        use PrimitiveType::*;
        let table = schema(&[("foo", String), ("bar", String), ("v", Integer)]);
        let source = schema(&[("v", Integer), ("bar", String), ("foo", String)]);
        let matching = match_columns(&table, &source, needs(&[]));
        assert_eq!(matching.columns, [Some(2), Some(1), Some(0)]);
        assert!(matching.refusals.is_empty());
        assert!(matching.findings[0].contains("another order"));
    }

    #[test]
    fn what_is_missing_surplus_or_lossy_is_named() {
        use PrimitiveType::*;
        let table = schema(&[("id", String), ("n", Integer), ("d", Decimal { precision: 10, scale: 2 })]);
        let source = schema(&[("id", Long), ("d", Decimal { precision: 12, scale: 2 }), ("extra", Byte)]);
        let matching = match_columns(&table, &source, needs(&["id".to_owned()]));
        let kinds: Vec<ErrorKind> = matching.refusals.iter().map(|r| r.kind).collect();
        assert_eq!(kinds, [ErrorKind::KeyTypeMismatch, ErrorKind::ColumnMissing, ErrorKind::LossyType]);
        assert!(matching.findings.iter().any(|f| f.contains("extra")));
    }

    #[test]
    fn widening_is_fine_and_said() {
        use PrimitiveType::*;
        let table = schema(&[("a", Long), ("b", Double), ("c", Decimal { precision: 12, scale: 2 }), ("t", Timestamp)]);
        let source = schema(&[("a", Integer), ("b", Float), ("c", Integer), ("t", TimestampNtz)]);
        let matching = match_columns(&table, &source, needs(&[]));
        assert!(matching.refusals.is_empty(), "{:?}", matching.refusals);
        assert_eq!(matching.findings.len(), 4);
    }
}
