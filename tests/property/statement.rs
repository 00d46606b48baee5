//! From a case to what is asked of it: a rule for the model, a strategy and a
//! request for the product.

use std::cell::Cell;

use partwise::ops::{Scd2Columns, SourceRequest, Strategy};
use partwise::plan::view::{OperationColumn, RowMeaning};
use partwise::table::Value;

use super::clauses::{Maker, strategy};
use super::generate::{Case, partition_value};
use crate::model::{Feed, Meaning, Names, Pair, Rule, Scd2};
use crate::support::writer::Column;
use crate::support::{Kind, Row};

/// One case, ready to be run.
#[derive(Debug, Clone)]
pub struct Run {
    pub rule: Rule,
    pub strategy: Strategy,
    /// Everything but the path.
    pub request: SourceRequest,
    pub pairs: Vec<Pair>,
    pub ignore: Vec<usize>,
    pub feed: Feed,
    /// The source's columns.
    pub columns: Vec<Column>,
    /// Values of the first partition column that the slice asks for.
    pub asked: Option<Vec<Value>>,
}

/// Small choices out of a case's bytes; 0 when they are used up, so that cases shrink.
pub struct Dice<'a> {
    bytes: &'a [u8],
    at: Cell<usize>,
}

impl<'a> Dice<'a> {
    pub fn new(case: &'a Case) -> Dice<'a> {
        Dice { bytes: &case.choices, at: Cell::new(0) }
    }

    pub fn byte(&self) -> u8 {
        let byte = self.bytes.get(self.at.get()).copied().unwrap_or(0);
        self.at.set(self.at.get() + 1);
        byte
    }

    pub fn below(&self, sides: usize) -> usize {
        usize::from(self.byte()) % sides
    }

    pub fn one_in(&self, sides: usize) -> bool {
        self.below(sides) == sides - 1
    }
}

impl Run {
    /// A source with the table's columns in another order, and a strategy that
    /// needs no more than names.
    pub fn simple(case: &Case, rule: Rule, strategy: Strategy, null_safe: bool) -> Run {
        let n = case.shape.columns.len();
        let columns: Vec<Column> = case.shape.columns.iter().rev().cloned().collect();
        let rows = case.source.iter().map(|row| row.iter().rev().cloned().collect()).collect();
        let feed = Feed { rows, columns: (0..n).map(|c| Some(n - 1 - c)).collect(), ..Feed::default() };
        let index = |name: &String| case.shape.index(name);
        let pair = |name| Pair { target: index(name), source: n - 1 - index(name), null_safe };
        let request = SourceRequest { key: case.key.clone(), ..SourceRequest::default() };
        let pairs = case.key.iter().map(pair).collect();
        Run { rule, strategy, request, pairs, ignore: Vec::new(), feed, columns, asked: None }
    }

    /// Adds a column to the source.
    pub fn add(&mut self, name: &str, kind: Kind, cell: impl Fn(usize, &Row) -> Value) -> usize {
        for (at, row) in self.feed.rows.iter_mut().enumerate() {
            let cell = cell(at, row);
            row.push(cell);
        }
        self.columns.push(Column { name: name.to_owned(), kind });
        self.columns.len() - 1
    }

    /// Takes a column of the table out of the source.
    pub fn lacks(&mut self, case: &Case, column: usize) {
        // Under a name that the table does not have nothing is found.
        if let Some(at) = self.feed.columns[column].take() {
            self.columns[at].name = format!("not_{}", case.shape.columns[column].name);
        }
    }

    /// Sometimes a technical column, sometimes a stated slice.
    pub fn options(&mut self, case: &Case, dice: &Dice<'_>) {
        if dice.one_in(3) {
            let last = case.shape.columns.len() - 1;
            self.ignore = vec![last];
            self.request.ignore = vec![case.shape.columns[last].name.clone()];
        }
        let Some(first) = case.shape.partition_by.first() else { return };
        let kind = case.shape.columns[case.shape.index(first)].kind;
        if dice.one_in(3) && matches!(kind, Kind::String | Kind::Integer | Kind::Long | Kind::Short) {
            let values: Vec<Value> = (0..=dice.below(3)).map(|_| partition_value(kind, dice.byte())).collect();
            let term = |v: &Value| match v {
                Value::Null => format!("{first} IS NULL"),
                Value::String(text) => format!("{first} = '{text}'"),
                other => format!("{first} = {other}"),
            };
            self.request.slice = Some(values.iter().map(term).collect::<Vec<_>>().join(" OR "));
            self.asked = Some(values);
        }
    }

