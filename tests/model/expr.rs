//! Expressions of the model: a small tree with its own evaluation, and the SQL
//! text that the product is given.

use std::cmp::Ordering;

use partwise::table::Value;

use crate::support::{Kind, Row};

/// Column numbers are those of the delivered row and of the table's.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Source(usize),
    Target(usize),
    Literal(Value, Kind),
    /// `=`, `<>`, `<`, `<=`, `>`, `>=`, `<=>`
    Compare(&'static str, Box<Expr>, Box<Expr>),
    IsNull(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Add(Box<Expr>, Box<Expr>),
    Coalesce(Box<Expr>, Box<Expr>),
    Case(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// Names of the columns of both rows.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    pub source: &'a [String],
    pub target: &'a [String],
}

fn truth(value: Option<bool>) -> Value {
    value.map_or(Value::Null, Value::Boolean)
}

impl Expr {
    /// A row that is not there has NULL in every column.
    pub fn evaluate(&self, source: Option<&Row>, target: Option<&Row>) -> Value {
        let of = |e: &Expr| e.evaluate(source, target);
        match self {
            Expr::Source(at) => source.map_or(Value::Null, |row| row[*at].clone()),
            Expr::Target(at) => target.map_or(Value::Null, |row| row[*at].clone()),
            Expr::Literal(value, _) => value.clone(),
            Expr::Compare("<=>", a, b) => Value::Boolean(of(a) == of(b)),
            Expr::Compare(op, a, b) => {
                let (a, b) = (of(a), of(b));
                if a == Value::Null || b == Value::Null {
                    return Value::Null;
                }
                let order = a.cmp(&b);
                Value::Boolean(match *op {
                    "=" => order == Ordering::Equal,
                    "<>" => order != Ordering::Equal,
                    "<" => order == Ordering::Less,
                    "<=" => order != Ordering::Greater,
                    ">" => order == Ordering::Greater,
                    ">=" => order != Ordering::Less,
                    other => panic!("the model has no {other}"),
                })
            }
            Expr::IsNull(e) => Value::Boolean(of(e) == Value::Null),
            Expr::And(a, b) => truth(match (bool_of(&of(a)), bool_of(&of(b))) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }),
            Expr::Or(a, b) => truth(match (bool_of(&of(a)), bool_of(&of(b))) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }),
            Expr::Not(e) => truth(bool_of(&of(e)).map(|b| !b)),
            Expr::Add(a, b) => match (of(a), of(b)) {
                (Value::Int(a), Value::Int(b)) => Value::Int(a + b),
                (Value::Null, _) | (_, Value::Null) => Value::Null,
                (a, b) => panic!("the model does not add {a:?} and {b:?}"),
            },
            Expr::Coalesce(a, b) => match of(a) {
                Value::Null => of(b),
                value => value,
            },
            Expr::Case(when, then, otherwise) => {
                if of(when) == Value::Boolean(true) {
                    of(then)
                } else {
                    of(otherwise)
                }
            }
        }
    }

    /// Whether it is true; NULL is not.
    pub fn holds(&self, source: Option<&Row>, target: Option<&Row>) -> bool {
        self.evaluate(source, target) == Value::Boolean(true)
    }

    pub fn sql(&self, names: Names<'_>) -> String {
        let of = |e: &Expr| e.sql(names);
        match self {
            Expr::Source(at) => format!("s.`{}`", names.source[*at]),
            Expr::Target(at) => format!("t.`{}`", names.target[*at]),
            Expr::Literal(value, kind) => literal(value, *kind),
            Expr::Compare(op, a, b) => format!("({} {op} {})", of(a), of(b)),
            Expr::IsNull(e) => format!("({} IS NULL)", of(e)),
            Expr::And(a, b) => format!("({} AND {})", of(a), of(b)),
            Expr::Or(a, b) => format!("({} OR {})", of(a), of(b)),
            Expr::Not(e) => format!("(NOT {})", of(e)),
            Expr::Add(a, b) => format!("({} + {})", of(a), of(b)),
            Expr::Coalesce(a, b) => format!("coalesce({}, {})", of(a), of(b)),
            Expr::Case(when, then, otherwise) => {
                format!("CASE WHEN {} THEN {} ELSE {} END", of(when), of(then), of(otherwise))
            }
        }
    }
}

fn bool_of(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Boolean(b) => Some(*b),
        other => panic!("{other:?} is no condition"),
    }
}

/// Whether literals of a kind can be written in SQL here.
pub fn has_literals(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Float
            | Kind::Double
            | Kind::Binary
            | Kind::Timestamp
            | Kind::TimestampNtz
            | Kind::Struct
            | Kind::List
            | Kind::Map
    )
}

/// Spark's text of a value.
pub fn literal(value: &Value, kind: Kind) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Value::Date(_) => format!("DATE '{}'", kind.partition_text(value).expect("a date is no NULL")),
        plain => kind.partition_text(plain).expect("NULL was said"),
    }
}

#[test]
fn the_trees_own_logic_has_three_values() {
    let (null, yes) = (Expr::Literal(Value::Null, Kind::Boolean), Expr::Literal(Value::Boolean(true), Kind::Boolean));
    let one = Box::new(Expr::Literal(Value::Int(1), Kind::Long));
    let unknown = Expr::Compare("=", one.clone(), Box::new(Expr::Target(0)));
    let row = vec![Value::Null];
    assert_eq!(unknown.evaluate(None, Some(&row)), Value::Null);
    assert!(!Expr::Not(Box::new(unknown.clone())).holds(None, Some(&row)));
    assert!(Expr::Or(Box::new(unknown.clone()), Box::new(yes)).holds(None, Some(&row)));
    assert!(Expr::Compare("<=>", Box::new(null), Box::new(Expr::Target(0))).holds(None, Some(&row)));
    assert_eq!(Expr::Coalesce(Box::new(Expr::Target(0)), one).evaluate(None, Some(&row)), Value::Int(1));
    let names = [String::from("k")];
    assert_eq!(unknown.sql(Names { source: &[], target: &names }), "(1 = t.`k`)");
}
