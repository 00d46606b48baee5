//! What a table demands of every row that is written into it: CHECK constraints,
//! column invariants, generated columns; and what it fills in by itself.

use serde_json::Value as Json;

use super::row::{Bound, RowExpr, Scope, Side};
use crate::error::{Error, ErrorKind, Result};
use crate::table::{Field, Metadata, Schema, Value};

/// A condition that has to be true of every written row. FALSE and NULL both
/// violate it.
#[derive(Debug, Clone)]
pub struct Check {
    /// What it is, with its name: `CHECK constraint positive`.
    pub title: String,
    /// SQL as the table has it.
    pub expression: String,
    bound: Bound,
}

/// The conditions of one table and the values that it computes.
#[derive(Debug, Clone, Default)]
pub struct RowChecks {
    pub checks: Vec<Check>,
    generated: Vec<Generated>,
    /// (column, the value of its default)
    defaults: Vec<(usize, RowExpr)>,
}

/// A generated column.
#[derive(Debug, Clone)]
struct Generated {
    column: usize,
    /// Over columns without alias, in the column's type.
    expr: RowExpr,
    /// Columns of the table that it is computed from.
    from: Vec<usize>,
}

impl RowChecks {
    /// What a table demands, and an error for each demand that cannot be
    /// honoured: a write has to be refused by it. `UnsupportedFeature` each.
    pub fn new(metadata: &Metadata) -> (RowChecks, Vec<Error>) {
        let (mut found, mut errors) = (RowChecks::default(), Vec::new());
        let mut keep = |title: String, expression: &str, made: Result<()>| {
            if let Err(why) = made {
                errors.push(unsupported(&title, expression, &why));
            }
        };
        let schema = &metadata.schema;
        for (name, expression) in metadata.constraints() {
            let title = format!("CHECK constraint {name}");
            let made = found.add_check(&title, &expression, schema);
            keep(title, &expression, made);
        }
        schema.walk(&mut |path, field| {
            if let Some(text) = field.text("delta.invariants") {
                let title = format!("invariant of column {path}");
                let expression = invariant(text).unwrap_or_else(|| text.to_owned());
                let made = match schema.field(path) {
                    Some(_) => found.add_check(&title, &expression, schema),
                    None => Err(Error::new(ErrorKind::Usage, "it stands on a nested column")),
                };
                keep(title, &expression, made);
            }
            if let Some(expression) = field.text("delta.generationExpression") {
                let made = found.add_generated(path, field, expression, schema);
                keep(format!("generated column {path}"), expression, made);
            }
            if let (Some(column), Some(text)) = (schema.index_of(path), field.text("CURRENT_DEFAULT"))
                && let Ok(expr) = RowExpr::parse_plain(text)
            {
                // What is not understood is refused where a row would need it.
                found.defaults.push((column, expr));
            }
        });
        (found, errors)
    }

    fn add_check(&mut self, title: &str, expression: &str, schema: &Schema) -> Result<()> {
        let bound = timeless(expression)?.bind(&over(schema))?.condition()?;
        self.checks.push(Check { title: title.to_owned(), expression: expression.to_owned(), bound });
        Ok(())
    }

    fn add_generated(&mut self, path: &str, field: &Field, expression: &str, schema: &Schema) -> Result<()> {
        let column = schema.index_of(path).ok_or_else(|| Error::new(ErrorKind::Usage, "it is a nested column"))?;
        let to = field
            .primitive()
            .ok_or_else(|| Error::new(ErrorKind::Usage, format!("a {} cannot be computed", field.data_type)))?;
        let expr = timeless(expression)?.cast_to(to);
        let bound = expr.equals_column(Side::Target, &field.name).bind(&over(schema))?;
        let from = expr.bind(&over(schema))?.columns().iter().map(|(_, column)| *column).collect();
        self.generated.push(Generated { column, expr, from });
        let title = format!("generated column {path}");
        self.checks.push(Check { title, expression: expression.to_owned(), bound });
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Columns of the table that are read, each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.checks.iter().flat_map(Check::columns).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The checks that do not hold for a row, as the bits of their numbers;
    /// `cell` gives a column of the table. A row that a check cannot be computed
    /// for violates it.
    pub fn broken(&self, cell: &dyn Fn(usize) -> Value) -> u64 {
        let holds = |check: &Check| check.bound.holds(&|_, column| cell(column)).unwrap_or(false);
        let bits = self.checks.iter().enumerate().filter(|(_, check)| !holds(check));
        bits.fold(0, |bits, (number, _)| bits | bit(number))
    }

    /// Generated columns of the table.
    pub fn generated(&self) -> impl Iterator<Item = usize> {
        self.generated.iter().map(|g| g.column)
    }

    /// A generated column from other expressions for the columns that it is
    /// computed from; `None` where the column is not generated.
    ///
    /// # Errors
    /// Whatever `value` gives.
    pub fn compute(
        &self,
        column: usize,
        schema: &Schema,
        value: &dyn Fn(&Field) -> Result<RowExpr>,
    ) -> Result<Option<RowExpr>> {
        let Some(generated) = self.generated.iter().find(|g| g.column == column) else { return Ok(None) };
        let other = |_: Option<Side>, name: &str| {
            let field = schema.find(name);
            let field = field.ok_or_else(|| Error::new(ErrorKind::Usage, format!("there is no column {name}")))?;
            let expr = value(field)?;
            // The expression is over values of the column's own type.
            Ok(field.primitive().map_or_else(|| expr.clone(), |to| expr.cast_to(to)))
        };
        generated.expr.replace_columns(&other).map(Some)
    }

    /// Whether a generated column is computed from one of these columns.
    pub fn follows(&self, column: usize, changed: &[usize]) -> bool {
        self.generated.iter().any(|g| g.column == column && g.from.iter().any(|c| changed.contains(c)))
    }

    /// The default of a column, where one is declared and understood.
    pub fn default_of(&self, column: usize) -> Option<&RowExpr> {
        self.defaults.iter().find(|(c, _)| *c == column).map(|(_, expr)| expr)
    }
}

impl Check {
    /// Columns of the table that it reads.
    pub fn columns(&self) -> Vec<usize> {
        self.bound.columns().iter().map(|(_, column)| *column).collect()
    }
}

/// The bit of a check; beyond 63 they share one.
pub fn bit(number: usize) -> u64 {
    1 << number.min(63)
}

fn over(schema: &Schema) -> Scope<'_> {
    static NONE: Schema = Schema { fields: Vec::new() };
    Scope { source: &NONE, target: schema }
}

