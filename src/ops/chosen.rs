//! Partitions that a person chose, for operations that leave the others alone.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::view::SourceView;
use crate::predicate::{Bound, Expr, Operand, Predicate, RowExpr, Scope};
use crate::source::Source;
use crate::table::schema::PrimitiveType;
use crate::table::{DataFile, Field, Metadata, PartitionTuple, Schema, Value};

/// One condition over partition columns. Its text is SQL over the table's
/// columns without an alias, so that it can be said of either side.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    expr: RowExpr,
}

impl Chosen {
    /// `partitions` as people write them (`a=1/b=∅`), `tuples` as values of the
    /// first table's partition columns, `filter` as SQL; a partition is chosen
    /// that one of the former names and for which the filter is true. Columns
    /// may be partition columns of any of `tables`, the newest first. `None`
    /// where nothing is asked for.
    ///
    /// # Errors
    /// `Usage` for other columns, for values that are none of their column's,
    /// and for texts that cannot be read.
    pub fn new(
        partitions: &[String],
        tuples: &[PartitionTuple],
        filter: Option<&str>,
        tables: &[&Metadata],
    ) -> Result<Option<Chosen>> {
        let mut fields: Vec<&Field> = Vec::new();
        for field in tables.iter().flat_map(|metadata| metadata.partition_fields()) {
            if !fields.iter().any(|known| known.name == field.name) {
                fields.push(field);
            }
        }
        if fields.is_empty() && (!partitions.is_empty() || !tuples.is_empty() || filter.is_some()) {
            return Err(Error::new(ErrorKind::Usage, "the table is not partitioned, so no partition can be chosen")
                .hint("Leave --partition and --filter out to take the whole table."));
        }
        let mut named: Vec<RowExpr> =
            partitions.iter().map(|text| of_partition(text, &fields)).collect::<Result<_>>()?;
        named.extend(tuples.iter().map(|tuple| of_tuple(tuple, tables.first().copied())));
        let filter = filter.map(|text| of_filter(text, &fields)).transpose()?;
        Ok(match (RowExpr::any(named), filter) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(Chosen { expr: one }),
            (Some(a), Some(b)) => Some(Chosen { expr: RowExpr::parse(&format!("({}) AND ({})", a.text(), b.text()))? }),
        })
    }

    pub fn text(&self) -> &str {
        self.expr.text()
    }

    pub fn columns(&self) -> Vec<String> {
        self.expr.unqualified()
    }

    /// Whether it chooses whole partitions of this table.
    pub fn chooses_partitions_of(&self, metadata: &Metadata) -> bool {
        let columns = &metadata.partition_columns;
        self.columns().iter().all(|c| columns.iter().any(|p| p.eq_ignore_ascii_case(c)))
    }

    /// Keeps the files of chosen partitions. The table must be partitioned by
    /// the condition's columns.
    ///
    /// # Errors
    /// `Usage` for values that cannot be compared.
    pub fn keep(&self, metadata: &Metadata, files: Vec<DataFile>) -> Result<Vec<DataFile>> {
        let bound = bind(&self.expr, &metadata.schema)?;
        let places: Vec<Option<usize>> =
            metadata.partition_columns.iter().map(|c| metadata.schema.index_of(c)).collect();
        let mut kept = Vec::new();
        for file in files {
            if holds(&bound, &places, &file.partition)? {
                kept.push(file);
            }
        }
        Ok(kept)
    }
}

fn bind(expr: &RowExpr, schema: &Schema) -> Result<Bound> {
    expr.bind(&Scope { source: &Schema::default(), target: schema })?.condition()
}

/// Whether a condition over partition columns is true. `places`: the partition
/// columns' indexes in the schema that it is bound to.
///
/// # Errors
/// What evaluating it runs into.
pub fn holds(bound: &Bound, places: &[Option<usize>], tuple: &PartitionTuple) -> Result<bool> {
    bound.holds(&|_, column| {
        let place = places.iter().position(|c| *c == Some(column));
        place.and_then(|at| tuple.0.get(at).cloned()).unwrap_or(Value::Null)
    })
}

