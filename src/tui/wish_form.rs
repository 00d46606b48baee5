//! The wizard's dialogs: what they ask for, and what becomes of what is typed.

use super::overlays::fields::{Fields, Purpose};
use super::wish::Wish;
use crate::config::engine::byte_size;
use crate::plan::layouts::LayoutBy;
use crate::plan::relayout::Order;
use crate::predicate::{RowExpr, Scope};
use crate::table::Schema;
use crate::table::value::escape_controls;

const BY: usize = 0;
const SORT: usize = 1;
const Z_ORDER: usize = 2;
const FILES: usize = 3;
const SIZE: usize = 4;

/// (label, what to type)
const LAYOUT: [(&str, &str); 5] = [
    (
        "partition by",
        "columns, or an expression with a name: region, date_trunc('month', ts) AS month; none for no partitions",
    ),
    ("sort by", "columns by which the rows of a partition are sorted, with commas; empty: as they come"),
    ("Z-order by", "instead of a sort: columns that queries filter by in any combination"),
    ("files per partition", "a number; empty: files are filled up to the target size"),
    ("target file size", "as in 128MB or 1GB; empty: the table's own, else 256 MB"),
];

const QUERY: [(&str, &str); 1] =
    [("WHERE", "the condition of a query, as in region = 'EMEA' AND dt >= '2026-01-01'; it is tried on every layout")];

/// The dialog, empty.
pub fn fields(purpose: Purpose, schema: &Schema, queries: &[String]) -> Fields {
    let columns = format!("Columns: {}", schema.names().collect::<Vec<_>>().join(", "));
    match purpose {
        Purpose::Layout => Fields::new(purpose, "a layout of your own", &LAYOUT, columns),
        Purpose::Query => {
            let known = match queries.is_empty() {
                true => columns,
                false => format!("Of this session: {}. An empty field takes them away. {columns}", queries.join("; ")),
            };
            Fields::new(purpose, "one of our queries", &QUERY, known)
        }
    }
}

/// What the fields ask for. `today`: the table's partition columns.
///
/// # Errors
/// The field that is wrong, and why.
pub fn wish(fields: &Fields, schema: &Schema, today: &[String]) -> Result<Wish, (usize, String)> {
    let by = LayoutBy::parse(fields.text(BY)).map_err(|said| match fields.text(BY).is_empty() {
        true => (BY, "name columns; none stands for no partitions".to_owned()),
        false => (BY, said),
    })?;
    let by = resolved(by, schema).map_err(|said| (BY, said))?;
    let (sort, curve) = (columns(fields.text(SORT)), columns(fields.text(Z_ORDER)));
    if !sort.is_empty() && !curve.is_empty() {
        return Err((Z_ORDER, "rows are either sorted or in Z-order, not both".into()));
    }
    let named = |field: usize, given: Vec<String>| -> Result<Vec<String>, (usize, String)> {
        given.iter().map(|name| sortable(name, &by, schema).map_err(|said| (field, said))).collect()
    };
    let order = match (sort.is_empty(), curve.is_empty()) {
        (false, _) => Order::Columns(named(SORT, sort)?),
        (true, false) => Order::ZOrder(named(Z_ORDER, curve)?),
        (true, true) => Order::None,
    };
    let files_per_partition = match fields.text(FILES) {
        "" => None,
        text => match text.parse::<u32>() {
            Ok(files) if files > 0 => Some(files),
            _ => return Err((FILES, format!("'{}' is no number of files", escape_controls(text)))),
        },
    };
    let target_file_size = match fields.text(SIZE) {
        "" => None,
        text => match byte_size(text) {
            Some(size) => Some(size),
            None => return Err((SIZE, format!("'{}' is no size; write 128MB or 1GB", escape_controls(text)))),
        },
    };
    if files_per_partition.is_some() && target_file_size.is_some() {
        return Err((SIZE, "either so many files a partition, or files of a size; not both".into()));
    }
    let asks_for_more = order != Order::None || files_per_partition.is_some() || target_file_size.is_some();
    if !asks_for_more && by.names() == today {
        return Err((BY, "the table is partitioned like this; sort it, or change its files".into()));
    }
    Ok(Wish { by, order, files_per_partition, target_file_size })
}

