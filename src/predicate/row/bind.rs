//! Binding: columns are found, types are given to every node, casts are put in
//! where Spark puts them.

use super::coerce::{BOOLEAN, DATE, DOUBLE, INT, LONG, TEXT, TIMESTAMP, Type, castable, common, digits, wider};
use super::node::{Arithmetic, Clock, Interval, Node, Side};
use super::numbers;
use super::typed::{Kind, Typed};
use super::{Scope, functions::Function};
use crate::error::{Error, ErrorKind, Result};
use crate::predicate::Comparison;
use crate::predicate::ast::Pattern;
use crate::table::Value;
use crate::table::schema::{PrimitiveType, Schema};

pub(super) fn usage(node: &Node, said: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Usage, format!("`{}`: {said}", short(&node.to_string())))
}

/// An expression's text for a message.
pub(super) fn short(text: &str) -> String {
    if text.chars().count() <= 100 { text.to_owned() } else { text.chars().take(99).chain(['…']).collect() }
}

pub(super) fn bind(node: &Node, scope: &Scope<'_>) -> Result<Typed> {
    Ok(match node {
        Node::Column { side, name } => column(scope, *side, name)?,
        Node::Literal(value, t) => Typed::literal(value.clone(), t.clone().map_or(Type::Void, Type::Plain)),
        Node::Interval(_) => return Err(usage(node, "an interval can only be added to a date or a timestamp")),
        Node::Clock(Clock::Date) => Typed::failing(Kind::Clock, DATE, node.to_string()),
        Node::Clock(Clock::Timestamp) => Typed::failing(Kind::Clock, TIMESTAMP, node.to_string()),
        Node::And(parts) => Typed::new(Kind::And(conditions(parts, scope)?), BOOLEAN),
        Node::Or(parts) => Typed::new(Kind::Or(conditions(parts, scope)?), BOOLEAN),
        Node::Not(inner) => Typed::new(Kind::Not(condition(inner, scope)?.boxed()), BOOLEAN),
        Node::Is(inner, what) => Typed::new(Kind::Is(condition(inner, scope)?.boxed(), *what), BOOLEAN),
        Node::IsNull(inner) => Typed::new(Kind::IsNull(bind(inner, scope)?.boxed()), BOOLEAN),
        Node::Compare(op, a, b) => compare(node, *op, bind(a, scope)?, bind(b, scope)?)?,
        Node::Between(x, low, high) => {
            let x = bind(x, scope)?;
            let from = compare(node, Comparison::GtEq, x.clone(), bind(low, scope)?)?;
            let to = compare(node, Comparison::LtEq, x, bind(high, scope)?)?;
            Typed::new(Kind::And(vec![from, to]), BOOLEAN)
        }
        Node::In(x, list) => in_list(node, bind(x, scope)?, bind_all(list, scope)?)?,
        Node::Like(x, pattern, escape) => like(node, bind(x, scope)?, bind(pattern, scope)?, *escape)?,
        Node::Arithmetic(op, a, b) => arithmetic(node, *op, a, b, scope)?,
        Node::Negative(x) => {
            let x = bind(x, scope)?;
            let t = if x.t == TEXT || x.t == Type::Void { DOUBLE } else { x.t.clone() };
            if !t.is_number() {
                return Err(usage(node, format!("a {t} has no sign")));
            }
            let text = node.to_string();
            Typed::failing(Kind::Negative(x.into_type(&t, &text).boxed()), t, text)
        }
        Node::Case { operand, whens, otherwise } => {
            let operand = operand.as_deref().map(|operand| bind(operand, scope)).transpose()?;
            let mut tests = Vec::with_capacity(whens.len());
            let mut values = Vec::with_capacity(whens.len() + 1);
            for (when, then) in whens {
                tests.push(match &operand {
                    None => condition(when, scope)?,
                    Some(operand) => compare(node, Comparison::Eq, operand.clone(), bind(when, scope)?)?,
                });
                values.push(bind(then, scope)?);
            }
            let has_otherwise = otherwise.is_some();
            values.extend(otherwise.as_deref().map(|value| bind(value, scope)).transpose()?);
            let (mut values, t) = to_common(node, values)?;
            let otherwise = if has_otherwise { values.pop().map(Typed::boxed) } else { None };
            Typed::new(Kind::Case(tests.into_iter().zip(values).collect(), otherwise), t)
        }
        Node::Cast { value, to, lenient } => {
            let value = bind(value, scope)?;
            if !castable(&value.t, to) {
                return Err(usage(node, format!("a {} cannot be cast to {to}", value.t)));
            }
            let t = Type::Plain(to.clone());
            if *lenient {
                Typed::new(Kind::Cast { value: value.boxed(), to: to.clone(), lenient: true }, t)
            } else {
                value.into_type(&t, &node.to_string())
            }
        }
        Node::Call(function, arguments) => super::calls::bind_call(node, *function, bind_all(arguments, scope)?)?,
    })
}

