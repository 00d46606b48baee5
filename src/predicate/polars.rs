//! Lowering to polars expressions, for the frames that people look at.
//!
//! Columns have the type that [`frame_type`] gives them. What polars cannot
//! say exactly as [`Predicate::evaluate`] does is not lowered: `None`.

use ::polars::prelude as pl;
use ::polars::prelude::AnyValue;

use super::Predicate;
use super::ast::{Comparison, Expr, Operand, Pattern, PatternPart};
use super::compare::{compare, decimal_as_f64, kind};
use super::evaluate::unknown_column;
use super::parse::number;
use crate::error::{Error, ErrorKind, Result};
use crate::table::schema::PrimitiveType;
use crate::table::value::{Value, parse_timestamp};

/// Longer IN lists are left to evaluation: they would nest too deep.
const MAX_IN_LIST: usize = 64;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// A frame's columns: name and the table's type.
pub type Columns = [(String, PrimitiveType)];

/// The polars type that holds a column in a frame. Timestamps are microseconds
/// in UTC without a zone; decimals keep their scale in the widest precision.
pub fn frame_type(t: &PrimitiveType) -> pl::DataType {
    match t {
        PrimitiveType::String => pl::DataType::String,
        PrimitiveType::Long | PrimitiveType::Integer | PrimitiveType::Short | PrimitiveType::Byte => {
            pl::DataType::Int64
        }
        PrimitiveType::Float => pl::DataType::Float32,
        PrimitiveType::Double => pl::DataType::Float64,
        PrimitiveType::Decimal { scale, .. } => pl::DataType::Decimal(38, usize::from(*scale)),
        PrimitiveType::Boolean => pl::DataType::Boolean,
        PrimitiveType::Binary => pl::DataType::Binary,
        PrimitiveType::Date => pl::DataType::Date,
        PrimitiveType::Timestamp | PrimitiveType::TimestampNtz => {
            pl::DataType::Datetime(pl::TimeUnit::Microseconds, None)
        }
    }
}

/// A value as a frame's cell.
pub fn cell(value: &Value) -> AnyValue<'static> {
    match value {
        Value::Null => AnyValue::Null,
        Value::Boolean(b) => AnyValue::Boolean(*b),
        Value::Int(i) => AnyValue::Int64(*i),
        Value::Float(x) => AnyValue::Float32(*x),
        Value::Double(x) => AnyValue::Float64(*x),
        Value::Decimal { unscaled, scale } => AnyValue::Decimal(*unscaled, 38, usize::from(*scale)),
        Value::String(s) | Value::Nested(s) => AnyValue::StringOwned(s.as_str().into()),
        Value::Binary(bytes) => AnyValue::BinaryOwned(bytes.clone()),
        Value::Date(days) => AnyValue::Date(*days),
        Value::Timestamp(us) | Value::TimestampNtz(us) => AnyValue::Datetime(*us, pl::TimeUnit::Microseconds, None),
    }
}

/// Finds a column as SQL engines do: exactly, else without regard to case.
pub fn resolve<'a>(columns: &'a Columns, name: &str) -> Option<&'a (String, PrimitiveType)> {
    columns.iter().find(|(n, _)| n == name).or_else(|| columns.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)))
}

fn no_column(name: &str, columns: &Columns) -> Error {
    let known: Vec<&str> = columns.iter().map(|(n, _)| n.as_str()).collect();
    unknown_column(name, &known)
}

impl Predicate {
    /// The same condition as a polars expression over a frame with these
    /// columns; `None` where polars has no exact equivalent.
    ///
    /// # Errors
    /// `Usage` for an unknown column or a literal that its column cannot hold.
    pub fn to_polars(&self, columns: &Columns) -> Result<Option<pl::Expr>> {
        // Names are checked first: a part that cannot be lowered must not hide a typing mistake.
        for name in self.columns() {
            resolve(columns, &name).ok_or_else(|| no_column(&name, columns))?;
        }
        lower(self.expr(), columns)
    }
}

