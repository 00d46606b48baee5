//! Random conditions, values and clauses of a MERGE, and their SQL.

use partwise::ops::Strategy;
use partwise::plan::clauses::{
    Assignments, BySourceAction, BySourceClause, Clauses, InsertClause, KeyPair, MatchedAction, MatchedClause, On,
};
use partwise::table::Value;

use super::generate::{Case, partition_value, value};
use super::statement::{Dice, Run};
use crate::model::{BySource, Expr, Matched, Names, Pair, Statement, Values, has_literals};
use crate::support::Kind;

/// The model's statement in the product's words.
pub fn strategy(statement: &Statement, pairs: &[Pair], names: Names<'_>) -> Strategy {
    let text = |e: &Expr| e.sql(names);
    let maybe = |e: &Option<Expr>| e.as_ref().map(text);
    let list = |set: &[(usize, Expr)]| -> Vec<(String, String)> {
        set.iter().map(|(column, e)| (names.target[*column].clone(), text(e))).collect()
    };
    let assignments = |values: &Values| match values {
        Values::All => Assignments::All,
        Values::Set(set) => Assignments::Set(list(set)),
    };
    let matched = statement.matched.iter().map(|(condition, action)| MatchedClause {
        condition: maybe(condition),
        action: match action {
            Matched::Delete => MatchedAction::Delete,
            Matched::Update(values) => MatchedAction::Update(assignments(values)),
        },
    });
    let inserts = statement.not_matched.iter();
    let by_source = statement.by_source.iter().map(|BySource { condition, within_slice, set }| BySourceClause {
        condition: maybe(condition),
        within_slice: *within_slice,
        action: set.as_ref().map_or(BySourceAction::Delete, |set| BySourceAction::Update(list(set))),
    });
    let clauses = Clauses {
        matched: matched.collect(),
        not_matched: inserts
            .map(|(condition, values)| InsertClause { condition: maybe(condition), values: assignments(values) })
            .collect(),
        by_source: by_source.collect(),
    };
    let pair = |p: &Pair| KeyPair {
        target: names.target[p.target].clone(),
        source: names.source[p.source].clone(),
        null_safe: p.null_safe,
    };
    let on = On { keys: pairs.iter().map(pair).collect(), condition: maybe(&statement.condition) };
    Strategy::Clauses { on, clauses }
}

/// Makes expressions and clauses.
pub struct Maker<'a> {
    case: &'a Case,
    dice: &'a Dice<'a>,
    /// Per column of the table its place in the source.
    places: Vec<Option<usize>>,
}

fn nested(kind: Kind) -> bool {
    matches!(kind, Kind::Struct | Kind::List | Kind::Map)
}

