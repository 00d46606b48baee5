use super::*;
use crate::error::ErrorKind;
use crate::table::schema::Field;

fn field(name: &str, t: PrimitiveType) -> Field {
    Field { name: name.into(), data_type: DataType::Primitive(t), nullable: true, metadata: Default::default() }
}

/// s: id int, amount decimal(10,2), name string; t: id long, Total double, name string.
fn schemas() -> (Schema, Schema) {
    let money = PrimitiveType::Decimal { precision: 10, scale: 2 };
    let source = vec![
        field("id", PrimitiveType::Integer),
        field("amount", money),
        field("name", PrimitiveType::String),
        field("at", PrimitiveType::Timestamp),
    ];
    let target = vec![
        field("id", PrimitiveType::Long),
        field("Total", PrimitiveType::Double),
        field("name", PrimitiveType::String),
    ];
    (Schema { fields: source }, Schema { fields: target })
}

fn bind(text: &str) -> Result<Bound> {
    let (source, target) = schemas();
    RowExpr::parse(text)?.bind(&Scope { source: &source, target: &target })
}

fn cell(side: Side, at: usize) -> Value {
    match (side, at) {
        (Side::Source, 0) => Value::Int(7),
        (Side::Source, 1) => Value::Decimal { unscaled: 1234, scale: 2 },
        (Side::Target, 0) => Value::Int(8),
        (Side::Target, 1) => Value::Double(1.5),
        (_, 2) => Value::String("x".into()),
        _ => Value::Null,
    }
}

#[track_caller]
fn refused(text: &str, said: &str) {
    let error = RowExpr::parse(text).map(|_| ()).and_then(|()| bind(text).map(|_| ())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage, "{text}");
    assert!(error.message.contains(said), "{text}: {}", error.message);
}

#[test]
fn columns_are_found_on_their_side() {
    let expression = RowExpr::parse("S.amount > t.total AND source.ID = t.id").unwrap();
    assert_eq!(expression.columns(Side::Source), ["amount", "ID"]);
    assert_eq!(expression.columns(Side::Target), ["total", "id"]);
    assert_eq!(expression.text(), "s.amount > t.total AND s.ID = t.id");
    let bound = bind("S.amount > t.total AND source.ID = t.id").unwrap();
    assert_eq!(bound.columns(), [(Side::Source, 1), (Side::Target, 1), (Side::Source, 0), (Side::Target, 0)]);
    assert!(!bound.holds(&cell).unwrap());
    assert_eq!(bind("amount + 1").unwrap().columns(), [(Side::Source, 1)]);
    refused("name = 'x'", "'name' is ambiguous");
    refused("s.total = 1", "no column 'total' in the source (s)");
    refused("u.id = 1", "'u.id' is not a column");
    refused("s.id.x = 1", "'s.id.x' is not a column");
}

#[test]
fn names_and_texts_keep_their_quotes_where_they_need_them() {
    for (text, wanted) in [
        ("s.`a b` = `t`.`c``d`", "s.`a b` = t.`c``d`"),
        ("`case` IS NULL", "`case` IS NULL"),
        ("x = 'it\\'s' /* note */ -- end", "x = 'it\\'s'"),
        ("x LIKE '50\\%'", "x LIKE '50\\\\%'"),
        ("NOT (a = 1 OR b = 2) AND (c OR d)", "NOT (a = 1 OR b = 2) AND (c OR d)"),
        ("(a - b) - (c - d)", "(a - b) - (c - d)"),
        ("-(-a)", "-(-a)"),
        ("a is not distinct from b", "a <=> b"),
        ("a not in (1, 2L, 1.50)", "a NOT IN (1, 2L, 1.50)"),
        ("case when a then 1 end + 1", "CASE WHEN a THEN 1 END + 1"),
        ("x = TIMESTAMP '2024-01-01 01:00:00+01:00'", "x = TIMESTAMP '2024-01-01 00:00:00Z'"),
    ] {
        let parsed = RowExpr::parse(text).unwrap();
        assert_eq!(parsed.text(), wanted);
        assert_eq!(RowExpr::parse(parsed.text()).unwrap(), parsed, "{text}");
    }
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    refused("a = (SELECT 1)", "subquery");
    refused("EXISTS (SELECT 1)", "subquery");
    refused("a IN (SELECT b FROM c)", "subquery");
    refused("rand() > 1", "the function RAND is not supported here (line 1, column 1)");
    refused("a AND\n  sha2(a, 256) = 'x'", "the function SHA2 is not supported here (line 2, column 3)");
    refused("lake.f(a)", "lake.f");
    refused("CONCAT(a) OVER (PARTITION BY b)", "window functions");
    refused("a RLIKE 'x'", "RLIKE");
    refused("a[0]", "nested");
    refused("(a, b) = (c, d)", "tuples");
    refused(":name = 1", "parameter");
    refused("a =", "a value is expected, not the end");
    refused("a = 1 b", "the end of the expression is expected, not 'b' (line 1, column 7)");
    refused("a = 'open", "does not end");
    refused("a = 'it''s'", "two quotes side by side (line 1, column 9)");
    refused("a /* open", "comment does not end");
    refused("CAST(a AS array<int>)", "ARRAY");
    refused("a = DATE '2024-13-01'", "DATE '2024-13-01'");
    refused("99999999999999999999999999999999999999999", "does not fit");
    refused("1e999", "does not fit");
    refused("INTERVAL 1 DAY", "interval");
}

