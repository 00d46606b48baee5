//! From SQL text to [`Expr`], by way of the Databricks dialect of sqlparser.

use deltalake::datafusion::sql::sqlparser::ast::{self as sql, BinaryOperator, UnaryOperator};
use deltalake::datafusion::sql::sqlparser::dialect::DatabricksDialect;
use deltalake::datafusion::sql::sqlparser::parser::{Parser, ParserError};
use deltalake::datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::ast::{Comparison, Expr, Operand, Pattern};
use crate::error::{Error, ErrorKind, Result};
use crate::table::schema::PrimitiveType;
use crate::table::value::{Value, parse_timestamp};

/// Parentheses and NOTs may nest so deep.
const MAX_DEPTH: usize = 200;
/// A chain `a OR b OR c …` is a tree as deep as it is long in the parser's
/// hands, and dropping it takes the stack. IN lists are flat and not concerned.
const MAX_OPERATORS: usize = 1000;

pub(super) fn parse(text: &str) -> Result<Expr> {
    let tokens =
        Tokenizer::new(&DatabricksDialect {}, text).tokenize_with_location().map_err(|e| usage(text, e.to_string()))?;
    let operators = tokens.iter().filter(|t| !is_plain(&t.token)).count();
    if operators > MAX_OPERATORS {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("the expression has {operators} operators; {MAX_OPERATORS} are the most"),
        )
        .hint("Write long lists of values with IN (…)."));
    }
    let mut parser =
        Parser::new(&DatabricksDialect {}).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens);
    let parsed = parser.parse_expr().map_err(|e| from_parser(text, e))?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        let at = rest.span.start;
        return Err(usage(text, format!("'{}' at column {} is one too many", rest.token, at.column)));
    }
    condition(&parsed).map_err(|said| usage(text, said))
}

/// Tokens that make the parser's tree no deeper.
fn is_plain(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            word.quote_style.is_some() || !matches!(word.value.to_ascii_uppercase().as_str(), "AND" | "OR" | "NOT")
        }
        Token::Whitespace(_) | Token::Comma | Token::RParen | Token::Period | Token::EOF => true,
        Token::Number(..) | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) => true,
        // A sign before a number in a list nests by one, not by one more each.
        Token::Minus | Token::Plus => true,
        _ => false,
    }
}

fn from_parser(text: &str, error: ParserError) -> Error {
    match error {
        ParserError::RecursionLimitExceeded => {
            Error::new(ErrorKind::Usage, format!("the expression is nested deeper than {MAX_DEPTH} levels"))
        }
        ParserError::ParserError(said) | ParserError::TokenizerError(said) => usage(text, said),
    }
}

fn usage(text: &str, said: String) -> Error {
    let shown: String = text.chars().take(120).collect();
    Error::new(ErrorKind::Usage, format!("cannot understand the expression `{shown}`: {said}"))
        .hint("Write it as in SQL: fiscal_period = '2026006' AND amount > 0; quote names with `backticks`.")
}

/// Reasons are plain texts here; [`parse`] puts the expression before them.
type Parsed<T> = std::result::Result<T, String>;

fn condition(e: &sql::Expr) -> Parsed<Expr> {
    Ok(match e {
        sql::Expr::Nested(inner) => condition(inner)?,
        sql::Expr::BinaryOp { op: BinaryOperator::And, .. } => Expr::And(chain(e, &BinaryOperator::And)?),
        sql::Expr::BinaryOp { op: BinaryOperator::Or, .. } => Expr::Or(chain(e, &BinaryOperator::Or)?),
        sql::Expr::BinaryOp { left, op, right } => {
            let op = comparison(op).ok_or_else(|| format!("the operator {op} is not supported"))?;
            Expr::Compare { left: operand(left)?, op, right: operand(right)? }
        }
        sql::Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => {
            Expr::Not(Box::new(condition(expr)?))
        }
        sql::Expr::IsNull(inner) => Expr::IsNull(operand(inner)?),
        sql::Expr::IsNotNull(inner) => not(Expr::IsNull(operand(inner)?)),
        sql::Expr::IsDistinctFrom(left, right) => not(null_safe(left, right)?),
        sql::Expr::IsNotDistinctFrom(left, right) => null_safe(left, right)?,
        sql::Expr::IsTrue(inner) => Expr::Is(Box::new(condition(inner)?), Some(true)),
        sql::Expr::IsFalse(inner) => Expr::Is(Box::new(condition(inner)?), Some(false)),
        sql::Expr::IsUnknown(inner) => Expr::Is(Box::new(condition(inner)?), None),
        sql::Expr::IsNotTrue(inner) => not(Expr::Is(Box::new(condition(inner)?), Some(true))),
        sql::Expr::IsNotFalse(inner) => not(Expr::Is(Box::new(condition(inner)?), Some(false))),
        sql::Expr::IsNotUnknown(inner) => not(Expr::Is(Box::new(condition(inner)?), None)),
        sql::Expr::InList { expr, list, negated } => {
            let list = list.iter().map(operand).collect::<Parsed<_>>()?;
            negate(*negated, Expr::In { operand: operand(expr)?, list })
        }
        sql::Expr::Between { expr, negated, low, high } => {
            let value = operand(expr)?;
            let from = Expr::Compare { left: value.clone(), op: Comparison::GtEq, right: operand(low)? };
            let to = Expr::Compare { left: value, op: Comparison::LtEq, right: operand(high)? };
            negate(*negated, Expr::And(vec![from, to]))
        }
        sql::Expr::Like { negated, any: false, expr, pattern, escape_char } => {
            let escape = match escape_char.as_ref().map(|v| v.clone().into_string()) {
                None => '\\',
                Some(Some(text)) if text.chars().count() == 1 => text.chars().next().unwrap_or('\\'),
                Some(_) => return Err("ESCAPE takes one character in quotes".into()),
            };
            let Operand::Literal(Value::String(text)) = operand(pattern)? else {
                return Err("LIKE takes a pattern in quotes".into());
            };
            let pattern = Pattern::parse(&text, escape)
                .ok_or_else(|| format!("in the pattern '{text}', {escape} stands before nothing to escape"))?;
            negate(*negated, Expr::Like { operand: operand(expr)?, pattern })
        }
        sql::Expr::Identifier(_) | sql::Expr::CompoundIdentifier(_) => Expr::Truth(operand(e)?),
        sql::Expr::Value(value) if matches!(value.value, sql::Value::Boolean(_) | sql::Value::Null) => {
            Expr::Truth(operand(e)?)
        }
        sql::Expr::Value(_) => return Err(format!("{e} is a value and no condition")),
        other => return Err(format!("`{}` is not supported", short(other))),
    })
}

