//! The model itself must give the known answers.

use partwise::table::Value;

use super::{BySource, Expr, Feed, Matched, Meaning, Model, Outcome, Pair, Rule, Scd2, Statement, Values};
use crate::support::{Kind, Row, i, s};

fn run_feed(rule: &Rule, key: &[usize], target: &[Row], feed: &Feed) -> Outcome {
    let pairs: Vec<Pair> = key.iter().map(|&c| Pair { target: c, source: c, null_safe: false }).collect();
    Model { rule, partition: &[0], ignore: &[], pairs: &pairs, target, feed }.run()
}

fn run(rule: &Rule, key: &[usize], target: &[Row], source: &[Row]) -> Outcome {
    run_feed(rule, key, target, &Feed::plain(source, 3))
}

fn upsert() -> Rule {
    Rule::Merge(Statement::upsert(false))
}

#[test]
fn the_restatement_of_three_documents() {
    let target = [vec![s("6"), i(100), i(450)], vec![s("6"), i(101), i(250)], vec![s("6"), i(102), i(700)]];
    let source = [vec![s("6"), i(100), i(500)], vec![s("6"), i(101), i(250)]];
    let overwrite = run(&Rule::Overwrite, &[1], &target, &source).total;
    assert_eq!((overwrite.updated, overwrite.unchanged, overwrite.deleted, overwrite.zombies), (1, 1, 1, 0));
    let merge = run(&upsert(), &[1], &target, &source).total;
    assert_eq!((merge.updated, merge.unchanged, merge.deleted, merge.zombies), (1, 1, 0, 1));
    let late = run(&Rule::Merge(Statement::insert_only()), &[1], &target, &source).total;
    assert_eq!((late.inserted, late.kept, late.ignored, late.zombies), (0, 2, 2, 1));
}

#[test]
fn a_key_in_another_partition_moves_or_doubles() {
    let target = [vec![s("01-01"), i(1), s("a")], vec![s("01-01"), i(2), s("b")], vec![s("01-02"), i(3), s("c")]];
    let source = [vec![s("01-02"), i(3), s("c")], vec![s("01-02"), i(1), s("a2")]];
    let overwrite = run(&Rule::Overwrite, &[1], &target, &source);
    assert_eq!((overwrite.after.len(), overwrite.elsewhere), (4, 1));
    let merge = run(&upsert(), &[1], &target, &source);
    assert_eq!((merge.after.len(), merge.total.moved_in, merge.total.moved_out), (3, 1, 1));
    let with_partition = run(&upsert(), &[1, 0], &target, &source);
    assert_eq!((with_partition.after.len(), with_partition.elsewhere), (4, 1));
}

#[test]
fn null_keys_and_double_matches() {
    let rows = [vec![s("p"), i(1), s("a")], vec![s("p"), Value::Null, s("b")]];
    let plain = run(&upsert(), &[1], &rows, &rows);
    assert_eq!((plain.total.inserted, plain.total.unchanged, plain.after.len()), (1, 1, 3));
    let pairs = [Pair { target: 1, source: 1, null_safe: true }];
    let feed = Feed::plain(&rows, 3);
    let safe = Model { rule: &upsert(), partition: &[0], ignore: &[], pairs: &pairs, target: &rows, feed: &feed }.run();
    assert_eq!((safe.total.inserted, safe.total.unchanged), (0, 2));
    let twice = [vec![s("p"), i(1), s("b")], vec![s("p"), i(1), s("c")]];
    assert_eq!(run(&upsert(), &[1], &rows, &twice).refused, Some("ambiguous"));
    let delete = Statement { matched: vec![(None, Matched::Delete)], ..Statement::default() };
    let deleted = run(&Rule::Merge(delete), &[1], &rows, &twice);
    assert_eq!((deleted.refused, deleted.total.deleted, deleted.total.ignored), (None, 1, 0));
}