#[test]
fn depth_is_limited_and_long_chains_are_flat() {
    for text in [
        format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("{}TRUE", "NOT ".repeat(5_000)),
        format!("{}1", "- ".repeat(5_000)),
        format!("1{}", " + 1".repeat(5_000)),
        format!("1{}", "::int".repeat(5_000)),
        format!("{}1{}", "abs(".repeat(5_000), ")".repeat(5_000)),
        format!("{}1{}", "CASE WHEN TRUE THEN ".repeat(5_000), " END".repeat(5_000)),
    ] {
        let error = RowExpr::parse(&text).unwrap_err();
        assert!(error.message.contains("nested deeper"), "{}", error.message);
    }
    let deep = format!("{}1{}", "(".repeat(59), ")".repeat(59));
    assert_eq!(RowExpr::parse(&deep).unwrap().text(), "1");
    let chain = vec!["s.id = 7"; 20_000].join(" AND ");
    assert!(bind(&chain).unwrap().holds(&cell).unwrap());
    let list = (0..20_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    assert!(bind(&format!("s.id IN ({list})")).unwrap().holds(&cell).unwrap());
    let texts = vec!["'x'"; 5_000].join(" || ");
    assert!(RowExpr::parse(&texts).is_ok());
}

#[test]
fn errors_of_a_row_name_the_expression() {
    for (text, said) in [
        ("s.amount / (t.id - 8)", "`s.amount / (t.id - 8)` divides by zero"),
        ("2147483647 + s.id", "`2147483647 + s.id` overflows"),
        ("CAST(t.name AS INT)", "`CAST(t.name AS INT)` cannot be cast: 'x' is no integer"),
    ] {
        let error = bind(text).unwrap().evaluate(&cell).unwrap_err();
        assert!(error.message.contains(said), "{}", error.message);
    }
    // What is not reached does not fail.
    assert!(bind("FALSE AND 1 / (t.id - 8) > 0").unwrap().evaluate(&cell).is_ok());
    assert!(bind("IF(s.id = 7, 1, CAST(s.name AS INT))").unwrap().evaluate(&cell).is_ok());
    assert!(bind("COALESCE(s.id, CAST(s.name AS INT))").unwrap().evaluate(&cell).is_ok());
}

#[test]
fn clocks_must_be_pinned() {
    let expression = RowExpr::parse("s.at < current_timestamp() AND DATE(s.at) <= current_date").unwrap();
    assert!(!expression.is_pinned());
    let (source, target) = schemas();
    let scope = Scope { source: &source, target: &target };
    let error = RowExpr::parse("now()").unwrap().bind(&scope).unwrap().evaluate(&cell).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    let pinned = expression.pin(1_709_210_096_000_000);
    assert!(pinned.is_pinned());
    assert_eq!(pinned.text(), "s.at < TIMESTAMP '2024-02-29 12:34:56Z' AND CAST(s.at AS DATE) <= DATE '2024-02-29'");
    assert!(!pinned.bind(&scope).unwrap().holds(&cell).unwrap());
}

fn stored(text: &str, t: PrimitiveType) -> Result<Value> {
    let bound = bind(text)?.assign_to(&field("x", t.clone()))?;
    assert_eq!(bound.data_type(), &DataType::Primitive(t));
    bound.evaluate(&cell)
}

#[test]
fn stored_values_have_exactly_the_columns_type() {
    let money = PrimitiveType::Decimal { precision: 12, scale: 4 };
    let cases = [
        ("s.id", PrimitiveType::Long, "Int(7)"),
        ("s.id", PrimitiveType::Byte, "Int(7)"),
        ("s.id", PrimitiveType::Double, "Double(7.0)"),
        ("s.id", money.clone(), "Decimal { unscaled: 70000, scale: 4 }"),
        ("s.amount", money.clone(), "Decimal { unscaled: 123400, scale: 4 }"),
        (
            "s.amount * 1.005",
            PrimitiveType::Decimal { precision: 12, scale: 2 },
            "Decimal { unscaled: 1240, scale: 2 }",
        ),
        ("NULL", money, "Null"),
        ("DATE '1970-01-02'", PrimitiveType::Timestamp, "Timestamp(86400000000)"),
        ("s.id", PrimitiveType::String, "String(\"7\")"),
    ];
    for (text, t, wanted) in cases {
        assert_eq!(format!("{:?}", stored(text, t).unwrap()), wanted, "{text}");
    }
    let error = stored("s.id * 100", PrimitiveType::Byte).unwrap_err();
    assert!(error.message.contains("`x = s.id * 100` overflows: 700 does not fit byte"), "{}", error.message);
    for (text, t, kind) in [
        ("'7'", PrimitiveType::Integer, ErrorKind::Usage),
        ("TRUE", PrimitiveType::Integer, ErrorKind::Usage),
        ("s.id", PrimitiveType::Date, ErrorKind::Usage),
        ("t.total", PrimitiveType::Integer, ErrorKind::LossyType),
        ("s.at", PrimitiveType::Date, ErrorKind::LossyType),
        ("s.amount", PrimitiveType::Decimal { precision: 10, scale: 1 }, ErrorKind::LossyType),
    ] {
        assert_eq!(stored(text, t).unwrap_err().kind, kind, "{text}");
    }
}

#[test]
fn conditions_are_boolean() {
    assert!(bind("s.id").unwrap().condition().is_err());
    assert!(!bind("NULL").unwrap().condition().unwrap().holds(&cell).unwrap());
    refused("s.id AND TRUE", "a integer is no condition");
}
