//! What a person wants done with a source: one word a plan kind.

use crate::error::{Error, ErrorKind, Result};
use crate::plan::append::Append;
use crate::plan::clauses::{Assignments, BySourceAction, Clauses, MatchedAction, On};
use crate::plan::kinds::RowSpec;
use crate::plan::merge::Merge;
use crate::plan::overwrite::{Mode, Overwrite};
use crate::plan::replace_where::ReplaceWhere;
use crate::plan::restore::RestoreRows;
use crate::plan::scd2::Scd2;
use crate::plan::undo::UndoRows;
use crate::plan::view::SourceView;
use crate::plan::{Pairing, Reach, RowRule, Spec};
use crate::predicate::{RowChecks, RowExpr, Side};
use crate::table::Metadata;

#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// Dynamic: the partitions that occur in the source.
    Overwrite,
    /// Static: the whole table.
    OverwriteAll,
    ReplaceWhere {
        predicate: String,
    },
    Append,
    /// Update what matches by key, insert what does not.
    Merge {
        null_safe_keys: bool,
        delete_missing: bool,
    },
    /// Rows that arrive late: insert what does not match.
    InsertOnly {
        null_safe_keys: bool,
    },
    /// A MERGE as somebody wrote it.
    Clauses {
        on: On,
        clauses: Clauses,
    },
    Scd2(Scd2Columns),
    /// The rows of an earlier version; the source is the table at it.
    RestoreRows {
        to: u64,
        predicate: Option<String>,
    },
    /// What an operation did to rows, the other way round.
    UndoRows {
        undoes: String,
        undoes_version: u64,
    },
}

/// The columns of a slowly changing dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scd2Columns {
    /// Empty: every other column that the source has.
    pub track: Vec<String>,
    pub effective_from: String,
    pub effective_to: String,
    pub current: Option<String>,
    /// SQL over `s`: when delivered versions begin.
    pub effective_at: String,
}

/// A text that says the same thing whenever it is read: the clock stops at `now`
/// (microseconds since 1970), names are written in one way.
fn settled(text: &str, now: i64) -> Result<String> {
    Ok(RowExpr::parse(text)?.pin(now).text().to_owned())
}

fn settle_condition(condition: &mut Option<String>, now: i64) -> Result<()> {
    if let Some(text) = condition {
        *text = settled(text, now)?;
    }
    Ok(())
}

fn settle_list(list: &mut [(String, String)], now: i64) -> Result<()> {
    list.iter_mut().try_for_each(|(_, text)| {
        *text = settled(text, now)?;
        Ok(())
    })
}

fn settle_assignments(assignments: &mut Assignments, now: i64) -> Result<()> {
    match assignments {
        Assignments::All => Ok(()),
        Assignments::Set(list) => settle_list(list, now),
    }
}

/// (column, its default with the clock stopped), of defaults that read it.
fn clock_defaults(metadata: &Metadata, now: i64) -> Vec<(String, String)> {
    let schema = &metadata.schema;
    let checks = RowChecks::new(metadata).0;
    let fields = schema.fields.iter().enumerate();
    fields
        .filter_map(|(column, field)| {
            let expr = checks.default_of(column)?;
            // A default that names a column is none; the engine refuses it.
            let reads = !expr.is_pinned() && expr.unqualified().is_empty();
            reads.then(|| (field.name.clone(), expr.pin(now).text().to_owned()))
        })
        .collect()
}

/// Stops the clock in a source's view.
///
/// # Errors
/// `Usage` for texts that cannot be read.
pub fn settle_view(view: &mut SourceView, now: i64) -> Result<()> {
    settle_condition(&mut view.filter, now)?;
    settle_list(&mut view.columns, now)
}

