//! The predicate language means the same when it is evaluated and when polars
//! runs it.

use partwise::predicate::{Grid, Predicate};
use partwise::table::Value;
use partwise::table::schema::PrimitiveType;
use proptest::prelude::*;

const TYPES: &[(&str, PrimitiveType)] = &[
    ("i", PrimitiveType::Long),
    ("f", PrimitiveType::Float),
    ("d", PrimitiveType::Double),
    ("m", PrimitiveType::Decimal { precision: 12, scale: 2 }),
    ("s", PrimitiveType::String),
    ("b", PrimitiveType::Boolean),
    ("day", PrimitiveType::Date),
    ("at", PrimitiveType::Timestamp),
    ("ntz", PrimitiveType::TimestampNtz),
];

/// Few values, so that cells and literals often meet, and the odd ones of each type.
fn value(t: &PrimitiveType) -> BoxedStrategy<Value> {
    let some = match t {
        PrimitiveType::Long => {
            prop_oneof![-3i64..4, Just(i64::MAX), Just(i64::MIN), Just((1 << 53) + 1)].prop_map(Value::Int).boxed()
        }
        PrimitiveType::Float => prop::sample::select(vec![0.0f32, -0.0, 0.1, 1.0, -1.5, f32::NAN, f32::INFINITY])
            .prop_map(Value::Float)
            .boxed(),
        PrimitiveType::Double => {
            prop::sample::select(vec![0.0f64, -0.0, 0.1, 1.0, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
                .prop_map(Value::Double)
                .boxed()
        }
        PrimitiveType::Decimal { .. } => prop_oneof![-160i128..160, Just(999_999_999_999)]
            .prop_map(|unscaled| Value::Decimal { unscaled, scale: 2 })
            .boxed(),
        PrimitiveType::String => prop::sample::select(vec!["", "a", "ab", "abc", "b%", "Ä", "2024-01-01", "1"])
            .prop_map(|s| Value::String(s.into()))
            .boxed(),
        PrimitiveType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        PrimitiveType::Date => (19_721i32..19_725).prop_map(Value::Date).boxed(),
        PrimitiveType::Timestamp => instant().prop_map(Value::Timestamp).boxed(),
        _ => instant().prop_map(Value::TimestampNtz).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 4 => some].boxed()
}

fn instant() -> impl Strategy<Value = i64> {
    (19_721i64..19_725, prop::sample::select(vec![0i64, 1, 43_200_000_000])).prop_map(|(d, us)| d * 86_400_000_000 + us)
}

const LITERALS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1.5",
    "0.1",
    "1.555",
    "-0.005",
    "1e3",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-99999999999999999999999999999999999999",
    "'NaN'",
    "'Infinity'",
    "'a'",
    "''",
    "'1'",
    "'true'",
    "'2024-01-01'",
    "DATE '2024-01-01'",
    "TIMESTAMP '2024-01-01 12:00:00'",
    "TIMESTAMP '2024-01-02 00:00:00Z'",
    "TRUE",
    "FALSE",
];

fn column() -> impl Strategy<Value = String> {
    prop::sample::select(TYPES).prop_map(|(name, _)| name.to_owned())
}

fn literal() -> impl Strategy<Value = String> {
    prop::sample::select(LITERALS).prop_map(str::to_owned)
}

fn leaf() -> impl Strategy<Value = String> {
    let op = || prop::sample::select(vec!["=", "<>", "!=", "<", "<=", ">", ">=", "<=>"]);
    let maybe_not = || prop::sample::select(vec!["", "NOT "]);
    prop_oneof![
        4 => (column(), op(), literal()).prop_map(|(c, op, l)| format!("{c} {op} {l}")),
        1 => (literal(), op(), column()).prop_map(|(l, op, c)| format!("{l} {op} {c}")),
        1 => (column(), op(), column()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        1 => (column(), maybe_not()).prop_map(|(c, not)| format!("{c} IS {not}NULL")),
        1 => (column(), maybe_not(), prop::collection::vec(literal(), 1..4))
            .prop_map(|(c, not, list)| format!("{c} {not}IN ({})", list.join(", "))),
        1 => (column(), maybe_not(), literal(), literal())
            .prop_map(|(c, not, a, b)| format!("{c} {not}BETWEEN {a} AND {b}")),
        1 => (maybe_not(), prop::sample::select(vec!["%", "a%", "%b", "a_c", "", "ab", "b\\%", "%b%"]))
            .prop_map(|(not, pattern)| format!("s {not}LIKE '{pattern}'")),
        1 => Just("b".to_owned()),
    ]
}

fn predicate() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" AND "))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" OR "))),
            inner.clone().prop_map(|p| format!("NOT ({p})")),
            (inner, prop::sample::select(vec!["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN"]))
                .prop_map(|(p, what)| format!("({p}) IS {what}")),
        ]
    })
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    TYPES.iter().map(|(_, t)| value(t)).collect::<Vec<_>>()
}