fn not(e: Expr) -> Expr {
    Expr::Not(Box::new(e))
}

fn negate(negated: bool, e: Expr) -> Expr {
    if negated { not(e) } else { e }
}

fn null_safe(left: &sql::Expr, right: &sql::Expr) -> Parsed<Expr> {
    Ok(Expr::Compare { left: operand(left)?, op: Comparison::NullSafeEq, right: operand(right)? })
}

/// The conditions of a left-deep chain of one operator, without recursion
/// down the chain.
fn chain(e: &sql::Expr, operator: &BinaryOperator) -> Parsed<Vec<Expr>> {
    let mut parts = Vec::new();
    let mut rest = e;
    while let sql::Expr::BinaryOp { left, op, right } = rest {
        if op != operator {
            break;
        }
        parts.push(condition(right)?);
        rest = left;
    }
    parts.push(condition(rest)?);
    parts.reverse();
    Ok(parts)
}

fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    Some(match op {
        BinaryOperator::Eq => Comparison::Eq,
        BinaryOperator::NotEq => Comparison::NotEq,
        BinaryOperator::Lt => Comparison::Lt,
        BinaryOperator::LtEq => Comparison::LtEq,
        BinaryOperator::Gt => Comparison::Gt,
        BinaryOperator::GtEq => Comparison::GtEq,
        BinaryOperator::Spaceship => Comparison::NullSafeEq,
        _ => return None,
    })
}

fn operand(e: &sql::Expr) -> Parsed<Operand> {
    Ok(match e {
        sql::Expr::Nested(inner) => operand(inner)?,
        sql::Expr::Identifier(name) => Operand::Column(name.value.clone()),
        sql::Expr::CompoundIdentifier(parts) => {
            Operand::Column(parts.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join("."))
        }
        sql::Expr::Value(value) => Operand::Literal(literal(&value.value)?),
        sql::Expr::UnaryOp { op: sign @ (UnaryOperator::Minus | UnaryOperator::Plus), expr } => {
            let value = operand(expr)?;
            match (sign, value) {
                (UnaryOperator::Plus, Operand::Literal(v)) if v.is_numeric() => Operand::Literal(v),
                (_, Operand::Literal(Value::Decimal { unscaled, scale })) => {
                    Operand::Literal(Value::Decimal { unscaled: -unscaled, scale })
                }
                (_, Operand::Literal(Value::Double(x))) => Operand::Literal(Value::Double(-x)),
                _ => return Err(format!("a sign goes before a number, not before `{}`", short(expr))),
            }
        }
        sql::Expr::TypedString(typed) => {
            let text = typed.value.clone().into_string().ok_or("a typed literal takes a text in quotes")?;
            Operand::Literal(typed_literal(&typed.data_type, &text)?)
        }
        other => return Err(format!("`{}` is neither a column nor a value", short(other))),
    })
}

fn literal(value: &sql::Value) -> Parsed<Value> {
    Ok(match value {
        sql::Value::Null => Value::Null,
        sql::Value::Boolean(b) => Value::Boolean(*b),
        sql::Value::Number(text, _) => number(text).ok_or_else(|| format!("{text} is no number"))?,
        sql::Value::SingleQuotedString(s) | sql::Value::DoubleQuotedString(s) => Value::String(s.clone()),
        sql::Value::HexStringLiteral(hex) => {
            Value::Binary(bytes(hex).ok_or_else(|| format!("X'{hex}' is not hexadecimal"))?)
        }
        other => return Err(format!("the literal {other} is not supported")),
    })
}

/// SQL's rule: with an exponent a double, without one an exact decimal.
pub(super) fn number(text: &str) -> Option<Value> {
    if text.contains(['e', 'E']) {
        return text.parse().ok().map(Value::Double);
    }
    let scale = u8::try_from(text.split_once('.').map_or(0, |(_, fraction)| fraction.len())).ok()?;
    if scale > 38 {
        return None;
    }
    let unscaled = crate::table::number::parse_decimal(text, 38, scale)?;
    Some(Value::Decimal { unscaled, scale })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn typed_literal(data_type: &sql::DataType, text: &str) -> Parsed<Value> {
    let parsed = match data_type {
        sql::DataType::Date => Value::parse_partition(Some(text), &PrimitiveType::Date).filter(|v| !v.is_null()),
        sql::DataType::Timestamp(..) => parse_timestamp(text).map(Value::Timestamp),
        sql::DataType::TimestampNtz(..) => parse_timestamp(text).map(Value::TimestampNtz),
        other => return Err(format!("literals of type {other} are not supported")),
    };
    parsed.ok_or_else(|| format!("'{text}' is no {data_type}"))
}

fn short(e: &sql::Expr) -> String {
    let text = e.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(59).chain(['…']).collect() }
}