pub(super) fn bind_all(nodes: &[Node], scope: &Scope<'_>) -> Result<Vec<Typed>> {
    nodes.iter().map(|node| bind(node, scope)).collect()
}

fn conditions(nodes: &[Node], scope: &Scope<'_>) -> Result<Vec<Typed>> {
    nodes.iter().map(|node| condition(node, scope)).collect()
}

/// A boolean. A text would be cast, which nobody means.
pub(super) fn condition(node: &Node, scope: &Scope<'_>) -> Result<Typed> {
    let bound = bind(node, scope)?;
    as_condition(node, bound)
}

pub(super) fn as_condition(node: &Node, bound: Typed) -> Result<Typed> {
    match bound.t {
        Type::Plain(PrimitiveType::Boolean) => Ok(bound),
        Type::Void => Ok(Typed::literal(Value::Null, BOOLEAN)),
        t => Err(usage(node, format!("a {t} is no condition")).hint("Compare it: … = …, … IS NOT NULL.")),
    }
}

fn column(scope: &Scope<'_>, side: Option<Side>, name: &str) -> Result<Typed> {
    let find = |side: Side| -> Result<Option<Typed>> {
        let schema = scope.schema(side);
        Ok(position(schema, name)?.map(|at| Typed::new(Kind::Column(side, at), Type::of(&schema.fields[at].data_type))))
    };
    let missing = |place: &str, names: Vec<&str>| {
        Err(Error::new(ErrorKind::Usage, format!("there is no column '{name}' in {place}"))
            .hint(format!("Values of text go in 'single quotes'; the columns are {}.", short(&names.join(", ")))))
    };
    match side {
        Some(side) => match find(side)? {
            Some(found) => Ok(found),
            None => missing(
                if side == Side::Source { "the source (s)" } else { "the table (t)" },
                scope.schema(side).names().collect(),
            ),
        },
        None => match (find(Side::Source)?, find(Side::Target)?) {
            (Some(found), None) | (None, Some(found)) => Ok(found),
            (Some(_), Some(_)) => {
                Err(Error::new(ErrorKind::Usage, format!("'{name}' is ambiguous: the source and the table have it"))
                    .hint(format!("Write s.{name} or t.{name}.")))
            }
            (None, None) => {
                missing("the source or the table", scope.source.names().chain(scope.target.names()).collect())
            }
        },
    }
}

/// Without regard to case, unless one is spelt exactly so.
fn position(schema: &Schema, name: &str) -> Result<Option<usize>> {
    if let Some(at) = schema.index_of(name) {
        return Ok(Some(at));
    }
    let lower = name.to_lowercase();
    let mut found = schema.fields.iter().enumerate().filter(|(_, f)| f.name.to_lowercase() == lower).map(|(at, _)| at);
    match (found.next(), found.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::new(ErrorKind::Usage, format!("'{name}' is ambiguous: columns differ only in case"))),
    }
}

/// All as their common type.
pub(super) fn to_common(node: &Node, values: Vec<Typed>) -> Result<(Vec<Typed>, Type)> {
    let mut t = Type::Void;
    for value in &values {
        t = common(&t, &value.t).ok_or_else(|| {
            usage(node, format!("a {t} and a {} have no common type", value.t)).hint("CAST one of them.")
        })?;
    }
    let text = node.to_string();
    Ok((values.into_iter().map(|value| value.into_type(&t, &text)).collect(), t))
}

