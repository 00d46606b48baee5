//! Rules made ready: clauses bound to columns, texts parsed once.

use std::collections::BTreeSet;

use crate::engine::RowJob;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::clauses::{Assignments, BySourceAction, MatchedAction};
use crate::plan::{Pairing, RowRule};
use crate::predicate::{Bound, RowChecks, RowExpr, Scope, Side};
use crate::table::{Field, Schema, Value};

/// How NULL keys compare under one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// NULL equals NULL.
    Equal,
    /// A NULL matches nothing.
    Never,
    /// A NULL in some of the columns matches nothing.
    NeverInSome,
}

/// A rule whose texts are parsed and whose names are numbers.
#[derive(Debug)]
pub struct Compiled {
    pub rule: RowRule,
    pub nulls: Nulls,
    pub on: Option<Bound>,
    pub matched: Vec<(Option<Bound>, Matched)>,
    pub not_matched: Vec<(Option<Bound>, Insert)>,
    pub by_source: Vec<BySource>,
    /// Columns of the table that some clause assigns one by one, ascending.
    pub patched: Vec<usize>,
}

#[derive(Debug)]
pub enum Matched {
    /// The delivered row takes the place of the table's.
    Replace,
    Patch(Set),
    Delete,
    Close(Set, Insert),
}

#[derive(Debug)]
pub enum Insert {
    Delivered,
    /// One value for each column of the table; `None` is NULL.
    Built(Vec<Option<Bound>>),
}

#[derive(Debug)]
pub struct BySource {
    pub condition: Option<Bound>,
    pub within_slice: bool,
    /// `None` deletes.
    pub set: Option<Set>,
}

/// (column of the table, its new value)
pub type Set = Vec<(usize, Bound)>;

/// Cells that bound expressions read: columns of the delivered schema and of
/// the table, in the order in which rows carry them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cells {
    pub source: Vec<usize>,
    pub target: Vec<usize>,
    source_slots: Vec<usize>,
    target_slots: Vec<usize>,
}

impl Cells {
    pub fn new(source: BTreeSet<usize>, target: BTreeSet<usize>) -> Cells {
        let slots = |columns: &BTreeSet<usize>| {
            let mut slots = vec![usize::MAX; columns.last().map_or(0, |last| last + 1)];
            columns.iter().enumerate().for_each(|(slot, column)| slots[*column] = slot);
            slots
        };
        let (source_slots, target_slots) = (slots(&source), slots(&target));
        Cells { source: source.into_iter().collect(), target: target.into_iter().collect(), source_slots, target_slots }
    }

    /// A cell of a pair of rows; a row that is not there is NULL.
    pub fn lookup(&self, source: &[Value], target: &[Value], side: Side, column: usize) -> Value {
        let (slots, cells) = match side {
            Side::Source => (&self.source_slots, source),
            Side::Target => (&self.target_slots, target),
        };
        slots.get(column).and_then(|slot| cells.get(*slot)).cloned().unwrap_or(Value::Null)
    }

    /// The table's own value of a column that some clause assigns.
    pub fn target_cell(&self, target: &[Value], column: usize) -> Value {
        self.lookup(&[], target, Side::Target, column)
    }

    pub fn evaluate(&self, bound: &Bound, source: &[Value], target: &[Value]) -> Result<Value> {
        bound.evaluate(&|side, column| self.lookup(source, target, side, column))
    }

    /// Whether a condition is true; no condition always is.
    pub fn holds(&self, condition: Option<&Bound>, source: &[Value], target: &[Value]) -> Result<bool> {
        match condition {
            None => Ok(true),
            Some(bound) => Ok(self.evaluate(bound, source, target)? == Value::Boolean(true)),
        }
    }
}

