//! Whether a file can hold a row for which a predicate is true, by what is
//! known of its columns: smallest and largest value, NULLs, rows.

use std::cmp::Ordering;

use super::Predicate;
use super::ast::{Comparison, Expr, Operand, Pattern, PatternPart};
use super::compare::compare;
use super::evaluate::unknown_column;
use crate::error::Result;
use crate::table::Value;

/// What is known of one column of a file. `None` is unknown, never "no values".
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bounds {
    /// No value of the column is below, but for NaN.
    pub min: Option<Value>,
    /// No value of the column is above, but for NaN.
    pub max: Option<Value>,
    pub nulls: Option<u64>,
    pub rows: Option<u64>,
}

impl Bounds {
    /// A column that has one value in each of the file's rows.
    pub fn constant(value: &Value, rows: Option<u64>) -> Bounds {
        match value {
            // Even of an unknown number of rows, all are NULL.
            Value::Null => {
                Bounds { nulls: Some(rows.unwrap_or(1)), rows: Some(rows.unwrap_or(1)), ..Bounds::default() }
            }
            value => Bounds { min: Some(value.clone()), max: Some(value.clone()), nulls: Some(0), rows },
        }
    }

    /// The bounds of some values.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Bounds {
        let (mut bounds, mut rows, mut nulls) = (Bounds::default(), 0, 0);
        for value in values {
            rows += 1;
            if value.is_null() {
                nulls += 1;
                continue;
            }
            if bounds.min.as_ref().is_none_or(|min| value < min) {
                bounds.min = Some(value.clone());
            }
            if bounds.max.as_ref().is_none_or(|max| value > max) {
                bounds.max = Some(value.clone());
            }
        }
        Bounds { rows: Some(rows), nulls: Some(nulls), ..bounds }
    }

    fn all_null(&self) -> bool {
        self.nulls.is_some() && self.nulls == self.rows
    }

    fn may_be_null(&self) -> bool {
        self.nulls != Some(0)
    }
}

/// Which of SQL's three answers some row may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcomes {
    yes: bool,
    no: bool,
    unknown: bool,
}

const ANY: Outcomes = Outcomes { yes: true, no: true, unknown: true };
const UNKNOWN: Outcomes = Outcomes { yes: false, no: false, unknown: true };

impl Outcomes {
    fn list(self) -> impl Iterator<Item = Option<bool>> {
        [(self.yes, Some(true)), (self.no, Some(false)), (self.unknown, None)]
            .into_iter()
            .filter_map(|(may, answer)| may.then_some(answer))
    }

    fn of(answers: impl Iterator<Item = Option<bool>>) -> Outcomes {
        answers.fold(Outcomes { yes: false, no: false, unknown: false }, |mut o, answer| {
            match answer {
                Some(true) => o.yes = true,
                Some(false) => o.no = true,
                None => o.unknown = true,
            }
            o
        })
    }

    fn not(self) -> Outcomes {
        Outcomes { yes: self.no, no: self.yes, unknown: self.unknown }
    }

    fn and(self, other: Outcomes) -> Outcomes {
        let both = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Outcomes::of(self.list().flat_map(|a| other.list().map(move |b| both(a, b))))
    }
}