/// B05: a predicate that is NULL for a row does not choose it.
#[test]
fn replace_where_leaves_rows_with_null() {
    let target = [vec![s("p"), s("a"), i(1)], vec![s("p"), s("b"), Value::Null], vec![s("p"), s("c"), i(9)]];
    let five = Expr::Literal(Value::Int(5), Kind::Long);
    let rule = Rule::Where(Expr::Compare(">", Box::new(Expr::Target(2)), Box::new(five)));
    let out = run(&rule, &[], &target, &[vec![s("p"), s("z"), i(10)]]);
    assert_eq!((out.total.deleted, out.total.inserted, out.after.len(), out.refused), (1, 1, 3, None));
    assert_eq!(run(&rule, &[], &target, &[vec![s("p"), s("z"), i(5)]]).refused, Some("outside"));
}

#[test]
fn clauses_are_tried_in_their_order() {
    let target = [vec![s("p"), i(1), i(10)], vec![s("p"), i(2), i(20)], vec![s("q"), i(3), i(30)]];
    let source = [vec![s("p"), i(1), i(11)], vec![s("p"), i(2), i(5)]];
    let more = Expr::Compare(">", Box::new(Expr::Source(2)), Box::new(Expr::Target(2)));
    let closed = Expr::Literal(Value::Int(0), Kind::Long);
    let statement = Statement {
        matched: vec![(Some(more), Matched::Update(Values::All)), (None, Matched::Delete)],
        by_source: vec![BySource { condition: None, within_slice: false, set: Some(vec![(2, closed)]) }],
        ..Statement::default()
    };
    let out = run(&Rule::Merge(statement), &[1], &target, &source);
    assert_eq!(out.after, [vec![s("p"), i(1), i(11)], vec![s("q"), i(3), i(0)]]);
    assert_eq!((out.total.updated, out.total.deleted, out.total.zombies), (2, 1, 0));
}

#[test]
fn a_changed_version_is_closed_and_begun_anew() {
    // partition, key, value, from, to
    let row = |k: i64, v: &str, from: i64, to: Option<i64>| {
        vec![s("p"), i(k), s(v), i(from), to.map_or(Value::Null, Value::Int)]
    };
    let target = [row(1, "a", 1, Some(5)), row(1, "b", 5, None), row(2, "c", 1, None)];
    let feed = Feed {
        rows: vec![
            vec![s("p"), i(1), s("b2"), i(9)],
            vec![s("p"), i(2), s("c"), i(9)],
            vec![s("p"), i(3), s("d"), i(9)],
        ],
        columns: vec![Some(0), Some(1), Some(2), None, None],
        ..Feed::default()
    };
    let rule = Rule::Scd2(Scd2 { track: vec![2], from: 3, to: 4, current: None, at: 3 });
    let out = run_feed(&rule, &[1], &target, &feed);
    let want = [
        row(1, "a", 1, Some(5)),
        row(1, "b", 5, Some(9)),
        row(1, "b2", 9, None),
        row(2, "c", 1, None),
        row(3, "d", 9, None),
    ];
    assert_eq!(crate::support::sorted(out.after), crate::support::sorted(want.to_vec()));
    assert_eq!((out.total.updated, out.total.inserted, out.total.kept, out.total.ignored), (1, 2, 1, 1));
}

#[test]
fn a_feed_is_looked_at_before_it_is_compared() {
    let target = [vec![s("p"), i(1), s("a")], vec![s("p"), i(2), s("b")]];
    let said = |k: i64, v: &str, op: &str, seq: i64| vec![s("p"), i(k), s(v), s(op), i(seq)];
    let feed = Feed {
        rows: vec![said(1, "a", "B", 1), said(1, "a1", "U", 2), said(1, "a2", "U", 3), said(2, "b", "D", 4)],
        columns: vec![Some(0), Some(1), Some(2)],
        operations: Some((
            3,
            vec![(s("B"), Meaning::BeforeImage), (s("U"), Meaning::Upsert), (s("D"), Meaning::Delete)],
        )),
        latest: Some(4),
        filter: None,
    };
    let out = run_feed(&upsert(), &[1], &target, &feed);
    assert_eq!(out.after, [vec![s("p"), i(1), s("a2")]]);
    let t = out.total;
    assert_eq!((t.source, t.updated, t.deleted, t.ignored, out.before_images), (4, 1, 1, 2, 1));
}