impl Strategy {
    /// The same strategy with every text settled, so that a plan means the same
    /// whenever it is carried out.
    ///
    /// # Errors
    /// `Usage` for texts that cannot be read.
    pub fn settled(mut self, now: i64) -> Result<Strategy> {
        match &mut self {
            Strategy::Clauses { on, clauses } => {
                settle_condition(&mut on.condition, now)?;
                for clause in &mut clauses.matched {
                    settle_condition(&mut clause.condition, now)?;
                    match &mut clause.action {
                        MatchedAction::Update(values) => settle_assignments(values, now)?,
                        MatchedAction::Delete => {}
                        MatchedAction::Close { update, insert } => {
                            settle_assignments(update, now)?;
                            settle_assignments(insert, now)?;
                        }
                    }
                }
                for clause in &mut clauses.not_matched {
                    settle_condition(&mut clause.condition, now)?;
                    settle_assignments(&mut clause.values, now)?;
                }
                for clause in &mut clauses.by_source {
                    settle_condition(&mut clause.condition, now)?;
                    if let BySourceAction::Update(list) = &mut clause.action {
                        settle_list(list, now)?;
                    }
                }
            }
            Strategy::ReplaceWhere { predicate } => *predicate = settled(predicate, now)?,
            Strategy::Scd2(columns) => columns.effective_at = settled(&columns.effective_at, now)?,
            Strategy::Overwrite
            | Strategy::OverwriteAll
            | Strategy::Append
            | Strategy::Merge { .. }
            | Strategy::InsertOnly { .. }
            | Strategy::RestoreRows { .. }
            | Strategy::UndoRows { .. } => {}
        }
        Ok(self)
    }

    /// The same strategy with the table's defaults that read the clock written
    /// into every INSERT that does not name their columns: planning and writing
    /// then give one value.
    #[must_use]
    pub fn with_clock_defaults(mut self, metadata: &Metadata, now: i64) -> Strategy {
        let Strategy::Clauses { clauses, .. } = &mut self else { return self };
        let defaults = clock_defaults(metadata, now);
        let closing = clauses.matched.iter_mut().filter_map(|clause| match &mut clause.action {
            MatchedAction::Close { insert, .. } => Some(insert),
            MatchedAction::Update(_) | MatchedAction::Delete => None,
        });
        for values in clauses.not_matched.iter_mut().map(|clause| &mut clause.values).chain(closing) {
            let Assignments::Set(list) = values else { continue };
            for (name, text) in &defaults {
                if !list.iter().any(|(column, _)| column.eq_ignore_ascii_case(name)) {
                    list.push((name.clone(), text.clone()));
                }
            }
        }
        self
    }

    /// # Errors
    /// `Usage` for a predicate that names no column: it would choose every row
    /// or none, which nobody says by accident.
    pub fn check(&self) -> Result<()> {
        let Strategy::ReplaceWhere { predicate } = self else { return Ok(()) };
        let parsed = RowExpr::parse(predicate)?;
        if !parsed.columns(Side::Source).is_empty() {
            return Err(Error::new(ErrorKind::Usage, format!("the predicate {predicate} names the source"))
                .hint("It is over the table's columns."));
        }
        if parsed.columns(Side::Target).is_empty() && parsed.unqualified().is_empty() {
            return Err(Error::new(ErrorKind::Usage, format!("the predicate {predicate} names no column"))
                .hint("To replace the whole table: partwise plan overwrite --mode static."));
        }
        Ok(())
    }