/// What a table demands means the same at every time: a row that was right when
/// it was planned is right when it is written.
fn timeless(expression: &str) -> Result<RowExpr> {
    let expr = RowExpr::parse_plain(expression)?;
    if expr.is_pinned() { Ok(expr) } else { Err(Error::new(ErrorKind::Usage, "it reads the clock")) }
}

/// `{"expression":{"expression":"value < 3"}}`
fn invariant(text: &str) -> Option<String> {
    let json: Json = serde_json::from_str(text).ok()?;
    json.get("expression")?.get("expression")?.as_str().map(str::to_owned)
}

fn unsupported(title: &str, expression: &str, why: &Error) -> Error {
    Error::new(
        ErrorKind::UnsupportedFeature,
        format!("{title} ({expression}) cannot be checked by partwise: {}", why.message),
    )
    .hint("Nothing was written. The plan's numbers hold; run the write with the engine that made the table.")
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::table::{DataType, PrimitiveType};

    fn field(name: &str, t: PrimitiveType, metadata: Json) -> Field {
        let metadata = metadata.as_object().cloned().unwrap_or_default();
        Field { name: name.into(), data_type: DataType::Primitive(t), nullable: true, metadata }
    }

    fn metadata(fields: Vec<Field>, constraints: &[(&str, &str)]) -> Metadata {
        let property = |(name, text): &(&str, &str)| (format!("delta.constraints.{name}"), (*text).to_owned());
        Metadata {
            id: "t".into(),
            name: None,
            description: None,
            schema: Schema { fields },
            partition_columns: Vec::new(),
            configuration: constraints.iter().map(property).collect(),
            created_time: None,
            raw: Map::new(),
        }
    }

    #[test]
    fn false_and_null_violate() {
        let invariant = json!({"delta.invariants": r#"{"expression":{"expression":"v < 100"}}"#});
        let metadata = metadata(vec![field("v", PrimitiveType::Integer, invariant)], &[("positive", "v > 0")]);
        let (checks, errors) = RowChecks::new(&metadata);
        assert!(errors.is_empty(), "{errors:?}");
        let broken = |v: Value| checks.broken(&|_| v.clone());
        assert_eq!([Value::Int(1), Value::Int(-1), Value::Int(100), Value::Null].map(broken), [0, 1, 2, 3]);
    }

    #[test]
    fn generated_columns_are_held_to_their_expression() {
        let generated = json!({"delta.generationExpression": "year(d)"});
        let fields = vec![field("d", PrimitiveType::Date, json!({})), field("y", PrimitiveType::Integer, generated)];
        let metadata = metadata(fields, &[]);
        let (checks, errors) = RowChecks::new(&metadata);
        assert!(errors.is_empty(), "{errors:?}");
        let row = [Value::Date(0), Value::Int(1970)];
        assert_eq!(checks.broken(&|c| row[c].clone()), 0);
        let row = [Value::Null, Value::Int(1970)];
        assert_eq!(checks.broken(&|c| row[c].clone()), 1);
        assert_eq!(checks.broken(&|_| Value::Null), 0);
        let text = checks.compute(1, &metadata.schema, &|f| Ok(RowExpr::of_column(Side::Source, &f.name)));
        assert_eq!(text.unwrap().unwrap().text(), "CAST(year(CAST(s.d AS DATE)) AS INT)");
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let metadata = metadata(
            vec![field("v", PrimitiveType::Integer, json!({"delta.generationExpression": "soundex(w)"}))],
            &[("odd", "v > (SELECT 1)"), ("inside", "v.x > 0")],
        );
        let (_, errors) = RowChecks::new(&metadata);
        let said: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        for (message, name) in said.iter().zip(["constraint odd", "constraint inside", "generated column v"]) {
            assert!(message.contains(name), "{message}");
        }
    }
}