fn columns(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
}

/// A column's name as the table writes it.
fn known(name: &str, schema: &Schema) -> Result<String, String> {
    let field = schema.find(name).ok_or_else(|| format!("the table has no column {}", escape_controls(name)))?;
    Ok(field.name.clone())
}

/// Names as the table writes them; expressions must fit its columns.
fn resolved(mut by: LayoutBy, schema: &Schema) -> Result<LayoutBy, String> {
    for column in &mut by.columns {
        match &column.expression {
            None => column.name = known(&column.name, schema)?,
            Some(sql) => {
                let none = Schema { fields: Vec::new() };
                let bound = RowExpr::parse(sql).and_then(|e| e.bind(&Scope { source: &none, target: schema }));
                bound.map_err(|error| error.message)?;
            }
        }
    }
    Ok(by)
}

fn sortable(name: &str, by: &LayoutBy, schema: &Schema) -> Result<String, String> {
    let name = known(name, schema)?;
    if by.columns.iter().any(|c| c.expression.is_none() && c.name == name) {
        return Err(format!("{name} is a partition column: all rows of a partition have the same value"));
    }
    match schema.find(&name) {
        Some(field) if field.data_type.is_nested() => Err(format!("the column {name} has no order")),
        _ => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::DataType;
    use crate::table::schema::{Field, PrimitiveType};

    fn schema() -> Schema {
        let field = |name: &str, of: PrimitiveType| Field {
            name: name.into(),
            data_type: DataType::Primitive(of),
            nullable: true,
            metadata: Default::default(),
        };
        Schema { fields: vec![field("Region", PrimitiveType::String), field("ts", PrimitiveType::Timestamp)] }
    }

    fn asked(texts: [&str; 5]) -> Result<Wish, (usize, String)> {
        let mut form = fields(Purpose::Layout, &schema(), &[]);
        form.fields.iter_mut().zip(texts).for_each(|(field, text)| field.input.set(text));
        wish(&form, &schema(), &["Region".to_owned()])
    }

    #[test]
    fn every_option_reaches_the_request() {
        let wish = asked(["region", "TS", "", "", "128MB"]).unwrap();
        assert_eq!(wish.by.names(), ["Region"], "as the table writes it");
        assert_eq!(wish.order, Order::Columns(vec!["ts".into()]));
        let request = wish.request();
        assert_eq!((request.target_file_size, request.files_per_partition), (Some(128 << 20), None));
        let wish = asked(["date_trunc('month', ts) AS m", "", "region", "3", ""]).unwrap();
        assert_eq!(wish.label(), "m (Z-order Region; 3 files each)");
        assert_eq!(asked(["none", "", "", "", ""]).unwrap().by, LayoutBy::default());
    }

    #[test]
    fn mistakes_are_told_at_their_field() {
        for (texts, field, said) in [
            (["", "", "", "", ""], BY, "none stands for"),
            (["land", "", "", "", ""], BY, "no column land"),
            (["year(ts)", "", "", "", ""], BY, "needs a name"),
            (["nosuch(ts) AS y", "", "", "", ""], BY, "NOSUCH is not supported"),
            (["Region", "", "", "", ""], BY, "is partitioned like this"),
            (["Region", "region", "", "", ""], SORT, "is a partition column"),
            (["none", "ts", "Region", "", ""], Z_ORDER, "not both"),
            (["none", "", "", "0", ""], FILES, "no number of files"),
            (["none", "", "", "", "big"], SIZE, "no size"),
            (["none", "", "", "2", "1GB"], SIZE, "not both"),
        ] {
            let (at, why) = asked(texts).unwrap_err();
            assert!(at == field && why.contains(said), "{texts:?}: {at} {why}");
        }
    }
}