    /// An operation column, perhaps an order among rows of one key, perhaps a filter.
    pub fn view(&mut self, case: &Case, dice: &Dice<'_>) {
        let seed = dice.byte();
        let said = |at: usize| case.choices.get((at * 5 + 3) % case.choices.len().max(1)).copied().unwrap_or(0);
        if dice.below(4) > 0 {
            let codes = [Some("I"), Some("U"), Some("D"), None, Some("B")];
            let cell = |code: Option<&str>| code.map_or(Value::Null, |c| Value::String(c.to_owned()));
            let op = self.add("op", Kind::String, |at, _| cell(codes[usize::from(said(at) / 2) % 5]));
            let meanings = [Meaning::Upsert, Meaning::Upsert, Meaning::Delete, Meaning::Upsert, Meaning::BeforeImage];
            let words = |m: Meaning| match m {
                Meaning::Upsert => RowMeaning::Upsert,
                Meaning::Delete => RowMeaning::Delete,
                Meaning::BeforeImage => RowMeaning::BeforeImage,
            };
            let named = codes.iter().map(|code| code.map(str::to_owned));
            let stated = named.zip(meanings.map(words)).collect();
            self.feed.operations = Some((op, codes.map(cell).into_iter().zip(meanings).collect()));
            self.request.view.operations = Some(OperationColumn { column: "op".into(), codes: stated });
        }
        // Which row of a key is the newest needs a key.
        if dice.below(3) > 0 && !self.request.key.is_empty() {
            let seq = |at: usize, _: &Row| match said(at + 1) % 8 {
                7 => Value::Null,
                n => Value::Int(i64::from(n % 4 + seed % 2)),
            };
            self.feed.latest = Some(self.add("seq", Kind::Long, seq));
            self.request.view.latest_by = Some("seq".into());
        }
        if dice.one_in(3) {
            let condition = Maker::new(case, self, dice).condition(true, false, 1);
            self.request.view.filter = Some(condition.sql(self.names(case).borrow()));
            self.feed.filter = Some(condition);
        }
    }

    pub fn names(&self, case: &Case) -> AllNames {
        AllNames {
            source: self.columns.iter().map(|c| c.name.clone()).collect(),
            target: case.shape.columns.iter().map(|c| c.name.clone()).collect(),
        }
    }

    /// The rows for which a random predicate is true; now and then with rows that are outside.
    pub fn replace_where(case: &Case, dice: &Dice<'_>) -> Run {
        let mut run = Run::simple(case, Rule::Overwrite, Strategy::Overwrite, true);
        let predicate = Maker::new(case, &run, dice).condition(false, true, 2);
        let sql = predicate.sql(run.names(case).borrow());
        if !dice.one_in(6) {
            let places = run.feed.columns.clone();
            let row = |cells: &Row| -> Row { places.iter().flatten().map(|at| cells[*at].clone()).collect() };
            run.feed.rows.retain(|cells| predicate.holds(None, Some(&row(cells))));
        }
        run.options(case, dice);
        Run { rule: Rule::Where(predicate), strategy: Strategy::ReplaceWhere { predicate: sql }, ..run }
    }