/// A whole-number literal beside a decimal counts with its own digits only.
fn narrow(literal: Typed, other: &Type) -> Typed {
    let Kind::Literal(Value::Int(n)) = literal.kind else { return literal };
    if !other.is_decimal() || !literal.t.is_whole() {
        return literal;
    }
    let precision = (n.unsigned_abs().checked_ilog10().unwrap_or(0) + 1) as u8;
    let t = Type::Plain(PrimitiveType::Decimal { precision, scale: 0 });
    Typed::literal(Value::Decimal { unscaled: n.into(), scale: 0 }, t)
}

pub(super) fn compare(node: &Node, op: Comparison, a: Typed, b: Typed) -> Result<Typed> {
    let (a, b) = (narrow(a, &b.t.clone()), b);
    let b = narrow(b, &a.t);
    let refused = || usage(node, format!("a {} cannot be compared with a {}", a.t, b.t));
    let t = common(&a.t, &b.t).ok_or_else(refused)?;
    if matches!(t, Type::Nested(_)) {
        return Err(usage(node, format!("values of type {t} cannot be compared")));
    }
    let text = node.to_string();
    let (a, b) = (a.into_type(&t, &text), b.into_type(&t, &text));
    Ok(Typed::new(Kind::Compare(op, a.boxed(), b.boxed()), BOOLEAN))
}

fn in_list(node: &Node, value: Typed, list: Vec<Typed>) -> Result<Typed> {
    let mut all = vec![value];
    all.extend(list);
    let (mut all, t) = to_common(node, all)?;
    if matches!(t, Type::Nested(_)) {
        return Err(usage(node, format!("values of type {t} cannot be compared")));
    }
    let list = all.split_off(1);
    let Some(value) = all.pop() else { return Err(usage(node, "the list of IN is empty")) };
    // One look-up where every item is known.
    if list.len() > 8 && list.iter().all(|item| item.as_literal().is_some()) {
        let values = || list.iter().filter_map(Typed::as_literal);
        let set = values().filter(|v| !v.is_null()).cloned().collect();
        let has_null = values().any(Value::is_null);
        return Ok(Typed::new(Kind::InSet { value: value.boxed(), set, has_null }, BOOLEAN));
    }
    Ok(Typed::new(Kind::In(value.boxed(), list), BOOLEAN))
}

fn like(node: &Node, value: Typed, pattern: Typed, escape: char) -> Result<Typed> {
    let value = super::calls::text(node, value)?;
    let pattern = super::calls::text(node, pattern)?;
    Ok(match pattern.as_literal() {
        Some(Value::String(text)) => {
            let parsed = Pattern::parse(text, escape).ok_or_else(|| {
                usage(node, format!("in the pattern '{text}' the escape character {escape} stands before nothing"))
            })?;
            Typed::new(Kind::Matches(value.boxed(), parsed), BOOLEAN)
        }
        _ => Typed::failing(Kind::Like(value.boxed(), pattern.boxed(), escape), BOOLEAN, node.to_string()),
    })
}

