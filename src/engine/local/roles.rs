//! Which column plays which part in a job.

use super::checks::Checks;
use super::compile::{Cells, Compiled, Nulls, compile, delivered_column, find};
use super::days;
use super::delivered::delivered_schema;
use super::measure::MeasureRows;
use super::rows::{NULL_KEY, NULL_NARROW, NULL_NARROW_STRICT, NULL_STRICT};
use crate::engine::RowJob;
use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::TableLayout;
use crate::plan::Pairing;

/// Indexes of the table's schema, but for those that say otherwise.
#[derive(Debug, Default)]
pub struct Roles {
    pub columns: usize,
    pub key: Vec<usize>,
    /// Of the key, the columns whose NULL matches nothing where a rule mixes both.
    pub strict: Vec<usize>,
    /// The key without the partition columns, where a rule searches for it.
    pub narrow: Option<Vec<usize>>,
    pub partition: Vec<usize>,
    /// Of the partition columns, those in the key whose value is the partition's
    /// of the delivered row: such a row can only match in its own partition.
    pub bound: Vec<usize>,
    pub ignore: Vec<usize>,
    pub measures: Vec<usize>,
    /// Empty lists, one a measure, of the right kind.
    pub measure_kinds: Vec<MeasureRows>,
    /// Columns whose values are counted for the vanished-group gate.
    pub groups: Vec<usize>,
    /// Date columns whose days are counted for the gate `grain`.
    pub days: Vec<usize>,
    pub cells: Cells,
    /// The place among the source's cells of the column that newer rows are told by.
    pub latest: Option<usize>,
    pub exact_cells: bool,
    pub checks: Checks,
    pub seed: u64,
}

impl Roles {
    /// What a NULL in a column of the key says of it.
    pub fn null_flags(&self, column: usize) -> u8 {
        let strict = self.strict.contains(&column);
        let narrow = self.narrow.as_ref().is_some_and(|narrow| narrow.contains(&column));
        let mut flags = NULL_KEY;
        for (holds, flag) in [(strict, NULL_STRICT), (narrow, NULL_NARROW), (narrow && strict, NULL_NARROW_STRICT)] {
            flags |= if holds { flag } else { 0 };
        }
        flags
    }
}

/// # Errors
/// `Usage` for a name that is not there, `UnsupportedType` for a measure that
/// is no number; whatever compiling gives.
pub fn resolve(job: &RowJob, layout: &TableLayout) -> Result<(Roles, Vec<Compiled>)> {
    let delivered = delivered_schema(&job.source, &job.view)?;
    let index = |name: &String| find(&layout.schema, name, "the table");
    let all = |names: &[String]| names.iter().map(index).collect::<Result<Vec<_>>>();
    let checks = Checks::new(job);
    let (compiled, cells) = compile(job, &delivered, &layout.schema, &checks.rows)?;
    let (measures, ignore) = (all(&job.measures)?, all(&job.ignore)?);
    let arrow = layout.arrow_schema().clone();
    let kind = |column: &usize| {
        MeasureRows::for_type(arrow.field(*column).data_type()).ok_or_else(|| {
            let field = &layout.schema.fields[*column];
            Error::new(
                ErrorKind::UnsupportedType,
                format!("the measure {} is a {} and cannot be summed", field.name, field.data_type),
            )
        })
    };
    let key_names: Vec<String> = job.key.iter().map(|pair| pair.target.clone()).collect();
    let key = all(&key_names)?;
    let partition = layout.partition_indexes().to_vec();
    // Rows that a partition column in a join's key hides are doubled.
    let placeless = partition.iter().any(|c| job.matching.columns[*c].is_none());
    let mut bound = Vec::new();
    for (pair, column) in job.key.iter().zip(&key) {
        let from = find(&delivered, &pair.source, "the source")?;
        if !placeless && partition.contains(column) && job.matching.columns[*column] == Some(from) {
            bound.push(*column);
        }
    }
    let hidden = !bound.is_empty() && job.rules.iter().any(|rule| rule.by_key());
    let narrow: Option<Vec<usize>> =
        hidden.then(|| key.iter().copied().filter(|c| !bound.contains(c)).collect()).filter(|n: &Vec<_>| !n.is_empty());
    let mixed = compiled.iter().find(|rule| rule.nulls == Nulls::NeverInSome).map(|rule| &rule.rule.pairing);
    let strict: Vec<String> = match mixed {
        Some(Pairing::Join(on)) => on.keys.iter().filter(|p| !p.null_safe).map(|p| p.target.clone()).collect(),
        _ => Vec::new(),
    };
    let grain: Vec<String> = job.grain.iter().map(|(name, _)| name.clone()).collect();
    let latest = match &job.view.latest_by {
        None => None,
        Some(name) => {
            let column = delivered_column(&delivered, name)?;
            cells.source.iter().position(|c| *c == column)
        }
    };
    let roles = Roles {
        columns: layout.schema.fields.len(),
        strict: all(&strict)?,
        narrow,
        days: days::day_columns(&arrow, &partition, &ignore),
        ignore,
        groups: all(&grain)?,
        measure_kinds: measures.iter().map(kind).collect::<Result<_>>()?,
        key,
        partition,
        bound,
        measures,
        cells,
        latest,
        exact_cells: job.exact_cells,
        checks,
        seed: job.seed,
    };
    Ok((roles, compiled))
}