    /// What people call it.
    pub fn title(&self) -> &'static str {
        match self {
            Strategy::Overwrite => "overwrite",
            Strategy::OverwriteAll => "overwrite all",
            Strategy::ReplaceWhere { .. } => "replace where",
            Strategy::Append => "append",
            Strategy::Merge { delete_missing: false, .. } => "MERGE",
            Strategy::Merge { delete_missing: true, .. } => "MERGE+delete",
            Strategy::InsertOnly { .. } => "insert only",
            Strategy::Clauses { .. } => "MERGE (clauses)",
            Strategy::Scd2(_) => "SCD type 2",
            Strategy::RestoreRows { .. } => "restore by rows",
            Strategy::UndoRows { .. } => "undo by rows",
        }
    }

    /// Whether rows that the source no longer has may stay behind by mistake: it
    /// updates and inserts whole rows, and deletes none.
    pub fn leaves_zombies(&self) -> bool {
        match self {
            Strategy::Merge { delete_missing, .. } => !delete_missing,
            Strategy::Clauses { on, clauses } => {
                let same = on.keys.iter().all(|pair| pair.target.eq_ignore_ascii_case(&pair.source));
                same && on.condition.is_none() && *clauses == Clauses::upsert()
            }
            _ => false,
        }
    }

    /// Whether delivered rows are written as they are, so that the source should
    /// have every column.
    pub fn takes_whole_rows(&self) -> bool {
        match self {
            Strategy::Clauses { clauses, .. } => {
                let inserts = clauses.not_matched.iter().any(|c| c.values == Assignments::All);
                let updates = clauses.matched.iter().any(|c| c.action == MatchedAction::Update(Assignments::All));
                inserts || updates
            }
            Strategy::Scd2(_) => false,
            _ => true,
        }
    }

    /// Whether rows need an identity.
    pub fn needs_key(&self) -> bool {
        !matches!(
            self,
            Strategy::Overwrite
                | Strategy::OverwriteAll
                | Strategy::ReplaceWhere { .. }
                | Strategy::Append
                | Strategy::RestoreRows { .. }
        )
    }

    /// The key that the strategy itself names.
    pub fn own_key(&self) -> Option<Vec<String>> {
        match self {
            Strategy::Clauses { on, .. } => Some(on.keys.iter().map(|pair| pair.target.clone()).collect()),
            _ => None,
        }
    }

    /// `columns` are the table's; `delivered` the source's.
    pub fn spec(&self, rows: RowSpec, columns: &[String], delivered: &[String]) -> Spec {
        match self.clone() {
            Strategy::Overwrite => Spec::Overwrite(Overwrite { mode: Mode::Dynamic, rows }),
            Strategy::OverwriteAll => Spec::Overwrite(Overwrite { mode: Mode::Static, rows }),
            Strategy::ReplaceWhere { predicate } => Spec::ReplaceWhere(ReplaceWhere { predicate, rows }),
            Strategy::Append => Spec::Append(Append { rows }),
            Strategy::Merge { null_safe_keys, delete_missing } => {
                Spec::Merge(Merge::upsert(rows, null_safe_keys, delete_missing))
            }
            Strategy::InsertOnly { null_safe_keys } => Spec::Merge(Merge::insert_only(rows, null_safe_keys)),
            Strategy::Clauses { on, clauses } => Spec::Merge(Merge { rows, on, clauses }),
            Strategy::Scd2(scd2) => Spec::Scd2(scd2.spec(rows, columns, delivered)),
            Strategy::UndoRows { undoes, undoes_version } => Spec::UndoRows(UndoRows { undoes, undoes_version, rows }),
            Strategy::RestoreRows { to, predicate } => Spec::RestoreRows(RestoreRows { to, predicate, rows }),
        }
    }
}

impl Scd2Columns {
    fn spec(self, rows: RowSpec, columns: &[String], delivered: &[String]) -> Scd2 {
        let own = [Some(&self.effective_from), Some(&self.effective_to), self.current.as_ref()];
        let is_own = |c: &String| own.iter().flatten().any(|o| o.eq_ignore_ascii_case(c));
        let has = |c: &String| delivered.iter().any(|d| d.eq_ignore_ascii_case(c));
        let is_key = |c: &String| rows.key.iter().any(|k| k.eq_ignore_ascii_case(c));
        let carried: Vec<String> = columns.iter().filter(|c| !is_own(c) && !is_key(c) && has(c)).cloned().collect();
        let ignored = |c: &&String| !rows.ignore.contains(c);
        let track = if self.track.is_empty() { carried.iter().filter(ignored).cloned().collect() } else { self.track };
        Scd2 {
            track,
            effective_from: self.effective_from,
            effective_to: self.effective_to,
            current: self.current,
            effective_at: self.effective_at,
            carried,
            rows,
        }
    }
}

/// How rows are identified by some rules: a join's own pairs, else columns of
/// one name.
pub fn key_pairs(rules: &[RowRule], key: &[String]) -> Vec<crate::plan::clauses::KeyPair> {
    let joined = rules.iter().find_map(|rule| match &rule.pairing {
        Pairing::Join(on) => Some(on.keys.clone()),
        Pairing::Multiset | Pairing::Never => None,
    });
    joined.unwrap_or_else(|| On::columns(key, true).keys)
}

/// Whether any rule writes whole delivered rows, or asks for whole rows to
/// compare.
pub fn whole_rows(rules: &[RowRule]) -> bool {
    rules.iter().any(|rule| rule.writes_whole_rows() || matches!(rule.reach, Reach::Where(_)))
}
