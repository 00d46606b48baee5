use super::*;
use crate::error::ErrorKind;
use crate::plan::clauses::{Assignments, BySourceAction, KeyPair, MatchedAction};
use crate::plan::view::SourceView;
use crate::predicate::RowExpr;

#[track_caller]
fn parse(sql: &str) -> Statement {
    Statement::parse(sql).unwrap_or_else(|e| panic!("{sql}\n{}", e.message))
}

#[track_caller]
fn merge(sql: &str) -> (Statement, On, Clauses) {
    let statement = parse(sql);
    match &statement.kind {
        StatementKind::Merge { on, clauses } => (statement.clone(), on.clone(), clauses.clone()),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(sql: &str, said: &str) {
    let error = Statement::parse(sql).expect_err(sql);
    assert_eq!(error.kind, ErrorKind::Usage, "{sql}");
    assert!(error.message.contains(said), "{sql}\n  said: {}", error.message);
    assert!(error.message.contains("line "), "{sql}\n  without a place: {}", error.message);
}

fn pair(target: &str, source: &str, null_safe: bool) -> KeyPair {
    KeyPair { target: target.into(), source: source.into(), null_safe }
}

fn set(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

fn name(parts: &[&str]) -> TableName {
    TableName::Name(parts.iter().map(|part| (*part).to_owned()).collect())
}

fn path(path: &str) -> TableName {
    TableName::Path { format: "delta".into(), path: path.into() }
}

const TAIL: &str = " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *";

#[test]
fn a_merge_with_every_clause() {
    let sql = "
        -- the nightly merge
        MERGE INTO lake.gold.sales AS tgt
        USING delta.`/staging/sales` src
        ON  tgt.id = src.id AND src.company <=> tgt.Company and tgt.period >= '2024' /* pinned */
        WHEN MATCHED AND src.op = 'D' THEN DELETE
        WHEN MATCHED AND src.amount IS DISTINCT FROM tgt.amount THEN
             UPDATE SET tgt.amount = src.amount * 2, seen = current_timestamp()
        WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED BY TARGET AND op <> 'D' THEN INSERT (id, tgt.amount) VALUES (src.id, amount + 1)
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE AND period = '2024' THEN UPDATE SET active = false
        WHEN NOT MATCHED BY SOURCE THEN DELETE;
    ";
    let (statement, on, clauses) = merge(sql);
    assert_eq!(statement.target, name(&["lake", "gold", "sales"]));
    assert_eq!(statement.source, SourceQuery::whole(path("/staging/sales")));
    assert!(statement.source.takes_everything());
    assert_eq!(on.keys, [pair("id", "id", false), pair("Company", "company", true)]);
    assert_eq!(on.condition.as_deref(), Some("t.period >= '2024'"));
    assert_eq!(clauses.matched.len(), 3);
    assert_eq!(clauses.matched[0].condition.as_deref(), Some("s.op = 'D'"));
    assert_eq!(clauses.matched[0].action, MatchedAction::Delete);
    assert_eq!(clauses.matched[1].condition.as_deref(), Some("NOT (s.amount <=> t.amount)"));
    let update = set(&[("amount", "s.amount * 2"), ("seen", "current_timestamp()")]);
    assert_eq!(clauses.matched[1].action, MatchedAction::Update(Assignments::Set(update)));
    assert_eq!(clauses.matched[2].action, MatchedAction::Update(Assignments::All));
    assert_eq!(clauses.not_matched[0].condition.as_deref(), Some("s.op <> 'D'"));
    let values = set(&[("id", "s.id"), ("amount", "s.amount + 1")]);
    assert_eq!(clauses.not_matched[0].values, Assignments::Set(values));
    assert!(clauses.not_matched[1].values.is_all());
    assert_eq!(clauses.by_source[0].condition.as_deref(), Some("t.period = '2024'"));
    assert_eq!(clauses.by_source[0].action, BySourceAction::Update(set(&[("active", "FALSE")])));
    assert_eq!(clauses.by_source[1].action, BySourceAction::Delete);
    // Every text can be parsed again as what it is.
    let texts = clauses.matched.iter().filter_map(|c| c.condition.as_deref());
    for text in texts.chain(on.condition.as_deref()) {
        assert_eq!(RowExpr::parse(text).unwrap().text(), text);
    }
}

#[test]
fn aliases_may_be_missing_odd_or_crossed() {
    for sql in [
        "merge into sales using staging on sales.id = staging.id",
        "MERGE INTO db.sales USING lake.db.staging ON db.sales.id = db.staging.id",
        "MERGE\tINTO sales t\nUSING staging s\r\nON(s.id=t.id)",
        "MERGE INTO sales AS s USING staging AS t ON s.id = t.id",
        "MERGE INTO `sales` `T 1` USING `staging` AS `using` ON `T 1`.`id` = `using`.id",
        "MERGE INTO delta.`/a b/sales` USING staging ON delta.`/a b/sales`.id = STAGING.id",
        "%sql\nMERGE INTO sales t USING (SELECT * FROM staging) s ON ((t.id = s.id))",
        "MERGE INTO sales t USING (TABLE staging) s ON t.id == s.id",
    ] {
        let (_, on, _) = merge(&format!("{sql}{TAIL}"));
        assert_eq!(on, On { keys: vec![pair("id", "id", false)], condition: None }, "{sql}");
    }
    // `s` is the table here, and the texts say so.
    let (_, on, clauses) = merge(
        "MERGE INTO a s USING b t ON s.k = t.`other key` AND s.x > t.x WHEN MATCHED AND s.y < t.y THEN UPDATE SET s.y = t.y",
    );
    assert_eq!(on.keys, [pair("k", "other key", false)]);
    assert_eq!(on.condition.as_deref(), Some("t.x > s.x"));
    assert_eq!(clauses.matched[0].condition.as_deref(), Some("t.y < s.y"));
    assert_eq!(clauses.matched[0].action, MatchedAction::Update(Assignments::Set(set(&[("y", "s.y")]))));
}

#[test]
fn names_keep_their_quotes_and_words_in_texts_mean_nothing() {
    let (statement, on, clauses) = merge(
        "MERGE INTO `my lake`.`a.b`.`c``d` t USING s ON t.id = s.id AND s.note <> 'WHEN NOT MATCHED BY SOURCE -- \\' ;'
         WHEN MATCHED AND s.`when` = \"REPLACE WHERE\" THEN UPDATE SET `set` = s.`select`",
    );
    assert_eq!(statement.target.text(), "`my lake`.`a.b`.`c``d`");
    assert_eq!(on.condition.as_deref(), Some("s.note <> 'WHEN NOT MATCHED BY SOURCE -- \\' ;'"));
    assert_eq!(clauses.matched[0].condition.as_deref(), Some("s.`when` = 'REPLACE WHERE'"));
    assert_eq!(clauses.matched[0].action, MatchedAction::Update(Assignments::Set(set(&[("set", "s.`select`")]))));
    assert!(clauses.by_source.is_empty());
    assert_eq!(path("/a`b").text(), "delta.`/a``b`");
}

#[test]
fn a_query_is_a_view_of_one_table() {
    let (statement, ..) = merge(&format!(
        "MERGE INTO sales t USING (
            SELECT u.*, amount * -1 AS amount, UPPER(u.company) company, id key
            FROM staging u WHERE u.amount > 0 AND EXTRACT(YEAR FROM day) = 2024
         ) s ON t.id = s.key{TAIL}"
    ));
    assert_eq!(statement.source.name, name(&["staging"]));
    let columns = set(&[("amount", "s.amount * (-1)"), ("company", "UPPER"), ("key", "s.id")]);
    assert_eq!(statement.source.view.columns[0].0, columns[0].0);
    assert_eq!(statement.source.view.columns[1].1, "upper(s.company)");
    assert_eq!(statement.source.view.columns[2], columns[2]);
    assert_eq!(statement.source.view.filter.as_deref(), Some("s.amount > 0 AND year(s.day) = 2024"));
    let (statement, ..) = merge(&format!(
        "MERGE INTO sales t USING (SELECT id, b AS c, a IS DISTINCT FROM b AS d FROM u) s ON t.id = s.id{TAIL}"
    ));
    let columns = ["id", "c", "d"].map(|c| Output::Column(c.into()));
    assert_eq!(statement.source.output, columns);
    assert!(!statement.source.takes_everything());
}

#[test]
fn numbered_rows_are_the_latest_of_a_key() {
    let numbered = "SELECT *, ROW_NUMBER() OVER (PARTITION BY id, company ORDER BY changed DESC NULLS LAST) AS rn FROM staging WHERE ok";
    for query in [
        format!("(SELECT * FROM ({numbered}) WHERE rn = 1)"),
        format!("(select q.* except (rn) from ({numbered}) as q where 1 = q.RN)"),
        "(SELECT * FROM staging WHERE ok QUALIFY row_number() OVER (PARTITION BY company, id ORDER BY changed DESC) = 1)".into(),
    ] {
        let (statement, ..) = merge(&format!("MERGE INTO a t USING {query} s ON t.id = s.id AND t.company = s.company{TAIL}"));
        let view = SourceView {
            filter: Some("s.ok".into()),
            latest_by: Some("s.changed".into()),
            ..SourceView::default()
        };
        assert_eq!(statement.source.view, view, "{query}");
        assert!(statement.source.takes_everything(), "{query}");
    }
    let merge = |query: &str| format!("MERGE INTO a t USING ({query}) s ON t.id = s.id{TAIL}");
    let number =
        |over: &str| merge(&format!("SELECT * FROM (SELECT *, ROW_NUMBER() OVER ({over}) AS rn FROM b) WHERE rn = 1"));
    refused(
        &number("PARTITION BY id, company ORDER BY c DESC"),
        "rows are numbered per (id, company), but ON compares (id)",
    );
    refused(&number("PARTITION BY id ORDER BY c"), "DESC is expected");
    refused(&number("PARTITION BY id ORDER BY c DESC, d DESC"), "second ORDER BY");
    refused(&number("PARTITION BY id ORDER BY c DESC NULLS FIRST"), "NULLS FIRST");
    refused(&number("ORDER BY c DESC"), "PARTITION BY is expected");
    refused(&number("PARTITION BY upper(id) ORDER BY c DESC"), "PARTITION BY `upper(id)`");
    let inner = "SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY c DESC) AS rn FROM b";
    refused(&merge(inner), "no WHERE asks for the first");
    refused(&merge(&format!("SELECT * FROM ({inner}) WHERE rn = 2")), "`rn = 2` is not supported");
    refused(
        &merge(&format!("SELECT * FROM ({inner}) WHERE rn = 1 AND op <> 'D'")),
        "not supported around numbered rows",
    );
    refused(
        &merge(
            "SELECT * FROM (SELECT x AS id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY c DESC) AS rn FROM b) WHERE rn = 1",
        ),
        "rows are numbered by 'id', which the SELECT replaces",
    );
    refused(&merge("SELECT *, RANK() OVER (PARTITION BY id ORDER BY c DESC) AS rn FROM b"), "RANK");
}

#[test]
fn an_overwrite_says_its_mode_and_its_partitions() {
    let overwrite = |sql: &str| match parse(sql).kind {
        StatementKind::Overwrite { mode, partition, replace, order } => (mode, partition.len(), replace, order),
        other => panic!("{other:?}"),
    };
    let by_position = || ColumnOrder::ByPosition { columns: Vec::new() };
    for sql in ["INSERT OVERWRITE sales SELECT * FROM staging", "insert overwrite table sales table staging;;"] {
        assert_eq!(overwrite(sql), (Mode::Session, 0, None, by_position()));
    }
    assert_eq!(overwrite("INSERT OVERWRITE t BY NAME SELECT b, a FROM u").3, ColumnOrder::ByName);
    assert_eq!(
        overwrite("INSERT OVERWRITE t (a, `b c`) (SELECT x, y FROM u)").3,
        ColumnOrder::ByPosition { columns: vec!["a".into(), "b c".into()] }
    );
    let set =
        "SET spark.sql.sources.partitionOverwriteMode = dynamic;\nset spark.sql.shuffle.partitions=64m; SET x.y='a b';";
    let statement = parse(&format!("{set} INSERT OVERWRITE t SELECT * FROM u"));
    assert!(matches!(statement.kind, StatementKind::Overwrite { mode: Mode::Dynamic, .. }));
    assert_eq!(statement.settings[1], ("spark.sql.shuffle.partitions".into(), "64m".into()));
    assert_eq!(statement.settings[2], ("x.y".into(), "a b".into()));
    assert_eq!(
        overwrite(&format!("{set} INSERT OVERWRITE t PARTITION (a = 'x', n = 7, c = NULL) SELECT v FROM u")),
        (Mode::Static, 3, Some("a = 'x' AND n = 7 AND c IS NULL".into()), by_position())
    );
    let (mode, parts, replace, _) = overwrite("INSERT OVERWRITE t PARTITION (a = 'x', b) SELECT v, b FROM u");
    assert_eq!((mode, parts, replace.as_deref()), (Mode::Session, 2, Some("a = 'x'")));
    let statement = parse("INSERT OVERWRITE t PARTITION (a = DATE '2024-1-5') SELECT * FROM u");
    assert_eq!(statement.source.view.columns, [("a".to_owned(), "DATE '2024-01-05'".to_owned())]);
}

#[test]
fn inserts_match_by_position_unless_by_name() {
    let pairs = |sql: &str, source: &[&str], table: &[&str]| {
        let pairs = parse(sql).column_pairs(source, table)?.unwrap();
        Ok::<_, crate::error::Error>(pairs.iter().map(|(t, s)| format!("{t}={s}")).collect::<Vec<_>>().join(" "))
    };
    let is = |sql: &str, source: &[&str], table: &[&str], wanted: &str| {
        assert_eq!(pairs(sql, source, table).unwrap(), wanted, "{sql}");
    };
    is("INSERT INTO t SELECT * FROM u", &["b", "a"], &["a", "b"], "a=b b=a");
    is("INSERT INTO t BY NAME SELECT * FROM u", &["B", "a"], &["a", "b"], "b=B a=a");
    is("INSERT INTO t (b, A) TABLE u", &["x", "y"], &["a", "b"], "b=x a=y");
    is("INSERT INTO t SELECT y, x + 1 FROM u", &["x", "y"], &["a", "b"], "a=y b=s.x + 1");
    is("INSERT OVERWRITE t PARTITION (p = 1) SELECT * FROM u", &["x"], &["p", "a"], "a=x p=p");
    is("INSERT OVERWRITE t PARTITION (p) SELECT * FROM u", &["x", "y"], &["p", "a"], "a=x p=y");
    is("INSERT INTO t SELECT * EXCEPT (z) FROM u", &["x", "z"], &["a"], "a=x");
    let few = pairs("INSERT INTO t SELECT * FROM u", &["x"], &["a", "b"]).unwrap_err();
    assert_eq!(few.kind, ErrorKind::ColumnMissing);
    let many = pairs("INSERT INTO t SELECT * FROM u", &["x", "y"], &["a"]).unwrap_err();
    assert_eq!(many.kind, ErrorKind::ColumnUnknown);
    assert!(pairs("INSERT INTO t BY NAME SELECT x FROM u", &["x"], &["a"]).is_err());
    assert!(pairs("INSERT INTO t BY NAME SELECT *, 1 AS x FROM u", &["x"], &["x"]).is_err());
}

#[test]
fn replace_where_keeps_its_condition() {
    for sql in [
        "INSERT INTO sales REPLACE WHERE sales.period = '2024' AND company IN (1, 2) SELECT * FROM u",
        "INSERT INTO TABLE sales BY NAME REPLACE WHERE period = '2024' and company in (1,2) TABLE u",
        "INSERT INTO sales REPLACE WHERE period = '2024' AND company IN (1, 2) BY NAME SELECT * FROM u",
    ] {
        let StatementKind::ReplaceWhere { predicate, order } = parse(sql).kind else { panic!("{sql}") };
        assert_eq!(predicate, "period = '2024' AND company IN (1, 2)", "{sql}");
        assert_eq!(order == ColumnOrder::ByName, sql.contains("BY NAME"));
    }
    assert!(matches!(parse("INSERT INTO a SELECT * FROM b").kind, StatementKind::Append { .. }));
}

#[test]
fn what_cannot_be_taken_is_named_with_its_place() {
    let on = |rest: &str| format!("MERGE INTO a t USING b s ON {rest}{TAIL}");
    let when = |rest: &str| format!("MERGE INTO a t USING b s ON t.id = s.id {rest}");
    let from = |query: &str| format!("INSERT INTO t SELECT {query}");
    for (sql, said) in [
        ("", "there is no statement"),
        ("SELECT 1", "'SELECT' begins no statement"),
        ("UPDATE t SET a = 1", "'UPDATE' begins no statement"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "WITH before a statement"),
        ("MERGE WITH SCHEMA EVOLUTION INTO a USING b ON a.id = b.id", "WITH SCHEMA EVOLUTION"),
        ("MERGE INTO a USING", "the source is expected, not the end"),
        ("MERGE INTO :t USING b ON 1 = 1", "is a parameter"),
        ("MERGE INTO a@v1 USING b ON 1 = 1", "older version"),
        ("MERGE INTO a USING b VERSION AS OF 3 ON 1 = 1", "older version"),
        ("MERGE INTO a t USING read_files('x') s ON t.id = s.id", "table function read_files"),
        ("MERGE INTO a t USING (VALUES (1)) s(id) ON t.id = s.id", "Rows in the statement"),
        ("MERGE INTO a t USING b AS s(id) ON t.id = s.id", "list of columns"),
        ("MERGE INTO a x USING b x ON x.id = x.id", "'x' names both tables"),
        (&on("1 = 0"), "ON has no equality"),
        (&on("t.a > s.a"), "ON has no equality"),
        (&on("t.a = s.a OR t.b = s.b"), "ON has no equality"),
        (&on("t.a = upper(s.a)"), "ON has no equality"),
        (&on("id = s.id"), "whose column 'id' is"),
        (&on("a.id = s.id"), "'a.id' is not a column"),
        (&on("t.id = s.id AND rand() < 0.5"), "the function RAND"),
        (&when(""), "WHEN MATCHED or WHEN NOT MATCHED is expected, not the end"),
        (&when("WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *"), "never reached"),
        (&when("WHEN MATCHED THEN INSERT *"), "UPDATE SET is expected, not 'INSERT'"),
        (&when("WHEN MATCHED THEN UPDATE SET * EXCEPT (a)"), "* EXCEPT"),
        (&when("WHEN MATCHED THEN UPDATE SET a = 1, t.A = 2"), "'A' is set twice"),
        (&when("WHEN MATCHED THEN UPDATE SET s.a = 1"), "a column of the source is set"),
        (&when("WHEN MATCHED THEN UPDATE SET a.b.c = 1"), "'a.b.c' is not a column"),
        (&when("WHEN MATCHED THEN UPDATE SET a = DEFAULT"), "DEFAULT"),
        (&when("WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a)"), "1 values are given for 2 columns"),
        (&when("WHEN NOT MATCHED THEN INSERT (a) VALUES (t.a)"), "NOT MATCHED has no row of the table, but t.a"),
        (&when("WHEN NOT MATCHED BY SOURCE AND s.a = 1 THEN DELETE"), "has no row of the source, but s.a"),
        (&when("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *"), "no source row to take *"),
        (&when("WHEN MATCHED THEN DELETE; DELETE FROM a"), "a second statement follows"),
        (&when("WHEN MATCHED THEN DELETE x"), "the end of the statement is expected, not 'x'"),
        (&from("1"), "this SELECT has no FROM"),
        (&from("DISTINCT a FROM u"), "SELECT DISTINCT"),
        (&from("* FROM u JOIN v ON u.a = v.a"), "'JOIN' is not supported"),
        (&from("* FROM u, v"), "a second table"),
        (&from("a, count(*) FROM u GROUP BY a"), "'GROUP' is not supported"),
        (&from("* FROM u UNION ALL SELECT * FROM v"), "'UNION' is not supported"),
        (&from("* FROM u ORDER BY a"), "'ORDER' is not supported"),
        (&from("* FROM u LIMIT 5"), "'LIMIT' is not supported"),
        (&from("sum(a) FROM u"), "the function SUM"),
        (&from("v.* FROM u"), "'v.*' is not a column"),
        (&from("a AS x, b AS x FROM u"), "'x' is given twice"),
        (&from("* FROM (SELECT * FROM u) WHERE a = 1"), "WHERE around a query"),
        ("INSERT INTO t VALUES (1)", "Rows in the statement"),
        ("INSERT INTO t PARTITION (a = 1) SELECT * FROM u", "INSERT INTO … PARTITION"),
        ("INSERT OVERWRITE t PARTITION (a = b) SELECT * FROM u", "value of a partition"),
        ("INSERT OVERWRITE DIRECTORY '/x' SELECT * FROM u", "DIRECTORY"),
        ("INSERT OVERWRITE t PARTITION (a = 1) IF NOT EXISTS SELECT * FROM u", "IF NOT EXISTS"),
        ("INSERT INTO t REPLACE WHERE TRUE SELECT * FROM u", "names no column"),
        ("INSERT INTO t REPLACE USING (a) SELECT * FROM u", "REPLACE 'USING'"),
        ("INSERT OVERWRITE t REPLACE WHERE a = 1 SELECT * FROM u", "INSERT OVERWRITE has no REPLACE WHERE"),
        ("INSERT INTO t (a, A) SELECT * FROM u", "'A' is given twice"),
        ("SET spark.sql.sources.partitionOverwriteMode = fast; INSERT INTO t TABLE u", "static or dynamic"),
        ("SET spark.sql.ansi.enabled = false; INSERT INTO t TABLE u", "another meaning"),
        ("SET spark.databricks.delta.schema.autoMerge.enabled=true; INSERT INTO t TABLE u", "another meaning"),
        ("SET x; INSERT INTO t TABLE u", "'=' is expected"),
        ("USE lake; INSERT INTO t TABLE u", "'USE' begins no statement"),
        ("MERGE INTO a /* open", "a comment does not end"),
        ("MERGE INTO `a USING b", "backticks"),
    ] {
        refused(sql, said);
    }
    let error = Statement::parse("MERGE INTO a t USING b s\n  ON t.id = s.id AND\n     rand() > 1").unwrap_err();
    assert!(error.message.contains("(line 3, column 6)"), "{}", error.message);
}

#[test]
fn no_text_overflows_the_stack() {
    for text in ["(", "SELECT * FROM (", "INSERT INTO t SELECT * FROM (", "NOT ", "-", "CASE WHEN ", "a.", "`", "'"] {
        for start in ["", "MERGE INTO a USING ", "INSERT INTO t SELECT ", "INSERT INTO t REPLACE WHERE "] {
            let sql = format!("{start}{}", text.repeat(3_000));
            assert!(Statement::parse(&sql).is_err());
        }
    }
}