fn of_partition(text: &str, fields: &[&Field]) -> Result<RowExpr> {
    let columns: Vec<String> = fields.iter().map(|f| f.name.clone()).collect();
    let parsed = Predicate::from_partition(text, &columns)?;
    let Expr::And(parts) = parsed.expr() else {
        return Err(Error::new(ErrorKind::Internal, format!("the partition {text} could not be taken apart")));
    };
    let mut values: Vec<(String, PrimitiveType, Value)> = Vec::with_capacity(parts.len());
    for part in parts {
        let (Expr::Compare { left: Operand::Column(name), .. } | Expr::IsNull(Operand::Column(name))) = part else {
            return Err(Error::new(ErrorKind::Internal, format!("the partition {text} could not be taken apart")));
        };
        let primitive = fields.iter().find(|f| f.name == *name).and_then(|f| f.primitive());
        let t = primitive.ok_or_else(|| Error::new(ErrorKind::Usage, format!("{name} is no partition column")))?;
        let said = match part {
            Expr::Compare { right: Operand::Literal(Value::String(said)), .. } => Some(said.as_str()),
            _ => None,
        };
        let value = Value::parse_partition(said, t).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("'{}' is no {t}, which {name} is", said.unwrap_or_default()))
                .hint("Write the value as `partwise partitions` shows it; NULL is ∅.")
        })?;
        values.push((name.clone(), t.clone(), value));
    }
    Ok(RowExpr::of_values(&values))
}

fn of_tuple(tuple: &PartitionTuple, table: Option<&Metadata>) -> RowExpr {
    let fields = table.map(Metadata::partition_fields).unwrap_or_default();
    let typed = fields.into_iter().zip(&tuple.0);
    let values: Vec<(String, PrimitiveType, Value)> =
        typed.filter_map(|(f, value)| Some((f.name.clone(), f.primitive()?.clone(), value.clone()))).collect();
    RowExpr::of_values(&values)
}

fn of_filter(text: &str, fields: &[&Field]) -> Result<RowExpr> {
    let expr = RowExpr::parse(text)?;
    let schema = Schema { fields: fields.iter().map(|f| (*f).clone()).collect() };
    let names: Vec<&str> = schema.names().collect();
    let hint = format!("Partitions are chosen by {}.", names.join(", "));
    let sides = [crate::predicate::Side::Source, crate::predicate::Side::Target];
    if let Some(alias) = sides.iter().find(|side| !expr.columns(**side).is_empty()) {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("the filter {text} uses the alias {}; name the columns alone", alias.alias()),
        )
        .hint(hint));
    }
    if expr.unqualified().is_empty() || !expr.is_pinned() {
        return Err(
            Error::new(ErrorKind::Usage, format!("the filter {text} must name columns and no clock")).hint(hint)
        );
    }
    if let Some(stranger) = expr.unqualified().iter().find(|c| schema.find(c).is_none()) {
        return Err(Error::new(ErrorKind::Usage, format!("the filter names {stranger}, which is no partition column"))
            .hint(hint));
    }
    bind(&expr, &schema)?;
    Ok(expr)
}

/// A source without the files of partitions that its view's filter leaves out
/// whole: they need not be there any more.
///
/// # Errors
/// `Usage` for a filter that does not fit.
pub fn narrowed(source: &Source, view: &SourceView) -> Result<Source> {
    let Some(text) = &view.filter else { return Ok(source.clone()) };
    let scope = Scope { source: source.schema(), target: &Schema::default() };
    let bound = RowExpr::parse(text)?.bind(&scope)?.condition()?;
    let places: Vec<Option<usize>> = source.layout.partition_indexes().iter().map(|at| Some(*at)).collect();
    if !bound.columns().iter().all(|(_, column)| places.contains(&Some(*column))) {
        return Ok(source.clone());
    }
    let mut files = Vec::new();
    for file in source.files.iter() {
        if holds(&bound, &places, &file.partition)? {
            files.push(file.clone());
        }
    }
    Ok(Source { files: Arc::new(files), ..source.clone() })
}