/// Compiles a job's rules and says which cells they read.
///
/// # Errors
/// `Usage` for texts and names, `LossyType` for values that do not fit their
/// columns, `UnsupportedType` for a nested column that is assigned by itself.
pub fn compile(job: &RowJob, delivered: &Schema, table: &Schema, checks: &RowChecks) -> Result<(Vec<Compiled>, Cells)> {
    let complete = job.matching.columns.iter().all(Option::is_some);
    let compiler = Compiler { delivered, table, checks, complete };
    let rules: Vec<Compiled> = job.rules.iter().map(|rule| compiler.rule(rule)).collect::<Result<_>>()?;
    let (mut source, mut target) = (BTreeSet::new(), BTreeSet::new());
    for bound in rules.iter().flat_map(Compiled::bounds) {
        for (side, column) in bound.columns() {
            match side {
                Side::Source => source.insert(*column),
                Side::Target => target.insert(*column),
            };
        }
    }
    target.extend(rules.iter().flat_map(|rule| rule.patched.iter().copied()));
    if rules.iter().any(|rule| !rule.patched.is_empty()) {
        target.extend(checks.columns());
    }
    if let Some(latest) = &job.view.latest_by {
        source.insert(delivered_column(delivered, latest)?);
    }
    if job.exact_cells {
        source.extend(0..delivered.fields.len());
        target.extend(0..table.fields.len());
    }
    Ok((rules, Cells::new(source, target)))
}

/// # Errors
/// `Usage`, with the names that there are.
pub fn find(schema: &Schema, name: &str, whose: &str) -> Result<usize> {
    let index = schema.find(name).and_then(|field| schema.index_of(&field.name));
    index.ok_or_else(|| {
        let names: Vec<&str> = schema.names().collect();
        Error::new(ErrorKind::Usage, format!("{whose} has no column {name}"))
            .hint(format!("It has {}.", names.join(", ")))
    })
}

/// A column of the source, by its name or as SQL over `s`.
///
/// # Errors
/// `Usage`.
pub fn delivered_column(delivered: &Schema, text: &str) -> Result<usize> {
    if delivered.find(text).is_some() {
        return find(delivered, text, "the source");
    }
    match RowExpr::parse(text)?.as_column() {
        Some((side, name)) if side != Some(Side::Target) => find(delivered, name, "the source"),
        _ => Err(Error::new(ErrorKind::Usage, format!("{text} is no column of the source"))
            .hint("Newer rows are told by one column.")),
    }
}

struct Compiler<'a> {
    delivered: &'a Schema,
    table: &'a Schema,
    checks: &'a RowChecks,
    /// Every column of the table is delivered under its name, in a type that fits.
    complete: bool,
}