impl<'a> Maker<'a> {
    pub fn new(case: &'a Case, run: &Run, dice: &'a Dice<'a>) -> Maker<'a> {
        Maker { case, dice, places: run.feed.columns.clone() }
    }

    fn kind(&self, column: usize) -> Kind {
        self.case.shape.columns[column].kind
    }

    fn flat(&self) -> Vec<usize> {
        (0..self.places.len()).filter(|c| !nested(self.kind(*c))).collect()
    }

    /// A literal of a column's type, if there is one.
    fn literal(&self, column: usize) -> Option<Expr> {
        let kind = self.kind(column);
        let is_partition = self.case.shape.partition_by.contains(&self.case.shape.columns[column].name);
        let n = self.dice.byte();
        let value = match if is_partition { partition_value(kind, n) } else { value(kind, n) } {
            Value::Int(i) => Value::Int(i % 1000),
            other => other,
        };
        (has_literals(kind) && value != Value::Null).then_some(Expr::Literal(value, kind))
    }

    /// A condition over the delivered row, the table's, or both.
    pub fn condition(&self, source: bool, target: bool, depth: usize) -> Expr {
        let both = |a: Expr, b: Expr| (Box::new(a), Box::new(b));
        if depth > 0 {
            let inner = || self.condition(source, target, depth - 1);
            match self.dice.below(6) {
                1 => {
                    let (a, b) = both(inner(), inner());
                    return Expr::And(a, b);
                }
                2 => {
                    let (a, b) = both(inner(), inner());
                    return Expr::Or(a, b);
                }
                3 => return Expr::Not(Box::new(inner())),
                _ => {}
            }
        }
        let columns: Vec<usize> = self.flat().into_iter().filter(|c| target || self.places[*c].is_some()).collect();
        let column = columns[self.dice.below(columns.len())];
        let of_source = self.places[column].filter(|_| source).map(Expr::Source);
        let of_target = target.then_some(Expr::Target(column));
        let equal_only = matches!(self.kind(column), Kind::Boolean | Kind::Binary);
        let ops = if equal_only { &["=", "<>", "<=>"][..] } else { &["=", "<>", "<=>", "<", "<=", ">", ">="][..] };
        let op = ops[self.dice.below(ops.len())];
        let form = self.dice.below(4);
        let (left, right) = match (of_source, of_target) {
            (Some(s), Some(t)) if form < 2 => (s, Some(t)),
            (Some(s), Some(t)) => (if form == 2 { s } else { t }, self.literal(column)),
            (Some(one), None) | (None, Some(one)) => (one, self.literal(column).filter(|_| form < 3)),
            (None, None) => panic!("a condition without a side"),
        };
        match right {
            Some(right) => {
                let (left, right) = both(left, right);
                Expr::Compare(op, left, right)
            }
            None => Expr::IsNull(Box::new(left)),
        }
    }

    fn value(&self, column: usize, source: bool, target: bool) -> Expr {
        let kind = self.kind(column);
        let s = || self.places[column].filter(|_| source).map(Expr::Source);
        let t = || target.then_some(Expr::Target(column));
        let null = || Expr::Literal(Value::Null, kind);
        let simple = || s().or_else(t).unwrap_or_else(null);
        match self.dice.below(8) {
            0..=2 => simple(),
            3 => self.literal(column).unwrap_or_else(null),
            4 => match (t(), s()) {
                (Some(t), Some(s)) => Expr::Coalesce(Box::new(t), Box::new(s)),
                _ => simple(),
            },
            5 => match (s().or_else(t), t().or_else(|| self.literal(column))) {
                (Some(a), Some(b)) => Expr::Case(Box::new(self.condition(source, target, 1)), Box::new(a), Box::new(b)),
                _ => simple(),
            },
            6 => match t().or_else(s) {
                Some(one) if self.case.shape.columns[column].name == "v0" => {
                    let seven = Expr::Literal(Value::Int(7), Kind::Long);
                    Expr::Add(Box::new(one), Box::new(seven))
                }
                _ => simple(),
            },
            _ => t().unwrap_or_else(null),
        }
    }

    fn set(&self, source: bool, target: bool) -> Vec<(usize, Expr)> {
        let rare = |c: usize| !self.case.shape.columns[c].name.starts_with('v');
        let mut set = Vec::new();
        for column in self.flat() {
            // An insert names most columns, an update rarely its key.
            let wanted = if target && rare(column) { self.dice.one_in(5) } else { self.dice.below(4) < 3 };
            if wanted {
                set.push((column, self.value(column, source, target)));
            }
        }
        if set.is_empty() {
            let first = self.case.shape.index("v0");
            set.push((first, self.value(first, source, target)));
        }
        set
    }

    fn complete(&self) -> bool {
        self.places.iter().all(Option::is_some)
    }

    fn values(&self, target: bool) -> Values {
        if self.complete() && self.dice.below(2) == 0 { Values::All } else { Values::Set(self.set(true, target)) }
    }

    /// Conditions of a list: only the last clause may go without one.
    fn guard(&self, last: bool, source: bool, target: bool) -> Option<Expr> {
        (!last || self.dice.one_in(3)).then(|| self.condition(source, target, 2))
    }

    pub fn statement(&self) -> Statement {
        let mut statement = Statement::default();
        if self.dice.one_in(3) {
            let (source, target) = [(true, true), (true, false), (false, true)][self.dice.below(3)];
            statement.condition = Some(self.condition(source, target, 1));
        }
        let clauses = self.dice.below(4);
        for n in 0..clauses {
            let action = if self.dice.one_in(3) { Matched::Delete } else { Matched::Update(self.values(true)) };
            statement.matched.push((self.guard(n + 1 == clauses, true, true), action));
        }
        // A nested column cannot be given by itself, so only whole rows are inserted then.
        let flat = self.flat().len() == self.places.len();
        let clauses = if flat || self.complete() { self.dice.below(3) } else { 0 };
        for n in 0..clauses {
            let values = if flat { self.values(false) } else { Values::All };
            statement.not_matched.push((self.guard(n + 1 == clauses, true, false), values));
        }
        let clauses = self.dice.below(5).saturating_sub(2);
        for n in 0..clauses {
            let set = if self.dice.one_in(2) { None } else { Some(self.set(false, true)) };
            let condition = self.guard(n + 1 == clauses, false, true);
            statement.by_source.push(BySource { condition, within_slice: self.dice.one_in(2), set });
        }
        if statement.matched.is_empty() && statement.not_matched.is_empty() && statement.by_source.is_empty() {
            statement.matched.push((None, Matched::Delete));
        }
        statement
    }
}
