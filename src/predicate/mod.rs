//! The one predicate language: parsed once, evaluated on typed values, lowered
//! to engines.

pub mod ast;
pub mod checks;
pub(crate) mod compare;
mod evaluate;
pub mod grid;
mod parse;
pub mod polars;
mod prune;
pub(crate) mod row;

pub use ast::{Comparison, Expr, Operand};
pub use checks::RowChecks;
pub use grid::Grid;
pub use prune::Bounds;
pub use row::{Bound, RowExpr, Scope, Side};

use crate::error::{Error, ErrorKind, Result};
use crate::table::Value;

/// A parsed SQL predicate over a table's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    text: String,
    expr: Expr,
}

impl Predicate {
    /// Parses a condition in Spark's dialect.
    ///
    /// # Errors
    /// `Usage`, with the place in the text; also where it names no column.
    pub fn parse(text: &str) -> Result<Predicate> {
        if text.trim().is_empty() {
            return Err(Error::new(ErrorKind::Usage, "the expression is empty"));
        }
        let parsed = Predicate { expr: parse::parse(text)?, text: text.trim().to_owned() };
        // It would keep every row or none, which nobody asks a filter for.
        if parsed.columns().is_empty() {
            return Err(Error::new(ErrorKind::Usage, "the filter names no column; quote names with `backticks`")
                .hint("Texts in 'single' and in \"double\" quotes are values, as in Spark."));
        }
        Ok(parsed)
    }

    /// Parses one partition as it is written on the command line: `a=1/b=∅`,
    /// with `""` for the empty string. `columns` are the partition columns;
    /// those that are not named are free.
    ///
    /// # Errors
    /// `Usage` where a part names no partition column.
    pub fn from_partition(text: &str, columns: &[String]) -> Result<Predicate> {
        let mut parts = Vec::new();
        for part in split_partition(text, columns) {
            let named = part.split_once('=').map(|(name, value)| (name.trim(), value));
            let Some((name, value)) = named.filter(|(name, _)| columns.iter().any(|c| c == name)) else {
                return Err(Error::new(ErrorKind::Usage, format!("'{part}' names no partition column")).hint(format!(
                    "Write {}.",
                    columns.iter().map(|c| format!("{c}=…")).collect::<Vec<_>>().join("/")
                )));
            };
            let left = Operand::Column(name.to_owned());
            parts.push(match value {
                "∅" => Expr::IsNull(left),
                value => {
                    let text = if value == "\"\"" { "" } else { value };
                    let right = Operand::Literal(Value::String(text.to_owned()));
                    Expr::Compare { left, op: Comparison::Eq, right }
                }
            });
        }
        Ok(Predicate { text: text.to_owned(), expr: Expr::And(parts) })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Column names that the predicate mentions, each once, in their order.
    pub fn columns(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        self.expr.operands(&mut |operand| {
            if let Operand::Column(name) = operand
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        });
        names
    }

    /// SQL's three-valued result for one row; `None` is unknown (NULL).
    /// `lookup` gives a column's value, or `None` for a column that does not exist.
    ///
    /// # Errors
    /// `Usage` for an unknown column or values that cannot be compared.
    pub fn evaluate(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<Option<bool>> {
        evaluate::evaluate(&self.expr, lookup)
    }
}

/// Cuts before each `/column=`, so that a value may hold a slash.
fn split_partition<'a>(text: &'a str, columns: &[String]) -> Vec<&'a str> {
    let mut cuts: Vec<usize> = text
        .match_indices('/')
        .map(|(at, _)| at)
        .filter(|at| {
            let rest = &text[at + 1..];
            columns.iter().any(|c| rest.strip_prefix(c.as_str()).is_some_and(|r| r.starts_with('=')))
        })
        .collect();
    cuts.push(text.len());
    let mut start = 0;
    cuts.into_iter()
        .map(|cut| {
            let part = &text[start..cut];
            start = cut + 1;
            part
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(predicate: &str, value: Value) -> Result<Option<bool>> {
        Predicate::parse(predicate)?.evaluate(&|name| (name == "x").then(|| value.clone()))
    }

    #[track_caller]
    fn is(predicate: &str, value: Value, wanted: impl Into<Option<bool>>) {
        assert_eq!(holds(predicate, value).unwrap(), wanted.into(), "{predicate}");
    }

    #[test]
    fn null_is_unknown_in_every_comparison() {
        for predicate in ["x = 1", "x <> 1", "NOT x = 1", "x IN (1)", "x NOT IN (1)", "x BETWEEN 0 AND 2", "x LIKE '1'"]
        {
            is(predicate, Value::Null, None);
        }
        is("x IS NULL", Value::Null, true);
        is("x <=> NULL", Value::Null, true);
        is("x <=> 1", Value::Null, false);
        is("x IN (1, NULL)", Value::Int(1), true);
        is("x IN (2, NULL)", Value::Int(1), None);
        is("x NOT IN (2, NULL)", Value::Int(1), None);
        is("x = 1 OR x IS NULL", Value::Null, true);
        is("x = 1 AND FALSE", Value::Null, false);
        is("(x = 1) IS NOT TRUE", Value::Null, true);
    }

    #[test]
    fn literals_take_the_columns_type() {
        is("x = '2024-01-01'", Value::Date(19_723), true);
        is("x < DATE '2024-01-02'", Value::Date(19_723), true);
        is("x >= '2024-01-01'", Value::Timestamp(19_723 * 86_400_000_000), true);
        is("x = TIMESTAMP '2024-01-01 02:00:00+02:00'", Value::Timestamp(19_723 * 86_400_000_000), true);
        is("x = '7'", Value::Int(7), true);
        is("x = 7.0", Value::Int(7), true);
        is("x > -1", Value::Int(0), true);
        is("x = 2026006", Value::String("2026006".into()), true);
        is("x = 1", Value::String("abc".into()), None);
        is("x = 0.10", Value::Decimal { unscaled: 1, scale: 1 }, true);
        is("x = 'true'", Value::Boolean(true), true);
        is("x", Value::Boolean(false), false);
        assert_eq!(holds("x = 'soon'", Value::Date(0)).unwrap_err().kind, ErrorKind::Usage);
        assert_eq!(holds("x = TRUE", Value::Date(0)).unwrap_err().kind, ErrorKind::Usage);
    }

    #[test]
    fn floats_compare_as_sql_says() {
        is("x = 'NaN'", Value::Double(f64::NAN), true);
        is("x > 1e300", Value::Double(f64::NAN), true);
        is("x = 0", Value::Double(-0.0), true);
        is("x = 0.1", Value::Double(0.1), true);
    }

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, wanted) in [
            ("a%", "abc", true),
            ("a%", "ba", false),
            ("_b%c", "abxxc", true),
            ("%a%b", "xaxaxb", true),
            ("50\\%", "50%", true),
            ("50\\%", "501", false),
            ("", "", true),
            ("ä_", "äö", true),
        ] {
            is(&format!("x LIKE '{pattern}'"), Value::String(text.into()), wanted);
        }
        is("x LIKE '10!%' ESCAPE '!'", Value::String("10%".into()), true);
    }