fn lower(e: &Expr, columns: &Columns) -> Result<Option<pl::Expr>> {
    Ok(match e {
        Expr::And(parts) => all(parts, columns)?.map(|list| fold(list, pl::Expr::and)),
        Expr::Or(parts) => all(parts, columns)?.map(|list| fold(list, pl::Expr::or)),
        Expr::Not(inner) => lower(inner, columns)?.map(pl::Expr::not),
        Expr::Is(inner, wanted) => lower(inner, columns)?.map(|e| match wanted {
            Some(true) => e.clone().is_not_null().and(e),
            Some(false) => e.clone().is_not_null().and(e.not()),
            None => e.is_null(),
        }),
        Expr::IsNull(Operand::Literal(value)) => Some(pl::lit(value.is_null())),
        Expr::IsNull(Operand::Column(name)) => Some(pl::col(typed(columns, name)?.0.as_str()).is_null()),
        Expr::Truth(Operand::Literal(Value::Boolean(b))) => Some(pl::lit(*b)),
        Expr::Truth(Operand::Literal(Value::Null)) => Some(unknown()),
        Expr::Truth(Operand::Literal(other)) => return Err(no_condition(kind(other))),
        Expr::Truth(Operand::Column(name)) => match typed(columns, name)? {
            (name, PrimitiveType::Boolean) => Some(pl::col(name.as_str())),
            (_, t) => return Err(no_condition(&t.to_string())),
        },
        Expr::Compare { left, op, right } => comparison(left, *op, right, columns)?,
        Expr::In { list, .. } if list.len() > MAX_IN_LIST => None,
        Expr::In { operand, list } => {
            let terms: Result<Option<Vec<pl::Expr>>> =
                list.iter().map(|item| comparison(operand, Comparison::Eq, item, columns)).collect();
            terms?.map(|terms| fold(terms, pl::Expr::or))
        }
        Expr::Like { operand: Operand::Column(name), pattern } => match typed(columns, name)? {
            (name, PrimitiveType::String) => like(pl::col(name.as_str()), pattern),
            _ => None,
        },
        Expr::Like { .. } => None,
    })
}

fn no_condition(what: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("a {what} is no condition"))
}

fn all(parts: &[Expr], columns: &Columns) -> Result<Option<Vec<pl::Expr>>> {
    // Not collect(): the first part that cannot be lowered must not hide an error after it.
    let lowered = parts.iter().map(|part| lower(part, columns)).collect::<Result<Vec<_>>>()?;
    Ok(lowered.into_iter().collect())
}

/// A balanced tree, so that a long chain does not nest as deep as it is long.
fn fold(mut list: Vec<pl::Expr>, join: fn(pl::Expr, pl::Expr) -> pl::Expr) -> pl::Expr {
    while list.len() > 1 {
        let mut next = Vec::with_capacity(list.len().div_ceil(2));
        let mut items = list.into_iter();
        while let Some(first) = items.next() {
            next.push(match items.next() {
                Some(second) => join(first, second),
                None => first,
            });
        }
        list = next;
    }
    list.pop().unwrap_or_else(|| pl::lit(true))
}

fn typed<'a>(columns: &'a Columns, name: &str) -> Result<&'a (String, PrimitiveType)> {
    resolve(columns, name).ok_or_else(|| no_column(name, columns))
}

fn comparison(left: &Operand, op: Comparison, right: &Operand, columns: &Columns) -> Result<Option<pl::Expr>> {
    match (left, right) {
        (Operand::Literal(a), Operand::Literal(b)) if a.is_null() || b.is_null() => {
            Ok(Some(if op == Comparison::NullSafeEq { pl::lit(a.is_null() && b.is_null()) } else { unknown() }))
        }
        (Operand::Literal(a), Operand::Literal(b)) => {
            Ok(compare(a, b, false, false)?.map(|order| pl::lit(op.holds(order))))
        }
        (Operand::Column(name), Operand::Literal(value)) => with_literal(typed(columns, name)?, op, value),
        (Operand::Literal(value), Operand::Column(name)) => with_literal(typed(columns, name)?, op.flipped(), value),
        (Operand::Column(a), Operand::Column(b)) => {
            let ((a, t), (b, u)) = (typed(columns, a)?, typed(columns, b)?);
            if frame_type(t) != frame_type(u) || *t == PrimitiveType::Binary {
                return Ok(None);
            }
            Ok(Some(plain(pl::col(a.as_str()), op, pl::col(b.as_str()))))
        }
    }
}