impl Compiler<'_> {
    fn rule(&self, rule: &RowRule) -> Result<Compiled> {
        let nulls = match &rule.pairing {
            Pairing::Multiset | Pairing::Never => Nulls::Equal,
            Pairing::Join(on) => match on.keys.iter().filter(|pair| pair.null_safe).count() {
                0 => Nulls::Never,
                safe if safe == on.keys.len() => Nulls::Equal,
                _ => Nulls::NeverInSome,
            },
        };
        let on = match &rule.pairing {
            Pairing::Join(on) => self.condition(on.condition.as_ref())?,
            Pairing::Multiset | Pairing::Never => None,
        };
        let clauses = &rule.clauses;
        let mut compiled = Compiled {
            rule: rule.clone(),
            nulls,
            on,
            matched: Vec::new(),
            not_matched: Vec::new(),
            by_source: Vec::new(),
            patched: Vec::new(),
        };
        for clause in &clauses.matched {
            let action = match &clause.action {
                MatchedAction::Delete => Matched::Delete,
                MatchedAction::Update(values) if self.is_whole(values)? => Matched::Replace,
                MatchedAction::Update(values) => Matched::Patch(self.update(values.set())?),
                MatchedAction::Close { update, insert } => {
                    Matched::Close(self.update(update.set())?, self.insert(insert)?)
                }
            };
            compiled.matched.push((self.condition(clause.condition.as_ref())?, action));
        }
        for clause in &clauses.not_matched {
            compiled.not_matched.push((self.condition(clause.condition.as_ref())?, self.insert(&clause.values)?));
        }
        for clause in &clauses.by_source {
            compiled.by_source.push(BySource {
                condition: self.condition(clause.condition.as_ref())?,
                within_slice: clause.within_slice,
                set: match &clause.action {
                    BySourceAction::Delete => None,
                    BySourceAction::Update(values) => Some(self.update(values)?),
                },
            });
        }
        compiled.patched = compiled.sets().flatten().map(|(column, _)| *column).collect();
        compiled.patched.sort_unstable();
        compiled.patched.dedup();
        Ok(compiled)
    }

    fn condition(&self, text: Option<&String>) -> Result<Option<Bound>> {
        let Some(text) = text else { return Ok(None) };
        self.bind(text)?.condition().map(Some)
    }

    fn bind(&self, text: &str) -> Result<Bound> {
        RowExpr::parse(text)?.bind(&Scope { source: self.delivered, target: self.table })
    }

    /// `*`, or every column from the delivered one of its name.
    fn is_whole(&self, values: &Assignments) -> Result<bool> {
        let Assignments::Set(list) = values else { return Ok(true) };
        if !self.complete || list.len() != self.table.fields.len() {
            return Ok(false);
        }
        for field in &self.table.fields {
            let Some((_, text)) = list.iter().find(|(column, _)| column.eq_ignore_ascii_case(&field.name)) else {
                return Ok(false);
            };
            let expr = RowExpr::parse(text)?;
            if !expr
                .as_column()
                .is_some_and(|(side, name)| side != Some(Side::Target) && name.eq_ignore_ascii_case(&field.name))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn set(&self, list: &[(String, String)]) -> Result<Set> {
        let mut set: Set = Vec::new();
        for (column, text) in list {
            let index = find(self.table, column, "the table")?;
            let field = &self.table.fields[index];
            if set.iter().any(|(other, _)| *other == index) {
                return Err(Error::new(ErrorKind::Usage, format!("the column {} is assigned twice", field.name)));
            }
            if field.data_type.is_nested() {
                return Err(Error::new(
                    ErrorKind::UnsupportedType,
                    format!("the column {} is a {} and cannot be assigned by itself", field.name, field.data_type),
                )
                .hint("Assign whole rows with *."));
            }
            set.push((index, self.bind(text)?.assign_to(field)?));
        }
        Ok(set)
    }

    /// What is assigned, and the generated columns that follow from it.
    fn update(&self, list: &[(String, String)]) -> Result<Set> {
        let mut set = self.set(list)?;
        let changed: Vec<usize> = set.iter().map(|(column, _)| *column).collect();
        for column in self.checks.generated().filter(|c| !changed.contains(c)) {
            if self.checks.follows(column, &changed) {
                let stays = |field: &Field| Ok(RowExpr::of_column(Side::Target, &field.name));
                set.extend(self.computed(column, list, &stays)?.map(|bound| (column, bound)));
            }
        }
        Ok(set)
    }

    /// A generated column, from assigned values and from `other` where none is.
    fn computed(
        &self,
        column: usize,
        list: &[(String, String)],
        other: &dyn Fn(&Field) -> Result<RowExpr>,
    ) -> Result<Option<Bound>> {
        let value = |field: &Field| match list.iter().find(|(name, _)| name.eq_ignore_ascii_case(&field.name)) {
            Some((_, text)) => RowExpr::parse(text),
            None => other(field),
        };
        match self.checks.compute(column, self.table, &value)? {
            None => Ok(None),
            Some(expr) => {
                let bound = expr.bind(&Scope { source: self.delivered, target: self.table })?;
                bound.assign_to(&self.table.fields[column]).map(Some)
            }
        }
    }

    /// What a column gets that an INSERT does not name.
    fn unnamed(&self, column: usize, list: &[(String, String)]) -> Result<Option<Bound>> {
        let field = &self.table.fields[column];
        let default = |field: &Field| {
            let column = self.table.index_of(&field.name);
            let expr = column.and_then(|c| self.checks.default_of(c)).cloned().unwrap_or_else(RowExpr::null);
            if expr.is_pinned() { Ok(expr) } else { Err(no_default(field, expr.text(), READS_THE_CLOCK)) }
        };
        if let Some(bound) = self.computed(column, list, &default)? {
            return Ok(Some(bound));
        }
        let Some(text) = field.text("CURRENT_DEFAULT") else { return Ok(None) };
        let unknown = |why: Error| no_default(field, text, &why.message);
        let expr = RowExpr::parse_plain(text).map_err(unknown)?;
        if !expr.is_pinned() {
            // A plan has the clock stopped in the clauses that it was given.
            return Err(no_default(field, text, READS_THE_CLOCK));
        }
        let none = Schema { fields: Vec::new() };
        let bound = expr.bind(&Scope { source: &none, target: &none }).and_then(|bound| bound.assign_to(field));
        bound.map(Some).map_err(unknown)
    }

    fn insert(&self, values: &Assignments) -> Result<Insert> {
        if self.is_whole(values)? {
            return Ok(Insert::Delivered);
        }
        let mut built: Vec<Option<Bound>> = self.table.fields.iter().map(|_| None).collect();
        for (column, bound) in self.set(values.set())? {
            built[column] = Some(bound);
        }
        for (column, place) in built.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
            *place = self.unnamed(column, values.set())?;
        }
        if let Some(nested) = self.table.fields.iter().zip(&built).find(|(f, _)| f.data_type.is_nested()) {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!(
                    "the column {} is a {}, which an insert column by column cannot fill",
                    nested.0.name, nested.0.data_type
                ),
            )
            .hint("Insert whole rows with *."));
        }
        Ok(Insert::Built(built))
    }
}