    #[test]
    fn names_and_texts_are_quoted_as_in_spark() {
        let predicate = Predicate::parse("`Fiscal Period` = \"a\" AND t.b <> 'it''s'").unwrap();
        assert_eq!(predicate.columns(), ["Fiscal Period", "t.b"]);
        for text in ["\"company\" = '1000'", "'a' IN ('a', 'b')", "1 = 1", "TRUE"] {
            let error = Predicate::parse(text).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage);
            assert!(error.message.contains("names no column"), "{text}: {}", error.message);
        }
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for text in ["", "x =", "x = 1 2", "x RLIKE 'a'", "upper(x) = 'A'", "x = y + 1", "1", "x = DATE '2024-13-01'"] {
            assert_eq!(Predicate::parse(text).unwrap_err().kind, ErrorKind::Usage, "{text}");
        }
        assert!(holds("y = 1", Value::Null).unwrap_err().message.contains("'y'"));
        assert!(holds("x = 1 AND y = 1", Value::Int(2)).is_err(), "a mistake behind FALSE is still one");
    }

    #[test]
    fn depth_is_limited_and_long_chains_are_flat() {
        let nested = format!("{}x = 1{}", "(".repeat(5_000), ")".repeat(5_000));
        assert_eq!(Predicate::parse(&nested).unwrap_err().kind, ErrorKind::Usage);
        let negated = format!("{}x = 1", "NOT ".repeat(900));
        assert_eq!(Predicate::parse(&negated).unwrap_err().kind, ErrorKind::Usage);
        let signs = format!("x = {}1", "- ".repeat(5_000));
        assert_eq!(Predicate::parse(&signs).unwrap_err().kind, ErrorKind::Usage);
        let chain = vec!["x = 1"; 400].join(" OR ");
        is(&chain, Value::Int(1), true);
        let list = (0..20_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
        is(&format!("x IN ({list})"), Value::Int(19_999), true);
    }

    #[test]
    fn a_partition_is_a_predicate() {
        let columns = ["a".to_owned(), "b".to_owned()];
        let row = |name: &str| match name {
            "a" => Some(Value::String("x/y=z".into())),
            "b" => Some(Value::Null),
            _ => None,
        };
        let yes = Predicate::from_partition("a=x/y=z/b=∅", &columns).unwrap();
        assert_eq!(yes.evaluate(&row).unwrap(), Some(true));
        let empty = Predicate::from_partition("a=\"\"/b=∅", &columns).unwrap();
        assert_eq!(empty.evaluate(&row).unwrap(), Some(false));
        assert_eq!(Predicate::from_partition("c=1", &columns).unwrap_err().kind, ErrorKind::Usage);
    }
}