fn arithmetic(node: &Node, op: Arithmetic, a: &Node, b: &Node, scope: &Scope<'_>) -> Result<Typed> {
    let text = node.to_string();
    match (op, a, b) {
        (Arithmetic::Add, x, Node::Interval(i)) | (Arithmetic::Add, Node::Interval(i), x) => {
            return add_interval(node, bind(x, scope)?, *i);
        }
        (Arithmetic::Subtract, x, Node::Interval(i)) => {
            let negative = match i {
                Interval::Months(n) => n.checked_neg().map(Interval::Months),
                Interval::Days(n) => n.checked_neg().map(Interval::Days),
                Interval::Time(us) => us.checked_neg().map(Interval::Time),
            };
            let interval = negative.ok_or_else(|| usage(node, "the interval is too long"))?;
            return add_interval(node, bind(x, scope)?, interval);
        }
        _ => {}
    }
    let (a, b) = (bind(a, scope)?, bind(b, scope)?);
    let small = |t: &Type| t.is_whole() && *t != LONG;
    match (op, &a.t, &b.t) {
        (Arithmetic::Add, date, n) if *date == DATE && small(n) => {
            return Ok(Typed::failing(Kind::Call(Function::DateAdd, vec![a, b]), DATE, text));
        }
        (Arithmetic::Add, n, date) if *date == DATE && small(n) => {
            return Ok(Typed::failing(Kind::Call(Function::DateAdd, vec![b, a]), DATE, text));
        }
        (Arithmetic::Subtract, date, n) if *date == DATE && small(n) => {
            return Ok(Typed::failing(Kind::Call(Function::DateSub, vec![a, b]), DATE, text));
        }
        _ => {}
    }
    let (a, b) = (narrow(a, &b.t.clone()), b);
    let b = narrow(b, &a.t);
    let refused = |a: &Type, b: &Type| {
        let hint =
            if *a == DATE && *b == DATE { "datediff(a, b) gives the days between dates." } else { "CAST one of them." };
        usage(node, format!("{} cannot be applied to a {a} and a {b}", op.symbol())).hint(hint)
    };
    if a.t == TEXT && (b.t == TEXT || b.t == Type::Void) || b.t == TEXT && a.t == Type::Void {
        return Err(refused(&a.t, &b.t));
    }
    let t = common(&a.t, &b.t).ok_or_else(|| refused(&a.t, &b.t))?;
    // Two NULLs are doubles, as is every quotient that is no decimal.
    let t = if t == Type::Void { DOUBLE } else { t };
    if !t.is_number() {
        return Err(refused(&a.t, &b.t));
    }
    let operation =
        |a: Typed, b: Typed, t: Type| Ok(Typed::failing(Kind::Arithmetic(op, a.boxed(), b.boxed()), t, text.clone()));
    if t.is_decimal() {
        let exact = |x: Typed| -> Typed {
            match x.t.plain().and_then(digits) {
                Some((precision, scale)) => {
                    x.into_type(&Type::Plain(PrimitiveType::Decimal { precision, scale }), &text)
                }
                None => x.into_type(&t, &text),
            }
        };
        let (a, b) = (exact(a), exact(b));
        let (Some(da), Some(db)) = (a.t.plain().and_then(digits), b.t.plain().and_then(digits)) else {
            return Err(refused(&a.t, &b.t));
        };
        return operation(a, b, Type::Plain(numbers::result_type(op, da, db)));
    }
    match op {
        Arithmetic::Divide => operation(a.into_type(&DOUBLE, &text), b.into_type(&DOUBLE, &text), DOUBLE),
        Arithmetic::WholeDivide if t.is_whole() => {
            operation(a.into_type(&LONG, &text), b.into_type(&LONG, &text), LONG)
        }
        Arithmetic::WholeDivide => Err(refused(&a.t, &b.t)),
        _ => operation(a.into_type(&t, &text), b.into_type(&t, &text), t),
    }
}

fn add_interval(node: &Node, x: Typed, interval: Interval) -> Result<Typed> {
    let text = node.to_string();
    let t = match (&x.t, interval) {
        (t, Interval::Months(_) | Interval::Days(_)) if *t == DATE => DATE,
        (t, _) if *t == DATE || *t == TIMESTAMP => TIMESTAMP,
        (Type::Plain(PrimitiveType::TimestampNtz), _) => x.t.clone(),
        (t, _) => {
            return Err(
                usage(node, format!("an interval cannot be added to a {t}")).hint("CAST it to DATE or TIMESTAMP.")
            );
        }
    };
    let x = x.into_type(&t, &text);
    Ok(Typed::failing(Kind::AddInterval(x.boxed(), interval), t, text))
}

/// Not a cast but a promise: the value is taken as a type that an argument wants.
pub(super) fn implicit(node: &Node, value: Typed, to: &Type) -> Result<Typed> {
    let fits = match (&value.t, to) {
        (from, to) if from == to => true,
        (Type::Void, _) => true,
        (Type::Nested(_), _) => false,
        (Type::Plain(PrimitiveType::Binary), _) => false,
        (_, Type::Plain(PrimitiveType::String)) => true,
        (Type::Plain(PrimitiveType::String), Type::Plain(_)) => true,
        (from, to) if *to == DATE => {
            matches!(from.plain(), Some(PrimitiveType::Timestamp | PrimitiveType::TimestampNtz))
        }
        (from, to) if *to == TIMESTAMP => *from == DATE || matches!(from.plain(), Some(PrimitiveType::TimestampNtz)),
        (from, to) if *to == INT => wider(from, to).is_some_and(|t| t == INT),
        (from, to) if *to == DOUBLE => from.is_number(),
        _ => false,
    };
    if fits {
        Ok(value.into_type(to, &node.to_string()))
    } else {
        Err(usage(node, format!("a {} cannot be taken as a {to}", value.t)))
    }
}