const READS_THE_CLOCK: &str = "it reads the clock";

fn no_default(field: &Field, text: &str, why: &str) -> Error {
    let said = format!("the default {text} of column {} cannot be computed: {why}", field.name);
    Error::new(ErrorKind::UnsupportedFeature, said).hint("Name the column in the INSERT.")
}

impl Compiled {
    /// Every set of assignments to rows of the table.
    fn sets(&self) -> impl Iterator<Item = &Set> {
        let matched = self.matched.iter().filter_map(|(_, action)| match action {
            Matched::Patch(set) | Matched::Close(set, _) => Some(set),
            Matched::Replace | Matched::Delete => None,
        });
        matched.chain(self.by_source.iter().filter_map(|clause| clause.set.as_ref()))
    }

    /// What is inserted, by the number that a verdict carries.
    pub fn inserts(&self) -> impl Iterator<Item = &Insert> {
        let closing = self.matched.iter().filter_map(|(_, action)| match action {
            Matched::Close(_, insert) => Some(insert),
            Matched::Replace | Matched::Delete | Matched::Patch(_) => None,
        });
        self.not_matched.iter().map(|(_, insert)| insert).chain(closing)
    }

    fn bounds(&self) -> impl Iterator<Item = &Bound> {
        let conditions = self
            .on
            .iter()
            .chain(self.matched.iter().filter_map(|(c, _)| c.as_ref()))
            .chain(self.not_matched.iter().filter_map(|(c, _)| c.as_ref()))
            .chain(self.by_source.iter().filter_map(|clause| clause.condition.as_ref()));
        let built = self.inserts().flat_map(|insert| match insert {
            Insert::Delivered => &[][..],
            Insert::Built(values) => values.as_slice(),
        });
        conditions.chain(self.sets().flatten().map(|(_, bound)| bound)).chain(built.flatten())
    }

    /// The number of the insert of the clause that closes rows.
    pub fn closing_insert(&self, clause: usize) -> usize {
        let before = self.matched[..clause].iter().filter(|(_, action)| matches!(action, Matched::Close(..))).count();
        self.not_matched.len() + before
    }
}
