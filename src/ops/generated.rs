//! Generated columns that a source lacks become columns of its view.

use super::browse::OpenTable;
use super::strategy::Strategy;
use crate::engine::local::delivered_schema;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::view::SourceView;
use crate::predicate::{RowChecks, RowExpr, Side};
use crate::source::Source;
use crate::table::Field;

/// Puts what the table can compute by itself into the view, and says so. A
/// column whose own columns are missing stays missing.
///
/// # Errors
/// `Usage` for texts of the view.
pub(super) fn complete(
    table: &OpenTable,
    source: &Source,
    view: &mut SourceView,
    strategies: &[Strategy],
) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    if !strategies.iter().any(Strategy::takes_whole_rows) {
        return Ok(findings);
    }
    let schema = &table.metadata().schema;
    let checks = RowChecks::new(table.metadata()).0;
    let delivered = delivered_schema(source, view)?;
    for column in checks.generated() {
        let field = &schema.fields[column];
        if delivered.find(&field.name).is_some() {
            continue;
        }
        let value = |from: &Field| -> Result<RowExpr> {
            if let Some((_, text)) = view.columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(&from.name)) {
                return RowExpr::parse(text);
            }
            match source.schema().find(&from.name) {
                Some(stored) => Ok(RowExpr::of_column(Side::Source, &stored.name)),
                None => Err(Error::new(ErrorKind::ColumnMissing, format!("the source lacks {}", from.name))),
            }
        };
        match checks.compute(column, schema, &value) {
            Ok(Some(expr)) => {
                let expression = field.text("delta.generationExpression").unwrap_or_default();
                findings.push(format!("column {}: the source lacks it; it is computed as {expression}", field.name));
                view.columns.push((field.name.clone(), expr.text().to_owned()));
            }
            // The plan says which column is missing.
            Err(error) if error.kind == ErrorKind::ColumnMissing => {}
            Ok(None) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(findings)
}
