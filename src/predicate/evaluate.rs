//! Three-valued evaluation of a predicate for one row.

use super::ast::{Comparison, Expr, Operand};
use super::compare::{compare, kind};
use crate::error::{Error, ErrorKind, Result};
use crate::table::Value;

type Lookup<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// Every part is evaluated, also where the result is already known, so that a
/// mistake in a predicate does not hide behind the rows that it is tried on.
pub(super) fn evaluate(e: &Expr, lookup: Lookup<'_>) -> Result<Option<bool>> {
    match e {
        Expr::And(parts) => parts.iter().try_fold(Some(true), |so_far, part| Ok(and(so_far, evaluate(part, lookup)?))),
        Expr::Or(parts) => parts.iter().try_fold(Some(false), |so_far, part| Ok(or(so_far, evaluate(part, lookup)?))),
        Expr::Not(inner) => Ok(evaluate(inner, lookup)?.map(|b| !b)),
        Expr::Is(inner, wanted) => Ok(Some(evaluate(inner, lookup)? == *wanted)),
        Expr::IsNull(operand) => Ok(Some(value(operand, lookup)?.is_null())),
        Expr::Truth(operand) => match value(operand, lookup)? {
            Value::Null => Ok(None),
            Value::Boolean(b) => Ok(Some(b)),
            other => Err(Error::new(ErrorKind::Usage, format!("a {} is no condition", kind(&other)))),
        },
        Expr::Compare { left, op, right } => compared(left, *op, right, lookup),
        Expr::In { operand, list } => list
            .iter()
            .try_fold(Some(false), |so_far, item| Ok(or(so_far, compared(operand, Comparison::Eq, item, lookup)?))),
        Expr::Like { operand, pattern } => match value(operand, lookup)? {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(pattern.matches(&text))),
            Value::Nested(_) => Err(Error::new(ErrorKind::Usage, "LIKE cannot be applied to a nested value")),
            other => Ok(Some(pattern.matches(&other.plain()))),
        },
    }
}

fn compared(left: &Operand, op: Comparison, right: &Operand, lookup: Lookup<'_>) -> Result<Option<bool>> {
    let (a, b) = (value(left, lookup)?, value(right, lookup)?);
    if op == Comparison::NullSafeEq && (a.is_null() || b.is_null()) {
        return Ok(Some(a.is_null() && b.is_null()));
    }
    let order = compare(&a, &b, matches!(left, Operand::Column(_)), matches!(right, Operand::Column(_)))?;
    Ok(match (order, op) {
        // A cell that cannot be read as the other side's type counts as NULL.
        (None, Comparison::NullSafeEq) => Some(false),
        (order, op) => order.map(|o| op.holds(o)),
    })
}

fn value(operand: &Operand, lookup: Lookup<'_>) -> Result<Value> {
    match operand {
        Operand::Literal(value) => Ok(value.clone()),
        Operand::Column(name) => lookup(name).ok_or_else(|| unknown_column(name, &[])),
    }
}

/// `known` are the names that there are, where they can be told.
pub(super) fn unknown_column(name: &str, known: &[&str]) -> Error {
    let names = match known {
        [] => "`show TABLE` lists the columns".to_owned(),
        known => format!("the columns are {}", known.join(", ")),
    };
    Error::new(ErrorKind::Usage, format!("there is no column '{name}'"))
        .hint(format!("Values of text go in 'single quotes'; {names}."))
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    and(a.map(|x| !x), b.map(|x| !x)).map(|x| !x)
}
