//! From the arrays of a file to the columns of the table: names, missing
//! fields, types, at every depth.

use std::sync::Arc;

use deltalake::arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use deltalake::arrow::compute::cast;
use deltalake::arrow::datatypes::{DataType as ArrowDataType, Fields};

use super::cast::cast_exactly;
use super::layout::Mapping;
use crate::table::{DataType, Schema};

/// How one column's values are taken from a file's array.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Take {
    Leaf,
    /// For each field of the table's struct its place in the file's struct;
    /// `None` where the file lacks it.
    Struct(Vec<Option<(usize, Take)>>),
    List(Box<Take>),
    Map(Box<Take>, Box<Take>),
}

/// Plans how `wanted` is read from a file that stores `stored`.
///
/// # Errors
/// Why it cannot be, in words without file or column.
pub(super) fn plan(wanted: &DataType, stored: &ArrowDataType, mapping: Mapping) -> Result<Take, String> {
    use ArrowDataType as A;
    match (wanted, stored) {
        (_, A::Null) => Ok(Take::Leaf),
        (DataType::Primitive(_), leaf) if !leaf.is_nested() => Ok(Take::Leaf),
        (DataType::Struct(schema), A::Struct(fields)) => plan_struct(schema, fields, mapping),
        (DataType::Array { element, .. }, A::List(item) | A::LargeList(item) | A::FixedSizeList(item, _)) => {
            Ok(Take::List(Box::new(plan(element, item.data_type(), mapping)?)))
        }
        (DataType::Map { key, value, .. }, A::Map(entries, _)) => {
            let A::Struct(pair) = entries.data_type() else {
                return Err(mismatch(wanted, stored));
            };
            let [stored_key, stored_value] = pair.as_ref() else {
                return Err(mismatch(wanted, stored));
            };
            Ok(Take::Map(
                Box::new(plan(key, stored_key.data_type(), mapping)?),
                Box::new(plan(value, stored_value.data_type(), mapping)?),
            ))
        }
        (DataType::Variant, A::Struct(fields)) => {
            let place = |name: &str| fields.iter().position(|f| f.name() == name);
            match (place("metadata"), place("value"), fields.len()) {
                (Some(metadata), Some(value), 2) => {
                    Ok(Take::Struct(vec![Some((metadata, Take::Leaf)), Some((value, Take::Leaf))]))
                }
                _ => Err("the file stores a shredded variant, which partwise cannot read".into()),
            }
        }
        _ => Err(mismatch(wanted, stored)),
    }
}

fn plan_struct(schema: &Schema, stored: &Fields, mapping: Mapping) -> Result<Take, String> {
    let places = schema.fields.iter().map(|field| {
        let inside = |why: String| format!("in field '{}': {why}", field.name);
        let Some(at) = mapping.find(field, stored).map_err(inside)? else {
            return Ok(None);
        };
        let take = plan(&field.data_type, stored[at].data_type(), mapping).map_err(inside)?;
        Ok(Some((at, take)))
    });
    Ok(Take::Struct(places.collect::<Result<_, String>>()?))
}

fn mismatch(wanted: &DataType, stored: &ArrowDataType) -> String {
    format!("the file stores {stored}, which cannot be read as {wanted}")
}

/// The array's values as `target`, following the plan made for its type.
///
/// # Errors
/// The value or structure that does not fit, in words without file or column.
pub(super) fn adapt(array: &ArrayRef, take: &Take, target: &ArrowDataType) -> Result<ArrayRef, String> {
    // Equal types are no shortcut: two renamed fields may have swapped names.
    if *array.data_type() == ArrowDataType::Null {
        return Ok(new_null_array(target, array.len()));
    }
    match (take, target) {
        (Take::Leaf, leaf) => cast_exactly(array, leaf),
        (Take::Struct(places), ArrowDataType::Struct(fields)) => adapt_struct(array, places, fields),
        (Take::List(inner), ArrowDataType::List(element)) => {
            let list = match array.data_type() {
                ArrowDataType::LargeList(item) | ArrowDataType::FixedSizeList(item, _) => {
                    cast(array, &ArrowDataType::List(Arc::clone(item))).map_err(|e| e.to_string())?
                }
                _ => Arc::clone(array),
            };
            let list: &ListArray = list.as_list_opt().ok_or_else(|| unexpected(array, target))?;
            let values = adapt(list.values(), inner, element.data_type())?;
            ListArray::try_new(Arc::clone(element), list.offsets().clone(), values, list.nulls().cloned())
                .map(|list| Arc::new(list) as ArrayRef)
                .map_err(|e| e.to_string())
        }
        (Take::Map(key, value), ArrowDataType::Map(entries, _)) => {
            let map = array.as_map_opt().ok_or_else(|| unexpected(array, target))?;
            let ArrowDataType::Struct(pair) = entries.data_type() else {
                return Err(unexpected(array, target));
            };
            let columns =
                vec![adapt(map.keys(), key, pair[0].data_type())?, adapt(map.values(), value, pair[1].data_type())?];
            let pairs = StructArray::try_new(pair.clone(), columns, None).map_err(|e| e.to_string())?;
            MapArray::try_new(Arc::clone(entries), map.offsets().clone(), pairs, map.nulls().cloned(), false)
                .map(|map| Arc::new(map) as ArrayRef)
                .map_err(|e| e.to_string())
        }
        _ => Err(unexpected(array, target)),
    }
}

fn adapt_struct(array: &ArrayRef, places: &[Option<(usize, Take)>], fields: &Fields) -> Result<ArrayRef, String> {
    let stored =
        array.as_struct_opt().ok_or_else(|| format!("the file stores {} where a struct belongs", array.data_type()))?;
    let columns = fields
        .iter()
        .zip(places)
        .map(|(field, place)| match place {
            None => Ok(new_null_array(field.data_type(), array.len())),
            Some((at, take)) => adapt(stored.column(*at), take, field.data_type())
                .map_err(|why| format!("in field '{}': {why}", field.name())),
        })
        .collect::<Result<Vec<_>, String>>()?;
    StructArray::try_new_with_length(fields.clone(), columns, stored.nulls().cloned(), array.len())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|e| e.to_string())
}

fn unexpected(array: &ArrayRef, target: &ArrowDataType) -> String {
    format!("the file stores {}, which cannot be read as {target}", array.data_type())
}

/// The plan that takes every field from the same place: for giving an array's
/// fields other names.
pub(super) fn in_place(t: &ArrowDataType) -> Take {
    match t {
        ArrowDataType::Struct(fields) => {
            Take::Struct(fields.iter().enumerate().map(|(at, f)| Some((at, in_place(f.data_type())))).collect())
        }
        ArrowDataType::List(element) => Take::List(Box::new(in_place(element.data_type()))),
        ArrowDataType::Map(entries, _) => match entries.data_type() {
            ArrowDataType::Struct(pair) if pair.len() == 2 => {
                Take::Map(Box::new(in_place(pair[0].data_type())), Box::new(in_place(pair[1].data_type())))
            }
            _ => Take::Leaf,
        },
        _ => Take::Leaf,
    }
}
