//! Binding of function calls: what each takes and gives.

use super::bind::{as_condition, compare, implicit, to_common, usage};
use super::coerce::{DATE, DOUBLE, INT, LONG, TEXT, TIMESTAMP, Type, wider};
use super::functions::Function;
use super::node::Node;
use super::typed::{Kind, Typed};
use crate::error::Result;
use crate::predicate::Comparison;
use crate::table::Value;
use crate::table::schema::PrimitiveType;

/// As a text argument.
pub(super) fn text(node: &Node, value: Typed) -> Result<Typed> {
    implicit(node, value, &TEXT)
}

/// `node` is the call, for messages.
pub(super) fn bind_call(node: &Node, function: Function, arguments: Vec<Typed>) -> Result<Typed> {
    use Function as F;
    let called =
        |arguments: Vec<Typed>, t: Type| Ok(Typed::failing(Kind::Call(function, arguments), t, node.to_string()));
    let typed = |wanted: &[Type]| -> Result<Vec<Typed>> {
        arguments.iter().cloned().zip(wanted).map(|(value, t)| implicit(node, value, t)).collect()
    };
    match function {
        F::Upper | F::Lower | F::Trim | F::Ltrim | F::Rtrim | F::Replace => called(typed(&[TEXT, TEXT, TEXT])?, TEXT),
        F::Length => called(typed(&[TEXT])?, INT),
        F::Substring => called(typed(&[TEXT, INT, INT])?, TEXT),
        F::Left | F::Right => called(typed(&[TEXT, INT])?, TEXT),
        F::Lpad | F::Rpad => called(typed(&[TEXT, INT, TEXT])?, TEXT),
        F::Concat => called(arguments.into_iter().map(|value| text(node, value)).collect::<Result<_>>()?, TEXT),
        F::Year | F::Quarter | F::Month | F::Day => called(typed(&[DATE])?, INT),
        F::DateAdd | F::DateSub | F::AddMonths => called(typed(&[DATE, INT])?, DATE),
        F::DateDiff => called(typed(&[DATE, DATE])?, INT),
        F::LastDay => called(typed(&[DATE])?, DATE),
        F::DateTrunc => called(typed(&[TEXT, TIMESTAMP])?, TIMESTAMP),
        F::Trunc if arguments.first().is_some_and(|x| x.t.is_number()) => {
            Err(usage(node, "trunc of a number is not supported").hint("floor, ceil and round are."))
        }
        F::Trunc => called(typed(&[DATE, TEXT])?, DATE),
        F::Coalesce => {
            let (values, t) = to_common(node, arguments)?;
            called(values, t)
        }
        F::Greatest | F::Least => {
            let mut t = Type::Void;
            for value in &arguments {
                t = wider(&t, &value.t).filter(|t| !matches!(t, Type::Nested(_))).ok_or_else(|| {
                    usage(node, format!("a {t} and a {} have no common type", value.t)).hint("CAST one of them.")
                })?;
            }
            let of_call = node.to_string();
            called(arguments.into_iter().map(|value| value.into_type(&t, &of_call)).collect(), t)
        }
        F::If | F::Nvl2 => {
            let mut arguments = arguments;
            let values = arguments.split_off(1);
            let Some(first) = arguments.pop() else { return Err(usage(node, "an argument is missing")) };
            let test = if function == F::If {
                as_condition(node, first)?
            } else {
                let is_null = Typed::new(Kind::IsNull(first.boxed()), super::coerce::BOOLEAN);
                Typed::new(Kind::Not(is_null.boxed()), super::coerce::BOOLEAN)
            };
            let (mut values, t) = to_common(node, values)?;
            let (Some(no), Some(yes)) = (values.pop(), values.pop()) else {
                return Err(usage(node, "an argument is missing"));
            };
            Ok(Typed::new(Kind::Case(vec![(test, yes)], Some(no.boxed())), t))
        }
        F::Nullif => {
            let [a, b] = two(node, arguments)?;
            let t = a.t.clone();
            let same = compare(node, Comparison::Eq, a.clone(), b)?;
            let null = Typed::literal(Value::Null, t.clone());
            Ok(Typed::new(Kind::Case(vec![(same, null)], Some(a.boxed())), t))
        }
        F::Abs | F::Floor | F::Ceil | F::Round => number(node, function, arguments),
    }
}

fn two(node: &Node, arguments: Vec<Typed>) -> Result<[Typed; 2]> {
    arguments.try_into().map_err(|_| usage(node, "it takes two arguments"))
}

/// Functions of one number: ABS, FLOOR, CEIL and ROUND with its digits.
fn number(node: &Node, function: Function, arguments: Vec<Typed>) -> Result<Typed> {
    let text = node.to_string();
    let mut arguments = arguments.into_iter();
    let Some(value) = arguments.next() else { return Err(usage(node, "an argument is missing")) };
    let value = if value.t == TEXT || value.t == Type::Void { value.into_type(&DOUBLE, &text) } else { value };
    if !value.t.is_number() {
        return Err(usage(node, format!("a {} is no number", value.t)));
    }
    let decimal = match value.t {
        Type::Plain(PrimitiveType::Decimal { precision, scale }) => Some((precision, scale)),
        _ => None,
    };
    let mut taken = Vec::new();
    let t = match (function, decimal) {
        (Function::Abs, _) => value.t.clone(),
        (Function::Round, decimal) => {
            let digits = match arguments.next().map(|digits| implicit(node, digits, &INT)).transpose()? {
                None => 0,
                Some(digits) => match digits.as_literal() {
                    Some(Value::Int(n)) => (*n).clamp(-77, 77) as i32,
                    _ => return Err(usage(node, "the digits of ROUND must be a number, not a column")),
                },
            };
            taken.push(Typed::literal(Value::Int(digits.into()), INT));
            decimal.map_or(value.t.clone(), |(precision, scale)| rounded(precision, scale, digits))
        }
        (_, Some((precision, scale))) => {
            let precision = if scale == 0 { precision } else { (precision - scale + 1).min(38) };
            Type::Plain(PrimitiveType::Decimal { precision, scale: 0 })
        }
        (_, None) => LONG,
    };
    taken.insert(0, value);
    Ok(Typed::failing(Kind::Call(function, taken), t, text))
}

/// Rounding may need one more digit before the point.
fn rounded(precision: u8, scale: u8, digits: i32) -> Type {
    let whole = i32::from(precision) - i32::from(scale) + 1;
    let (precision, scale) = if digits < 0 {
        (whole.max(1 - digits), 0)
    } else {
        let scale = digits.min(i32::from(scale));
        (whole + scale, scale)
    };
    Type::Plain(PrimitiveType::Decimal { precision: precision.clamp(1, 38) as u8, scale: scale as u8 })
}