    /// A MERGE with any clauses and any ON.
    pub fn merge(case: &Case, dice: &Dice<'_>) -> Run {
        let mut run = Run::simple(case, Rule::Overwrite, Strategy::Overwrite, false);
        let (shape, source) = (&case.shape, &case.source);
        let other = |at: usize, column: usize| {
            let byte = case.choices.get((at * 3 + 1) % case.choices.len().max(1)).copied().unwrap_or(0);
            let row = if byte % 4 == 3 { usize::from(byte) % source.len() } else { at };
            source[row % source.len()][column].clone()
        };
        let x0 = run.add("x0", shape.columns[0].kind, |at, _| other(at, 0));
        let first = shape.partition_by.first().map(|name| shape.index(name));
        let xp = first.map(|p| run.add("xp", shape.columns[p].kind, |at, _| other(at + 1, p)));
        if dice.one_in(5) {
            run.lacks(case, shape.index("v2"));
        }
        if let Some(p) = first.filter(|_| dice.one_in(6)) {
            run.lacks(case, p);
        }
        run.pairs = key_pairs(case, &run, (x0, xp), dice);
        let maker = Maker::new(case, &run, dice);
        let statement = maker.statement();
        let strategy = strategy(&statement, &run.pairs, run.names(case).borrow());
        run.request.key = Vec::new();
        run.options(case, dice);
        Run { rule: Rule::Merge(statement), strategy, ..run }
    }

    /// Versions of rows: `v1` is when one begins, `v2` when it ends, `v3` may
    /// say that it is the newest.
    pub fn scd2(case: &Case, dice: &Dice<'_>) -> Run {
        let mut run = Run::simple(case, Rule::Overwrite, Strategy::Overwrite, false);
        let column = |name: &str| case.shape.index(name);
        let current = dice.one_in(2).then(|| column("v3"));
        for own in [Some(column("v1")), Some(column("v2")), current].into_iter().flatten() {
            run.lacks(case, own);
        }
        let from = dice.byte();
        let at = run.add("valid_at", Kind::Long, |row, _| match (row as u8).wrapping_mul(7).wrapping_add(from) % 16 {
            15 => Value::Null,
            n => Value::Int(i64::from(n % 3)),
        });
        let mut names = Scd2Columns {
            effective_from: "v1".into(),
            effective_to: "v2".into(),
            current: current.map(|_| "v3".into()),
            effective_at: "s.valid_at".into(),
            track: Vec::new(),
        };
        run.options(case, dice);
        let is_key = |c: usize| run.pairs.iter().any(|p| p.target == c);
        let mut track: Vec<usize> = (0..run.feed.columns.len())
            .filter(|c| run.feed.columns[*c].is_some() && !is_key(*c) && !run.ignore.contains(c))
            .collect();
        if dice.one_in(3) {
            track = vec![column("v0")];
            names.track = vec!["v0".into()];
        }
        let rule = Rule::Scd2(Scd2 { track, from: column("v1"), to: column("v2"), current, at });
        Run { rule, strategy: Strategy::Scd2(names), ..run }
    }
}

/// The key's columns, now and then by another column of the source.
fn key_pairs(case: &Case, run: &Run, (x0, xp): (usize, Option<usize>), dice: &Dice<'_>) -> Vec<Pair> {
    let shape = &case.shape;
    let named = shape.columns.iter().filter(|c| c.name.starts_with('k') || case.key.contains(&c.name));
    let mut pairs: Vec<Pair> = Vec::new();
    for target in named.map(|c| shape.index(&c.name)) {
        let first = shape.partition_by.first().is_some_and(|p| shape.index(p) == target);
        let another = match target {
            0 => dice.one_in(6).then_some(x0),
            _ if first => xp.filter(|_| run.feed.columns[target].is_none() || dice.one_in(3)),
            _ => None,
        };
        if let Some(source) = another.or(run.feed.columns[target]) {
            pairs.push(Pair { target, source, null_safe: dice.one_in(4) });
        }
    }
    if dice.one_in(8) && !pairs.iter().any(|p| p.source == x0) {
        pairs.push(Pair { target: 0, source: x0, null_safe: dice.one_in(2) });
    }
    pairs
}

/// Owned names of both rows.
pub struct AllNames {
    source: Vec<String>,
    target: Vec<String>,
}

impl AllNames {
    pub fn borrow(&self) -> Names<'_> {
        Names { source: &self.source, target: &self.target }
    }
}