fn with_literal(column: &(String, PrimitiveType), op: Comparison, value: &Value) -> Result<Option<pl::Expr>> {
    let (name, t) = column;
    let col = || pl::col(name.as_str());
    if value.is_null() {
        return Ok(Some(if op == Comparison::NullSafeEq { col().is_null() } else { unknown() }));
    }
    // A text literal takes the column's type; a text column is compared with texts only.
    let converted = match (value, t) {
        (Value::String(text), PrimitiveType::String) => return Ok(Some(plain(col(), op, pl::lit(text.as_str())))),
        (_, PrimitiveType::String | PrimitiveType::Binary) => return Ok(None),
        (Value::String(text), t) => read_as(text.trim(), t)
            .ok_or_else(|| Error::new(ErrorKind::Usage, format!("'{text}' cannot be read as a {t} for {name}")))?,
        (other, _) => other.clone(),
    };
    let wrong = || {
        Err(Error::new(ErrorKind::Usage, format!("{name} is a {t} and cannot be compared with a {}", kind(&converted))))
    };
    Ok(match (t, &converted) {
        (PrimitiveType::Boolean, Value::Boolean(b)) => Some(plain(col(), op, pl::lit(*b))),
        (PrimitiveType::Float | PrimitiveType::Double, v) if v.is_numeric() => {
            let number = match v {
                Value::Decimal { unscaled, scale } => decimal_as_f64(*unscaled, *scale),
                Value::Double(x) => *x,
                _ => return wrong(),
            };
            Some(plain(col().cast(pl::DataType::Float64), op, pl::lit(number)))
        }
        (PrimitiveType::Decimal { scale, .. }, Value::Decimal { unscaled, scale: own }) => {
            let cell = |v| literal(AnyValue::Decimal(v, 38, usize::from(*scale)), frame_type(t));
            Some(bounded(col(), op, Bound::of(*unscaled, *own, *scale, (-MAX_DECIMAL, MAX_DECIMAL)), cell))
        }
        // The engine divides by a power of ten, which rounds twice.
        (PrimitiveType::Decimal { .. }, Value::Double(_)) => None,
        (PrimitiveType::Date, Value::Date(days)) => Some(plain(col(), op, date(*days))),
        (PrimitiveType::Date, Value::Timestamp(us) | Value::TimestampNtz(us)) => {
            let range = (i128::from(i32::MIN), i128::from(i32::MAX));
            let exact = us.rem_euclid(MICROS_PER_DAY) == 0;
            let bound = Bound::within(i128::from(us.div_euclid(MICROS_PER_DAY)), exact, range);
            Some(bounded(col(), op, bound, |days| date(days as i32)))
        }
        (PrimitiveType::Timestamp | PrimitiveType::TimestampNtz, v) => {
            let us = match v {
                Value::Date(days) => i64::from(*days) * MICROS_PER_DAY,
                Value::Timestamp(us) | Value::TimestampNtz(us) => *us,
                _ => return wrong(),
            };
            let cell = AnyValue::Datetime(us, pl::TimeUnit::Microseconds, None);
            Some(plain(col(), op, literal(cell, frame_type(t))))
        }
        (whole, Value::Decimal { unscaled, scale }) if frame_type(whole) == pl::DataType::Int64 => {
            let range = (i128::from(i64::MIN), i128::from(i64::MAX));
            Some(bounded(col(), op, Bound::of(*unscaled, *scale, 0, range), |v| pl::lit(v as i64)))
        }
        (whole, Value::Double(x)) if frame_type(whole) == pl::DataType::Int64 => {
            Some(plain(col().cast(pl::DataType::Float64), op, pl::lit(*x)))
        }
        _ => return wrong(),
    })
}

fn read_as(text: &str, t: &PrimitiveType) -> Option<Value> {
    match t {
        PrimitiveType::Float | PrimitiveType::Double => Value::parse_partition(Some(text), &PrimitiveType::Double),
        PrimitiveType::Boolean | PrimitiveType::Date => Value::parse_partition(Some(text), t),
        PrimitiveType::Timestamp | PrimitiveType::TimestampNtz => parse_timestamp(text).map(Value::Timestamp),
        PrimitiveType::String | PrimitiveType::Binary => None,
        _ => number(text),
    }
    .filter(|value| !value.is_null())
}

