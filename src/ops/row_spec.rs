//! What a request says of rows, with what the table and the config say where it
//! is silent.

use super::browse::OpenTable;
use super::prepare::{SourceRequest, names, seed};
use crate::config::engine::byte_size;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::OutputShape;
use crate::plan::kinds::RowSpec;
use crate::source::Source;

/// # Errors
/// `Usage` for columns that the table lacks, and what [`output`] gives.
pub(super) fn row_spec(
    table: &OpenTable,
    source: &Source,
    request: &SourceRequest,
    own_key: Option<Vec<String>>,
) -> Result<RowSpec> {
    let known = &table.settings.known;
    let or = |given: &[String], config: &[String]| names(table, if given.is_empty() { config } else { given });
    let key = match own_key {
        Some(key) => names(table, &key)?,
        None => or(&request.key, &known.key)?,
    };
    let ignore = or(&request.ignore, &known.ignore)?;
    Ok(RowSpec {
        source: source.uri.clone(),
        measures: measures(table, &key, &ignore)?,
        key,
        ignore,
        slice: request.slice.clone(),
        view: request.view.clone(),
        output: output(table, request)?,
        exact_cells: request.exact_cells,
        hash_seed: seed(),
    })
}

/// What was asked for, else the table's property, else the config.
///
/// # Errors
/// `Usage`, `BadMetadata` or `BadConfig` for a size or a number that is none.
fn output(table: &OpenTable, request: &SourceRequest) -> Result<OutputShape> {
    if request.output.files_per_partition == Some(0) || request.output.target_file_bytes == Some(0) {
        return Err(Error::new(ErrorKind::Usage, "files and their size begin at 1"));
    }
    let sized = |bytes: Option<u64>| OutputShape { target_file_bytes: bytes, ..OutputShape::default() };
    let property = match table.metadata().property("delta.targetFileSize") {
        None => None,
        Some(text) => Some(byte_size(text).ok_or_else(|| {
            Error::new(
                ErrorKind::BadMetadata,
                format!("the table's delta.targetFileSize is '{text}', which is no size"),
            )
            .hint("Give --target-file-size, or correct the property.")
        })?),
    };
    let config = match property {
        Some(_) => None,
        None => table.settings.engine.target_file_size()?,
    };
    Ok(request.output.or(sized(property.or(config))))
}

/// The configured measures, else decimal and float columns that are no key.
fn measures(table: &OpenTable, key: &[String], ignore: &[String]) -> Result<Vec<String>> {
    let configured = &table.settings.known.measures;
    if !configured.is_empty() {
        return names(table, configured);
    }
    let metadata = table.metadata();
    let is_measure = |name: &str| !key.iter().chain(ignore).any(|c| c == name) && !metadata.is_partition_column(name);
    Ok(metadata
        .schema
        .fields
        .iter()
        .filter(|f| f.data_type.is_measure() && is_measure(&f.name))
        .map(|f| f.name.clone())
        .collect())
}
