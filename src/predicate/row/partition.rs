//! Conditions that choose partitions by their values.

use super::RowExpr;
use super::node::Node;
use crate::predicate::Comparison;
use crate::table::Value;
use crate::table::schema::PrimitiveType;

impl RowExpr {
    /// True exactly where each column has its value: (column, its type, value).
    /// NULL is a value like any other; texts are typed, so that no cast decides.
    pub fn of_values(values: &[(String, PrimitiveType, Value)]) -> RowExpr {
        let mut terms: Vec<Node> = values
            .iter()
            .map(|(name, t, value)| {
                let column = Node::Column { side: None, name: name.clone() }.boxed();
                match value {
                    Value::Null => Node::IsNull(column),
                    value => Node::Compare(Comparison::Eq, column, literal(value, t).boxed()),
                }
            })
            .collect();
        RowExpr::from_node(if terms.len() == 1 { terms.remove(0) } else { Node::And(terms) })
    }

    /// True where one of the conditions is; `None` where there is none.
    pub fn any(mut conditions: Vec<RowExpr>) -> Option<RowExpr> {
        match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(RowExpr::from_node(Node::Or(conditions.into_iter().map(|c| c.node).collect()))),
        }
    }

    /// A NULL of a type.
    pub fn null_of(t: &PrimitiveType) -> RowExpr {
        RowExpr::from_node(Node::Cast {
            value: Node::Literal(Value::Null, None).boxed(),
            to: t.clone(),
            lenient: false,
        })
    }

    /// A column of one of the two rows.
    pub fn column(side: super::Side, name: &str) -> RowExpr {
        RowExpr::from_node(Node::Column { side: Some(side), name: name.to_owned() })
    }
}

/// NaN and the infinities have no literal of their own.
fn literal(value: &Value, t: &PrimitiveType) -> Node {
    let odd = match value {
        Value::Float(x) => !x.is_finite(),
        Value::Double(x) => !x.is_finite(),
        _ => false,
    };
    if odd {
        let text = Node::Literal(Value::String(value.plain()), Some(PrimitiveType::String));
        return Node::Cast { value: text.boxed(), to: t.clone(), lenient: false };
    }
    Node::Literal(value.clone(), Some(t.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::{Scope, Side};
    use crate::table::schema::{DataType, Field, Schema};

    /// The text must be read back as the same condition, and hold for the
    /// value that it was made of and for no other.
    #[test]
    fn a_partition_is_chosen_by_its_own_text() {
        use PrimitiveType::{
            Boolean, Byte, Date, Decimal, Double, Float, Integer, Long, String, Timestamp, TimestampNtz,
        };
        let cases = [
            (String, vec![Value::String("O'Neil\\".into()), Value::String(std::string::String::new()), Value::Null]),
            (Long, vec![Value::Int(-7), Value::Int(i64::MAX), Value::Null]),
            (Integer, vec![Value::Int(i32::MIN.into()), Value::Int(1)]),
            (Byte, vec![Value::Int(-128), Value::Int(5)]),
            (Double, vec![Value::Double(f64::NAN), Value::Double(-1.5), Value::Double(f64::INFINITY), Value::Null]),
            (Float, vec![Value::Float(f32::NEG_INFINITY), Value::Float(0.1)]),
            (Decimal { precision: 12, scale: 2 }, vec![Value::Decimal { unscaled: -150, scale: 2 }, Value::Null]),
            (Boolean, vec![Value::Boolean(true), Value::Boolean(false)]),
            (Date, vec![Value::Date(0), Value::Date(20_000), Value::Null]),
            (Timestamp, vec![Value::Timestamp(1_700_000_000_123_456), Value::Timestamp(0)]),
            (TimestampNtz, vec![Value::TimestampNtz(1_700_000_000_123_456), Value::Null]),
        ];
        for (t, values) in cases {
            let field = Field {
                name: "Group By".into(),
                data_type: DataType::Primitive(t.clone()),
                nullable: true,
                metadata: serde_json::Map::new(),
            };
            let (schema, none) = (Schema { fields: vec![field] }, Schema::default());
            for value in &values {
                let made = RowExpr::of_values(&[("Group By".into(), t.clone(), value.clone())]);
                let read = RowExpr::parse(made.text()).unwrap();
                let bound = read.bind(&Scope { source: &none, target: &schema }).unwrap();
                for other in &values {
                    let holds = bound.holds(&|_: Side, _| other.clone()).unwrap();
                    assert_eq!(holds, other == value, "{}: {other}", read.text());
                }
            }
        }
    }
}