fn grid(rows: &[Vec<Value>]) -> Grid {
    let columns = TYPES
        .iter()
        .enumerate()
        .map(|(i, (name, t))| ((*name).to_owned(), t.clone(), rows.iter().map(|r| r[i].clone()).collect()))
        .collect();
    Grid::new(columns).expect("the cells have their columns' types")
}

/// The rows that evaluation keeps; `None` where it finds a mistake.
fn evaluated(predicate: &Predicate, rows: &[Vec<Value>]) -> Option<Vec<usize>> {
    let mut kept = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let lookup = |name: &str| TYPES.iter().position(|(n, _)| *n == name).map(|at| row[at].clone());
        match predicate.evaluate(&lookup) {
            Ok(Some(true)) => kept.push(i),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
    Some(kept)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn polars_and_evaluation_agree(text in predicate(), rows in prop::collection::vec(row(), 1..12)) {
        let predicate = Predicate::parse(&text).unwrap();
        // Only polars sees types without values, so a mistake may show there alone.
        if let (Some(wanted), Ok(got)) = (evaluated(&predicate, &rows), grid(&rows).rows(Some(&predicate), None)) {
            prop_assert_eq!(got, wanted, "{}", text);
        }
    }

    #[test]
    fn sorting_is_the_values_own_order(rows in prop::collection::vec(row(), 1..12), at in 0..TYPES.len(), down: bool) {
        let mut wanted: Vec<usize> = (0..rows.len()).collect();
        wanted.sort_by(|a, b| {
            let order = rows[*a][at].cmp(&rows[*b][at]);
            if down { order.reverse() } else { order }
        });
        prop_assert_eq!(grid(&rows).rows(None, Some((TYPES[at].0, down))).unwrap(), wanted);
    }
}

/// The property above is only worth something where the lowering is used.
#[test]
fn ordinary_predicates_are_lowered() {
    let columns: Vec<_> = TYPES.iter().map(|(n, t)| ((*n).to_owned(), t.clone())).collect();
    for text in [
        "i = 1.5 OR i >= '3'",
        "m < 1.555 AND m <> '2'",
        "d > 0 AND f <=> NULL",
        "s LIKE 'a%' AND s IN ('a', 'b')",
        "day BETWEEN '2024-01-01' AND TIMESTAMP '2024-01-02 12:00:00'",
        "at >= DATE '2024-01-01' AND ntz < '2024-01-02 00:00'",
        "NOT b",
    ] {
        assert!(Predicate::parse(text).unwrap().to_polars(&columns).unwrap().is_some(), "{text}");
    }
    for text in ["s LIKE 'a_c'", "s = 1", "m > 1e0"] {
        assert!(Predicate::parse(text).unwrap().to_polars(&columns).unwrap().is_none(), "{text}");
    }
    for text in ["nowhere = 1", "day = 'soon'", "i", "b = 1"] {
        assert!(Predicate::parse(text).unwrap().to_polars(&columns).is_err(), "{text}");
    }
}

#[test]
fn an_unknown_column_gives_the_names_that_there_are() {
    let columns: Vec<_> = TYPES.iter().map(|(n, t)| ((*n).to_owned(), t.clone())).collect();
    let error = Predicate::parse("nowhere = 1").unwrap().to_polars(&columns).unwrap_err();
    assert!(error.message.contains("'nowhere'"), "{}", error.message);
    let hint = error.hint.unwrap();
    assert!(hint.contains("i, f, d, m, s, b, day, at, ntz"), "{hint}");
}