const MAX_DECIMAL: i128 = 10i128.pow(38) - 1;

/// A literal at a column's resolution: the greatest value of the column's type
/// that is not above it, and whether it is that value.
enum Bound {
    At { floor: i128, exact: bool },
    Above,
    Below,
}

impl Bound {
    fn of(unscaled: i128, own: u8, wanted: u8, range: (i128, i128)) -> Bound {
        let factor = 10i128.pow(u32::from(own.abs_diff(wanted)));
        if own > wanted {
            return Bound::within(unscaled.div_euclid(factor), unscaled.rem_euclid(factor) == 0, range);
        }
        match unscaled.checked_mul(factor) {
            Some(value) => Bound::within(value, true, range),
            None if unscaled > 0 => Bound::Above,
            None => Bound::Below,
        }
    }

    fn within(floor: i128, exact: bool, (min, max): (i128, i128)) -> Bound {
        if floor > max {
            Bound::Above
        } else if floor < min {
            Bound::Below
        } else {
            Bound::At { floor, exact }
        }
    }
}

/// Compares a column with a literal that its type may not be able to hold.
fn bounded(col: pl::Expr, op: Comparison, bound: Bound, cell: impl Fn(i128) -> pl::Expr) -> pl::Expr {
    use Comparison::{Eq, Gt, GtEq, Lt, LtEq, NotEq, NullSafeEq};
    match (bound, op) {
        (Bound::At { floor, exact: true }, op) => plain(col, op, cell(floor)),
        (_, NullSafeEq) => pl::lit(false),
        (_, Eq) => constant(col, false),
        (_, NotEq) => constant(col, true),
        (Bound::At { floor, .. }, Lt | LtEq) => plain(col, LtEq, cell(floor)),
        (Bound::At { floor, .. }, Gt | GtEq) => plain(col, Gt, cell(floor)),
        (Bound::Above, Lt | LtEq) | (Bound::Below, Gt | GtEq) => constant(col, true),
        (Bound::Above, Gt | GtEq) | (Bound::Below, Lt | LtEq) => constant(col, false),
    }
}

/// `value` for every cell but NULL, for which it is unknown.
fn constant(col: pl::Expr, value: bool) -> pl::Expr {
    if value { col.is_not_null().or(unknown()) } else { col.is_null().and(unknown()) }
}

fn unknown() -> pl::Expr {
    literal(AnyValue::Null, pl::DataType::Boolean)
}

fn literal(value: AnyValue<'static>, t: pl::DataType) -> pl::Expr {
    pl::lit(pl::Scalar::new(t, value))
}

fn date(days: i32) -> pl::Expr {
    literal(AnyValue::Date(days), pl::DataType::Date)
}

fn plain(left: pl::Expr, op: Comparison, right: pl::Expr) -> pl::Expr {
    match op {
        Comparison::Eq => left.eq(right),
        Comparison::NotEq => left.neq(right),
        Comparison::Lt => left.lt(right),
        Comparison::LtEq => left.lt_eq(right),
        Comparison::Gt => left.gt(right),
        Comparison::GtEq => left.gt_eq(right),
        Comparison::NullSafeEq => left.eq_missing(right),
    }
}

/// Patterns of one piece at most; the others need a regular expression.
fn like(col: pl::Expr, pattern: &Pattern) -> Option<pl::Expr> {
    let text = |parts: &[PatternPart]| -> Option<String> {
        parts.iter().map(|p| if let PatternPart::Char(c) = p { Some(*c) } else { None }).collect()
    };
    Some(match pattern.0.as_slice() {
        [PatternPart::Any] => constant(col, true),
        [PatternPart::Any, rest @ ..] => col.str().ends_with(pl::lit(text(rest)?)),
        [first @ .., PatternPart::Any] => col.str().starts_with(pl::lit(text(first)?)),
        whole => col.eq(pl::lit(text(whole)?)),
    })
}