impl Predicate {
    /// Whether some row may satisfy the predicate. `lookup` gives what is known
    /// of a column, `None` for a column that does not exist.
    ///
    /// # Errors
    /// `Usage` for an unknown column.
    pub fn may_match(&self, lookup: &dyn Fn(&str) -> Option<Bounds>) -> Result<bool> {
        Ok(outcomes(self.expr(), lookup)?.yes)
    }
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<Bounds>;

fn outcomes(expr: &Expr, lookup: Lookup<'_>) -> Result<Outcomes> {
    let yes = Outcomes { yes: true, no: false, unknown: false };
    Ok(match expr {
        Expr::And(parts) => parts.iter().try_fold(yes, |all, part| Ok(all.and(outcomes(part, lookup)?)))?,
        Expr::Or(parts) => parts.iter().try_fold(yes, |all, part| Ok(all.and(outcomes(part, lookup)?.not())))?.not(),
        Expr::Not(inner) => outcomes(inner, lookup)?.not(),
        Expr::Is(inner, wanted) => Outcomes::of(outcomes(inner, lookup)?.list().map(|answer| Some(answer == *wanted))),
        Expr::IsNull(operand) => match bounds(operand, lookup)? {
            bounds if bounds.all_null() => yes,
            bounds => Outcomes { yes: bounds.may_be_null(), no: true, unknown: false },
        },
        Expr::Truth(operand) => {
            let bounds = bounds(operand, lookup)?;
            against(&bounds, Comparison::Eq, &Value::Boolean(true), false)
        }
        Expr::Compare { left, op, right } => compared(left, *op, right, lookup)?,
        Expr::In { operand, list } => {
            let none = list
                .iter()
                .try_fold(yes, |all, item| Ok(all.and(compared(operand, Comparison::Eq, item, lookup)?.not())))?;
            none.not()
        }
        Expr::Like { operand, pattern } => like(&bounds(operand, lookup)?, pattern),
    })
}

fn bounds(operand: &Operand, lookup: Lookup<'_>) -> Result<Bounds> {
    match operand {
        Operand::Literal(value) => Ok(Bounds::constant(value, Some(1))),
        Operand::Column(name) => lookup(name).ok_or_else(|| unknown_column(name, &[])),
    }
}

fn compared(left: &Operand, op: Comparison, right: &Operand, lookup: Lookup<'_>) -> Result<Outcomes> {
    Ok(match (left, right) {
        (Operand::Column(_), Operand::Literal(value)) => against(&bounds(left, lookup)?, op, value, true),
        (Operand::Literal(value), Operand::Column(_)) => against(&bounds(right, lookup)?, op.flipped(), value, true),
        // The columns must exist; more is not said of two of them.
        _ => {
            bounds(left, lookup)?;
            bounds(right, lookup)?;
            ANY
        }
    })
}

/// A column with these bounds against a literal.
fn against(column: &Bounds, op: Comparison, literal: &Value, literal_is_text: bool) -> Outcomes {
    let null_safe = op == Comparison::NullSafeEq;
    if literal.is_null() {
        return match null_safe {
            true => Outcomes { yes: column.may_be_null(), no: !column.all_null(), unknown: false },
            false => UNKNOWN,
        };
    }
    if column.all_null() {
        return match null_safe {
            true => Outcomes { yes: false, no: true, unknown: false },
            false => UNKNOWN,
        };
    }
    let nulls = column.may_be_null();
    // A text column is compared as the literal's type, whose order is not the text's.
    let converts = |value: &Value| matches!(value, Value::String(_)) != matches!(literal, Value::String(_));
    let side = |value: &Option<Value>| {
        let value = value.as_ref()?;
        if matches!(value, Value::String(_)) && converts(value) && literal_is_text {
            return None;
        }
        // NaN is above every bound; no statistics tell of it.
        compare(value, literal, true, false).ok().flatten()
    };
    let is_float = |v: &Option<Value>| matches!(v, Some(Value::Float(_) | Value::Double(_)));
    let (low, high) = (side(&column.min), side(&column.max));
    let high = if is_float(&column.max) || is_float(&column.min) { None } else { high };
    let eq = |may: Outcomes| match null_safe {
        // NULL is not equal to a value, and that is known.
        true => Outcomes { no: may.no || nulls, unknown: false, ..may },
        false => Outcomes { unknown: nulls, ..may },
    };
    let (may_less, may_equal, may_greater) = (
        low.is_none_or(Ordering::is_lt),
        low.is_none_or(Ordering::is_le) && high.is_none_or(Ordering::is_ge),
        high.is_none_or(Ordering::is_gt),
    );
    let (yes, no) = match op {
        Comparison::Eq | Comparison::NullSafeEq => (may_equal, may_less || may_greater),
        Comparison::NotEq => (may_less || may_greater, may_equal),
        Comparison::Lt => (may_less, may_equal || may_greater),
        Comparison::LtEq => (may_less || may_equal, may_greater),
        Comparison::Gt => (may_greater, may_less || may_equal),
        Comparison::GtEq => (may_greater || may_equal, may_less),
    };
    let mut found = eq(Outcomes { yes, no, unknown: false });
    if low.is_none() && high.is_none() {
        // A cell that cannot be read as the literal's type is unknown.
        found.unknown = !null_safe;
    }
    found
}

/// A pattern that begins with plain characters is a range of texts.
fn like(column: &Bounds, pattern: &Pattern) -> Outcomes {
    if column.all_null() {
        return UNKNOWN;
    }
    let plain = pattern.0.iter().map_while(|part| match part {
        PatternPart::Char(c) => Some(*c),
        PatternPart::One | PatternPart::Any => None,
    });
    let prefix: String = plain.collect();
    let (Some(Value::String(min)), Some(Value::String(max))) = (&column.min, &column.max) else { return ANY };
    let cut = |text: &str| text.chars().take(prefix.chars().count()).collect::<String>();
    let may = cut(min) <= prefix && cut(max) >= prefix;
    Outcomes { yes: may, no: true, unknown: column.may_be_null() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn may(predicate: &str, values: &[Value]) -> bool {
        let bounds = Bounds::of(values);
        Predicate::parse(predicate).unwrap().may_match(&|name| (name == "x").then(|| bounds.clone())).unwrap()
    }

    #[test]
    fn files_outside_of_the_range_are_skipped() {
        let ints = [Value::Int(10), Value::Int(20)];
        for (predicate, wanted) in [
            ("x = 9", false),
            ("x = 15", true),
            ("x > 20", false),
            ("x >= 20", true),
            ("x < 10", false),
            ("10 > x", false),
            ("x <> 15", true),
            ("x IN (1, 2, 30)", false),
            ("x IN (1, 15)", true),
            ("x BETWEEN 21 AND 30", false),
            ("NOT x >= 5", false),
            ("x IS NULL", false),
            ("x IS NOT NULL", true),
            ("x = 9 OR x = 10", true),
            ("x = 15 AND x > 100", false),
            ("(x = 9) IS NOT TRUE", true),
            ("x <=> NULL", false),
        ] {
            assert_eq!(may(predicate, &ints), wanted, "{predicate}");
        }
        assert!(!may("x = '2024-01-05'", &[Value::Date(19_723), Value::Date(19_724)]));
        assert!(may("x >= DATE '2024-01-02'", &[Value::Date(19_723), Value::Date(19_724)]));
        assert!(!may("x LIKE 'b%'", &[Value::String("aa".into()), Value::String("az".into())]));
        assert!(may("x LIKE 'a%'", &[Value::String("aa".into()), Value::String("b".into())]));
        assert!(may("x LIKE '%z'", &[Value::String("aa".into())]));
        assert!(!may("x = 1", &[Value::Null, Value::Null]));
        assert!(may("x IS NULL", &[Value::Null, Value::Int(1)]));
    }

    #[test]
    fn what_is_not_known_is_read() {
        let nothing = |name: &str| (name == "x").then(Bounds::default);
        for predicate in ["x = 1", "x < 1", "x IS NULL", "x IS NOT NULL", "x LIKE 'a%'", "x <=> 1"] {
            assert!(Predicate::parse(predicate).unwrap().may_match(&nothing).unwrap(), "{predicate}");
        }
        // A text column compares as a number there: "9" > "10" as texts.
        assert!(may("x = 95", &[Value::String("10".into()), Value::String("9".into())]));
        // NaN is greater than every bound.
        assert!(may("x > 100", &[Value::Double(1.0), Value::Double(2.0)]));
        assert!(Predicate::parse("y = 1").unwrap().may_match(&nothing).is_err());
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            1 => Just(Value::Null),
            6 => (-5_i64..5).prop_map(Value::Int),
        ]
    }

    fn condition() -> impl Strategy<Value = String> {
        let op = prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">=", "<=>"]);
        let leaf = prop_oneof![
            (op, -6_i64..6).prop_map(|(op, n)| format!("x {op} {n}")),
            prop::collection::vec(-6_i64..6, 1..4)
                .prop_map(|l| format!("x IN ({})", l.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))),
            Just("x IS NULL".to_owned()),
            Just("x <=> NULL".to_owned()),
            Just("x = NULL".to_owned()),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(|l| format!("({})", l.join(" AND "))),
                prop::collection::vec(inner.clone(), 2..4).prop_map(|l| format!("({})", l.join(" OR "))),
                inner.clone().prop_map(|c| format!("NOT ({c})")),
                inner.prop_map(|c| format!("(({c}) IS NOT TRUE)")),
            ]
        })
    }

    proptest! {
        /// A file with a matching row is never skipped.
        #[test]
        fn no_matching_row_is_lost(values in prop::collection::vec(value(), 1..6), text in condition()) {
            let predicate = Predicate::parse(&text).unwrap();
            let matches = values.iter().any(|v| predicate.evaluate(&|_| Some(v.clone())).unwrap() == Some(true));
            let bounds = Bounds::of(&values);
            let kept = predicate.may_match(&|_| Some(bounds.clone())).unwrap();
            prop_assert!(kept || !matches, "{} over {:?}", text, values);
        }
    }
}
