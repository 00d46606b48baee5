//! Random tables by random columns, there and back, with rows in memory and on
//! disk: rows and metadata are those from before.

use partwise::ops::RepartitionRequest;
use partwise::plan::relayout::Order;
use partwise::table::Value;
use proptest::test_runner::TestCaseError;

use super::many::cramped;
use super::{by, metadata, plan, switch};
use crate::property::generate::{Case, Payload, seed};
use crate::property::runner;
use crate::support::{Bench, Fixture, Kind, Row, exact, rows_of, sorted};

/// The choices of one case.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    fn next(&mut self, sides: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) % sides.max(1)
    }
}

/// What the rows are once columns left the partitioning: the protocol reads the
/// empty string as NULL there.
fn as_data(case: &Case, rows: &[Row], columns: &[&str]) -> Vec<Row> {
    let leaves = |name: &str| case.shape.partition_by.iter().any(|c| c == name) && !columns.contains(&name);
    let mut rows = rows.to_vec();
    for (at, column) in case.shape.columns.iter().enumerate().filter(|(_, c)| leaves(&c.name)) {
        assert!(column.kind != Kind::Binary);
        rows.iter_mut().filter(|r| r[at] == Value::String(String::new())).for_each(|r| r[at] = Value::Null);
    }
    sorted(rows)
}

fn there_and_back(case: &Case) -> Result<bool, TestCaseError> {
    let mut dice = Dice(case.choices.iter());
    let plain: Vec<&str> = case
        .shape
        .columns
        .iter()
        .filter(|c| !matches!(c.kind, Kind::Binary | Kind::Struct | Kind::List | Kind::Map))
        .map(|c| c.name.as_str())
        .collect();
    let mut columns: Vec<&str> = Vec::new();
    for _ in 0..dice.next(3) {
        let column = plain[dice.next(plain.len())];
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let bench = if dice.next(2) == 0 { Bench::default() } else { cramped(2_000) };
    let mut table = Fixture::new(bench.path("t"), case.shape.clone());
    case.write(&mut table);
    let (before, kept) = (rows_of(&table.path), metadata(&table.path));

    let free: Vec<&str> = plain.iter().copied().filter(|c| !columns.contains(c)).collect();
    let order = match (dice.next(3), free.is_empty()) {
        (1, false) => Order::Columns(vec![free[dice.next(free.len())].to_owned()]),
        (2, false) => Order::ZOrder(vec![free[dice.next(free.len())].to_owned(), free[0].to_owned()]),
        _ => Order::None,
    };
    let files_per_partition = (dice.next(2) == 1).then_some(2);
    let request = RepartitionRequest { order, files_per_partition, ..by(&columns) };

    let fresh: Vec<usize> = (0..case.shape.columns.len())
        .filter(|i| {
            let name = &case.shape.columns[*i].name;
            columns.contains(&name.as_str()) && !case.shape.partition_by.contains(name)
        })
        .collect();
    let empty = before.iter().any(|r| fresh.iter().any(|i| r[*i] == Value::String(String::new())));
    if empty || columns.len() == case.shape.columns.len() {
        let plan = plan(&bench, &table.path, &request).map_err(|e| TestCaseError::fail(e.full_message()))?;
        assert!(!plan.refusals.is_empty(), "{columns:?} cannot be partition columns");
        return Ok(false);
    }
    switch(&bench, &table.path, &request);
    let rows = as_data(case, &before, &columns);
    assert_eq!(rows_of(&table.path), rows, "by {columns:?}");
    assert_eq!(metadata(&table.path), kept);
    let old: Vec<&str> = case.shape.partition_by.iter().map(String::as_str).collect();
    // Going back, a NULL is a NULL; undo gives every bit back.
    switch(&bench, &table.path, &by(&old));
    assert_eq!((rows_of(&table.path), metadata(&table.path)), (rows, kept.clone()), "back by {old:?}");
    let plan = bench.plan_restore(&table.path, 1).map_err(|e| TestCaseError::fail(e.full_message()))?;
    bench.apply(&plan).map_err(|e| TestCaseError::fail(e.full_message()))?;
    assert_eq!((exact(&rows_of(&table.path)), metadata(&table.path)), (exact(&before), kept));
    Ok(true)
}

#[test]
fn random_tables_there_and_back() {
    use proptest::strategy::Strategy as _;

    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let cases = if full { 1000 } else { 60 };
    let (all, done) = (std::cell::Cell::new(0_u32), std::cell::Cell::new(0_u32));
    let strategy = seed().prop_map(|seed| Case::new(seed, Payload::Any));
    let result = runner(cases).run(&strategy, |case| {
        all.set(all.get() + 1);
        done.set(done.get() + u32::from(there_and_back(&case)?));
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    assert!(done.get() * 2 > all.get(), "{} of {} cases were carried out", done.get(), all.get());
}
